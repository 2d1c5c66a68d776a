"""TestCustomOpAPI, tags: what they promise, and what operators that write in place or into `out` must be."""

import warnings

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch import FakeTensorMode, Tag, custom_op
from dispatch.errors import DefinitionError, FakeTensorError, GradientError, OutputError, SchemaError
from dispatch.library import define
from dispatch.testing import opcheck

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray


def sin_(x: Array) -> Array:
    return np.sin(x, out=x)


def sin_out(x: Array, *, out: Array) -> Array:
    return np.sin(x, out=out)


def cosine_of_saved(ctx, g):
    (x,) = ctx.saved_tensors
    return g * np.cos(x)


def keep_first(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def refusal(ns, fn, schema=None, *, tag, mutates_args):
    """What is said of a definition that its tag does not allow, without the schema below it."""
    message = said(lambda: custom_op(f"{ns}::refused", fn, mutates_args=mutates_args, schema=schema, tags=tag), DefinitionError)
    first, *rest = message.split("\n")
    assert not rest or rest[0].startswith(f"  {ns}::refused("), message
    assert not hasattr(getattr(dispatch.ops, ns, None), "refused")
    return first.removeprefix(f"{ns}::refused: ")


# -- tags in general ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        (Tag.pointwise, [Tag.pointwise]),
        ([Tag.core, Tag.pointwise], [Tag.core, Tag.pointwise]),
        ((Tag.pointwise, Tag.core), [Tag.core, Tag.pointwise]),
        ([Tag.pointwise, Tag.core, Tag.pointwise], [Tag.core, Tag.pointwise]),
    ],
)
def test_custom_op_tags(given, tags, ns, lib, ops):
    """Tags are given as one or as a sequence, to custom_op as to define, and are on the operator, each once.

    Also: custom_op_tags_dedup_pt2_compliant TestCustomOp.define_with_tags

    Adapted: pt2_compliant_tag, which torch adds to every custom operator, has no meaning here and does not exist.
    """
    op = custom_op(f"{ns}::tagged", lambda x: x.copy(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=given)
    lib.define("through(Tensor x) -> Tensor", tags=given)
    define(f"{ns}::defined", "(Tensor x) -> Tensor", lib=lib, tags=given)
    assert op.tags == ops.through.tags == ops.defined.tags == tags
    assert not hasattr(Tag, "pt2_compliant_tag")


def test_custom_op_inplace_out_tags_mutually_exclusive(ns):
    """An operator is in place or writes into `out`, not both."""
    message = refusal(ns, sin_, tag=[Tag.inplace, Tag.out], mutates_args=("x",))
    assert message == "Tag.inplace and Tag.out exclude each other."


# -- in place ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [None, "(Tensor(a0!) x) -> Tensor(a0!)"])
def test_custom_op_inplace_tag(schema, ns):
    """An operator in place writes to its first argument and returns that very array, whether its schema is inferred or given.

    Also: custom_op_inplace_tag_manual_schema
    """
    op = custom_op(f"{ns}::sin_", sin_, mutates_args=("x",), schema=schema, tags=Tag.inplace)
    assert str(op.schema) == f"{ns}::sin_(Tensor(a0!) x) -> Tensor(a0!)"
    x = X.copy()
    assert op(x) is x
    assert np.array_equal(x, np.sin(X))
    assert opcheck(op, (X.copy(),), test_utils="test_schema")["test_schema"] == "SUCCESS"


def test_custom_op_inplace_tag_fake(ns):
    """Its shape rule need not be written: under fakes the first argument comes back.

    Adapted: it is what torch's compiled calls of such an operator stand on.
    """
    op = custom_op(f"{ns}::sin_", sin_, mutates_args=("x",), tags=Tag.inplace)
    with FakeTensorMode() as mode:
        x = mode.from_array(X)
        assert op(x) is x


def test_custom_op_inplace_tag_returns_wrong_tensor(ns):
    """A kernel that returns another array than the one it was to write to is refused at the call."""
    op = custom_op(
        f"{ns}::wrong", lambda x: x + 1, mutates_args=("x",), tags=Tag.inplace, schema="(Tensor(a!) x) -> Tensor(a!)"
    )
    message = said(lambda: op(X.copy()), OutputError)
    assert "returned another array as output 0, and its schema says that it is argument 'x' itself." in message
    assert message.endswith("Write to x and return it.")


@pytest.mark.parametrize("names", [["x"], {"x"}, ("x",), iter(["x"]), {"x": 1}], ids=lambda names: type(names).__name__)
def test_custom_op_inplace_tag_mutates_args_iterable(names, ns):
    """The written arguments come as any iterable of names, one that can be read once too."""
    op = custom_op(f"{ns}::sin_", sin_, mutates_args=names, tags=Tag.inplace)
    assert op.schema.mutable_arguments == ("x",)


def test_custom_op_inplace_tag_autograd(ns):
    """An operator in place has a gradient: the written value takes the place of the old one.

    Differs: writing operators
    """
    op = custom_op(f"{ns}::sin_", sin_, mutates_args=("x",), tags=Tag.inplace)
    op.register_autograd(cosine_of_saved, setup_context=keep_first)
    x = leaf(X)
    y = x * 1.0
    assert op(y) is y
    y.sum().backward()
    assert np.allclose(x.grad, np.cos(X))
    assert "argument 'x' is a leaf that requires a gradient" in said(lambda: op(leaf(X)), GradientError)


def test_custom_op_inplace_tag_register_fake_warns(ns):
    """A shape rule of an operator in place is not needed, and held to what is needed of it: to return the argument.

    Differs: fake rules of tagged operators
    """
    op = custom_op(f"{ns}::sin_", sin_, mutates_args=("x",), tags=Tag.inplace)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        op.register_fake(lambda x: x)
    assert not caught
    with FakeTensorMode() as mode:
        x = mode.from_array(X)
        assert op(x) is x
        op.register_fake(lambda x: np.empty_like(x))
        message = said(lambda: op(x), FakeTensorError)
    assert message == (
        f"{ns}::sin_: its fake rule returned another array as output 0, and the schema says that it is argument 'x' itself. "
        "Return x."
    )


def test_custom_op_inplace_tag_no_positional_arg(ns):
    """An operator in place has an argument given by position to write to."""

    def keyword_only(*, x: Array) -> Array:
        return x

    def nothing() -> Array:
        return X

    expected = "Tag.inplace asks for a first argument given by position, which is written and returned."
    assert refusal(ns, keyword_only, tag=Tag.inplace, mutates_args=("x",)) == expected
    assert refusal(ns, nothing, tag=Tag.inplace, mutates_args=()) == expected


def test_custom_op_inplace_tag_first_arg_not_tensor(ns):
    """The first argument of an operator in place is one array, no number and no list."""

    def number(n: int, x: Array) -> Array:
        return x

    def arrays(xs: list[np.ndarray]) -> Array:
        return xs[0]

    assert refusal(ns, number, tag=Tag.inplace, mutates_args=("x",)) == (
        "Tag.inplace asks that the first argument, 'n', is written: mutates_args=('n',)."
    )
    assert refusal(ns, number, tag=Tag.inplace, mutates_args=("n",)) == (
        "mutates_args names 'n', which is int. Only arrays can be written to."
    )
    assert refusal(ns, arrays, tag=Tag.inplace, mutates_args=("xs",)) == (
        "Tag.inplace asks that the first argument is a plain Tensor; 'xs' is a Tensor[]."
    )


def test_custom_op_inplace_tag_mutates_non_first_arg(ns):
    """An operator in place writes to its first argument, and to no other."""

    def two(x: Array, y: Array) -> Array:
        return x

    assert refusal(ns, two, tag=Tag.inplace, mutates_args=("y",)) == (
        "Tag.inplace asks that the first argument, 'x', is written: mutates_args=('x',)."
    )
    assert refusal(ns, two, tag=Tag.inplace, mutates_args=("x", "y")) == (
        "Tag.inplace asks that nothing but 'x' is written; 'y' is too."
    )


def test_custom_op_inplace_tag_return_none(ns):
    """An operator in place returns what it wrote to; one that returns nothing is no such operator."""

    def nothing(x: Array) -> None: ...

    assert refusal(ns, nothing, tag=Tag.inplace, mutates_args=("x",)) == (
        "Tag.inplace asks for exactly one return, the Tensor 'x'."
    )


def test_custom_op_inplace_tag_multiple_returns(ns):
    """An operator in place returns nothing but what it wrote to."""

    def two(x: Array) -> tuple[np.ndarray, np.ndarray]:
        return x, x

    assert refusal(ns, two, tag=Tag.inplace, mutates_args=("x",)) == "Tag.inplace asks for exactly one return, the Tensor 'x'."


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("(Tensor x) -> Tensor", "Tag.inplace asks that the first argument, 'x', is written: mutates_args=('x',)."),
        ("(Tensor(a) x) -> Tensor(a)", "Tag.inplace asks that the first argument, 'x', is written: mutates_args=('x',)."),
        ("(Tensor(a!) x) -> Tensor", "Tag.inplace asks that the return is 'x' itself: write it as Tensor(a!)."),
        ("(Tensor(a!) x) -> ()", "Tag.inplace asks for exactly one return, the Tensor 'x'."),
        ("(Tensor(a!)? x) -> Tensor(a!)", "Tag.inplace asks that the first argument is a plain Tensor; 'x' is a Tensor?."),
    ],
)
def test_custom_op_inplace_tag_bad_manual_schema(schema, message, ns):
    """A schema given as text that is none of an operator in place is refused, with what is missing."""
    written = ("x",) if "!" in schema else ()
    assert refusal(ns, lambda x: x, schema, tag=Tag.inplace, mutates_args=written) == message
    unknown = "(Tensor(a!) x) -> Tensor(b!)"
    with pytest.raises(SchemaError, match="no argument is in the alias set 'b' before the call"):
        custom_op(f"{ns}::refused", lambda x: x, mutates_args=("x",), schema=unknown, tags=Tag.inplace)


