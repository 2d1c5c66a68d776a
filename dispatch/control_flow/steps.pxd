"""What the loops compare and keep, as C sees it."""


cdef class Kind:
    cdef readonly object dtype, shape
    cdef object scalar                      # the class of NumPy's numbers of it; None where it has axes

    cdef bint fits(self, object x) except -1


cdef class Stacked:
    cdef readonly object like
    cdef readonly list arrays
    cdef list kinds
    cdef bint single
    cdef Py_ssize_t length
    cdef str who

    cdef bint put(self, Py_ssize_t i, object y) except -1
