"""One definition of an operator."""
from .arguments cimport Arguments
from .outputs cimport Outputs
from .table cimport KernelTable


cdef class Definition:
    cdef readonly object schema
    cdef readonly Arguments arguments
    cdef readonly Outputs outputs
    cdef readonly tuple tags
    cdef readonly KernelTable table
