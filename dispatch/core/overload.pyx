# cython: profile=False
"""OpOverload: one schema, one table of kernels; what is called.

    op(x, y)
      1  which key?      the highest rank among the arguments and the thread's modes
      2  which kernel?   the slot of that rank's key; an empty one is computed once
      3  call it         a backend's kernel, and the call ends there; or a layer's, which takes its wrappers off, calls the
                         operator again on the unwrapped values, and wraps the result

A kernel is called with the whole tuple of arguments in schema order, defaults filled in: a backend's as its function was
written, keyword-only arguments by keyword; a layer's with everything by position, since it only hands them on. A call that
gives all arguments by position hands the caller's own argument array through, so the way down costs about 20 ns, most of it
the two calls. Everything else is beside that way: binding of keywords and defaults, the search for words when a call is
refused, the note on a kernel's exception.

It has more than 350 lines because the call and the same call taken apart (`bound`, `rank_of_call`, `run_at`) share their steps.
"""
cimport cython
from cpython.exc cimport PyErr_SetObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyObject_GenericSetAttr, PyTypeObject

from .arguments cimport TENSOR_OR_NUMBER, Arguments
from .arrays cimport NDARRAY, is_exact, key_of
from .definition cimport Definition
from .hooks cimport Hooks
from .keys cimport CPU, FAKE, KEYS, OBSERVE, key_at, rank_t
from .outputs cimport Outputs, accept, owns_alone, without_residual
from .python cimport likely, unlikely
from .raising cimport note, refused, refused_output, values_of
from .state cimport highest_mode, rank_of_thread
from .table cimport Registration
from .vectorcall cimport ARGUMENTS_OFFSET, count, hold, install_vectorcall, release, type_of

from types import GenericAlias

import numpy as np

