"""The numbers of the keys, for C. The order is decided here and nowhere else; keys.pyx gives the numbers their names."""
from libc.stdint cimport uint64_t

ctypedef uint64_t rank_t                    # level * 64 + key

cdef enum:
    CPU = 0                                 # backends: 0 to 15, of which 3 to 15 are handed out by register_array_type
    FAKE = 16                               # the first layer: keys below it belong to kernels that touch data
    TRACE = 17
    FUNCTIONALIZE = 18
    LAYER = 19                              # free, for a layer that is not ours
    MODE = 20
    JVP = 21
    AUTOGRAD = 22
    VMAP = 23
    OBSERVE = 31                            # no DispatchKey: where a call goes that is watched, above every level
    KEYS = 32                               # slots in a table; a power of two above the last key
    COMPOSITE_EXPLICIT = 64                 # aliases: keys to register at, without a slot
    COMPOSITE_IMPLICIT = 65
    AUTOGRAD_ALIAS = 66
    AROUND = 67                             # no DispatchKey: rules that stand around the kernels of several keys


cdef inline rank_t rank_at(rank_t level, rank_t key) noexcept nogil:
    return level * 64 + key


cdef inline unsigned int key_at(rank_t rank) noexcept nogil:
    return rank & (KEYS - 1)
