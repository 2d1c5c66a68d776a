"""A generalised ufunc of NumPy's own, made of functions in C that are known by their addresses.

NumPy's loop takes it from there, as for any of its gufuncs: which function runs for which dtypes, casts, copies where memory
is not aligned or of another byte order, broadcasting, floating-point errors. It lets go of the interpreter's lock for 500
numbers and more; a function here never holds it, since few numbers may take long, and threads share a loop in small parts.
"""
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetName, PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF

cdef extern from "Python.h":
    ctypedef struct PyThreadState
    int PyGILState_Check() noexcept nogil
    PyThreadState *PyEval_SaveThread() noexcept nogil
    void PyEval_RestoreThread(PyThreadState *) noexcept nogil
    bint PyObject_GC_IsTracked(object)
    void PyObject_GC_Track(object)

cdef extern from "numpy/ufuncobject.h":     # cnp.ufunc shows its fields to be written with some NumPys only
    ctypedef struct PyUFuncObject:
        PyObject *obj

cnp.import_array()
cnp.import_ufunc()


cdef void released(char **args, cnp.npy_intp *dimensions, cnp.npy_intp *steps, void *data) noexcept nogil:
    """The loop that NumPy calls: the function itself, without the interpreter's lock."""
    cdef Target *target = <Target *>data
    cdef PyThreadState *state = PyEval_SaveThread() if PyGILState_Check() else NULL
    target.function(args, dimensions, steps, target.data)
    if state != NULL:
        PyEval_RestoreThread(state)


cdef class Held:
    """What a ufunc points to and does not own: it lives as long as the ufunc does."""

    def __dealloc__(self):
        PyMem_Free(self.targets)


def gufunc(list loops not None, int nin, int nout, str name not None, str doc not None, str signature not None, sources):
    """Make a gufunc of loops `(address, data, type numbers of all arrays)`; it keeps `sources` alive."""
    cdef Held held = Held.__new__(Held)
    cdef Py_ssize_t i, count = len(loops)
    cdef bytes core = signature.encode()
    cdef object made
    if not all([address and len(types) == nin + nout for address, _, types in loops]):
        raise ValueError(f"a loop has an address, and a type for each of {nin + nout} arrays: {loops}")
    held.targets = <Target *>PyMem_Malloc((count + 1) * (sizeof(Target) + 2 * sizeof(void *)))
    if held.targets == NULL:
        raise MemoryError
    held.functions = <cnp.PyUFuncGenericFunction *>(held.targets + count)
    held.data = <void **>(held.functions + count)
    held.types, held.name, held.doc = bytes([t for _, _, types in loops for t in types]), name.encode(), doc.encode()
    held.sources = sources
    for i in range(count):
        held.targets[i].function = <InnerLoop><size_t>loops[i][0]
        held.targets[i].data = <void *><size_t>loops[i][1]
        held.functions[i], held.data[i] = <cnp.PyUFuncGenericFunction>released, &held.targets[i]
    made = cnp.PyUFunc_FromFuncAndDataAndSignature(
        held.functions, held.data, held.types, <int>count, nin, nout, cnp.PyUFunc_None, held.name, held.doc, 0, core)
    Py_INCREF(held)
    (<PyUFuncObject *>made).obj = <PyObject *>held             # let go of by the ufunc
    if not PyObject_GC_IsTracked(made):     # NumPy tracks those that it gives such an object itself
        PyObject_GC_Track(made)
    return made


def capsule_contents(capsule):
    """The name of a capsule, its address and its context."""
    cdef const char *name = PyCapsule_GetName(capsule)
    return (None if name == NULL else name.decode(errors="replace"), <size_t>PyCapsule_GetPointer(capsule, name),
            <size_t>PyCapsule_GetContext(capsule))
