"""A node of a graph, and the walk over the nodes in a value."""


cdef class Node:
    cdef public object kind, name, op, value, source
    cdef public tuple args


cdef int collect(object x, list found) except -1
cdef object exchanged(object x, dict stands, bint every)
cpdef Node maker(Node node)