# -- out ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [None, "(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"])
def test_custom_op_out_tag(schema, ns):
    """An operator with `out` writes into its keyword-only argument and returns that very array, whether its schema is inferred or
    given.

    Also: custom_op_out_tag_manual_schema
    """
    op = custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), schema=schema, tags=Tag.out)
    assert str(op.schema) == f"{ns}::sin_out(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"
    out = np.empty(3)
    assert op(X, out=out) is out
    assert np.array_equal(out, np.sin(X))
    assert opcheck(op, (X,), {"out": np.empty(3)}, test_utils="test_schema")["test_schema"] == "SUCCESS"


def test_custom_op_out_tag_fake(ns):
    """Its shape rule need not be written: under fakes `out` comes back.

    Adapted: it is what torch's compiled calls of such an operator stand on.
    """
    op = custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), tags=Tag.out)
    with FakeTensorMode() as mode:
        out = mode.from_array(np.empty(3))
        assert op(mode.from_array(X), out=out) is out


def test_custom_op_out_tag_multiple_returns(ns):
    """Several written arguments come back as a tuple, in their order."""

    def both(x: Array, *, s: Array, c: Array) -> tuple[np.ndarray, np.ndarray]:
        return np.sin(x, out=s), np.cos(x, out=c)

    op = custom_op(f"{ns}::both", both, mutates_args=("s", "c"), tags=Tag.out)
    s, c = np.empty(3), np.empty(3)
    out = op(X, s=s, c=c)
    assert type(out) is tuple
    assert (out[0] is s, out[1] is c) == (True, True)
    assert np.allclose(s**2 + c**2, 1)


