"""When the values of a graph are used, and their memory read, for the last time."""
from .alias_analysis cimport AliasAnalysis
from .node cimport Node


cdef class Lifetimes:
    cdef readonly dict order, users
    cdef readonly AliasAnalysis aliases
    cdef dict known

    cpdef list reads(self, Node node)
