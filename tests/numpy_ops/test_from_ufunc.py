"""from_ufunc over every ufunc there is: each becomes an operator whose fakes are real and whose batches are loops."""

import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch.errors import DefinitionError, NoRuleError, OutputError, UnsupportedError
from dispatch.numpy_ops.from_ufunc import from_ufunc
from dispatch.numpy_ops.numpy_functions import UFUNCS
from dispatch.schema.tags import Tag
from dispatch.testing import gradcheck, opcheck

special = pytest.importorskip("scipy.special", reason="SciPy is not installed (extra `test`)")
DOCS = Path(__file__).parents[2] / "docs" / "ufuncs.md"


@pytest.fixture(scope="module", autouse=True)
def _rows_stay_as_they_were():
    """Wrappers find the operators made here; other tests count on some ufuncs having none."""
    before = dict(UFUNCS)
    yield
    UFUNCS.clear()
    UFUNCS.update(before)


def ufuncs_of(module):
    """Every ufunc of a module once, under its own name."""
    return {f.__name__: f for f in vars(module).values() if isinstance(f, np.ufunc)}


# NumPy 2.0 says nothing of where its ufuncs of text are found
STRINGS = "numpy_strings" if hasattr(np, "unstack") else "numpy__core__multiarray_umath"
EVERY = {
    f"{module.__name__}.{name}": f
    for module in (np, np.strings, special)
    for name, f in ufuncs_of(module).items()
    if module is not np.strings or getattr(np, name, None) is not f
}
GENERALISED = {  # the shapes of one item
    "(n),(n)->()": [(3,), (3,)],
    "(m,n),(n)->(m)": [(2, 3), (3,)],
    "(n),(n,m)->(m)": [(3,), (3, 2)],
    "(n?,k),(k,m?)->(n?,m?)": [(2, 3), (3, 2)],
}
OBJECT = "a single Python object as the result: NumPy returns it itself, not in a 0-d array"
REFUSED_BY_NUMPY = "arrays of Python objects that lack the method NumPy looks for"


class CannotError(Exception):
    """A call that no operator can make; its argument is one of the reasons."""



RNG = np.random.default_rng(0)


def sample(dtype, shape):
    match dtype.kind:
        case "b":
            return RNG.random(shape) < 0.5
        case "i" | "u":
            return RNG.integers(1, 4, shape).astype(dtype)
        case "f":
            return RNG.uniform(0.1, 0.9, shape).astype(dtype)
        case "c":
            return (RNG.uniform(0.1, 0.9, shape) + 1j * RNG.uniform(0.1, 0.9, shape)).astype(dtype)
        case "m" | "M":
            return RNG.integers(1, 9, shape).astype(f"{dtype.kind}8[s]")
        case "O":
            return RNG.integers(1, 4, shape).astype(object)
        case _:
            return np.array(["ab", "1", " y"])[RNG.integers(0, 3, shape)].astype(dtype)


def dtypes_of(f):
    """Every combination of dtypes that a ufunc has a loop for; NumPy's string functions list none."""
    listed = [tuple(map(np.dtype, types[: f.nin])) for types in f.types]
    texts = ["U3"] if f.__name__ in ("isdecimal", "isnumeric") else ["U3", "S3"]
    return listed or [(np.dtype(text),) * f.nin for text in texts]


@contextmanager
def quietly():
    """SciPy warns of numbers that are no integers, NumPy of those that overflow."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def outputs(x):
    return x if isinstance(x, tuple) else (x,)


def layout(x):
    return x.shape, x.dtype, tuple(step for n, step in zip(x.shape, x.strides, strict=True) if n > 1) if x.size else ()


def close(x, y):
    if x.dtype.kind in "fc":  # in and out of a vector of the processor the last bits may differ
        return np.allclose(x, y, rtol=16 * np.finfo(x.dtype).eps, atol=0, equal_nan=True)
    return np.array_equal(x, y)


def attempt(f, op, xs):
    """The operator's result, or the reason why the ufunc has none for it."""
    with quietly():
        try:
            plain = f(*xs)
        except (TypeError, AttributeError):
            assert any(x.dtype == object for x in xs)
            raise CannotError(REFUSED_BY_NUMPY) from None
        if any(not isinstance(x, (np.ndarray, np.generic)) for x in outputs(plain)):
            assert any(x.dtype == object for x in xs)
            assert "its schema says Tensor" in said(lambda: op(*xs), OutputError)
            raise CannotError(OBJECT)
        return op(*xs)