from ..errors import ArgumentError
from .wrong_calls import compared, left_out, no_attribute, no_layer, no_registration, not_set, nothing_below
from .tensor import seen_through

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>
    /* Calls a kernel, and counts how deep calls are. CPython 3.12 and 3.13 let C go ten times as deep as Python, which is
       deeper than the stack where each level is a ufunc's. Not inline: its thread-local number costs a plain call 30
       instructions otherwise. */
    static _Thread_local int dispatch_depth = 0;
    static __attribute__((noinline)) PyObject *dispatch_call_counted(PyObject *kernel, PyObject *const *args, size_t nargsf,
                                                                     PyObject *keywords) {
        PyObject *result;
        if (dispatch_depth >= Py_GetRecursionLimit()) {
            PyErr_SetString(PyExc_RecursionError,
                            "maximum recursion depth exceeded while the kernel of an operator was called");
            return NULL;
        }
        if (Py_EnterRecursiveCall(" while the kernel of an operator was called")) {
            return NULL;
        }
        dispatch_depth++;
        result = dispatch_call(kernel, args, nargsf, keywords);
        dispatch_depth--;
        Py_LeaveRecursiveCall();
        return result;
    }
    /* Nothing is counted where something else does: the interpreter counts Python's functions, and no call comes back out of
       a ufunc that is not made of a Python object. */
    static inline PyObject *dispatch_call_kernel(PyObject *kernel, PyObject *const *args, size_t nargsf, PyObject *keywords,
                                                 PyObject *ufunc) {
        PyObject *type = (PyObject *)Py_TYPE(kernel);
        if (type == (PyObject *)&PyFunction_Type || (type == ufunc && ((PyUFuncObject *)kernel)->obj == NULL)) {
            return dispatch_call(kernel, args, nargsf, keywords);
        }
        return dispatch_call_counted(kernel, args, nargsf, keywords);
    }
    static inline PyObject **dispatch_items(PyObject *values) { return &PyTuple_GET_ITEM(values, 0); }
    """
    PyObject *call_kernel "dispatch_call_kernel"(PyObject *kernel, PyObject *const *args, size_t nargsf, PyObject *keywords,
                                                 PyObject *ufunc) noexcept
    PyObject **items "dispatch_items"(PyObject *) noexcept
    object call_with "PyVectorcall_Call"(object, tuple, dict)

cdef PyObject *UFUNC = <PyObject *>np.ufunc

cdef enum:
    ON_STACK = 24                           # arguments that are bound without an allocation
    MOST_LOOKS = 15                         # calls of a kernel that are looked at, beside one more

# Called through these, a function that raises gives back NULL or -1 and the exception stays set: what a kernel raised gets no
# line of this file into its traceback, and what is held can be let go of first.
ctypedef PyObject *(*run_t)(PyObject *, Definition, PyObject *const *, size_t, rank_t, bint) noexcept
ctypedef PyObject *(*call_bound_t)(PyObject *, Definition, PyObject *const *, Py_ssize_t, PyObject *) noexcept
ctypedef int (*one_device_t)(PyObject *, Definition, PyObject *const *, int) noexcept
ctypedef int (*accept_t)(PyObject *, PyObject *, PyObject *const *, Py_ssize_t) noexcept


cdef PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) except NULL:
    """The plain call: all arguments by position."""
    cdef Definition definition = (<OpOverload>self).definition
    cdef unsigned char *kinds = definition.arguments.kinds
    cdef PyTypeObject *ndarray = NDARRAY
    cdef rank_t rank = rank_of_thread()
    cdef Py_ssize_t i, n = count(nargsf)
    if unlikely(keywords != NULL or n != definition.arguments.direct):
        return (<call_bound_t>call_bound)(self, definition, args, n, keywords)
    for i in range(n):
        if likely(kinds[i] <= TENSOR_OR_NUMBER and type_of(args[i]) == ndarray):
            continue
        if not definition.arguments.accept(i, args[i], &rank):
            return refused(self, definition, args, n, keywords)
    return (<run_t>run)(self, definition, args, nargsf, rank, False)


cdef PyObject *call_whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) except NULL:
    """The call as layers make it: every argument by position, keyword-only ones too, and the residual comes back."""
    cdef Definition definition = (<OpOverload>self).definition
    cdef unsigned char *kinds = definition.arguments.kinds
    cdef rank_t rank = rank_of_thread()
    cdef Py_ssize_t i, n = count(nargsf)
    if keywords != NULL or n != definition.arguments.count:
        return refused(self, definition, args, n, keywords)
    for i in range(n):
        if kinds[i] <= TENSOR_OR_NUMBER and type_of(args[i]) == NDARRAY:
            continue
        if not definition.arguments.accept(i, args[i], &rank):
            return refused(self, definition, args, definition.arguments.positional, definition.arguments.kernel_keywords)
    return (<run_t>run)(self, definition, args, definition.arguments.positional, rank, True)


cdef PyObject *call_bound(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n,
                          PyObject *keywords) except NULL:
    """A call with keywords or omitted defaults: bound by Python's rules, then as the plain one."""
    cdef Arguments arguments = definition.arguments
    cdef rank_t rank = rank_of_thread()
    cdef PyObject *on_stack[ON_STACK + 1]
    cdef PyObject **full = on_stack
    cdef Py_ssize_t i
    if arguments.count > ON_STACK:
        full = <PyObject **>PyMem_Malloc((arguments.count + 1) * sizeof(PyObject *))
        if full == NULL:
            raise MemoryError
    full += 1                               # one place before the first argument is the callee's to use
    full[-1] = NULL
    try:
        if not arguments.bind(args, n, keywords, full):
            return refused(self, definition, args, n, keywords)
        if arguments.renewed is not None:
            _copies = arguments.renew(full)         # held until the call has ended
        for i in range(arguments.count):
            if arguments.kinds[i] <= TENSOR_OR_NUMBER and is_exact(full[i]):
                continue
            if not arguments.accept(i, full[i], &rank):
                return refused(self, definition, args, n, keywords)
        return (<run_t>run)(self, definition, <PyObject *const *>full, arguments.positional | ARGUMENTS_OFFSET, rank, False)
    finally:
        if arguments.count > ON_STACK:
            PyMem_Free(full - 1)


