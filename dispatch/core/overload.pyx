# cython: profile=False
"""OpOverload: one schema, one table of kernels; what is called.

    op(x, y)
      1  which floor?    the highest rank among the arguments and the thread's modes
      2  which kernel?   the slot of that rank's key; an empty one is computed once
      3  call it         a backend's kernel, and the call ends there; or a layer's, which takes its wrappers off, calls the
                         operator again, one floor down, and wraps what comes back

A kernel is called with the whole tuple of arguments in schema order, defaults filled in: a backend's as its function was
written, keyword-only arguments by keyword; a layer's with everything by position, since it only hands them on. A call that
gives all arguments by position hands the caller's own argument array through, so the way down costs about 20 ns, most of it
the two calls. Everything else is beside that way: binding of keywords and defaults, the search for words when a call is
refused, the note on a kernel's exception.
"""
cimport cython
from cpython.exc cimport PyErr_SetObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from .arguments cimport TENSOR_OR_NUMBER, Arguments
from .arrays cimport NDARRAY, is_exact, key_of
from .keys cimport FAKE, KEYS, OBSERVE, rank_t
from .outputs cimport Outputs
from .raising cimport note, refused, refused_output
from .state cimport thread_state
from .table cimport KernelTable, Registration
from .vectorcall cimport ARGUMENTS_OFFSET, count, hold, install_vectorcall, release, type_of, vectorcall

from types import GenericAlias

from ..errors import DefinitionError

cdef extern from *:
    object call_with "PyVectorcall_Call"(object, tuple, dict)

cdef enum:
    ON_STACK = 24                           # arguments that are bound without an allocation


cdef PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) noexcept:
    """The plain call: all arguments by position."""
    cdef PyObject *arguments = <PyObject *>(<OpOverload>self).arguments
    cdef rank_t rank = thread_state().rank
    cdef Py_ssize_t i, n = count(nargsf)
    if keywords != NULL or n != (<Arguments>arguments).direct:
        return call_bound(self, args, n, keywords)
    for i in range(n):
        if (<Arguments>arguments).kinds[i] <= TENSOR_OR_NUMBER and type_of(args[i]) == NDARRAY:
            continue
        if not (<Arguments>arguments).accept(i, args[i], &rank):
            return refused(self, args, n, keywords)
    return run(self, arguments, args, nargsf, rank, False)


cdef PyObject *call_whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) noexcept:
    """The call as layers make it: every argument by position, keyword-only ones too, and the residual comes back."""
    cdef PyObject *arguments = <PyObject *>(<OpOverload>self).arguments
    cdef rank_t rank = thread_state().rank
    cdef Py_ssize_t i, n = count(nargsf)
    if keywords != NULL or n != (<Arguments>arguments).count:
        return refused(self, args, n, keywords)
    for i in range(n):
        if (<Arguments>arguments).kinds[i] <= TENSOR_OR_NUMBER and type_of(args[i]) == NDARRAY:
            continue
        if not (<Arguments>arguments).accept(i, args[i], &rank):
            return refused(self, args, (<Arguments>arguments).positional, (<Arguments>arguments).kernel_keywords)
    return run(self, arguments, args, (<Arguments>arguments).positional, rank, True)


cdef PyObject *call_bound(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) noexcept:
    """A call with keywords or omitted defaults: bound by Python's rules, then as the plain one."""
    cdef Arguments arguments = (<OpOverload>self).arguments
    cdef rank_t rank = thread_state().rank
    cdef PyObject *on_stack[ON_STACK + 1]
    cdef PyObject **full = on_stack
    cdef PyObject *result
    cdef Py_ssize_t i
    if arguments.count > ON_STACK:
        full = <PyObject **>PyMem_Malloc((arguments.count + 1) * sizeof(PyObject *))
        if full == NULL:
            PyErr_SetObject(MemoryError, None)
            return NULL
    full += 1                               # one place before the first argument is the callee's to use
    result = full[-1] = NULL
    if not arguments.bind(args, n, keywords, full):
        result = refused(self, args, n, keywords)
    else:
        for i in range(arguments.count):
            if arguments.kinds[i] <= TENSOR_OR_NUMBER and is_exact(full[i]):
                continue
            if not arguments.accept(i, full[i], &rank):
                result = refused(self, args, n, keywords)
                break
        else:
            result = run(self, <PyObject *>arguments, <PyObject *const *>full, arguments.positional | ARGUMENTS_OFFSET, rank,
                         False)
    if arguments.count > ON_STACK:
        PyMem_Free(full - 1)
    return result


