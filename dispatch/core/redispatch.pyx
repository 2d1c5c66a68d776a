"""A call taken apart: bound, its floor found, the kernel of any floor run.

The way of a plain call does all this at once, in overload.pyx. Here are the steps one by one, for what goes on below a key,
for what watches calls, and for what only asks.
"""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from .arrays cimport is_exact
from .keys cimport KEYS, OBSERVE, rank_t
from .overload cimport OpOverload, run, run_kernel
from .state cimport highest_mode, thread_state
from .vectorcall cimport hold, release

from .tensor import seen_through

cdef extern from *:
    """
    static inline PyObject **dispatch_items(PyObject *values) { return &PyTuple_GET_ITEM(values, 0); }
    static int dispatch_raise_pending(PyObject *result) { return result == NULL ? -1 : 0; }
    """
    PyObject **items_of "dispatch_items"(PyObject *) noexcept
    int raise_pending "dispatch_raise_pending"(PyObject *) except -1


def bound(OpOverload op not None, tuple args not None, dict keywords not None):
    """The arguments of a call in schema order, defaults filled in; what the call does wrong is raised."""
    cdef tuple names = tuple(keywords), given = (*args, *keywords.values())
    cdef Py_ssize_t i, n = op.arguments.count
    cdef PyObject **places = <PyObject **>PyMem_Malloc((n + 1) * sizeof(PyObject *))
    if places is NULL:
        raise MemoryError
    try:
        if not op.arguments.bind(items_of(<PyObject *>given), len(args), <PyObject *>names, places):
            raise op.wording.refused(op, args, keywords)
        return tuple([<object>places[i] for i in range(n)])
    finally:
        PyMem_Free(places)


def floor_of(OpOverload op not None, tuple args not None, rank_t without=0):
    """The rank at which a call begins: the highest among its arguments and the thread's modes, observers aside.

    Parameters
    ----------
    op : OpOverload
    args : tuple
        Every argument, in schema order.
    without : int
        Bit k leaves the modes of key k out of the count.
    """
    cdef rank_t rank = highest_mode(without | <rank_t>1 << OBSERVE)
    cdef Py_ssize_t i, positional = op.arguments.positional
    if len(args) != op.arguments.count:
        raise op.wording.refused(op, args, {})
    for i in range(op.arguments.count):
        if not op.arguments.accept(i, items_of(<PyObject *>args)[i], &rank):
            raise op.wording.refused(op, args[:positional], dict(zip(op.arguments.keyword_names, args[positional:])))
    return rank


def run_at(OpOverload op not None, rank_t rank, tuple args not None, kernel=None, *, bint whole=True):
    """Call the kernel of a rank's key, or `kernel` in its place, with what the core checks of every call.

    Parameters
    ----------
    op : OpOverload
    rank : int
        What `floor_of` said of these arguments.
    args : tuple
        Every argument, in schema order.
    kernel : callable, optional
        As the slot of the key would hold it.
    whole : bool
        Whether the residual comes back too.
    """
    cdef PyObject *self = <PyObject *>op
    cdef PyObject *arguments = <PyObject *>op.arguments
    cdef PyObject *const *items = items_of(<PyObject *>args)
    cdef PyObject *result
    if kernel is None:
        result = run(self, arguments, items, op.arguments.positional, rank, whole)
    else:
        hold(<PyObject *>kernel)
        result = run_kernel(self, arguments, items, op.arguments.positional, rank & (KEYS - 1), whole, <PyObject *>kernel)
    raise_pending(result)
    out = <object>result
    release(result)
    return out


def redispatched(OpOverload op not None, rank_t keys, tuple args not None):
    """Call an operator with the values and modes of some keys, bit k for key k, seen through for this call."""
    cdef bint whole = op.primary is not None
    if thread_state().rank & (KEYS - 1) == OBSERVE:
        return op.wording.observed(op, args, keys, whole)
    cdef tuple values = args
    for x in args:
        if not is_exact(<PyObject *>x):
            values = tuple([seen_through(x, keys) for x in args])
            break
    return run_at(op, floor_of(op, values, keys), values, whole=whole)
