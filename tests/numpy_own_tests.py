"""NumPy's own tests with every floating-point array tracked: `python -m tests.numpy_own_tests`.

What a test makes by `np.array` and its kin is tracked here, and what it compares it compares as NumPy's. Each test passes; or ends in
one of this package's errors, which say what to write; or is excused in `EXCUSED`, with the reason, for it asks of an array what a
tracked value is not. What ends otherwise is printed, and is a fault. The refusals are counted by what they say. This takes a quarter
of an hour, and .ci/nightly runs it; `python -m tests.numpy_own_tests lib.test_histograms` runs one module.
"""

import collections
import functools
import os
import re
import sys
import types
from typing import Any

import numpy as np
import pytest

import dispatch
import dispatch.numpy as dnp
from tests.scipy_backends import STATE, chain, tracked, untracked

MODULES = """
    _core.test_einsum _core.test_errstate _core.test_function_base _core.test_half _core.test_indexing _core.test_item_selection
    _core.test_longdouble _core.test_mem_overlap _core.test_multiarray _core.test_nep50_promotions _core.test_numeric _core.test_regression
    _core.test_scalarmath _core.test_shape_base _core.test_ufunc _core.test_umath _core.test_umath_complex
    fft.test_helper fft.test_pocketfft
    lib.test_array_utils lib.test_arraypad lib.test_arraysetops lib.test_function_base lib.test_histograms lib.test_index_tricks
    lib.test_nanfunctions lib.test_polynomial lib.test_regression lib.test_shape_base lib.test_stride_tricks lib.test_twodim_base
    lib.test_type_check lib.test_ufunclike
    linalg.test_linalg linalg.test_regression
    polynomial.test_chebyshev polynomial.test_classes polynomial.test_hermite polynomial.test_hermite_e polynomial.test_laguerre
    polynomial.test_legendre polynomial.test_polynomial polynomial.test_polyutils
""".split()
CREATION = set("""
    array asarray asanyarray arange ones zeros full linspace eye identity empty_like ones_like zeros_like full_like ascontiguousarray
    asfortranarray logspace geomspace diag tri vander
""".split())  # fmt: skip
DRAWS = {"rand", "randn", "random", "random_sample", "normal", "uniform", "standard_normal"}
LEFT_OUT = "elide or DLPack or TestIO or fromfile or tofile or chebgrid3d or polygrid3d or leggrid3d or hermgrid3d or hermegrid3d or laggrid3d"
EXCUSED = {  # by a pattern of what a failure says, or of the test's name: why it is none of a tracked value's
    r"memoryview|bytes-like|must be numpy.ndarray|__array_interface__|Expected an array": "it reads an array's memory",
    r"producing an array|has no base|owndata|cannot be set|pickled": "it asks who holds memory, or sets a shape",
    r"Items are not equal:\\n ACTUAL: <class|'tensor\(|tensor\(np\.|np.isscalar|isscalar|generic\b|TypeError not raised by hash": "it asks for a class or a text",
    r"ConversionSyntax|assert <module": "it makes a number of the text of an array, or asks for the module",
    r"not supported between|unsupported operand type\(s\) for .* 'TrackedTensor'": "its class asks for an array in C, and takes our error for no answer",
    r"^AssertionError: ''$|^AssertionError: \"assert <class|is not a sequence|has no attribute 'data'": "it asks isinstance, or for the size of the object",
    r"test_choose|test_conjugate_out|test_maxdims|test_none_compares|test_scalar_equal|dtype_str_bytes": "a form that NumPy leaves, which this package spells otherwise",
    r"test_array_as_keyword|test_array_signature|test_array_scalar_ufunc_dtypes": "it asks which object a function is, or for a class",
    r"test_linear_interpolation_formula_0d_inputs": "it says out=..., which NumPy keeps to itself: an array of no axes is dispatch.numpy.asarray(x)",
    r"test_tol_warnings": "it asks for a warning of tolerances that are tracked, which are data",
    r"output must be an array|test_type_cast|all input arrays must have the same shape": "it writes into an array, or makes one of ragged ones",
}


def creating(function: Any) -> Any:
    """One of NumPy's functions that make arrays, which gives tracked ones, and takes them."""

    @functools.wraps(function)
    def made(*args: Any, **keywords: Any) -> Any:
        ours = getattr(dnp, function.__name__, None) if holds_ours(args) else None
        return tracked((ours or function)(*args, **keywords))

    return made


