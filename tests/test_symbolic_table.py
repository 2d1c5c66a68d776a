"""The law of every row under symbolic sizes: its shape rule gives expressions that are right for other sizes.

A row is held to it by being in the table. Each case of `samples.py` is made larger, its sizes distinct primes, and its shape
rule run once with symbols. Then the sizes change, and what the rule said, evaluated there, is what the kernel gives.
"""

from math import prod
from typing import Any

import numpy as np
import pytest
from samples import cases, maker
from test_table import ROWS, describe, mapped, memory_order, outputs, run

from dispatch import FakeTensorMode
from dispatch.core import OpOverload
from dispatch.symbolic import ShapeEnv, SymInt

# The sizes of the samples, and what they become; in the same order, so that what is larger stays larger.
SAMPLED = (2, 3, 4, 5)
PLACES = [(5, 7, 11, 13), (7, 11, 13, 17), (11, 17, 19, 23), (13, 19, 29, 31)]
SIZES = {"shape", "N", "M", "num"}  # arguments that are sizes
SPLIT = {"split", "vsplit", "hsplit", "dsplit"}  # into equal parts: every size is a multiple of all numbers of parts
# Rows of which some case asks for one size, by NumPy's own rules, or whose sample does.
PINNED = {
    "cross": "vectors of 3 components",
    "unstack": "as many results as the axis is long",
    "var": "less a fraction of a degree of freedom, a float",
    "std": "less a fraction of a degree of freedom, a float",
    "setitem": "a value that is half as long as an axis",
    "repeat": "a number for each element",
}
UNREAD = {"scatter_add"}  # whose rule does not ask whether its first argument fits


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


@pytest.mark.parametrize("op", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("dtype", ["f8", "c16", "i8"])
@pytest.mark.parametrize("order", ["C", "F"])
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
