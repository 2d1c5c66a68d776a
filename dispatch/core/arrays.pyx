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
cdef type GENERIC = np.generic
cdef dict registered_types = {np.ndarray: int(DispatchKey.CPU), np.generic: int(DispatchKey.CPU)}
cdef dict keys_by_type = dict(registered_types)         # these, and the subclasses that have been looked up
cdef dict keys_by_device = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "dask": DispatchKey.DASK}


cdef bint is_exact(PyObject *x) noexcept nogil:
    return Py_TYPE(x) == NDARRAY


cdef bint is_array(PyObject *x) noexcept:
    return PyArray_Check(x) or isinstance(<object>x, GENERIC)


cdef class Size:
    """A size that is no number yet. A schema takes it for an int; what it can do is said above."""


cdef bint is_number(PyObject *x) noexcept:
    # NumPy's own scalars are arrays here, though np.float64 is a float and np.complex128 a complex by inheritance
    return (PyFloat_Check(x) or PyLong_Check(x) or PyComplex_Check(x) or isinstance(<object>x, Size)) and key_of(x) < 0


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


cdef int device_number(object device) noexcept:
    """The number of a device's key, or -1."""
    cdef PyObject *found = PyDict_GetItem(keys_by_device, device)
    return <int><object>found if found != NULL else -1


def devices():
    """The names of the known devices, and the key of each."""
    return dict(keys_by_device)


def set_array_type(cls not None, str device not None):
    """Let a class be an array type, whose values belong to a device; a device without a key gets the next free one.

    Raises
    ------
    DefinitionError
        If the class belongs to another device, or no key is free.
    """
    key = keys_by_device.get(device)
    if key is None:
        free = [k for k in DispatchKey if k.name.startswith("BACKEND_") and k not in keys_by_device.values()]
        if not free:
            known = ", ".join(sorted(keys_by_device))
            raise DefinitionError(f"there is no key left for a device {device!r}. Devices: {known}.")
        key = free[0]
    if registered_types.get(cls, int(key)) != key:
        other = device_of_key(registered_types[cls])
        raise DefinitionError(f"{cls.__qualname__} is an array type already, of the device {other!r}.")
    keys_by_device[device] = key
    registered_types[cls] = int(key)
    keys_by_type.clear()
    keys_by_type.update(registered_types)


def device_of_key(int key):
    """The device of a backend's key, or None."""
    for device, of_device in keys_by_device.items():
        if of_device == key:
            return device
    return None


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
    return device_of_key(key_of(<PyObject *>x))


def is_array_type(cls not None):
    """Whether the values of a class are arrays."""
    return cls in keys_by_type or inherited_key(cls) >= 0


def freeze(x):
    """Make an ndarray read-only and return it; anything else is returned as it is."""
    if isinstance(x, cnp.ndarray):
        PyArray_CLEARFLAGS(<cnp.ndarray>x, NPY_ARRAY_WRITEABLE)
    return x