def holds_ours(x: Any, depth: int = 0) -> bool:
    return isinstance(x, dispatch.Tensor) or (type(x) in (list, tuple) and depth < 4 and any(holds_ours(y, depth + 1) for y in x))


class Namespace(types.ModuleType):
    """`numpy`, or `numpy.random`, as a test sees it."""

    def __init__(self, module: types.ModuleType, made: set[str]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update({name: creating(getattr(module, name)) for name in made if hasattr(module, name)}, module_=module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["module_"], name)
        return RANDOM if found is np.random else found


RANDOM = Namespace(np.random, DRAWS)
NUMPY = Namespace(np, CREATION)


def plain(x: Any, depth: int = 0) -> Any:
    """What a test compares, with NumPy's arrays in it."""
    if isinstance(x, dispatch.Tensor):
        return untracked(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(plain, x))
    if type(x) in (list, tuple) and depth < 4:
        return type(x)([plain(y, depth + 1) for y in x])
    return {k: plain(y, depth + 1) for k, y in x.items()} if type(x) is dict and depth < 4 else x


def comparing(function: Any) -> Any:
    return functools.wraps(function)(lambda *args, **keywords: function(*map(plain, args), **{k: plain(x) for k, x in keywords.items()}))


def changed(module: types.ModuleType) -> None:
    """Put what makes tracked arrays, and compares plain ones, in the places of NumPy's in a module of tests."""
    for name, x in list(vars(module).items()):
        if x is np:
            setattr(module, name, NUMPY)
        elif name in CREATION and x is getattr(np, name):
            setattr(module, name, creating(x))
        elif "assert_" in name and callable(x) and getattr(x, "__module__", "").startswith("numpy.testing") and not re.search("raises|warns|no_", name):
            setattr(module, name, comparing(x))


class Results:
    """What became of each test."""

    def __init__(self) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.refusals: collections.Counter[str] = collections.Counter()
        self.faults: list[str] = []
        self.modules: set[types.ModuleType] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        if item.module not in self.modules:
            self.modules.add(item.module)
            changed(item.module)
        STATE["running"] = True
        try:
            return (yield)
        finally:
            STATE["running"] = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = yield
        if report.when != "call":
            return report
        errors = chain(call.excinfo.value) if report.failed else []
        said = [f"{type(error).__name__}: {str(error)[:400]!r}" for error in errors]
        refused = [error for error in errors if isinstance(error, dispatch.errors.DispatchError)]
        if refused:
            self.counts["refused"] += 1
            self.refusals[reason(refused[-1])] += 1
        elif any(re.search(pattern, text) for pattern in EXCUSED for text in (*said, item.name) if errors):
            self.counts["excused"] += 1
        elif errors:
            self.faults.append(f"{item.nodeid}: {said[0]}")
        else:
            self.counts[report.outcome] += 1
        return report


def reason(error: BaseException) -> str:
    """What a refusal says in general: its first words, without the numbers, names and shapes of the one call."""
    said = re.sub(r"[0-9]+|'[^']*'|[(][^()]*[)]", "..", str(error))
    return f"{type(error).__name__}: {said[:110]!r}"


def main(names: list[str]) -> int:
    os.environ["NPY_AVAILABLE_MEM"] = "1 GB"  # NumPy leaves out what it says takes more: vectors of 2^31 numbers
    faults: list[str] = []
    refusals: collections.Counter[str] = collections.Counter()
    for name in names or MODULES:
        results = Results()
        package, _, module = name.partition(".")
        options = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", "default", "-o", "addopts=", "--disable-warnings", "-k", f"not ({LEFT_OUT})"]
        pytest.main([*options, "-c", os.devnull, "--pyargs", f"numpy.{package}.tests.{module}"], plugins=[results])
        counts = results.counts
        faults += results.faults
        refusals += results.refusals
        print(f"{name}: {counts['passed']} passed, {counts['refused']} refused, {counts['excused']} excused, {len(results.faults)} failed")
    print("\n".join([f"{count} refused: {said}" for said, count in refusals.most_common()] + faults))
    return len(faults) > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
