"""The vectorcall slot of a cdef class: Cython gives `__call__` a tp_call only, which costs 15 ns more a call.

Used by one class, OpOverload, which is final: below Python 3.12 a Python subclass would silently lose the slot.
"""
from cpython.object cimport PyObject, PyTypeObject

ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *) except NULL

cdef extern from *:
    """
    #include <stddef.h>
    static inline void dispatch_install_vectorcall(PyObject *type, Py_ssize_t offset) {
        PyTypeObject *t = (PyTypeObject *)type;
        t->tp_vectorcall_offset = offset;
        t->tp_call = PyVectorcall_Call;
        t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(t);
    }
    /* Own names for what the plain call uses: each is one or two machine instructions. */
    static inline Py_ssize_t dispatch_count(size_t nargsf) { return PyVectorcall_NARGS(nargsf); }
    static inline PyTypeObject *dispatch_type(PyObject *x) { return Py_TYPE(x); }
    static inline void dispatch_hold(PyObject *x) { Py_INCREF(x); }
    static inline void dispatch_release(PyObject *x) { Py_DECREF(x); }
    static inline PyObject *dispatch_call(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *keywords) {
        PyTypeObject *type = Py_TYPE(f);
        if (PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL)) {      /* PyVectorcall_Function, without a call of it */
            vectorcallfunc slot = *(vectorcallfunc *)((char *)f + type->tp_vectorcall_offset);
            if (slot != NULL) {
                return slot(f, args, nargsf, keywords);
            }
        }
        return PyObject_Vectorcall(f, args, nargsf, keywords);
    }
    """
    void install_vectorcall "dispatch_install_vectorcall"(object type, Py_ssize_t offset)
    Py_ssize_t count "dispatch_count"(size_t nargsf) noexcept nogil
    PyTypeObject *type_of "dispatch_type"(PyObject *x) noexcept nogil
    void hold "dispatch_hold"(PyObject *x) noexcept
    void release "dispatch_release"(PyObject *x) noexcept
    PyObject *vectorcall "dispatch_call"(PyObject *f, PyObject *const *args, size_t nargsf, PyObject *keywords) noexcept
    size_t ARGUMENTS_OFFSET "PY_VECTORCALL_ARGUMENTS_OFFSET"
