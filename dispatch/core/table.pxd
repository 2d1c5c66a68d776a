"""The kernels of one operator: what was registered, and which of it each slot holds."""
from cpython.object cimport PyObject

from .keys cimport KEYS


cdef class Registration:
    cdef readonly object key                # the DispatchKey, an alias included
    cdef readonly object rule               # as it was given; without a layer it is the kernel itself
    cdef readonly object layer              # the layer that lowers the rule, or None
    cdef readonly bint keyed                # the kernel takes the key at which it runs
    cdef int number                         # the key, in C
    cdef object kernel                      # lowered at the first call that needs it


cdef class KernelTable:
    cdef PyObject *slots[KEYS]              # borrowed from `owned`; NULL: not computed since the last registration
    cdef list owned                         # None as long as every slot is empty
    cdef readonly size_t changes            # how often the slots were emptied
    cdef int looks                          # calls since then that were looked at, and left the slot empty again
    cdef tuple keyword_names                # of the definition's arguments
    cdef readonly object gone               # None, or the message with which calls to a removed operator fail
    cdef list registrations                 # of all keys in one, the newest last: of a key it is live

    cdef object resolve(self, object op, int key)
