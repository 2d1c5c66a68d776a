"""A kernel that ends its process, hangs or takes all memory is a line of the report, and this process goes on."""

import ctypes
import importlib
import os
import pickle
import re
import signal
import sys
import warnings

import numpy as np
import pytest
from planted import A, define, like, tracked

from dispatch import DispatchKey
from dispatch.core.source import where
from dispatch.errors import ArgumentError, OpCheckError
from dispatch.testing import child_process, opcheck
from dispatch.testing.child_process import Elsewhere, Ended, Unfit, portable, run_in_fork, run_in_new

needs_fork = pytest.mark.skipif(not child_process.has_fork(), reason="no os.fork here")
KEPT = (
    " Refuse such arguments with an exception; arguments that belong together, as indices and what they point into, are kept by "
    'fixed=("indices",).'
)
MAY_WAIT = " If threads or a device that were started before make it wait, check it in this process: isolate=False."


def crash(x):
    ctypes.string_at(0)


def abort(x):
    os.abort()


def leave(x):
    os._exit(3)


def hang(x):
    while True:
        signal.pause()


def stop(x):
    sys.exit(4)


def take_all(x):
    return np.zeros(1 << 44, np.uint8)


DEATHS = {
    crash: "ended the process with SIGSEGV (x: float64[2, 3]).",
    abort: "ended the process with SIGABRT (x: float64[2, 3]).",
    leave: "ended the process with exit status 3 (x: float64[2, 3]).",
    hang: "did not return within 0.5 s (x: float64[2, 3])." + MAY_WAIT,
    stop: "raised SystemExit: 4 (x: float64[2, 3]).",
}


def checked(kernel, x=A, *, timeout=0.5, **options):
    op = define(kernel)
    op.register_fake(like)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return op, opcheck(op, (x,), raise_exception=False, timeout=timeout, **options)


@needs_fork
@pytest.mark.parametrize(("kernel", "how"), DEATHS.items(), ids=[kernel.__name__ for kernel in DEATHS])
def test_a_kernel_that_ends_its_process_is_a_line_of_the_report(kernel, how):
    op, report = checked(kernel)
    assert str(report["test_schema"]) == f"{op.name}: the kernel {where(kernel)} {how}"
    assert {word for name, word, said in report.rows if name != "test_schema"} == {"SKIPPED"}


@needs_fork
def test_a_kernel_that_takes_all_memory_raises_and_is_told():
    op, report = checked(take_all)
    assert f"{op.name}: the kernel {where(take_all)} raises MemoryError on the sample (x: float64[2, 3]): " in str(report["test_schema"])


@needs_fork
def test_the_run_that_ended_is_named_and_the_other_checks_go_on():
    def kernel(x):
        return crash(x) if x.dtype == np.int8 else x * 2

    op, report = checked(kernel, np.arange(6).reshape(2, 3), timeout=20.0)  # a child that loads the rows takes its time
    assert list(report.failures) == ["test_faketensor"]
    assert str(report["test_faketensor"]) == (
        f"{op.name}: the kernel {where(kernel)}, or the rule under check, ended the process with SIGSEGV on the sample as int8 "
        "(x: int8[2, 3])." + KEPT
    )
    assert report["test_vmap"] == "SUCCESS"


@needs_fork
@pytest.mark.parametrize("test_utils", ["ALL", "test_vmap"])
def test_a_call_that_hangs_is_waited_for_once(test_utils):
    def kernel(x):
        return hang(x) if x.size and x.flat[0] < 0 else x * 2.0

    _, report = checked(kernel, test_utils=test_utils)
    assert "did not return within 0.5 s on the sample negated (x: float64[2, 3])." + KEPT in str(report["test_schema"])
    others = {said for name, word, said in report.rows if name != "test_schema"}
    assert others == {"a call did not return in time, see test_schema"}


@needs_fork
def test_a_backward_that_ends_its_process_is_told():
    op = define(lambda x: x * 2.0)
    op.register_autograd(lambda ctx, g: crash(g))
    report = opcheck(op, (tracked(A),), raise_exception=False, test_utils="test_gradients")
    assert "or the rule under check, ended the process with SIGSEGV" in str(report["test_gradients"])


@needs_fork
def test_what_a_kernel_changes_in_its_process_stays_there():
    seen = []
    opcheck(define(lambda x: (seen.append(1), x * 2.0)[1]), (A,), test_utils="test_schema")
    assert seen == []
    opcheck(define(lambda x: (seen.append(1), x * 2.0)[1]), (A,), test_utils="test_schema", isolate=False)
    assert seen


def local_error():
    class OddError(Exception):  # which no pickle finds again
        pass

    return OddError("1 and 2")


@needs_fork
@pytest.mark.parametrize(("error", "kind"), [(KeyError("no"), KeyError), (local_error(), RuntimeError)])
def test_an_exception_comes_from_the_child_with_its_line(error, kind):
    def kernel(x):
        raise error

    with pytest.raises(OpCheckError) as caught:
        opcheck(define(kernel), (A,))
    cause = caught.value.__cause__
    assert type(cause) is kind
    assert any(note.startswith("raised in a child process, test_child_process.py:") and "raise error" in note for note in cause.__notes__)
    assert type(portable(error)) is kind
    assert isinstance(pickle.loads(pickle.dumps(portable(error))), kind)


