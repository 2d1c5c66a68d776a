"""A log and a profile see every step of a call, change nothing, and leave nothing behind."""

import io
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import leaf, made

import dispatch
from dispatch import log_calls, ops, profile
from dispatch.core import active_modes
from dispatch.dispatcher.call_log import Profile, ProfileRow
from dispatch.errors import ArgumentError

X = np.ones(3)


def logged(f):
    """The lines that a function's calls write, microseconds left out."""
    file = io.StringIO()
    with log_calls(file):
        f()
    lines = file.getvalue().splitlines()
    assert all(re.search(r"  \d+\.\d us$", line) for line in lines)
    return [line.rpartition("  ")[0] for line in lines]


def raising(x):
    raise KeyError("mine")


def test_a_line_has_operator_key_kernel_arguments_and_result():
    assert logged(lambda: ops.np.add(X, 1.0)) == ["np::add  CPU  <ufunc add>  (float64[3], float) -> float64[3]"]
    op = made("(Tensor x, *, int n=2) -> ()", lambda x, *, n: None)
    line = op.at(0).__code__.co_firstlineno
    assert logged(lambda: op(X)) == [f"making::op  CPU  test_call_log.py:{line}  (float64[3], int) -> None"]


def test_what_a_step_calls_stands_below_it():
    lines = logged(lambda: dispatch.vmap(np.sin)(np.ones((2, 3))))
    assert [(len(line) - len(line.lstrip()), line.split()[:2]) for line in lines] == [
        (0, ["np::sin", "VMAP"]), (2, ["np::sin", "CPU"]),
    ]  # fmt: skip
    assert lines[0].endswith("(float64[3]) -> float64[3]")
    assert lines[1] == "  np::sin  CPU  <ufunc sin>  (float64[2, 3]) -> float64[2, 3]"


def test_a_floor_without_a_registration_says_what_it_does():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    assert logged(lambda: dispatch.vmap(op)(X))[0] == "making::op  VMAP  the layer's default  (float64[]) -> float64[]"


def test_a_kernel_that_is_off_is_not_the_one_that_is_named():
    op = made("(Tensor x) -> Tensor", np.cos)
    op.register_kernel("cpu", np.sin)
    with op.set_kernel_enabled("cpu", False):
        assert "<ufunc cos>" in logged(lambda: op(X))[0]


def test_an_exception_is_in_its_lines_and_leaves_nothing():
    outer = made("(Tensor x) -> Tensor", lambda x: inner(x))
    inner = made("(Tensor x) -> Tensor", raising)
    file = io.StringIO()
    with pytest.raises(KeyError, match="mine"), log_calls(file) as log:
        with pytest.raises(KeyError):
            outer(X)
        outer(X)
    lines = file.getvalue().splitlines()
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 0, 2]
    assert all(" -> raises KeyError  " in line for line in lines)
    assert active_modes() == []
    assert repr(log) == "CallLog()"


def test_the_log_is_printed_by_default(capsys):
    with log_calls():
        ops.np.sin(X)
    ops.np.sin(X)
    assert capsys.readouterr().out.count("np::sin") == 1


def test_a_watched_program_computes_the_same():
    def f(x):
        return (np.sin(x) * x).sum()

    expected = dispatch.vmap(dispatch.grad(f))(np.ones((2, 3)))
    with log_calls(io.StringIO()), profile():
        assert np.array_equal(dispatch.vmap(dispatch.grad(f))(np.ones((2, 3))), expected)


def test_a_profile_sums_up_by_operator_and_floor():
    with profile() as seen:
        for _ in range(3):
            dispatch.vmap(np.sin)(np.ones((2, 3)))
        ops.np.cos(X)
    calls = {(row.operator, row.key): row.calls for row in seen.rows}
    assert calls == {("np::sin", "VMAP"): 3, ("np::sin", "CPU"): 3, ("np::cos", "CPU"): 1}
    by_place = {row[:2]: row for row in seen.rows}
    outer, inner = by_place["np::sin", "VMAP"], by_place["np::sin", "CPU"]
    assert inner.own == inner.total
    assert outer.total == pytest.approx(outer.own + inner.total)
    assert all(row.own > 0 for row in seen.rows)
    assert [row.own for row in seen.rows] == sorted((row.own for row in seen.rows), reverse=True)


