"""What the layers read of arrays' memory and change in it, in C: layouts, views by strides, ownership.

These are functions of arrays and of nothing else: no operator, no key, no state. They are compiled because each of them
stands on the way of every recorded call, where NumPy's own, made for every case, take a microsecond each. The file has more
than 350 lines because who owns memory, and who may write to it, is one question.
"""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memcpy

import numpy as np

from .arrays cimport has_more, is_exact, owner_of
from .tensor cimport Wrapped, no_more

from ..errors import UnsupportedError
from .arrays import freeze, is_of_registered_class

cnp.import_array()

cdef extern from *:
    """
    #define dispatch_new_view(d, n, lengths, strides, data) \\
        PyArray_NewFromDescr(&PyArray_Type, (Py_INCREF(d), (PyArray_Descr *)(d)), n, lengths, strides, data, 0, NULL)
    #define dispatch_new_like(x, a) \
        PyArray_NewFromDescr(Py_TYPE(x), (Py_INCREF(PyArray_DESCR(a)), PyArray_DESCR(a)), PyArray_NDIM(a), PyArray_DIMS(a), \
                             PyArray_STRIDES(a), PyArray_DATA(a), 0, (PyObject *)(a))
    #define dispatch_new_array(d, n, lengths) \\
        PyArray_NewFromDescr(&PyArray_Type, (Py_INCREF(d), (PyArray_Descr *)(d)), n, lengths, NULL, NULL, 0, NULL)
    static inline int dispatch_set_base(PyObject *view, PyObject *base) {
        Py_INCREF(base);
        return PyArray_SetBaseObject((PyArrayObject *)view, base);
    }
    static inline PyObject *dispatch_another(PyObject *like, PyObject *no_arguments) {
        return Py_TYPE(like)->tp_new(Py_TYPE(like), no_arguments, NULL);
    }
    static inline void dispatch_forget_items(PyObject *cls) {
        PySequenceMethods *methods = ((PyTypeObject *)cls)->tp_as_sequence;
        if (methods != NULL) {
            methods->sq_item = NULL;
        }
    }
    """
    cnp.ndarray dispatch_new_view(object, int, cnp.npy_intp *, cnp.npy_intp *, void *)
    cnp.ndarray dispatch_new_like(cnp.ndarray, cnp.ndarray)
    cnp.ndarray dispatch_new_array(object, int, cnp.npy_intp *)
    int dispatch_set_base(object view, object base) except -1
    object dispatch_another(object like, tuple no_arguments)
    void dispatch_forget_items(object cls)
    void PyDimMem_FREE(cnp.npy_intp *)

cdef dict rewritable_types = {}             # wrappers that a write changes -> whether their arrays are read-only for good
cdef type FLOAT64 = np.float64
cdef tuple FLOAT64_LAYOUT = ((), np.dtype(np.float64))
cdef tuple ARRAYS = (np.ndarray, np.generic)
cdef type GENERIC = np.generic


cdef tuple shape_of(cnp.ndarray x):
    """`x.shape`, without the search for an attribute."""
    return cnp.PyArray_IntTupleFromIntp(cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x))


cpdef object inexact_layout(x):
    """`(shape, dtype)` of an array or a wrapper of floating-point or complex numbers; None for anything else.

    The dtype is of the machine's byte order, as all that NumPy computes is, and a gradient with it.
    """
    if isinstance(x, cnp.ndarray):
        if cnp.PyTypeNum_ISFLOAT(cnp.PyArray_TYPE(<cnp.ndarray>x)) or cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(<cnp.ndarray>x)):
            dtype = (<cnp.ndarray>x).descr
            return shape_of(<cnp.ndarray>x), (dtype if cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>x) else dtype.newbyteorder("="))
        return None
    if type(x) is FLOAT64:
        return FLOAT64_LAYOUT               # what a reduction gives
    dtype = getattr(x, "dtype", None)
    if dtype is None or dtype.kind not in "fc":
        return None
    return x.shape, (dtype if dtype.isnative else dtype.newbyteorder("="))


