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

cdef PyTypeObject *NDARRAY = <PyTypeObject *><PyObject *>np.ndarray
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


cdef int inherited_key(type cls) noexcept:
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


def layout_of(x):
    """`(shape, dtype)` of an array or a wrapper."""
    if isinstance(x, cnp.ndarray):
        return (<object>x).shape, (<cnp.ndarray>x).dtype
    return x.shape, x.dtype


def has_layout(x, tuple shape not None, dtype):
    """Whether an array or a wrapper has this shape and dtype."""
    cdef Py_ssize_t i, n = len(shape)
    if not isinstance(x, cnp.ndarray):
        return x.shape == shape and x.dtype == dtype
    if cnp.PyArray_NDIM(<cnp.ndarray>x) != n:
        return False
    for i in range(n):
        if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <Py_ssize_t>shape[i]:
            return False
    return (<cnp.ndarray>x).dtype is dtype or (<cnp.ndarray>x).dtype == dtype


def freeze(x):
    """Make an ndarray read-only and return it; anything else is returned as it is."""
    if isinstance(x, cnp.ndarray):
        PyArray_CLEARFLAGS(<cnp.ndarray>x, NPY_ARRAY_WRITEABLE)
    return x
