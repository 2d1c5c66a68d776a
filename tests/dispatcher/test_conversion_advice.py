"""A table, a column, a sparse matrix or a list where an array is asked for: the message has a line, and the line works."""

import math
import re
import sys

import numpy as np
import pytest
from children import said_by_child

import dispatch
from dispatch import custom_op
from dispatch.dispatcher.conversion_advice import SAME, SCIPY_SPECIAL, advice, advice_for, line_for
from dispatch.errors import (
    ArgumentError,
    ConversionError,
    DataDependentError,
    FakeTensorError,
    GradientError,
    PerformanceWarning,
    TracingError,
)


@custom_op("advicetests::doubled", mutates_args=())
def doubled(x: np.ndarray) -> np.ndarray:
    """Takes one array."""
    return 2.0 * x


@custom_op("advicetests::total", mutates_args=())
def total(xs: list[np.ndarray], y: np.ndarray | None = None) -> np.ndarray:
    """Takes a list of arrays."""
    return sum(x.sum() for x in xs) + np.zeros(2)


class Frame:
    """What a table of a package that is not installed looks like."""

    __module__ = "polars.dataframe.frame"
    shape = (2, 1)
    dtype = np.dtype(float)

    def to_numpy(self):
        return np.ones(self.shape)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("it was taken for an array behind the user's back")

    def __array_function__(self, function, types, args, keywords):
        return NotImplemented


class Child(Frame):
    """A subclass of the user's own."""

    __module__ = "mine"


def values():
    yield "polars", Frame(), "x.to_numpy()"
    yield "subclass", Child(), "x.to_numpy()"
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        yield "Series", pd.Series([1.0, 2.0]), "x.to_numpy()"
        yield "DataFrame", pd.DataFrame({"a": [1.0, 2.0]}), "x.to_numpy()"
        yield "Index", pd.Index([1.0, 2.0]), "x.to_numpy()"
        yield "extension", pd.array([1.0, 2.0], dtype="Float64"), "x.to_numpy()"
    try:
        import scipy.sparse as sp
    except ImportError:
        return
    for kind, parts in {
        "csr": "data indices indptr", "csc": "data indices indptr", "bsr": "data indices indptr", "coo": "data row col", "dia": "data offsets",
        "lil": "",
    }.items():  # fmt: skip
        for form in ("array", "matrix"):
            x = getattr(sp, f"{kind}_{form}")(np.eye(2))
            said = f", or give an operator its parts, {', '.join(f'x.{part}' for part in parts.split())}" if parts else ""
            yield f"{kind}_{form}", x, f"x.toarray(){said}"


VALUES = list(values())
each = pytest.mark.parametrize(("x", "line"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES])


def lines_in(message):
    """The expressions that a message says to write."""
    return re.search(r"Write (.*?)(?:, or give it as another argument)?\.(?:\n|$)", message)[1].split(", or give an operator its parts, ")


@each
def test_the_line_makes_an_array_and_the_call_then_works(x, line):
    with pytest.raises(ArgumentError) as caught:
        doubled(x)
    kind = type(x).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    assert str(caught.value).partition("\n")[0] == f"advicetests::doubled: argument 'x' is Tensor, and was given {article} {kind}. Write {line}."
    whole, *parts = lines_in(str(caught.value))
    found = eval(whole)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(doubled(found), 2.0 * found)
    for part in parts:
        assert all(type(y) is np.ndarray for y in eval(f"({part},)"))


