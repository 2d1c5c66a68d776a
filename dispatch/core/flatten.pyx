"""What holds arrays: lists, tuples, dicts and records, taken apart and put together again."""

cdef dict RECORDS = {}                      # class -> (what takes its fields out, what puts others in): dataclasses with arrays


def set_record(cls not None, take not None, put not None):
    """Let the fields of a class hold arrays: `take(x)` lists their values, `put(x, values)` is a record like x of others."""
    RECORDS[cls] = take, put


cpdef object items_of(object x):
    """What a list, tuple, dict or record holds, in its own order, as a list or tuple; None for what is none of these."""
    if isinstance(x, (list, tuple)):
        return x
    if isinstance(x, dict):
        return list(x.values())
    record = RECORDS.get(type(x))
    return None if record is None else record[0](x)


cpdef object rebuilt(object x, list items):
    """A list, tuple, dict or record like `x` of other items; a named tuple keeps its class, any other subclass does not."""
    if isinstance(x, list):
        return items
    if isinstance(x, tuple):
        return tuple(items) if type(x) is tuple or not hasattr(x, "_make") else x._make(items)
    return dict(zip(x, items)) if isinstance(x, dict) else RECORDS[type(x)][1](x, items)


# -- a whole container at once ---------------------------------------------------------------------------------------------

cdef extern from *:
    """
    static inline int dispatch_enter(const char *where) { return Py_EnterRecursiveCall(where) ? -1 : 0; }  /* which gives 1 */
    static inline int dispatch_is_of_python(PyObject *x) { return Py_TYPE(x)->tp_flags & Py_TPFLAGS_HEAPTYPE ? 1 : 0; }
    """
    int dispatch_enter(const char *where) except -1
    bint may_be_dataclass "dispatch_is_of_python"(object x) noexcept
    void dispatch_leave "Py_LeaveRecursiveCall"()


cdef int add_leaves(object x, object opened, list found) except -1:
    items = items_of(x)
    if items is None and opened is not None and may_be_dataclass(x):
        if getattr(type(x), "__dataclass_fields__", None) is not None:
            items = opened(x)
    if items is None:
        found.append(x)
        return 0
    dispatch_enter(b" while a container was flattened")
    try:
        for item in items:
            add_leaves(item, opened, found)
    finally:
        dispatch_leave()
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
        parts = items_of(given) if type(given) is type(like) else None
    else:
        parts = given if isinstance(given, (list, tuple)) and not is_named(given) else None
    if parts is None or len(parts) != len(items):
        return False
    dispatch_enter(b" while containers were compared")
    try:
        for part, item in zip(parts, items):
            if not add_pairs(part, item, found):
                return False
    finally:
        dispatch_leave()
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
    dispatch_enter(b" while a container was put together")
    try:
        return rebuilt(like, [next_of(item, leaves, place) for item in items])
    finally:
        dispatch_leave()


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
