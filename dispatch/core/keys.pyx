"""DispatchKey: the backends and layers that can have a kernel of an operator, lowest first.

The order is the order of priority at level 0. It is fixed, and no import changes it: a fake tensor is seen by the tape and
by batching, never the other way round, because shapes are what remains when everything else has been unwrapped; tracing
stands below differentiation, so that what is recorded is what runs; batching stands on top, so that a batch of
independent gradients is the ordinary case. LAYER is free, for a layer that somebody else writes.
"""
import enum

from ..errors import DefinitionError
from .wrong_calls import Keys, no_key


class DispatchKey(enum.IntEnum, metaclass=Keys):
    """A key is a place in an operator's table of kernels. A call runs the kernel at the highest key of its arguments.

    Those below FAKE are backends: their kernels compute on the arrays of a device. FAKE to VMAP are layers. The last three are
    aliases, which stand for several keys in a registration: `CompositeExplicit` for every backend; `CompositeImplicit` for
    every backend, and for every layer where no backend has a kernel of its own; `Autograd` for the tape, AUTOGRAD.

    Examples
    --------
    >>> from dispatch import DispatchKey
    >>> DispatchKey.CPU < DispatchKey.FAKE < DispatchKey.AUTOGRAD < DispatchKey.VMAP
    True
    """

    CPU = 0
    CUDA = 1
    DASK = 2
    XLA = 3
    MPS = 4
    IPU = 5
    XPU = 6
    BACKEND_7 = 7
    BACKEND_8 = 8
    BACKEND_9 = 9
    BACKEND_10 = 10
    BACKEND_11 = 11
    BACKEND_12 = 12
    BACKEND_13 = 13
    BACKEND_14 = 14
    BACKEND_15 = 15
    FAKE = 16
    TRACE = 17
    FUNCTIONALIZE = 18
    LAYER = 19
    MODE = 20
    JVP = 21
    AUTOGRAD = 22
    VMAP = 23
    CompositeExplicit = 64
    CompositeImplicit = 65
    Autograd = 66

    @classmethod
    def _missing_(cls, value):
        raise DefinitionError(no_key(value, cls.__members__))

    @property
    def is_backend(self):
        """Whether kernels at this key compute on data. Those of layers call the operator again, at a lower key."""
        return self.value < FAKE

    @property
    def is_alias(self):
        """Whether this stands for several keys in a registration."""
        return self.value >= COMPOSITE_EXPLICIT

    def __str__(self):
        return self.name


globals().update(OBSERVE=<int>OBSERVE, AROUND=<int>AROUND)      # no DispatchKeys: see keys.pxd


def rank_of(rank_t level, int key):
    """The rank of a key at a level, by the level's number: `level * 64 + key`."""
    return rank_at(level, key)


def key_of_rank(rank_t rank):
    """The key of a rank, as a number.

    Examples
    --------
    >>> from dispatch import DispatchKey
    >>> DispatchKey(key_of_rank(rank_of(3, DispatchKey.VMAP)))
    <DispatchKey.VMAP: 23>
    """
    return key_at(rank)


def level_of_rank(rank_t rank):
    """The number of a rank's level; 0 is the ground level."""
    return rank >> 6
