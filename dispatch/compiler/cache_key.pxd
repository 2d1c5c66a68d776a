"""The key of a call, as C sees it."""


cdef class Identity:
    cdef readonly object value


cdef class Signature:
    cdef readonly list parts, values, floats, others
    cdef readonly bint wrapped
    cdef readonly object foreign

    cdef int add(self, object x) except -1
    cdef int add_container(self, object x, tuple items) except -1
    cdef int add_value(self, object x) except -1