cpdef object constant(op, x):
    """A result whose dtype has no derivative; one of Python objects, which may have hidden one, is refused."""
    if isinstance(x, cnp.ndarray) and cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.NPY_OBJECT:
        raise UnsupportedError(
            f"{op.name}: the result is an array of Python objects, and no derivative goes through one. Give arrays of numbers "
            "alone: x.astype(float). A ufunc of np.frompyfunc gives objects of any: make an operator of its function instead, "
            "custom_op(name, f, mutates_args=(), signature='()->()').",
            operator=op.name,
        )
    return x


cpdef bint has_layout(x, tuple layout) except -1:
    """Whether an array or a wrapper has the shape and dtype of a layout."""
    cdef tuple shape = layout[0]
    cdef object dtype = layout[1]
    cdef Py_ssize_t i, n = len(shape)
    if not isinstance(x, cnp.ndarray):
        given = getattr(x, "shape", None)  # lengths first: tuples compare items before them, and these may be symbols
        return type(given) is tuple and len(<tuple>given) == n and given == shape and x.dtype == dtype
    if cnp.PyArray_NDIM(<cnp.ndarray>x) != n or has_more(<PyObject *>x):
        return False                        # the second is refused where it does not fit
    for i in range(n):
        if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <Py_ssize_t>shape[i]:
            return False
    return (<cnp.ndarray>x).descr is dtype or (<object>x).dtype == dtype


def is_complex(x):
    """Whether an array, a wrapper or a number is of complex numbers."""
    if isinstance(x, cnp.ndarray):
        return cnp.PyTypeNum_ISCOMPLEX(cnp.PyArray_TYPE(<cnp.ndarray>x))
    dtype = getattr(x, "dtype", None)
    return isinstance(x, complex) if dtype is None else dtype.kind == "c"


cdef cnp.ndarray copied(cnp.ndarray x):
    """A copy in the same order of axes. NumPy's takes 0.2 us more, for its generality."""
    cdef cnp.ndarray made
    if not is_exact(<PyObject *>x) or not cnp.PyArray_CHKFLAGS(x, cnp.NPY_ARRAY_C_CONTIGUOUS) or not cnp.PyTypeNum_ISNUMBER(
            cnp.PyArray_TYPE(x)):
        return cnp.PyArray_NewCopy(x, cnp.NPY_KEEPORDER)
    made = dispatch_new_array(x.descr, cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x))
    memcpy(cnp.PyArray_DATA(made), cnp.PyArray_DATA(x), cnp.PyArray_NBYTES(x))
    return made


cpdef object owned(x):
    """A new array with the elements of an array or a NumPy scalar, which nobody else holds and which can be written to.

    Anything else comes back as it is.
    """
    if isinstance(x, cnp.ndarray):
        return copied(<cnp.ndarray>x)
    return np.array(x) if isinstance(x, GENERIC) else copied_by_class(x)


cdef object copied_by_class(x):
    """A copy of an array of a registered class that can be written to; anything else as it is."""
    return x.copy() if hasattr(type(x), "__setitem__") and not isinstance(x, Wrapped) and is_of_registered_class(x) else x


cdef class Watched:
    """Stands as the owner of memory of another library, which tells by itself of a write to it, or lets nobody write."""

    cdef object array

    def __cinit__(self, array):
        self.array = array


def watched(cnp.ndarray x not None):
    """A read-only view of an array in memory that is watched: what keeps it need not copy it."""
    cdef cnp.ndarray view = dispatch_new_view(x.descr, cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.PyArray_STRIDES(x),
                                              cnp.PyArray_DATA(x))
    dispatch_set_base(view, Watched(x))
    return view


