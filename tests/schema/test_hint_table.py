"""Laws over every kind of hint: its text reads back, the core and the words agree, and what holds arrays is differentiated,
batched, faked and checked wherever in a value the arrays stand."""

import inspect
import numbers
import re
import typing
from pathlib import Path
from typing import Any

import hint_table
import numpy as np
import numpy.typing as npt
import pytest
from hint_table import TABLE, Row
from making import said

import dispatch
from dispatch.core.pytree import leaves, mapped
from dispatch.dispatcher import call_errors
from dispatch.errors import ArgumentError, SchemaError
from dispatch.operators.registry import build, check_of
from dispatch.schema.hints import HintReader
from dispatch.schema.infer import infer
from dispatch.schema.schema import MISSING, Schema
from dispatch.schema.types import BASES, CLASSES
from dispatch.testing import opcheck

ROWS = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.text)
DEFAULTS = pytest.mark.parametrize("row", [r for r in TABLE if r.default is not MISSING], ids=lambda row: row.text)
# Every value that fits and holds an array of float64, which has a gradient.
HOLDING = [
    pytest.param(row, value, id=f"{row.text}-{i}")
    for row in TABLE
    for i, value in enumerate(row.fits)
    if row.text != "Any" and any(isinstance(x, np.ndarray) and x.dtype == float for x in leaves(value))
]
RECORDS = (hint_table.State, hint_table.Layer, hint_table.Factors, hint_table.Model)
FILLED = pytest.mark.parametrize(("row", "value"), HOLDING)


def function(row: Row, body: Any = None) -> Any:
    """A function of one parameter `v` with the row's hint, and its default."""

    def f(v):
        return body(v)

    default = inspect.Parameter.empty if row.default is MISSING else row.default
    parameter = inspect.Parameter("v", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=row.hint)
    f.__signature__ = inspect.Signature([parameter], return_annotation=np.ndarray)
    return f


def schema_of(row: Row) -> Schema:
    return infer(function(row), "hints::op", mutates_args=())


def shown(schema: Schema) -> Any:
    """Everything about the types of a schema, what the text leaves out too."""
    return [(str(a.type), a.type.has_tensor, [str(part) for part in a.type.parts]) for a in schema.arguments]


@ROWS
def test_a_hint_has_its_text(row):
    assert str(schema_of(row).arguments[0].type) == row.text


@ROWS
def test_the_text_reads_back_as_the_same_type(row):
    schema = infer(function(Row(row.hint, row.text, [], [])), "hints::op", mutates_args=())
    again = Schema.parse(str(schema))
    assert again == schema
    assert shown(again) == shown(schema)


@pytest.mark.parametrize("row", [r for r in TABLE if (r.text != "Any" and "Tensor" in r.text) or r.hint in RECORDS], ids=lambda row: row.text)
def test_what_holds_arrays_can_be_written_and_the_text_says_so(row):
    schema = infer(function(Row(row.hint, row.text, [], [])), "hints::op", mutates_args="unknown")
    assert schema.mutable_arguments == ("v",)
    assert Schema.parse(str(schema)) == schema


@ROWS
def test_a_list_and_an_optional_of_it_read_back_too(row):
    for text in (f"{row.text}[] v", f"({row.text}, int) v", f"Dict(str, {row.text}) v"):
        schema = Schema.parse(f"hints::op({text}) -> ()")
        assert str(schema) == f"hints::op({text}) -> ()"
        assert schema.arguments[0].type.has_tensor == Schema.parse(f"hints::op({row.text} v) -> ()").arguments[0].type.has_tensor


def kept(x: Any) -> Any:
    """A default as it is kept: a list for a range."""
    if isinstance(x, dict):
        return {name: kept(item) for name, item in x.items()}
    return list(map(kept, x)) if isinstance(x, (list, range)) else x


@DEFAULTS
def test_a_default_has_its_text_and_is_the_functions_own(row):
    argument = schema_of(row).arguments[0]
    assert str(argument) == f"{row.text} v={row.default_text}"
    assert argument.default is row.default or is_copy(argument.default, kept(row.default))


def is_copy(x: Any, y: Any) -> bool:
    """Whether two defaults are equal, and of containers that can be written to neither is the other."""
    return type(x) is type(y) and x == y and (x is not y or not isinstance(x, (list, dict)))


@DEFAULTS
def test_a_default_reads_back_unless_it_has_no_text(row):
    schema = schema_of(row)
    if row.default_text == "...":
        message = said(lambda: Schema.parse(str(schema)), SchemaError)
        assert message.startswith("hints::op: argument 'v': '...' stands for a default that has no text, an object or a function.")
    else:
        assert Schema.parse(str(schema)) == schema


@ROWS
def test_what_fits_and_what_is_refused(row):
    op = build(schema_of(row))
    check = check_of(op.schema.arguments[0].type, op.schema.arguments[0])
    for value in row.fits:
        assert check(value)
        assert call_errors.misfit(op.definition, (value,), {}) is None
    for value in row.refused:
        assert not check(value)
        assert str(call_errors.misfit(op.definition, (value,), {})).startswith("hints::op: argument 'v' is ")
        assert said(lambda value=value: op(value), ArgumentError) == str(call_errors.misfit(op.definition, (value,), {}))


@pytest.mark.parametrize("row", [r for r in TABLE if r.text != "Callable"], ids=lambda row: row.text)
def test_a_value_reaches_the_kernel_untouched(row):
    got = []
    op = dispatch.custom_op("hints::untouched", function(row, lambda v: got.append(v) or np.zeros(0)), mutates_args=())
    for value in row.fits:
        op(value)
        assert got.pop() is value
    if row.default is not MISSING:
        default = op.schema.arguments[0].default
        op()
        op()
        first, second = got
        assert (first is default and second is default) or (is_copy(first, default) and is_copy(second, first))