def test_a_call_inside_one_of_its_own_kind_counts_once_in_the_total():
    op = made("(Tensor x, int n) -> Tensor", lambda x, n: op(x, n - 1) if n else x + 1)
    with profile() as seen:
        op(X, 5)
    (row,) = seen.rows
    assert row.calls == 6
    assert row.total == pytest.approx(row.own)


def test_a_profile_is_kept_goes_on_and_prints():
    seen = profile()
    assert isinstance(seen, Profile)
    for _ in range(2):
        with seen:
            ops.np.sin(X)
    ops.np.sin(X)
    assert [row.calls for row in seen.rows] == [2]
    head, line = repr(seen).splitlines()
    assert re.split(r"  +", head) == ["operator", "key", "calls", "total us", "own us", "us a call"]
    assert line.split()[:3] == ["np::sin", "CPU", "2"]
    assert seen._repr_html_().count("<tr>") == 2
    assert seen._repr_html_().startswith("<table><tr><th>operator</th>")
    assert ProfileRow._fields == ("operator", "key", "calls", "total", "own")


def test_an_exception_is_counted_and_leaves_nothing():
    op = made("(Tensor x) -> Tensor", raising)
    seen = profile()
    with pytest.raises(KeyError), seen:
        op(X)
    with seen:
        ops.np.sin(X)
    assert {row.operator: row.calls for row in seen.rows} == {"making::op": 1, "np::sin": 1}
    assert active_modes() == []


def test_the_backward_is_seen_too():
    x = leaf()
    with profile() as seen:
        np.sin(x).sum().backward()
    assert {"np::sin", "np::cos", "np::multiply"} <= {row.operator for row in seen.rows}


def test_carried_into_threads_they_see_those_threads_too():
    file = io.StringIO()
    with ThreadPoolExecutor(4) as pool, profile() as seen, log_calls(file):
        list(pool.map(dispatch.carry(lambda i: dispatch.vmap(np.sin)(np.ones((2, 3)))), range(40)))
    assert {(row.operator, row.key): row.calls for row in seen.rows} == {("np::sin", "VMAP"): 40, ("np::sin", "CPU"): 40}
    assert [line.split()[1] for line in file.getvalue().splitlines()].count("VMAP") == 40


def test_a_log_is_written_to_a_file():
    with pytest.raises(ArgumentError, match=r"log_calls writes to a file that is open for text, and an int was given\."):
        dispatch.log_calls(3)


def of_x(x):
    return np.sum(np.roll(x, 1) * x) + np.mean(np.sin(x))


WATCHED = {
    "grad": dispatch.grad(of_x),
    "jvp": lambda x: dispatch.jvp(of_x, (x,), (x,)),
    "vmap": lambda x: dispatch.vmap(of_x)(np.stack([x, x])),
    "hessian": dispatch.hessian(of_x),
    "functionalize": dispatch.functionalize(of_x),
    "compile": lambda x: dispatch.compile(of_x, fullgraph=True)(x),
    "loop": lambda x: dispatch.fori_loop(0, 3, lambda i, y: y * 2.0, x),
    **{mode: lambda x, mode=mode: dispatch.make_fx(of_x, mode)(x)(x) for mode in ("real", "fake", "symbolic")},
    **{f"{mode} grad": lambda x, mode=mode: dispatch.make_fx(dispatch.grad(of_x), mode)(x)(x) for mode in ("real", "fake", "symbolic")},
}


@pytest.mark.parametrize("f", WATCHED.values(), ids=WATCHED)
def test_whatever_is_watched_gives_what_it_gives_unwatched(f):
    x = np.linspace(0.1, 0.7, 4)
    with log_calls(io.StringIO()), profile():
        found = f(x)
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(f(x)), strict=True):
        np.testing.assert_array_equal(a, b)
