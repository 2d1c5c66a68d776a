"""Does a call fit its schema? Decided here in C, with yes or no; the words for a no are found by dispatcher/call_errors.py.

A check looks at types and never converts: what the caller passed is what the kernel gets. Arrays give their rank on the
way, so one walk over the arguments both checks them and finds the rank.
"""
from cpython.list cimport PyList_Check
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check

import numpy as np

from .arrays cimport Size, device_number, is_array, is_exact, is_number, key_of
from .flatten cimport items_of
from .keys cimport rank_t
from .tensor cimport Wrapped, is_wrapped

cdef extern from *:
    bint PyFloat_Check(PyObject *) noexcept nogil
    bint PyFloat_CheckExact(PyObject *) noexcept nogil
    bint PyLong_CheckExact(PyObject *) noexcept nogil
    bint PyLong_Check(PyObject *) noexcept nogil
    bint PyBool_Check(PyObject *) noexcept nogil
    bint PyComplex_Check(PyObject *) noexcept nogil
    bint PyUnicode_Check(PyObject *) noexcept nogil
    bint PyBytes_Check(PyObject *) noexcept nogil
    bint PyCallable_Check(PyObject *) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject *) noexcept
    PyObject **PySequence_Fast_ITEMS(PyObject *) noexcept
    PyObject *PyTuple_GET_ITEM(PyObject *, Py_ssize_t) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject *) noexcept
    int PyUnicode_Compare(PyObject *, PyObject *) noexcept
    PyObject *Py_None

cdef type INTEGER = np.integer, FLOATING = np.floating, COMPLEXFLOATING = np.complexfloating, NUMPY_BOOL = np.bool_
cdef type NUMBER = np.number, GENERIC = np.generic
cdef type TIMEDELTA = np.timedelta64           # an integer by inheritance, and no number: it has a unit
cdef object DTYPE_TYPE = np.dtype              # its class is a metaclass of its own

KINDS = {
    "Any": ANY, "Residual": RESIDUAL, "Tensor": TENSOR, "int": INT, "float": FLOAT, "complex": COMPLEX, "bool": BOOL,
    "str": STR, "bytes": BYTES, "Scalar": SCALAR, "ScalarType": DTYPE, "Device": STR, "Callable": CALLABLE, "None": NONE,
    "list": LIST, "tuple": TUPLE, "dict": DICT, "instance": INSTANCE, "Tensor|Scalar": TENSOR_OR_NUMBER,
    "deciding Device": DEVICE, "literal": LITERAL,
}


cdef bint is_int(PyObject *x) noexcept:
    return ((PyLong_Check(x) and not PyBool_Check(x)) or isinstance(<object>x, Size)
            or (isinstance(<object>x, INTEGER) and not isinstance(<object>x, TIMEDELTA)))


cdef bint is_float(PyObject *x) noexcept:
    return PyFloat_Check(x) or is_int(x) or isinstance(<object>x, FLOATING)


cdef bint is_bool(PyObject *x) noexcept:
    return PyBool_Check(x) or isinstance(<object>x, NUMPY_BOOL)


cdef bint is_dtype(PyObject *x) noexcept:
    if isinstance(<object>x, DTYPE_TYPE):
        return True
    if isinstance(<object>x, type):
        return issubclass(<object>x, GENERIC) or <object>x in (int, float, bool, complex)
    if not PyUnicode_Check(x):
        return False
    try:
        np.dtype(<object>x)
    except Exception:                       # TypeError, ValueError, SyntaxError, a warning: NumPy has no dtype of that name
        return False
    return True


cdef bint is_one_of(object x, tuple choices) noexcept:
    for choice in choices:                  # of the same type first, which is one whose equality neither raises nor lies
        if type(x) is type(choice) and x == choice:
            return True
    return False


