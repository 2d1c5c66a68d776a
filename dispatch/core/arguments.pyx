"""Does a call fit its schema? Decided here in C, with yes or no; the words for a no are found by dispatcher/call_errors.py.

A check looks at types and never converts: what the caller passed is what the kernel gets. Arrays give their rank on the
way, so one walk over the arguments both checks them and finds the rank.
"""
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from collections.abc import Sequence

import numpy as np

from .arrays cimport Size, device_number, is_exact, is_number, is_numpy, key_of
from .flatten cimport held, items_of, mapped, walk
from .keys cimport rank_t
from .python cimport (
    Py_None, PyBool_Check, PyBytes_Check, PyCallable_Check, PyComplex_Check, PyFloat_Check, PyFloat_CheckExact, PyLong_Check,
    PyLong_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyUnicode_Check, PyUnicode_Compare,
)
from .tensor cimport Wrapped, is_wrapped

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    static inline PyObject *dispatch_descr(PyObject *x) { return (PyObject *)((PyArrayObject_fields *)x)->descr; }
    """
    PyObject *dispatch_descr(PyObject *x) noexcept      # borrowed: the dtype of an ndarray

# The kinds of checks, by name: an IntEnum of them took a millisecond, a thirtieth of `import dispatch`.
Kind = type("Kind", (), dict(
    __module__=__name__,
    __doc__="What a check asks of a value, a number.",
    ANY=ANY, TENSOR=TENSOR, TENSOR_OR_NUMBER=TENSOR_OR_NUMBER, INT=INT, FLOAT=FLOAT, COMPLEX=COMPLEX, BOOL=BOOL,
    STR=STR, BYTES=BYTES, SCALAR=SCALAR, DTYPE=DTYPE, CALLABLE=CALLABLE, INSTANCE=INSTANCE, LIST=LIST, TUPLE=TUPLE,
    DICT=DICT, NONE=NONE, RESIDUAL=RESIDUAL, DEVICE=DEVICE, LITERAL=LITERAL, UNION=UNION,
))

cdef type INTEGER = np.integer, FLOATING = np.floating, COMPLEXFLOATING = np.complexfloating, NUMPY_BOOL = np.bool_
cdef type NUMBER = np.number, GENERIC = np.generic
cdef type TIMEDELTA = np.timedelta64           # an integer by inheritance, and no number: it has a unit
cdef object DTYPE_TYPE = np.dtype              # its class is a metaclass of its own

cdef int is_int(PyObject *x) except -1:
    return ((PyLong_Check(x) and not PyBool_Check(x)) or isinstance(<object>x, Size)
            or (isinstance(<object>x, INTEGER) and not isinstance(<object>x, TIMEDELTA)))


cdef int is_float(PyObject *x) except -1:
    return PyFloat_Check(x) or is_int(x) or isinstance(<object>x, FLOATING)


cdef int is_bool(PyObject *x) except -1:
    return PyBool_Check(x) or isinstance(<object>x, NUMPY_BOOL)


cdef int is_dtype(PyObject *x) except -1:
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


cdef int is_one_of(object x, tuple choices) except -1:
    for choice in choices:                  # of the same type first, which is one whose equality neither raises nor lies
        if type(x) is type(choice) and x == choice:
            return True
    return False


cdef class Check:
    """The test of one schema type.

    Parameters
    ----------
    kind : int
        Of `Kind`.
    cls : object
        The class of an INSTANCE, or of a record that is checked as a TUPLE of its fields; the choices of a LITERAL.
    written : bool
        Whether the operator writes to the array, so that it has to be one that can be written to.
    """

    def __cinit__(self, kind not None, *, optional=False, Check element=None, tuple members not None=(), Py_ssize_t size=-1,
                  cls=None, dtype=None, written=False):
        if not ANY <= kind <= UNION:
            raise ValueError(f"there is no kind of check {kind!r}.")
        self.kind = kind
        self.optional = optional
        self.element = element
        self.members = members
        self.size = size
        self.cls = tuple if cls is None and self.kind == TUPLE else cls
        self.dtype = dtype
        self.written = written
        if (self.kind in (LIST, DICT) and element is None or self.kind == DICT and len(members) != 1
                or self.kind == UNION and not members
                or not all([isinstance(member, Check) for member in members])):
            raise ValueError(f"a check of {kind!r} is made of the checks of what is in it: element=, members=.")

    @property
    def typed(self):
        """Whether a dtype is asked for, of x itself or of what is in it."""
        parts = self.members if self.element is None else (self.element, *self.members)
        return self.dtype is not None or any([part.typed for part in parts])

    def __call__(self, x):
        """Whether x fits. The same answer as in a call, for tests and for overload resolution."""
        cdef rank_t rank = 0
        return bool(self.accept(<PyObject *>x, &rank))

    cdef int accept(self, PyObject *x, rank_t *rank) except -1:
        cdef int kind = self.kind, key
        if x == Py_None and (self.optional or kind == ANY or kind == NONE):
            return True
        if kind == TENSOR or kind == TENSOR_OR_NUMBER:
            return self.accept_array(x, rank)
        if kind == RESIDUAL:                # anything; wrappers are what a batch's items kept, and lead to their layer
            return not walk(<object>x, escaped, rank)
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
            key = device_number(<object>x)
            if <rank_t>max(key, 0) > rank[0]:
                rank[0] = key
            return key >= 0
        if kind == CALLABLE:
            return PyCallable_Check(x)
        if kind == LITERAL:
            return is_one_of(<object>x, self.cls)
        if kind == INSTANCE:
            return isinstance(<object>x, self.cls)
        if kind == UNION:
            return self.accept_union(x, rank)
        return kind == ANY

    cdef int accept_array(self, PyObject *x, rank_t *rank) except -1:
        cdef int key
        if is_exact(x):
            if not self.written and (self.dtype is None or dispatch_descr(x) == <PyObject *>self.dtype):
                return True
        elif is_wrapped(x):
            if not accept_wrapped(x, rank) or (self.written and (<Wrapped>x).read_only):
                return False
        else:
            if self.kind == TENSOR_OR_NUMBER and (PyFloat_CheckExact(x) or PyLong_CheckExact(x)):
                return True
            key = key_of(x)
            if key < 0:
                return self.kind == TENSOR_OR_NUMBER and is_number(x)
            if <rank_t>key > rank[0]:
                rank[0] = key
        if self.written and is_numpy(x) and not (<object>x).flags.writeable:
            return False
        return self.dtype is None or (<object>x).dtype == self.dtype

    cdef int accept_list(self, PyObject *x, rank_t *rank) except -1:
        cdef tuple items
        cdef Py_ssize_t i
        if isinstance(<object>x, (list, tuple)):
            items = held(<object>x)
        elif self.size >= 0 and self.element.accept(x, rank):
            return True                     # `int[2] size=3`: one stands for all
        elif isinstance(<object>x, range) and self.element.kind == INT:         # whose items need no look
            return self.size <= 1 or len(<object>x) == self.size
        elif (INT <= self.element.kind <= DTYPE and isinstance(<object>x, Sequence)
                and not isinstance(<object>x, (str, bytes, bytearray))):
            items = tuple(<object>x)        # of a class of its own; arrays are looked for in lists and tuples only
        else:
            return False
        if self.size > 1 and len(items) != self.size:
            return False
        for i in range(len(items)):
            if not self.element.accept(PyTuple_GET_ITEM(<PyObject *>items, i), rank):
                return False
        return True

    cdef int accept_tuple(self, PyObject *x, rank_t *rank) except -1:
        cdef Py_ssize_t i
        cdef tuple items
        if not isinstance(<object>x, self.cls):
            return False
        items = items_of(<object>x)
        if items is None or len(items) != len(self.members):
            return False                    # None: a subclass of a record, whose fields nobody has named
        for i in range(len(items)):
            if not (<Check>self.members[i]).accept(PyTuple_GET_ITEM(<PyObject *>items, i), rank):
                return False
        return True

    cdef int accept_union(self, PyObject *x, rank_t *rank) except -1:
        cdef rank_t found
        for member in self.members:
            found = rank[0]                 # a member that does not fit has perhaps seen some of the arrays
            if (<Check>member).accept(x, &found):
                rank[0] = found
                return True
        return False

    cdef int accept_dict(self, PyObject *x, rank_t *rank) except -1:
        cdef Check key
        if not isinstance(<object>x, dict):
            return False
        key = self.members[0]
        for name, item in (<dict><object>x).items():
            if not (key.accept(<PyObject *>name, rank) and self.element.accept(<PyObject *>item, rank)):
                return False
        return True


cdef bint accept_wrapped(PyObject *x, rank_t *rank) noexcept:
    if not (<Wrapped>x).level.open:
        return False                        # it escaped from its transform
    if (<Wrapped>x).rank > rank[0]:
        rank[0] = (<Wrapped>x).rank
    return True


cdef int escaped(object x, tuple items, void *rank) except -1:
    return is_wrapped(<PyObject *>x) and not accept_wrapped(<PyObject *>x, <rank_t *>rank)


cdef int is_mutable(object x, tuple items, void *context) except -1:
    return items is not None and not isinstance(x, tuple)


cdef object same(object x, void *context):
    return x


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
        if (not len(names) == len(checks) == len(defaults) or min(keyword_only, positional_only) < 0
                or keyword_only + positional_only > len(names)):
            raise ValueError(f"{len(names)} names, {len(checks)} checks and {len(defaults)} defaults: one of each an argument.")
        for name, given, default in zip(names, checks, defaults):
            if not (isinstance(name, str) and isinstance(given, Check) and isinstance(default, tuple) and len(default) < 2):
                raise TypeError(f"an argument is a str, a Check and a tuple, not {name!r}, {given!r} and {default!r}.")
        self.names, self.checks, self.defaults = names, checks, defaults
        self.renewed = tuple([i for i, default in enumerate(defaults) if walk(default, is_mutable, NULL)]) or None
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

    cdef int accept(self, Py_ssize_t i, PyObject *x, rank_t *rank) except -1:
        return (<Check>PyTuple_GET_ITEM(<PyObject *>self.checks, i)).accept(x, rank)

    cdef list renew(self, PyObject **full):
        """Put a copy in place of each default that a kernel could write to; the list that is returned holds the copies."""
        cdef Py_ssize_t i
        cdef list copies = []
        for i in self.renewed:
            if full[i] == PyTuple_GET_ITEM(PyTuple_GET_ITEM(<PyObject *>self.defaults, i), 0):
                copies.append(mapped(<object>full[i], same, NULL))
                full[i] = <PyObject *>copies[-1]
        return copies

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
