"""Random programs give the same in the package and in `docs/miniature.py`, which is short enough to be believed.

A program is a block: steps one after the other, each an operator applied to earlier values, or a transform of an inner
block, which may read every value of the blocks around it. So transforms nest at random, with closures between levels.
"""

import importlib.util
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dispatch
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

path = Path(__file__).parent.parent / "docs" / "miniature.py"
spec = importlib.util.spec_from_file_location("miniature", path)
miniature = importlib.util.module_from_spec(spec)
spec.loader.exec_module(miniature)

SMALL = SimpleNamespace(np=miniature, grad=miniature.grad, vmap=miniature.vmap, no_grad=miniature.no_grad)
LARGE = SimpleNamespace(np=dispatch.ops.np, grad=dispatch.grad, vmap=dispatch.vmap, no_grad=dispatch.no_grad)


# ------------------------------------------------------------------------------------------------------------- programs
@dataclass(frozen=True)
class Value:
    """The value that was made `number`-th, counted from the outermost block inwards."""

    number: int

    def run(self, library, values):
        return values[self.number]


@dataclass(frozen=True)
class Constant:
    """A plain array or a Python number."""

    value: object

    def run(self, library, values):
        return self.value


@dataclass(frozen=True)
class Apply:
    """An operator applied to values and to further applications."""

    name: str
    args: tuple
    options: tuple = ()

    def run(self, library, values):
        arrays = [arg.run(library, values) for arg in self.args]
        return getattr(library.np, self.name)(*arrays, **dict(self.options))


@dataclass(frozen=True)
class Block:
    """Steps; the last one is the result."""

    steps: tuple

    def run(self, library, values):
        values = list(values)
        for step in self.steps:
            values.append(step.run(library, values))
        return values[-1]


@dataclass(frozen=True)
class Grad:
    """The gradient of a block in one of its parameters."""

    block: Block
    args: tuple
    argnums: int

    def run(self, library, values):
        f = library.grad(lambda *params: self.block.run(library, [*values, *params]), self.argnums)
        return f(*[arg.run(library, values) for arg in self.args])


@dataclass(frozen=True)
class Vmap:
    """A block over an axis of some of its parameters."""

    block: Block
    args: tuple
    in_dims: tuple

    def run(self, library, values):
        f = library.vmap(lambda *params: self.block.run(library, [*values, *params]), self.in_dims)
        return f(*[arg.run(library, values) for arg in self.args])


@dataclass(frozen=True)
class NoGrad:
    """A block whose values are constants to every tape around it."""

    block: Block

    def run(self, library, values):
        with library.no_grad():
            return self.block.run(library, values)


# ----------------------------------------------------------------------------------------------------------- strategies
# Odd sixteenths: sums and small products of them are exact, so that two orders of adding up agree; and none is 0.
numbers = st.integers(-12, 12).map(lambda n: (2 * n + 1) / 16)
shapes = st.sampled_from([(), (3,), (2, 3), (3, 3), (2, 1, 3)])


@st.composite
def arrays(draw, shape):
    return np.array(draw(st.lists(numbers, min_size=prod(shape), max_size=prod(shape)))).reshape(shape)


def one_above_square(x):
    return Apply("add", (Apply("multiply", (x, x)), Constant(1.0)))


# Guarded where the operator has poles, edges or no bound: what is compared are rules, not overflows.
UNARY = {
    "negative": lambda x: Apply("negative", (x,)),
    "sin": lambda x: Apply("sin", (x,)),
    "cos": lambda x: Apply("cos", (x,)),
    "tanh": lambda x: Apply("tanh", (x,)),
    "exp": lambda x: Apply("exp", (Apply("sin", (x,)),)),
    "sqrt": lambda x: Apply("sqrt", (one_above_square(x),)),
}
BINARY = {
    "add": lambda x, y: Apply("add", (x, y)),
    "subtract": lambda x, y: Apply("subtract", (x, y)),
    "multiply": lambda x, y: Apply("multiply", (x, y)),
    "divide": lambda x, y: Apply("divide", (x, one_above_square(y))),
    # No sum of sixteenths comes near this threshold, so rounding does not choose the branch.
    "where": lambda x, y: Apply("where", (Apply("greater", (x, Constant(0.4142135))), x, y)),
}


def broadcast(*shapes):
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def any_value(scope, fits=lambda shape: True):
    """The number of a value in scope; often the newest, so that steps build on each other."""
    found = [number for number, shape in enumerate(scope) if fits(shape)]
    return st.sampled_from([found[-1], *found[::-1]] if len(found) > 1 else found)


