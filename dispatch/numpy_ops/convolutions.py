"""`np.convolve` and `np.correlate`.

Of all places where two sequences can overlap a mode keeps some. `sliding` is the one step under both, for rows of sequences: the
products with the second sequence at each place where it lies within the first. It is linear in both, and its adjoints are itself [1]_.

.. [1] https://en.wikipedia.org/wiki/Cross-correlation
"""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.registry import ops
from ..symbolic import guesses, larger, smaller, sure
from . import numpy_functions
from .families import aligned, attach_plain_forms, in_front, row
from .indexing import getitem
from .numpy_functions import spelled
from .pointwise import conjugate
from .result_layouts import broadcast_shape
from .shape import concatenate, reshape

REVERSED = (Ellipsis, slice(None, None, -1))
MODES = ("valid", "same", "full")

# -- one sequence within another -----------------------------------------------------------------------------------------------


def _sliding(x: Any, w: Any) -> Any:
    if x.ndim == w.ndim == 1:
        return np.correlate(x, w.conj(), "valid")
    return np.einsum("...ij,...j->...i", sliding_window_view(x, w.shape[-1], -1), w, order="C")


def _fake_sliding(x: Any, w: Any) -> FakeTensor:
    like = x if isinstance(x, FakeTensor) else w
    shape = (*broadcast_shape((x.shape[:-1], w.shape[:-1])), x.shape[-1] - w.shape[-1] + 1)
    return fake_tensor(shape, np.result_type(x.dtype, w.dtype), None, like.device, like.mode)


def _batched_sliding(info: Any, in_dims: Any, x: Any, w: Any) -> tuple[Any, int]:
    return sliding(*aligned(in_dims, (x, w))), 0


def padded(x: Any, before: Any, after: Any) -> Any:
    """Return sequences with zeros at their ends."""
    ends = [ops.np.zeros_like(x, None, (*x.shape[:-1], n)) for n in (before, after)]
    return concatenate([ends[0], x, ends[1]], -1)


def _by_x(g: Any, w: Any) -> Any:
    n = w.shape[-1] - 1
    return sliding(padded(g, n, n), conjugated(getitem(w, REVERSED)))


sliding: OpOverload = row(
    "sliding(Tensor x, Tensor w) -> Tensor",
    numpy=_sliding,
    fake=_fake_sliding,
    autograd=pullbacks(x=_by_x, w=lambda g, x: sliding(conjugated(x), g)),
    jvp=pushforwards(x=lambda t, w: sliding(t, w), w=lambda t, x: sliding(x, t)),
    vmap=_batched_sliding,
)



def _overlapping(a: Any, w: Any) -> Any:
    """All places where `w` overlaps `a`; nothing stands beside `a`, so that no zero is multiplied by an inf of `w`."""
    n, m = a.shape[-1], w.shape[-1]
    found = _sliding(np.pad(a, ((0, 0),) * (a.ndim - 1) + ((m - 1, m - 1),)), w)
    if not np.all(np.isfinite(w)):
        for k in (k for k in range(n + m - 1) if k < m - 1 or k >= n):
            first, last = max(0, k - m + 1), min(n, k + 1)
            shift = m - 1 - k
            found[..., k] = np.einsum("...j,...j->...", a[..., first:last], w[..., first + shift : last + shift])
    return found


def _fake_overlapping(a: Any, w: Any) -> FakeTensor:
    like = a if isinstance(a, FakeTensor) else w
    shape = (*broadcast_shape((a.shape[:-1], w.shape[:-1])), a.shape[-1] + w.shape[-1] - 1)
    return fake_tensor(shape, np.result_type(a.dtype, w.dtype), None, like.device, like.mode)


def _by_w(g: Any, a: Any, beside: Any) -> Any:
    return sliding(padded(conjugated(a), beside, beside), g)


# What a batch of `np.convolve` and `np.correlate` is a part of.
overlapping: OpOverload = row(
    "overlapping(Tensor a, Tensor w) -> Tensor",
    numpy=_overlapping,
    fake=_fake_overlapping,
    autograd=pullbacks(a=lambda g, w: sliding(g, conjugated(getitem(w, REVERSED))), w=lambda g, a, w_shape: _by_w(g, a, w_shape[-1] - 1)),
    jvp=pushforwards(a=lambda t, w: overlapping(t, w), w=lambda t, a: overlapping(a, t)),
    vmap=lambda info, in_dims, a, w: (overlapping(*aligned(in_dims, (a, w))), 0),
)

# -- NumPy's own -----------------------------------------------------------------------------------------------------------------


