"""A generalised ufunc of NumPy's own, made of functions in C that are known by their addresses.

NumPy's loop takes it from there, as for any of its gufuncs: which function runs for which dtypes, casts, copies where memory
is not aligned or of another byte order, broadcasting, floating-point errors; and it lets go of the interpreter's lock.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(object)
    void PyObject_GC_Track(object)

cnp.import_array()
cnp.import_ufunc()


cdef class Held:
    """What a ufunc points to and does not own: it lives as long as the ufunc does."""

    def __dealloc__(self):
        PyMem_Free(self.functions)


def gufunc(list loops not None, int nin, int nout, str name not None, str doc not None, str signature not None, sources):
    """Make a gufunc of loops `(address, data, type numbers of all arrays)`; it keeps `sources` alive."""
    cdef Held held = Held.__new__(Held)
    cdef Py_ssize_t i, count = len(loops)
    cdef bytes core = signature.encode()
    cdef cnp.ufunc made
    if not all([address and len(types) == nin + nout for address, _, types in loops]):
        raise ValueError(f"a loop has an address, and a type for each of {nin + nout} arrays: {loops}")
    held.functions = <cnp.PyUFuncGenericFunction *>PyMem_Malloc((2 * count + 1) * sizeof(void *))
    if held.functions == NULL:
        raise MemoryError
    held.data = <void **>(held.functions + count)
    held.types, held.name, held.doc = bytes([t for _, _, types in loops for t in types]), name.encode(), doc.encode()
    held.sources = sources
    for i in range(count):
        held.functions[i] = <cnp.PyUFuncGenericFunction><size_t>loops[i][0]
        held.data[i] = <void *><size_t>loops[i][1]
    made = cnp.PyUFunc_FromFuncAndDataAndSignature(
        held.functions, held.data, held.types, <int>count, nin, nout, cnp.PyUFunc_None, held.name, held.doc, 0, core)
    Py_INCREF(held)
    made.obj = <PyObject *>held             # let go of by the ufunc
    if not PyObject_GC_IsTracked(made):     # NumPy tracks those that it gives such an object itself
        PyObject_GC_Track(made)
    return made


def capsule_contents(capsule):
    """The name of a capsule, its address and its context."""
    cdef const char *name = PyCapsule_GetName(capsule)
    return (None if name == NULL else name.decode(errors="replace"), <size_t>PyCapsule_GetPointer(capsule, name),
            <size_t>PyCapsule_GetContext(capsule))