FAKE_SHAPES = [
    ([(4, 3)] * 5, "C"),
    ([(4, 3), (3,), (2, 1, 1), (4, 1), (1,)], "F"),
    ([(5, 4, 3), (), (5,), (1, 1), (3, 1)], "transposed"),
    ([(), (2, 0), (), (1,), ()], "C"),
    ([()] * 5, "C"),
]


GENERALISED_SHAPES = {
    signature: [((x, y), "C"), (((5, *x), y), "C"), (((0, *x), y), "C"), (((4, 5, *x), (5, *y)), "F"), (((5, *x), (4, 1, *y)), "C")]
    for signature, (x, y) in GENERALISED.items()
}  # fmt: skip


def laid(x, order):
    return np.asfortranarray(x) if order == "F" else x.transpose(1, *range(2, x.ndim), 0) if order == "transposed" else x


@pytest.mark.parametrize("f", EVERY.values(), ids=EVERY)
def test_every_ufunc_is_an_operator_whose_fake_is_real(f):
    op = from_ufunc(f)
    assert from_ufunc(f) is op
    assert op.schema.name == f.__name__
    assert (len(op.schema.arguments), len(op.schema.returns)) == (f.nin, f.nout)
    assert (Tag.pointwise in op.tags) == (f.signature is None)
    tried = 0
    for dtypes in dtypes_of(f):
        for shapes, order in FAKE_SHAPES if f.signature is None else GENERALISED_SHAPES[f.signature]:
            xs = [sample(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=False)]
            xs[0] = laid(xs[0], order if xs[0].ndim > 1 else "C")
            try:
                real = attempt(f, op, xs)
            except CannotError:
                continue
            tried += 1
            with dispatch.FakeTensorMode() as mode:
                fake = op(*map(mode.from_array, xs))
            assert list(map(layout, outputs(fake))) == list(map(layout, outputs(real))), (dtypes, order)
    assert tried > 4


BATCHES = [  # the shapes of one item, and where the batch is in each
    ([(), (3,), (2, 1), (), ()], [0, 1, None, 0, 0]),
    ([(2, 3), (), (1, 3), (3,), (1,)], [None, 0, 2, -1, 0]),
    ([(2, 3), (3,), (), (2, 1), (3,)], [1, None, None, 1, None]),
]


@pytest.mark.parametrize("f", EVERY.values(), ids=EVERY)
def test_every_ufuncs_batch_is_the_loop(f):
    op = from_ufunc(f)
    for dtypes in dtypes_of(f):
        for items, dims in BATCHES:
            if f.signature is not None:
                items = GENERALISED[f.signature]
                items = items if dims[0] == 0 else [(4, *items[0]), items[1]]
                dims = [0, 1] if dims[0] == 0 else dims[:2]
            dims = [0] if dims[0] is None and f.nin == 1 else dims[: f.nin]
            xs = []
            for dtype, shape, dim in zip(dtypes, items, dims, strict=False):
                x = sample(dtype, shape if dim is None else (2, *shape))
                xs.append(x if dim is None else np.moveaxis(x, 0, dim))
            picked = [
                [x if dim is None else np.moveaxis(x, dim, 0)[i, ...] for x, dim in zip(xs, dims, strict=True)]
                for i in range(2)
            ]
            try:
                rows = [attempt(f, op, items) for items in picked]
            except CannotError:
                continue
            with quietly():
                found = dispatch.vmap(op, in_dims=tuple(dims))(*xs)
            for x, *items in zip(outputs(found), *map(outputs, rows), strict=True):
                wanted = np.stack(items)
                assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
                assert close(x, wanted), dtypes


def test_they_are_all_there():
    assert len(ufuncs_of(np)) > 85
    assert len(ufuncs_of(special)) > 200
    names = {from_ufunc(f).name for f in EVERY.values()}
    assert len(names) == len(EVERY)
    assert {name.partition("::")[0] for name in names} == {"np", "numpy", STRINGS, "scipy_special"}


def those_that_cannot():
    """Which ufuncs, by the reason; a name for each."""
    found = {OBJECT: set(), REFUSED_BY_NUMPY: set()}
    for f in EVERY.values():
        if any("O" in types[: f.nin] for types in f.types):
            shapes = GENERALISED[f.signature] if f.signature else [()] * f.nin
            try:
                attempt(f, from_ufunc(f), [sample(np.dtype("O"), shape) for shape in shapes])
            except CannotError as reason:
                found[str(reason)].add(f.__name__)
    return found


