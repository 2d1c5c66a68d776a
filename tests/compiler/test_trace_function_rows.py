"""Every row and every custom operator of the tests, traced: the graph gives bit for bit what the operator gives, and so does
the graph of its gradient."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import DTYPES, cases, maker
from test_transform_pairs import OURS
from transform_cases import CASES
from turns import in_turn

from dispatch import grad, jvp, make_fx, ops, vmap
from dispatch.core import OpOverload
from dispatch.errors import NoRuleError
from tests.numpy_ops.test_table import OF_VALUES, ROWS, SETTLED, UNSET, describe, is_array, is_arrays, mapped, run

MODES = ["real", "fake", "symbolic"]
TRACED = {name: op for name, op in ROWS.items() if name not in UNSET | SETTLED}
OF_DATA = ("Singular matrix", "not positive definite", "did not converge")

every_row = pytest.mark.parametrize("op", TRACED.values(), ids=TRACED)
in_each_mode = pytest.mark.parametrize("mode", MODES)


def split(args: Any) -> tuple[list[Any], Callable[..., Any]]:
    """The arrays among arguments, and the arguments with others in their place."""
    arrays = [x for arg in args for x in (arg if is_arrays(arg) else [arg]) if is_array(x)]

    def with_arrays(*values: Any) -> Any:
        given = iter(values)
        return mapped(lambda _: next(given), args)

    return arrays, with_arrays


ORDERED = {"einsum", "linalg_multi_dot"}  # products of several arrays, in the order that is best for the sizes


def same(found: Any, expected: Any, about: str = "", rtol: float = 0.0) -> None:
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected), about
        assert len(found) == len(expected), about
        for x, y in zip(found, expected, strict=True):
            same(x, y, about, rtol)
    elif is_array(expected):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), about
        if rtol:
            np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=about)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=about)
    else:
        assert found == expected, about


def modes(op: OpOverload, number: int, count: int = 1) -> list[str]:
    """In which modes a case is traced. In a fake it cannot be told how many elements there are where that depends on data."""
    return in_turn([mode for mode in MODES if mode != "fake" or op.schema.name not in OF_VALUES], number, count)


@every_row
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_the_graph_of_a_row_gives_what_the_row_gives(op: OpOverload, dtype: Any) -> None:
    turn = list(DTYPES.values()).index(dtype)
    for number, (first, second) in enumerate(zip(cases(op, maker(dtype)), cases(op, maker(dtype, seed=1)), strict=True), turn):
        arrays, with_arrays = split(first)
        others = split(second)[0]

        def f(*values: Any, with_arrays: Any = with_arrays) -> Any:
            return run(op, with_arrays(*values))

        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            for mode in modes(op, number):
                try:
                    expected = run(op, first)
                except Exception as error:
                    if not any(said in str(error) for said in OF_DATA):
                        with pytest.raises(type(error)):
                            make_fx(f, mode)(*arrays)
                    continue
                graph = make_fx(f, mode)(*arrays)
                same(graph(*arrays), expected, f"{mode}, {describe(first)}")
                if [x.shape for x in others] == [x.shape for x in arrays]:
                    try:
                        expected = f(*others)
                    except (np.linalg.LinAlgError, IndexError, ValueError):
                        continue
                    same(graph(*others), expected, f"{mode}, {describe(first)}")


def loss(op: OpOverload, with_arrays: Callable[..., Any]) -> Callable[..., Any]:
    def f(*values: Any) -> Any:
        out = run(op, with_arrays(*values))
        parts = out if isinstance(out, (list, tuple)) else [out]
        return sum(np.sum(np.abs(x) ** 2) for x in parts if x.dtype.kind in "fc")

    return f


@every_row
def test_the_graph_of_a_gradient_gives_the_gradient(op: OpOverload) -> None:
    found = cases(op, maker(np.dtype("f8")))
    count = 1 if len(found) >= len(MODES) else len(MODES)
    for number, case in enumerate(found):
        arrays, with_arrays = split(case)
        by = tuple([i for i, x in enumerate(arrays) if x.dtype.kind in "fc"])
        f = loss(op, with_arrays)
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                expected = grad(f, by)(*arrays)
            except Exception:
                continue
            tangents = tuple([np.ones(x.shape, x.dtype) if i in by else None for i, x in enumerate(arrays)])
            pushed = jvp(f, tuple(arrays), tangents) if len(by) == len(arrays) else None
            for mode in modes(op, number, count):
                near = {"rtol": 1e-14} if mode == "symbolic" and op.schema.name in ORDERED else {}
                about = f"{mode}, {describe(case)}"
                same(make_fx(grad(f, by), mode)(*arrays)(*arrays), expected, about, **near)
                if pushed is not None:
                    same(make_fx(lambda *xs: jvp(f, xs, tangents), mode)(*arrays)(*arrays), pushed, about, **near)  # noqa: B023


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("name", ["itself", *OURS])
@in_each_mode
def test_the_graph_of_a_transformed_custom_operator_gives_what_it_gives(name: str, case: Any, mode: str) -> None:
    f = case if name == "itself" else OURS[name](case)
    try:
        graph = make_fx(f, mode)(case.at)
    except NoRuleError:
        if mode == "real":
            raise
        pytest.skip("an operator without a fake rule")
    for x in (case.at, case.at * 1.01):
        same(graph(x), f(x))


def test_a_batch_is_traced_as_what_runs() -> None:
    x = np.arange(6.0).reshape(3, 2)
    for mode in MODES:
        graph = make_fx(vmap(ops.np.sin), mode)(x)
        same(graph(x + 1), np.sin(x + 1))
        assert len(graph.nodes) == 2