cdef inline PyObject *run(PyObject *self, Definition definition, PyObject *const *args, size_t nargsf, rank_t rank,
                          bint whole) except NULL:
    """Key, kernel, call; the arguments have been checked, and keyword-only ones stand after the positional ones."""
    cdef unsigned int key = key_at(rank)
    cdef PyObject *kernel = definition.table.slots[key]
    if unlikely(kernel == NULL):
        kernel = resolved(self, definition, key)
        if key == CPU:
            return first_call(self, definition, args, nargsf, whole, kernel)
    else:
        hold(kernel)                        # a kernel may register another one for its own operator while it runs
    return finish(self, definition, args, nargsf, key, whole, kernel)


cdef PyObject *first_call(PyObject *self, Definition definition, PyObject *const *args, size_t nargsf, bint whole,
                          PyObject *kernel) noexcept:
    """`finish` for a call that has filled the slot; the hook looks at what the kernel may only read, before and after.

    Where there are options, and a write may be in a branch, the slot is left empty again until enough calls were looked at. The
    hook raises nothing: it returns what is to be raised.
    """
    cdef PyObject *result
    cdef Py_ssize_t i
    look, error = (<OpOverload>self).hooks.first_call, None
    written = None if look is None else look(definition, values_of(args, definition.arguments.count))
    result = finish(self, definition, args, nargsf, CPU, whole, kernel)
    if result != NULL and written is not None:
        error = written()
        for i in range(definition.arguments.count if definition.table.looks < MOST_LOOKS else 0):
            if definition.arguments.kinds[i] > TENSOR_OR_NUMBER:
                definition.table.looks += 1
                definition.table.slots[CPU] = NULL
                break
    if error is not None:
        release(result)
        PyErr_SetObject(type(error), error)
        return NULL
    return result


cdef inline PyObject *finish(PyObject *self, Definition definition, PyObject *const *args, size_t nargsf, unsigned int key,
                             bint whole, PyObject *kernel) noexcept:
    """Call a kernel, of which this takes the reference, and look at what it gives back."""
    cdef PyObject *result
    if unlikely(key > CPU):
        return finish_elsewhere(self, definition, args, nargsf, key, whole, kernel)
    result = call_kernel(kernel, args, nargsf, definition.arguments.kernel_keywords, UFUNC)
    release(kernel)
    if likely(result != NULL and definition.outputs.single
              and owns_alone(result, args, definition.arguments.count, NDARRAY)):
        return result                       # what `accept` would let pass after a longer look
    return accepted(self, definition, args, whole, result)


cdef PyObject *finish_elsewhere(PyObject *self, Definition definition, PyObject *const *args, size_t nargsf, unsigned int key,
                                bint whole, PyObject *kernel) noexcept:
    """`finish` on another device than the CPU, or in a layer."""
    cdef PyObject *result
    cdef int fits
    if key < FAKE:
        fits = (<one_device_t>one_device)(self, definition, args, key)
        if fits != 1:
            release(kernel)
            return NULL if fits < 0 else refused(self, definition, args, definition.arguments.positional,
                                                 definition.arguments.kernel_keywords)
        result = call_kernel(kernel, args, nargsf, definition.arguments.kernel_keywords, UFUNC)
        release(kernel)
        return accepted(self, definition, args, whole, result)
    result = call_kernel(kernel, args, definition.arguments.count, NULL, UFUNC)
    release(kernel)
    return result if result == NULL or whole else returned(self, definition, args, result)


cdef PyObject *accepted(PyObject *self, Definition definition, PyObject *const *args, bint whole, PyObject *result) noexcept:
    """What a backend's kernel gave back, of which this takes the reference, once it fits the schema."""
    cdef int fits
    if result == NULL:
        note(self, definition, args, definition.arguments.count)
        return NULL
    fits = (<accept_t>accept)(<PyObject *>definition.outputs, result, args, definition.arguments.count)
    if fits < 0:
        release(result)
        return NULL
    if not fits:
        return refused_output(self, definition, args, definition.arguments.count, result)
    return result if whole else returned(self, definition, args, result)


cdef PyObject *returned(PyObject *self, Definition definition, PyObject *const *args, PyObject *result) noexcept:
    """What the caller gets of a result, of which this takes the reference: all but the residual."""
    cdef PyObject *seen
    if not definition.outputs.residual:
        return result
    seen = without_residual(<PyObject *>definition.outputs, result)
    if seen == NULL:                        # of a layer's kernel, which nobody has looked at
        return refused_output(self, definition, args, definition.arguments.count, result)
    release(result)
    return seen