def test_those_that_cannot_are_listed_in_the_guide():
    rows = dict(re.findall(r"^\| (.+) \| (`.+`) \|$", DOCS.read_text(), re.MULTILINE))
    listed = {reason: set(re.findall(r"`(\w+)`", names)) for reason, names in rows.items()}
    here = {f.__name__ for f in EVERY.values()}  # another release of NumPy may have fewer
    found = those_that_cannot()
    assert {reason: names & here for reason, names in listed.items()} == found, "\n".join(
        f"| {reason} | {', '.join(f'`{name}`' for name in sorted(names))} |" for reason, names in found.items()
    )


# -- one by one ------------------------------------------------------------------------------------------------------------


def test_a_ufunc_of_the_table_is_its_row():
    assert from_ufunc(np.sin) is dispatch.ops.np.sin
    assert from_ufunc(np.abs) is dispatch.ops.np.absolute
    assert from_ufunc(np.matmul) is dispatch.ops.np.matmul


def test_names_are_the_ufuncs_own():
    assert from_ufunc(special.erf).name == "scipy_special::erf"
    assert from_ufunc(special.digamma).name == "scipy_special::psi"
    assert from_ufunc(np.nextafter).name == "np::nextafter"
    assert dispatch.ops.scipy_special.erf is from_ufunc(special.erf)
    assert str(from_ufunc(special.hyp2f1).schema) == (
        "scipy_special::hyp2f1(Tensor x0, Tensor x1, Tensor x2, Tensor x3) -> Tensor"
    )
    assert str(from_ufunc(special.sici).schema) == "scipy_special::sici(Tensor x) -> (Tensor, Tensor)"


def test_a_name_of_ones_own_makes_an_operator_of_that_name():
    sine = from_ufunc(np.sin, "ufunctests::sine")
    assert sine.name == "ufunctests::sine"
    assert sine is not from_ufunc(np.sin)
    assert from_ufunc(np.sin, "ufunctests::sine") is sine
    assert sine(1.0) == np.sin(1.0)


def test_the_name_taken_by_another_ufunc_is_redefined_in_place(monkeypatch):
    monkeypatch.delitem(UFUNCS, np.nextafter, raising=False)
    first = from_ufunc(np.nextafter, "ufunctests::taken")
    assert UFUNCS[np.nextafter] is first
    second = from_ufunc(np.logaddexp, "ufunctests::taken")
    assert second is first
    assert first(1.0, 2.0) == np.logaddexp(1.0, 2.0)
    assert UFUNCS.get(np.nextafter) is not first
    again = from_ufunc(np.nextafter)
    assert again is not first
    assert again(1.0, 2.0) == np.nextafter(1.0, 2.0)


def test_python_numbers_promote_as_numbers():
    logaddexp = from_ufunc(np.logaddexp)
    x = np.ones((2, 3), "f4")
    for xs in [(x, 2.0), (2, x), (np.float64(2), x), (1, 2.5)]:
        real = logaddexp(*xs)
        assert layout(real) == layout(np.logaddexp(*xs))
        with dispatch.FakeTensorMode() as mode:
            fake = logaddexp(*[mode.from_array(y) if hasattr(y, "shape") else y for y in xs])
        assert layout(fake) == layout(real)
    assert np.array_equal(dispatch.vmap(lambda y: logaddexp(y, 2.0))(x), np.logaddexp(x, 2.0))


def test_a_wrapper_given_to_the_ufunc_finds_the_operator():
    from_ufunc(special.kolmogi, derivative=lambda x, out: out * 7.0)
    x = leaf((0.1, 0.5, 0.9))
    special.kolmogi(x).sum().backward()
    assert np.allclose(x.grad, special.kolmogi(x.value) * 7.0)
    batch = np.arange(6.0).reshape(2, 3)
    assert np.allclose(dispatch.vmap(special.exprel)(batch), special.exprel(batch))