PAGE = Path(__file__).parents[2] / "docs" / "custom_operators.md"
CELLS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| .* \|$", PAGE.read_text().partition("## Hints")[2], re.MULTILINE)


@pytest.mark.parametrize(("hint", "schema"), CELLS)
def test_the_page_says_what_is(hint, schema):
    here = "hint_table."
    scope = {**vars(typing), "np": np, "numbers": numbers, "NDArray": npt.NDArray, "typing": typing}
    scope |= {"State": hint_table.State, "Mode": hint_table.Colour, "Settings": hint_table.Config}
    if "Float64" in hint:
        scope["Float64"] = pytest.importorskip("jaxtyping").Float64
    named = {"module.State": f"{here}State", "module.Mode": f"{here}Colour", "module.Settings": f"{here}Config"}
    for one in hint.replace("\\|", "|").split("`, `"):
        assert str(HintReader("page::op", None).argument("x", eval(one, scope))) == named.get(schema, schema)


def test_the_page_has_every_kind_of_type():
    words = " ".join(schema for _, schema in CELLS)
    assert all(word in words for word in [*(word for word in BASES if word not in ("Device", "Residual", "None")), *CLASSES, "Dict(", "Literal[", "Union("])


# ------------------------------------------------------------------------------- wherever in a value there are arrays
def is_smooth(x: Any) -> bool:
    return hasattr(x, "dtype") and x.dtype.kind == "f"


def weighted(v: Any) -> Any:
    """A function of every array in a value, other in each."""
    return sum((k + 1) * np.sum(x * x) for k, x in enumerate(x for x in leaves(v) if is_smooth(x))) * np.ones(2)


def operator(row: Row) -> Any:
    """The operator of `weighted`, with a fake rule and a gradient; its value is a container of gradients."""
    op = dispatch.custom_op("hints::weighted", function(row, weighted), mutates_args=())
    op.register_fake(lambda v: np.empty(2))

    def backward(ctx, g):
        count = iter(range(1, 100))
        return (mapped(lambda x: 2 * next(count) * g.sum() * x if is_smooth(x) else None, ctx.value),)

    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, "value", inputs[0]))
    return op


def tracked(value: Any) -> Any:
    return mapped(lambda x: dispatch.tensor(x, requires_grad=True) if is_smooth(x) else x, value)


@FILLED
def test_gradients_reach_every_array_in_a_value(row, value):
    op, v = operator(row), tracked(value)
    op(v).sum().backward()
    expected = [4 * (k + 1) * x for k, x in enumerate(x for x in leaves(value) if is_smooth(x))]
    assert [x.grad.tolist() for x in leaves(v) if is_smooth(x)] == [x.tolist() for x in expected]


@FILLED
def test_a_batch_is_a_loop_over_the_items(row, value):
    op = operator(row)
    places = [is_smooth(x) for x in leaves(value)]
    batch = [np.stack([x, 2 * x, 3 * x]) for x in leaves(value) if is_smooth(x)]

    def one(*arrays):
        queue = iter(arrays)
        return op(mapped(lambda x: next(queue) if is_smooth(x) else x, value))

    expected = np.stack([one(*(x[i] for x in batch)) for i in range(3)])
    np.testing.assert_allclose(dispatch.vmap(one)(*batch), expected)
    for k in range(sum(places)):
        mixed = [x if i == k else x[0] for i, x in enumerate(batch)]
        expected = np.stack([one(*(x[i] if j == k else x for j, x in enumerate(mixed))) for i in range(3)])
        np.testing.assert_allclose(dispatch.vmap(one, in_dims=tuple(0 if j == k else None for j in range(len(batch))))(*mixed), expected)


@FILLED
def test_a_fake_in_a_value_asks_the_fake_rule(row, value):
    op = operator(row)
    with dispatch.FakeTensorMode() as mode:
        fakes = mapped(lambda x: mode.from_array(x) if hasattr(x, "dtype") else x, value)
        assert op(fakes).shape == (2,)
    assert op(fakes).shape == (2,)


@FILLED
def test_opcheck_passes(row, value):
    report = opcheck(operator(row), (tracked(value),))
    assert set(report.values()) == {"SUCCESS"}


# ---------------------------------------------------------------------------------------------- containers as outputs
def doubled(v: Any) -> Any:
    return mapped(lambda x: x * 2 if hasattr(x, "dtype") else x, v)


def doubling(row: Row) -> Any:
    """An operator that gives back what it was given, with every array doubled."""
    f = function(Row(row.hint, row.text, [], []), doubled)
    f.__signature__ = f.__signature__.replace(return_annotation=tuple[row.hint, int])
    text = infer(f, "hints::doubled", mutates_args=()).signature
    op = dispatch.custom_op("hints::doubled", lambda v: (doubled(v), 1), mutates_args=(), schema=text)
    op.register_fake(lambda v: (mapped(lambda x: np.empty_like(x) if hasattr(x, "dtype") else x, v), 1))
    op.register_autograd(lambda ctx, g, _: (mapped(lambda x: None if x is None else x * 2, g),))
    return op


@FILLED
def test_a_container_comes_back_as_it_went_in(row, value):
    op = doubling(row)
    out, one = op(value)
    assert one == 1
    assert type(out) is type(value)
    dispatch.testing.assert_close(out, doubled(value))
    v = tracked(value)
    out, _ = op(v)
    assert type(out) is type(v)
    sum(np.sum(x) for x in leaves(out) if is_smooth(x)).backward()
    assert all((x.grad == 2).all() for x in leaves(v) if is_smooth(x))
    assert set(opcheck(op, (v,)).values()) == {"SUCCESS"}