@st.composite
def operands(draw, scope, fits):
    """A value in scope, a plain array or a number, of a shape that `fits`; and that shape."""
    kind = draw(st.sampled_from(["value", "value", "value", "array", "number"]))
    if kind == "value" and any(fits(shape) for shape in scope):
        number = draw(any_value(scope, fits))
        return Value(number), scope[number]
    shape = draw(shapes)
    if kind == "array" and fits(shape):
        return Constant(draw(arrays(shape))), shape
    return Constant(draw(numbers)), ()


@st.composite
def elementwise(draw, scope):
    number = draw(any_value(scope))
    if draw(st.integers(0, 2)) == 0:
        return UNARY[draw(st.sampled_from(sorted(UNARY)))](Value(number)), scope[number]
    other, shape = draw(operands(scope, lambda shape: broadcast(scope[number], shape) is not None))
    x, y = draw(st.permutations([Value(number), other]))
    return BINARY[draw(st.sampled_from(sorted(BINARY)))](x, y), broadcast(scope[number], shape)


@st.composite
def products(draw, scope):
    """x @ y, for a value that is a stack of matrices."""
    number = draw(any_value(scope, lambda shape: len(shape) >= 2))
    shape = scope[number]
    match = lambda other: len(other) >= 2 and other[-2] == shape[-1] and broadcast(shape[:-2], other[:-2]) is not None
    if any(match(other) for other in scope) and draw(st.booleans()):
        right = draw(any_value(scope, match))
        y, other = Value(right), scope[right]
    else:
        other = (shape[-1], draw(st.integers(1, 3)))
        y = Constant(draw(arrays(other)))
    return Apply("matmul", (Value(number), y)), (*broadcast(shape[:-2], other[:-2]), shape[-2], other[-1])


@st.composite
def reductions(draw, scope):
    number = draw(any_value(scope))
    shape, ndim = scope[number], len(scope[number])
    choices = [st.none()]
    if ndim:
        choices += [st.integers(-ndim, ndim - 1), st.sets(st.integers(0, ndim - 1), min_size=1).map(tuple)]
    axis, keepdims = draw(st.one_of(choices)), draw(st.booleans())
    options = (("axis", axis), ("keepdims", keepdims))
    reduced = np.sum(np.ones(shape), axis=axis, keepdims=keepdims).shape
    return Apply(draw(st.sampled_from(["sum", "mean"])), (Value(number),), options), reduced


@st.composite
def views(draw, scope):
    number = draw(any_value(scope))
    shape, ndim = scope[number], len(scope[number])
    kind = draw(st.sampled_from(["reshape", "transpose", "broadcast_to", "expand_dims"]))
    if kind == "reshape":
        argument = draw(st.sampled_from([(prod(shape),), (1, *shape), shape[::-1]]))
        option, shape = ("shape", argument), argument
    elif kind == "transpose":
        argument = tuple(draw(st.permutations(range(ndim))))
        option, shape = ("axes", argument), tuple(shape[i] for i in argument)
    elif kind == "broadcast_to":
        argument = (draw(st.integers(1, 2)), *[draw(st.sampled_from([2, 3])) if n == 1 else n for n in shape])
        option, shape = ("shape", argument), argument
    else:
        argument = draw(st.integers(-ndim - 1, ndim))
        option, shape = ("axis", argument), np.expand_dims(np.ones(shape), argument).shape
    return Apply(kind, (Value(number),), (option,)), shape


@st.composite
def blocks(draw, scope, depth, *, scalar=False):
    """A block in the scope of values with these shapes, and the shape of its result."""
    newest, scope, steps = len(scope) - 1, list(scope), []
    for _ in range(draw(st.integers(1, 3))):
        step, shape = draw(any_step(scope, depth))
        if len(shape) <= 4 and prod(shape) <= 200:  # not to spend the time in NumPy
            steps.append(step)
            scope.append(shape)
    if not steps or scalar:
        result = Apply("sum", (Value(len(scope) - 1),))
        if draw(st.booleans()):  # often enough the result depends on what the block was given last
            result = Apply("sum", (Apply("multiply", (result, Value(newest))),))
        steps.append(result)
        scope.append(())
    return Block(tuple(steps)), scope[-1]


@st.composite
def gradients(draw, scope, depth):
    args, inner = draw(parameters(scope))
    block, _ = draw(blocks([*scope, *inner], depth - 1, scalar=True))
    argnums = len(args) - 1 - draw(st.integers(0, len(args) - 1))
    return Grad(block, args, argnums), inner[argnums]


@st.composite
def batches(draw, scope, depth):
    args, outer = draw(parameters(scope, mapped=True))
    size = draw(st.sampled_from([n for shape in outer for n in shape]))
    axes = [[i for i, n in enumerate(shape) if n == size] for shape in outer]
    in_dims = [draw(st.sampled_from([*found, None])) for found in axes]
    if all(d is None for d in in_dims):
        first = next(i for i, found in enumerate(axes) if found)
        in_dims[first] = axes[first][0]
    inner = [shape if d is None else shape[:d] + shape[d + 1 :] for shape, d in zip(outer, in_dims, strict=True)]
    block, shape = draw(blocks([*scope, *inner], depth - 1))
    return Vmap(block, args, tuple(in_dims)), (size, *shape)


