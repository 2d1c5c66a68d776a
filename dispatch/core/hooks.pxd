"""What the core asks of Python, one slot for each question."""


cdef class Hooks:
    # about one definition, which is the one that a call is held to: its operator may have another by now
    cdef public object refused              # (definition, args, keywords) -> what is wrong with the arguments, an exception
    cdef public object refused_output       # (definition, args, result) -> what is wrong with a kernel's outputs, an exception
    cdef public object note                 # (definition, args, error): say in a kernel's exception what the kernel was given
    cdef public object first_call           # (definition, args) -> None, or what tells afterwards what the kernel wrote to
    # about an operator
    cdef public object refused_key          # (op, key) -> the exception for a key at which no kernel runs
    cdef public object observed             # (op, args, keys, whole) -> the result of a call that is observed
    cdef public object taken_over           # (op, args, keywords) -> the result of a call with foreign arrays
    cdef public object kernels              # (op) -> `op.kernels`
    cdef public object explain              # (op, args, keywords) -> `op.explain(...)`
    cdef public object describe             # (op) -> `repr(op)`
    cdef public object docstring            # (op, text) -> what it keeps as its `__doc__`
    cdef public object signature            # (op) -> `op.__signature__`
    cdef public object functional           # (op) -> `op.functional`
    cdef public object overloads            # (op) -> `op.overloads`
    cdef public object cfunc                # (op) -> `op.cfunc`: the functions in C of its kernel
    cdef public object rule_operator        # (op, word) -> `op.backward_rule`: the operator as which a rule is called, or None
    cdef public object verb                 # (op, name) -> `op.register_<name>`
    cdef public object names                # (op) -> `dir(op)`
    cdef public object switch               # (op, device_type, enabled) -> `op.set_kernel_enabled(...)`
    # about a value
    cdef public object on_device            # (op, i, x, key) -> whether every array in argument i may go to a backend