def test_a_derivative_names_what_it_reads():
    two_over_root_pi = 2 / np.sqrt(np.pi)
    erf = from_ufunc(special.erf, "reads::erf", derivative=lambda x: two_over_root_pi * np.exp(-x * x))
    gradcheck(erf, (leaf(),))
    hypot = from_ufunc(np.hypot, "reads::hypot", derivative=[lambda x, out: x / out, lambda y, out: y / out])
    gradcheck(hypot, (leaf(), dispatch.tensor(np.ones((2, 1)), requires_grad=True)))
    assert set(opcheck(hypot, (leaf(), leaf((3.0, 4.0, 5.0)))).values()) == {"SUCCESS"}
    copysign = from_ufunc(np.copysign, "reads::copysign", derivative=(lambda x, y: np.sign(x) * np.sign(y), None))
    x, y = leaf(), leaf((-1.0, 1.0, -1.0))
    copysign(x, y).sum().backward()
    assert np.array_equal(x.grad, [-1.0, 1.0, -1.0])
    assert y.grad is None
    assert dispatch.grad(from_ufunc(np.deg2rad, "reads::deg2rad", derivative=np.pi / 180))(1.0) == np.pi / 180


def test_a_row_of_numpys_table_keeps_its_derivative():
    x = np.array([-2.0, 3.0])
    before = dispatch.grad(lambda x: np.sum(np.copysign(x, 1.0)))(x)
    with pytest.raises(DefinitionError) as refused:
        from_ufunc(np.copysign, derivative=(0.0, None))
    assert str(refused.value) == (
        "from_ufunc: np::copysign is a row of NumPy's table, which all code of this process shares, and derivative= would change it "
        'for all. Give an operator of your own a name: from_ufunc(np.copysign, "mylib::copysign", derivative=...).'
    )
    own = from_ufunc(np.copysign, "keeps::copysign", derivative=(0.0, None))
    assert np.array_equal(dispatch.grad(lambda x: np.sum(own(x, 1.0)))(x), [0.0, 0.0])
    assert np.array_equal(dispatch.grad(lambda x: np.sum(np.copysign(x, 1.0)))(x), before)
    assert np.array_equal(before, [-1.0, 1.0])


def test_without_a_derivative_a_gradient_is_refused_and_a_rule_can_be_registered():
    radian = from_ufunc(special.radian)  # degrees, minutes and seconds
    x, rest = leaf(), (np.ones(3), np.ones(3))
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.radian has no derivative: no closed form is known here\."):
        radian(x, *rest).sum().backward()
    radian.register_autograd(lambda ctx, g: (g * (np.pi / 180), None, None))
    gradcheck(radian, (x, *rest))


def test_a_gufunc_has_its_signature_and_complains_in_its_words():
    matvec = from_ufunc(np.linalg._umath_linalg.solve, "ufunctests::solve")
    assert str(matvec.signature) == "(m,m),(m,n)->(m,n)"
    a, b = np.eye(3) + 1, np.ones((5, 3, 2))
    opcheck(matvec, (a, b))
    with dispatch.FakeTensorMode() as mode:
        message = said(lambda: matvec(mode.from_array(a), mode.from_array(b[:, :2])), Exception)
    assert message == (
        "ufunctests::solve: dimension m of (m,m),(m,n)->(m,n) is 3 in 'x' and 2 in 'y'.\n"
        "  x  (m,m)  shape (3, 3)     m=3 m=3  loop ()\n"
        "  y  (m,n)  shape (5, 2, 2)  m=2 n=2  loop (5,)"
    )


def test_a_gufunc_with_an_output_dimension_of_its_own_has_no_shape_rule():
    if not hasattr(np.linalg._umath_linalg, "svd"):
        pytest.skip("NumPy has no gufunc with an output dimension of its own before 2.1")
    svd = from_ufunc(np.linalg._umath_linalg.svd, "ufunctests::svd")
    a = np.ones((4, 3, 2))
    assert np.allclose(dispatch.vmap(svd)(a), svd(a))
    with dispatch.FakeTensorMode() as mode:
        assert said(lambda: svd(mode.from_array(a)), NoRuleError) == (
            "ufunctests::svd: no input says how long p of (m,n)->(p) is, and the kernel is not run to learn it. "
            "Add a shape rule: svd.register_fake(rule)."
        )


def test_a_function_of_python_objects_gives_arrays_of_them():
    joined = from_ufunc(np.frompyfunc(lambda x, y: f"{x}{y}", 2, 1), "ufunctests::joined")
    split = from_ufunc(np.frompyfunc(lambda x: (x[0], x[1:]), 1, 2), "ufunctests::split")
    x = np.array(["a", "b"], object)
    assert joined(x, x).tolist() == ["aa", "bb"]
    one = joined(np.array("a", object), np.array("p", object))
    assert (one.shape, one.dtype, one[()]) == ((), object, "ap")
    assert [y.tolist() for y in split(joined(x, x))] == [["a", "b"], ["a", "b"]]
    assert [y[()] for y in split(one)] == ["a", "p"]
    with dispatch.FakeTensorMode() as mode:
        assert joined(mode.from_array(x), mode.from_array(x)).dtype == object