cdef class Check:
    """The test of one schema type.

    Parameters
    ----------
    kind : str
        A name in `KINDS`.
    cls : object
        The class of an "instance", or of a record that is checked as a "tuple" of its fields; the choices of a "literal".
    written : bool
        Whether the operator writes to the array, so that it has to be one that can be written to.
    """

    def __init__(self, str kind not None, *, optional=False, Check element=None, tuple members=(), Py_ssize_t size=-1,
                 cls=None, dtype=None, written=False):
        self.kind = KINDS[kind]
        self.optional = optional
        self.element = element
        self.members = members
        self.size = size
        self.cls = tuple if cls is None and self.kind == TUPLE else cls
        self.dtype = dtype
        self.written = written
        if (self.kind in (LIST, DICT) and element is None or self.kind == DICT and len(members) != 1
                or not all([isinstance(member, Check) for member in members])):
            raise ValueError(f"a check of a {kind} is made of the checks of what is in it: element=, members=.")

    def __call__(self, x):
        """Whether x fits. The same answer as in a call, for tests and for overload resolution."""
        cdef rank_t rank = 0
        return bool(self.accept(<PyObject *>x, &rank))

    cdef bint accept(self, PyObject *x, rank_t *rank) noexcept:
        cdef int kind = self.kind, key
        if x == Py_None and (self.optional or kind == ANY or kind == NONE):
            return True
        if kind == TENSOR or kind == TENSOR_OR_NUMBER:
            if is_exact(x):
                key = 0
            elif is_wrapped(x):
                if not self.accept_wrapped(x, rank):
                    return False
                key = 0
            elif kind == TENSOR_OR_NUMBER and (PyFloat_CheckExact(x) or PyLong_CheckExact(x)):
                return True
            else:
                key = key_of(x)
                if key < 0:
                    return kind == TENSOR_OR_NUMBER and is_number(x)
                if <rank_t>key > rank[0]:
                    rank[0] = key
            if self.written and is_array(x) and not (<object>x).flags.writeable:
                return False
            return self.dtype is None or (<object>x).dtype == self.dtype
        if kind == RESIDUAL:                # anything; wrappers are what a batch's items kept, and lead to their layer
            return self.accept_kept(<object>x, rank)
        if kind == LIST:
            return self.accept_list(x, rank)
        if kind == TUPLE:
            return self.accept_tuple(x, rank)
        if kind == DICT:
            return self.accept_dict(x, rank)
        if kind == INT:
            return is_int(x)
        if kind == FLOAT:
            return is_float(x)
        if kind == COMPLEX:
            return PyComplex_Check(x) or is_float(x) or isinstance(<object>x, COMPLEXFLOATING)
        if kind == BOOL:
            return is_bool(x)
        if kind == STR:
            return PyUnicode_Check(x)
        if kind == BYTES:
            return PyBytes_Check(x)
        if kind == SCALAR:
            return (is_number(x) or is_bool(x)
                    or (isinstance(<object>x, NUMBER) and not isinstance(<object>x, TIMEDELTA)))
        if kind == DTYPE:
            return is_dtype(x)
        if kind == DEVICE:
            key = device_number(<object>x) if PyUnicode_Check(x) else -1
            if <rank_t>max(key, 0) > rank[0]:
                rank[0] = key
            return key >= 0
        if kind == CALLABLE:
            return PyCallable_Check(x)
        if kind == LITERAL:
            return is_one_of(<object>x, self.cls)
        if kind == INSTANCE:
            return isinstance(<object>x, self.cls)
        return kind == ANY

    cdef bint accept_wrapped(self, PyObject *x, rank_t *rank) noexcept:
        if not (<Wrapped>x).level.open:
            return False                    # it escaped from its transform
        if (<Wrapped>x).rank > rank[0]:
            rank[0] = (<Wrapped>x).rank
        return True

    cdef bint accept_kept(self, x, rank_t *rank) noexcept:
        if is_wrapped(<PyObject *>x):
            return self.accept_wrapped(<PyObject *>x, rank)
        return False not in [self.accept_kept(item, rank) for item in items_of(x) or ()]

    cdef bint accept_list(self, PyObject *x, rank_t *rank) noexcept:
        cdef Py_ssize_t i, n
        cdef PyObject **items
        if not (PyList_Check(<object>x) or PyTuple_Check(<object>x)):
            if self.size >= 0 and self.element.accept(x, rank):
                return True                 # `int[2] size=3`: one stands for all
            return (self.element.kind == INT and isinstance(<object>x, range)
                    and (self.size <= 1 or len(<object>x) == self.size))
        n = PySequence_Fast_GET_SIZE(x)
        if self.size > 1 and n != self.size:
            return False
        items = PySequence_Fast_ITEMS(x)
        for i in range(n):
            if not self.element.accept(items[i], rank):
                return False
        return True

    cdef bint accept_tuple(self, PyObject *x, rank_t *rank) noexcept:
        cdef Py_ssize_t i
        cdef PyObject **found
        if not isinstance(<object>x, self.cls):
            return False
        items = items_of(<object>x)
        if items is None or len(items) != len(self.members):
            return False                    # None: a subclass of a record, whose fields nobody has named
        found = PySequence_Fast_ITEMS(<PyObject *>items)
        for i in range(len(items)):
            if not (<Check>self.members[i]).accept(found[i], rank):
                return False
        return True

    cdef bint accept_dict(self, PyObject *x, rank_t *rank) noexcept:
        if not isinstance(<object>x, dict):
            return False
        for name, item in (<dict><object>x).items():
            if not (self.members[0](name) and self.element.accept(<PyObject *>item, rank)):
                return False
        return True