cdef PyObject *run_kernel(PyObject *self, Definition definition, PyObject *const *args, rank_t rank, bint whole,
                          PyObject *kernel) except NULL:
    """`run` with a kernel, of which this takes the reference, in place of the slot's."""
    return finish(self, definition, args, definition.arguments.positional, key_at(rank), whole, kernel)


cdef PyObject *resolved(PyObject *self, Definition definition, int key) except NULL:
    """The kernel for an empty slot, a new reference."""
    cdef OpOverload op = <OpOverload>self
    kernel = definition.table.resolve(op.primary if op.primary is not None else op, key)
    hold(<PyObject *>kernel)
    return <PyObject *>kernel


cdef bint one_device(PyObject *self, Definition definition, PyObject *const *args, int key) except -1:
    """Whether all arrays of a call on a device other than the CPU are that device's, 0-d ones of the CPU aside."""
    cdef Py_ssize_t i
    for i in range(definition.arguments.count):
        if key_of(args[i]) != key and not (<OpOverload>self).hooks.on_device(<object>self, i, <object>args[i], key):
            return False
    return True


@cython.binding(False)
@cython.final
cdef class OpOverload:
    """An operator: a schema, and a kernel for each key. A call checks its arguments, and runs the kernel of their highest key.

    `custom_op` and `Library.define` make operators; `dispatch.ops.<namespace>.<name>` finds them. An operator has a method for
    each kind of rule, which is a decorator too: `register_kernel`, `register_fake`, `register_autograd`, `register_jvp`,
    `register_vmap` and `register_dispatch`. `help(op.register_fake)` describes one.

    Parameters
    ----------
    definition : core.Definition
    hooks : core.Hooks
        The functions in Python that print operators and raise errors: `dispatcher/operator_hooks.py`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> add = dispatch.ops.np.add
    >>> add(np.ones(2), 1.0)
    array([2., 2.])
    >>> print(add.schema)
    np::add(Tensor x, Tensor y) -> Tensor
    """

    def __cinit__(self, definition=None, hooks=None, *more):
        self.slot = call
        if not isinstance(definition, Definition) or not isinstance(hooks, Hooks):
            raise ArgumentError(
                "an OpOverload is made by custom_op or Library.define, and found by its name: dispatch.ops.namespace.name.")
        self.definition, self.hooks, self.epoch = definition, hooks, 1

    def __repr__(self): return self.hooks.describe(self)
    def __dir__(self): return self.hooks.names(self)
    def __copy__(self): return self
    def __deepcopy__(self, memo): return self

    def __call__(self, *args, **keywords):
        """Call the operator. `op(...)` does it without this method, through a slot in C."""
        return call_with(self, args, keywords)

    def redefine(self, OpOverload other not None):
        """Take over the definition and the attributes of `other`: whoever holds this operator calls that one from now on.

        Parameters
        ----------
        other : OpOverload
        """
        cdef Definition _old = self.definition       # let go of at the end, when nothing points to it
        attributes, others = vars(self), vars(other)
        self.definition = other.definition
        self.epoch += 1
        attributes.update(others)           # so that no attribute that both have is missing for a moment
        for name in [name for name in attributes if name not in others]:
            attributes.pop(name, None)

    @property
    def name(self):
        """`"ns::name"`, or `"ns::name.overload"`."""
        return self.definition.schema.full_name

    @property
    def schema(self):
        """What the operator takes, returns and writes to, a `Schema`."""
        return self.definition.schema

    @property
    def tags(self):
        """What the operator promises, a list of `Tag`: a new one each time, so that nobody adds to what was promised."""
        return list(self.definition.tags)

    @property
    def arguments(self):
        """The checks of the arguments, compiled from the schema."""
        return self.definition.arguments

    @property
    def outputs(self):
        """The checks of the results, compiled from the schema."""
        return self.definition.outputs

    @property
    def table(self):
        """The kernels by key, and all that was registered."""
        return self.definition.table

    @property
    def whole(self):
        """The operator as kernels of layers call it: all arguments by position, and a `Residual` is returned too."""
        cdef Definition definition = self.definition
        cdef OpOverload inner = self.inner
        if self.primary is not None or (not definition.outputs.residual and definition.arguments.kernel_keywords == NULL):
            return self
        if inner is None or inner.definition is not definition:
            _old, inner = inner, OpOverload(definition, self.hooks)
            inner.slot, inner.primary = call_whole, self
            self.inner = inner
        return inner

    @property
    def kernels(self):
        """What is registered at each key and which of it runs. It prints as a table."""
        return self.hooks.kernels(self)

    def explain(self, *args, **keywords):
        """Say which kernels a call would run, in order, and which it would not and why. Nothing is run.

        Parameters
        ----------
        *args, **keywords
            The arguments of the call. Without any, it lists what runs at each key.

        Returns
        -------
        Explanation
            It prints as a table.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> [step.name for step in dispatch.ops.np.sin.explain(dispatch.tensor(1.0, requires_grad=True)).steps]
        ['AUTOGRAD', 'CPU']
        """
        return self.hooks.explain(self, args, keywords)

    def at(self, key):
        """Return the kernel that runs at a key. With it one layer can ask for the answer of another.

        Parameters
        ----------
        key : DispatchKey
            A key, and no alias of several.

        Returns
        -------
        callable
            At the key of a backend it has the operator's own signature. At that of a layer it takes every argument by position.

        Raises
        ------
        NoKernelError, NoRuleError
            If nothing runs at the key.

        Examples
        --------
        >>> import dispatch
        >>> dispatch.ops.np.sin.at(dispatch.DispatchKey.CPU)
        <ufunc 'sin'>
        """
        if not isinstance(key, int) or not 0 <= key < KEYS:
            raise self.hooks.refused_key(self, key)
        cdef Definition definition = self.definition        # held: what is asked for a kernel may redefine the operator
        return definition.table.resolve(self, key)

    def set_kernel_enabled(self, device_type, enabled=True):
        """Return a `with` block that turns off, for this thread, the kernel for a device, or turns it on again.

        While it is off, a call runs the kernel that was registered before it, or the one for every device.

        Parameters
        ----------
        device_type : str or sequence of str
        enabled : bool
            False turns the kernel off; True turns it on inside a block that turned it off.

        Returns
        -------
        context manager

        Raises
        ------
        DefinitionError
            If the operator has no kernel of its own for the device.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> @dispatch.custom_op("doc_enabled::name", mutates_args=())
        ... def name() -> str:
        ...     return "for every device"
        >>> @dispatch.custom_op("doc_enabled::first", mutates_args=())
        ... def first(x: np.ndarray) -> float:
        ...     return 1.0
        >>> _ = first.register_kernel("cpu", lambda x: 2.0)
        >>> with first.set_kernel_enabled("cpu", False):
        ...     first(np.ones(3))
        1.0
        """
        return self.hooks.switch(self, device_type, enabled)

    def redispatch(self, below, *args, **keywords):
        """Call the operator below a key, as a kernel at that key does to go on.

        For this call, values that belong to `below` or a higher key are constants, and modes there are off.

        Parameters
        ----------
        below : DispatchKey
        *args, **keywords
            As in a call of the operator.

        Returns
        -------
        object
            What the operator returns.

        Raises
        ------
        DefinitionError
            If no key is below `below`.
        GuardError
            If a batched or a fake value would have to be a constant.

        Examples
        --------
        >>> import dispatch
        >>> x = dispatch.tensor([0.0, 1.0], requires_grad=True)
        >>> dispatch.ops.np.multiply.redispatch(dispatch.DispatchKey.AUTOGRAD, x, 2.0)  # the tape records nothing
        array([0., 2.])
        """
        if not isinstance(below, int) or not 0 < below < KEYS:
            raise nothing_below(self.name, below)
        keys = (<rank_t>1 << OBSERVE) - (<rank_t>1 << <int>below)
        cdef Definition definition = self.definition
        if keywords or len(args) != definition.arguments.direct:
            args = bound(self, args, keywords, definition)
        return redispatched(self, keys, args, definition)

    def register(self, layer, rule):
        """Register a layer's rule for this operator. `register_fake` and the other methods end here.

        Parameters
        ----------
        layer : Layer
        rule : object
            What the layer needs. `layer.check` may refuse it now; `layer.lower` makes a kernel of it at the first call.

        Returns
        -------
        Registration
            `unregister` takes it.
        """
        if not hasattr(layer, "check"):
            raise no_layer(self, layer)
        layer.check(self, rule)
        return self.register_at(layer.key, rule, layer)

    def register_at(self, key, rule, layer=None, *, keyed=False):
        """Register a kernel, or the rule of a layer, at a key or an alias. It is not checked.

        Parameters
        ----------
        key : DispatchKey
        rule : callable, or object that the layer knows
        layer : Layer, optional
            Makes the kernel of the rule. Without it the rule is the kernel.
        keyed : bool
            Whether the kernel takes the key at which it runs, before its arguments.

        Returns
        -------
        Registration
            `unregister` takes it.
        """
        registration = Registration(key, rule, layer, keyed=keyed)
        self.definition.table.add(registration)
        return registration

    def __getitem__(self, key):
        raise ArgumentError(f"{self.name}[...] was asked for, and an operator is called: {self.definition.schema.name}(...).")

    # A call was left out: what follows it was written behind the operator.
    __array_priority__ = 1e9                # x + op comes here, and not to __array__
    def __add__(self, other): raise left_out(self, "+")
    def __radd__(self, other): raise left_out(self, "+")
    def __sub__(self, other): raise left_out(self, "-")
    def __rsub__(self, other): raise left_out(self, "-")
    def __mul__(self, other): raise left_out(self, "*")
    def __rmul__(self, other): raise left_out(self, "*")
    def __truediv__(self, other): raise left_out(self, "/")
    def __rtruediv__(self, other): raise left_out(self, "/")
    def __matmul__(self, other): raise left_out(self, "@")
    def __rmatmul__(self, other): raise left_out(self, "@")
    def __neg__(self): raise left_out(self, "-")
    def __richcmp__(self, other, int sign): return compared(self, sign)
    def __hash__(self): return <Py_hash_t>(<size_t><void *>self >> 4)     # of its place; beside comparisons there is none else
    def __pow__(self, other, modulo): raise left_out(self, "**")
    def __len__(self): raise left_out(self, "len")
    def __array__(self, dtype=None, copy=None): raise left_out(self, "array")
    def __bool__(self): return True         # and not by `__len__`
    def __enter__(self): raise left_out(self, "with")
    def __exit__(self, *exception): pass

    def unregister(self, registration=None):
        """Remove a registration. The one that it had replaced runs again.

        Parameters
        ----------
        registration : Registration
            What `register` or `register_at` returned.
        """
        if not isinstance(registration, Registration):
            raise no_registration(self, registration)
        self.definition.table.remove(registration)

    def fallthrough(self, keys):
        """Return a kernel that calls the operator without some keys: their values are constants to it.

        Parameters
        ----------
        keys : int
            Bit k stands for key k.

        Returns
        -------
        callable
            It takes every argument by position.
        """
        cdef OpOverload whole = self.whole

        @cython.binding(True)               # else its `__self__` is what it closes over
        def through(*args):
            return redispatched(whole, keys, args)

        return through

    @classmethod
    def __class_getitem__(cls, parameters):
        """`OpOverload[[np.ndarray, float], np.ndarray]`, as type checkers know it: parameters and result."""
        return GenericAlias(cls, parameters)

    def __getattr__(self, str name):
        if name == "default" and not self.definition.schema.overload:
            return self
        if name.startswith("register_"):
            return self.hooks.verb(self, name[len("register_"):])
        if name in ("__signature__", "functional", "cfunc", "overloads"):
            return getattr(self.hooks, name.strip("_"))(self)
        if name in ("__name__", "__qualname__") and (found := getattr(vars(self).get("__wrapped__"), name, None)) is not None:
            return found
        if name.endswith("_rule") and (found := self.hooks.rule_operator(self, name)) is not None:
            return found
        known = ["default", *self.hooks.names(self)]
        raise no_attribute(self, name, known)

    def __setattr__(self, str name, value):
        if not (name.startswith("__") and name.endswith("__")):
            raise not_set(self, name)
        PyObject_GenericSetAttr(self, name, self.hooks.docstring(self, value) if name == "__doc__" else value)

    def __delattr__(self, str name):
        getattr(self, name)                 # which raises for a name that it does not have
        raise AttributeError(f"{self.name}: the attribute {name!r} cannot be deleted.")


