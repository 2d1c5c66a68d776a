"""Containers: lists, tuples, dicts and records, taken apart, walked and put together again.

What a container holds is handed out as an exact tuple, and the tuple is held while its items are looked at: code that runs
meanwhile may change the list, and a subclass of list or tuple may say what it likes of its length. A container that holds
itself, or is nested too deep, raises RecursionError.
"""
from cpython.object cimport PyObject

from .arrays cimport is_newcomer
from .python cimport Py_TYPE, is_leaf
from .arrays import registers_now
from .subclasses import made_like

cdef extern from *:
    """
    static inline PyObject *dispatch_held(PyObject *x) {
        return PyList_Check(x) ? PyList_AsTuple(x) : PyTuple_GetSlice(x, 0, PyTuple_GET_SIZE(x));
    }
    static inline int dispatch_is_of_python(PyObject *x) { return Py_TYPE(x)->tp_flags & Py_TPFLAGS_HEAPTYPE ? 1 : 0; }
    """
    tuple dispatch_held(object x)
    bint may_be_dataclass "dispatch_is_of_python"(object x) noexcept

cdef const char *SEARCH = b" while looking for arrays in a container, which holds itself or is nested too deep"

# Classes that hold arrays: id of the class -> the class, what takes its fields out, what puts others in, and the two of
# `set_record` that may be None. An id, since a class may have a hash of its own making.
cdef dict RECORDS = {}


def set_record(cls not None, take not None, put not None, steps=None, form=None):
    """Let the fields of a class hold arrays: `take(x)` lists their values, `put(x, values)` is a record like x of others.

    A class whose values differ in more than their fields gives that by `form(x)`, an object with `==` and a text for messages:
    two values have one structure where it is equal. `steps(x)` is what is written behind x for each field, by default its name.
    """
    RECORDS[<size_t><PyObject *>cls] = cls, take, put, steps, form


cdef tuple record_of(object x):
    record = RECORDS.get(<size_t>Py_TYPE(<PyObject *>x))
    if record is None and is_newcomer(<PyObject *>x) and registers_now(x):
        record = RECORDS.get(<size_t>Py_TYPE(<PyObject *>x))
    return record


def steps_of(x):
    """What is written behind a record for each of its fields, as its class says; None where it says nothing."""
    record = record_of(x)
    return None if record is None or record[3] is None else record[3](x)


def form_of(x):
    """What a value has beside its fields, where its class says that this counts; else None."""
    record = None if is_leaf(<PyObject *>x) else record_of(x)
    return None if record is None or record[4] is None else record[4](x)


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
    """A list, tuple, dict or record like `x` of other items; a tuple's class is kept only if it is a named one."""
    if isinstance(x, list):
        return items if type(x) is list else made_like(x, items)
    if isinstance(x, tuple):
        return tuple(items) if type(x) is tuple or not hasattr(x, "_make") else x._make(items)
    if isinstance(x, dict):
        return dict(zip(x, items)) if type(x) is dict else made_like(x, items)
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
    enter(SEARCH)
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
    enter(SEARCH)
    try:
        found = [mapped(item, replace, context, join) for item in items]
    finally:
        leave()
    return rebuilt(x, found) if join == NULL else join(x, found)


# -- a whole container at once ---------------------------------------------------------------------------------------------


cdef int add_leaves(object x, object opened, list found) except -1:
    items = items_of(x)
    if items is None and opened is not None and may_be_dataclass(x):
        if getattr(type(x), "__dataclass_fields__", None) is not None:
            items = opened(x)
    if items is None:
        found.append(x)
        return 0
    enter(SEARCH)
    try:
        for item in items:
            add_leaves(item, opened, found)
    finally:
        leave()
    return 0


def leaves(x, opened=None):
    """Everything in a container that is none itself, in order, as a new list; of what is no container that alone.

    `opened` is asked of a dataclass that is no container yet: it gives the items where it becomes one, else None.

    Examples
    --------
    >>> leaves([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    cdef list found = []
    add_leaves(x, opened, found)
    return found


cdef bint is_named(object x):
    """Whether a container has fields of its own: a named tuple or a record, for which no other class stands in."""
    return not isinstance(x, list) and (not isinstance(x, tuple) or (type(x) is not tuple and hasattr(x, "_fields")))


cdef bint add_pairs(object given, object like, list found) except -1:
    """Add the leaves of `given` in the order of those of `like`; False where they differ in structure."""
    items = items_of(like)
    if items is None:
        found.append(given)
        return True
    if given is None:
        parts = (None,) * len(items)
    elif isinstance(like, dict):
        parts = [given[key] for key in like] if isinstance(given, dict) and given.keys() == like.keys() else None
    elif is_named(like):
        parts = items_of(given) if type(given) is type(like) and form_of(given) == form_of(like) else None
    else:
        parts = given if isinstance(given, (list, tuple)) and not is_named(given) else None
    if parts is None or len(parts) != len(items):
        return False
    enter(b" while containers were compared")
    try:
        for part, item in zip(parts, items):
            if not add_pairs(part, item, found):
                return False
    finally:
        leave()
    return True


def leaves_like(given, like):
    """The leaves of a container in the order of those of another of the same structure; None where they differ in structure.

    None stands for as many leaves None; a list and a tuple stand for each other, and the keys of a dict have any order.
    """
    cdef list found = []
    return found if add_pairs(given, like, found) else None


cdef object next_of(object like, list leaves, Py_ssize_t *place):
    items = items_of(like)
    if items is None:
        if place[0] == len(leaves):
            raise ValueError(f"a container has more leaves than the {len(leaves)} it was to be made of.")
        place[0] += 1
        return leaves[place[0] - 1]
    enter(b" while a container was put together")
    try:
        return rebuilt(like, [next_of(item, leaves, place) for item in items])
    finally:
        leave()


def unflatten(like, list leaves not None):
    """A container like `like` with other leaves, in order.

    Examples
    --------
    >>> unflatten([1, (2, {"a": 3})], ["x", "y", "z"])
    ['x', ('y', {'a': 'z'})]
    """
    cdef Py_ssize_t place = 0
    made = next_of(like, leaves, &place)
    if place != len(leaves):
        raise ValueError(f"a container has {place} leaves, and was to be made of {len(leaves)}.")
    return made
