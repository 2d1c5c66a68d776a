"""Which calls of a graph must stay, and which values may share memory."""
from .node cimport Node


cdef class OpAliases:
    cdef bint everything, is_view, is_copy, writes_all, effect, silent, pinned
    cdef list places, written_places

    cdef list shared(self, Node node)
    cdef list written(self, Node node)


cdef class AliasAnalysis:
    cdef readonly dict written_by
    cdef dict above, known                  # from a node to another of its class, the last stands for it; by operator
    cdef set written_classes, seen_classes

    cdef OpAliases of_op(self, op)
    cpdef bint is_pinned(self, Node node) except -1
    cpdef Node of(self, Node node)
    cpdef bint is_written(self, Node node) except -1
    cpdef bint is_seen(self, Node node) except -1
    cdef int join(self, list nodes) except -1


cpdef bint is_data(value) except -1
