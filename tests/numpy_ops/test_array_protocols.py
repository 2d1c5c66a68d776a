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
# Rows that have no kernel for arrays of a registered class, and say so. Some write to an array, which these classes cannot; some make
# index arrays, which are NumPy's; the number of results of some depends on data; some are one call of NumPy's in other shapes.
WITHOUT = {"average", "einsum",
    "view_scatter", "scatter_add", "setitem", "delete", "repeat", "pad", "take_along_axis", "linspace", "outer",
    "nonzero", "unique", "unique_all", "linalg_inv_lower", "linalg_matrix_power", "linalg_svd", "linalg_tall_qr", "linalg_qr",
}  # fmt: skip

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
    "array index": lambda x: x[:, [2, 0]],
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
            np.testing.assert_allclose(x, y, rtol=1e-13)  # rows of other rows have NumPy's own kernel for its arrays alone
    assert not refused or op.schema.name in WITHOUT or numpys(op) is None  # the last: a step of some row's derivative


def test_an_array_that_can_be_written_to_is_copied_when_it_is_saved():
    class Writable(ByProtocols):
        def __setitem__(self, index, value):
            self._held = np.array(self._held)
            self._held[index] = bare(value)

        def copy(self):
            return Writable(self._held)

    x = dispatch.tensor(X, requires_grad=True)
    given = Writable(X)
    held = dispatch.tensor(ByProtocols(X), requires_grad=True)
    y = np.sum(held * given)
    given[...] = 0.0
    y.backward()
    np.testing.assert_array_equal(bare(held.grad), X)
    assert x.grad is None


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


def test_a_write_to_a_view_of_what_cannot_be_written_to_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        dispatch.grad(lambda x: np.sum(written(x * 1.0)))(ByProtocols(X))
    assert str(caught.value).startswith(
        "a write was asked of a ByProtocols, and its class has no __setitem__. Compute the whole instead: np.where(mask, new, x), "
        "np.concatenate([...])."
    )


def written(x):
    x[0] = 2.0
    return x
