"""Every function of the table, called as NumPy is: the value, dtype, strides, scalar or array, what shares memory, what raises.

The oracle is NumPy's own function on the same plain arrays. `numpy_calls.py` makes the calls. The file has more than 350 lines, because
plain, tracked, fake and replayed calls are held to the same description of a result.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from turns import every

import dispatch
from dispatch import FakeTensorMode
from dispatch.core import Tensor
from dispatch.errors import ArgumentError, DispatchError, PerformanceWarning, UnsupportedError
from dispatch.layers.fake import FakeTensor
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, UFUNCS, load_rest, spelling_of
from dispatch.numpy_ops.protocols import _array_ufunc
from dispatch.numpy_ops.ufunc_keywords import ufunc_with
from dispatch.operators import prims
from dispatch.operators.views import is_number
from tests.numpy_ops.numpy_calls import Call, calls_of

load_rest()

# np.dot gives a scalar where out= has no axes and refuses what others cast, as multi_dot does; np.ptp of truths works with out= alone.
IGNORING_OUT = {np.fft.hfft, np.fft.ifft2, np.fft.irfft2, np.fft.fftn, np.fft.ifftn}  # always, or of no axes
OUT_BY_HALVES = {np.dot, np.linalg.multi_dot, np.ptp} | IGNORING_OUT
DISTINCT = {np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values, np.intersect1d, np.setxor1d, np.setdiff1d, np.union1d}
UNSET = {np.empty, np.empty_like}  # what they hold is nobody's business
OF_TENSORS = {np.copyto, np.put, np.put_along_axis, np.fill_diagonal, np.place, np.putmask}  # they write to Tensors alone; test_assignment.py holds them

# What is refused by name, where NumPy does it.
REFUSED = {
    ("np.reshape", "order"), ("np.ravel", "order"),
    ("np.lib.stride_tricks.sliding_window_view", "writeable"), ("np.array", "order"), ("np.asarray", "order"), ("np.asanyarray", "order"),
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
    if isinstance(x, np.poly1d):  # of two with a nan none is the other
        return type(x), told(x.coeffs)
    if isinstance(x, np.ndarray):
        return "array", x.dtype.str, x.shape, memory_order(x)
    return (type(x), x.dtype.str) if isinstance(x, np.generic) else (type(x), x)


def parts(x: Any) -> list[Any]:
    if isinstance(x, np.poly1d):
        return [x.coeffs]
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
            x, y = (x + 0, y + 0) if call.function in DISTINCT and x.dtype.kind in "fc" else (x, y)  # which of 0. and -0. is left
            if bits(x) != bits(y):
                return bits(x), bits(y)
    for x, y in zip(given, got, strict=True):
        if bits(x) != bits(y) and keyword != "overwrite_input":
            return ("writes", bits(x), bits(y))
    return None


@every_function
def test_a_row_does_what_numpys_own_function_does(name: str, function: Any, ours: Any) -> None:
    for call in calls_of(name, function, every()):
        found = difference(call, ours)
        assert found is None, f"{call}: {found}"


def test_a_flag_that_nothing_honours_is_refused_by_name() -> None:
    x = dispatch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    for call, said in [
        (lambda: np.partition(x, 1, order="f"), "np.partition: order= is not a parameter of np::partition(x, kth, axis, kind)."),
        (lambda: np.prod(x, initial=None), "np::prod: initial=None has no row. Leave it out."),
        (lambda: np.add(x, 1, where=np.array([True, False, True])), "np.add: where=a ndarray has no row."),
        (lambda: np.sum(x, out=np.zeros_like(x, "f4", shape=())), "np.sum: out= has dtype float32, and the result float64."),
    ]:
        with pytest.raises(UnsupportedError, match=re.escape(said)):
            call()


def test_a_dot_with_a_number_is_written_to_what_multiply_is() -> None:
    """NumPy is the oracle: only of dtypes that BLAS has must out= be contiguous, and of the shape and dtype of the result."""
    for given in "bld":
        for shapes in (((), ()), ((3,), ()), ((), (2, 3))):
            x, y = [np.arange(2, 2 + np.prod(shape, dtype=int)).reshape(shape).astype(given) for shape in shapes]
            for out in (np.zeros((2, 3), given), np.zeros((2, 3), given, order="F"), np.zeros((2, 3)), np.zeros((3, 2), "l").T):

                def product(x: Any, y: Any, out: Any) -> Any:
                    return np.dot(x, y, out=out), out

                try:
                    expected = product(x, y, out.copy("K"))[1]
                except ValueError:
                    with pytest.raises((ValueError, UnsupportedError)):
                        dispatch.make_fx(product, "fake")(x, y, out.copy("K"))
                    continue
                found = dispatch.make_fx(product, "fake")(x, y, out.copy("K"))(x, y, out.copy("K"))
                np.testing.assert_array_equal(found[0], expected)
                np.testing.assert_array_equal(found[1], expected)
                assert np.shares_memory(*found)


OF_TOTALS: list[dict[str, Any]] = [{}, {"initial": 2}, {"initial": -1}, {"where": np.array([True, False, True])}]


@pytest.mark.parametrize(
    ("name", "options"), [("cumsum", {}), ("cumprod", {}), *[(name, options) for name in ("sum", "prod") for options in OF_TOTALS]], ids=str
)
def test_a_total_is_added_up_in_the_dtype_of_out(name: str, options: dict[str, Any]) -> None:
    """NumPy is the oracle: of `np.int8` it adds in int64, and into an out= of int8 in that, where 100 + 100 is -56."""
    f, counted = getattr(np, name), 0
    for given in "?bHifdF":
        x = np.array([[100, 3, 100], [2, 1, 1]]).astype(given)
        for into in "?bHilfdFD":
            for axis in (0, None):
                shape = np.shape(f(x, axis=axis))

                def total(x: Any, shape: Any = shape, into: str = into, axis: Any = axis) -> Any:
                    return f(x, axis=axis, out=np.zeros_like(x, into, shape=shape), **options)

                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        expected = total(x)
                    except OverflowError:  # -1 is no number of an unsigned dtype
                        with pytest.raises(OverflowError):
                            dispatch.make_fx(total, "fake")(x)
                        continue
                    try:
                        found = dispatch.make_fx(total, "fake")(x)(x)
                    except UnsupportedError:
                        assert np.result_type(given, into) != np.dtype(into)
                        continue
                assert (type(found), found.dtype, found.tobytes()) == (type(expected), expected.dtype, expected.tobytes()), (given, into, axis)
                counted += 1
    assert counted > 50


# -- the same calls of values that a layer follows ---------------------------------------------------------------------------

NUMBERS = [2, 0.5, True, 1j, np.float32(2), np.int8(3), [1, 2]]


def replaced(args: Any, made: list[Any], by: Any) -> Any:
    """Arguments with something in place of each of the arrays."""
    if isinstance(args, (list, tuple)):
        return type(args)([replaced(x, made, by) for x in args])
    return by(args) if isinstance(args, np.ndarray) and any(args is x for x in made) else args


def taped(x: Any) -> Any:
    return dispatch.tensor(x, requires_grad=True) if x.dtype.kind in "fc" else x


def kind_of(x: Any) -> Any:
    """Dtype, shape, and whether it is a number; of what is no array nothing."""
    if not isinstance(x, (Tensor, np.ndarray, np.generic)):
        return None
    return x.dtype, np.shape(x), not np.shape(x) and is_number(x)


def as_numpy_calls(function: Any, ours: Any) -> Any:
    return function if isinstance(function, np.ufunc) else ours


@every_function
def test_a_call_of_tracked_values_gives_numpys_dtypes_shapes_and_kinds(name: str, function: Any, ours: Any) -> None:
    for call in calls_of(name, function, False):
        if call.dtype not in ("f2", "f8", "c8") or call.flags == ("out",):
            continue
        expected, error, _ = ran(function, call)
        args, keywords, made = call.arguments()
        if error is not None:
            continue
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                found = as_numpy_calls(function, ours)(*replaced(args, made, taped), **keywords)
        except DispatchError:
            continue
        for x, y in zip(parts(found), parts(expected), strict=True):
            assert not isinstance(x, Tensor) or kind_of(x) == kind_of(y), call


@every_function
def test_a_number_or_a_list_in_place_of_an_array_is_what_numpy_makes_of_it(name: str, function: Any, ours: Any) -> None:
    if name == "np.clip" and isinstance(function, np.ufunc):
        return  # what x.clip() calls, with an array first: NumPy has no name for it
    for call in calls_of(name, function, False):
        if call.dtype not in ("f2", "i1") or call.flags or call.layout != "C" or function is np.linalg.multi_dot:  # of two it is np.dot
            continue
        count = len(call.arguments()[2])
        for n in range(count if count > 1 else 0):
            for number in NUMBERS:

                def given(number: Any = number, n: int = n, call: Call = call) -> Any:
                    args, _, made = call.arguments()
                    return replaced(args, made[n : n + 1], lambda x: number), [x for i, x in enumerate(made) if i != n]

                args, made = given()
                try:
                    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                        expected = function(*args)
                except Exception:
                    continue
                args, made = given()
                try:
                    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                        found = as_numpy_calls(function, ours)(*replaced(args, made, taped))
                except DispatchError:
                    assert name == "np.cross", (call, number)  # of vectors of two components
                    continue
                for x, y in zip(parts(found), parts(expected), strict=True):
                    assert not isinstance(x, Tensor) or kind_of(x) == kind_of(y), (call, number)


def writing(call: Call, f: Any) -> tuple[Any, list[Any]]:
    """A function of the arrays of a call that writes to its results, and the arrays."""
    args, keywords, made = call.arguments()

    def run(*xs: Any) -> Any:
        values = iter(xs)
        out = parts(f(*replaced(args, made, lambda x: next(values)), **keywords))
        for x in out if all(np.shape(x) for x in out) else ():
            x[...] = np.cos(x) * 3
        return [*out, *xs]

    return run, made


def test_a_write_to_a_result_shows_in_the_arguments_where_it_is_a_view() -> None:
    """A composite whose function gives its argument back gave a fake that was a view of nothing."""
    for name, function, ours in TABLE:
        for call in [] if isinstance(function, np.ufunc) or function is np.einsum_path else calls_of(name, function, False):
            expected, error, given = ran(function, call)
            views = [x for x in parts(expected) if isinstance(x, np.ndarray) and x.size]
            if call.dtype != "f8" or error is not None or not any(np.shares_memory(x, y) for x in views for y in given):
                continue

            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                try:
                    run, made = writing(call, function)
                    expected = run(*made)
                    run, made = writing(call, ours)
                    found = dispatch.make_fx(dispatch.functionalize(run), "fake")(*map(prims.strided_copy, made))(*made)
                except (DispatchError, ValueError):
                    continue  # a view that is read-only
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x, y, err_msg=str(call))


# -- what has no data, and what is replayed ----------------------------------------------------------------------------------

AS_DATA_SAY = {np.linalg.lstsq, np.linalg.eig, np.linalg.eigvals, np.einsum_path}  # a residual by the rank, a real number by the others
OF_BYTES = {">f8": ">f8", ">i4": ">i4", "c16": ">c16"}


def described(x: Any, beside: Any) -> Any:
    """Dtype with its byte order, shape, and whether it is a number of NumPy's; of what is no array its class."""
    if type(x) in (bool, int) and isinstance(beside, FakeTensor):  # of which a fake has the dtype
        x = np.asarray(x)[()]
    if isinstance(x, (Tensor, np.ndarray, np.generic)):
        return x.dtype.str, tuple(x.shape), not x.shape and is_number(x)
    return type(x)