# In these a definition may be given that the caller holds; else it is the operator's own, read once.

def bound(OpOverload op not None, tuple args not None, dict keywords not None, Definition definition=None):
    """The arguments of a call in schema order, defaults filled in; what the call does wrong is raised."""
    definition = op.definition if definition is None else definition
    cdef tuple names = tuple(keywords), given = (*args, *keywords.values())
    cdef Py_ssize_t i, n = definition.arguments.count
    cdef PyObject **places = <PyObject **>PyMem_Malloc((n + 1) * sizeof(PyObject *))
    if places is NULL:
        raise MemoryError
    try:
        if not definition.arguments.bind(items(<PyObject *>given), len(args), <PyObject *>names, places):
            raise op.hooks.refused(definition, args, keywords)
        if definition.arguments.renewed is not None:
            _copies = definition.arguments.renew(places)
        return tuple([<object>places[i] for i in range(n)])
    finally:
        PyMem_Free(places)


def rank_of_call(OpOverload op not None, tuple args not None, rank_t without=0, Definition definition=None):
    """The rank at which a call begins: the highest among its arguments and the thread's modes, observers aside.

    Parameters
    ----------
    op : OpOverload
    args : tuple
        Every argument, in schema order.
    without : int
        Bit k leaves the modes of key k out of the count.
    definition : Definition, optional
    """
    definition = op.definition if definition is None else definition
    cdef rank_t rank = highest_mode(without | <rank_t>1 << OBSERVE)
    cdef Py_ssize_t i, positional = definition.arguments.positional
    if len(args) != definition.arguments.count:
        raise op.hooks.refused(definition, args, {})
    for i in range(len(args)):
        if not definition.arguments.accept(i, items(<PyObject *>args)[i], &rank):
            raise op.hooks.refused(
                definition, args[:positional], dict(zip(definition.arguments.keyword_names, args[positional:])))
    return rank


