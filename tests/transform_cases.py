"""Operators under every pair of transforms: the table that test_transform_pairs.py reads.

A case is one operator as a function of a vector: `args` are its arguments with `V(*shape)` where a part of the vector goes,
and the floating-point outputs are strung together. A new operator is a new line. Vectors are short: the fourth derivatives of
a function of n numbers are n^4 numbers for each result, and some operators are run in a loop for each.
"""

import dataclasses
import os
import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import custom_op_db as db
import numpy as np

from dispatch import Residual, Tensor, custom_op
from dispatch.core.pytree import items_of, leaves, rebuilt

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


class V(NamedTuple):
    """Stands for an array that is a part of the vector."""

    shape: tuple[int, ...]


def v(*shape: int) -> V:
    return V(shape)


class Case(NamedTuple):
    """An operator, and where the vector goes in a call of it."""

    name: str
    op: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = {}

    @property
    def size(self) -> int:
        """How long the vector is."""
        return sum(prod(part.shape) for part in _parts([*self.args, *self.kwargs.values()]))

    @property
    def at(self) -> np.ndarray:
        """A vector of numbers that differ from each other and from zero."""
        return np.random.default_rng(self.size).permutation(np.linspace(0.4, 1.6, self.size))

    def __call__(self, vector: Any) -> Any:
        """The outputs for a vector."""
        bent, start = bend(vector), 0

        def filled(x: Any) -> Any:
            nonlocal start
            if isinstance(x, V):
                stop = start + prod(x.shape)
                part = np.reshape(bent[start:stop], x.shape)
                start = stop
                return part
            items = items_of(x)
            return x if items is None else rebuilt(x, [filled(item) for item in items])

        args = [filled(x) for x in self.args]
        out = self.op(*args, **{name: filled(x) for name, x in self.kwargs.items()})
        flat = [np.reshape(x, (-1,)) for x in leaves(out) if isinstance(x, (Tensor, np.ndarray, np.generic)) and x.dtype.kind == "f"]
        return flat[0] if len(flat) == 1 else np.concatenate(flat)


def bend(vector: Any) -> Any:
    """What goes into an operator for a vector: an operator that is linear has second derivatives of it, too."""
    return vector * (1.0 + 0.25 * vector)


def _parts(x: Any) -> list[V]:
    if isinstance(x, V):
        return [x]
    return [part for item in items_of(x) or () for part in _parts(item)]


# -- operators with every kind of argument, output and rule ------------------------------------------------------------------


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


@custom_op("pairs::reverse_cube", mutates_args=())
def reverse_cube(x: np.ndarray) -> np.ndarray:
    """An autograd rule alone: the rest is derived, batches are a loop."""
    return x**3


@reverse_cube.register_autograd(setup_context=keep)
def _(ctx, g):
    (x,) = ctx.saved_tensors
    return 3 * x**2 * g


@custom_op("pairs::forward_cube", mutates_args=())
def forward_cube(x: np.ndarray) -> np.ndarray:
    """A jvp rule alone."""
    return x**3


@forward_cube.register_jvp
def _(tangents, output, x):
    return 3 * x**2 * tangents[0]


@custom_op("pairs::both_products", mutates_args=())
def both_products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Both rules, kept as attributes of ctx, and a batching rule."""
    return x * y


def keep_attributes(ctx, inputs, output):
    ctx.x, ctx.y = inputs


@both_products.register_autograd(setup_context=keep_attributes)
def _(ctx, g):
    return both_products(g, ctx.y), both_products(g, ctx.x)


@both_products.register_jvp
def _(tangents, output, x, y):
    return both_products(tangents[0], y) + both_products(x, tangents[1])


@both_products.register_vmap
def _(info, in_dims, x, y):
    return both_products(*[db.leading(a, d, info.batch_size) for a, d in zip((x, y), in_dims, strict=True)]), 0


@custom_op("pairs::output_kept", mutates_args=())
def output_kept(x: np.ndarray) -> np.ndarray:
    """Its derivative is made of its output."""
    return np.exp(x / 2)


@output_kept.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
def _(ctx, g):
    (out,) = ctx.saved_tensors
    return g * out / 2


@custom_op("pairs::listed", mutates_args=())
def listed(xs: list[np.ndarray], scale: float = 1.0) -> list[np.ndarray]:
    """A list in, a list out, and a number that is no array."""
    return [np.sin(x) * scale for x in xs]


@listed.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "given", inputs))
def _(ctx, grads):
    xs, scale = ctx.given
    return [g * np.cos(x) * scale for g, x in zip(grads, xs, strict=True)], None


@custom_op("pairs::listed_forward", mutates_args=())
def listed_forward(xs: list[np.ndarray]) -> list[np.ndarray]:
    """The same by a jvp rule."""
    return [np.sin(x) for x in xs]


@listed_forward.register_jvp
def _(tangents, output, xs):
    return [t * np.cos(x) for t, x in zip(tangents[0], xs, strict=True)]


@custom_op("pairs::keyed", mutates_args=())
def keyed(xs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A dict in, a dict out."""
    return {"product": xs["a"] * xs["b"], "square": xs["b"] ** 2}


