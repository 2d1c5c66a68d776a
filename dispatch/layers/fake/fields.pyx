"""The fields of a fake tensor, in C: each call under a mode makes fakes, and to set the fields of one in Python takes 0.3 us.
"""
from ...core.keys cimport FAKE, rank_at, rank_t
from ...core.state cimport GROUND
from ...core.tensor cimport Wrapped, allocated

cdef rank_t RANK = rank_at(GROUND.number, FAKE)


cdef class Fields(Wrapped):
    """What a fake tensor keeps; users meet it as `FakeTensor`."""


cpdef Fields new_fake(type cls, shape, dtype, strides, device, mode, bint number):
    """A fake of class `cls` that is a view of no other."""
    cdef Fields made = allocated(cls, GROUND, RANK)
    made.shape, made.dtype, made.strides = shape, dtype, strides
    made.device, made.mode, made.number = device, mode, number
    return made


def copy_fields(Fields x not None, Fields made not None):
    """Give another fake, which has nothing yet, the fields of `x`."""
    made.shape, made.dtype, made.strides = x.shape, x.dtype, x.strides
    made.device, made.mode, made.number = x.device, x.mode, x.number
