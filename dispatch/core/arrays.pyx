"""The table from array types to backend keys, and the few things about arrays that are read on every call.

`numpy.ndarray` and its subclasses, memory maps included, and NumPy's scalars belong to the CPU. An object has the key of the
first class of its method resolution order that is in the table. Classes are compared by identity and nothing of a subclass is
remembered, so a look-up runs no code of a metaclass and keeps no class alive. A type that is not in the table is no array
here, whatever protocols it has: an operator would otherwise compute on something its kernels have never seen.
"""
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject

from .python cimport (
    Py_TYPE, PyComplex_Check, PyFloat_Check, PyList_GET_ITEM, PyLong_AsLong, PyLong_Check, PyTuple_GET_ITEM, PyTuple_GET_SIZE,
    PyType_IsSubtype, PyUnicode_Check, PyUnicode_Compare,
)

from threading import RLock, get_ident

import numpy as np

from ..errors import DefinitionError, did_you_mean
from .keys import DispatchKey

cnp.import_array()

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    #define dispatch_mro(type) ((type)->tp_mro)
    #define dispatch_names(type) ((type)->tp_dict)
    """
    PyObject *dispatch_mro(PyTypeObject *) noexcept nogil       # borrowed; a tuple, or NULL while the class is being made
    PyObject *dispatch_names(PyTypeObject *) noexcept nogil     # borrowed; NULL of some classes of Python's own
    PyObject *PyDict_GetItemWithError(PyObject *, PyObject *) noexcept
    Py_ssize_t PyUnicode_Tailmatch(PyObject *, PyObject *, Py_ssize_t, Py_ssize_t, int) noexcept
    Py_ssize_t PY_SSIZE_T_MAX
    bint PyArray_Check(PyObject *) noexcept nogil
    PyObject *PyArray_BASE(void *) noexcept nogil              # void: its own type is a struct without a Cython name

cdef PyTypeObject *NDARRAY = <PyTypeObject *><PyObject *>np.ndarray
cdef PyTypeObject *GENERIC = <PyTypeObject *><PyObject *>np.generic
# Kept for good: kernels of a device were written for its arrays. Of a memory map, too, the data is all there is.
cdef list array_types = [np.ndarray, np.generic, np.memmap]
cdef list keys_of_types = [int(DispatchKey.CPU)] * 3
# Those that torch documents have a key of their own, so that a kernel can wait for arrays which another package brings.
cdef dict keys_by_device = {
    "cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "dask": DispatchKey.DASK, "xla": DispatchKey.XLA, "mps": DispatchKey.MPS,
    "ipu": DispatchKey.IPU, "xpu": DispatchKey.XPU,
}
cdef set devices_beside_numpy = set()
cdef str MODULE = "__module__"
# By a package: a function that registers its array classes. It is called when the first of its objects is asked about.
cdef dict newcomers = {}
cdef object registering = RLock()
cdef dict registrants = {}                  # by a package, the thread that registers its classes at this moment


cdef bint is_numpy(PyObject *x) noexcept:
    return PyArray_Check(x) or PyType_IsSubtype(Py_TYPE(x), GENERIC)        # what `__class__` says does not count


cdef class Size:
    """A size that is no number yet. A schema takes it for an int; what it can do is said above."""


cdef bint is_number(PyObject *x) noexcept:
    # NumPy's own scalars are arrays here, though np.float64 is a float and np.complex128 a complex by inheritance
    return (PyFloat_Check(x) or PyLong_Check(x) or PyComplex_Check(x) or isinstance(<object>x, Size)) and key_of(x) < 0


cdef int key_of(PyObject *x) noexcept:
    return key_of_class(Py_TYPE(x))


cdef int key_of_class(PyTypeObject *cls) noexcept:
    cdef PyObject *mro = dispatch_mro(cls)
    cdef PyObject *base
    cdef Py_ssize_t i, k
    for i in range(0 if mro == NULL else PyTuple_GET_SIZE(mro)):
        base = PyTuple_GET_ITEM(mro, i)
        for k in range(len(array_types)):
            if PyList_GET_ITEM(<PyObject *>array_types, k) == base:
                return <int>PyLong_AsLong(PyList_GET_ITEM(<PyObject *>keys_of_types, k))
    return -1


cdef bint has_more(PyObject *x) noexcept:
    cdef PyObject *mro
    cdef PyObject *base
    cdef Py_ssize_t i, k
    if is_exact(x) or not PyArray_Check(x):
        return False
    mro = dispatch_mro(Py_TYPE(x))
    for i in range(0 if mro == NULL else PyTuple_GET_SIZE(mro)):
        base = PyTuple_GET_ITEM(mro, i)
        for k in range(len(array_types)):
            if PyList_GET_ITEM(<PyObject *>array_types, k) == base:
                return base == <PyObject *>NDARRAY      # its own class is not registered, nor one between
    return False


cdef PyObject *owner_of(PyObject *x) noexcept:
    while PyArray_Check(x) and PyArray_BASE(<void *>x) != NULL:
        x = PyArray_BASE(<void *>x)
    return x


cdef int device_number(object device) noexcept:
    """The number of a device's key, or -1."""
    if not PyUnicode_Check(<PyObject *>device):
        return -1
    for name, key in keys_by_device.items():        # at most 16, and a subclass of str may hash and compare as it likes
        if PyUnicode_Compare(<PyObject *>name, <PyObject *>device) == 0:
            return <int>key
    return -1