@keyed.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "xs", inputs[0]))
def _(ctx, grads):
    a, b = ctx.xs["a"], ctx.xs["b"]
    return {"a": grads["product"] * b, "b": grads["product"] * a + 2 * b * grads["square"]}


@dataclasses.dataclass
class Beam:
    """A record."""

    length: np.ndarray
    width: np.ndarray


@custom_op("pairs::bent", mutates_args=())
def bent(beam: Beam, load: np.ndarray) -> Beam:
    """A record in, a record out."""
    return Beam(beam.length * load, beam.width**3)


@bent.register_jvp
def _(tangents, output, beam, load):
    moved, push = tangents[0], tangents[1]
    return Beam(moved.length * load + beam.length * push, 3 * beam.width**2 * moved.width)


@custom_op("pairs::optional", mutates_args=())
def optional(x: np.ndarray, y: np.ndarray | None = None, *, z: np.ndarray, power: int = 2) -> np.ndarray:
    """An argument that may be None, and one that is given by name."""
    return x**power * z * (1.0 if y is None else y)


@optional.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "given", inputs))
def _(ctx, g):
    x, y, z, power = ctx.given
    by_y = None if y is None else g * x**power * z
    other = 1.0 if y is None else y
    return g * power * x ** (power - 1) * z * other, by_y, g * x**power * other, None


@custom_op("pairs::optional_forward", mutates_args=())
def optional_forward(x: np.ndarray, y: np.ndarray | None = None, *, z: np.ndarray) -> np.ndarray:
    """The same by a jvp rule."""
    return x**2 * z * (1.0 if y is None else y)


@optional_forward.register_jvp
def _(tangents, output, x, y, z):
    other = 1.0 if y is None else y
    found = (2 * x * tangents[0] * z + x**2 * tangents[2]) * other
    return found if y is None else found + x**2 * z * tangents[1]


@custom_op("pairs::kept", mutates_args=())
def kept(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Residual]:
    """Three outputs, one of them of integers, and a residual."""
    return np.sin(x), np.argsort(x), np.sum(x**2), ("kept", x.shape)


@kept.register_autograd(setup_context=keep)
def _(ctx, g_sin, g_order, g_sum):
    (x,) = ctx.saved_tensors
    return np.cos(x) * g_sin + 2 * x * g_sum


