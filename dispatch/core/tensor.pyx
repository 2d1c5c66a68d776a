"""Tensor: the base of every wrapper, and the two things a layer's kernel does with wrappers, `split` and `wrap`.

A wrapper carries exactly one key at one level, kept as one integer, its rank, and outranks what it wraps. So the highest
rank among the arguments of a call names the layer that has to act, and taking the wrapper off always leads to a lower rank.
It has more than 350 lines because what reads a wrapper's fields in C stands beside them.
"""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyObject_GenericGetAttr, PyObject_GenericSetAttr, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from .arrays cimport has_key, has_more, is_exact
from .flatten cimport mapped, walk
from .keys cimport FAKE, VMAP, key_at, rank_at, rank_t
from .python cimport PyType_IsSubtype, Py_DECREF, Py_None, Py_TYPE, Py_XDECREF, Py_XINCREF, is_plain
from .python cimport items_of_tuple, new_reference, tuple_of
from .state cimport GROUND, Level, thread_state
from .vectorcall cimport vectorcall

from ..errors import ConversionError, EscapedValueError, GuardError, no_items
from .keys import DispatchKey
from .arrays import freeze
from .wrong_attributes import not_set
from .wrong_calls import more_than_data

cdef extern from *:
    """
    /* tp_new with nothing to parse: 40 ns less for each result than calling the class. */
    static PyObject *dispatch_allocate(PyObject *cls, PyObject *no_arguments) {
        return ((PyTypeObject *)cls)->tp_new((PyTypeObject *)cls, no_arguments, NULL);
    }
    """
    object dispatch_allocate(object cls, tuple no_arguments)

cdef tuple NOTHING = ()
cdef rank_t OPAQUE = (1 << FAKE) | (1 << VMAP)          # keys of values that are no constants
cdef object ONE = 1                         # a Python number: shifted, it does not overflow


cdef class _Awaited:
    """What runs before the first wrapper is made."""
    cdef object call

cdef _Awaited AWAITED = _Awaited()
cdef Level UNMADE = Level("no transform (made by __new__, and not by core.wrap)")      # never open, so that no call takes it


def before_first_wrapper(call):
    """Have `call()` run before the first wrapper is made, until `before_first_wrapper(None)`; where it raises none is made."""
    AWAITED.call = call


cdef class Wrapped:
    """The fields of a wrapper; users meet it as `Tensor`."""

    def __cinit__(self):
        if AWAITED.call is not None:
            AWAITED.call()
        self.level = UNMADE

    def __getattribute__(self, name):
        """An attribute; of one that is not there it is said what is."""
        try:
            return PyObject_GenericGetAttr(self, name)
        except AttributeError:
            if (name[:1] == "_" and name not in ("_value", "_node")) or hasattr(type(self), name):  # a protocol's, a property's
                raise
        raise type(self)._no_attribute(self, name)

    def __setattr__(self, name, value):
        """Set an attribute; a misspelt one is refused with the one that was meant."""
        try:
            PyObject_GenericSetAttr(self, name, value)
        except AttributeError:
            if getattr(getattr(type(self), name, None), "fset", None) is not None:     # a property's own words
                raise
            raise not_set(self, name, getattr(type(self), "_elsewhere", None)) from None

cdef PyTypeObject *WRAPPED = <PyTypeObject *><PyObject *>Wrapped


cdef bint is_wrapped(PyObject *x) noexcept:
    return PyType_IsSubtype(Py_TYPE(x), WRAPPED)


