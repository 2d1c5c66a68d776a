"""What every test stands on: nothing measures time, nothing stays turned on, an oracle that is not installed skips."""

import faulthandler
import gc
import importlib.util
import math
import os
import re
import sys
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from dispatch.core import open_levels, turned_on

# No deadline, and no check of how fast cases are made: time is a question for bench/. Derandomised: a failure here is a failure everywhere.
untimed = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True)
hypothesis.settings.register_profile("dispatch", untimed, derandomize=True)
hypothesis.settings.load_profile("dispatch")
# `pytest --hypothesis-profile=nightly`: other cases each time, and more of those that count by the profile.
hypothesis.settings.register_profile("nightly", untimed, derandomize=False, max_examples=2000)

# A second import, for examples they have none of, would define their operators twice.
collect_ignore = [
    "autograd_programs.py",
    "border_operators.py",
    "cupy_laws.py",
    "cupy_stand_in.py",
    "custom_op_db.py",
    "conformance_operators.py",
    "dask_operators.py",
    "random_graphs.py",
    "transform_cases.py",
    "typing/refusals.py",  # for type checkers: what they hold to be wrong is wrong
    "typing/reveals.py",
    "writing_programs.py",
]

ORACLES = ("torch", "jax", "dask", "xarray", "autograd")  # markers, and the modules they need
# Marked `versions`: what another CPython or NumPy can break. The rest holds one part of the package against another.
# Of these, `numpy_versions`: NumPy's functions, which another CPython hands over as they are: 10 000 of the 17 000.
TESTS_OF_NUMPY_VERSIONS = ("tests/numpy_ops", "tests/graph/test_rows.py", "tests/test_coverage.py")
TESTS_OF_VERSIONS = (
    "README.md",
    "docs/custom_operators.md",
    "tests/autodiff",
    "tests/compiler/test_contract.py",
    "tests/control_flow",
    "tests/core",
    "tests/dispatcher",
    "tests/graph/test_rows.py",
    "tests/graph/test_serialize.py",
    "tests/layers",
    "tests/numpy_ops/linalg",
    "tests/numpy_ops/test_assignment.py",
    "tests/numpy_ops/test_from_ufunc.py",
    "tests/numpy_ops/test_polynomial_roots.py",
    "tests/numpy_ops/test_protocols.py",
    "tests/numpy_ops/test_protocols_inplace.py",
    "tests/numpy_ops/test_settled.py",
    "tests/numpy_ops/test_sorting.py",
    "tests/numpy_ops/test_table.py",
    "tests/operators",
    "tests/schema",
    "tests/test_coverage.py",
    "tests/test_laws.py",
    "tests/test_laws_tape.py",
    "tests/test_lifetime.py",
    "tests/test_packaging.py",
    "tests/test_threads.py",
)


UNLIKE_NUMPY_2_0 = {  # by a pattern of a test's name, what NumPy 2.0 does otherwise than every later one
    r"test_copyto_casts_a_number_as_numpy_does\[number9-": "NumPy 2.0 casts a scalar of NumPy's by its dtype",
    r"test_a_number_of_pythons_has_to_fit_where_numpy_says_so\[(copyto|select among)-": "NumPy 2.0 casts such a number otherwise",
    r"test_copyto_where_casts_as_copyto_does\[\[  1   0 300\]": "NumPy 2.0 casts such an array otherwise",
    r"TestASpellingOfNumPys::.*poly(val|grid)2d": "NumPy 2.0 hands these polynomials to nobody",
    r"test_round_is_that_of_numpys_scalars\[c16\]": "NumPy 2.0 warns of round() of a complex number",
    r"test_table.py::.*complex128-(np::)?linalg_cond": "NumPy 2.0 gives a complex condition number",
    "test_tolerances_that_are_not_finite_are_noted": "np.isclose of NumPy 2.0 warns of no tolerance",
    r"test_coverage.py::.*(hands_to_nobody|numpy_grows)": "NumPy 2.0 does not say which functions it hands over for like= alone",
    "test_a_learning_rate_costs_one_trace": "numbers of NumPy 2.0 read a float unseen, so each value is a trace of its own",
    r"test_a_batch_is_the_loop_over_it\[float32-np::(nan)?quantile": "of NumPy 2.0 an item stays float32, and the batch here is float64",
}


SELECTIONS = {  # by what `-m` asks for, where such tests stand
    "versions": TESTS_OF_VERSIONS,
    "versions and not numpy_versions": tuple([place for place in TESTS_OF_VERSIONS if not place.startswith(TESTS_OF_NUMPY_VERSIONS)]),
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files out that hold no test that is asked for: to collect them takes a version as long as to run a tenth of its tests."""
    places = SELECTIONS.get(config.getoption("markexpr"))
    if places is None or collection_path.is_dir():
        return None
    return None if any(collection_path.is_relative_to(config.rootpath / place) for place in places) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what depends on versions, by where it stands."""
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        for item in items:
            for name, reason in UNLIKE_NUMPY_2_0.items():
                if re.search(name, item.nodeid):
                    item.add_marker(pytest.mark.skip(reason=reason))
    root = config.rootpath
    of_versions = [root / place for place in TESTS_OF_VERSIONS]
    of_numpy = [root / place for place in TESTS_OF_NUMPY_VERSIONS]
    for path, of_path in groupby(items, lambda item: item.path):  # once for each file: there are 50 000 items
        if any(path.is_relative_to(place) for place in of_versions):
            marks = ["versions"] + ["numpy_versions"] * any(path.is_relative_to(place) for place in of_numpy)
            for item in of_path:
                for mark in marks:
                    item.add_marker(mark)


def pytest_collection_finish() -> None:
    """Take what was collected out of the collector's sight: each of the thousand `gc.collect()` of the tests would walk it whole."""
    gc.collect()
    gc.freeze()


class WatchForHangs:
    """Prints every thread's stack where no test has begun for five minutes: the longest, a tape of a million nodes, takes seconds.

    pytest's `faulthandler_timeout` makes a thread for each test and waits for its end, which takes longer than most tests.
    """

    def __init__(self) -> None:
        self.since = -math.inf
        self.stderr = os.dup(sys.__stderr__.fileno())  # while a test runs its output goes elsewhere

    def pytest_runtest_logstart(self) -> None:
        if time.monotonic() - self.since > 60:
            self.since = time.monotonic()
            faulthandler.dump_traceback_later(300, file=self.stderr)

    def pytest_unconfigure(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self.stderr)


def pytest_configure(config: pytest.Config) -> None:
    """Watch for hangs."""
    config.pluginmanager.register(WatchForHangs())


ABSENT = {oracle for oracle in ORACLES if importlib.util.find_spec(oracle) is None}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what asks an oracle that is not here."""
    if ABSENT and (lacking := ABSENT.intersection(mark.name for mark in item.iter_markers())):
        pytest.skip(f"{min(lacking)} is not installed")


def held() -> list[object]:
    """What this thread has turned on: its open levels, modes and settings."""
    return [*open_levels(), *turned_on()]


# Every test is held to the law: nothing, an exception least of all, leaves a level, a mode or a setting behind. By hooks: a fixture
# of every test costs a tenth of a millisecond, six seconds of the suite.


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call() -> Iterator[None]:
    """Compare what is on after a test with what was on before it."""
    before = held()
    result = yield
    assert held() == before
    return result


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Ask what is on when the fixtures of a file have ended."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        assert held() == []
    return result