def devices():
    """The names of the known devices, and the key of each."""
    return dict(keys_by_device)


def set_array_type(cls not None, str device not None, bint beside_numpy=False):
    """Let a class be an array type, whose values belong to a device; a device without a key gets the next free one.

    With `beside_numpy` a call may have NumPy's arrays beside those of the device.

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
    for of_type, number in zip(array_types, keys_of_types):
        if of_type is cls:
            if number != key:
                raise DefinitionError(f"{cls.__qualname__} is an array type already, of the device {device_of_key(number)!r}.")
            break
    else:
        keys_by_device[device] = key
        if beside_numpy:
            devices_beside_numpy.add(device)
        keys_of_types.append(int(key))
        array_types.append(cls)


def is_beside_numpy(device):
    """Whether a call may have NumPy's arrays beside those of a device."""
    return device in devices_beside_numpy


def device_of_key(int key):
    """The device of a backend's key, or None."""
    for device, of_device in keys_by_device.items():
        if of_device == key:
            return device
    return None


def about_devices(str device not None, str near=""):
    """What a message says of a device that nobody knows: which are known, and how another becomes so, if none is near."""
    known = f" Devices: {', '.join(sorted(keys_by_device))}."
    return known if near else f"{known} For arrays of your own write register_array_type(TheirClass, device={device!r})."


def device_key(str device not None):
    """The key of a device.

    Parameters
    ----------
    device : str
        `"cpu"`, `"cuda"`, `"xla"`, `"mps"`, `"ipu"`, `"xpu"`, `"dask"`, or a device that was registered with an array type.

    Raises
    ------
    DefinitionError
        If no such device is known.
    """
    try:
        return keys_by_device[device]
    except KeyError:
        number = device.partition(":")[0] if device.partition(":")[0] in keys_by_device else ""
        near = " Write 'cuda'." if device == "gpu" else did_you_mean(device, keys_by_device)
        near = f" Write {number!r}, without a number." if number else near
        raise DefinitionError(f"there is no device {device!r}.{near}{about_devices(device, near)}") from None


def device_of(x):
    """The device whose kernels compute on `x`, or None where `x` is no array."""
    return device_of_key(key_of(<PyObject *>x)) if has_key(x) else None


def register_when_seen(str package not None, register not None):
    """Call `register()` when the first object of a class of a package, in whatever module of it, is asked about."""
    newcomers[package] = register


cdef bint is_newcomer(PyObject *x) noexcept:
    cdef PyObject *names = dispatch_names(Py_TYPE(x))
    cdef PyObject *module = PyDict_GetItemWithError(names, <PyObject *>MODULE) if names != NULL and newcomers else NULL
    if module == NULL or not PyUnicode_Check(module):
        return False
    for package in newcomers:
        if PyUnicode_Tailmatch(module, <PyObject *>package, 0, PY_SSIZE_T_MAX, -1) == 1:
            return True
    return False


cpdef bint registers_now(object x) except -1:
    """Whether a package that has waited for its first array registers its classes now, since `x` is of one of its classes."""
    module = type.__dict__["__module__"].__get__(type(x)) if newcomers else None    # not what a metaclass says
    package = (<str>module).partition(".")[0] if type(module) is str else None
    register = newcomers.get(package)
    if register is None or registrants.get(package) == get_ident():
        return False
    with registering:                       # a thread that comes second waits until the classes are ours
        if package in newcomers:
            registrants[package] = get_ident()
            try:
                register()
                del newcomers[package]
            finally:
                del registrants[package]
    return True


cdef bint has_key(object x) except -1:
    """Whether `x` is an array, and no wrapper."""
    return key_of(<PyObject *>x) >= 0 or (registers_now(x) and key_of(<PyObject *>x) >= 0)


def is_of_registered_class(x):
    """Whether `x` is an array of a class that was registered with `register_array_type`: none of NumPy's, and no wrapper."""
    return has_key(x) and not is_numpy(<PyObject *>x)


def is_array_type(cls not None):
    """Whether the values of a class are arrays."""
    if not isinstance(cls, type):
        raise TypeError(f"an array type is a class, and this is {cls!r}.")
    return key_of_class(<PyTypeObject *><PyObject *>cls) >= 0


def freeze(x):
    """Make an ndarray read-only and return it; anything else is returned as it is."""
    if isinstance(x, cnp.ndarray):
        cnp.PyArray_CLEARFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_WRITEABLE)
    return x
