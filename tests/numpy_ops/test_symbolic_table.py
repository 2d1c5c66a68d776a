"""The law of every row under symbolic sizes: its shape rule gives expressions that are right for other sizes.

A row is held to it by being in the table. Each case of `samples.py` is made larger, its sizes distinct primes, and its shape
rule run once with symbols. Then the sizes change, and what the rule said, evaluated there, is what the kernel gives.
"""

from math import prod
from typing import Any

import numpy as np
import pytest
from samples import cases, maker
from turns import in_turn

import dispatch
from dispatch import FakeTensorMode
from dispatch.core import OpOverload
from dispatch.symbolic import ShapeEnv, SymInt
from tests.numpy_ops.test_table import (
    OF_VALUES,
    OPAQUE,
    ROWS,
    SETTLED,
    UNSET,
    describe,
    differentiable,
    is_array,
    mapped,
    memory_order,
    outputs,
    replaced,
    run,
    total,
)

# The sizes of the samples, and what they become; in the same order, so that what is larger stays larger.
SAMPLED = (2, 3, 4, 5)
PLACES = [(5, 7, 11, 13), (7, 11, 13, 17), (11, 17, 19, 23), (13, 19, 29, 31)]
SIZES = {"shape", "N", "M", "num"}  # arguments that are sizes
SPLIT = {"split", "vsplit", "hsplit", "dsplit"}  # into equal parts: every size is a multiple of all numbers of parts
# Rows of which some case asks for one size, by NumPy's own rules, or whose sample does.
PINNED = {
    "cross": "vectors of 3 components",
    "unstack": "as many results as the axis is long", "histogramdd": "as many edges as the sample has columns",
    "var": "less a fraction of a degree of freedom, a float",
    "std": "less a fraction of a degree of freedom, a float",
    "nanvar": "as var, of integers",
    "nanstd": "as std, of integers",
    "setitem": "a value that is half as long as an axis",
    "add_at": "values for half of an axis",
    "subtract_at": "values for half of an axis",
    "repeat": "a number for each element",
    "pad": "an axis is turned about its edge more than once",
    "poly_from_roots": "a step for each root",
    "polydiv": "a step for each coefficient of the quotient",
}
UNREAD = {"scatter_add", "view_scatter", "memory_view"}  # whose rules do not ask whether all arguments fit


def grown(n: int, sizes: dict[int, Any]) -> Any:
    """A size of a sample, made larger."""
    return sizes[n] if n in sizes else sizes[2] * sizes[3] if n == 6 else n


def larger(op: OpOverload, case: Any, sizes: dict[int, Any]) -> Any:
    """A case with every size larger; the elements over again, and matrices far from singular."""

    def made(x: Any) -> Any:
        found = np.resize(x, tuple([int(grown(n, sizes)) for n in x.shape])) if x.size else np.empty(
            tuple([int(grown(n, sizes)) for n in x.shape]), x.dtype)
        if op.schema.name.startswith("linalg") and found.ndim > 1 and found.shape[-1] == found.shape[-2]:
            found = found + np.asarray(100 * np.eye(found.shape[-1]), found.dtype)
        return found

    return mapped(made, case)


def with_sizes(op: OpOverload, args: Any, case: Any, sizes: dict[int, Any]) -> Any:
    """The arguments with other sizes in those that are sizes."""
    found = list(args)
    for i, name in enumerate(op.arguments.names):
        if name in SIZES or (name == "n" and op.schema.name == "identity"):
            x = case[i]
            found[i] = type(x)([grown(n, sizes) for n in x]) if isinstance(x, (tuple, list)) else None if x is None else grown(x, sizes)
    return tuple(found)


def placed(op: OpOverload, place: tuple[int, ...]) -> dict[int, int]:
    times = 12 if op.schema.name in SPLIT else 1
    return {n: times * m for n, m in zip(SAMPLED, place, strict=True)}