REFUSALS = {  # of a value x: what is asked, the exception, and its words up to the line
    "in a list": (lambda x: total([np.ones(2), x]), ArgumentError, "Item 1 is {kind}. Write {xs[1]}."),
    "for a list": (lambda x: total(x), ArgumentError, "argument 'xs' is Tensor[], and was given {kind}. Write [{xs}]."),
    "optional": (lambda x: total([], x), ArgumentError, "argument 'y' is Tensor?, and was given {kind}. Write {y}."),
    "a row": (lambda x: dispatch.ops.np.sin(x), ArgumentError, "argument 'x' is np.ndarray | number, and was given {kind}. Write {x}."),
    "vmap": (lambda x: dispatch.vmap(lambda x: doubled(x))(x), ArgumentError, "vmap takes arrays, and was given {kind} as argument 0. Write {x}."),
    "grad": (lambda x: dispatch.grad(np.sum)(x), GradientError, "grad by argument 0 was asked for, which is {kind}, and has no derivative. Write {x}."),
    "grad of a list": (
        lambda x: dispatch.grad(lambda p: np.sum(p[0]))([np.ones(2), x]),
        GradientError,
        "grad by argument 0 was asked for, and [1] of it is {kind}, which has no derivative. Write {x[1]}, or give it as another argument.",
    ),
    "jvp": (lambda x: dispatch.jvp(np.sin, (x,), (x,)), GradientError, "primals[0] is {kind}, which has no derivative. Write {x}."),
    "a tangent": (lambda x: dispatch.jvp(np.sin, (np.ones(2),), (x,)), GradientError, "tangents[0] is {kind}, and primals[0] an array of shape (2,). Write {x}."),
    "a cotangent": (lambda x: dispatch.vjp(np.sin, np.ones(2))[1](x), GradientError, "the cotangent is {kind}, and the result an array of shape (2,). Write {x}."),
    "make_fx": (lambda x: dispatch.make_fx(lambda t: np.sin(t))(x), TracingError, "a graph has arrays as inputs, and 't' is {kind}. Write {t}."),
    "eval_shape": (lambda x: dispatch.eval_shape(np.sin, x), ArgumentError, "eval_shape takes arrays, and was given {kind}. Write {x}."),
    "a fake": (lambda x: dispatch.FakeTensorMode().from_array(x), FakeTensorError, "from_array makes a fake of an array, and was given {kind}. Write {a}."),
}  # fmt: skip


@each
@pytest.mark.parametrize(("call", "error", "words"), REFUSALS.values(), ids=REFUSALS)
def test_every_transform_says_the_line_and_takes_nothing_in_silence(call, error, words, x, line):
    with pytest.raises(error) as caught:
        call(x)
    name = type(x).__name__
    kind = f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    place = re.search(r"\{([^{}]*)\}(?=[^{}]*$)", words)[1]
    written = line.replace("x.", f"{place}.")
    assert words.replace("{kind}", kind).replace(f"{{{place}}}", written) in str(caught.value)


INSIDE = {  # of a value t of a transform and x, beside each other in a function that is differentiated
    "*": (lambda t, x: t * x, "y"), "@": (lambda t, x: t @ x, "y"), ">": (lambda t, x: t > x, "y"), "add": (lambda t, x: np.add(t, x), "y"),
    "dot": (lambda t, x: np.dot(x, t), "x"), "where": (lambda t, x: np.where(t > 0, t, x), "y"),
    "concatenate": (lambda t, x: np.concatenate([t, x]), "arrays[1]"),
}  # fmt: skip


@each
@pytest.mark.parametrize(("f", "place"), INSIDE.values(), ids=INSIDE)
def test_beside_a_value_of_a_transform_the_line_is_said_too(f, place, x, line):
    with pytest.raises(ArgumentError) as caught:
        dispatch.grad(lambda t: np.sum(f(t, x)))(np.ones(2))
    assert f" Write {line.replace('x.', f'{place}.')}." in str(caught.value)


def test_a_compiled_function_that_refers_to_a_table_runs_as_it_is():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"w": [1.0, 2.0]})
    f = dispatch.compile(lambda a: table["w"].to_numpy() * a)
    with pytest.warns(PerformanceWarning, match=r"it refers to a DataFrame, which may change where nobody sees it\. Let it refer to the array, x\.to_numpy\(\), or"):
        np.testing.assert_array_equal(f(2.0), [2.0, 4.0])
    table["w"] = [3.0, 4.0]
    np.testing.assert_array_equal(f(2.0), [6.0, 8.0])