def run_at(OpOverload op not None, rank_t rank, tuple args not None, kernel=None, *, bint whole=True,
           Definition definition=None):
    """Call the kernel of a rank's key, or `kernel` in its place, with what the core checks of every call.

    Parameters
    ----------
    op : OpOverload
    rank : int
        What `rank_of_call` said of these arguments.
    args : tuple
        Every argument, in schema order.
    kernel : callable, optional
        As the slot of the key would hold it.
    whole : bool
        Whether the residual comes back too.
    definition : Definition, optional
    """
    definition = op.definition if definition is None else definition
    cdef PyObject *result
    if len(args) != definition.arguments.count:
        raise op.hooks.refused(definition, args, {})
    if kernel is None:
        result = run(<PyObject *>op, definition, items(<PyObject *>args), definition.arguments.positional, rank, whole)
    else:
        hold(<PyObject *>kernel)
        result = run_kernel(<PyObject *>op, definition, items(<PyObject *>args), rank, whole, <PyObject *>kernel)
    out = <object>result
    release(result)
    return out


def redispatched(OpOverload op not None, rank_t keys, tuple args not None, Definition definition=None):
    """Call an operator with the values and modes of some keys, bit k for key k, seen through for this call."""
    cdef bint whole = op.primary is not None
    definition = op.definition if definition is None else definition
    if key_at(rank_of_thread()) == OBSERVE:
        return op.hooks.observed(op, definition, args, keys, whole)
    cdef tuple values = args
    for x in args:
        if not is_exact(<PyObject *>x):
            values = tuple([seen_through(x, keys) for x in args])
            break
    return run_at(op, rank_of_call(op, values, keys, definition), values, whole=whole, definition=definition)


cdef Py_ssize_t offset_of_slot(OpOverload op):
    return <char *>&op.slot - <char *><PyObject *>op


install_vectorcall(
    OpOverload, offset_of_slot(OpOverload(Definition("a schema", Arguments((), (), ()), Outputs(())), Hooks())))