cdef extern from *:
    """
    /* Which arrays are held: the address of each, and of its Hold, which the views of it keep. A table by open addressing, half
       empty at least: a dict takes 0.1 us more for each array, for the numbers that its keys and values would be. */
    typedef struct { PyObject *array, *hold; } dispatch_held;
    static dispatch_held *dispatch_holds = NULL;
    static size_t dispatch_holds_mask = 0, dispatch_holds_used = 0;
    static inline size_t dispatch_place_of(PyObject *array) { return ((size_t)array >> 4) * (size_t)0x9E3779B97F4A7C15 >> 20; }
    static PyObject *dispatch_hold_of(PyObject *array) {
        if (dispatch_holds == NULL) { return NULL; }
        size_t i = dispatch_place_of(array) & dispatch_holds_mask;
        for (; dispatch_holds[i].array != NULL; i = (i + 1) & dispatch_holds_mask) {
            if (dispatch_holds[i].array == array) { return dispatch_holds[i].hold; }
        }
        return NULL;
    }
    static int dispatch_note_hold(PyObject *array, PyObject *hold) {
        if (2 * (dispatch_holds_used + 1) > dispatch_holds_mask) {
            dispatch_held *old = dispatch_holds;
            const size_t length = dispatch_holds == NULL ? 0 : dispatch_holds_mask + 1;
            dispatch_held *made = PyMem_Calloc(length == 0 ? 64 : 2 * length, sizeof(dispatch_held));
            if (made == NULL) { PyErr_NoMemory(); return -1; }
            dispatch_holds = made;
            dispatch_holds_mask = (length == 0 ? 64 : 2 * length) - 1;
            dispatch_holds_used = 0;
            for (size_t k = 0; k < length; k++) {
                if (old[k].array != NULL) { dispatch_note_hold(old[k].array, old[k].hold); }
            }
            PyMem_Free(old);
        }
        size_t i = dispatch_place_of(array) & dispatch_holds_mask;
        while (dispatch_holds[i].array != NULL) { i = (i + 1) & dispatch_holds_mask; }
        dispatch_holds[i].array = array;
        dispatch_holds[i].hold = hold;
        dispatch_holds_used++;
        return 0;
    }
    static void dispatch_forget_hold(PyObject *array) {
        size_t i = dispatch_place_of(array) & dispatch_holds_mask, k;
        while (dispatch_holds[i].array != array) { i = (i + 1) & dispatch_holds_mask; }
        /* What stands behind it moves up, unless its own place lies between: no search ends too early. */
        for (k = (i + 1) & dispatch_holds_mask; dispatch_holds[k].array != NULL; k = (k + 1) & dispatch_holds_mask) {
            const size_t own = dispatch_place_of(dispatch_holds[k].array) & dispatch_holds_mask;
            if (((k - own) & dispatch_holds_mask) >= ((k - i) & dispatch_holds_mask)) {
                dispatch_holds[i] = dispatch_holds[k];
                i = k;
            }
        }
        dispatch_holds[i].array = NULL;
        dispatch_holds_used--;
    }
    """
    PyObject *hold_of "dispatch_hold_of"(PyObject *array) noexcept
    int note_hold "dispatch_note_hold"(PyObject *array, PyObject *hold) except -1
    void forget_hold "dispatch_forget_hold"(PyObject *array) noexcept


@cython.freelist(16)
@cython.no_gc                               # an array is not looked at by the collector, and so this is in no cycle
cdef class Hold:
    """Stands as the owner of an array that is read-only until nobody has a view by `held` any more."""

    cdef readonly cnp.ndarray array

    def __dealloc__(self):
        if self.array is not None:
            forget_hold(<PyObject *>self.array)
            cnp.PyArray_ENABLEFLAGS(self.array, cnp.NPY_ARRAY_WRITEABLE)


cpdef object held(cnp.ndarray x):
    """A read-only view of an array that can be written to, and cannot until that view and those of it are gone.

    None of an array that is read-only already, and not because it is held.
    """
    cdef PyObject *found = hold_of(<PyObject *>x)
    cdef Hold hold
    if found != NULL:
        hold = <Hold>found
    elif cnp.PyArray_CHKFLAGS(x, cnp.NPY_ARRAY_WRITEABLE):
        hold = Hold.__new__(Hold)
        note_hold(<PyObject *>x, <PyObject *>hold)
        hold.array = x
    else:
        return None
    cnp.PyArray_CLEARFLAGS(x, cnp.NPY_ARRAY_WRITEABLE)
    view = dispatch_new_like(x, x)
    dispatch_set_base(view, hold)
    return view


