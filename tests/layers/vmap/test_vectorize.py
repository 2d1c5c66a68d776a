"""vectorize gives what np.vectorize gives, in one call."""

import math
from itertools import product

import making
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch
from dispatch import Tag, custom_op, grad, vectorize, vmap
from dispatch.errors import ArgumentError, BatchingError, DefinitionError, OutputError

RANDOM = np.random.default_rng(0)
A, X = RANDOM.normal(size=(4, 1, 2, 3)), RANDOM.normal(size=(5, 3))


def matvec(a, x):
    return a @ x


FUNCTIONS = {
    "(m,n),(n)->(m)": matvec,
    "(n),(n)->()": lambda x, y: np.sum(x * y),
    "(n)->(),(n,n)": lambda x: (np.sum(x), x[:, None] * x),
    "(),(n)->(n)": lambda s, x: s * np.sin(x),
    "(),()->()": lambda x, y: np.where(x > y, x * y, x),
    "(3),(m,3)->(m),(k)": lambda x, a: (a @ x, np.stack([np.sum(x), np.sum(a)])),
}
SIZES = {"m": 2, "n": 3, "k": 2, "3": 3}


@st.composite
def loops(draw, count):
    """Loop dimensions that broadcast, some of length 1 and some left out."""
    whole = draw(st.lists(st.integers(1, 3), max_size=4))
    found = []
    for _ in range(count):
        kept = whole[draw(st.integers(0, len(whole))) :]
        found.append(tuple(n if draw(st.booleans()) else 1 for n in kept))
    return found


@given(st.data(), st.sampled_from(sorted(FUNCTIONS)))
def test_any_signature_and_any_loop(data, signature):
    f = FUNCTIONS[signature]
    cores = [core.strip("()").split(",") for core in signature.split("->")[0].replace("),(", ");(").split(";")]
    shapes = [loop + tuple(SIZES[c] for c in core if c) for loop, core in zip(data.draw(loops(len(cores))), cores, strict=True)]
    args = [np.arange(1.0, 1 + math.prod(shape)).reshape(shape) / (i + 2) for i, shape in enumerate(shapes)]
    found, expected = vectorize(f, signature=signature)(*args), np.vectorize(f, signature=signature)(*args)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for x, y in pairs:
        assert x.shape == np.shape(y)
        assert np.allclose(x, y)


@given(st.data())
def test_numbers_without_a_signature(data):
    x, y = (np.arange(1.0, 1 + math.prod(shape)).reshape(shape) for shape in data.draw(loops(2)))
    for f in (lambda x, y: x * y + 1, lambda x, y: (np.sin(x), np.where(x > y, x, 2 * y))):
        found, expected = vectorize(f)(x, y), np.vectorize(f)(x, y)
        for one, other in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
            assert one.shape == np.shape(other)
            assert np.allclose(one, other)


def test_one_call_for_all_items_and_nothing_repeated():
    shapes = []
    op = making.batched("(Tensor a, Tensor x) -> Tensor", matvec, lambda info, in_dims, a, x: shapes.append((a.shape, x.shape)) or (np.squeeze(a @ x[..., None], -1), 0))
    a, x = RANDOM.normal(size=(4, 5, 2, 3)), RANDOM.normal(size=(4, 5, 3))
    assert np.allclose(vectorize(op, signature="(m,n),(n)->(m)")(a, x), (a @ x[..., None])[..., 0])
    assert shapes == [((20, 2, 3), (20, 3))]
    calls = []
    vectorize(lambda a, x: calls.append(1) or a @ x, signature="(m,n),(n)->(m)")(np.ones((6, 1, 5, 2, 3)), np.ones((7, 1, 3)))
    assert calls == [1]


