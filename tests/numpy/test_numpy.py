"""`dispatch.numpy` is the array API standard on plain arrays and on Tensors, and NumPy beyond it.

The oracle of the standard is array_api_strict: what it takes is taken, with its value, dtype and shape. `array_api_calls.py` makes the
calls. The oracle of what NumPy hands to nobody is NumPy on plain arrays, in every layer.
"""

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

import numpy as np
import pytest
from children import said_by_child

import dispatch
import dispatch.numpy as dnp
from dispatch.errors import ArgumentError, ConversionError, UnsupportedError
from dispatch.numpy import OWN
from dispatch.numpy.functions import NAMES

strict = pytest.importorskip("array_api_strict")
compat = pytest.importorskip("array_api_compat")
from array_api_calls import DTYPES, Call, calls, named  # noqa: E402

current = pytest.mark.skipif(getattr(np, "__array_api_version__", "") < "2024.12", reason="before NumPy 2.3")

# What NumPy does otherwise than array_api_strict, with the standard's leave or not.
NUMPYS_OWN = {
    "unique_values": "in no order, which the standard allows: compared in order",
    "can_cast": "by safety, not by promotion: bool to int8 is safe",
    "sign": "of a complex inf, which is no number",
    "isin": "with invert=True of integers, which array_api_strict ignores",
}
# What derivatives cannot pass, by reason.
REFUSED = {"linalg.svd": "the vectors that complete a basis are any"}


def plain(x: Any) -> Any:
    """What a call gave, as NumPy's."""
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    x = getattr(x, "_array", x)
    return dispatch.detach(x) if isinstance(x, dispatch.Tensor) else x


def tracked(x: Any) -> Any:
    return dispatch.tensor(x, requires_grad=True) if x.dtype.kind in "fc" else x


def agree(name: str, wanted: Any, found: Any) -> bool:
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(agree(name, *pair) for pair in zip(wanted, found, strict=True))
    if not isinstance(wanted, (np.ndarray, np.generic)):
        return bool(found == getattr(wanted, "_np_dtype", wanted)) or found == "cpu"
    if not hasattr(found, "dtype") or (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return False
    if name in ("unique_values", "linalg.svd", "linalg.qr", "linalg.eigh"):
        wanted, found = np.sort(np.abs(wanted), axis=None), np.sort(np.abs(found), axis=None)
    return np.allclose(wanted, found, rtol=1e-5, atol=1e-6, equal_nan=True)


def fails(call: Call, made: Callable[[Any], Any]) -> str | None:
    """How a call differs from array_api_strict's, which takes it; None where it does not."""
    try:
        wanted = plain(call.run(strict, strict.asarray))
    except Exception:
        return None
    try:
        found = call.run(dnp, made)
    except Exception as error:
        return f"{call}: {type(error).__name__}: {error}"
    return None if found is NotImplemented or agree(call.function, wanted, plain(found)) else f"{call}: {found!r}, not {wanted!r}"


@current
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [np.asarray, tracked], ids=["plain", "tracked"])
def test_nothing_fails_that_array_api_strict_takes(made: Callable[[Any], Any]) -> None:
    with np.errstate(all="ignore"):
        found = [(call.function, said) for call in calls() if (said := fails(call, made)) is not None]
    beyond = [said for name, said in found if name not in NUMPYS_OWN and not (made is tracked and name in REFUSED)]
    assert not beyond, "\n".join(beyond[:20])


@current
def test_every_function_of_the_standard_is_called() -> None:
    assert named() <= {call.function for call in calls()}


def looked_up(place: Any, name: str) -> Any:
    for part in name.split("."):
        place = getattr(place, part)
    return place


def misfits(given: inspect.Signature, wanted: inspect.Signature) -> list[str]:
    """What a call by the standard's signature could not say to a function, as the standard's own tests ask it."""
    ours, positional = list(given.parameters.values()), [p for p in wanted.parameters.values() if p.kind != Parameter.KEYWORD_ONLY]
    found = [f"{p.name} is missing" for p in positional[len(ours) :]]
    for p, own in zip(positional, ours, strict=False):
        if p.kind == Parameter.POSITIONAL_ONLY:
            fits = own.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        else:
            fits = own.kind == p.kind and (own.name == p.name or p.kind == Parameter.VAR_POSITIONAL)
        found += [] if fits else [f"{own} is {p}"]
    for name, p in wanted.parameters.items():
        if p.kind == Parameter.KEYWORD_ONLY:
            own = given.parameters.get(name, p.replace(kind=Parameter.POSITIONAL_ONLY))
            found += [] if own.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD) else [f"{name}= is missing"]
    return found


