"""Every function of the table, called as NumPy is: the value, dtype, strides, scalar or array, what shares memory, what raises.

The oracle is NumPy's own function on the same plain arrays. `numpy_calls.py` makes the calls.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, UnsupportedError
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, UFUNCS, load_rest, spelling_of
from dispatch.numpy_ops.protocols import _array_ufunc
from dispatch.numpy_ops.ufunc_keywords import ufunc_with
from tests.numpy_ops.numpy_calls import Call, calls_of

load_rest()

# np.dot gives a scalar where out= has no axes and refuses what others cast, as multi_dot does; np.ptp of truths works with out= alone.
IGNORING_OUT = {np.fft.hfft, np.fft.ifft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn}  # always, or of no axes
OUT_BY_HALVES = {np.dot, np.linalg.multi_dot, np.ptp} | IGNORING_OUT
UNSET = {np.empty, np.empty_like}  # what they hold is nobody's business
OF_TENSORS = {np.copyto, np.put, np.put_along_axis, np.fill_diagonal}  # they write to Tensors alone; test_assignment.py holds them

# What is refused by name, where NumPy does it.
REFUSED = {
    ("np.reshape", "order"), ("np.reshape", "copy"), ("np.ravel", "order"), ("np.linalg.pinv", "hermitian"), ("np.linalg.svd", "hermitian"),
    ("np.linalg.svd", "full_matrices"), ("np.linalg.svd", ""), ("np.linalg.qr", "mode"), ("np.unique", "axis"), ("np.unique", "sorted"),
    ("np.linspace", "retstep"), ("np.pad", "mode"), ("np.array", "order"), ("np.asarray", "order"), ("np.asanyarray", "order"),
    ("np.cross", ""), ("np.cross", "axis"), ("np.cross", "axisa"), ("np.cross", "axisb"), ("np.cross", "axisc"),
}  # fmt: skip


def table() -> list[tuple[str, Any, Any]]:
    """Every function, by NumPy's name, and what stands for it."""
    found = [(spelling_of(f), f, ours) for f, ours in FUNCTIONS.items() if f not in OF_TENSORS]
    for ufunc, op in UFUNCS.items():

        def call(*args: Any, ufunc: Any = ufunc, op: Any = op, **options: Any) -> Any:
            if "out" in options:
                return _array_ufunc(None, ufunc, "__call__", *args, **{**options, "out": (options["out"],)})  # type: ignore[arg-type]
            return ufunc_with(ufunc, op, args, options) if options else op(*args)

        found.append((f"np.{ufunc.__name__}", ufunc, call))
    return found


TABLE = table()
every_function = pytest.mark.parametrize(("name", "function", "ours"), TABLE, ids=[name for name, *_ in TABLE])


def ran(function: Any, call: Call) -> tuple[Any, Any, list[Any]]:
    """The result of a call or the error that it raised, and the arrays that it was given."""
    args, keywords, made = call.arguments()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return function(*args, **keywords), None, made
    except Exception as error:
        return None, error, made


def memory_order(x: Any) -> Any:
    """The strides that mean something."""
    return [stride for n, stride in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []


def told(x: Any) -> Any:
    """What a result is, but for its elements."""
    if isinstance(x, (list, tuple)):
        return type(x), [told(item) for item in x]
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, memory_order(x)
    return (type(x), x.dtype.str) if isinstance(x, np.generic) else (type(x), x)


def parts(x: Any) -> list[Any]:
    return [part for item in x for part in parts(item)] if isinstance(x, (list, tuple)) else [x]


def bits(x: Any) -> Any:
    """The elements in a form in which a nan equals a nan, and 0. is not -0."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return bits(x.real), bits(x.imag)
    if x.dtype.kind != "f":
        return x.tolist()
    return [None if np.isnan(value) else (value, np.copysign(1, value)) for value in x.ravel().tolist()]


def keyword_of(call: Call, name: str) -> Any:
    return call.arguments()[1].get(name) if call.flags == (name,) else None


def difference(call: Call, ours: Any) -> Any:
    """What differs between NumPy's call and ours; None where nothing does."""
    if call.function in OUT_BY_HALVES and call.flags == ("out",):
        return None
    expected, error, given = ran(call.function, call)
    found, raised, got = ran(ours, call)
    keyword = call.flags[0] if call.flags else ""
    if isinstance(raised, UnsupportedError) or (keyword == "out" and isinstance(raised, ArgumentError)):
        _args, keywords, _ = call.arguments()
        refused = keyword == "initial" and keywords["initial"] is None  # no first element that all others are added to
        refused = refused or error is not None or keyword == "out" or (call.name, keyword) in REFUSED or (keyword == "order" and keywords["order"] == "A")
        return None if refused else ("refused", raised)
    if error is not None or raised is not None:
        return None if error is not None and raised is not None else ("raises", error, raised)
    if told(expected) != told(found):
        return told(expected), told(found)
    for x, y in zip(parts(expected), parts(found), strict=True):
        if isinstance(x, np.ndarray):
            shared = [[np.shares_memory(a, z) for z in arrays] for a, arrays in ((x, given), (y, got))]
            if shared[0] != shared[1]:
                return ("shares", *shared)
        if isinstance(x, (np.ndarray, np.generic)) and call.function not in UNSET and keyword_of(call, "mode") != "empty":
            x, y = (x + 0, y + 0) if call.function is np.unique and x.dtype.kind == "f" else (x, y)  # which of 0. and -0. is left
            if bits(x) != bits(y):
                return bits(x), bits(y)
    for x, y in zip(given, got, strict=True):
        if bits(x) != bits(y) and keyword != "overwrite_input":
            return ("writes", bits(x), bits(y))
    return None


@every_function
def test_a_row_does_what_numpys_own_function_does(name: str, function: Any, ours: Any, request: pytest.FixtureRequest) -> None:
    every = request.config.getoption("--hypothesis-profile") == "nightly"
    for call in calls_of(name, function, every):
        found = difference(call, ours)
        assert found is None, f"{call}: {found}"


def test_a_flag_that_nothing_honours_is_refused_by_name() -> None:
    x = dispatch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    for call, said in [
        (lambda: np.linspace(x[0], x[1], retstep=True), "np.linspace: retstep="),
        (lambda: np.reshape(x, (3,), copy=False), "np.reshape: copy=False has no row."),
        (lambda: np.linalg.pinv(x[None], hermitian=True), "np.linalg.pinv: hermitian=True has no row."),
        (lambda: np.prod(x, initial=None), "np::prod: initial=None has no row. Leave it out."),
        (lambda: np.add(x, 1, where=np.array([True, False, True])), "np.add: where=a ndarray has no row."),
        (lambda: np.sum(x, out=np.zeros_like(x, "f4", shape=())), "np.sum: out= has dtype float32, and the result float64."),
    ]:
        with pytest.raises(UnsupportedError, match=said.replace("(", r"\(")):
            call()
