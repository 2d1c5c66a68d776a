"""The record of one call, and the end of a graph."""


cdef class Record:
    cdef public object op
    cdef public object level
    cdef object goes_by
    cdef public object saved
    cdef public object layout
    cdef public object order
    cdef object first                       # the inputs, where they are `few`: so many, and None from the third on
    cdef object second
    cdef int few
    cdef object all_inputs                  # else
    cdef tuple all_edges
    cdef object __weakref__


cdef class End:
    cdef public object layout
    cdef public object grad
    cdef public object hooks
    cdef object __weakref__
