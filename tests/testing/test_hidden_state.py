"""What a kernel keeps between calls, or changes for everybody, is told; what it puts back is not, and nothing is left changed."""

import ctypes
import decimal
import gc
import locale
import logging
import os
import platform
import random
import signal
import sys
import warnings

import numpy as np
import pytest
from planted import A, define, fault

from dispatch import DispatchKey
from dispatch.core.source import where
from dispatch.testing import opcheck

ROUND_UP = 0x400000 if platform.machine() in ("aarch64", "arm64") else 0x800  # FE_UPWARD
BACK = "Put it back in `finally`."
CHANGES = {
    "how NumPy treats floating-point errors": (lambda: np.seterr(divide="ignore"), "Write `with np.errstate(...)`."),
    "how NumPy prints": (lambda: np.set_printoptions(precision=3), "Write `with np.printoptions(...)`."),
    "the working directory": (
        lambda: os.chdir("/"), "Name files by their whole path, or write `with contextlib.chdir(...)`.",
    ),
    "the environment": (
        lambda: os.environ.update(PLANTED_BY_A_KERNEL="1"), "Put it back in `finally`, or give it to a program alone: env=.",
    ),
    "the filters of warnings": (lambda: warnings.simplefilter("ignore"), "Write `with warnings.catch_warnings()`."),
    "the garbage collector": (gc.disable, BACK),
    "the recursion limit": (lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1), BACK),
    "the precision of the module decimal": (
        lambda: setattr(decimal.getcontext(), "prec", decimal.getcontext().prec + 1), "Write `with decimal.localcontext()`.",
    ),
    "where modules are looked for": (lambda: sys.path.append("/nowhere"), BACK),
    "the locale": (lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8" if locale.setlocale(locale.LC_ALL) == "C" else "C"), BACK),
    "where the process reads and prints": (
        lambda: os.dup2(os.open(os.devnull, os.O_WRONLY), 1),
        "Write `with contextlib.redirect_stdout(...)`, or os.dup2() it back.",
    ),
    "what a signal does": (  # a shell starts what runs in the background with SIGINT ignored
        lambda: signal.signal(signal.SIGINT, signal.SIG_DFL if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else signal.SIG_IGN),
        "Put the handler back in `finally`.",
    ),
    "how the processor rounds": (
        lambda: ctypes.CDLL(None).fesetround(ROUND_UP), "Put it back, by fesetround() or fesetenv().",
    ),
    "which messages the module logging lets through": (
        lambda: logging.disable(logging.ERROR), "Set the level of a logger of your own, and not of all.",
    ),
}  # fmt: skip
SEEDS = {
    "NumPy's global generator": (lambda: np.random.seed(0), np.random.random_sample),  # noqa: NPY002
    "the generator of the module random": (lambda: random.seed(0), random.random),
}


def kernel_of(op):
    return where(op.table.source(DispatchKey.CPU).rule)


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_for_everybody_is_named(name):
    change, advice = CHANGES[name]

    def kernel(x):
        change()
        return x * 2.0

    op = define(kernel)
    before = np.geterr(), np.get_printoptions(), os.getcwd(), dict(os.environ)
    assert fault(op, (A,), "test_schema") == (  # in a child process, so that nothing changes here
        f"{op.name}: the kernel {kernel_of(op)} leaves {name} changed, for everybody in the process. {advice}"
    )
    assert before == (np.geterr(), np.get_printoptions(), os.getcwd(), dict(os.environ))


def test_what_is_put_back_is_no_fault():
    def kernel(x):
        with np.errstate(all="raise"), np.printoptions(precision=3):
            return x * 2.0

    opcheck(define(kernel), (A,), test_utils="test_schema", isolate=False)


def test_a_filter_that_an_import_adds_once_is_no_finding():
    first = [True]

    def kernel(x):
        if first:
            warnings.filterwarnings("ignore", message="from an import")
            first.clear()
        return x * 2.0

    assert not opcheck(define(kernel), (A,), test_utils="test_schema", raise_exception=False).failures


@pytest.mark.parametrize("name", SEEDS)
def test_a_kernel_that_seeds_what_everybody_draws_from_is_caught(name):
    seed, draw = SEEDS[name]

    def kernel(x):
        seed()
        return x * 2.0 + draw()

    op = define(kernel)
    seed()
    kernel(A)  # the generator is as a call leaves it
    report = opcheck(op, (A,), test_utils="test_schema", raise_exception=False, isolate=False)
    assert (
        f"the kernel {kernel_of(op)} seeds {name}, so that everybody's random numbers repeat from there. Draw from one of its "
        "own: np.random.default_rng(seed)."
    ) in str(report["test_schema"])


@pytest.mark.parametrize("name", SEEDS)
def test_drawing_is_no_seeding_and_leaves_the_generators_as_they_were(name):
    _, draw = SEEDS[name]
    before = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002

    def kernel(x):
        draw()
        return x * 2.0

    op = define(kernel)
    report = opcheck(op, (A,), raise_exception=False, test_utils="test_schema")
    assert not report.failures, report
    np.testing.assert_array_equal(before[0], np.random.get_state()[1])  # noqa: NPY002
    assert before[1] == random.getstate()


def test_results_that_depend_on_the_calls_before_are_caught_in_a_child():
    known = {}

    def kernel(x):
        return known.setdefault(x.shape, np.cumsum(x)).copy()

    op = define(kernel)
    assert fault(op, (A,), "test_schema") == (
        f"{op.name}: the kernel {kernel_of(op)} gives another output 0 for the same arguments after a call with others: it keeps "
        "something from call to call. Compute it from the arguments, or keep it by all it depends on."
    )
    assert not known


def test_results_kept_by_all_they_depend_on_pass():
    known = {}

    def kernel(x):
        return known.setdefault((x.shape, x.dtype, x.tobytes()), np.cumsum(x)).copy()

    opcheck(define(kernel), (A,), test_utils="test_schema")


def test_what_is_changed_for_other_values_alone_is_named_with_the_sample():
    def kernel(x):
        if not x.any():
            os.environ["PLANTED_BY_A_KERNEL"] = str(np.random.default_rng().random())
        return x * 2.0

    op = define(kernel)
    assert fault(op, (A,), "test_schema").startswith(
        f"{op.name}: the kernel {kernel_of(op)} leaves the environment changed on the sample with zeros, for everybody in the process."
    )


def test_what_is_made_for_the_size_of_the_first_call_is_told():
    kept = []

    def kernel(x):
        kept[1:] = []
        kept.append(x.shape[-1])
        return x * kept[0]

    assert "gives another output 0 for the same arguments after a call with others" in fault(define(kernel), (A,), "test_schema")
