import enum

class DispatchKey(enum.IntEnum):
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

    @property
    def is_backend(self) -> bool: ...
    @property
    def is_alias(self) -> bool: ...

OBSERVE: int
AROUND: int

def rank_of(level: int, key: int) -> int: ...
def key_of_rank(rank: int) -> int: ...
def level_of_rank(rank: int) -> int: ...