def test_custom_op_out_tag_returns_wrong_tensor(ns):
    """A kernel that returns another array than `out`, or its arrays in another order, is refused at the call."""

    def fresh(x: Array, *, out: Array) -> Array:
        return np.sin(x)

    def swapped(x: Array, *, s: Array, c: Array) -> tuple[np.ndarray, np.ndarray]:
        return c, s

    op = custom_op(f"{ns}::fresh", fresh, mutates_args=("out",), tags=Tag.out)
    message = said(lambda: op(X, out=np.empty(3)), OutputError)
    assert "returned another array as output 0, and its schema says that it is argument 'out' itself." in message
    op = custom_op(f"{ns}::swapped", swapped, mutates_args=("s", "c"), tags=Tag.out)
    message = said(lambda: op(X, s=np.empty(3), c=np.empty(3)), OutputError)
    assert "returned another array as output 0, and its schema says that it is argument 's' itself." in message


@pytest.mark.parametrize("defined", [False, True])
def test_custom_op_out_tag_autograd(defined, ns, lib, ops):
    """A tracked argument is refused where a plain `out` would take its value, and recorded where `out` is tracked too, of an
    operator that a library defines as well.

    Also: library_register_autograd_out_tag_low_level

    Differs: writing operators
    """
    if defined:
        lib.define("sin_out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=Tag.out)
        lib.impl("sin_out", sin_out, "CPU")
    else:
        custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), tags=Tag.out)
    op = ops.sin_out
    backward = lambda ctx, g: (cosine_of_saved(ctx, g), None)
    dispatch.register_autograd(op, backward, setup_context=keep_first, lib=lib if defined else None)
    x = leaf(X)
    message = said(lambda: op(x, out=np.empty(3)), GradientError)
    assert message.startswith(
        f"{ns}::sin_out: argument 'out' is an ndarray of shape (3,) and dtype float64, and tracked values would be written to it"
    )
    out = x * 0.0
    assert op(x, out=out) is out
    out.sum().backward()
    assert np.allclose(x.grad, np.cos(X))
    with dispatch.no_grad():
        assert np.array_equal(op(X, out=np.empty(3)), np.sin(X))


def test_custom_op_out_tag_register_fake_warns(ns):
    """A shape rule of an operator with `out` is not needed, and held to returning `out`.

    Differs: fake rules of tagged operators
    """
    op = custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), tags=Tag.out)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        op.register_fake(lambda x, *, out: np.empty_like(x))
    assert not caught
    with FakeTensorMode() as mode:
        x, out = mode.from_array(X), mode.from_array(X)
        message = said(lambda: op(x, out=out), FakeTensorError)
    assert message.endswith("and the schema says that it is argument 'out' itself. Return out.")


