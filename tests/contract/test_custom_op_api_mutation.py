"""TestCustomOpAPI, arguments that are written to: by name, all of them, and those that may be None."""

import warnings

import numpy as np
import pytest
from making import said

from dispatch import FakeTensorMode, Schema, custom_op
from dispatch.errors import ArgumentError, DefinitionError
from dispatch.testing import opcheck

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray


def test_mutated(ns):
    """What an operator writes to is named, is in its schema, and is written to in place; more than one may be.

    Adapted: torch counts versions of every written tensor; a plain array has none, and what has is a value on the tape.
    """

    @custom_op(f"{ns}::sin_into", mutates_args={"out", "lists"})
    def sin_into(x: Array, out: Array, lists: list[np.ndarray]) -> None:
        np.sin(x, out=out)
        for item in lists:
            item += 1

    assert str(sin_into.schema) == f"{ns}::sin_into(Tensor x, Tensor(a1!) out, Tensor(a2!)[] lists) -> ()"
    x, out, lists = X.copy(), np.empty(3), [np.zeros(2), np.zeros(1)]
    assert sin_into(x, out, lists) is None
    assert np.array_equal(out, np.sin(X))
    assert [item.tolist() for item in lists] == [[1, 1], [1]]
    assert np.array_equal(x, X)
    report = opcheck(sin_into, (X, np.empty(3), [np.zeros(2)]), test_utils=("test_schema", "test_faketensor"))
    assert set(report.values()) == {"SUCCESS"}


def test_mutated_fake(ns):
    """An operator that writes and returns nothing needs no shape rule."""

    @custom_op(f"{ns}::sin_", mutates_args=("x",))
    def sin_(x: Array) -> None:
        np.sin(x, out=x)

    with FakeTensorMode() as mode:
        assert sin_(mode.from_array(X)) is None


def test_mutated_error(ns):
    """What is said to be written to is a parameter, and an array.

    Beyond: an array that cannot be written to is refused at the call, before the kernel runs.
    """

    def define(names, fn):
        return custom_op(f"{ns}::refused", fn, mutates_args=names)

    def kernel(x: Array, n: int) -> None: ...

    assert said(lambda: define(("y",), kernel), DefinitionError) == (
        f"{ns}::refused: mutates_args names 'y', which is no parameter. Parameters: x, n."
    )
    assert said(lambda: define(("n",), kernel), DefinitionError) == (
        f"{ns}::refused: mutates_args names 'n', which is int. Only arrays can be written to."
    )
    assert said(lambda: define("x", kernel), DefinitionError) == (
        f"{ns}::refused: mutates_args is a string, and would be read letter by letter. Write mutates_args=('x',), or "
        '"unknown" for any of the arrays.'
    )
    op = define(("x",), kernel)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert said(lambda: op(frozen, 1), ArgumentError) == (
        f"{ns}::refused: argument 'x' is written to, and was given a read-only ndarray of shape (3,) and dtype float64. Pass an "
        "array that can be written to, x.copy() say, and look there for the result."
    )


def test_mutated_unknown(ns):
    """Where it is not known what is written, every array may be; an explicit schema is allowed with it.

    Beyond: torch refuses a schema beside mutates_args="unknown".
    """

    @custom_op(f"{ns}::any", mutates_args="unknown")
    def any_of(x: Array, n: int, ys: list[np.ndarray], z: Array | None = None) -> None:
        ys[0][...] = x

    marked = Schema.parse(f"{ns}::any(Tensor(a0!) x, int n, Tensor(a2!)[] ys, Tensor(a3!)? z=None) -> ()")
    assert any_of.schema == marked
    y = np.empty(3)
    any_of(X.copy(), 1, [y])
    assert np.array_equal(y, X)
    schema = "(Tensor(a!) x, Tensor y) -> ()"
    given = custom_op(f"{ns}::given", lambda x, y: None, mutates_args="unknown", schema=schema)
    assert given.schema.mutable_arguments == ("x",)


@pytest.mark.parametrize("call", ["omitted", "None", "keyword", "position"])
def test_mutated_optional_arg_default_none(call, ns):
    """An argument that is written to may be None, given or left out; the kernel gets None then."""
    seen = []

    @custom_op(f"{ns}::maybe", mutates_args=("out",))
    def maybe(x: Array, out: Array | None = None) -> None:
        seen.append(out)
        if out is not None:
            out[...] = x

    assert str(maybe.schema) == f"{ns}::maybe(Tensor x, Tensor(a1!)? out=None) -> ()"
    out = np.zeros(3)
    {
        "omitted": lambda: maybe(X),
        "None": lambda: maybe(X, None),
        "keyword": lambda: maybe(X, out=out),
        "position": lambda: maybe(X, out),
    }[call]()
    if call in ("omitted", "None"):
        assert seen == [None]
    else:
        assert seen[0] is out
        assert np.array_equal(out, X)


def test_mutated_no_warning(ns):
    """Defining and calling an operator that writes says nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @custom_op(f"{ns}::sin_", mutates_args=("x",))
        def sin_(x: Array) -> None:
            np.sin(x, out=x)

        sin_(X.copy())
        sin_(x=X.copy())
    assert not caught
