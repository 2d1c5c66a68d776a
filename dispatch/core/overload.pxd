"""The operator, as C sees it."""
from cpython.object cimport PyObject

from .definition cimport Definition
from .hooks cimport Hooks
from .keys cimport rank_t
from .vectorcall cimport vectorcallfunc


cdef class OpOverload:
    cdef vectorcallfunc slot                # first, and the only reason the class is final
    cdef readonly Definition definition
    cdef readonly Hooks hooks
    cdef readonly int epoch                 # how often it has been defined
    cdef OpOverload inner                   # `whole`, once it was asked for and where it is not self
    cdef OpOverload primary                 # of a `whole`: the operator it belongs to; else None
    cdef dict __dict__
    cdef object __weakref__
