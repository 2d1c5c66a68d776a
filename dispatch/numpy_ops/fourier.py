"""Rows of Fourier transforms: `np.fft`.

Four transforms of one axis are rows of their own; the others are made of them as NumPy makes them. A transform is linear, and its
adjoint is the transform of the other direction with the scale of the other direction [1]_: `ifft` with "forward", which does not
scale, is the adjoint of `fft` with "backward", which does not either. Between real and complex, each element in the middle of a half
spectrum stands for two of the whole one, so that one adjoint doubles these elements and the other halves them.

.. [1] https://numpy.org/doc/stable/reference/routines.fft.html#implementation-details
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.fake import fake_tensor
from ..operators.registry import ops
from ..symbolic import is_open, larger, same
from . import numpy_functions
from .families import composite, in_front, linear, row
from .indexing import getitem
from .numpy_functions import spelled
from .pointwise import conjugate, divide, multiply
from .rearranging import along
from .result_layouts import INTEGERS, fake_like
from .shape import concatenate

Rule = Callable[..., Any]

KEEPS_ORDER = bool(np.fft.fft(np.zeros((2, 2), order="F")).flags.f_contiguous)  # NumPy 2.0 lays each result out in C order
OTHER_WAY = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def transform(name: str, kernel: Rule, dtype_of: Rule, length: Rule, given: Rule, adjoint: Rule) -> OpOverload:
    """Make a row of a transform along one axis.

    Parameters
    ----------
    name
        Its name in `np.fft`.
    kernel
        NumPy's function.
    dtype_of
        From the dtype of the argument to that of the result.
    length
        From the number of points to the length of the result.
    given
        From the length of the argument to the number of points.
    adjoint
        From the gradient, the axis and the scale of the other direction to the gradient at all points.
    """

    def numpy(x: Any, n: Any = None, axis: int = -1, norm: str | None = None) -> Any:
        return kernel(x, n, axis, norm)

    def fake(x: Any, n: Any, axis: int, norm: Any) -> Any:
        points = given(x.shape[axis]) if n is None else n
        none = not is_open((points,)) and points < 1
        if none or norm not in OTHER_WAY:
            kernel(np.zeros(1), points if none else 1, 0, norm)  # raises NumPy's own error
        axis = normalize_axis_index(axis, len(x.shape))
        shape = (*x.shape[:axis], length(points), *x.shape[axis + 1 :])
        return fake_like(x, dtype_of(x.dtype), shape) if KEEPS_ORDER else fake_tensor(shape, dtype_of(x.dtype), None, x.device, x.mode)

    def pullback(g: Any, x_shape: Any, n: Any, axis: Any, norm: Any) -> Any:
        axis = normalize_axis_index(axis, len(x_shape))
        return fitted(adjoint(g, given(x_shape[axis]) if n is None else n, axis, OTHER_WAY[norm]), x_shape[axis], axis)

    def vmap(info: Any, in_dims: Any, x: Any, n: Any, axis: int, norm: Any) -> tuple[Any, int]:
        x = in_front(x, in_dims[0])
        return op(x, n, 1 + normalize_axis_index(axis, len(x.shape) - 1), norm), 0

    text = f"fft_{name}(Tensor x, SymInt? n=None, int axis=-1, str? norm=None) -> Tensor"
    op = row(text, numpy=numpy, fake=fake, autograd=pullbacks(x=pullback), jvp=linear("x"), vmap=vmap)
    return op


def fitted(x: Any, n: Any, axis: int) -> Any:
    """Return the first n elements along an axis, with zeros behind them where there are fewer. Of symbolic sizes nothing is asked."""
    if same(x.shape, (*x.shape[:axis], n, *x.shape[axis + 1 :])):
        return x
    x = getitem(x, along(axis, len(x.shape), slice(0, n)))
    missing = larger(n - x.shape[axis], 0)
    if type(missing) is int and not missing:
        return x
    return concatenate([x, ops.np.zeros_like(x, None, (*x.shape[:axis], missing, *x.shape[axis + 1 :]))], axis)


def weighed(x: Any, n: Any, axis: int, change: Rule) -> Any:
    """Change what stands for two elements of a whole spectrum of n points: all of a half one but the first, and but the last for even n."""
    parts = [getitem(x, along(axis, len(x.shape), part)) for part in (slice(0, 1), slice(1, (n + 1) // 2), slice((n + 1) // 2, None))]
    return concatenate([parts[0], change(parts[1], 2.0), parts[2]], axis)


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, 1j)


def _real(dtype: Any) -> Any:
    return np.result_type(np.empty(0, dtype).real.dtype, 1.0)


def _of_real(dtype: Any) -> Any:
    return _complex(dtype) if dtype.kind != "c" else np.fft.rfft(np.zeros(1, dtype))  # raises NumPy's own error


def _same(n: Any) -> Any:
    return n


fft = transform("fft", np.fft.fft, _complex, _same, _same, lambda g, n, axis, norm: ifft(g, None, axis, norm))
ifft = transform("ifft", np.fft.ifft, _complex, _same, _same, lambda g, n, axis, norm: fft(g, None, axis, norm))
rfft = transform(
    "rfft", np.fft.rfft, _of_real, lambda n: n // 2 + 1, _same,
    lambda g, n, axis, norm: irfft(weighed(g, n, axis, divide), n, axis, norm),
)  # fmt: skip
irfft = transform(
    "irfft", np.fft.irfft, _real, _same, lambda m: 2 * (m - 1),
    lambda g, n, axis, norm: weighed(rfft(g, None, axis, norm), n, axis, multiply),
)  # fmt: skip

# -- one axis, of a Hermitian spectrum -----------------------------------------------------------------------------------------


def _hfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return irfft(conjugate(x), n, axis, _other_way(norm))


def _ihfft(x: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    return conjugate(rfft(x, n, axis, _other_way(norm)))


def _other_way(norm: Any) -> Any:
    if norm not in OTHER_WAY:
        np.fft.fft(np.zeros(1), None, 0, norm)  # raises NumPy's own error
    return OTHER_WAY[norm]


ONE = "(Tensor x, SymInt? n=None, int axis=-1, str? norm=None) -> Tensor"
hfft = composite("fft_hfft" + ONE, _hfft)
ihfft = composite("fft_ihfft" + ONE, _ihfft)

# -- several axes --------------------------------------------------------------------------------------------------------------


def over(x: Any, s: Any, axes: Any, *, half: bool = False) -> list[tuple[Any, Any]]:
    """Return the number of points and the axis of each transform, the first axis first; `half` is for a half spectrum along the last."""
    ndim = len(x.shape)
    if axes is None:
        axes = range(-(ndim if s is None else len(s)), 0)
    if s is None:
        s = [x.shape[axis] for axis in axes]
        if half:
            s[-1] = 2 * (s[-1] - 1)
    if len(s) != len(axes):
        np.fft.fftn(np.zeros(1), (1,) * len(s), (0,) * len(axes))  # raises NumPy's own error
    return [(x.shape[axis] if n is not None and n == -1 else n, axis) for n, axis in zip(s, axes, strict=True)]


def several(one: OpOverload) -> Rule:
    """Return the transform over several axes that repeats that of one, the last axis first."""

    def run(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        found = over(x, s, axes)
        for n, axis in reversed(found):
            x = one(x, n, axis, norm)
        return x if found else getitem(x, Ellipsis)  # an array, also of a number

    return run


def _rfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    *others, (n, axis) = over(x, s, axes)
    x = rfft(x, n, axis, norm)
    for n, axis in reversed(others):
        x = fft(x, n, axis, norm)
    return x


def _irfftn(x: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    *others, (n, axis) = over(x, s, axes, half=True)
    for points, at in others:
        x = ifft(x, points, at, norm)
    return irfft(x, n, axis, norm)


ALL = "(Tensor(a) x, SymInt[]? s=None, int[]? axes=None, str? norm=None) -> Tensor(a)"  # without axes, the argument itself
TWO = "(Tensor(a) x, SymInt[]? s=None, int[]? axes=[-2, -1], str? norm=None) -> Tensor(a)"
fftn = composite("fft_fftn" + ALL, several(fft))
ifftn = composite("fft_ifftn" + ALL, several(ifft))
rfftn = composite("fft_rfftn" + ALL, _rfftn)
irfftn = composite("fft_irfftn" + ALL, _irfftn)
fft2 = composite("fft_fft2" + TWO, several(fft))
ifft2 = composite("fft_ifft2" + TWO, several(ifft))
rfft2 = composite("fft_rfft2" + TWO, _rfftn)
irfft2 = composite("fft_irfft2" + TWO, _irfftn)

# -- order ---------------------------------------------------------------------------------------------------------------------


def _fftshift(x: Any, axes: Any = None) -> Any:
    for axis in _axes(x, axes):
        x = _turned(x, axis, x.shape[axis] - x.shape[axis] // 2)
    return x


def _ifftshift(x: Any, axes: Any = None) -> Any:
    for axis in _axes(x, axes):
        x = _turned(x, axis, x.shape[axis] // 2)
    return x


def _turned(x: Any, axis: int, first: Any) -> Any:
    """Return what begins with one element along an axis, and ends with those before it. `roll` would fix a symbolic size."""
    parts = [getitem(x, along(axis, len(x.shape), part)) for part in (slice(first, None), slice(None, first))]
    return concatenate(parts, axis)


def _axes(x: Any, axes: Any) -> list[int]:
    if axes is None and not x.shape:
        np.fft.fftshift(np.zeros(()))  # raises NumPy's own error
    axes = range(len(x.shape)) if axes is None else [axes] if isinstance(axes, INTEGERS) else axes
    return [normalize_axis_index(axis, len(x.shape)) for axis in axes]


def _shifted_of_few(x: Any, axes: Any = None) -> Any:
    """Return an array laid out as a result; which axes are shifted does not matter."""
    return np.fft.fftshift(x)


fftshift = composite("fft_fftshift(Tensor x, int[1]? axes=None) -> Tensor", _fftshift, numpy=np.fft.fftshift, laid_out=_shifted_of_few)
ifftshift = composite("fft_ifftshift(Tensor x, int[1]? axes=None) -> Tensor", _ifftshift, numpy=np.fft.ifftshift, laid_out=_shifted_of_few)


FUNCTIONS = dict([
    spelled(np.fft.fft, "a:x n axis norm out", fft),
    spelled(np.fft.ifft, "a:x n axis norm out", ifft),
    spelled(np.fft.rfft, "a:x n axis norm out", rfft),
    spelled(np.fft.irfft, "a:x n axis norm out", irfft),
    spelled(np.fft.hfft, "a:x n axis norm out", hfft),
    spelled(np.fft.ihfft, "a:x n axis norm out", ihfft),
    spelled(np.fft.fft2, "a:x s axes norm out", fft2),
    spelled(np.fft.ifft2, "a:x s axes norm out", ifft2),
    spelled(np.fft.rfft2, "a:x s axes norm out", rfft2),
    spelled(np.fft.irfft2, "a:x s axes norm out", irfft2),
    spelled(np.fft.fftn, "a:x s axes norm out", fftn),
    spelled(np.fft.ifftn, "a:x s axes norm out", ifftn),
    spelled(np.fft.rfftn, "a:x s axes norm out", rfftn),
    spelled(np.fft.irfftn, "a:x s axes norm out", irfftn),
    spelled(np.fft.fftshift, "x axes", fftshift),
    spelled(np.fft.ifftshift, "x axes", ifftshift),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