def is_held(x):
    """Whether `held` has made an array read-only, and it is still."""
    return hold_of(<PyObject *>x) != NULL


cpdef object unwritten(x, Py_ssize_t limit):
    """An array with the elements of `x` that nobody else writes to, or None where only a closer look can tell.

    Of a wrapper that a write changes it is another wrapper of the same, which that write does not change.

    `x` itself, where neither it nor the array that owns its memory is writeable, bytes own it or it is watched or held; a copy,
    read-only, where it has at most `limit` bytes, or the memory is another array's or that of an object of which nobody
    knows who writes to it. None where memory of more than `limit` bytes would have to be copied, or is read-only now but
    may have been made so for a while.
    """
    cdef PyObject *owner = owner_of(<PyObject *>x)
    if not isinstance(x, cnp.ndarray):
        if isinstance(x, Wrapped):
            return another(<Wrapped>x, limit) if type(x) in rewritable_types else x
        return copied_by_class(x)
    if not is_exact(<PyObject *>x):
        no_more(x, None, NULL)
    if not cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_WRITEABLE):
        if not isinstance(<object>owner, cnp.ndarray):
            if type(<object>owner) is bytes or type(<object>owner) is Watched or type(<object>owner) is Hold:
                return x
        elif not cnp.PyArray_CHKFLAGS(<cnp.ndarray><object>owner, cnp.NPY_ARRAY_WRITEABLE):
            return x if cnp.PyArray_NBYTES(<cnp.ndarray><object>owner) <= limit else None
    if owner == <PyObject *>x and cnp.PyArray_NBYTES(<cnp.ndarray>x) > limit:
        return None
    cdef cnp.ndarray made = copied(<cnp.ndarray>x)
    cnp.PyArray_CLEARFLAGS(made, cnp.NPY_ARRAY_WRITEABLE)
    return made


cdef another(Wrapped x, Py_ssize_t limit):
    """A wrapper as `x` is now, around what nobody else writes to; None where that takes a closer look."""
    value = x.value
    if not (isinstance(value, cnp.ndarray) and rewritable_types[type(x)]):
        value = unwritten(value, limit)
        if value is None:
            return None
    return around(x, value, False)


cdef Wrapped around(Wrapped x, value, bint read_only):
    """A wrapper like `x` around another value."""
    cdef Wrapped made = dispatch_another(x, ())
    made.value, made.kept, made.level, made.rank, made.read_only = value, x.kept, x.level, x.rank, read_only
    if value is None:                       # a fake: what it has in place of a value is of its class
        x.copy_to(made)
    return made


cpdef object unwritable(x):
    """What stands for `x` and cannot be written to: a view of an array, another wrapper of a wrapper; else `x` itself."""
    cdef cnp.ndarray array, view
    if isinstance(x, Wrapped):
        return around(x, unwritable((<Wrapped>x).value), True)
    if not isinstance(x, cnp.ndarray) or not cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_WRITEABLE):
        return x
    if not is_exact(<PyObject *>x):
        return freeze((<object>x).view())
    array = <cnp.ndarray>x
    view = dispatch_new_view(array.descr, cnp.PyArray_NDIM(array), cnp.PyArray_DIMS(array), cnp.PyArray_STRIDES(array),
                             cnp.PyArray_DATA(array))
    dispatch_set_base(view, array)
    return view


def sealed(Wrapped x not None):
    """A wrapper that was just made, and that nobody may write to."""
    x.read_only = True
    return x


cpdef object writable(x):
    """A wrapper as it was before `unwritable`; anything else as it is."""
    return around(x, (<Wrapped>x).value, False) if isinstance(x, Wrapped) and (<Wrapped>x).read_only else x


def set_rewritable(cls not None, bint frozen):
    """Say of a class of wrappers that a write changes them: what keeps one keeps another of the same.

    Parameters
    ----------
    cls : type
    frozen : bool
        Whether the arrays in them are read-only for good, so that a write gives a wrapper a new one.
    """
    rewritable_types[cls] = frozen


