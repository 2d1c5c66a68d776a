"""SciPy's own tests for alternative backends, with `dispatch.numpy` as the backend and every floating-point array tracked:
`python -m tests.scipy_backends`.

Each test passes, or ends in a ConversionError: SciPy asks for NumPy's array, for C code of its own, and there a gradient would be
lost. What ends otherwise is printed, and is a fault. The figures go to docs/scipy_backends.json, which docs/coverage.md shows. This
takes a quarter of an hour, and no other test runs it.

The tests make their arrays by the namespace's creation functions, which give tracked copies here; whole numbers have no derivative and
stay NumPy's. Beside tracked arrays array-api-compat would call them another library's, so they count as this namespace's, and plain ones
with fractions alone as NumPy's, with which some tests compute what they expect. What a test compares, it compares as NumPy's.
"""

import collections
import json
import os
import sys
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["SCIPY_ARRAY_API"] = '["array_api_strict"]'  # whose place the backend takes

import numpy as np
import pytest

import dispatch
import dispatch.numpy as dnp

MODULES = {
    "fft": ["scipy.fft"],
    "special": ["scipy.special"],
    "stats": ["scipy.stats"],
    "signal.windows": ["scipy.signal.tests.test_windows"],
    "cluster": ["scipy.cluster"],
}
CREATION = """
    array asarray asanyarray ascontiguousarray arange empty empty_like eye from_dlpack full full_like linspace ones ones_like zeros zeros_like
"""
PAGE = Path(__file__).parent.parent / "docs" / "scipy_backends.json"


STATE = {"running": False}  # whether a test of the backend runs


def tracked(x: Any) -> Any:
    """A floating-point array as a tracked one that may be written to."""
    if not STATE["running"] or not isinstance(x, np.ndarray) or x.dtype.kind not in "fc" or type(x) is not np.ndarray:
        return x
    return np.copy(dispatch.tensor(x, requires_grad=True))


def untracked(x: Any) -> Any:
    return dispatch.detach(x) if isinstance(x, dispatch.Tensor) else x


def is_ours(x: Any) -> bool:
    return isinstance(x, dispatch.Tensor)


def is_whole(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biu"


def creating(function: Any) -> Any:
    @wraps(function)
    def made(*args: Any, **keywords: Any) -> Any:
        return tracked(function(*args, **keywords))

    return made


def prepare() -> None:
    """Put the backend in the place of array_api_strict, before SciPy's conftest looks for that, and behind SciPy's own imports."""
    from scipy._lib import _array_api_override

    theirs = _array_api_override.array_namespace

    def namespace(*arrays: Any) -> Any:
        if STATE["running"] and (any(map(is_ours, arrays)) or (arrays and all(map(is_whole, arrays)))):
            return dnp
        return theirs(*arrays)

    _array_api_override.array_namespace = namespace
    for names in MODULES.values():
        for name in names:
            import_module(name.partition(".tests")[0])
    for name in CREATION.split():
        setattr(dnp, name, creating(getattr(dnp, name)))
    backend = ModuleType("dispatch.numpy")
    backend.__dict__.update(empty=dnp.empty, __version__="2.6", set_array_api_strict_flags=lambda **_: None)
    STATE["running"] = True
    own = sys.modules.pop("array_api_strict", None)
    sys.modules["array_api_strict"] = backend
    import scipy.conftest
    from scipy._lib import _array_api

    del sys.modules["array_api_strict"]
    if own is not None:
        sys.modules["array_api_strict"] = own
    scipy.conftest.xp_known_backends.add("dispatch.numpy")  # so that what is marked as NumPy's alone is left out
    STATE["running"] = False
    checked = _array_api._strict_check

    def compared(*args: Any, **keywords: Any) -> Any:
        actual, desired, xp = checked(*map(untracked, args), **keywords)
        return untracked(actual), untracked(desired), xp

    _array_api._strict_check = compared
    _array_api._assert_matching_namespace = lambda *_: None  # what is a constant to derivatives comes as NumPy's
    _array_api._xp_copy_to_numpy = lambda x: np.array(untracked(x))


class Results:
    """What became of each test, by the module of SciPy."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        STATE["running"] = "array_api_strict" in item.nodeid
        try:
            return (yield)
        finally:
            STATE["running"] = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if "array_api_strict" not in item.nodeid:
            return report  # of NumPy's arrays alone
        if report.when == "call" or (report.when == "setup" and report.skipped):
            refused = call.excinfo is not None and any(
                isinstance(error, dispatch.errors.ConversionError) for error in chain(call.excinfo.value)
            )
            self.counts["refused" if refused else report.outcome] += 1
            if report.failed and not refused:
                self.faults.append(f"{item.nodeid}: {type(call.excinfo.value).__name__}: {str(call.excinfo.value)[:300]}")
        return report


def chain(error: BaseException | None) -> list[BaseException]:
    """An exception, and those that it came from."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def main(names: list[str]) -> int:
    prepare()
    figures = json.loads(PAGE.read_text()) if PAGE.exists() else {}
    faults = []
    for name in names or MODULES:
        results = Results()
        options = ["-q", "-m", "array_api_backends", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "ignore", "-o", "addopts=", "--disable-warnings"]
        pytest.main([*options, "-c", os.devnull, "--pyargs", *MODULES[name]], plugins=[results])
        counts = results.counts
        figures[name] = {"passed": counts["passed"], "refused": counts["refused"], "failed": len(results.faults)}
        faults += results.faults
        print(name, figures[name], dict(counts))
    print("\n".join(faults))
    figures["SciPy"] = import_module("scipy").__version__
    PAGE.write_text(json.dumps(dict(sorted(figures.items())), indent=2) + "\n")
    return len(faults) > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
