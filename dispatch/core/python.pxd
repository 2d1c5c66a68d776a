"""What is used of Python's C-API on borrowed references, declared once."""
from cpython.object cimport PyObject, PyTypeObject

cdef extern from *:
    bint likely(bint) noexcept nogil        # Cython's own macros: what usually is so is laid out in one line
    bint unlikely(bint) noexcept nogil
    PyObject *Py_None
    PyTypeObject *Py_TYPE(PyObject *) noexcept nogil
    void Py_INCREF(PyObject *) noexcept
    void Py_DECREF(PyObject *) noexcept
    void Py_XINCREF(PyObject *) noexcept
    void Py_XDECREF(PyObject *) noexcept
    bint PyType_IsSubtype(PyTypeObject *, PyTypeObject *) noexcept nogil
    bint PyFloat_Check(PyObject *) noexcept nogil
    bint PyFloat_CheckExact(PyObject *) noexcept nogil
    bint PyLong_Check(PyObject *) noexcept nogil
    bint PyLong_CheckExact(PyObject *) noexcept nogil
    bint PyBool_Check(PyObject *) noexcept nogil
    bint PyComplex_Check(PyObject *) noexcept nogil
    bint PyUnicode_Check(PyObject *) noexcept nogil
    bint PyBytes_Check(PyObject *) noexcept nogil
    bint PyList_Check(PyObject *) noexcept nogil
    bint PyTuple_Check(PyObject *) noexcept nogil
    bint PyDict_Check(PyObject *) noexcept nogil
    bint PyCallable_Check(PyObject *) noexcept
    bint PyUnicode_CheckExact(PyObject *) noexcept nogil
    double PyFloat_AS_DOUBLE(PyObject *) noexcept nogil
    PyObject *PyCell_GET(PyObject *) noexcept
    PyObject *PyFunction_GET_CODE(PyObject *) noexcept
    PyObject *PyFunction_GET_DEFAULTS(PyObject *) noexcept
    PyObject *PyFunction_GET_KW_DEFAULTS(PyObject *) noexcept
    void PyObject_GC_Track(PyObject *) noexcept
    void PyObject_GC_UnTrack(PyObject *) noexcept
    bint PyObject_IS_GC(PyObject *) noexcept
    # of tuples that cannot change, or where no other code runs meanwhile
    Py_ssize_t PyTuple_GET_SIZE(PyObject *) noexcept nogil
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t) noexcept nogil
    PyObject *PyList_GET_ITEM(PyObject *, Py_ssize_t) noexcept nogil
    Py_ssize_t PyList_GET_SIZE(PyObject *) noexcept nogil
    int PyUnicode_Compare(PyObject *, PyObject *) noexcept
    long PyLong_AsLong(PyObject *) noexcept

cdef extern from *:
    """
    /* The commonest values that no layer wraps and that hold nothing. */
    static inline int dispatch_is_plain(PyObject *x) {
        PyTypeObject *type = Py_TYPE(x);
        return x == Py_None || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type;
    }
    /* What surely is no container and no wrapper: the classes that are not made by a class statement, but a few. */
    static inline int dispatch_is_leaf(PyObject *x) {
        return !(PyType_GetFlags(Py_TYPE(x)) & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS
                                                | Py_TPFLAGS_DICT_SUBCLASS));
    }
    static inline PyObject **dispatch_items_of_tuple(PyObject *x) { return &PyTuple_GET_ITEM(x, 0); }
    static inline PyObject *dispatch_tuple_of(PyObject *const *items, Py_ssize_t n) {
        PyObject *made = PyTuple_New(n);
        for (Py_ssize_t i = 0; made != NULL && i < n; i++) {
            Py_INCREF(items[i]);
            PyTuple_SET_ITEM(made, i, items[i]);
        }
        return made;
    }
    /* A reference that the caller gives up, as Cython takes it: of a function that returns one. */
    static inline PyObject *dispatch_new_reference(PyObject *x) { return x; }
    """
    bint is_leaf "dispatch_is_leaf"(PyObject *x) noexcept nogil
    bint is_plain "dispatch_is_plain"(PyObject *x) noexcept nogil
    PyObject **items_of_tuple "dispatch_items_of_tuple"(tuple) noexcept
    tuple tuple_of "dispatch_tuple_of"(PyObject *const *items, Py_ssize_t n)
    object new_reference "dispatch_new_reference"(PyObject *)
