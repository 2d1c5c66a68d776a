"""Subclasses of ndarray: a plain call hands one on as it is; wherever its data is taken it is refused by name, or is all data.

Every way in which the package takes the data of an array, held against every kind of class: what a mask, a unit or a meaning of
its own adds to the data is never lost in silence.
"""

import itertools
from typing import Annotated

import numpy as np
import pytest
from making import said

import dispatch
from dispatch import autograd, custom_op, ops
from dispatch.dispatcher.array_types import register_array_type
from dispatch.errors import ArgumentError, ConversionError, OpCheckError
from dispatch.testing import gradcheck, opcheck

X = np.array([[1.0, 2.0], [3.0, 4.0]])
ONE = np.ones((2, 2))
numbers = itertools.count()
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore::dispatch.errors.PerformanceWarning")


class Quantity(np.ndarray):
    """An array with a unit, as astropy's or pint's."""

    unit = None

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)


class Trusted(np.ndarray):
    """A class whose data is all there is, and which is registered."""


class Below(Trusted):
    """What is derived of it."""


register_array_type(Trusted, device="cpu")


def quantity():
    made = X.copy().view(Quantity)
    made.unit = "m"
    return made


def memory_map():
    made = np.memmap(__file__, X.dtype, "c", shape=X.shape)  # copied on write: this file stays as it is
    made[:] = X
    return made


MORE = {
    "masked": lambda: np.ma.array(X.copy(), mask=[[False, True], [False, False]]),
    "matrix": lambda: np.matrix(X),
    "quantity": quantity,
    "recarray": lambda: X.copy().view(np.recarray),
    "chararray": lambda: X.copy().view(type("Nameless", (np.ndarray,), {})),
}
DATA = {
    "exact": X.copy,
    "memory map": memory_map,
    "registered": lambda: X.copy().view(Trusted),
    "derived": lambda: X.copy().view(Below),
}
NAMES = {"masked": "numpy.ma.MaskedArray", "matrix": "numpy.matrix", "quantity": f"{__name__}.Quantity", "recarray": "numpy.rec.recarray",
         "chararray": f"{__name__}.Nameless"}  # fmt: skip


@custom_op("subclasses::twice", mutates_args=())
def twice(x: np.ndarray) -> np.ndarray:
    return np.asarray(x) * 2


twice.register_autograd(lambda ctx, g: g * 2)
twice.register_fake(lambda x: np.empty(x.shape, x.dtype))


@custom_op("subclasses::contiguous", mutates_args=())
def contiguous(x: Annotated[np.ndarray, "C"]) -> np.ndarray:
    return x * 1.0


@custom_op("subclasses::listed", mutates_args=())
def listed(xs: list[Annotated[np.ndarray, "F"]]) -> np.ndarray:
    return xs[0] * 1.0


@custom_op("subclasses::items", mutates_args=(), signature="(n)->()")
def items(x: np.ndarray) -> np.ndarray:
    return x.sum()


@custom_op("subclasses::kept", mutates_args=())
def kept(x: np.ndarray) -> np.ndarray:
    return x * 2


LEAF = dispatch.tensor(X, requires_grad=True)


def kept_for_backward(x, how):
    kept.register_autograd(lambda ctx, g: g * 2, setup_context=how(x))
    return kept(LEAF).value


def saved(x):
    return lambda ctx, inputs, output: ctx.save_for_backward(x)


def attribute(x):
    return lambda ctx, inputs, output: setattr(ctx, "kept", x)


def given_back(x):
    """A backward that returns it."""
    kept.register_autograd(lambda ctx, g: x)
    return dispatch.grad(lambda y: np.sum(kept(y)))(X)


def returned(x, way):
    """A kernel that returns it, below a layer."""
    op = custom_op(f"subclasses::returned{next(numbers)}", lambda y: x, mutates_args=(), schema="(Tensor y) -> Tensor")
    op.register_autograd(lambda ctx, g: g)
    op.register_vmap("sequential")
    return way(op)


def faked(x):
    with dispatch.FakeTensorMode(allow_non_fake_inputs=True):
        return np.zeros(ops.np.sin(x).shape)