class Tensor(Wrapped):
    """The base class of the wrappers: fake, tracked, dual, batched, traced and functional values.

    A wrapper behaves as the array it stands for: infix operators, NumPy's functions and the methods of an ndarray work on it,
    so a function that is written for arrays need not know whether it was given one. Transforms and modes make wrappers;
    calling the class raises.

    Attributes
    ----------
    value : ndarray or Tensor
        What is wrapped.
    level : Level
        The transform it belongs to.
    rank : int
        `level.number * 64 + key`. The argument of the highest rank decides which kernel of an operator runs.
    read_only : bool
        Whether operators that write refuse it. The gradient that a backward gets is used by others too, and so is read-only.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def shape_of_item(x):
    ...     assert isinstance(x, dispatch.Tensor)
    ...     return np.array(x.shape)
    >>> dispatch.vmap(shape_of_item, out_dims=None)(np.ones((2, 3)))
    array([3])
    """

    __slots__ = ()
    __array_priority__ = 1000.0             # above every library's arrays: theirs give way to ours
    key = None                              # a subclass names its layer's DispatchKey

    def __init__(self, *args, **options):
        raise TypeError(
            f"a {type(self).__name__} is not made by calling its class: it belongs to a tape, a transform or a mode. "
            "Write dispatch.tensor(a, requires_grad=True), or mode.from_array(a) under a FakeTensorMode.")

    @property
    def shape(self):
        """The length of each axis, a tuple of int or SymInt."""
        return self.value.shape

    @shape.setter
    def shape(self, value):
        raise AttributeError(f"the shape of a {type(self).__name__} cannot be set. Write y = x.reshape({value!r}).")

    @property
    def dtype(self):
        """The type of the elements, a NumPy dtype."""
        return self.value.dtype

    @dtype.setter
    def dtype(self, value):
        raise AttributeError(f"the dtype of a {type(self).__name__} cannot be set. Write y = x.astype(dtype).")

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def device(self):
        """The name of the device, `"cpu"` for NumPy's arrays."""
        return getattr(self.value, "device", "cpu")

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor: it has no axis to count.")
        return self.shape[0]

    def __iter__(self):
        # A length that is no number raises at the first item: functools.reduce and NumPy replace a TypeError of iter(x).
        return (self[i] for _ in (None,) for i in range(len(self))) if self.shape else no_items()

    # Identity: equality is elementwise, as in NumPy, so it must not decide what a wrapper's hash is.
    __hash__ = object.__hash__

    def __array__(self, dtype=None, copy=None):
        thread_state().requests += 1
        raise ConversionError(
            f"a NumPy array was asked of a {type(self).__name__} of shape {self.shape} and dtype {self.dtype}, which would "
            "take it out of its transform. Call an operator or NumPy's functions; write it into np.zeros_like(x, shape=...).")

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} belongs to the transform or tape of one process and cannot be pickled. "
                        "Take its value out first: dispatch.detach(x).")


cdef Wrapped allocated(type cls, Level level, rank_t rank):
    """A wrapper of a class around nothing yet."""
    cdef Wrapped made = dispatch_allocate(cls, NOTHING)
    made.level, made.rank = level, rank
    return made


def wrap(type cls not None, value, like not None, kept=None, bint frozen=False):
    """A wrapper of class `cls` around `value`.

    Parameters
    ----------
    cls : type
        A subclass of Tensor.
    value : ndarray, scalar, Tensor or None
        Of a lower rank than the wrapper.
    like : Tensor or Level
        The level, and with a Tensor also the rank, of the new wrapper.
    kept : object, optional
        What the layer keeps beside the value.
    frozen : bool
        Make an array that is wrapped read-only.

    Raises
    ------
    EscapedValueError
        If `value` outranks the wrapper, so that it belongs to a transform inside this one.
    """
    if not PyType_IsSubtype(<PyTypeObject *>cls, WRAPPED):
        raise TypeError(f"{cls.__qualname__} is no class of wrappers: derive it from dispatch.Tensor.")
    cdef Wrapped made
    if isinstance(like, Wrapped):
        made = allocated(cls, (<Wrapped>like).level, (<Wrapped>like).rank)
    else:
        made = allocated(cls, like, rank_at((<Level?>like).number, cls.key))
    if isinstance(value, Wrapped):
        if (<Wrapped>value).rank >= made.rank:
            raise EscapedValueError(
                f"a {cls.__name__} of {made.level!r} was asked around a {type(value).__name__} of {(<Wrapped>value).level!r}, "
                "which stands above it. Make it outside the inner transform, or wrap the value that went into that. What a "
                "kernel uses goes in as an argument.")
    elif not is_exact(<PyObject *>value):
        no_more(value, None, NULL)
    made.value = freeze(value) if frozen else value
    made.kept = kept
    return made