@st.composite
def constants(draw, scope, depth):
    block, shape = draw(blocks(scope, depth - 1))
    return NoGrad(block), shape


@st.composite
def parameters(draw, scope, *, mapped=False):
    """What a transformed block is called with: one or two values, and their shapes; one of them with an axis to map."""
    chosen = [draw(any_value(scope, lambda shape: shape or not mapped)), *draw(st.lists(any_value(scope), max_size=1))]
    return tuple(Value(number) for number in chosen), [scope[number] for number in chosen]


@st.composite
def any_step(draw, scope, depth):
    kinds = [elementwise(scope), elementwise(scope), reductions(scope), views(scope)]
    if any(len(shape) >= 2 for shape in scope):
        kinds.append(products(scope))
    if depth:
        kinds += [gradients(scope, depth)] * 3 + [constants(scope, depth)]
    if depth and any(scope):
        kinds += [batches(scope, depth)] * 2
    return draw(draw(st.sampled_from(kinds)))


@st.composite
def programs(draw, *, scalar=False):
    scope = draw(st.lists(shapes, min_size=1, max_size=3))
    inputs = [draw(arrays(shape)) for shape in scope]
    block, shape = draw(blocks(scope, depth=3, scalar=scalar))
    return block, inputs, shape


# ---------------------------------------------------------------------------------------------------------------- laws
def same(small, large):
    assume(np.all(np.abs(small) < 1e6))  # beyond, rounding decides
    assert type(large) in (np.ndarray, np.float64)  # no wrapper is left
    assert np.shape(large) == np.shape(small)
    np.testing.assert_allclose(large, small, rtol=1e-7, atol=1e-7)


def test_the_miniature_keeps_what_it_claims():
    miniature.claims()


@settings(max_examples=400, deadline=None)
@given(programs())
@np.errstate(all="ignore")
def test_a_program_gives_the_same_in_both(program):
    block, inputs, shape = program
    small = block.run(SMALL, inputs)
    assert np.shape(small) == shape
    same(small, block.run(LARGE, inputs))


@settings(max_examples=200, deadline=None)
@given(programs(scalar=True))
@np.errstate(all="ignore")
def test_a_program_has_the_same_gradients_on_the_tape_at_level_zero(program):
    block, inputs, _ = program
    small = [miniature.tensor(x) for x in inputs]
    large = [dispatch.tensor(x, requires_grad=True) for x in inputs]
    result, loss = block.run(SMALL, small), block.run(LARGE, large)
    if getattr(loss, "requires_grad", False):  # else no_grad covered it, or it does not depend on the inputs
        loss.backward()
    for x, y in zip(small, large, strict=True):
        same(miniature.pull(result, x), np.zeros(y.shape) if y.grad is None else y.grad)


KEYS = {name: (miniature.Key[name], dispatch.DispatchKey[name]) for name in ("CPU", "FAKE", "AUTOGRAD", "VMAP")}
PLACES = KEYS | {
    "CompositeExplicit": (miniature.Alias.COMPOSITE_EXPLICIT, dispatch.DispatchKey.CompositeExplicit),
    "CompositeImplicit": (miniature.Alias.COMPOSITE_IMPLICIT, dispatch.DispatchKey.CompositeImplicit),
    "Autograd": (miniature.Alias.AUTOGRAD, dispatch.DispatchKey.Autograd),
}


def holder(op, key, kernels):
    """Which of the kernels holds at a key; None for the layer's default, or for none at all."""
    try:
        found = op.at(key)
    except NotImplementedError:
        return None
    return next((number for number, kernel in enumerate(kernels) if kernel is found), None)


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(PLACES)) | st.integers(0, 11), max_size=15))
def test_registrations_give_every_key_the_same_kernel(actions):
    small = miniature.OpOverload("test::table", miniature.parameters("x"))
    large = build(Schema.parse("test::table(Tensor x) -> Tensor"))
    kernels, live = [], []
    for action in actions:
        if action in PLACES:
            kernels.append(lambda x: x)
            mine, theirs = PLACES[action]
            small.register_at(mine, kernels[-1])
            live.append((mine, kernels[-1], large.register_at(theirs, kernels[-1])))
        elif live:
            place, kernel, registration = live.pop(action % len(live))
            small.unregister(place, kernel)
            large.unregister(registration)
        for mine, theirs in KEYS.values():
            assert holder(small, mine, kernels) == holder(large, theirs, kernels)
