"""Containers: lists, tuples, dicts and records, taken apart, walked and put together again.

What a container holds is handed out as an exact tuple, and the tuple is held while its items are looked at: code that runs
meanwhile may change the list, and a subclass of list or tuple may say what it likes of its length. A container that holds
itself, or is nested too deep, raises RecursionError.
"""
from cpython.object cimport PyObject

from .python cimport Py_TYPE, is_leaf

cdef extern from *:
    """
    static inline PyObject *dispatch_held(PyObject *x) {
        return PyList_Check(x) ? PyList_AsTuple(x) : PyTuple_GetSlice(x, 0, PyTuple_GET_SIZE(x));
    }
    static inline int dispatch_enter(void) {
        return Py_EnterRecursiveCall(
            " while looking for tensors in an argument: a container holds itself, or is nested too deep") ? -1 : 0;
    }
    """
    tuple dispatch_held(object x)
    int enter "dispatch_enter"() except -1
    void leave "Py_LeaveRecursiveCall"()

# Dataclasses with arrays: id of the class -> the class, what takes its fields out, what puts others in. An id, since a class
# may have a hash of its own making.
cdef dict RECORDS = {}


def set_record(cls not None, take not None, put not None):
    """Let the fields of a class hold arrays: `take(x)` lists their values, `put(x, values)` is a record like x of others."""
    RECORDS[<size_t><PyObject *>cls] = cls, take, put


cdef tuple record_of(object x):
    return RECORDS.get(<size_t>Py_TYPE(<PyObject *>x))


cdef tuple held(object x):
    """The items of a list or a tuple, whatever its class says that they are."""
    return dispatch_held(x)


cpdef tuple items_of(object x):
    """What a list, tuple, dict or record holds, in its own order; None for what is none of these."""
    if is_leaf(<PyObject *>x):
        return None
    if isinstance(x, (list, tuple)):
        return dispatch_held(x)
    if isinstance(x, dict):
        return tuple(x.values())
    record = record_of(x)
    return None if record is None else tuple(record[1](x))


cpdef object rebuilt(object x, list items):
    """A list, tuple, dict or record like `x` of other items; a named tuple keeps its class, any other subclass does not."""
    if isinstance(x, list):
        return items
    if isinstance(x, tuple):
        return tuple(items) if type(x) is tuple or not hasattr(x, "_make") else x._make(items)
    if isinstance(x, dict):
        return dict(zip(x, items))
    record = record_of(x)
    if record is None:
        raise TypeError(f"a {type(x).__name__} is no container, and cannot be made of other items.")
    return record[2](x, items)


cdef int walk(object x, visit_t visit, void *context, int depth=-1) except -1:
    """Look at a value and at everything in it, a container before its items; 1 where a visit ended the walk.

    Containers that are nested deeper than `depth` are not opened.
    """
    cdef tuple items = items_of(x) if depth else None
    cdef int ended = visit(x, items, context)
    if ended or items is None:
        return ended
    enter()
    try:
        for item in items:
            ended = visit(item, None, context) if is_leaf(<PyObject *>item) else walk(item, visit, context, depth - 1)
            if ended:
                return 1
    finally:
        leave()
    return 0


cdef object mapped(object x, replace_t replace, void *context, join_t join=NULL):
    """A container like x of what stands in place of its values, or, with `join`, what that makes of them."""
    cdef tuple items = items_of(x)
    if items is None:
        return replace(x, context)
    enter()
    try:
        found = [mapped(item, replace, context, join) for item in items]
    finally:
        leave()
    return rebuilt(x, found) if join == NULL else join(x, found)