cdef PyObject *run(PyObject *self, PyObject *arguments, PyObject *const *args, size_t nargsf, rank_t rank,
                   bint whole) noexcept:
    """Floor, kernel, call; the arguments have been checked, and keyword-only ones stand after the positional ones."""
    cdef unsigned int key = rank & (KEYS - 1)
    cdef PyObject *kernel = (<OpOverload>self).table.slots[key]
    if kernel == NULL:
        kernel = resolved(self, key)
        if kernel == NULL:
            return NULL
    else:
        hold(kernel)                        # a kernel may register another one for its own operator while it runs
    return finish(self, arguments, args, nargsf, key, whole, kernel)


cdef inline PyObject *finish(PyObject *self, PyObject *arguments, PyObject *const *args, size_t nargsf, unsigned int key,
                             bint whole, PyObject *kernel) noexcept:
    """Call a kernel, of which this takes the reference, and look at what it gives back."""
    cdef PyObject *outputs = <PyObject *>(<OpOverload>self).outputs     # the kernel may redefine its operator while it runs
    cdef PyObject *result
    cdef Py_ssize_t n = (<Arguments>arguments).count
    if 0 < key < FAKE and not one_device(self, args, key):
        release(kernel)
        return refused(self, args, (<Arguments>arguments).positional, (<Arguments>arguments).kernel_keywords)
    if key < FAKE:
        result = vectorcall(kernel, args, nargsf, (<Arguments>arguments).kernel_keywords)
    else:
        result = vectorcall(kernel, args, n, NULL)
    release(kernel)
    if key < FAKE:
        if result == NULL:
            note(self, args, n)
        elif not (<Outputs>outputs).accept(result, args, n):
            return refused_output(self, args, n, result)
    if (<Outputs>outputs).residual and not whole and result != NULL:
        kernel = result
        result = (<Outputs>outputs).without_residual(kernel)
        if result == NULL:                  # of a layer's kernel, which nobody has looked at
            return refused_output(self, args, n, kernel)
        release(kernel)
    return result


cdef PyObject *run_kernel(PyObject *self, PyObject *arguments, PyObject *const *args, size_t nargsf, unsigned int key,
                          bint whole, PyObject *kernel) noexcept:
    return finish(self, arguments, args, nargsf, key, whole, kernel)


cdef PyObject *resolved(PyObject *self, int key) noexcept:
    """The kernel for an empty slot, a new reference; NULL with the reason where there is none."""
    cdef OpOverload op = <OpOverload>self
    cdef KernelTable table = op.table       # held: a redefinition by another thread lets go of it
    try:
        kernel = table.resolve(op.primary if op.primary is not None else op, key)
        hold(<PyObject *>kernel)
        return <PyObject *>kernel
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return NULL


cdef bint one_device(PyObject *self, PyObject *const *args, int key) noexcept:
    """Whether all arrays of a call on a device other than the CPU are that device's, 0-d ones of the CPU aside."""
    cdef Py_ssize_t i
    for i in range((<OpOverload>self).arguments.count):
        if key_of(args[i]) != key and not (<OpOverload>self).wording.on_device(<object>args[i], key):
            return False
    return True