def hold_to_numpy(run: Any, dtypes: dict[str, str], every: bool) -> int:
    """Hold each call of arrays of some dtypes to what NumPy gives, and count them; what is refused in words of ours is no difference."""
    held = 0
    for name, function, _ours in TABLE:
        for call in [] if function in AS_DATA_SAY else calls_of(name, function, every):
            if call.dtype not in dtypes or call.layout != "C" or call.flags == ("out",):
                continue
            call = call._replace(dtype=dtypes[call.dtype])
            args, keywords, made = call.arguments()
            expected, error, _ = ran(function, call)
            if error is not None or not made or any(isinstance(x, Iterator) for x in args):
                continue

            def called(*xs: Any, call: Any = (function, args, keywords, made)) -> Any:
                function, args, keywords, made = call
                by = {id(x): y for x, y in zip(made, xs, strict=True)}
                return function(*replaced(args, made, lambda x: by[id(x)]), **keywords)

            try:
                with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                    found = run(called, made)
            except DispatchError:
                continue
            held += 1
            pairs = list(zip(parts(found), parts(expected), strict=True))
            assert [described(x, x) for x, _ in pairs] == [described(y, x) for x, y in pairs], call
    return held


def as_fakes(f: Any, made: list[Any]) -> Any:
    with FakeTensorMode() as mode:
        return f(*map(mode.from_array, made))