def fake_of(x):
    return np.zeros(dispatch.FakeTensorMode().from_array(x).shape)


def value(x):
    return x.value if isinstance(x, dispatch.Tensor) else x


WAYS = {
    "tensor": lambda x: dispatch.tensor(x),
    "tensor, tracked": lambda x: value(dispatch.tensor(x, requires_grad=True)),
    "tensor of a list": lambda x: dispatch.tensor([x, X]),
    "grad": dispatch.grad(lambda x: np.sum(x * x)),
    "grad of a container": lambda x: dispatch.grad(lambda p: np.sum(p["w"] * p["w"]))({"w": x})["w"],
    "grad, the other argument": lambda x: dispatch.grad(lambda y, x: np.sum(y * x))(X, x),
    "vjp": lambda x: dispatch.vjp(np.sin, x)[1](ONE),
    "vjp, the cotangent": lambda x: dispatch.vjp(np.sin, X)[1](x),
    "jvp": lambda x: dispatch.jvp(np.sin, (x,), (ONE,))[1],
    "jvp, the tangent": lambda x: dispatch.jvp(np.sin, (X,), (x,))[1],
    "jacrev": dispatch.jacrev(lambda x: x * x),
    "jacfwd": dispatch.jacfwd(lambda x: x * x),
    "hessian": dispatch.hessian(lambda x: np.sum(x * x * x)),
    "backward, the seed": lambda x: (lambda y: (np.sin(y).backward(x), y.grad)[1])(dispatch.tensor(X, requires_grad=True)),
    "autograd.grad, the seed": lambda x: autograd.grad(np.sin(LEAF), LEAF, x),
    "beside a tracked value": lambda x: value(np.add(LEAF, x)),
    "before a tracked value": lambda x: value(np.add(x, LEAF)),
    "infix": lambda x: value(LEAF + x),
    "infix, before": lambda x: value(x + LEAF),
    "infix product": lambda x: value(ops.np.multiply(x, LEAF)),
    "in a list beside one": lambda x: value(np.concatenate([LEAF, x])),
    "in a list before one": lambda x: value(np.concatenate([x, LEAF])),
    "operator, beside one": lambda x: value(ops.np.matmul(LEAF, x)),
    "assigned into one": lambda x: dispatch.grad(lambda y: np.sum(assigned(y * 1, x)))(X),
    "under no_grad": lambda x: no_grad(x),
    "vmap": dispatch.vmap(np.sin),
    "vmap, axis 1": dispatch.vmap(np.sin, in_dims=1),
    "vmap, not mapped": lambda x: dispatch.vmap(lambda y, x: y + x, in_dims=(0, None))(X, x),
    "vmap, closed over": lambda x: dispatch.vmap(lambda y: y + x)(X),
    "vmap, a constant result": lambda x: dispatch.vmap(lambda y: x)(X),
    "vectorize": lambda x: dispatch.vectorize(lambda y: y * 2)(x),
    "FakeTensorMode": faked,
    "from_array": fake_of,
    "beside a fake": lambda x: np.zeros(np.add(dispatch.FakeTensorMode(allow_non_fake_inputs=True).from_array(X), x).shape),
    "eval_shape": lambda x: np.zeros(dispatch.eval_shape(np.sin, x).shape),
    "make_fx, real": lambda x: dispatch.make_fx(np.sin, "real")(x)(X),
    "make_fx, fake": lambda x: dispatch.make_fx(np.sin, "fake")(x)(X),
    "make_fx, symbolic": lambda x: dispatch.make_fx(np.sin, "symbolic")(x)(X),
    "make_fx, closed over": lambda x: dispatch.make_fx(lambda y: y + x)(X)(X),
    "export": lambda x: dispatch.export(np.sin, (x,))(X),
    "functionalize": dispatch.functionalize(np.sin),
    "functionalize, closed over": lambda x: dispatch.functionalize(lambda y: y + x)(X),
    "layout hint": contiguous,
    "layout hint, in a list": lambda x: listed([x]),
    "items of a signature": items,
    "saved for backward": lambda x: kept_for_backward(x, saved),
    "kept on the context": lambda x: kept_for_backward(x, attribute),
    "a backward's gradient": given_back,
    "a kernel's result, recorded": lambda x: value(returned(x, lambda op: op(LEAF))),
    "a kernel's result, in a loop": lambda x: returned(x, dispatch.vmap)(X),
    "gradcheck": lambda x: gradcheck(np.sin, (x,)) and X,
}  # fmt: skip