cdef int no_more(object x, tuple items, void *context) except -1:
    if has_more(<PyObject *>x):
        raise more_than_data(x)
    return 0


def check_data(x):
    """Raise where `x`, or an item of a container, is an ndarray of a class that has more than its data.

    Exact arrays, memory maps and classes that are registered as array types pass, and so does whatever is no array.

    Raises
    ------
    ArgumentError
    """
    if not is_exact(<PyObject *>x):
        walk(x, no_more, NULL)


cdef int note_wrapper(object x, tuple items, void *context) except -1:
    if not is_wrapped(<PyObject *>x):
        return 0
    (<PyObject **>context)[0] = <PyObject *>x
    Py_INCREF(x)
    return 1


def first_wrapper(x):
    """The first wrapper in a value or in a container; None where there is none."""
    cdef PyObject *found = NULL
    if not walk(x, note_wrapper, &found):
        return None
    result = <object>found
    Py_XDECREF(found)
    return result


cdef struct Highest:
    PyObject *found                         # owned: code that runs during a walk may let go of the container that held it
    PyTypeObject *cls


cdef int note_highest(object x, tuple items, void *context) except -1:
    cdef Highest *highest = <Highest *>context
    no_more(x, items, NULL)
    if PyType_IsSubtype(Py_TYPE(<PyObject *>x), highest.cls) and (
            highest.found == NULL or (<Wrapped>x).rank > (<Wrapped>highest.found).rank):
        Py_XDECREF(highest.found)
        highest.found = <PyObject *>x
        Py_XINCREF(highest.found)
    return 0


cdef Wrapped highest(object x, Wrapped found, PyTypeObject *cls):
    """The wrapper of a class and of the highest rank in x, a value or a container of values, and `found`."""
    cdef Highest context
    context.found, context.cls = <PyObject *>found if found is not None else NULL, cls
    Py_XINCREF(context.found)
    try:
        walk(x, note_highest, &context)
        return <Wrapped>context.found if context.found != NULL else None
    finally:
        Py_XDECREF(context.found)


cdef object value_at(object x, void *rank):
    return (<Wrapped>x).value if is_wrapped(<PyObject *>x) and (<Wrapped>x).rank == (<rank_t *>rank)[0] else x


cdef object data_at(object x, void *rank):
    return (<Wrapped>x).kept if is_wrapped(<PyObject *>x) and (<Wrapped>x).rank == (<rank_t *>rank)[0] else None


cdef object list_unless_empty(object x, list items):
    for item in items:
        if item is not None:
            return items
    return None


cdef object constant_at(object x, void *keys):
    while is_wrapped(<PyObject *>x) and (<rank_t *>keys)[0] >> key_at((<Wrapped>x).rank) & 1:
        if OPAQUE >> key_at((<Wrapped>x).rank) & 1:
            raise GuardError(
                f"a call below {DispatchKey(key_at((<Wrapped>x).rank))} was asked of a {type(x).__name__} of shape "
                f"{x.shape}, which is no constant of what it stands for. Let the layer act, and redispatch below a lower key.")
        x = (<Wrapped>x).value
    return x


def seen_through(x, rank_t keys):
    """`x` with the wrappers of some keys taken off at every level, inside containers too: they count as constants.

    Parameters
    ----------
    x : object
    keys : int
        Bit k for key k.

    Raises
    ------
    GuardError
        If a batched or a fake value would have to be a constant: one item of it is no value, and a fake has none.
    """
    return mapped(x, constant_at, &keys)


cdef bint is_row(PyObject *x) noexcept:
    """A list or tuple whose items are looked at here: `walk` and `mapped`, for every container, take ten times as long."""
    return Py_TYPE(x) == <PyTypeObject *>list or Py_TYPE(x) == <PyTypeObject *>tuple