@current
def test_every_signature_is_the_standards() -> None:
    try:
        inspect.signature(np.sin)
    except ValueError:
        pytest.skip("before NumPy 2.4 ufuncs have no signature")
    found = {name: misfits(inspect.signature(looked_up(dnp, name)), inspect.signature(looked_up(strict, name))) for name in named()}
    assert not {name: said for name, said in found.items() if said}


@current
def test_every_method_and_attribute_is_the_standards() -> None:
    x, y = strict.asarray([[1.0]]), dispatch.tensor([[1.0]], requires_grad=True)
    own = {"__buffer__"}  # of array_api_strict alone
    public = [n for n in dir(x) if (not n.startswith("_") or n.startswith("__")) and not hasattr(object, n) and n not in own and n != "__weakref__"]
    assert not [name for name in public if not hasattr(y, name)]
    methods = [name for name in public if callable(getattr(x, name))]
    found = {name: misfits(inspect.signature(getattr(y, name)), inspect.signature(getattr(x, name))) for name in methods if name not in OPERATORS}
    assert not {name: said for name, said in found.items() if said}


OPERATORS = {f"__{r}{n}__" for r in ("", "r", "i") for n in "add and eq floordiv ge gt le lshift lt matmul mod mul ne or pow rshift sub truediv xor".split()}