def test_the_runs_of_loop_dimensions_that_are_mapped_together():
    sizes = []
    op = making.batched("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y, lambda info, in_dims, x, y: sizes.append((info.batch_size, in_dims)) or (op(*[np.moveaxis(v, d, 0) if d is not None else v[None] for v, d in zip((x, y), in_dims, strict=True)]), 0))
    found = vectorize(op)(np.ones((2, 3, 1, 4)), np.ones((3, 5, 4)))
    assert found.shape == (2, 3, 5, 4)
    assert [size for size, _ in sizes] == [4, 5, 3, 2]


def test_excluded_keywords_and_dtypes_as_numpy_has_them():
    def f(x, p, *, k=1.0):
        return x * p[0] + k

    x, k = np.arange(3.0), np.arange(6.0).reshape(2, 3)
    for excluded in ({1}, {"p"}, [1], (1, "unknown")):
        expected = np.vectorize(lambda x, k: x * 4 + k)(x, k)
        assert np.array_equal(vectorize(f, excluded=excluded)(x, [4.0], k=k), expected)
    assert np.array_equal(vectorize(f, excluded="p")(x, p=[4.0], k=k), expected)
    polynomial = vectorize(lambda c, x: c[0] * x + c[1], signature="()->()", excluded=[0])
    assert np.array_equal(polynomial([2, 3], x), 2 * x + 3)
    assert vectorize(np.sin, otypes="f")(x).dtype == np.float32
    both = vectorize(lambda x: (x, x), otypes=[np.float32, complex])(x)
    assert [y.dtype for y in both] == [np.float32, np.complex128]


def test_optional_dimensions_and_numbers():
    f = vectorize(matvec, signature="(m?,n),(n)->(m?)")
    a, x = np.ones(3), np.ones((5, 3))
    assert f(a, x).shape == (5,)
    assert f(A, X).shape == (4, 5, 2)
    g = vectorize(lambda s, x: s * x, signature="(),(n)->(n)")
    assert np.array_equal(g(2, X), 2 * X)
    assert np.array_equal(g([1, 2], X[0]), [X[0], 2 * X[0]])
    assert vectorize(np.sin)(1.5) == np.sin(1.5)


def test_it_is_a_decorator_and_keeps_the_name():
    @vectorize(signature="(n)->()")
    def total(x):
        """What it says."""
        return np.sum(x)

    assert (total.__name__, total.__doc__) == ("total", "What it says.")
    assert np.allclose(total(X), X.sum(1))


def test_derivatives_and_batches_go_through():
    f = vectorize(matvec, signature="(m,n),(n)->(m)")
    got = grad(lambda x: np.sum(f(A, x) ** 2))(X)
    plain = np.stack([grad(lambda x: np.sum((A[:, 0] @ x) ** 2))(x) for x in X])
    assert np.allclose(got, plain)
    batched = RANDOM.normal(size=(6, 5, 3))
    assert np.allclose(vmap(lambda x: f(A, x))(batched), np.stack([f(A, x) for x in batched]))
    inner = vectorize(lambda x: grad(lambda y: np.sum(np.sin(y)))(x), signature="(n)->(n)")
    assert np.allclose(inner(A), np.cos(A))


def test_no_items():
    assert vectorize(np.sin)(np.ones((0, 3))).shape == (0, 3)
    assert vectorize(matvec, signature="(m,n),(n)->(m)")(A, np.ones((0, 3))).shape == (4, 0, 2)


def test_operators_that_draw_give_each_item_its_own():
    @custom_op("test_vectorize::noise", mutates_args=(), tags=Tag.random)
    def noise(x: np.ndarray) -> np.ndarray:
        return x + RANDOM.normal()

    assert len(np.unique(vectorize(noise)(np.zeros((2, 3))))) == 6


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vectorize(3), DefinitionError, "vectorize takes a function first, and was given an int. Write vectorize(f, signature='(n)->()')."),
        (lambda: vectorize(np.sin, excluded=[1.5]), DefinitionError, "vectorize: excluded names arguments by position or name, and has a float."),
        (lambda: vectorize(np.sin, signature="()->()", otypes="ff"), DefinitionError, "vectorize: otypes has 2 dtypes, one for each output, and the signature is ()->()."),
        (lambda: vectorize(np.sin, otypes="ff")(1.0), OutputError, "vectorize(sin): otypes has 2 dtypes, one for each output, and the function returned 1 output."),
        (lambda: vectorize(np.sin)(), ArgumentError, "vectorize(sin) was called without an argument to go over."),
        (lambda: vectorize(np.sin, excluded=[0])(X), ArgumentError, "vectorize(sin) was called without an argument to go over."),
        (lambda: vectorize(matvec, signature="(m,n),(n)->(m)")(A), ArgumentError, "vectorize(matvec): the signature (m,n),(n)->(m) has 2 inputs, and 1 was given (a). Name those that every item gets as they are: excluded=."),
        (
            lambda: vectorize(matvec, signature="(m,n),(n)->(m)")(A, X[:, :2]),
            ArgumentError,
            ("vectorize(matvec): dimension n of (m,n),(n)->(m) is 3 in 'a' and 2 in 'x'.\n"
            "  a  (m,n)  shape (4, 1, 2, 3)  m=2 n=3  loop (4, 1)\n"
            "  x  (n)    shape (5, 2)        n=2      loop (5,)"),
        ),
        (
            lambda: vectorize(matvec)(np.ones(2), x=np.ones(3)),
            ArgumentError,
            ("vectorize(matvec): the loop dimensions (2,) of 'a' and (3,) of 'x' do not broadcast.\n"
            "  a  ()  shape (2,)  loop (2,)\n"
            "  x  ()  shape (3,)  loop (3,)"),
        ),
        (lambda: vectorize(matvec, signature="(m,n),(n)->(n)")(A, X), OutputError, "vectorize(matvec): the output of an item has shape (2,), and the signature (m,n),(n)->(n) says (n) with n=3."),
        (lambda: vectorize(matvec, signature="(m,n),(n)->(m,k)")(A, X), OutputError, "vectorize(matvec): the output of an item has shape (2,), and the signature (m,n),(n)->(m,k) says (m,k) with m=2."),
        (lambda: vectorize(matvec, signature="(m,n),(n)->(m),()")(A, X), OutputError, "vectorize(matvec): the function returned a BatchedTensor, and the signature (m,n),(n)->(m),() has 2 outputs."),
        (lambda: vectorize(matvec, signature="(m,n),(n)->(4)")(A, X), OutputError, "vectorize(matvec): the output of an item has shape (2,), and the signature (m,n),(n)->(4) says (4)."),
        (lambda: vectorize(lambda x: (x, x, x), signature="()->(),()")(X), OutputError, "vectorize(<lambda>): the function returned 3 outputs, and the signature ()->(),() has 2 outputs."),
        (lambda: vectorize(lambda x: (x, np.stack([x, x])), signature="()->(),()")(X), OutputError, "vectorize(<lambda>): output 1 of an item has shape (2,), and the signature ()->(),() says ()."),
        (lambda: vectorize(lambda x: np.stack([x, x]))(X), OutputError, "vectorize(<lambda>): the output of an item has shape (2,), and without a signature an item is one number. Name the axes: signature='()->(n)' for a number in and an array out."),
        (lambda: vectorize(np.sin, signature="n->n"), dispatch.errors.SchemaError, "signature 'n->n' cannot be read at 'n'. Write the axes of each array in parentheses, \"(m,n),(n)->(m)\"; \"()\" for one number."),
    ],
)  # fmt: skip
def test_what_does_not_fit(call, error, message):
    assert making.said(call, error) == message


@pytest.mark.parametrize(("f", "x"), list(product([lambda x: x if x > 0 else -x, math.sin], [X, X[0]])))
def test_one_number_of_an_item_is_not_to_be_had(f, x):
    assert making.said(lambda: vectorize(f)(x), BatchingError).startswith("one number was asked of a batched value")