def test_lists_get_np_asarray():
    for call, words in (
        (lambda: doubled([1.0, 2.0]), "argument 'x' is Tensor, and was given a list of length 2. Write np.asarray(...) around it."),
        (lambda: total([[1.0, 2.0]]), "argument 'xs' is Tensor[], and was given a list of length 1. Item 0 is a list of length 2. Write np.asarray(xs[0])."),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert words in str(caught.value)


def test_a_tensor_is_made_of_what_numpy_makes_an_array_of():
    sp = pytest.importorskip("scipy.sparse")
    with pytest.raises(ConversionError) as caught:
        dispatch.tensor(sp.csr_array(np.eye(2)))
    assert str(caught.value) == (
        "tensor copies numbers, and was given a csr_array. Write x.toarray(), or give an operator its parts, x.data, x.indices, "
        "x.indptr."
    )


def test_what_is_no_array_of_such_a_package_and_what_lies_about_its_class_get_no_line():
    class Dtype:
        __module__ = "pandas.core.dtypes"

    class Lying(type):
        __module__ = property(lambda cls: 1 / 0)
        __name__ = property(lambda cls: 1 / 0)

    assert line_for(Dtype()) is None
    assert line_for(np.ones(2)) is None
    assert line_for(Lying("Plain", (), {})()) is None
    assert advice([1.0]) == ""


def test_nothing_is_imported_to_find_the_words():
    said_by_child(
        """
        import sys
        class Series:
            __module__, shape, dtype = "pandas.core.series", (2,), np.dtype(float)
        try:
            dispatch.ops.np.sin(Series())
        except TypeError as error:
            assert "Write x.to_numpy()." in str(error)
        assert not {"pandas", "scipy", "polars"} & set(sys.modules)
        """
    )


def test_a_function_of_scipy_that_makes_arrays_is_named_with_what_to_write():
    special, stats = pytest.importorskip("scipy.special"), pytest.importorskip("scipy.stats")
    x = np.array([1.0, 2.0])
    for name in SCIPY_SPECIAL:
        assert name in dir(dispatch.ops.scipy_special)
        f = getattr(special, name)
        call = (lambda x, f=f: f(1, x)) if name == "polygamma" else (lambda x, f=f: f(x, 1)) if name == "multigammaln" else f
        for transform in (dispatch.grad, dispatch.vmap, lambda f: lambda x: dispatch.jvp(f, (x,), (x,))):
            with pytest.raises(ConversionError) as caught:
                transform(call)(x)
            assert str(caught.value).endswith(
                f" scipy.special.{name} makes arrays of its arguments: write dispatch.ops.scipy_special.{name} in its place."
            )
    batched, linalg = dispatch.vmap, pytest.importorskip("scipy.linalg")
    lines = (
        " makes arrays of its arguments. Make it an operator, with register_autograd, register_vmap and register_fake where they are needed:\n"
        '    @dispatch.custom_op("mylib::{0}", mutates_args=())\n    def {0}(x: np.ndarray) -> np.ndarray:\n        return {1}'
    )
    for run, name, call in [
        (stats.norm.logpdf, "scipy.stats", "...  # what calls scipy.stats"),
        (lambda x: linalg.logm(np.outer(x, x)), "scipy.linalg.logm", "scipy.linalg.logm(x)"),
        (lambda x: linalg.expm(np.outer(x, x)), "scipy.linalg.expm", "scipy.linalg.expm(x)"),
    ]:
        for transform in (dispatch.grad, batched, lambda f: lambda x: dispatch.jvp(f, (x,), (x,))):
            with pytest.raises(ConversionError) as caught:
                transform(run)(np.stack([x, x]) if transform is batched else x)
            text = str(caught.value)
            assert text.endswith(name + lines.format(name.split(".")[2] if name.count(".") > 1 else "f", call)), text
            assert "detach" not in text
    with pytest.raises(ConversionError) as caught:
        dispatch.grad(np.asarray)(x)
    assert "scipy" not in str(caught.value)


ONE = (  # lists of such values, which NumPy asks nothing of
    "mean prod max min sum sort median std cumsum argsort nanmean nanmax average percentile histogram unique flip roll diff ptp trapezoid "
    "linalg.norm linalg.det linalg.inv fft.fft fft.ifft"
).split()


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_numpy_that_asks_no_lists_is_named_with_the_one_that_does(name):
    x = np.array([[0.5, 2.0], [3.0, 0.25]])
    more = {"percentile": (50,), "roll": (1,)}.get(name, ())
    function = lambda space, x: getattr(getattr(space, name.rpartition(".")[0], space), name.rpartition(".")[2])([[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]], *more)
    first = lambda found: found[0] if isinstance(found, tuple) else found
    said = f"np.{name} asks some of its arguments whose they are, and no list. Write dispatch.numpy.{name}, which asks all of them, and what is in lists."
    for kind, transform in {
        ConversionError: lambda f: dispatch.jvp(f, (x,), (x,))[0],
        DataDependentError: lambda f: dispatch.eval_shape(f, x),
        TracingError: lambda f: dispatch.make_fx(f)(x)(x),
    }.items():
        with pytest.raises(kind) as caught:
            transform(lambda x: first(function(np, x)))
        assert str(caught.value).endswith(said)
        if name in ("unique", "histogram") and kind is DataDependentError:
            continue  # a size, and edges, which are data
        assert transform(lambda x: first(function(dispatch.numpy, x))).shape == first(function(np, x)).shape


def test_a_module_of_numpy_that_nobody_has_imported_is_not_asked_for_a_name(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy.fft", raising=False)  # NumPy imports it where it is named
    with pytest.raises(ConversionError, match=r"Write dispatch\.numpy\.median, which asks all of them"):
        dispatch.grad(lambda x: np.median([x, x]))(1.0)
    assert "numpy.fft" not in sys.modules


def test_what_an_array_does_not_hand_over_says_what_takes_it():
    table, x = np.arange(12.0).reshape(4, 3), np.array([[0.5, 2.0, 1.0], [3.0, 0.25, 1.0]])
    for run, said, written in [
        (lambda x: table[np.argmax(x, axis=-1)], "dispatch.numpy.take(a, x, axis=0) for a[x] of an array", lambda x: dispatch.numpy.take(table, np.argmax(x, axis=-1), axis=0)),
        (lambda x: table[:2][x > 1], "np.where(x, a, other) for a[x] of an array", lambda x: np.where(x > 1, table[:2], 0.0)),
        (lambda x: table.dot(x.T), "np.dot(a, x) for a.dot(x) of an array", lambda x: np.dot(table, x.T)),
    ]:
        for transform in (dispatch.vmap, lambda f: lambda xs: dispatch.eval_shape(f, xs[0]), lambda f: lambda xs: dispatch.make_fx(f)(xs[0])(xs[0])):
            with pytest.raises((ConversionError, DataDependentError, TracingError), match=re.escape(f"and so for np.full and np.r_; {said if 'np.dot' in said else f'np.dot(a, x) for a.dot(x) of an array; {said}'}.")):
                transform(run)(np.stack([x, x]))
            assert transform(written)(np.stack([x, x])).shape[-2:] == written(x).shape
    for transform in (dispatch.grad, lambda f: lambda x: dispatch.jvp(f, (x,), (x,))[1]):
        with pytest.raises(ConversionError, match=re.escape("in silence. Write np.dot(a, x) for a.dot(x) of an array.")):
            transform(lambda x: np.sum(table.dot(x.T)))(x)
        assert np.allclose(transform(lambda x: np.sum(np.dot(table, x.T)))(x), transform(lambda x: np.sum(table @ x.T))(x))


def test_a_line_in_scipy_or_numpy_is_the_line_that_called_them():
    special = pytest.importorskip("scipy.special")
    for run in (special.logsumexp, lambda x: np.mean([x[0], x[1]])):
        with pytest.raises(TracingError, match=r", in test_conversion_advice\.py:[0-9]+, in (<lambda>|test_a_line_in)"):
            dispatch.make_fx(run)(np.ones(2))
    with pytest.raises(TracingError, match=r"write dispatch\.ops\.scipy_special\.logsumexp in its place\.$"):
        dispatch.make_fx(special.logsumexp)(np.ones(2))
    with pytest.raises(DataDependentError, match=r"which has no data\. scipy\.special\.logsumexp makes arrays of its arguments"):
        dispatch.eval_shape(special.logsumexp, np.ones(2))


def test_functions_of_numpy_that_no_layer_follows_say_what_to_write():
    x = np.arange(6.0)
    chebyshev, polynomial = np.polynomial.chebyshev, np.polynomial.polynomial
    windows = lambda x: np.lib.stride_tricks.as_strided(x, (3, 2), (16, 8))
    written = [
        (windows, "stride_tricks.as_strided reads memory by bytes", lambda x: np.lib.stride_tricks.sliding_window_view(x, 2)[::2]),
        (windows, "Write dispatch.numpy.as_strided(x, shape, strides)", lambda x: dispatch.numpy.as_strided(x, (3, 2), (16, 8))),
        (windows, "write np.lib.stride_tricks.sliding_window_view(x, shape)", lambda x: x[np.arange(3)[:, None] * 2 + np.arange(2)]),
        (lambda c: polynomial.polyval(0.5, c), "Write np.polyval(c[::-1], x)", lambda c: np.polyval(c[::-1], 0.5)),
        (lambda c: chebyshev.chebval([0.25, 0.5], c), "chebvander(points, deg) @ c", lambda c: chebyshev.chebvander([0.25, 0.5], 5) @ c),
    ]
    for f, words, instead in written:
        np.testing.assert_allclose(instead(x), f(x), rtol=1e-12)
        assert dispatch.grad(lambda x, g=instead: np.sum(g(x)))(x).shape == x.shape
        for transform in (dispatch.grad(f), lambda x, f=f: dispatch.jvp(f, (x,), (x,)), lambda x, f=f: dispatch.vmap(f)(x[None])):
            with pytest.raises(ConversionError) as caught:
                transform(x)
            assert words in str(caught.value)
    with pytest.raises(ConversionError, match=r"in silence\. Write dispatch\.numpy\.array\(\[x, y\]\) for np\.array"):
        dispatch.grad(lambda x: np.full(3, x[0]))(x)


def test_a_function_of_scipy_that_numpy_has_too_is_written_as_numpys():
    linalg, fft = pytest.importorskip("scipy.linalg"), pytest.importorskip("scipy.fft")
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    for module, ours, names in ((linalg, "np.linalg", SAME.split()), (fft, "np.fft", np.fft.__all__)):
        for name in names:
            f, theirs = getattr(module, name), getattr(np.linalg if module is linalg else np.fft, name)
            if name.endswith(("freq", "shift")):  # of a number; made of NumPy's functions, and so taken
                continue
            args = (x, x) if name == "solve" else (x,)
            for found, expected in zip(outputs(f(*args)), outputs(theirs(*args)), strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-12)
            with pytest.raises(ConversionError) as caught:
                dispatch.vjp(f, *args)
            said = f" {module.__name__}.{name} makes arrays of its arguments: write {ours}.{name}, which is an operator here."
            assert str(caught.value).endswith(said)


def outputs(result):
    return tuple(result) if isinstance(result, tuple) else (result,)


def test_pandas_is_told_that_its_columns_are_arrays():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ConversionError, match=r"Write dispatch\.detach\(x\) for what goes into a table, and s\.to_numpy\(\) for the column or the table s that x is"):
        dispatch.grad(lambda v: (pandas.Series([1.0, 2.0]) * v).sum())(np.ones(2))


def _written(v):
    a = np.zeros(2)
    a[0] = v[0]
    return a


def _filled(v):
    return np.array([v[0], v[1]])


CAUSES = {  # by what the line of the user's code does: the words for it, and for nothing else
    "float": (lambda v: float(v[0]), "Return the value itself, not float() of it; x.item() where the number is meant."),
    "math": (lambda v: math.sin(v[0]), "Write np.sin(x) for math.sin(x), and so for all of math."),
    "write": (_written, "To write it into an array, make that of a tracked one: np.zeros_like(x, shape=...), or np.stack the pieces."),
    "asarray": (np.asarray, ""),  # no line of the user's
    "asarray of a line": (lambda v: np.asarray(v), "Leave np.asarray(x) out, or write dispatch.detach(x) where a constant is meant."),
    "array": (_filled, "Write dispatch.numpy.array([x, y]) for np.array([x, y]), and so for np.full, np.arange and np.r_."),
    "draw": (
        lambda v: np.random.default_rng(0).normal(v), "Write dispatch.numpy.random for draws of a Generator, normal(rng, x) for rng.normal(x)."
    ),
}  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_the_line_of_the_user_picks_the_words(cause):
    f, words = CAUSES[cause]
    with pytest.raises(ConversionError) as caught:
        dispatch.grad(lambda v: np.sum(f(v)))(np.ones(2))
    assert str(caught.value).endswith(f"would be lost in silence. {words}" if words else "np.zeros_like(x, shape=...).")


def test_all_words_are_there_where_the_line_cannot_be_read():
    f = eval(compile("lambda v: float(v[0])", "<no file>", "eval"))
    with pytest.raises(ConversionError) as caught:
        dispatch.grad(lambda v: (f(v)))(np.ones(2))
    assert all(words in str(caught.value) for words in ("not float() of it", "for math.sin(x)", "np.stack the pieces"))


def test_a_tensor_of_torchs_with_a_gradient_is_to_be_tracked_here():
    class Theirs:
        requires_grad = True

        def detach(self): ...

        def __array__(self, dtype=None, copy=None): ...

    assert advice_for(Theirs()) == " Write dispatch.tensor(x.detach().numpy(), requires_grad=True)."
    assert advice_for(Theirs(), "result", hinted=False) == " Write result.detach().numpy()."