def evaluated(sizes: Any, values: dict[str, int]) -> tuple[int, ...]:
    return tuple([n.evaluate(values) if isinstance(n, SymInt) else n for n in sizes])


def laid_out(op: OpOverload, order: str, args: Any) -> Any:
    return mapped(lambda x: np.asarray(x, order=order), args)


@pytest.mark.parametrize("op", [op for name, op in ROWS.items() if name not in SETTLED], ids=lambda op: op.schema.name)
@pytest.mark.parametrize(("dtype", "order"), [("f8", "C"), ("f8", "F"), *((dtype, order) for dtype in ("c16", "i8") for order in in_turn("CF", dtype == "c16"))])
@np.errstate(all="ignore")
def test_one_run_of_the_shape_rule_is_right_for_other_sizes(op: OpOverload, dtype: str, order: str) -> None:
    for case in cases(op, maker(dtype)):
        first = placed(op, PLACES[0])
        args = laid_out(op, order, with_sizes(op, larger(op, case, first), case, first))
        try:
            run(op, args)
        except Exception:
            continue
        env = ShapeEnv()
        symbols = {n: env.new_size(m) for n, m in first.items()}
        with FakeTensorMode(shape_env=env) as mode:
            fakes = with_sizes(op, mapped(mode.from_array, args), case, symbols)
            made = outputs(run(op, fakes))
        holding = 0
        for place in PLACES:
            there = placed(op, place)
            moved = {grown(n, first): grown(n, there) for n in (*SAMPLED, 6)}
            values = {name: moved.get(x.hint, x.hint) for name, x in env.symbols.items() if x.hint is not None}
            if not env.holds(values):
                continue
            holding += 1
            try:
                expected = outputs(run(op, laid_out(op, order, with_sizes(op, larger(op, case, there), case, there))))
            except ValueError:
                assert op.schema.name in UNREAD
                continue
            assert len(made) == len(expected)
            for fake, real in zip(made, expected, strict=True):
                for n, m in zip(fake.shape, real.shape, strict=True):
                    if isinstance(n, SymInt) and n.hint is None:
                        values.setdefault(str(n), m)  # what data say
                shape, strides = evaluated(fake.shape, values), evaluated(fake.strides, values)
                said = f"{describe(args)}: {fake.shape} {fake.strides} at {values}"
                assert (shape, fake.dtype) == (real.shape, real.dtype), said
                if prod(shape):
                    assert [s for n, s in zip(shape, strides, strict=True) if n > 1] == memory_order(real), said
            env.run_checks(values)
        if holding < 4:
            assert op.schema.name in PINNED, (describe(args), env.guards)


# -- transforms ------------------------------------------------------------------------------------------------------------


def slope(f: Any, x: Any) -> Any:
    return dispatch.grad(f)(x)


def tangent(f: Any, x: Any) -> Any:
    return dispatch.jvp(f, (x,), (x,))[1]


STEPWISE = {"polydiv"}  # of as many steps as the sizes, which are here large: 20 s
# What the derivative of a row asks of its sizes, by the steps that it takes; other guards are those that the row leaves.
ASKING = {"cumprod", "product_of_others", "nancumprod", "linalg_svd", "linalg_full_svd", "linalg_svdvals_pulled", "linalg_full_qr", "linalg_raw_qr", "linalg_tall_full_qr", "ufunc_accumulate", "ufunc_reduceat"}


