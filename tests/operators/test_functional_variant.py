"""The functional form: its schema, its outputs, its name, its rules; held against the operator it is the form of."""

from typing import Annotated

import making
import numpy as np
import pytest
from making import said

import dispatch
from dispatch import FakeTensorMode, Tag, custom_op, ops, vmap
from dispatch.core import Residual
from dispatch.dispatcher.array_types import register_array_type
from dispatch.errors import DefinitionError, LibraryError, NoRuleError, OperatorNotFoundError
from dispatch.operators.functional_variant import copied, form_of, functional_schema, origin_of
from dispatch.operators.registry import known
from dispatch.schema.schema import Schema
from dispatch.testing import opcheck

A = np.arange(6.0).reshape(2, 3) + 1
B = A[::-1] * 2


@pytest.mark.parametrize(
    ("signature", "form"),
    [
        ("(Tensor(a!) x, Tensor y) -> Tensor(a!)", "(Tensor x, Tensor y) -> Tensor"),
        ("(Tensor x, Tensor(a!) out) -> ()", "(Tensor x, Tensor out) -> Tensor"),
        ("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "(Tensor x, *, Tensor out) -> Tensor"),
        ("(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))", "(Tensor x, *, Tensor u, Tensor v) -> (Tensor, Tensor)"),
        ("(Tensor(a!) x, int n=1) -> (Tensor, int)", "(Tensor x, int n=1) -> (Tensor, int, Tensor)"),
        ("(Tensor(a!) x) -> (int n, Tensor(a!) y)", "(Tensor x) -> (int n, Tensor)"),
        ("(Tensor(a!)? x=None, /) -> ()", "(Tensor? x=None, /) -> Tensor?"),
        ("(Tensor(a!)[] xs, Tensor(b!)?[] ys) -> Tensor(a!)[]", "(Tensor[] xs, Tensor?[] ys) -> (Tensor[], Tensor?[])"),
        ("(Tensor x, Tensor(a!)? out=None) -> Tensor(a!)", "(Tensor x, Tensor? out=None) -> Tensor?"),
        ("(Tensor(a!) x, Tensor(b) y) -> (Tensor(a), Tensor(b))", "(Tensor x, Tensor(b) y) -> (Tensor, Tensor(b), Tensor)"),
        ("(Tensor(a!)[] xs) -> Tensor(a!)", "(Tensor[] xs) -> (Tensor, Tensor[])"),
        ("(Tensor(a!) x) -> (float, Residual)", "(Tensor x) -> (float, Tensor, Residual)"),
        ("(Tensor(a!) x) -> Residual", "(Tensor x) -> (Tensor, Residual)"),
    ],
)  # fmt: skip
def test_what_is_written_is_read_and_returned(signature, form):
    schema = Schema.parse(signature, name="ns::op")
    made = functional_schema(schema)
    assert made == Schema.parse(form, name="ns::op.functional")
    assert not made.is_mutable
    assert functional_schema(Schema.parse(signature, name="ns::op.two"), "ns::other.two").full_name == "ns::other.two"


def test_the_form_of_an_operator_that_writes_to_nothing_is_itself():
    assert ops.np.sin.functional is ops.np.sin
    assert form_of(ops.np.sin.schema).written == ()
    assert origin_of(ops.np.sin) is None


def test_it_gives_what_the_other_writes_and_writes_nothing():
    def kernel(x, out, outs, *, scale=2.0):
        out *= x * scale
        for y in outs or ():
            y += x
        return len(outs or ()), out[0]

    op = making.define("(Tensor x, Tensor(a!) out, Tensor(b!)[]? outs=None, *, float scale=2.0) -> (int, Tensor(a))", kernel)
    form = op.functional
    assert form is op.functional
    assert origin_of(form) is op
    x, out, outs = A + 0, B + 0, [A + 5, B + 7]
    n, row, new, news = form(x, out, outs, scale=3.0)
    assert np.array_equal(x, A)
    assert np.array_equal(out, B)
    assert np.array_equal(outs[0], A + 5)
    assert not np.shares_memory(row, new)
    assert op(x, out, outs, scale=3.0)[0] == n == 2
    assert np.array_equal(row, out[0])
    assert np.array_equal(new, out)
    assert all(map(np.array_equal, news, outs))
    assert form(x, out)[3] is None


def test_the_residual_stays_inside():
    @custom_op("functionaltests::kept", mutates_args=("x",))
    def kept(x: np.ndarray) -> tuple[float, Residual]:
        x += 1
        return float(x.flat[0]), "kept"

    value, new = kept.functional(A)
    assert value == 2.0
    assert np.array_equal(new, A + 1)
    assert kept.functional.whole(A)[2] == "kept"


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_layout_that_the_kernel_asks_for_is_the_copys(order):
    def double(x: Annotated[np.ndarray, order, "writeable"]) -> None:
        assert x.flags[f"{order}_CONTIGUOUS"]
        x *= 2

    op = custom_op(f"functionaltests::double_{order}", double, mutates_args=("x",))
    for x in (A, np.asfortranarray(A), A[:, ::2], np.broadcast_to(A[0], (2, 3))):
        made = op.functional(x)
        assert np.array_equal(made, x * 2)
        assert made.flags[f"{order}_CONTIGUOUS"]
        with FakeTensorMode() as mode:
            assert op.functional(mode.from_array(x)).strides == made.strides
    opcheck(op.functional, (A,))


def test_copies():
    assert copied(None) is None
    assert copied(np.float64(3.0)).flags.writeable
    assert copied("text") == "text"
    made = copied({"a": [A, None]})
    assert np.array_equal(made["a"][0], A)
    assert made["a"][0] is not A
    assert copied(np.asfortranarray(A)).flags.f_contiguous
    assert copied(np.broadcast_to(1.0, (3,))).strides == (8,)


class Elsewhere:
    """An array of another library, which has a copy of its own."""

    def __init__(self, values):
        self.values = values

    def copy(self):
        return Elsewhere(list(self.values))


register_array_type(Elsewhere, device="elsewhere")


def test_an_array_of_another_library_is_copied_by_its_own_method():
    op = making.made("(Tensor(a!) x) -> ()")

    @op.register_kernel("elsewhere")
    def _(x):
        x.values[0] = 7

    x = Elsewhere([1, 2])
    assert op.functional(x).values == [7, 2]
    assert x.values == [1, 2]


def test_the_fake_rule_is_the_same_call_on_fakes():
    @custom_op("functionaltests::grow_", mutates_args=("x",), tags=Tag.inplace)
    def grow_(x: np.ndarray, n: int) -> np.ndarray:
        x += n
        return x

    with FakeTensorMode() as mode:
        x = mode.from_array(A.T)
        made = grow_.functional(x, 3)
    assert made is not x
    assert (made.shape, made.dtype, made.strides) == (x.shape, x.dtype, x.strides)
    counting = making.define("(Tensor(a!) x) -> Tensor", lambda x: x + 1)
    with FakeTensorMode() as mode, pytest.raises(NoRuleError) as caught:
        counting.functional(mode.from_array(A))
    assert str(caught.value).startswith(f"the shape of {counting.name}'s output was asked for, and it has no fake rule.")
    counting.register_fake(lambda x: np.empty((7,)))
    with FakeTensorMode() as mode:
        assert counting.functional(mode.from_array(A))[0].shape == (7,)


def test_a_batch_of_it_is_a_loop_even_where_the_operator_itself_is_refused():
    op = making.define("(Tensor x, Tensor(a!) out) -> ()", lambda x, out: np.copyto(out, out + x))
    got = vmap(op.functional, in_dims=(0, None))(A, np.ones(3))
    assert np.array_equal(got, A + 1)


# -- by name ---------------------------------------------------------------------------------------------------------------


def add_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x += y
    return x


def fill(x: np.ndarray, value: float, out: np.ndarray) -> None:
    out[...] = x * value


def test_it_is_named_after_the_operator():
    inplace = custom_op("functionaltests::add_", add_, mutates_args=("x",), tags=(Tag.inplace, Tag.pointwise), functional=True)
    form = ops.functionaltests.add
    assert form is inplace.functional
    assert (form.__name__, form.__doc__) == ("add", "The functional form of functionaltests::add_: it returns what that one writes.")
    assert form.tags == [Tag.pointwise]
    assert repr(form) == "functionaltests::add(Tensor x, Tensor y) -> Tensor  [every device | fake]"
    assert np.array_equal(form(A, B), A + B)
    opcheck(inplace, (A, B))
    opcheck(form, (A, B))

    custom_op("functionaltests::fill", fill, mutates_args=("out",), functional=True)
    assert np.array_equal(ops.functionaltests.fill_functional(A, 2.0, B), A * 2)
    custom_op("functionaltests::put", fill, mutates_args=("out",), functional="filled")
    custom_op("functionaltests::put_", fill, mutates_args=("out",), functional="functionaltests2::put")
    assert ops.functionaltests.filled.schema.full_name == "functionaltests::filled"
    assert ops.functionaltests2.put(A, 2.0, B) is not None
    with pytest.raises(OperatorNotFoundError):
        _ = ops.functionaltests.put_functional


def test_a_definition_made_again_makes_the_form_again():
    forms = []
    for factor in (2.0, 3.0):

        def scale_(x: np.ndarray, factor: float = factor) -> None:
            x *= factor

        op = custom_op("functionaltests::scale_", scale_, mutates_args=("x",), functional=True)
        forms.append(ops.functionaltests.scale)
        assert op.functional is forms[-1]
        assert np.array_equal(forms[-1](A), A * factor)
    assert forms[0] is forms[1]


def test_nothing_to_name():
    with pytest.raises(DefinitionError) as caught:
        custom_op("functionaltests::no", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor", functional=True)
    assert str(caught.value) == (
        "functionaltests::no: functional= names the form that returns what the operator writes, and it writes to nothing. "
        "Leave it out."
    )
    assert known("functionaltests::no") is None


def test_a_name_that_is_anothers_leaves_nothing_behind():
    taken = custom_op("functionaltests::taken", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(DefinitionError) as caught:
        custom_op("functionaltests::taken_", add_, mutates_args=("x",), tags=Tag.inplace, functional=True)
    assert str(caught.value) == (
        "functionaltests::taken_: its functional form would be named functionaltests::taken, and that is another operator. "
        "Give the form a name of its own: functional='ns::name'."
    )
    assert known("functionaltests::taken_") is None
    assert ops.functionaltests.taken is taken
    with pytest.raises(DefinitionError) as caught:
        custom_op("functionaltests::more_", add_, mutates_args=("x",), tags=Tag.inplace, functional="np::add")
    assert "would be named np::add, and that is another operator." in str(caught.value)
    with pytest.raises(dispatch.errors.SchemaError):
        custom_op("functionaltests::more_", add_, mutates_args=("x",), tags=Tag.inplace, functional="no name")
    assert known("functionaltests::more_") is None


def test_a_form_that_cannot_be_defined_leaves_nothing_behind():
    def more(functional):
        return lambda: custom_op("functionaltests::more_", add_, mutates_args=("x",), tags=Tag.inplace, functional=functional)

    assert said(more("np::more"), LibraryError) == "the namespace 'np' is this package's own. Take another."
    custom_op("functionaltests::beside", lambda x, y: x * y, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert "functionaltests::beside.other" in said(more("beside.other"), DefinitionError)
    assert known("functionaltests::more_") is None


def test_overloads_of_any_name_are_not_taken_for_it():
    for name, kind in (("functional", "str"), ("origin", "int"), ("on_copies", "float[]")):
        custom_op(f"functionaltests::odd.{name}", lambda n: n, mutates_args=(), schema=f"({kind} n) -> Any")
    op = custom_op("functionaltests::odd", add_, mutates_args=("x",), tags=Tag.inplace)
    assert str(op.functional.schema) == "functionaltests::odd.functional(Tensor x, Tensor y) -> Tensor"
    assert np.array_equal(op.functional(A, B), A + B)