@current
def test_inspection_answers_as_array_api_strict() -> None:
    ours, theirs = dnp.__array_namespace_info__(), strict.__array_namespace_info__()
    assert (list(ours.devices()), ours.default_device()) == (["cpu"], "cpu")  # a tuple since NumPy 2.5
    assert dnp.__array_api_version__ >= "2024.12"
    for kind in [None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", ("bool", "integral")]:
        wanted = {name: dtype._np_dtype for name, dtype in theirs.dtypes(kind=kind).items()}
        assert ours.dtypes(kind=kind) == wanted
    assert ours.default_dtypes() == {name: dtype._np_dtype for name, dtype in theirs.default_dtypes().items()}
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= ours.capabilities().keys()
    assert [getattr(dnp, name) for name in ("e", "inf", "pi", "newaxis")] == [np.e, np.inf, np.pi, None]
    assert all(getattr(dnp, name) is getattr(np, name) for name in DTYPES)


# -- whose namespace it is ---------------------------------------------------------------------------------------------------------

X = np.array([0.5, 1.5, 2.5])


def test_every_wrapper_says_that_its_namespace_is_this_one() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(x.__array_namespace__())
        return np.sum(x * x)

    for run in (dispatch.grad(f), dispatch.vmap(f), dispatch.make_fx(f), dispatch.functionalize(f)):
        run(np.ones((3, 2)))
    dispatch.jvp(f, (X,), (X,))
    dispatch.eval_shape(f, X)
    f(dispatch.tensor(X, requires_grad=True))
    assert len(seen) >= 7
    assert all(found is dnp for found in seen)


def test_a_version_of_the_standard_that_numpy_has_not_is_refused_as_by_numpy() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    assert x.__array_namespace__(api_version="2023.12") is dnp
    with pytest.raises(ValueError, match=r'"1999.12" of the Array API Standard is not supported'):
        x.__array_namespace__(api_version="1999.12")


def test_a_library_for_the_standard_finds_it() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    assert compat.array_namespace(x, 2 * x) is dnp
    assert compat.is_array_api_obj(x)
    assert (compat.device(x), compat.size(x)) == ("cpu", 3)
    assert compat.to_device(x, "cpu") is x


def test_the_device_of_a_value_is_where_it_stays() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    assert x.to_device("cpu") is x
    assert x.__dlpack_device__() == X.__dlpack_device__()
    with pytest.raises(UnsupportedError) as said:
        x.to_device("cuda")
    assert str(said.value) == (
        "x.to_device was asked for device 'cuda', and the value is on 'cpu'. An operator with a kernel for each copies: dispatch.custom_op(...)."
    )


def test_dlpack_hands_no_memory_of_a_tracked_value_on() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for asked in (x.__dlpack__, lambda: np.from_dlpack(x)):
        with pytest.raises(ConversionError, match="a NumPy array was asked of a tracked value"):
            asked()
    assert dnp.from_dlpack(x) is x
    assert np.array_equal(dnp.from_dlpack(X), X)


# -- what is here ------------------------------------------------------------------------------------------------------------------


def test_every_public_name_of_numpy_is_here_and_is_numpys_own_but_for_those_that_are_listed() -> None:
    public = {name for name in dir(np) if not name.startswith("_")}
    assert public <= set(dnp.__all__) <= set(dir(dnp))
    other = {name for name in public if getattr(dnp, name) is not getattr(np, name)} - OWN
    assert {getattr(dnp, name).__wrapped__ for name in other} == {getattr(np, name) for name in other}
    assert other == {name for name in public if type(getattr(np, name)) is type(np.sum)} - OWN | set(NAMES.split())
    assert all(getattr(dnp, name).__doc__ == getattr(np, name).__doc__ for name in other)
    for name in ("linalg", "fft"):
        ours, theirs = getattr(dnp, name), getattr(np, name)
        assert dir(ours) == sorted(theirs.__all__)
        assert {f for f in theirs.__all__ if getattr(getattr(ours, f), "__wrapped__", getattr(ours, f)) is not getattr(theirs, f)} <= {"fftfreq", "rfftfreq"}


def test_a_name_that_is_nowhere_is_told_of() -> None:
    with pytest.raises(AttributeError, match=r"module 'dispatch.numpy' has no attribute 'asaray'. Did you mean 'asarray'?"):
        dnp.asaray


def test_it_is_imported_when_it_is_asked_for_and_loads_no_row() -> None:
    code = """
        import sys
        import dispatch
        assert "dispatch.numpy" not in sys.modules
        import numpy as np
        x = dispatch.numpy.asarray([1.0, 2.0])
        assert type(x) is np.ndarray and dispatch.numpy.sin is np.sin
        assert type(dispatch.numpy.r_[x, 1.0]) is np.ndarray and dispatch.numpy.sort(x, descending=True)[0] == 2
        print([name for name in sys.modules if name.startswith("dispatch.numpy_ops.") and name.endswith(("pointwise", "rows", "array_making"))])
    """
    assert said_by_child(code).strip() == "[]"


# -- what NumPy hands to nobody, in every layer -------------------------------------------------------------------------------------

# Calls of a value x of shape (3,), which NumPy does on an array and refuses on a Tensor.
HERE: dict[str, Callable[[Any, Any], Any]] = {
    "array of numbers": lambda xp, x: xp.array([x[0], 1.0, x[1] * x[2]]),
    "array, nested": lambda xp, x: xp.array([[x[0], 0.0], [1.0, x[1]]]),
    "array of arrays": lambda xp, x: xp.array([x, np.ones(3), (x[0], 2, x[1])]),
    "array, dtype": lambda xp, x: xp.array([x[0], 1], dtype=np.complex128),
    "array, ndmin": lambda xp, x: xp.array(x, ndmin=3),
    "array of one": lambda xp, x: xp.array(x[0]),
    "array, copied": lambda xp, x: xp.array(x, copy=True, order="F"),
    "asarray": lambda xp, x: xp.asarray(x),
    "asarray of numbers": lambda xp, x: xp.asarray([x[0], x[1]]),
    "asarray, order": lambda xp, x: xp.asarray(x[:, None] * x, order="F"),
    "asanyarray": lambda xp, x: xp.asanyarray((x[0], 1.0)),
    "ascontiguousarray": lambda xp, x: xp.ascontiguousarray((x[:, None] * np.arange(2.0)).T),
    "ascontiguousarray of a number": lambda xp, x: xp.ascontiguousarray(x[0]),
    "asfortranarray": lambda xp, x: xp.asfortranarray(x[:, None] * np.arange(2.0)),
    "require": lambda xp, x: xp.require(x[::2], requirements=["C", "W"]),
    "full": lambda xp, x: xp.full((2, 2), x[0]),
    "full of rows": lambda xp, x: xp.full((2, 3), x),
    "full_like": lambda xp, x: xp.full_like(np.ones((2, 3)), x),
    "linspace": lambda xp, x: xp.linspace(0.0, x[0], 4),
    "stack": lambda xp, x: xp.stack([x, [1.0, 2.0, 3.0]]),
    "concat": lambda xp, x: xp.concat([x, [1.0]]),
    "r_": lambda xp, x: xp.r_[x, 1.0, 0:3, [x[0], 2.0]],
    "r_ along an axis": lambda xp, x: xp.r_["0,2", x, x],
    "r_, transposed": lambda xp, x: xp.r_["1,2,0", x, np.ones(3)],
    "r_, axis": lambda xp, x: xp.r_["1", x[None], np.ones((1, 2))],
    "r_ of points": lambda xp, x: xp.r_[x[0] : 2.0 : 3j],
    "c_": lambda xp, x: xp.c_[x, np.ones(3), x],
    "c_ of matrices": lambda xp, x: xp.c_[x[:, None] * x, x],
    "vectorize": lambda xp, x: xp.vectorize(lambda a, b: a * b + 1.0)(x, [[1.0], [2.0]]),
    "vectorize, excluded": lambda xp, x: xp.vectorize(lambda a, k: a**k, excluded=["k"])(x, k=2),
    "vectorize, otypes": lambda xp, x: xp.vectorize(lambda a: (a, 2 * a), otypes=[np.complex128, float])(x)[0],
    "vectorize, signature": lambda xp, x: xp.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, np.arange(6.0).reshape(2, 3)),
    "mean of a list": lambda xp, x: xp.mean([x, 2 * x], axis=0),
    "sort of a list": lambda xp, x: xp.sort([x[2], x[0], 1.0]),
    "clip of a list": lambda xp, x: xp.clip([x[2], x[0], 1.0], 0.7, 2.0),
    "diff of a list": lambda xp, x: xp.diff([x[2], x[0], 1.0]),
    "solve of lists": lambda xp, x: xp.linalg.solve([[x[0], 1.0], [2.0, 3.0]], [1.0, x[1]]),
    "fft of a list": lambda xp, x: xp.fft.fft([x[0], 1.0, x[2]]),
    "stack of lists": lambda xp, x: xp.stack([[x[0], 1.0], [2.0, x[1]]]),
    "where of lists": lambda xp, x: xp.where([True, False], [x[0], 1.0], [0.0, x[1]]),
    "trapezoid, dx": lambda xp, x: xp.trapezoid(np.ones((2, 4)), dx=x[0]),
    "fftfreq": lambda xp, x: xp.fft.fftfreq(5, d=x[0]),
    "rfftfreq": lambda xp, x: xp.fft.rfftfreq(5, d=x[0]),
}
here = pytest.mark.parametrize("call", HERE.values(), ids=list(HERE))


