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