def test_a_fake_of_swapped_bytes_is_what_numpy_gives() -> None:
    assert hold_to_numpy(as_fakes, OF_BYTES, every=True) > 1000


def test_a_fake_is_what_numpy_gives() -> None:
    assert hold_to_numpy(as_fakes, {"f8": "f8", "i4": "i4"}, every=True) > 1000


def test_a_tracked_value_of_swapped_bytes_is_what_numpy_gives() -> None:
    assert hold_to_numpy(lambda f, made: f(*map(taped, made)), OF_BYTES, every=True) > 1000


def test_a_graph_gives_numpys_classes() -> None:
    """`np.array_equal` gave NumPy's bool, and `np.linalg.matrix_rank` of a vector NumPy's int, where NumPy gives Python's."""
    assert hold_to_numpy(lambda f, made: dispatch.make_fx(f, "fake")(*made)(*made), {"f8": "f8", "i8": "i8"}, every=False) > 500


def test_what_numpy_answers_with_a_number_of_pythons_is_refused_in_a_graph() -> None:
    """True + True is 2, and of NumPy's it is True: a graph with NumPy's gave other sums."""
    x = np.array([1.0, 2.0])
    for f, cls, instead in [
        (lambda x: np.array_equal(x, x), bool, "np.array_equal gives Python's bool in NumPy, which a graph cannot work out anew for other arrays. Write np.all(a == b)"),
        (lambda x: np.array_equal(x, x, equal_nan=True), bool, "Write np.all(np.isclose(a, b, 0, 0, True))"),
        (lambda x: np.allclose(x, x), bool, "np.allclose gives Python's bool in NumPy, which a graph cannot work out anew for other arrays. Write np.all(np.isclose(a, b))"),
        (np.linalg.matrix_rank, int, "np.linalg.matrix_rank of a vector gives Python's int in NumPy, which a graph cannot work out anew for other arrays. Write np.any(A != 0)"),
    ]:  # fmt: skip
        for mode in ("real", "fake", "symbolic"):
            with pytest.raises(UnsupportedError, match=re.escape(instead)):
                dispatch.make_fx(f, mode)(x)
        compiled = dispatch.compile(f)
        with pytest.warns(PerformanceWarning) if cls is int else nullcontext():
            assert type(compiled(x)) is cls
        assert type(dispatch.functionalize(f)(x)) is cls
        assert type(dispatch.jvp(f, (x,), (x,))[0]) is cls
        assert dispatch.vmap(f)(np.stack([x, 2 * x])).tolist() == [f(x), f(2 * x)]
        assert dispatch.eval_shape(f, x).dtype == np.asarray(f(x)).dtype