@needs_fork
def test_the_tape_of_the_report_crosses_with_the_checks():
    op = define(lambda x: x * 2.0)
    op.register_autograd(lambda ctx, g: g * 3.0)
    report = opcheck(op, (tracked(A),), raise_exception=False, test_utils="test_gradients")
    assert f"of the gradient by {where(op.table.source(DispatchKey.AUTOGRAD).rule.backward)}" in str(report["test_gradients"])


@pytest.mark.parametrize("timeout", [0, -1.0, "long"])
def test_a_timeout_that_is_none_is_refused(timeout):
    said = f"opcheck: timeout= is a number of seconds above 0, and was given {timeout!r}."
    with pytest.raises(ArgumentError, match=f"^{re.escape(said)}$"):
        opcheck(define(lambda x: x), (A,), timeout=timeout)


# ---------------------------------------------------------------------------------------------------- without os.fork
@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with operators, which a new interpreter can import."""
    (tmp_path / "ops_of_a_file.py").write_text(
        "import ctypes\nimport numpy as np\nimport dispatch\n"
        "def one(name, kernel):\n"
        "    op = dispatch.custom_op(f'spawned::{name}', kernel, mutates_args=(), schema='(Tensor x) -> Tensor')\n"
        "    op.register_fake(lambda x: np.empty_like(x))\n"
        "    return op\n"
        "double = one('double', lambda x: x * 2.0)\n"
        "crash = one('crash', lambda x: ctypes.string_at(0))\n"
        "talk = one('talk', lambda x: (print('hello'), x * 2.0)[1])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("dispatch.testing.operator_checks.has_fork", lambda: False)
    return importlib.import_module("ops_of_a_file")


def test_without_fork_a_new_interpreter_imports_the_operator(module):
    for op in (module.double, module.talk):
        assert set(opcheck(op, (A,), test_utils=("test_schema", "test_vmap")).values()) == {"SUCCESS"}
    report = opcheck(module.crash, (A,), test_utils="test_schema", raise_exception=False)
    assert "ended the process with SIGSEGV (x: float64[2, 3])." in str(report["test_schema"])


@pytest.mark.parametrize("known", [True, False])
def test_what_neither_can_run_is_checked_here_and_the_report_says_so(monkeypatch, known):
    monkeypatch.setattr("dispatch.testing.operator_checks.has_fork", lambda: False)
    op = define(lambda x: x * 2.0)
    if not known:
        monkeypatch.setitem(sys.modules, "planted", None)
        monkeypatch.delitem(sys.modules, "planted")
    report = opcheck(op, (A,), test_utils="test_schema")
    assert report["test_schema"] == "SUCCESS"
    why = (
        f"a new process cannot run it: {op.name} was pickled, and is not known in this process: planted is imported and does not "
        "define it. Import planted in this process first."
        if known
        else "there is no os.fork here, and a new process cannot import the operator. Define it in a module."
    )
    assert report.advice == [f"{op.name} was checked in this process: {why}"]


def test_arguments_that_cannot_be_pickled_are_checked_here(monkeypatch):
    monkeypatch.setattr("dispatch.testing.operator_checks.has_fork", lambda: False)
    op = define(lambda x: x.copy())
    report = opcheck(op, (np.array([lambda: 1]),), test_utils="test_schema")
    assert report.advice[0].startswith(f"{op.name} was checked in this process: there is no os.fork here, and its arguments cannot be pickled: ")


# --------------------------------------------------------------------------------------------------------- the transport
def numbers(say):
    say("one")
    yield 1
    say("two")
    yield 2


def broken(say):
    say("first")
    yield 1
    say("second")
    os.kill(os.getpid(), signal.SIGKILL)


@needs_fork
def test_a_generator_runs_in_a_fork():
    assert list(run_in_fork(numbers, 5.0)) == [1, 2]
    assert list(run_in_fork(broken, 5.0)) == [1, Ended("ended the process with SIGKILL", "second")]


@needs_fork
def test_a_child_that_is_no_longer_wanted_is_ended():
    def endless(say):
        yield os.getpid()
        hang(None)

    children = run_in_fork(endless, 60.0)
    child = next(children)
    children.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@needs_fork
def test_a_copy_gives_what_it_found_until_it_ended_and_nothing_where_it_is_not_asked():
    def ends():
        yield 1
        yield 2
        os.kill(os.getpid(), signal.SIGKILL)

    def raises():
        yield 1
        raise ArithmeticError

    copies = [Elsewhere(ends), Elsewhere(raises), Elsewhere(lambda: hang(None)), Elsewhere(lambda: hang(None), 0.05)]
    assert copies[2].results(asked=False) == ([], "")  # though those made later hold its pipe
    assert copies[1].results() == ([1], "")
    assert copies[0].results() == ([1, 2], "SIGKILL")
    assert copies[3].results() == ([], "SIGALRM")


def test_work_that_cannot_be_found_again_is_told(monkeypatch):
    made = type(sys)("no_such_module_anywhere")
    monkeypatch.setitem(sys.modules, made.__name__, made)

    def work(say):
        raise AssertionError

    work.__module__, work.__qualname__ = made.__name__, "work"
    made.work = work
    assert list(run_in_new(work, 30.0)) == [Unfit("No module named 'no_such_module_anywhere'")]
