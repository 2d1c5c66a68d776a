"""The parameters of the standard, and what hypothesis draws by it: its strategies for the array API run on `dispatch.numpy` itself, and on
`tracked_array_api.py`, whose creation functions return tracked values. The oracle is array_api_strict, which gets the same numbers."""

import warnings
from typing import Any

import numpy as np
import pytest
import tracked_array_api
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning
from hypothesis.extra.array_api import make_strategies_namespace
from tracked_array_api import numbers_by_item, xp

import dispatch
import dispatch.numpy as dnp

strict = pytest.importorskip("array_api_strict")
pytestmark = [
    pytest.mark.skipif(getattr(np, "__array_api_version__", "") < "2024.12", reason="before NumPy 2.3"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]
with warnings.catch_warnings():
    warnings.simplefilter("error", HypothesisWarning)  # a function or dtype of the standard that is missing
    DRAWN = {module: make_strategies_namespace(module, api_version="2024.12") for module in (dnp, xp)}
both = pytest.mark.parametrize("module", [dnp, xp], ids=["plain", "tracked"])
drawing = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)
FLOATS = ["float32", "float64", "complex64", "complex128"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
EVERY = ["bool", *INTS, *FLOATS]
REAL = [*INTS, *FLOATS[:2]]
BINARY = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip


def plain(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    x = getattr(x, "_array", x)
    return np.asarray(dispatch.detach(x)) if isinstance(x, (dispatch.Tensor, np.ndarray, np.generic)) else x


def theirs(x: Any) -> Any:
    """What array_api_strict gets in place of an array, in an index too."""
    if isinstance(x, (tuple, list)):
        return type(x)(theirs(item) for item in x)
    return strict.asarray(plain(x).copy()) if isinstance(x, (dispatch.Tensor, np.ndarray, np.generic)) else x


def holds(found: Any, wanted: Any) -> None:
    found, wanted = plain(found), plain(wanted)
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            holds(*pair)
        return
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


def arrays(data: Any, module: Any, dtypes: list[str], shape: Any = None, **elements: Any) -> Any:
    drawn = DRAWN[module]
    shape = drawn.array_shapes(min_dims=0, min_side=0, max_side=3, max_dims=3) if shape is None else shape
    x = data.draw(drawn.arrays(getattr(module, data.draw(st.sampled_from(dtypes))), shape, elements=elements or None))
    assert isinstance(x, dispatch.Tensor) == (module is xp and x.dtype.kind in "fc")
    return x


def axis_of(data: Any, module: Any, ndim: int) -> Any:
    return data.draw(st.none() | st.integers(-ndim, ndim - 1) | DRAWN[module].valid_tuple_axes(ndim)) if ndim else None


@both
@drawing
@given(data=st.data())
def test_an_element_is_what_was_drawn(module, data):
    with numbers_by_item():
        number = data.draw(DRAWN[module].from_dtype(getattr(module, data.draw(st.sampled_from(EVERY)))))
        x = arrays(data, module, EVERY)
    np.testing.assert_array_equal(plain(module.asarray(number)), number)
    assert (x.size, x.ndim, type(x.shape)) == (plain(x).size, len(x.shape), tuple)
    for i in np.ndindex(x.shape):
        holds(x[i], plain(x)[i])
        assert bool(x[i]) == bool(plain(x)[i])


@both
@drawing
@given(data=st.data())
def test_indices_take_and_write_what_they_do_there(module, data):
    with numbers_by_item():
        x = arrays(data, module, EVERY)
        key = data.draw(DRAWN[module].indices(x.shape, allow_newaxis=True))
        mask = arrays(data, module, ["bool"], x.shape)
        written = data.draw(DRAWN[module].indices(x.shape))
        value = arrays(data, module, [str(x.dtype)], plain(x)[written].shape)
        one = arrays(data, module, [str(x.dtype)], ())
    holds(x[key], theirs(x)[key])
    holds(x[mask], theirs(x)[theirs(mask)])
    for place, content in ((written, value), (mask, one)):
        mine, other = module.asarray(x, copy=True), theirs(x)
        mine[place] = content
        other[theirs(place)] = theirs(content)
        holds(mine, other)


@both
@drawing
@given(data=st.data(), name=st.sampled_from(sorted(BINARY)))
def test_two_operands_broadcast_and_promote_as_there(module, data, name):
    dtypes = ["bool", *INTS] if name.startswith("bitwise") else FLOATS if name == "divide" else EVERY if name in ("equal", "not_equal") else REAL
    with numbers_by_item():
        shapes = data.draw(DRAWN[module].mutually_broadcastable_shapes(2, max_side=3, max_dims=3)).input_shapes
        x, y = (arrays(data, module, dtypes, shape) for shape in shapes)
        scalar = data.draw(DRAWN[module].from_dtype(x.dtype))
    if name in ("floor_divide", "remainder"):
        assume(np.all(plain(y) != 0) and scalar != 0)
    operator = lambda a, b: eval(f"a {BINARY[name]} b", {"a": a, "b": b})
    for a, b in ((x, y), (x, scalar), (scalar, x)):
        if name in ("floor_divide", "remainder") and b is x:
            assume(np.all(plain(x) != 0))
        for call in (lambda space, a, b: getattr(space, name)(a, b), lambda space, a, b: operator(a, b)):
            try:
                wanted = call(strict, theirs(a), theirs(b))
            except (TypeError, OverflowError):  # dtypes that the standard promotes to none
                continue
            holds(call(module, a, b), wanted)


@both
@drawing
@given(data=st.data(), name=st.sampled_from(["all", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "sum"]))
def test_reductions_over_any_axes_give_what_they_do_there(module, data, name):
    with numbers_by_item():
        x = arrays(data, module, EVERY if name in ("all", "any", "count_nonzero") else REAL, DRAWN[module].array_shapes(min_dims=1, max_side=3))
    keywords = {"axis": axis_of(data, module, x.ndim), "keepdims": data.draw(st.booleans())}
    if name.startswith("arg") and isinstance(keywords["axis"], tuple):
        keywords["axis"] = 0
    holds(getattr(module, name)(x, **keywords), getattr(strict, name)(theirs(x), **keywords))


@both
@drawing
@given(data=st.data())
def test_shapes_are_changed_as_there(module, data):
    with numbers_by_item():
        x = arrays(data, module, EVERY, DRAWN[module].array_shapes(min_dims=1, max_side=3))
    axis, shift = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.integers(-9, 9))
    axes = tuple(data.draw(st.permutations(range(x.ndim))))
    for call in (
        lambda space, a: space.flip(a, axis=axis), lambda space, a: space.roll(a, shift, axis=axis), lambda space, a: space.roll(a, shift),
        lambda space, a: space.permute_dims(a, axes), lambda space, a: space.moveaxis(a, axes, tuple(range(x.ndim))), lambda space, a: space.unstack(a, axis=axis),
        lambda space, a: space.expand_dims(a, axis=axis), lambda space, a: space.concat([a, a], axis=axis), lambda space, a: space.stack([a, a], axis=axis),
        lambda space, a: space.reshape(a, (-1,)), lambda space, a: space.repeat(a, 2, axis=axis), lambda space, a: space.tile(a, (2, 1)),
        lambda space, a: space.broadcast_to(a, (2, *x.shape)), lambda space, a: space.take(a, space.asarray([0, -1]), axis=axis), lambda space, a: space.nonzero(a),
    ):  # fmt: skip
        holds(call(module, x), call(strict, theirs(x)))


def test_a_value_of_the_module_is_tracked_and_reads_as_a_number_in_the_block_alone():
    x = tracked_array_api.asarray(2.5)
    with numbers_by_item():
        assert (float(x), int(x), complex(x)) == (2.5, 2, 2.5 + 0j)
    with pytest.raises(dispatch.errors.ConversionError, match="a number was asked of a tracked value"):
        float(x)
    assert tracked_array_api.meshgrid(np.ones(2))[0].requires_grad
    assert {*dir(dnp), "pytest_runtest_call"} <= set(dir(tracked_array_api))