cdef class Arguments:
    """The arguments of one operator, as C reads them.

    Parameters
    ----------
    names : tuple of str
    checks : tuple of Check
    defaults : tuple of tuple
        `()` for an argument that must be given, `(value,)` for one with a default.
    positional_only, keyword_only : int
        How many of the first and of the last arguments.
    """

    def __cinit__(self, tuple names not None, tuple checks not None, tuple defaults not None, Py_ssize_t positional_only=0,
                  Py_ssize_t keyword_only=0):
        cdef Py_ssize_t i
        cdef Check check
        if not len(names) == len(checks) == len(defaults) or keyword_only + positional_only > len(names):
            raise ValueError(f"{len(names)} names, {len(checks)} checks and {len(defaults)} defaults: one of each an argument.")
        self.names, self.checks, self.defaults = names, checks, defaults
        self.count = len(names)
        self.positional = self.count - keyword_only
        self.positional_only = positional_only
        self.keyword_names = names[self.positional:]
        self.kernel_keywords = <PyObject *>self.keyword_names if keyword_only else NULL
        self.direct = -1 if keyword_only else self.count
        self.kinds = <unsigned char *>PyMem_Malloc(max(self.count, 1))
        if self.kinds is NULL:
            raise MemoryError
        for i in range(self.count):
            check = checks[i]
            # dtype and flags have to be looked at: 255 is no kind, so that an exact ndarray takes the long way too
            self.kinds[i] = 255 if check.dtype is not None or check.written else check.kind

    def __dealloc__(self):
        PyMem_Free(self.kinds)

    cdef bint accept(self, Py_ssize_t i, PyObject *x, rank_t *rank) noexcept:
        return (<Check>PyTuple_GET_ITEM(<PyObject *>self.checks, i)).accept(x, rank)

    cdef bint bind(self, PyObject *const *args, Py_ssize_t n, PyObject *keywords, PyObject **full) noexcept:
        """Fill `full` with borrowed references, one an argument; no where the call does not fit Python's rules."""
        cdef Py_ssize_t i, j, given = 0 if keywords is NULL else PyTuple_GET_SIZE(keywords)
        cdef PyObject *name
        cdef PyObject *names = <PyObject *>self.names
        cdef PyObject *default
        if n > self.positional:
            return False
        for i in range(n):
            full[i] = args[i]
        for i in range(n, self.count):
            full[i] = NULL
        for j in range(given):
            name = PyTuple_GET_ITEM(keywords, j)
            for i in range(self.positional_only, self.count):
                if PyTuple_GET_ITEM(names, i) == name:
                    break
            else:                           # a name that is not interned is equal, not identical
                for i in range(self.positional_only, self.count):
                    if PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0:
                        break
                else:
                    return False
            if full[i] != NULL:
                return False
            full[i] = args[n + j]
        for i in range(n, self.count):
            if full[i] == NULL:
                default = PyTuple_GET_ITEM(<PyObject *>self.defaults, i)
                if PyTuple_GET_SIZE(default) == 0:
                    return False
                full[i] = PyTuple_GET_ITEM(default, 0)
        return True
