"""Rows, and every transform, compute on arrays of registered classes, and never on NumPy's behind anybody's back."""

import numpy as np
import pytest
from array_classes import CLASSES, ByProtocols, bare, boxed
from samples import bare as without_names
from samples import cases, maker, numpys

import dispatch
from dispatch import ops
from dispatch.core.pytree import leaves
from dispatch.errors import DeviceMismatchError, NoKernelError, UnsupportedError

ROWS = {op.schema.name: op for op in ops.np if not op.schema.is_mutable}
UNSET = {"empty", "empty_like"}  # what they hold is nobody's business
# Rows that refuse some of their samples with arrays of a registered class, and say so: the samples of the first two index with arrays of the
# class, whose numbers nobody knows here; `average` checks its weights, a quantile its q, a histogram its ends, a gradient its steps; two are steps of functions that have other parameters; the others make an array of NumPy's beside the given one. Of the
# rows of np.linalg a class's own function has other results: of another dtype, without residuals, without the whole basis, an int.
WITHOUT = {"equal_differences", "histogram_counts", "histogram", "histogram_bin_edges", "quantile", "nanquantile", "scatter_add", "setitem", "average", "linspace", "geomspace", "lexsort", "pad", "outer", "linalg_eig", "linalg_eigvals", "linalg_lstsq", "linalg_solved", "gradient", "histogramdd", "histogram2d", "linalg_full_qr", "linalg_matrix_rank", "linalg_cond", "roots", "modf", "frexp", "ufunc_reduce", "ufunc_accumulate", "ufunc_reduceat"}

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.75, -0.5]])
of_each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
FUNCTIONS = {
    "elementwise": lambda x: np.sin(x) * x + 2.0,
    "sum": lambda x: np.sum(x * x),
    "mean": lambda x: np.mean(np.exp(x), axis=0),
    "max": lambda x: np.max(x, axis=1),
    "matmul": lambda x: x @ np.swapaxes(x, 0, 1),
    "shapes": lambda x: np.concatenate([np.reshape(x, (3, 2)), np.transpose(x)]),
    "basic index": lambda x: x[1:, ::-2] * 3.0,
    "where": lambda x: np.where(x > 0.6, x * x, 0.0),
    "broadcast": lambda x: x * np.sum(x, axis=1, keepdims=True),
    "norm": lambda x: np.sqrt(np.sum(x**2)),
}
each = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


def run(op, args):
    count = op.arguments.positional
    return op(*args[:count], **dict(zip(op.arguments.keyword_names, args[count:], strict=True)))


def same(found, expected):
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(bare(x), y, rtol=1e-12, atol=1e-12)


def all_of(cls, value):
    return all(type(x) is cls for x in leaves(value))


@of_each_class
@each
def test_every_transform_gives_what_it_gives_of_numpys_arrays_in_the_class_that_went_in(cls, f):
    x, total = cls(X), lambda x: np.sum(f(x))
    row = lambda x: f(np.reshape(x, (2, 3)))
    stack = np.stack([X, X + 0.25])
    for name, transformed, args in [
        ("grad", dispatch.grad(total), (X,)),
        ("value_and_grad", dispatch.value_and_grad(total), (X,)),
        ("vjp", lambda x: dispatch.vjp(f, x)[0], (X,)),
        ("jvp", lambda x: dispatch.jvp(f, (x,), (x,)), (X,)),
        ("jacrev", dispatch.jacrev(f), (X,)),
        ("jacfwd", dispatch.jacfwd(f), (X,)),
        ("hessian", dispatch.hessian(total), (X,)),
        ("vmap", dispatch.vmap(f), (stack,)),
        ("vmap of grad", dispatch.vmap(dispatch.grad(total)), (stack,)),
        ("make_fx", lambda x: dispatch.make_fx(row)(x)(x), (X,)),
    ]:
        found = transformed(*[cls(a) for a in args])
        assert all_of(cls, found), name
        same(found, transformed(*args))
    assert type(x) is cls