def test_what_is_no_ufunc_is_refused():
    advice = "For a function use custom_op; np.vectorize makes none either, but custom_op(..., signature=) does."
    for f, kind in [(len, "a builtin_function_or_method"), (np.vectorize(len), "a vectorize"), (None, "None")]:
        assert said(lambda f=f: from_ufunc(f), DefinitionError) == (
            f"from_ufunc makes an operator of a ufunc, and was given {kind}. {advice}"
        )


def test_a_ufunc_without_a_name_of_its_own_asks_for_one():
    assert said(lambda: from_ufunc(np.frompyfunc(lambda x: x, 1, 1)), DefinitionError) == (
        "from_ufunc: an operator is named after its ufunc and the ufunc's module, and <lambda> (vectorized) has none. "
        'Give it a name: from_ufunc(f, "mylib::name").'
    )


def test_the_derivative_of_a_gufunc_or_of_several_results_is_a_rule():
    tail = "Write them as a rule: {}.register_autograd(backward, setup_context=...)."
    for f, name, what in [(np.vecdot, "numpy", "generalised"), (special.modfresnelm, "scipy_special", "of 2 results")]:
        assert said(lambda f=f: from_ufunc(f, derivative=1.0), DefinitionError) == (
            f"{name}::{f.__name__}: derivative= takes the partial derivatives of one result, element by element, and this "
            f"ufunc is {what}.\n{tail.format(f.__name__)}"
        )
    assert said(lambda: from_ufunc(special.mathieu_a, derivative=1.0), DefinitionError) == (
        "scipy_special::mathieu_a: derivative= gives 1 partial derivative, and the arguments are (x, y). "
        "Give one for each, None where there is none."
    )


def test_opaque_without_a_derivative_is_refused():
    for opaque in (True, False):
        assert said(lambda opaque=opaque: from_ufunc(np.arctan2, opaque=opaque), DefinitionError) == (
            "from_ufunc: opaque= says what derivative= may be given, and there is none. Leave it out."
        )


def test_numbas_ufuncs_are_operators():
    numba = pytest.importorskip("numba", reason="Numba is not installed")

    @numba.vectorize
    def untyped(x, y):
        return x + y

    @numba.vectorize(["float64(float64, float64)"])
    def typed(x, y):
        return x * y

    @numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    def dotted(x, y, out):
        out[0] = 0
        for i in range(x.size):
            out[0] += x[i] * y[i]

    x = RNG.random((4, 3))
    for f in (untyped, typed, dotted):
        op = from_ufunc(f, f"ufunctests::{f.__name__}")
        assert from_ufunc(f, f"ufunctests::{f.__name__}") is op
        opcheck(op, (np.asfortranarray(x), x[:1]))
        for dtype in ("f4", "i4", "f8"):
            y = (10 * x).astype(dtype)
            with dispatch.FakeTensorMode() as mode:
                fake = op(mode.from_array(y), mode.from_array(y))
            assert layout(fake) == layout(op(y, y))
    assert said(lambda: from_ufunc(typed), DefinitionError) == (
        "from_ufunc: an operator is named after its ufunc and the ufunc's module, and typed was made inside a function, "
        'where several may have its name. Give it a name: from_ufunc(f, "mylib::typed").'
    )

    @numba.guvectorize("(n)->()")
    def dynamic(x, out):
        out[0] = x.sum()

    assert said(lambda: from_ufunc(dynamic, "ufunctests::dynamic"), DefinitionError) == (
        "from_ufunc: dynamic is a guvectorize without types, which allocates no output. Give guvectorize its types: "
        '["void(float64[:], float64[:])"].'
    )

    @numba.guvectorize(["void(float64[:], float64[:])"], "(n)->()", writable_args=("x",))
    def writing(x, out):
        x[0] = out[0] = 1

    assert said(lambda: from_ufunc(writing, "ufunctests::writing"), DefinitionError).startswith(
        "from_ufunc: writing writes to its arguments, "
    )


# -- a ufunc as a derivative -------------------------------------------------------------------------------------------------

ONE = np.array([0.3, 0.7, 1.6])


