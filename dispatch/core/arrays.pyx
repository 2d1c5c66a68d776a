"""The table from array types to backend keys, and the few things about arrays that are read on every call.

`numpy.ndarray` and its subclasses, memory maps included, and NumPy's scalars belong to the CPU. A subclass is looked up
along its method resolution order once, then remembered. A type that is not in the table is not an array here, whatever
protocols it has: an operator would otherwise compute on something its kernels have never seen.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.object cimport PyObject, PyTypeObject

import numpy as np

from ..errors import DefinitionError
from .keys import DispatchKey

cnp.import_array()

cdef extern from *:
    PyTypeObject *Py_TYPE(PyObject *) noexcept nogil
    bint PyFloat_Check(PyObject *) noexcept nogil
    bint PyLong_Check(PyObject *) noexcept nogil
    bint PyComplex_Check(PyObject *) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    bint PyArray_Check(PyObject *) noexcept nogil
    PyObject *PyArray_BASE(void *) noexcept nogil              # void: its own type is a struct without a Cython name
    void PyArray_CLEARFLAGS(cnp.ndarray, int) noexcept
    int NPY_ARRAY_WRITEABLE
    int NPY_ARRAY_OWNDATA
    bint PyArray_CHKFLAGS(cnp.ndarray, int) noexcept
    Py_ssize_t PyArray_NBYTES(cnp.ndarray) noexcept
    object PyArray_NewCopy(cnp.ndarray, cnp.NPY_ORDER)
    cnp.NPY_ORDER NPY_KEEPORDER
    int PyArray_TYPE(cnp.ndarray) noexcept
    bint PyTypeNum_ISFLOAT(int) noexcept
    bint PyTypeNum_ISCOMPLEX(int) noexcept

cdef extern from *:
    """
    #define dispatch_new_view(d, n, lengths, strides, data) \\
        PyArray_NewFromDescr(&PyArray_Type, (Py_INCREF(d), (PyArray_Descr *)(d)), n, lengths, strides, data, 0, NULL)
    static inline int dispatch_set_base(PyObject *view, PyObject *base) {
        Py_INCREF(base);
        return PyArray_SetBaseObject((PyArrayObject *)view, base);
    }
    """
    cnp.ndarray dispatch_new_view(object, int, cnp.npy_intp *, cnp.npy_intp *, void *)
    int dispatch_set_base(object view, object base) except -1
    Py_ssize_t Py_REFCNT(PyObject *) noexcept

cdef PyTypeObject *NDARRAY = <PyTypeObject *><PyObject *>np.ndarray
cdef type FLOAT64 = np.float64
cdef tuple FLOAT64_LAYOUT = ((), np.dtype(np.float64))
cdef dict keys_by_type = {np.ndarray: int(DispatchKey.CPU), np.generic: int(DispatchKey.CPU)}
cdef dict keys_by_device = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "dask": DispatchKey.DASK}


cdef bint is_exact(PyObject *x) noexcept nogil:
    return Py_TYPE(x) == NDARRAY


cdef bint is_number(PyObject *x) noexcept:
    # NumPy's own scalars are arrays here, though np.float64 is a float and np.complex128 a complex by inheritance
    return (PyFloat_Check(x) or PyLong_Check(x) or PyComplex_Check(x)) and key_of(x) < 0


cdef int key_of(PyObject *x) noexcept:
    cdef PyObject *found = PyDict_GetItem(keys_by_type, <object>Py_TYPE(x))
    return <object>found if found != NULL else inherited_key(<object>Py_TYPE(x))


cdef int inherited_key(object cls) noexcept:       # not `type`: a class may have a metaclass
    for base in cls.__mro__[1:]:
        if base in keys_by_type:
            keys_by_type[cls] = keys_by_type[base]
            return keys_by_type[base]
    return -1


cdef PyObject *owner_of(PyObject *x) noexcept:
    while PyArray_Check(x) and PyArray_BASE(<void *>x) != NULL:
        x = PyArray_BASE(<void *>x)
    return x


def device_key(str device not None):
    """The key of a device.

    Parameters
    ----------
    device : str
        `"cpu"`, `"cuda"`, `"dask"`, or a device that was registered with an array type.

    Raises
    ------
    DefinitionError
        If no such device is known.
    """
    try:
        return keys_by_device[device]
    except KeyError:
        raise DefinitionError(f"there is no device {device!r}. Devices: {', '.join(sorted(keys_by_device))}.") from None


def device_of(x):
    """The device whose kernels compute on `x`, or None where `x` is no array."""
    cdef int key = key_of(<PyObject *>x)
    for device, of_device in keys_by_device.items():
        if of_device == key:
            return device
    return None


def inexact_layout(x):
    """`(shape, dtype)` of an array or a wrapper of floating-point or complex numbers; None for anything else."""
    if isinstance(x, cnp.ndarray):
        if PyTypeNum_ISFLOAT(PyArray_TYPE(<cnp.ndarray>x)) or PyTypeNum_ISCOMPLEX(PyArray_TYPE(<cnp.ndarray>x)):
            return (<object>x).shape, (<cnp.ndarray>x).descr
        return None
    if type(x) is FLOAT64:
        return FLOAT64_LAYOUT               # what a reduction gives
    dtype = getattr(x, "dtype", None)
    return (x.shape, dtype) if dtype is not None and dtype.kind in "fc" else None


def has_layout(x, tuple layout not None):
    """Whether an array or a wrapper has the shape and dtype of a layout."""
    cdef tuple shape = layout[0]
    cdef object dtype = layout[1]
    cdef Py_ssize_t i, n = len(shape)
    if not isinstance(x, cnp.ndarray):
        return getattr(x, "shape", None) == shape and x.dtype == dtype
    if cnp.PyArray_NDIM(<cnp.ndarray>x) != n:
        return False
    for i in range(n):
        if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <Py_ssize_t>shape[i]:
            return False
    return (<cnp.ndarray>x).descr is dtype or (<object>x).dtype == dtype


def sole(x):
    """An array that nobody else holds and that can be written to: `x` itself where that is so already, else a copy.

    The caller may hold it by one name. A NumPy scalar, which arithmetic makes of 0-d arrays, becomes one again.
    """
    if not isinstance(x, cnp.ndarray):
        return np.array(x) if isinstance(x, np.generic) else x
    if Py_REFCNT(<PyObject *>x) <= 2 and PyArray_CHKFLAGS(<cnp.ndarray>x, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE):
        return x
    return PyArray_NewCopy(<cnp.ndarray>x, NPY_KEEPORDER)


def unwritten(x, Py_ssize_t limit):
    """An array with the elements of `x` that nobody else writes to, or None where only a closer look can tell.

    `x` itself, where neither it nor the owner of its memory is writeable; a copy, read-only, where it has at most `limit`
    bytes or the memory is another array's. None where memory of more than `limit` bytes would have to be copied, or is
    read-only now but may have been made so for a while.
    """
    cdef PyObject *owner = owner_of(<PyObject *>x)
    if not isinstance(x, cnp.ndarray):
        return x
    if not PyArray_CHKFLAGS(<cnp.ndarray>x, NPY_ARRAY_WRITEABLE):
        if not isinstance(<object>owner, cnp.ndarray):
            return x
        if not PyArray_CHKFLAGS(<cnp.ndarray><object>owner, NPY_ARRAY_WRITEABLE):
            return x if PyArray_NBYTES(<cnp.ndarray><object>owner) <= limit else None
    if owner == <PyObject *>x and PyArray_NBYTES(<cnp.ndarray>x) > limit:
        return None
    return freeze(PyArray_NewCopy(<cnp.ndarray>x, NPY_KEEPORDER))


def expand(cnp.ndarray x not None, tuple shape not None):
    """A read-only view of `x` that repeats its length-1 axes and leading axes; None where the shapes do not fit.

    np.broadcast_to takes 1.8 us for its generality, this 0.2.
    """
    cdef cnp.npy_intp lengths[64]
    cdef cnp.npy_intp strides[64]
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


def freeze(x):
    """Make an ndarray read-only and return it; anything else is returned as it is."""
    if isinstance(x, cnp.ndarray):
        PyArray_CLEARFLAGS(<cnp.ndarray>x, NPY_ARRAY_WRITEABLE)
    return x