def test_custom_op_register_fake_ordinary_op(ns):
    """A shape rule of an operator that returns fresh arrays is registered without a word, and again."""
    op = custom_op(f"{ns}::plain", lambda x: np.sin(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        op.register_fake(lambda x: np.empty(1))
        op.register_fake(lambda x: np.empty_like(x))
    assert not caught
    with FakeTensorMode() as mode:
        assert op(mode.from_array(X)).shape == (3,)


def test_custom_op_out_tag_register_autograd(ns):
    """A gradient may be registered for an operator with `out`: it is that of the operator which returns what this one writes.

    Differs: writing operators
    """
    op = custom_op(f"{ns}::sin_out", sin_out, mutates_args=("out",), tags=Tag.out)
    op.register_autograd(lambda ctx, g: (cosine_of_saved(ctx, g), None), setup_context=keep_first)
    x = leaf(X)
    op.functional(x, out=np.empty(3)).sum().backward()
    assert np.allclose(x.grad, np.cos(X))


def test_custom_op_out_tag_positional_mutable_arg(ns):
    """What an operator with `out` writes into is given by keyword only."""

    def positional(x: Array, out: Array) -> Array:
        return out

    assert refusal(ns, positional, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks that what is written is keyword-only: put '*' before 'out'."
    )


def test_custom_op_out_tag_no_mutable_out(ns):
    """An operator with `out` writes to at least one argument."""
    assert refusal(ns, sin_out, tag=Tag.out, mutates_args=()) == (
        "Tag.out asks for a keyword-only argument that is written, as in (Tensor x, *, Tensor(a!) out)."
    )


def test_custom_op_out_tag_optional_mutable_out(ns):
    """What an operator with `out` writes into may not be None."""

    def optional(x: Array, *, out: Array | None = None) -> Array:
        return x if out is None else out

    assert refusal(ns, optional, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks that what is written is a plain Tensor; 'out' is a Tensor?."
    )


def test_custom_op_out_tag_list_mutable_out(ns):
    """What an operator with `out` writes into is no list."""

    def listed(x: Array, *, out: list[np.ndarray]) -> Array:
        return out[0]

    assert refusal(ns, listed, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks that what is written is a plain Tensor; 'out' is a Tensor[]."
    )


@pytest.mark.parametrize("returned", ["int", "Tensor(a!)?", "Tensor[]"])
def test_custom_op_out_tag_manual_schema_requires_tensor_out(returned, ns):
    """What an operator with `out` returns is one array for each it writes into."""
    schema = f"(Tensor x, *, Tensor(a!) out) -> {returned}"
    assert refusal(ns, lambda x, *, out: out, schema, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks for what is written, in order: 'out' as Tensor(a!)."
    )


def test_custom_op_out_tag_return_mismatch(ns):
    """As many arrays come back as are written into."""

    def one_of_two(x: Array, *, s: Array, c: Array) -> Array:
        return s

    def two_of_one(x: Array, *, out: Array) -> tuple[np.ndarray, np.ndarray]:
        return out, out

    assert refusal(ns, one_of_two, tag=Tag.out, mutates_args=("s", "c")) == (
        "Tag.out asks for one return for each written argument: 2, not 1."
    )
    assert refusal(ns, two_of_one, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks for one return for each written argument: 1, not 2."
    )


def test_custom_op_out_tag_single_return_tuple_mismatch(ns):
    """One array that is written into comes back as it is, in no tuple of one."""

    def in_a_tuple(x: Array, *, out: Array) -> tuple[np.ndarray]:
        return (out,)

    assert refusal(ns, in_a_tuple, tag=Tag.out, mutates_args=("out",)) == (
        "Tag.out asks for what is written, in order: 'out' as Tensor(a1!)."
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            "(Tensor x, *, Tensor out) -> Tensor",
            "Tag.out asks for a keyword-only argument that is written, as in (Tensor x, *, Tensor(a!) out).",
        ),
        ("(Tensor x, *, Tensor(a!) out) -> Tensor", "Tag.out asks for what is written, in order: 'out' as Tensor(a!)."),
        ("(Tensor x, *, Tensor(a!) out) -> ()", "Tag.out asks for one return for each written argument: 1, not 0."),
        (
            "(Tensor x, *, Tensor(a!)[] out) -> Tensor",
            "Tag.out asks that what is written is a plain Tensor; 'out' is a Tensor[].",
        ),
    ],
)
def test_custom_op_out_tag_bad_manual_schema(schema, message, ns):
    """A schema given as text that is none of an operator with `out` is refused, with what is missing."""
    written = ("out",) if "!" in schema else ()
    assert refusal(ns, lambda x, *, out: out, schema, tag=Tag.out, mutates_args=written) == message