@custom_op("pairs::two_forward", mutates_args=())
def two_forward(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two outputs by a jvp rule, one of which depends on one argument alone."""
    return x * y, np.cos(y)


@two_forward.register_jvp
def _(tangents, output, x, y):
    return tangents[0] * y + x * tangents[1], -np.sin(y) * tangents[1]


@custom_op("pairs::scale_", mutates_args={"x"})
def scale_(x: np.ndarray, y: np.ndarray) -> None:
    """Writes to its argument."""
    x *= y


scale_.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]), setup_context=keep)


def scaled_twice(x: Any, y: Any) -> Any:
    x = x * 1.0
    scale_(x, y)
    scale_(x, y)
    return x


@custom_op("pairs::curve", mutates_args=())
def curve(x: np.ndarray) -> np.ndarray:
    """A derivative that is an operator of its own, without rules of its own but a jvp."""
    return np.sinh(x)


@custom_op("pairs::slope", mutates_args=())
def slope(x: np.ndarray) -> np.ndarray:
    return np.cosh(x)


curve.register_autograd(lambda ctx, g: g * slope(*ctx.saved_tensors), setup_context=keep)
slope.register_jvp(lambda tangents, output, x: curve(x) * tangents[0])

# -- the gallery's -----------------------------------------------------------------------------------------------------------


def page(name: str, *needs: str) -> dict[str, Any]:
    """The operators of a page, in a namespace of their own; nothing where what it needs is not installed."""
    if not all(map(find_spec, needs)):
        return {}
    path = GALLERY / f"{name}.py"
    scope = {"__name__": f"pairs_{name}"}
    exec(compile(path.read_text().replace('custom_op("', 'custom_op("pairs_'), path, "exec"), scope)
    return scope


solver = page("solver", "scipy")
photograph = page("photograph", "PIL", "matplotlib")
tutorials = page("torch_tutorials")


CASES = [
    Case("cube", db.numpy_cube, (v(3),)),
    Case("mul", db.numpy_mul, (v(2), v(2))),
    Case("mul broadcast", db.numpy_mul, (v(2, 1), v())),
    Case("mul_scalar", db.numpy_mul_scalar, (v(3),), {"scalar": 3.14}),
    Case("sort", db.numpy_sort, (v(3), 0)),
    Case("take", db.numpy_take, (v(3), np.array([2, 0, 1]), np.array([1, 2, 0]), 0)),
    Case("view_copy", db.numpy_view_copy, (v(2, 2), [4])),
    Case("cat", db.numpy_cat, ([v(1, 2), v(1, 2)], 0)),
    Case("split_copy", db.numpy_split_copy, (v(3), [1], 0)),
    Case("split_copy_with_int", db.numpy_split_copy_with_int, (v(1, 3), [2], -1)),
    Case("reverse_cube", reverse_cube, (v(2),)),
    Case("forward_cube", forward_cube, (v(2),)),
    Case("both_products", both_products, (v(2), v(2))),
    Case("output_kept", output_kept, (v(2),)),
    Case("listed", listed, ([v(2), v()], 2.0)),
    Case("listed_forward", listed_forward, ([v(1), v()],)),
    Case("keyed", keyed, ({"a": v(), "b": v(2)},)),
    Case("bent", bent, (Beam(v(), v(1)), v())),
    Case("optional", optional, (v(2), v()), {"z": v()}),
    Case("optional, left out", optional, (v(2),), {"z": v(), "power": 3}),
    Case("optional_forward", optional_forward, (v(1), v()), {"z": v()}),
    Case("optional_forward, left out", optional_forward, (v(1),), {"z": v()}),
    Case("kept", kept, (v(2),)),
    Case("two_forward", two_forward, (v(1), v())),
    Case("scale_", scaled_twice, (v(2), v(2))),
    Case("scale_ as a function", scale_.functional, (v(2), v(2))),
    Case("curve", curve, (v(2),)),
    Case("numpy_sin", tutorials["numpy_sin"], (v(3),)),
    Case("numpy_sin_into", lambda x: tutorials["numpy_sin_into"].functional(x, np.zeros(3)), (v(3),)),
]
if solver:
    CASES += [Case("solve", solver["solve"], (v(2, 2), v(2)))]
if photograph:
    CASES += [
        Case("crop", photograph["crop"], (v(1, 2, 2), (1, -1, 3, 1))),
        Case("paste", photograph["paste"], (v(1, 1, 2), v(1, 1, 1), (1, 0))),
    ]
if shutil.which(os.environ.get("CC", "cc").split()[0]):
    CASES += [Case("heat", page("heat")["step_adjoint"], (v(3, 3),))]

# What some of the cases compute, in the words that NumPy, torch and jax.numpy have in common, of the bent vector.
FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "cube": lambda lib, x: lib.concatenate([x**3, 3 * x**2]),
    "mul": lambda lib, x: x[:2] * x[2:],
    "take": lambda lib, x: lib.stack([x[2], x[0], x[1]]),
    "both_products": lambda lib, x: x[:2] * x[2:],
    "output_kept": lambda lib, x: lib.exp(x / 2),
    "listed": lambda lib, x: 2 * lib.sin(x),
    "keyed": lambda lib, x: lib.concatenate([x[0] * x[1:], x[1:] ** 2]),
    "bent": lambda lib, x: lib.stack([x[0] * x[2], x[1] ** 3]),
    "optional": lambda lib, x: x[:2] ** 2 * x[2] * x[3],
    "kept": lambda lib, x: lib.concatenate([lib.sin(x), lib.sum(x**2, 0, keepdims=True)]),
    "two_forward": lambda lib, x: lib.stack([x[0] * x[1], lib.cos(x[1])]),
    "scale_": lambda lib, x: x[:2] * x[2:] ** 2,
    "curve": lambda lib, x: lib.sinh(x),
    "solve": lambda lib, x: lib.reshape(lib.linalg.solve(lib.reshape(x[:4], (2, 2)), lib.reshape(x[4:], (2, 1))), (2,)),
}