@of_each_class
def test_a_leaf_keeps_the_array_and_its_gradient_is_of_the_class(cls):
    x = dispatch.tensor(cls(X), requires_grad=True)
    np.sum(np.sin(x)).backward()
    assert type(x.value) is type(x.grad) is cls
    np.testing.assert_array_equal(bare(x.grad), np.cos(X))
    (x * x).backward(cls(np.ones((2, 3))))
    np.testing.assert_allclose(bare(x.grad), np.cos(X) + 2 * X)
    assert type(dispatch.tensor(cls(X))) is cls
    assert dispatch.tensor(cls(X), dtype="f4").dtype == np.float32


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", ROWS.values(), ids=ROWS)
def test_a_row_gives_what_it_gives_of_numpys_arrays_or_names_what_is_missing(op):
    refused = False
    for args in cases(op, maker(np.float64)):
        if not any(isinstance(x, np.ndarray) for x in leaves(args)) or op.schema.name in UNSET:
            continue
        try:
            expected = run(op, args)
        except (ValueError, TypeError):
            continue  # NumPy refuses the dtype or the shape
        try:
            found = run(op, boxed(args))
        except (NoKernelError, DeviceMismatchError, UnsupportedError):
            refused = True
            continue
        for x, y in zip(leaves(without_names(op.schema.name, bare(found))), leaves(without_names(op.schema.name, expected)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)  # rows of other rows have NumPy's own kernel for its arrays alone
    assert not refused or op.schema.name in WITHOUT or numpys(op) is None  # the last: a step of some row's derivative


class Writable(ByProtocols):
    """One that can be written to; what its index gives is a copy."""

    def __setitem__(self, index, value):
        self._held = np.array(self._held)
        self._held[bare(index)] = bare(value)

    def copy(self):
        return Writable(self._held)

    def __array_ufunc__(self, *args, **keywords):
        return boxed(bare(super().__array_ufunc__(*args, **keywords)), Writable)

    def __array_function__(self, function, types, args, keywords):
        return boxed(bare(super().__array_function__(function, types, args, keywords)), Writable)


def test_an_array_that_can_be_written_to_is_copied_when_it_is_saved():
    x = dispatch.tensor(X, requires_grad=True)
    given = Writable(X)
    held = dispatch.tensor(ByProtocols(X), requires_grad=True)
    y = np.sum(held * given)
    given[...] = 0.0
    y.backward()
    np.testing.assert_array_equal(bare(held.grad), X)
    assert x.grad is None


@of_each_class
def test_an_index_of_numbers_that_numpy_holds_has_a_gradient(cls):
    loss = lambda x: np.sum(x[:, [2, 0]] ** 2)
    same(dispatch.grad(loss)(cls(X)), dispatch.grad(loss)(X))


@of_each_class
def test_arrays_of_two_devices_are_refused_but_for_numbers(cls):
    with pytest.raises(DeviceMismatchError, match="np::multiply: the arrays of one call live on one device, and these do not: "):
        dispatch.grad(lambda x: np.sum(x * np.ones((2, 3))))(cls(X))
    assert type(dispatch.grad(lambda x: np.sum(x * np.float64(2)))(cls(X))) is cls


def test_an_index_that_names_an_element_twice_has_no_gradient_and_the_message_says_what_to_do():
    with pytest.raises(UnsupportedError) as caught:
        dispatch.grad(lambda x: np.sum(x[[0, 0]]))(ByProtocols(X))
    assert str(caught.value) == (
        "np::scatter_add, the gradient of x[index], was asked for of a ByProtocols, with an index that names an element twice. "
        "Take each element once, or register a kernel: dispatch.register_kernel('np::scatter_add', device, function)."
    )


WRITES = {
    "an element": lambda y: y.__setitem__((0, 1), 2.0),
    "a row": lambda y: y.__setitem__(0, y[1] * 3.0),
    "a view": lambda y: y[1].__setitem__(slice(None, None, 2), y[0, 0]),
    "a view of a view": lambda y: np.swapaxes(y[:, 1:], 0, 1).__setitem__(0, y[:, 0]),
    "by a list": lambda y: y.__setitem__((slice(None), [2, 0]), y[:, :2]),
    "the last of two": lambda y: y.__setitem__((0, [1, 1]), y[1, :2]),
    "by a mask": lambda y: y.__setitem__(np.array([[True, False, True], [False, True, False]]), 5.0),
    "nothing": lambda y: y.__setitem__(slice(2, 2), 7.0),
    "augmented": lambda y: y[0].__imul__(y[1]),
}


@pytest.mark.parametrize("cls", [*CLASSES, Writable], ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_under_a_transform_needs_no_class_that_can_be_written_to(cls, write):
    def written(x):
        y = x * 1.0
        write(y)
        return y * y

    total = lambda x: np.sum(written(x))
    for transformed in (dispatch.grad(total), dispatch.hessian(total), lambda x: dispatch.jvp(written, (x,), (x,))):
        found = transformed(cls(X))
        assert all_of(cls, found)
        same(found, transformed(X))


def test_a_plain_write_to_what_cannot_be_written_to_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        ops.np.setitem_(ByProtocols(X), 0, 1.0)
    assert str(caught.value).startswith(
        "a write was asked of a ByProtocols, and its class has no __setitem__. Compute the whole instead: np.where(mask, new, x), "
        "np.concatenate([...])."
    )
    with pytest.raises(UnsupportedError, match=r"with an index of a class whose values are not known here\. Index with NumPy's arrays"):
        ops.np.setitem(ByProtocols(X), ByProtocols(np.array([0])), 1.0)


# -- indices that NumPy holds ----------------------------------------------------------------------------------------------

PLACES = np.array([[2, 0], [1, 2]])
INDEXED = {
    "x[:, i]": (lambda x, i: x[:, i], 0),
    "x[i]": (lambda x, i: x[0][i], 0),
    "np.take": (lambda x, i: np.take(x, i, axis=1), 0),
    "np.take_along_axis": (lambda x, i: np.take_along_axis(x, i.reshape(2, 2), 1), 0),
    "np.repeat": (lambda x, i: np.repeat(x, np.array([2, 0, 1]), axis=1), 0),
    "np.delete": (lambda x, i: np.delete(x, 1, axis=1), 0),
    "np.pad": (lambda x, i: np.pad(x, 1, mode="wrap"), 0),
}


@of_each_class
@pytest.mark.parametrize("f", [f for f, _ in INDEXED.values()], ids=INDEXED)
def test_an_index_array_of_numpys_goes_with_elements_of_any_class(cls, f):
    stack = np.stack([X, X + 0.25])
    for transformed, x in (
        (dispatch.vmap(lambda x: f(x, PLACES)), stack),
        (lambda x: dispatch.jvp(lambda x: f(x * x, PLACES), (x,), (x,)), X),
    ):
        found = transformed(cls(x))
        assert all_of(cls, found)
        same(found, transformed(x))


@of_each_class
def test_an_index_array_of_numpys_may_be_batched_beside_elements_of_any_class(cls):
    for f, in_dims in ((lambda x, i: x[i], (0, None)), (lambda x, i: x[i], (0, 0)), (lambda x, i: np.take(x * 1.0, i), (0, 0))):
        transformed = dispatch.vmap(f, in_dims=in_dims)
        x = X
        i = np.array([0, 2]) if in_dims == (0, None) else PLACES
        found = transformed(cls(x), i)
        assert all_of(cls, found)
        same(found, transformed(x, i))


def test_floats_of_numpys_are_no_index():
    with pytest.raises(DeviceMismatchError, match="np::getitem: the arrays of one call live on one device"):
        ops.np.getitem(ByProtocols(X), np.array([0.0, 1.0]))


# -- a program -------------------------------------------------------------------------------------------------------------


def program(x):
    """Thirty rows and more, of every family."""
    a = np.sin(x) * np.cos(x) + np.exp(-(x**2))
    b = np.sqrt(np.abs(np.tanh(a)) + 1.0) - np.log1p(a * a)
    c = np.where(b > 0.6, np.maximum(b, x), np.minimum(b, 1.5))
    d = np.clip(c, -2.0, 2.0) / (1.0 + np.square(c))
    e = np.swapaxes(d, 0, 1) @ d
    f = np.concatenate([e, np.flip(e, 0)], axis=0)
    g = np.stack([f, 2.0 * f]).sum(axis=0) + np.expand_dims(np.mean(f, axis=1), 1)
    h = np.cumsum(g, axis=0) - np.roll(g, 1, axis=0)
    i = np.broadcast_to(np.var(h, axis=0), h.shape) + np.tile(np.max(h, axis=1, keepdims=True), (1, 3))
    j = np.triu(np.reshape(i, (3, 6))[:, :3]) + np.diff(i, axis=0)[:3]
    k = np.einsum("ij,kj->ik", j, j) + np.eye(3)[0, 0] * np.moveaxis(j, 0, 1)
    return np.trace(k) + np.dot(np.ravel(j), np.ravel(k)) + np.prod(np.diagonal(k) * 0.1) + np.sum(np.take(k, [2, 0], axis=1))


MATRIX = np.array([[2.0, 0.5, 0.1], [0.3, 3.0, 0.2], [0.4, 0.1, 4.0]])
OF_MATRICES = {
    "solve": lambda x: np.linalg.solve(x, x * x),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "cholesky": lambda x: np.linalg.cholesky(x + np.swapaxes(x, 0, 1)),
    "eigh": lambda x: np.linalg.eigh(x + np.swapaxes(x, 0, 1))[1],
    "eigvalsh": lambda x: np.linalg.eigvalsh(x + np.swapaxes(x, 0, 1)),
    "svd": lambda x: np.linalg.svd(x, full_matrices=False)[0],
    "svdvals": lambda x: np.linalg.svd(x, compute_uv=False),
    "qr": lambda x: np.linalg.qr(x)[1],
    "pinv": np.linalg.pinv,
    "norm": np.linalg.norm,
    "matrix_power": lambda x: np.linalg.matrix_power(x, 3),
    "matrix_power of 0": lambda x: np.linalg.matrix_power(x, 0) * x,
    "trace": np.trace,
    "median": lambda x: np.median(x) * x,
    "einsum of a diagonal": lambda x: np.einsum("ii->i", x),
}


@of_each_class
@pytest.mark.parametrize("f", OF_MATRICES.values(), ids=OF_MATRICES)
def test_derivatives_of_functions_of_matrices(cls, f):
    loss = lambda x: np.sum(f(x) ** 3)
    for transformed in (dispatch.grad(loss), dispatch.hessian(loss), lambda x: dispatch.jvp(f, (x,), (x,))):
        found = transformed(cls(MATRIX))
        assert all_of(cls, found)
        for x, y in zip(leaves(found), leaves(transformed(MATRIX)), strict=True):
            np.testing.assert_allclose(bare(x), y, rtol=1e-9, atol=1e-9)


TRANSFORMS = {
    "grad": dispatch.grad(program),
    "value_and_grad": dispatch.value_and_grad(program),
    "jvp": lambda x: dispatch.jvp(program, (x,), (x,)),
    "jacrev of grad": dispatch.jacrev(dispatch.grad(program)),
    "hessian": dispatch.hessian(program),
    "vmap of rows": lambda x: dispatch.vmap(lambda row: program(np.reshape(row * np.ones_like(row), (1, 3)) + np.zeros_like(row)))(x),
    "vmap of grad": lambda x: dispatch.vmap(dispatch.grad(lambda row: program(np.stack([row, 2.0 * row]))))(x),
    "grad of vmap": dispatch.grad(lambda x: np.sum(dispatch.vmap(program)(np.stack([x, 2.0 * x])))),
    **{
        f"make_fx, {mode}{of}": lambda x, mode=mode, f=f: dispatch.make_fx(f, tracing_mode=mode)(x)(x)
        for mode in ("real", "fake", "symbolic")
        for of, f in (("", program), (" of grad", dispatch.grad(program)))
    },
}


@of_each_class
@pytest.mark.parametrize("transformed", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_program_of_thirty_rows_under_every_transform(cls, transformed):
    found = transformed(cls(X))
    assert all_of(cls, found)
    for x, y in zip(leaves(found), leaves(transformed(X)), strict=True):
        np.testing.assert_allclose(bare(x), y, rtol=1e-9, atol=1e-9)
