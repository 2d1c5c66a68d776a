"""A module that stands in for CuPy where there is no GPU: arrays with CuPy's protocols, and with its refusals.

As in CuPy 13, `numpy.asarray(x)` of an array raises, an array of NumPy beside one raises, numbers and NumPy's scalars go along, and a
function that CuPy lacks is not implemented. A pytest plugin: `-p cupy_stand_in` puts it in the place of `cupy`.
"""

import contextlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np

LACKS = {"unwrap", "busday_count"}  # functions of NumPy that are taken for such that CuPy does not have


class ndarray:  # noqa: N801  its name is CuPy's
    __module__ = "cupy"
    __array_priority__ = 100

    def __init__(self, held, number=0):
        self._held, self._number = held, number

    shape = property(lambda self: self._held.shape)
    ndim = property(lambda self: self._held.ndim)
    size = property(lambda self: self._held.size)
    dtype = property(lambda self: self._held.dtype)
    strides = property(lambda self: self._held.strides)
    device = property(lambda self: Device(self._number))
    real = property(lambda self: ndarray(self._held.real))
    imag = property(lambda self: ndarray(self._held.imag))
    T = property(lambda self: ndarray(self._held.T))

    def get(self):
        return self._held.copy()

    def __array__(self, *args, **keywords):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly.")

    def __array_ufunc__(self, ufunc, method, *args, **keywords):
        if any(isinstance(x, np.ndarray) for x in args):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if ufunc.__name__ in LACKS or not all(isinstance(x, (ndarray, int, float, complex, np.generic)) for x in args):
            return NotImplemented
        return boxed(getattr(ufunc, method)(*bare(args), **bare(keywords)))

    def __array_function__(self, function, types, args, keywords):
        if function.__name__ in LACKS or not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        if any(t is np.ndarray for t in types):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        return boxed(function(*bare(args), **bare(keywords)))

    def __getitem__(self, index):
        return ndarray(np.asarray(self._held[bare(index)]))

    def __setitem__(self, index, value):
        if isinstance(value, np.ndarray) and value.ndim:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        self._held[bare(index)] = bare(value)

    def __len__(self):
        return len(self._held)

    def astype(self, dtype):
        return ndarray(self._held.astype(dtype))

    def copy(self):
        return ndarray(self._held.copy())

    def reshape(self, *shape):
        return ndarray(self._held.reshape(*shape))

    def sum(self, *args, **keywords):
        return boxed(self._held.sum(*args, **keywords))


def _operator(name):
    def method(self, *other):
        if any(isinstance(x, np.ndarray) for x in other):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if not all(isinstance(x, (ndarray, int, float, complex, np.generic)) for x in other):
            return NotImplemented
        return boxed(getattr(self._held, name)(*bare(other)))

    return method


for _name in "add radd sub rsub mul rmul truediv rtruediv pow rpow matmul rmatmul neg pos abs lt le gt ge eq ne".split():
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
ndarray.__hash__ = None


def bare(x):
    if isinstance(x, (tuple, list)):
        return type(x)([bare(item) for item in x])
    if isinstance(x, dict):
        return {key: bare(item) for key, item in x.items()}
    return x._held if isinstance(x, ndarray) else x


def boxed(x):
    if isinstance(x, (tuple, list)):
        return type(x)([boxed(item) for item in x])
    return ndarray(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


class Device(contextlib.nullcontext):
    def __init__(self, number):
        super().__init__()
        self.id = number


KERNELS = {"cube": lambda x, out, n: np.copyto(out, x**3)}


class RawKernel:
    """A kernel in CUDA C, of which this runs the function that `KERNELS` has under its name."""

    def __init__(self, code, name):
        assert f"void {name}(" in code
        self.run = KERNELS[name]

    def __call__(self, grid, block, args):
        assert grid[0] * block[0] >= args[-1]
        self.run(*bare(args))


class Module(ModuleType):
    def __getattr__(self, name):
        function = getattr(np, name, None)
        if name.startswith("__") or name in LACKS or function is None:
            raise AttributeError(name)
        return function if isinstance(function, type) else lambda *args, **keywords: boxed(function(*bare(args), **bare(keywords)))


module = Module("cupy")
module.__spec__ = ModuleSpec("cupy", None)
module.ndarray, module.RawKernel = ndarray, RawKernel
module.asarray = module.array = lambda x, dtype=None: ndarray(np.array(bare(x), dtype=dtype))
module.asnumpy = lambda x: x.get()
module.linalg, module.fft = np.linalg, np.fft
sys.modules.setdefault("cupy", module)