cdef object row_taken_off(object x, rank_t *rank, list data):
    """A list or tuple with the wrappers of a rank taken off; `data` gets what was kept beside each, if any was."""
    cdef list found
    cdef bint own = False, same = True
    found = []
    for item in x:
        if is_plain(<PyObject *>item) or is_exact(<PyObject *>item):
            found.append(item)
            data.append(None)
            continue
        if is_wrapped(<PyObject *>item):
            value, kept = value_at(item, rank), data_at(item, rank)
        else:
            value, kept = mapped(item, value_at, rank), mapped(item, data_at, rank, list_unless_empty)
        found.append(value)
        data.append(kept)
        own, same = own or kept is not None, same and value is item
    if not own:
        data.clear()
    return found if type(x) is list else x if same else tuple(found)


cdef void begin(Taken *taken) noexcept:
    """Make a Taken one that holds nothing, which `let_go` may be given."""
    taken.like = taken.setting = NULL
    taken.count = 0
    taken.values, taken.data = taken.on_stack + AHEAD, taken.on_stack + AHEAD + FEW


cdef void let_go(Taken *taken) noexcept:
    """Release what a Taken holds."""
    cdef Py_ssize_t i
    for i in range(taken.count):
        Py_DECREF(taken.values[i])
        Py_DECREF(taken.data[i])
    taken.count = 0
    Py_XDECREF(taken.like)
    Py_XDECREF(taken.setting)
    if taken.values != taken.on_stack + AHEAD:
        PyMem_Free(taken.values - AHEAD)


cdef int take_off(PyObject *const *args, Py_ssize_t n, Taken *taken) except -1:
    """`split` in C: the caller has begun with `taken`, and lets go of it, after an exception too."""
    cdef Wrapped like = None
    cdef Py_ssize_t i
    cdef rank_t rank, bit
    cdef bint all_plain
    cdef list parts
    cdef rank_t plain = 0                   # which of the first 64 arguments are rows of numbers and arrays, as a shape is
    cdef rank_t wrappers = 0                # which are wrappers
    cdef rank_t single = 0                  # and which are numbers and arrays themselves
    cdef PyObject *x
    if n > FEW:
        taken.data = <PyObject **>PyMem_Malloc((AHEAD + 2 * n) * sizeof(PyObject *))
        if taken.data == NULL:
            raise MemoryError
        taken.values, taken.data = taken.data + AHEAD, taken.data + AHEAD + n
    for i in range(n):
        x = args[i]
        if is_plain(x) or is_exact(x):
            if i < 64:
                single |= <rank_t>1 << i
            continue
        if is_wrapped(x):                   # the usual case: walking is for containers
            if i < 64:
                wrappers |= <rank_t>1 << i
            if like is None or (<Wrapped>x).rank > like.rank:
                like = <Wrapped>x
        elif is_row(x):
            all_plain = i < 64
            for item in <object>x:
                if is_plain(<PyObject *>item) or is_exact(<PyObject *>item):
                    continue
                all_plain = False
                if not is_wrapped(<PyObject *>item):
                    like = highest(item, like, WRAPPED)
                elif like is None or (<Wrapped>item).rank > like.rank:
                    like = <Wrapped>item
            if all_plain:
                plain |= <rank_t>1 << i
        else:
            like = highest(<object>x, like, WRAPPED)
    rank = 0
    if like is not None:
        rank = like.rank
        taken.like = <PyObject *>like
        Py_INCREF(like)
    for i in range(n):
        x = args[i]
        bit = <rank_t>1 << i if i < 64 else 0
        if single & bit or (bit == 0 and (is_plain(x) or is_exact(x))):
            put(taken, <object>x, None)
        elif wrappers & bit or is_wrapped(x):
            if (<Wrapped>x).rank == rank:
                put(taken, (<Wrapped>x).value, (<Wrapped>x).kept)
            else:
                put(taken, <object>x, None)
        elif plain & bit:
            put(taken, list(<object>x) if Py_TYPE(x) == <PyTypeObject *>list else <object>x, None)
        elif is_row(x):
            parts = []
            item = row_taken_off(<object>x, &rank, parts)
            put(taken, item, parts if parts else None)
        else:
            put(taken, mapped(<object>x, value_at, &rank), mapped(<object>x, data_at, &rank, list_unless_empty))
    taken.setting = thread_state().settings[key_at(rank)]
    Py_XINCREF(taken.setting)
    return 0