@here
def test_what_numpy_hands_to_nobody_is_numpys_in_every_layer(call: Callable[[Any, Any], Any]) -> None:
    wanted = call(np, X)

    def same(found: Any) -> None:
        assert (type(found), found.dtype, found.strides) == (np.ndarray, wanted.dtype, wanted.strides)
        assert np.array_equal(found, wanted)

    same(call(dnp, X))
    leaf = dispatch.tensor(X, requires_grad=True)
    found = call(dnp, leaf)
    assert isinstance(found, dispatch.Tensor)
    same(dispatch.detach(found))
    same(dispatch.jvp(lambda x: call(dnp, x), (X,), (np.ones(3),))[0])
    same(np.array(dispatch.vmap(lambda x: call(dnp, x))(np.stack([X, X]))[1]))
    same(dispatch.make_fx(lambda x: call(dnp, x))(X + 1)(X))
    fake = dispatch.eval_shape(lambda x: call(dnp, x), X)
    assert (fake.shape, fake.dtype) == (wanted.shape, wanted.dtype)
    assert wanted.size < 2 or fake.strides == wanted.strides  # strides of axes of length 1 do not count


@here
def test_its_derivatives_are_those_of_differences(call: Callable[[Any, Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = call(dnp, x)
        y = y.real if y.dtype.kind == "c" else y
        return np.sum(np.sin(y) * np.arange(1.0, 1.0 + y.size).reshape(y.shape))

    assert dispatch.testing.gradcheck(f, (dispatch.tensor(X, requires_grad=True),))


def test_what_asks_for_a_number_takes_what_is_tracked() -> None:
    f = lambda xp, x: np.sum(np.sin(xp.arange(x[0], 4 * x[0], x[1] / 4)))
    assert f(np, X) == f(dnp, X) == dispatch.detach(f(dnp, dispatch.tensor(X, requires_grad=True)))
    for args in [(0.1, 1.0, 0.1), (3, 10, 3), (5.0,), (1.0, 0.0), (2.0, -1.0, -0.7)]:
        tracked_ones = [dispatch.tensor(float(x), requires_grad=True) if isinstance(x, float) else x for x in args]
        found = dnp.arange(*tracked_ones)
        assert np.array_equal(dispatch.detach(found) if isinstance(found, dispatch.Tensor) else found, np.arange(*args))
    relu = dnp.vectorize(lambda x: x if x > 1 else 0.0 * x)
    assert np.array_equal(dispatch.grad(lambda x: np.sum(relu(x)))(X), [0.0, 1.0, 1.0])


def test_what_would_lose_a_value_is_refused() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: dnp.array([x[0], None]), UnsupportedError, "np::stack: the result is an array of Python objects, and no derivative goes through one. Give arrays of numbers alone: x.astype(float)."),
        (lambda: dnp.array([x, x[:2]]), ValueError, "all input arrays must have the same shape"),
        (lambda: dnp.asarray([x[0], 1.0], copy=False), ValueError, "Unable to avoid copy while creating an array as requested."),
        (lambda: dnp.array(x, order="Z"), ValueError, "order must be one of 'C', 'F', 'A', or 'K' (got 'Z')"),
        (lambda: dnp.asarray(x, device="cuda"), ValueError, 'Device not understood. Only "cpu" is allowed, but received: cuda'),
        (lambda: dnp.sum(X, initial=x[0]), UnsupportedError, "np::sum: initial=a TrackedTensor has no row. Leave it out, and add it or compare it with the result."),
        (lambda: dnp.r_["r", x], ValueError, "np.r_['r', ...] makes a matrix, and there are none of Tensors. Leave it out."),
        (lambda: dnp.vectorize(lambda a: a)(x[:0]), ValueError, "cannot call `vectorize` on size 0 inputs unless `otypes` is set"),
        (lambda: dnp.vectorize(lambda a: (a, a) if a > 1 else a)(x), ValueError, "wrong number of outputs from pyfunc: expected 1, got [1, 2, 2]"),
        (lambda: dnp.vectorize(lambda a, b: a, signature="(),()->()")(x), TypeError, "wrong number of positional arguments: expected 2, got 1"),
        (lambda: dnp.require(x, requirements=["C", "F"]), ValueError, "Cannot specify both \"C\" and \"F\" order"),
    ]  # fmt: skip
    for call, error, text in cases:
        with pytest.raises(error) as said:
            call()
        assert str(said.value).startswith(text)


def test_the_parameters_of_the_standard_stand_beside_numpys() -> None:
    x = np.array([[2.0, 1.0, 3.0, 1.0], [0.0, 5.0, -1.0, 5.0]])
    for made in (np.asarray, tracked):
        y = made(x)
        assert np.array_equal(plain(dnp.sort(y, descending=True)), -np.sort(-x))
        assert np.array_equal(plain(dnp.sort(y, None, descending=True)), -np.sort(-x, None))
        assert np.array_equal(plain(dnp.argsort(y, axis=0, descending=True)), np.argsort(-x, 0, "stable"))
        assert np.array_equal(plain(dnp.argsort(y, axis=None, descending=True)), np.argsort(-x, None, "stable"))
        assert np.array_equal(plain(dnp.argsort(y, kind="heapsort")), np.argsort(x, kind="heapsort"))
        assert np.array_equal(plain(dnp.clip(y, a_min=1.0, a_max=2.0)), np.clip(x, 1.0, 2.0))
        assert np.array_equal(plain(dnp.diff(y, 1, 0, prepend=np.zeros((1, 4)))), np.diff(x, 1, 0, prepend=np.zeros((1, 4))))
        assert dnp.finfo(y).dtype == np.float64
    assert dnp.finfo(np.float32).resolution == np.finfo(np.float32).resolution
    assert repr(dnp.finfo(np.float32)) == repr(np.finfo(np.float32))
    assert type(dnp.finfo(np.float32).eps) is float
    assert isinstance(dnp.iinfo(np.int8), np.iinfo)
    assert dnp.iinfo(np.ones(2, np.int16)).max == 2**15 - 1


def test_a_plain_call_is_numpys() -> None:
    assert np.array_equal(dnp.r_[0:3, 5], np.r_[0:3, 5])
    assert (len(dnp.r_), repr(dnp.c_)) == (0, repr(np.c_))
    assert type(dnp.vectorize(lambda a: a + 1)(X)) is np.ndarray
    assert dnp.array([1, 2], dtype=np.float32, ndmin=2).shape == (1, 2)
    assert isinstance(dnp.asanyarray(np.ma.masked_array([1.0])), np.ma.MaskedArray)
    assert (dnp.full.__doc__, dnp.full.__name__) == (np.full.__doc__, "full")


def test_like_leads_to_the_same() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    assert np.asarray(x, like=x) is x
    assert isinstance(np.array([x[0], 1.0], like=x), dispatch.Tensor)


STRIDED = {
    "windows": (lambda x: x, (5, 2), (8, 8)),
    "as it lies": (lambda x: x, None, None),
    "a diagonal": (lambda x: x.reshape(2, 3), (2,), (32,)),
    "columns first": (lambda x: x.reshape(2, 3).T, (2, 3), (24, 8)),
    "backwards": (lambda x: x[::-1], (3,), (-16,)),
    "repeated": (lambda x: x, (4, 6), (0, 8)),
    "one element": (lambda x: x, (), ()),
    "none": (lambda x: x, (0, 3), (8, 8)),
}


@pytest.mark.parametrize(("part", "shape", "strides"), STRIDED.values(), ids=STRIDED)
def test_as_strided_reads_the_elements_that_numpys_does(part: Any, shape: Any, strides: Any) -> None:
    a = np.arange(1.0, 7.0)
    f = lambda x: dnp.as_strided(part(x), shape, strides)
    wanted = np.lib.stride_tricks.as_strided(part(a), shape, strides)
    assert np.array_equal(f(a), wanted)
    assert not f(a).flags.writeable
    assert np.array_equal(dispatch.detach(f(dispatch.tensor(a, requires_grad=True))), wanted)
    assert np.array_equal(dispatch.jvp(f, (a,), (2 * a,))[1], 2 * wanted)  # it is linear
    assert np.array_equal(dispatch.vmap(f)(np.stack([a, 3 * a])), np.stack([wanted, 3 * wanted]))
    assert np.array_equal(dispatch.make_fx(f)(a)(5 * a), 5 * wanted)
    assert dispatch.eval_shape(f, a).shape == wanted.shape
    counts = np.bincount(wanted.astype(int).ravel(), minlength=7)[1:]  # how often each element is there
    assert np.array_equal(dispatch.grad(lambda x: np.sum(f(x)))(a), counts)


@pytest.mark.skipif("check_bounds" not in inspect.signature(np.lib.stride_tricks.as_strided).parameters, reason="NumPy 2.5")
def test_as_strided_checks_the_bounds_of_arrays_where_it_is_asked_to() -> None:
    x = np.arange(6.0)
    np.testing.assert_array_equal(dnp.as_strided(x, (2, 3), (24, 8), check_bounds=True), x.reshape(2, 3))
    with pytest.raises(ValueError, match="access memory out of bounds"):
        dnp.as_strided(x, (7,), (8,), check_bounds=True)
    with pytest.raises(ArgumentError, match="reach bytes 0 to 48"):
        dnp.as_strided(dispatch.tensor(x, requires_grad=True), (7,), (8,), check_bounds=False)


def test_as_strided_refuses_what_lies_beside_the_array() -> None:
    t = dispatch.tensor(np.arange(6.0), requires_grad=True)
    for call, error, message in [
        (lambda: dnp.as_strided(t, (7,), (8,)), ArgumentError, "reach bytes 0 to 48 of an array whose elements lie at 0 to 40, not all of them at an element"),
        (lambda: dnp.as_strided(t, (2,), (4,)), ArgumentError, "Give strides that are sums of its own, (8,)"),
        (lambda: dnp.as_strided(t[:0], (1,), (8,)), ArgumentError, "which has none"),
        (lambda: dnp.as_strided(t, (2,), (8,), writeable=True), UnsupportedError, "writeable=True is not taken of a Tensor, whose elements are copied. Write to x itself."),
        (lambda: dnp.as_strided(t, (2, 2), (8,)), ValueError, "strides"),
        (
            lambda: dispatch.make_fx(lambda x: dnp.as_strided(x, (2,), (8,)), tracing_mode="symbolic")(np.ones((3, 2))),
            UnsupportedError,
            "depends on sizes that are not known yet. Write np.lib.stride_tricks.sliding_window_view(x, shape), or an index.",
        ),
    ]:
        with pytest.raises(error) as caught:
            call()
        assert message in str(caught.value)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_of_as_many_points_as_a_symbolic_size_says(name: str) -> None:
    def f(x: Any, xp: Any = dnp) -> Any:
        return np.sum(x) * getattr(xp.fft, name)(x.shape[0], d=x.shape[0])

    x = np.arange(5.0)
    for run in (dispatch.make_fx(f, "symbolic")(x), dispatch.compile(f, dynamic=True)):
        assert np.array_equal(run(x), f(x, np))