def rewrite(Wrapped x not None, value, kept, bint frozen=True):
    """Let a wrapper stand for another value, read-only unless said otherwise, with what its layer keeps beside that."""
    x.value, x.kept = freeze(value) if frozen else value, kept


def no_sequence(type cls not None):
    """Take the item slot of a sequence from a class with `__getitem__`, and leave it that of a mapping.

    NumPy fills `array[i] = x` by `float(x)`. What that raises it puts its own words before, "setting an array element with a
    sequence", where `x` counts as a sequence.
    """
    dispatch_forget_items(cls)


cpdef object expand(cnp.ndarray x, tuple shape):
    """A read-only view of `x` that repeats its length-1 axes and leading axes; None where the shapes do not fit.

    np.broadcast_to takes 1.8 us for its generality, this 0.2.
    """
    cdef cnp.npy_intp[64] lengths, strides
    cdef int i, ndim = <int>len(shape), missing = ndim - cnp.PyArray_NDIM(x)
    if missing < 0 or ndim > 64:
        return None
    for i in range(ndim):
        lengths[i] = shape[i]
        if i < missing:
            strides[i] = 0
        elif cnp.PyArray_DIM(x, i - missing) == lengths[i]:
            strides[i] = 0 if lengths[i] == 1 else cnp.PyArray_STRIDE(x, i - missing)
        elif cnp.PyArray_DIM(x, i - missing) == 1:
            strides[i] = 0
        else:
            return None
    view = dispatch_new_view(x.descr, ndim, lengths, strides, cnp.PyArray_DATA(x))
    dispatch_set_base(view, x)
    return view


def reshaped(x, shape):
    """`x.reshape(shape)` of an array or of a number; the method takes 0.1 us more, for its keywords."""
    cdef cnp.PyArray_Dims lengths
    if not is_exact(<PyObject *>x) or shape is None:
        return (x if isinstance(x, ARRAYS) else np.asarray(x)[()]).reshape(shape)
    lengths.ptr, lengths.len = NULL, 0
    cnp.PyArray_IntpConverter(shape, &lengths)
    try:
        return cnp.PyArray_Newshape(<cnp.ndarray>x, &lengths, cnp.NPY_CORDER)
    finally:
        PyDimMem_FREE(lengths.ptr)


def strided(cnp.ndarray x, tuple shape, tuple strides):
    """A read-only view of `x` by lengths and strides, at most 64, that nothing checks; its base is `x`."""
    cdef cnp.npy_intp[64] lengths, steps
    for i in range(len(shape)):
        lengths[i], steps[i] = shape[i], strides[i]
    view = dispatch_new_view(x.descr, <int>len(shape), lengths, steps, cnp.PyArray_DATA(x))
    dispatch_set_base(view, x)
    return view


def broadcast(x, shape):
    """`np.broadcast_to(x, shape)`: a read-only view."""
    if type(shape) is not tuple:
        shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    view = expand(x if is_exact(<PyObject *>x) else np.asarray(x), shape)
    return np.broadcast_to(x, shape) if view is None else view  # which raises in NumPy's own words


cpdef tuple settled(tuple values, data, Py_ssize_t limit):
    """`values` in a form that nobody else writes to, where that is cheaply had; else None.

    A wrapper beside which `data` was kept makes the answer None; so does what `unwritten(x, limit)` has none for, and
    anything that is neither.
    """
    cdef Py_ssize_t i, n = len(values)
    cdef tuple found = PyTuple_New(n)
    cdef bint same = True
    for i in range(n):
        x = values[i]
        if isinstance(x, Wrapped):
            if (<Wrapped>x).kept is data:
                return None
        elif not is_exact(<PyObject *>x) and not isinstance(x, ARRAYS):
            return None
        made = unwritten(x, limit)
        if made is None:
            return None
        same = same and made is x
        Py_INCREF(made)
        PyTuple_SET_ITEM(found, i, made)
    return values if same else found