cdef inline void put(Taken *taken, object value, object data) noexcept:
    Py_INCREF(value)
    Py_INCREF(data)
    taken.values[taken.count], taken.data[taken.count] = <PyObject *>value, <PyObject *>data
    taken.count += 1


cdef PyObject *descended(PyObject *whole, PyObject *const *args, Py_ssize_t n, Taken *taken) except NULL:
    """Take the topmost wrappers off, and give the result of the operator's call on what is left, a new reference."""
    take_off(args, n, taken)
    return vectorcall(whole, taken.values, n, NULL)


cdef object own_of(Taken *taken):
    """Which arguments the layer has kept something of: bit i for argument i."""
    cdef rank_t low = 0                     # hardly an operator has more than 64 arguments
    cdef Py_ssize_t i
    for i in range(min(taken.count, 64)):
        if taken.data[i] != Py_None:
            low |= <rank_t>1 << i
    own = low
    for i in range(64, taken.count):
        if taken.data[i] != Py_None:
            own = own | ONE << i
    return own


cdef tuple parts_of(Taken *taken):
    """What `split` gives."""
    return (
        None if taken.like == NULL else <object>taken.like, tuple_of(taken.values, taken.count),
        tuple_of(taken.data, taken.count), own_of(taken), None if taken.setting == NULL else <object>taken.setting,
    )


def split(tuple args not None):
    """Take the topmost wrappers off a call's arguments: a layer's kernel begins with this.

    Parameters
    ----------
    args : tuple
        Every argument of the operator; at least one holds a wrapper.

    Returns
    -------
    like : Tensor
        One of the wrappers of the highest rank.
    values : tuple
        The arguments with the wrappers of that rank taken off, inside containers too: lists, tuples, dicts, records.
    data : tuple
        For each argument what the layer kept beside its value, None where the argument is not the layer's own; a list
        for a container that holds one of the layer's own, in the order of its items, values or fields.
    own : int
        Which arguments are the layer's own, or containers that hold one: bit i for argument i.
    value : object
        The newest Setting of the layer's key in this thread, or None.
    """
    cdef Taken taken
    begin(&taken)
    try:
        take_off(items_of_tuple(args), len(args), &taken)
        return parts_of(&taken)
    finally:
        let_go(&taken)


def descend(whole not None, tuple args not None):
    """Take the topmost wrappers off and call the operator again: `split` and the call, in one step.

    Parameters
    ----------
    whole : OpOverload
        `op.whole`.
    args : tuple
        Every argument of the operator.

    Returns
    -------
    out : object
        What the operator gave.
    like, values, data, own, value
        As `split` returns them.
    """
    cdef Taken taken
    begin(&taken)
    try:
        out = <object>new_reference(descended(<PyObject *>whole, items_of_tuple(args), len(args), &taken))
        return out, *parts_of(&taken)
    finally:
        let_go(&taken)


def unwrap(x, rank_t rank):
    """`x` with the wrappers of a rank taken off, inside containers too."""
    return mapped(x, value_at, &rank)


cdef tuple unwrapped(tuple values, rank_t rank):
    """Values, none of them a container, with the wrappers of a rank taken off."""
    cdef Py_ssize_t i, n = len(values)
    cdef tuple found = PyTuple_New(n)
    for i in range(n):
        x = value_at(values[i], &rank)
        Py_INCREF(x)
        PyTuple_SET_ITEM(found, i, x)
    return found


def check_open(Wrapped x not None):
    """Raise where the level of `x` has closed."""
    if not x.level.open:
        raise EscapedValueError(
            f"a {type(x).__name__} of {x.level!r} is used after that transform has ended: it escaped through a variable, a "
            "list or a closure. Return it from the transformed function instead.")


def is_array(x):
    """Whether `x` is an array: of NumPy, of a class that was registered with `register_array_type`, or a wrapper."""
    return is_wrapped(<PyObject *>x) or has_key(x)


def ground():
    """Level 0, where values without a transform live."""
    return GROUND