@cython.final
cdef class OpOverload:
    """One schema and its kernels; what an operator's name stands for, and what is called.

    Made by `custom_op`, `define` and the tables, found under `dispatch.ops`. Calling it runs the kernel of the floor that
    the arguments decide. `register_kernel`, `register_fake`, `register_autograd` and `register_vmap`, and so one verb for
    every layer, add rules; each is a decorator too.

    Parameters
    ----------
    schema : Schema
    arguments : core.Arguments
    outputs : core.Outputs
    wording : module or object
        Says what is wrong with a call, and everything else that is said: `dispatcher/call_errors.py`.
    tags : tuple of Tag, optional

    Attributes
    ----------
    schema : Schema
    tags : tuple of Tag
    name : str
        `"ns::name"`, with `".overload"` where it has one.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.ops.np.add(np.ones(2), 1.0)
    array([2., 2.])
    """

    def __cinit__(self, schema not None, Arguments arguments not None, Outputs outputs not None, wording not None,
                  tuple tags=()):
        self.slot = call
        self.past = []
        self.table = KernelTable()
        self.schema, self.arguments, self.outputs, self.wording, self.tags = schema, arguments, outputs, wording, tags

    def __call__(self, *args, **keywords):
        """What `op.__call__` is; `op(...)` itself goes by the slot, which is set when the module is loaded."""
        return call_with(self, args, keywords)

    def redefine(self, OpOverload other not None):
        """Become `other`, schema, checks and an empty table, so that old handles call the new definition."""
        self.past.append((self.arguments, self.outputs))
        self.schema, self.arguments, self.outputs, self.tags = other.schema, other.arguments, other.outputs, other.tags
        self.table, self.inner = other.table, None
        attributes = vars(self)
        attributes.clear()
        attributes.update(vars(other))

    @property
    def name(self):
        return self.schema.full_name

    @property
    def whole(self):
        """The operator as a layer's kernel calls it: all arguments by position, and the residual comes back too."""
        cdef OpOverload inner
        if self.primary is not None or (not self.outputs.residual and self.arguments.kernel_keywords == NULL):
            return self
        if self.inner is None:
            inner = OpOverload(self.schema, self.arguments, self.outputs, self.wording, self.tags)
            inner.slot, inner.table, inner.primary = call_whole, self.table, self
            self.inner = inner
        return self.inner

    @property
    def kernels(self):
        """What is registered and which of it runs on each floor; prints as a table."""
        return self.wording.kernels(self)

    def explain(self, *args, **keywords):
        """What a call would run on each of its floors, and what was passed over; without arguments on all floors there are."""
        return self.wording.explain(self, args, keywords)

    def at(self, key):
        """The kernel that runs at a key, which a layer calls to ask another layer's answer.

        Parameters
        ----------
        key : DispatchKey
            A floor, no alias.

        Returns
        -------
        callable
            At a backend's key with the operator's own signature; at a layer's it takes every argument by position.
        """
        if not isinstance(key, int) or not 0 <= key < KEYS:
            raise self.wording.no_floor(self, key)
        return self.table.resolve(self, key)

    def set_kernel_enabled(self, device_type, enabled=True):
        """A `with` block in which the kernel for a device, or several, is off (or on again) in this thread.

        A call then runs what that kernel covers: the one registered before it, or the one for every device.
        """
        return self.wording.switch(self, device_type, enabled)

    def redispatch(self, below, *args, **keywords):
        """Call the operator on the floors below a key: what a kernel at that key does to go on.

        Values and modes of the keys from `below` up are seen through, as if they were constants and off, for this call.

        Parameters
        ----------
        below : DispatchKey
        *args, **keywords
            As in a call of the operator.

        Raises
        ------
        GuardError
            If a batched or a fake value would have to be a constant.
        """
        if not 0 < below < KEYS:
            raise DefinitionError(f"{self.name}: redispatch goes below a floor, and nothing is below {below}.")
        keys = (<rank_t>1 << OBSERVE) - (<rank_t>1 << <int>below)
        if keywords or len(args) != self.arguments.direct:
            args = self.wording.bound(self, args, keywords)
        return self.wording.redispatched(self, keys, args)

    def register(self, layer, rule):
        """Give this operator a layer's rule; the one verb behind all the others.

        Parameters
        ----------
        layer : Layer
        rule : object
            What the layer needs to know; `layer.check` refuses it here, `layer.lower` makes a kernel of it at the first call.

        Returns
        -------
        Registration
            The handle with which `unregister` takes it away again.
        """
        layer.check(self, rule)
        return self.register_at(layer.key, rule, layer)

    def register_at(self, key, rule, layer=None, *, keyed=False):
        """Register a kernel, or with a layer a rule, at a key or an alias of keys, unchecked."""
        registration = Registration(key, rule, layer, keyed=keyed)
        self.table.add(registration)
        return registration

    def unregister(self, Registration registration not None):
        """Take a registration away; the one it covered is live again."""
        self.table.remove(registration)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @classmethod
    def __class_getitem__(cls, parameters):
        """`OpOverload[[np.ndarray, float], np.ndarray]`, as type checkers know it: parameters and result."""
        return GenericAlias(cls, parameters)

    def __getattr__(self, str name):
        if name == "default" and not self.schema.overload:
            return self
        if name.startswith("register_"):
            return self.wording.verb(self, name[len("register_"):])
        if name in ("__signature__", "functional"):
            return self.wording.sign(self) if name == "__signature__" else self.wording.functional(self)
        raise AttributeError(f"{self.name} has no attribute {name!r}.")

    def __repr__(self):
        return self.wording.describe(self)


cdef Py_ssize_t offset_of_slot(OpOverload op):
    return <char *>&op.slot - <char *><PyObject *>op


install_vectorcall(OpOverload, offset_of_slot(OpOverload(None.__class__, Arguments((), (), ()), Outputs(()), None.__class__)))
