"""What a call would run: its keys in order, what fills each, what does not and why; and nothing is run."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Shadow, leaf, made, said, shadow

import dispatch
from dispatch import FakeTensorMode, custom_op, ops
from dispatch.core import (
    DispatchKey,
    Level,
    ModeGuard,
    Registration,
    Tensor,
    add_fallback,
    fallthrough_kernel,
    ground,
    remove_fallback,
    wrap,
)  # fmt: skip
from dispatch.dispatcher.key_guards import ExcludeDispatchKeyGuard
from dispatch.dispatcher.observer import Watcher
from dispatch.dispatcher.printing import TABLE
from dispatch.errors import ArgumentError
from dispatch.library import Library, register_array_type

X = np.ones(3)


def one(x):
    return x + 1


def two(x):
    return x + 2


def place(fn):
    return f"test_explain.py:{fn.__code__.co_firstlineno}"


def names(explanation):
    return [step.name for step in explanation.steps]


def passed(explanation, name):
    return next(step.passed for step in explanation.steps if step.name == name)


def stacked():
    """An operator with two kernels for the CPU and one for every device."""
    op = made("(Tensor x) -> Tensor", one)
    op.register_at(DispatchKey.CPU, two)
    op.register_at(DispatchKey.CompositeExplicit, one)
    return op


def test_a_call_prints_as_its_steps():
    op = stacked()
    assert repr(op.explain(X)) == (
        "making::op(x: float64[3])\n"
        f"CPU  kernel  {place(two)}  the arrays are on cpu\n"
        f"     not kernel {place(one)}: covered by a newer registration\n"
        f"     not kernel (CompositeExplicit) {place(one)}: CPU comes first"
    )
    assert repr(op.explain(x=X)) == repr(op.explain(X))


def test_without_arguments_every_floor_is_there():
    op = stacked()
    found = op.explain()
    assert [step[:3] for step in found.steps] == op.kernels.rows
    assert repr(found).splitlines()[0] == "making::op"
    assert all(step.reason == "" for step in found.steps)


@pytest.mark.parametrize(
    "op", [ops.np.sin, ops.np.add, ops.np.reshape, made("(Tensor x) -> Tensor", one, DispatchKey.CompositeImplicit)]
)
def test_the_table_of_all_keys_has_the_rows_of_kernels(op):
    assert [step[:3] for step in op.explain().steps] == op.kernels.rows


def test_an_operator_without_kernels_runs_nothing():
    op = made("(Tensor x) -> Tensor")
    assert op.explain().steps[-1][:3] == ("every device", "nothing: NoKernelError", "")
    assert op.explain(X).steps[-1][:3] == ("CPU", "nothing: NoKernelError", "")


def test_the_first_floor_is_where_the_call_begins():
    seen = []

    class Steps(Watcher):
        def watch(self, op, definition, rank, args, proceed):
            seen.append(DispatchKey(rank & 31).name)
            return proceed()

    explained = []

    def f(x):
        explained.append(ops.np.sin.explain(x))
        with Steps():
            y = ops.np.sin(x)
        return y.sum()

    dispatch.vmap(dispatch.grad(f))(np.ones((2, 3)))
    assert names(explained[0]) == seen == ["AUTOGRAD", "VMAP", "CPU"]
    assert re.fullmatch(r"argument 'x' is a TrackedTensor of grad \(level \d+\)", explained[0].steps[0].reason)
    assert re.fullmatch(r"argument 'x' is a BatchedTensor of vmap \(level \d+\)", explained[0].steps[1].reason)
    explained.clear(), seen.clear()
    dispatch.grad(lambda x: dispatch.vmap(f)(x).sum())(np.ones((2, 3)))
    assert names(explained[0]) == seen == ["VMAP", "AUTOGRAD", "CPU"]


def test_tracked_at_level_0_and_in_a_list():
    assert ops.np.sin.explain(leaf()).steps[0].reason == "argument 'x' is a TrackedTensor"
    op = made("(Tensor[] xs, Tensor? y=None) -> Tensor", lambda xs, y: xs[0] + 1)
    assert op.explain([X, leaf()]).steps[0].reason == "argument 'xs' holds a TrackedTensor"


def test_modes_are_steps_and_fakes_the_last_one():
    with FakeTensorMode() as mode:
        found = ops.np.sin.explain(mode.from_array(X))
        factory = ops.np.zeros.explain((2,))
    assert names(found) == names(factory) == ["FAKE"]
    assert found.steps[0].reason == "argument 'x' is a FakeTensor"
    assert factory.steps[0].reason == "FakeTensorMode() is on"
    assert ops.np.zeros.explain((2,)).steps[0].reason == "no array decides, and cpu is chosen"


def test_modes_and_wrappers_alternate_by_rank():
    op = made("(Tensor x) -> Tensor", one)
    with ModeGuard(DispatchKey.MODE, "low"), Level("t") as level, ModeGuard(DispatchKey.MODE, "high", level):
        found = op.explain(shadow(leaf(), level))
        assert [(step.name, step.reason.partition(" of ")[0]) for step in found.steps] == [
            ("JVP", "argument 'x' is a Shadow"), ("MODE", "'high' is on"), ("AUTOGRAD", "argument 'x' is a TrackedTensor"),
            ("MODE", "'low' is on"), ("CPU", "the arrays are on cpu"),
        ]  # fmt: skip


def test_every_reason_for_which_something_is_passed_over():
    op = made("(Tensor x) -> Tensor", two)
    op.register_at(DispatchKey.CompositeExplicit, two)
    for key in (DispatchKey.CompositeExplicit, DispatchKey.CompositeImplicit, DispatchKey.Autograd, DispatchKey.AUTOGRAD):
        op.register_at(key, one)
    found = op.explain()
    at, other = place(one), place(two)
    assert passed(found, "CPU") == (
        f"kernel (CompositeExplicit) {at}: CPU comes first",
        f"kernel (CompositeExplicit) {other}: CPU comes first",
        f"kernel (CompositeImplicit) {at}: CPU comes first",
    )
    assert passed(found, "other devices") == (
        f"kernel (CompositeExplicit) {other}: covered by a newer registration",
        f"kernel (CompositeImplicit) {at}: CompositeExplicit comes first",
    )
    assert passed(found, "AUTOGRAD") == (
        f"kernel (CompositeImplicit) {at}: layers use it only where no backend has a kernel",
        f"kernel (Autograd) {at}: AUTOGRAD comes first",
    )
    assert passed(found, "FAKE") == ()


def test_a_kernel_that_is_off_is_passed_over():
    op = stacked()
    with op.set_kernel_enabled("cpu", False):
        found = op.explain(X).steps[0]
    assert (found.runs, found.place) == ("kernel", place(one))
    assert found.passed[0] == f"kernel {place(two)}: passed over by making::op.set_kernel_enabled(cpu, False)"
    with (alone := made("(Tensor x) -> Tensor", one)).set_kernel_enabled("cpu", False):
        assert alone.explain(X).steps[0].runs == "nothing: NoKernelError"


def test_an_excluded_key_is_left_out():
    with ExcludeDispatchKeyGuard("AUTOGRAD"):
        found = ops.np.sin.explain(leaf())
    assert names(found) == ["CPU"]
    assert found.notes == [
        "AUTOGRAD is left out by ExcludeDispatchKeyGuard(AUTOGRAD): values count as constants, and modes as off."
    ]
    assert repr(found).endswith(found.notes[0])


def test_transparent_keys_and_fallbacks():
    op = made("(Tensor x) -> Tensor", one)
    traced = type("Traced", (Tensor,), {"__slots__": (), "key": DispatchKey.LAYER})
    assert op.explain(wrap(traced, X, ground())).steps[0].runs == "nothing: the call goes on below"
    op.register_at(DispatchKey.AUTOGRAD, fallthrough_kernel)
    assert op.explain(leaf()).steps[0].runs == "fallthrough: the call goes on below"
    fallback = Registration(Shadow.key, two)
    add_fallback(fallback)
    try:
        assert made("(Tensor x) -> Tensor", one).explain().steps[2][:3] == ("JVP", "fallback of every operator", place(two))
    finally:
        remove_fallback(fallback)


def test_a_device_of_ones_own():
    class Here:
        shape, dtype = (3,), np.dtype("f8")

    register_array_type(Here, device="remote")
    op = made("(Tensor x) -> Tensor", one)
    assert op.explain(Here()).steps[0][1:4:2] == ("nothing: NoKernelError", "the arrays are on remote")


def test_what_the_call_would_be_refused_for_is_said():
    op = made("(Tensor x) -> Tensor", one)
    for call in (lambda f: f("text"), lambda f: f(X, X), lambda f: f(y=X)):
        found = call(op.explain)
        assert found.steps == []
        assert found.notes == [f"The call is refused: {said(lambda call=call: call(op), ArgumentError)}"]
    with Library("explained", "DEF") as lib:
        lib.define("gone(Tensor x) -> Tensor")
        gone = ops.explained.gone
    assert "The call is refused: explained::gone is gone" in repr(gone.explain(X))


def test_nothing_is_run():
    ran = []
    op = made("(Tensor x) -> Tensor", lambda x: ran.append(x))
    op.register_fake(lambda x: ran.append(x))
    op.explain(X), op.explain(leaf()), op.explain()
    assert ran == []


def test_in_a_notebook_it_is_a_table():
    @custom_op("explainingtests::f", mutates_args=())
    def f(x: np.ndarray) -> np.ndarray:
        return x

    html = f.explain("<")._repr_html_()
    assert html.startswith(f"{TABLE}<caption>explainingtests::f(x: str)</caption></table><p>The call is refused")
    html = stacked().explain(X)._repr_html_()
    assert html.count("<tr>") == 1
    assert "<td>kernel<br>not kernel" in html


KEYS = [
    DispatchKey.CPU,
    DispatchKey.CompositeExplicit,
    DispatchKey.CompositeImplicit,
    DispatchKey.AUTOGRAD,
    DispatchKey.Autograd,
]


@given(st.lists(st.sampled_from(KEYS), max_size=6))
def test_what_is_said_to_run_is_what_the_table_holds(keys):
    op = made("(Tensor x) -> Tensor")
    registrations = [op.register_at(key, lambda x: x + 1) for key in keys]
    rows = {step.name: step for step in op.explain().steps}
    for key in (DispatchKey.CPU, DispatchKey.AUTOGRAD, DispatchKey.VMAP):
        live = op.table.source(key)
        row = rows[key.name] if key.name in rows else rows["every device"]
        assert (live is None) == (row.runs.startswith("nothing") or "default" in row.runs)
        candidates = [r for r in registrations if r.key in (key, DispatchKey.CompositeImplicit)
                      or (r.key is DispatchKey.CompositeExplicit and key.is_backend)
                      or (r.key is DispatchKey.Autograd and key is DispatchKey.AUTOGRAD)]  # fmt: skip
        assert len(row.passed) == len(candidates) - (live is not None)
    ranks = [DispatchKey[name] for name in rows if name in DispatchKey.__members__]
    assert all(a > b for a, b in pairwise(ranks))
