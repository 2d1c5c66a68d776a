"""The context of a user's rule, as compiled code sees it."""
from .backward_graph cimport Node


cdef class Context(Node):
    cdef dict __dict__
    cdef int form                           # of `saved`: NOTHING_SAVED, PLAIN or ANY
    cdef unsigned long long own             # two bits for each of the first that are saved: which input it is, from 1 on
    cdef bint recording                     # whether the backward that runs makes a graph
    cdef bint materialize
    cdef bint multiple                      # whether the operator has several outputs, or lists of them
    cdef readonly tuple layouts             # of those; no edges, which refer to this node
    cdef public object residual
    cdef tuple levels                       # of an operator with a residual: those that the residual depends on in secret
    cdef readonly tuple undifferentiable    # numbers of outputs
    cdef dict aside                         # attributes that hold arrays, in a form without a cycle and safe from writes
    cdef tuple structure                    # the outputs, with its number in `layouts` for each array
    cdef tuple skeletons                    # the arguments without their values, where gradients come in dicts or records

    cdef dict attributes(self)
    cdef int settle(self, dict attributes) except -1


cdef Py_ssize_t number_of(Context node, x)
cdef dict shown(Context node)
cdef dict copied_attributes(Context node)