@pytest.mark.parametrize("op", [op for name, op in ROWS.items() if name not in UNSET | OPAQUE | OF_VALUES | STEPWISE], ids=lambda op: op.name)
@pytest.mark.parametrize("transform", [slope, tangent])
@np.errstate(all="ignore")
def test_a_derivative_asks_no_more_of_a_size_than_the_row_does(op: OpOverload, transform: Any) -> None:
    for number, case in enumerate(cases(op, maker("f8")), transform is tangent):
        sizes = placed(op, PLACES[0])
        args = with_sizes(op, larger(op, case, sizes), case, sizes)
        for at in in_turn([i for i in differentiable(args) if is_array(args[i])], number):

            def f(x: Any, args: Any = args, at: int = at) -> Any:
                return total(op.schema.name, run(op, replaced(args, at, x)))

            try:
                expected = transform(f, args[at])
            except Exception:
                continue
            found, env = symbolic_run(op, case, lambda fakes, at=at: transform(lambda x: f(x, fakes, at), fakes[at]))
            assert tuple([getattr(n, "hint", n) for n in found.shape]) == np.shape(expected), describe(args)
            _, alone = symbolic_run(op, case, lambda fakes, at=at: f(fakes[at], fakes, at))
            more = {str(guard) for guard in env.guards} - {str(guard) for guard in alone.guards}
            assert op.schema.name in ASKING | UNREAD or all("!= 1" in guard for guard in more), (describe(args), more)


def symbolic_run(op: OpOverload, case: Any, f: Any) -> tuple[Any, ShapeEnv]:
    """What a function gives of the fakes of a case, and what it asked."""
    sizes, env = placed(op, PLACES[0]), ShapeEnv()
    symbols = {n: env.new_size(m) for n, m in sizes.items()}
    with FakeTensorMode(shape_env=env) as mode:
        fakes = mapped(mode.from_array, with_sizes(op, larger(op, case, sizes), case, sizes))
        return f(with_sizes(op, fakes, case, symbols)), env


@pytest.mark.parametrize(
    "op",
    [op for name, op in ROWS.items() if name not in UNSET | OF_VALUES | STEPWISE and any(a.type.has_tensor for a in op.schema.arguments)],
    ids=lambda op: op.name,
)
@np.errstate(all="ignore")
def test_a_batch_asks_no_more_of_a_size_than_an_item_does(op: OpOverload) -> None:
    for number, case in enumerate(cases(op, maker("f8"))):
        sizes = placed(op, PLACES[0])
        args = with_sizes(op, larger(op, case, sizes), case, sizes)
        for at in in_turn([i for i, x in enumerate(args) if is_array(x)], number):
            batch = np.stack([args[at]] * 17)
            try:
                expected = outputs(dispatch.vmap(lambda x, args=args, at=at: run(op, replaced(args, at, x)))(batch))
            except Exception:
                continue

            def batched(fakes: Any, at: int = at, batch: Any = batch) -> Any:
                many = next(x for x in fakes if hasattr(x, "mode")).mode.from_array(batch)
                return dispatch.vmap(lambda x: run(op, replaced(fakes, at, x)))(many)

            found, env = symbolic_run(op, case, batched)
            for made, real in zip(outputs(found), expected, strict=True):
                assert tuple([getattr(n, "hint", n) for n in made.shape]) == real.shape, describe(args)
            _, alone = symbolic_run(op, case, lambda fakes: run(op, fakes))
            more = {str(guard) for guard in env.guards} - {str(guard) for guard in alone.guards}
            assert op.schema.name in UNREAD or all("!= 1" in guard for guard in more), (describe(args), more)


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize("to", [(3,), (1, -1), (-1,), (3, -1), (-1, 3), (1, 3, -1), (-1, 1)], ids=str)
@pytest.mark.parametrize("pick", [lambda x: np.nonzero(x)[0], lambda x: np.argwhere(x)[:, 0], lambda x: x[x > 0]], ids=["nonzero", "argwhere", "mask"])
def test_a_reshape_of_a_size_of_data_is_a_view_where_numpys_is(pick, to, mode):
    """However long it is guessed to be: what is written to the one is in the other."""

    def f(x):
        v = pick(x)
        w = v.reshape(to)
        w *= 2
        return v, w

    x = np.array([[1.0], [2.0], [3.0]])
    found, expected = dispatch.make_fx(dispatch.functionalize(f), mode)(x)(x), f(x)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert np.shares_memory(*found) == np.shares_memory(*expected)
