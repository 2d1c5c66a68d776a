"""Programs of NumPy at random do under every layer what NumPy does, and have the derivatives of torch and JAX; what differs is found.

The ordinary run makes three hundred; `python -m tests.fuzz_programs --programs 20000` is the nightly one.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import fuzz_programs
import numpy as np
import numpy_grammar
import program_checks
import program_lines
import program_oracles
import pytest
from fuzz_programs import LAYERS, outcome, shrunk
from numpy_grammar import Line
from numpy_programs import EVERYTHING, MOST, SMOOTH, Program, program

import dispatch

ROOT = Path(__file__).parent.parent


def said(different: list[tuple[Program, fuzz_programs.Outcome]]) -> str:
    """The first differences, as short programs."""
    small = [(shrunk(made, found.layer), found.layer) for made, found in different[:3]]
    return "\n\n".join(f"{layer}: {outcome(made, layer).said}\n{made.text}" for made, layer in small)


def one(text: str, *arguments: str, pattern: str = "", magnitude: str = "", family: str = "elementwise") -> Program:
    """A program of one line, which makes v0."""
    return Program(0, arguments, (Line(text, family, pattern or text, "v0", False, magnitude),), ("v0",))


@pytest.mark.parametrize("kind", [EVERYTHING, SMOOTH], ids=["everything", "smooth"])
def test_a_program_is_made_of_its_seed_and_runs_as_it_is_printed(kind: object) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(20):
            made = program(seed, kind)
            assert made == program(seed, kind)
            assert program(seed, kind, 3).lines == made.lines[:3]
            assert 0 < len(made.lines) <= MOST
            found: list[object] = []
            exec(made.text, {"print": found.append})
            assert found


def test_every_line_of_the_smooth_subset_is_one_of_the_grammar() -> None:
    for family, patterns in numpy_grammar.SMOOTH.items():
        assert set(patterns) <= set(numpy_grammar.EVERY[family])
    every = {pattern for patterns in numpy_grammar.EVERY.values() for pattern in patterns}
    assert set(numpy_grammar.ROUNDED) <= every
    assert set(numpy_grammar.SHARE) == set(numpy_grammar.EVERY)


def test_a_smooth_program_is_a_number_of_real_numbers() -> None:
    for seed in range(20):
        made = program(seed, SMOOTH)
        given = made.inputs()
        kept = [x.copy() for x in given]
        assert isinstance(made.number()(*given), np.float64)
        for x, y, z in zip(given, kept, made.inputs(1), strict=True):
            np.testing.assert_array_equal(x, y)
            assert z.shape == x.shape
            assert z.strides == x.strides


def planted(wrong: str) -> None:
    """Break a layer: what it makes of a function does another thing."""

    def broken(f: object, given: list[object]) -> object:
        exact = dispatch.functionalize(f)

        def run(*args: object) -> object:
            out = exact(*args)
            return tuple({"value": lambda x: x + x, "dtype": lambda x: np.asarray(x, np.float16), "sharing": np.copy}[wrong](x) for x in out)

        return run

    LAYERS["planted"] = program_checks.as_numpy(broken)


@pytest.mark.parametrize("wrong", ["value", "dtype", "sharing"])
def test_a_planted_difference_is_found_and_made_short(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAYERS, "planted", None)
    planted(wrong)
    found = next(made for made in map(program, range(100)) if outcome(made, "planted").said.find(wrong) >= 0)
    small = shrunk(found, "planted")
    assert outcome(small, "planted").kind == "different"
    assert wrong in outcome(small, "planted").said
    assert len(small.lines) <= 2
    assert len(small.returned) == 1 or wrong == "sharing"


def test_a_refusal_is_no_difference() -> None:
    masked = one("v0 = x0[x0 > 0]", "np.array([1.0, -1.0])")
    found = outcome(masked, "vmap")
    assert (found.kind, found.said[:40]) == ("refused", "np::getitem: a mask that differs from it")
    strange = one("v0 = [x0][int(type(x0) is not np.ndarray)]", "np.array([1.0, -1.0])")
    assert outcome(strange, "functionalize").kind == "different"


SUM = one("v0 = np.sum(x0)", "np.array([1e16, 1.0, -1e16, 1.0])", magnitude=numpy_grammar.ABSOLUTE)


@pytest.mark.parametrize(
    ("line", "ulps", "same"),
    [
        (SUM.lines[0], 0, True),
        (SUM.lines[0], 4, True),  # of 2e16, the sum of magnitudes: the result is 1
        (SUM.lines[0], 5, False),
        (SUM.lines[0]._replace(magnitude=""), 0, True),
        (SUM.lines[0]._replace(magnitude=""), 1, False),
    ],
)
def test_a_line_that_adds_up_may_be_four_ulp_of_its_magnitudes_apart_and_any_other_none(line: Line, ulps: int, same: bool) -> None:
    made = SUM._replace(lines=(line,))
    value = np.sum(made.inputs()[0])
    note = {"v0": value + np.float64(ulps * np.spacing(2e16 + 2))}
    if same:
        scope = program_lines.follow(made, made.inputs(), [note], "it")
        assert scope["v0"] == note["v0"]  # the next line starts from the layer's numbers
    else:
        with pytest.raises(program_lines.DifferenceError, match=r"v0 = np.sum\(x0\): v0 of it: value"):
            program_lines.follow(made, made.inputs(), [note], "it")


@pytest.mark.parametrize(("argument", "ulps", "same"), [("[::-1]", 4, True), ("[::-1]", 5, False), ("", 1, False)])
def test_a_line_to_which_numpy_gives_other_bits_without_gaps_may_be_four_ulp_apart(argument: str, ulps: int, same: bool) -> None:
    by_stride = one("v0 = x0 * (1 + 2e-16 * (x0.strides[0] < 0))", f"np.array([1.0, 1.0]){argument}")
    note = {"v0": by_stride.function()(*by_stride.inputs())[0] + ulps * np.spacing(1.0)}
    if same:
        assert program_lines.follow(by_stride, by_stride.inputs(), [note], "it")["v0"].tolist() == note["v0"].tolist()
    else:
        with pytest.raises(program_lines.DifferenceError, match="v0 of it: value"):
            program_lines.follow(by_stride, by_stride.inputs(), [note], "it")


def test_the_numbers_of_the_layer_are_written_in_place() -> None:
    line = Line("np.cumsum(x0, out=x0)", "summed writes", "", "x0", True, numpy_grammar.ABSOLUTE)
    made = Program(0, ("np.array([1.0, 2.0, 3.0])",), (Line("v0 = x0[1:]", "indexing", "", "v0", False, ""), line), ("v0",))
    after = np.array([1.0, 3.0 + 4e-16, 6.0])
    scope = program_lines.follow(made, made.inputs(), [{"v0": np.array([2.0, 3.0])}, {"x0": after, "v0": after[1:]}], "it")
    assert scope["v0"].tolist() == after[1:].tolist()
    assert np.shares_memory(scope["v0"], scope["x0"])


def test_the_command_counts_what_is_refused() -> None:
    words = [sys.executable, "-m", "tests.fuzz_programs", "--programs", "3", "--seed", "5", "--show", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "refused, of " in done.stdout, done.stdout + done.stderr
    assert "3 programs of seed 5 on, 0 differences" in done.stdout


def test_three_hundred_programs_do_what_numpy_does() -> None:
    report = fuzz_programs.run(range(100_000, 100_300), layers=tuple(LAYERS))
    assert sum(report.calls.values()) == 300 * len(LAYERS)
    assert not report.different, said(report.different)


def of_framework(name: str, count: int) -> None:
    report = fuzz_programs.run(range(200_000, 200_000 + count), layers=(name,))
    assert not report.different, said(report.different)
    assert report.calls[name] == count
    assert sum(report.refused.values()) <= count / 3


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own, when its jvp is first used
def test_values_and_derivatives_are_torchs() -> None:
    of_framework("torch", 150)


@pytest.mark.jax
def test_values_and_derivatives_are_jaxs() -> None:
    of_framework("jax", 20)


@pytest.mark.torch
def test_a_planted_derivative_is_told_from_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    made = next(p for p in (program(seed, program_oracles.kind("torch")) for seed in range(50)) if outcome(p, "torch").kind == "same")
    exact = program_oracles.of_this_package

    def wrong(f: object, xs: list[object], ts: list[object]) -> program_oracles.Derivatives:
        derivatives = exact(f, xs, ts)
        return derivatives._replace(second=[x + 1e-6 for x in derivatives.second])

    monkeypatch.setattr(program_oracles, "of_this_package", wrong)
    found = outcome(made, "torch")
    assert found.kind == "different"
    assert found.said.startswith("second: ")