def assigned(y, x):
    y[:] = x
    return y


def no_grad(x):
    with dispatch.no_grad():
        return value(np.add(LEAF, x))


@pytest.mark.parametrize("kind", MORE)
@pytest.mark.parametrize("way", WAYS)
def test_a_class_that_has_more_than_its_data_is_refused_where_the_data_is_taken(way, kind):
    if (way, kind) == ("infix, before", "masked"):  # NumPy's own code for these asks the tracked value for an array
        assert "a NumPy array was asked of a tracked value" in said(lambda: WAYS[way](MORE[kind]()), ConversionError)
        return
    message = said(lambda: WAYS[way](MORE[kind]()), ArgumentError)
    assert NAMES[kind] in message or f"is a {NAMES[kind].rpartition('.')[2]}" in message
    assert "np.asarray(x)" in message


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("way", WAYS)
def test_a_class_whose_data_is_all_there_is_passes(way, kind):
    if way == "items of a signature" and kind in ("registered", "derived"):
        assert "kernel items of plain NumPy arrays" in said(lambda: items(DATA[kind]()), ArgumentError)
        return
    wanted = WAYS[way](X.copy())
    assert np.array_equal(np.asarray(WAYS[way](DATA[kind]())), np.asarray(wanted))


@pytest.mark.parametrize("kind", [*MORE, *DATA])
def test_a_plain_call_hands_it_to_the_kernel_and_returns_what_that_returns(kind):
    x = (MORE | DATA)[kind]()
    got = []
    op = custom_op(
        f"subclasses::plain{next(numbers)}", lambda x: got.append(x) or x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    for out in (op(x), op(x=x), op.redispatch(dispatch.DispatchKey.VMAP, x)):
        assert got.pop() is x
        assert type(out) is type(x * 2)
    with dispatch.validate("full"):
        assert type(op(x)) is type(x * 2)
    assert type(ops.np.add(x, x)) is type(np.add(x, x))
    if kind == "masked":
        assert np.array_equal(ops.np.add(x, x).mask, x.mask)
    if kind == "quantity":
        assert ops.np.add(x, x).unit == "m"


@pytest.mark.parametrize("kind", [*MORE, *DATA])
def test_a_compiled_function_gives_what_the_function_gives(kind):
    x = (MORE | DATA)[kind]()
    wanted = np.sin(x) + x
    for _ in range(3):
        out = dispatch.compile(lambda x: np.sin(x) + x)(x)
        assert np.array_equal(np.asarray(out), np.asarray(wanted))
        assert type(out) is type(wanted) or kind in DATA


@pytest.mark.parametrize("kind", MORE)
def test_opcheck_says_what_the_kernel_drops(kind):
    x = MORE[kind]()
    message = said(lambda: opcheck(twice, (x,)), OpCheckError)
    assert f"argument 'x' is a {NAMES[kind]}" in message
    assert "its kernel returned an ndarray" in message
    assert "np.asarray(x)" in message


def test_the_message():
    assert said(lambda: dispatch.tensor(MORE["masked"]()), ArgumentError) == (
        "the data of a numpy.ma.MaskedArray of shape (2, 2) would be taken here, and what it has beside its data, a mask, a unit or "
        "a meaning of its own, would be lost. A plain call of an operator hands it on as it is. Write np.asarray(x) for the data "
        "alone; register_array_type(MaskedArray, device='cpu') says that it is all."
    )


def test_opcheck_says_where_the_kernel_hands_it_on():
    message = said(lambda: opcheck("np::sin", (MORE["quantity"](),)), OpCheckError)
    assert f"argument 'x' is a {NAMES['quantity']}, and its kernel returned a Quantity: a plain call hands it on;" in message