WAYS = {
    "grad": lambda f, xs: dispatch.grad(lambda *xs: np.sum(f(*xs)))(*xs),
    "vmap of grad": lambda f, xs: dispatch.vmap(dispatch.grad(lambda *xs: np.sum(f(*xs))))(*[x[:, None] for x in xs])[:, 0],
    "jacfwd": lambda f, xs: np.diagonal(dispatch.jacfwd(f)(*xs)),
    "jvp": lambda f, xs: dispatch.jvp(lambda x: f(x, *xs[1:]), xs[:1], (np.ones(3),))[1],
    "make_fx": lambda f, xs: dispatch.make_fx(dispatch.grad(lambda *xs: np.sum(f(*xs))))(*xs)(*xs),
    "make_fx, fake": lambda f, xs: dispatch.make_fx(dispatch.grad(lambda *xs: np.sum(f(*xs))), "fake")(*xs)(*xs),
    "compile": lambda f, xs: dispatch.compile(dispatch.grad(lambda *xs: np.sum(f(*xs))))(*xs),
    "functionalize": lambda f, xs: dispatch.functionalize(dispatch.grad(lambda *xs: np.sum(f(*xs))))(*xs),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_ufunc_as_a_derivative_goes_both_ways(way):
    gammaln = from_ufunc(special.gammaln, "ways::gammaln", derivative=special.digamma)
    assert np.allclose(WAYS[way](gammaln, (ONE,)), special.digamma(ONE), rtol=1e-14)
    expm1 = from_ufunc(special.expm1, "ways::expm1", derivative=np.exp)
    assert np.allclose(WAYS[way](expm1, (ONE,)), np.exp(ONE), rtol=1e-14)
    # of two arguments: a ufunc of both, in their order, and one of the argument itself
    hypot = from_ufunc(np.hypot, "ways::hypot", derivative=(lambda x, out: x / out, lambda y, out: y / out))
    xlog1py = from_ufunc(special.xlog1py, "ways::xlog1py", derivative=(special.xlog1py, np.negative))
    assert np.allclose(WAYS[way](xlog1py, (ONE, ONE + 1)), special.xlog1py(ONE, ONE + 1))
    assert np.allclose(WAYS[way](hypot, (ONE, ONE + 1)), ONE / np.hypot(ONE, ONE + 1))
    swapped = WAYS[way](lambda y, x: xlog1py(x, y), (ONE + 1, ONE))
    assert np.allclose(swapped, -(ONE + 1))


def test_a_ufunc_of_a_row_is_differentiated_again_and_another_says_what_to_write():
    expm1 = from_ufunc(special.expm1, "again::expm1", derivative=np.exp)
    assert np.allclose(dispatch.hessian(lambda x: np.sum(expm1(x)))(ONE), np.diag(np.exp(ONE)))
    ellipe = from_ufunc(special.ellipe, "again::ellipe", derivative=special.kolmogorov)
    with pytest.raises(UnsupportedError, match=r"scipy\.special\.kolmogorov has no derivative: no closed form is known here\."):
        dispatch.grad(lambda x: np.sum(dispatch.grad(lambda x: np.sum(ellipe(x)))(x)))(ONE / 2)
    from_ufunc(special.kolmogorov, derivative=lambda x: x * 0 + 7.0)
    assert np.allclose(dispatch.hessian(lambda x: np.sum(ellipe(x)))(ONE / 2), 7.0 * np.eye(3))


def test_a_ufunc_without_a_name_of_its_own_may_be_a_derivative():
    cube = np.frompyfunc(lambda x: x**3, 1, 1)
    op = dispatch.custom_op("unnamed::quarter", lambda x: x**4 / 4, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(elementwise=cube)
    x = np.array([0.5, 2.0])
    assert np.allclose(dispatch.grad(lambda x: np.sum(op(x)))(x), x**3)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (np.add, "add, which is of 2 arrays and 1 result"),
        (np.modf, "modf, which is of 1 array and 2 results"),
        (np.matmul, "matmul, which is generalised"),
    ],
)
def test_a_ufunc_that_is_no_derivative_is_refused_when_it_is_registered(f, what):
    with pytest.raises(DefinitionError) as caught:
        from_ufunc(special.i0, "refused::i0", derivative=f)
    assert str(caught.value) == (
        f"refused::i0: the partial derivative by 'x' is the ufunc {what}. It is one of all arrays (x), or of x alone, with one "
        "result; or a function that names what it reads."
    )