def kept(n: Any, m: Any, mode: str, *, turned: bool) -> tuple[Any, Any]:
    """Return the first of all n + m - 1 places that a mode keeps, and their number; of an even number "same" has two middles."""
    if mode == "full":
        return 0, n + m - 1
    short = smaller(n, m)
    if mode == "valid":
        return short - 1, larger(n, m) - short + 1
    before = short - 1 - short // 2
    if not turned:  # np.correlate reverses what it finds where the second sequence is longer; asked without a guard
        before = before + (1 - short % 2) * smaller(larger(m - n, 0), 1)
    return larger(before, 0), larger(n, m)


def _of_number(x: Any) -> Any:
    """Return a number of Python's as an array, of which NumPy makes a sequence of one; any other value as it is."""
    return x if hasattr(x, "shape") else np.asarray(x)


class Sequences:
    """What `np.correlate` and `np.convolve` have in common; `turned` says that the second sequence is reversed, and not conjugated."""

    def __init__(self, name: str, *, turned: bool) -> None:
        self.name, self.turned = name, turned
        self.function = getattr(np, name)
        self.op: OpOverload = row(
            f"{name}(Tensor a, Tensor v, str mode='{'full' if turned else 'valid'}') -> Tensor",
            numpy=self.kernel,
            fake=self.fake,
            autograd=pullbacks(a=self.by_a, v=self.by_v),
            jvp=pushforwards(a=lambda t, v, mode: self.op(t, v, mode), v=lambda t, a, mode: self.op(a, t, mode)),
            vmap=self.vmap,
        )

    def kernel(self, a: Any, v: Any, mode: str = "") -> Any:
        return self.function(a, v, mode)

    def fake(self, a: Any, v: Any, mode: str) -> FakeTensor:
        shapes = [tuple(getattr(x, "shape", ())) for x in (a, v)]
        shapes = [shape or (1,) for shape in shapes] if self.turned else shapes
        if mode not in MODES or any([len(shape) != 1 or not sure(shape[0] > 0) for shape in shapes]):
            self.function(*[np.zeros(guesses(shape)) for shape in shapes], mode)  # raises NumPy's own error
        dtypes = [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in (a, v)]
        like = a if isinstance(a, FakeTensor) else v
        _, count = self.places(shapes[0][0], shapes[1][0], mode)
        return fake_tensor((count,), np.result_type(*dtypes), None, like.device, like.mode)

    def places(self, n: Any, m: Any, mode: str) -> tuple[Any, Any]:
        """Return the first place that is kept, and the number of those that are."""
        return kept(n, m, mode, turned=self.turned)

    def by_a(self, g: Any, a_shape: Any, v: Any, mode: str) -> Any:
        """Compute the pullback in the first sequence: the gradient at all places, and the second one at each."""
        v = _of_number(v)
        n, m = (a_shape or (1,))[0], (v.shape or (1,))[0]
        first, count = self.places(n, m, mode)
        whole = padded(g, first, n + m - 1 - first - count)
        v = reshape(v, (-1,))
        return reshape(sliding(whole, conjugated(v) if self.turned else getitem(v, REVERSED)), a_shape)

    def by_v(self, g: Any, a: Any, v_shape: Any, mode: str) -> Any:
        """Compute the pullback in the second sequence."""
        a = _of_number(a)
        n, m = (a.shape or (1,))[0], (v_shape or (1,))[0]
        first, count = self.places(n, m, mode)
        whole = padded(g, first, n + m - 1 - first - count)
        a = reshape(a, (-1,))
        if self.turned:
            return reshape(sliding(whole, conjugated(a)), v_shape)
        return reshape(getitem(conjugated(sliding(whole, conjugated(a))), REVERSED), v_shape)

    def vmap(self, info: Any, in_dims: Any, a: Any, v: Any, mode: str) -> tuple[Any, int]:
        a, v = [_of_number(x) if dim is None else in_front(x, dim) for x, dim in zip((a, v), in_dims[:2], strict=True)]
        items = [x.shape[0 if dim is None else 1 :] for x, dim in zip((a, v), in_dims[:2], strict=True)]
        if self.turned:
            a, v = [reshape(x, (*x.shape, 1)) if not item else x for x, item in zip((a, v), items, strict=True)]
            items = [item or (1,) for item in items]
        if mode not in MODES or any([len(item) != 1 or not sure(item[0] > 0) for item in items]):
            self.function(*[np.zeros(guesses(item)) for item in items], mode)  # raises NumPy's own error
        n, m = items[0][0], items[1][0]
        first, count = self.places(n, m, mode)
        w = getitem(v, REVERSED) if self.turned else conjugate(v) if v.dtype.kind == "c" else v
        whole = overlapping(a, w)
        return getitem(whole, (Ellipsis, slice(first, first + count))), 0


convolve = Sequences("convolve", turned=True).op
correlate = Sequences("correlate", turned=False).op

FUNCTIONS = dict([spelled(np.convolve, "a v mode", convolve), spelled(np.correlate, "a v mode", correlate)])


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(convolve, correlate)
