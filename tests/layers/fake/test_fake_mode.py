"""FakeTensorMode: from arrays to fakes, what is known of a fake beside its metadata, and what meets what."""

import gc
import itertools
from weakref import ref

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensor, FakeTensorMode, ops
from dispatch.core import DispatchKey
from dispatch.errors import DataDependentError, DeviceMismatchError, FakeTensorError
from dispatch.layers.fake import fake_tensor
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.arange(6.0).reshape(2, 3).copy()
F8 = np.dtype(float)
_numbers = itertools.count()


def define(schema, rule):
    """An operator whose kernel must not run, and its fake rule."""

    def no_kernel(*args):
        raise AssertionError("a kernel ran where there is no data")

    op = build(Schema.parse(schema, name=f"fakemodetests::op{next(_numbers)}"))
    op.register_at(DispatchKey.CompositeExplicit, no_kernel)
    op.register_fake(rule)
    return op


def said(error, call):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


# -- the same array, the same fake -----------------------------------------------------------------------------------------


def test_the_same_array_has_the_same_fake():
    mode, a = FakeTensorMode(), A.copy()
    fake = mode.from_array(a)
    assert mode.from_array(a) is fake
    assert mode.from_array(a.copy()) is not fake
    assert FakeTensorMode().from_array(a) is not fake
    a.resize((3, 2), refcheck=False)
    assert mode.from_array(a).shape == (3, 2)


def test_an_array_is_not_kept_alive_by_its_fake_nor_a_fake_by_its_array():
    mode, a = FakeTensorMode(), A.copy()
    fake = mode.from_array(a)
    of_array, of_fake = ref(a), ref(fake)
    del a, fake
    gc.collect()
    assert (of_array(), of_fake()) == (None, None)


def test_fakes_of_views_are_views_of_one_fake():
    mode, a = FakeTensorMode(), np.arange(12.0)
    row, block = mode.from_array(a[3:6]), mode.from_array(a.reshape(3, 4).T[1:])
    assert row.base is block.base is mode.from_array(a)
    assert mode.from_array(a).base is None
    assert (block.shape, block.strides) == ((3, 3), (8, 32))


@pytest.mark.parametrize(
    ("view", "shares"),
    [
        (lambda x: x.T, True), (lambda x: x[1:], True), (lambda x: x[0], True), (lambda x: x.reshape(6), True),
        (lambda x: x.T.reshape(6), False), (lambda x: x[[0, 1]], False), (lambda x: x[0, 0], False), (lambda x: x[..., 0, 0], True),
        (lambda x: x.real, True), (lambda x: np.imag(x), False), (lambda x: x.astype(float), False), (lambda x: x + 1, False),
        (lambda x: np.broadcast_to(x, (4, 2, 3)), True), (lambda x: np.ravel(x), True), (lambda x: x.copy(), False),
        (lambda x: np.flip(x), True), (lambda x: np.split(x, 2)[1], True), (lambda x: np.einsum("ij->ji", x), True),
    ],
)  # fmt: skip
def test_a_view_operator_gives_a_view_of_what_it_was_given(view, shares):
    mode = FakeTensorMode()
    x = mode.from_array(A)
    for whole in (x, x):  # the second time what is given is remembered
        assert view(whole).base is (whole if shares else None)
    assert np.may_share_memory(view(A), A) == shares


def test_a_custom_operator_gives_the_views_that_its_schema_promises():
    seen = define("(Tensor(a) x) -> Tensor(a)", lambda x: np.empty(x.shape[::-1]))
    both = define("(Tensor(a) x, Tensor y) -> (Tensor(a), Tensor)", lambda x, y: (np.empty_like(x), np.empty_like(y)))
    listed = define("(Tensor x, Tensor(a)[] ys) -> Tensor(a)[]", lambda x, ys: [np.empty_like(y) for y in ys])
    mode = FakeTensorMode()
    x, y = mode.from_array(A), mode.from_array(A.copy())
    assert (seen(x).base, seen(x.T).base) == (x, x)
    first, second = both(x, y)
    assert (first.base, second.base) == (x, None)
    assert [out.base for out in listed(x, [y])] == [y]


# -- real arrays -----------------------------------------------------------------------------------------------------------


def test_a_mode_may_take_real_arrays():
    mode, other = FakeTensorMode(allow_non_fake_inputs=True), A.copy()
    x = mode.from_array(A)
    for out in (np.add(x, other), np.stack([x, other])[0], x @ other.T):
        assert (type(out), out.mode) == (FakeTensor, mode)
    with mode:
        assert ops.np.sum(other).mode is mode
    scale = define("(Tensor x, Tensor[] ys) -> Tensor", lambda x, ys: np.empty_like(ys[0]))
    assert scale(x, [other]).mode is mode
    assert np.array_equal(other, A)


def test_a_real_array_that_is_written_under_a_mode_keeps_its_elements():
    fill = define("(Tensor(a!) x, Tensor y) -> ()", lambda x, y: None)
    a = A.copy()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fill(a, mode.from_array(A))
        ops.np.setitem_(a, 0, 7.0)
    assert np.array_equal(a, A)


def test_numpys_scalars_are_arrays_that_nobody_writes_to():
    with FakeTensorMode() as mode:
        assert ops.np.multiply(mode.from_array(A), np.float32(2)).dtype == F8


class Elsewhere:
    """An array of another device, as a library of arrays might have it."""

    shape, dtype, ndim = (2, 3), F8, 2


def test_arrays_of_other_devices_are_real_too():
    dispatch.library.register_array_type(Elsewhere, device="remote")
    mode = FakeTensorMode()
    fake = mode.from_array(Elsewhere())
    assert (fake.shape, fake.strides, fake.device) == ((2, 3), (24, 8), "remote")
    assert said(FakeTensorError, lambda: ops.np.add(fake, Elsewhere())).startswith(
        "np::add was given a real array of shape (2, 3) and dtype float64 beside fake tensors."
    )


# -- devices ---------------------------------------------------------------------------------------------------------------


def on(device, mode, shape=(2, 3)):
    return fake_tensor(shape, F8, None, device, mode)


def test_outputs_are_on_the_device_of_the_arrays():
    mode = FakeTensorMode()
    there, number = on("cuda", mode), mode.from_array(np.array(2.0))
    row = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: np.empty(x.shape))
    for _ in range(2):
        for out in (np.sin(there), there.T[0], np.var(there), np.add(number, there), np.add(there, 1), np.stack([there])):
            assert out.device == "cuda"
        assert row(there, number).device == row(number, there).device == "cuda"
        assert np.sin(number).device == "cpu"


def test_two_devices_do_not_meet():
    mode = FakeTensorMode()
    here, there = mode.from_array(A), on("cuda", mode)
    row = define("(Tensor x, Tensor[] ys) -> Tensor", lambda x, ys: np.empty(x.shape))
    for call, name in ((lambda: np.add(here, there), "np::add"), (lambda: row(here, [there]), row.name)):
        assert said(DeviceMismatchError, call) == (
            f"{name}: the arrays of one call live on one device, and these do not: float64[2, 3] on cpu, float64[2, 3] on "
            "cuda. Move them together first."
        )


def test_a_factory_makes_fakes_on_the_device_it_is_asked_for():
    made = define("(int n, *, Device device='cpu') -> Tensor", lambda n, *, device: np.empty(n))
    with FakeTensorMode():
        assert (made(3).device, made(3, device="cuda").device) == ("cpu", "cuda")


def test_a_rule_may_say_where_its_output_is():
    there = define("(Tensor x) -> Tensor", lambda x: fake_tensor(x.shape, x.dtype, None, "cuda", x.mode))
    assert there(FakeTensorMode().from_array(A)).device == "cuda"


# -- one element that is known ---------------------------------------------------------------------------------------------


def test_an_element_that_is_known_can_be_read():
    n = FakeTensorMode().constant(3)
    assert (int(n), float(n), complex(n), n.item(), n.tolist(), bool(n), range(5)[n]) == (3, 3.0, 3 + 0j, 3, 3, True, 3)
    assert (n.shape, n.dtype, n.constant.flags.writeable) == ((), np.dtype(int), False)
    assert said(DataDependentError, lambda: np.asarray(n)).startswith("a NumPy array was asked of a fake tensor of shape ()")


def test_rows_compute_it():
    with FakeTensorMode() as mode:
        n, x = mode.constant(3), mode.constant([[2.5]])
        assert int(n * n + 1) == 10
        assert np.sqrt(x[0, 0]).item() == np.sqrt(2.5)
        assert [bool(n > 2), bool(n > 5)] == [True, False]
        assert np.where(n == 3, x, 0.0).tolist() == [[2.5]]
        assert np.var(x).item() == 0.0
        assert np.linalg.det(x).item() == 2.5
        assert np.stack([n])[0].item() == 3
        assert (n * 2.5).item() == 7.5
        assert [part.item() for part in np.linalg.slogdet(x)] == [1.0, np.log(2.5)]
    with FakeTensorMode(), FakeTensorMode() as inner:
        assert int(inner.constant(2) * inner.constant(4)) == 8


def test_what_else_goes_in_or_comes_out_is_not_known():
    with FakeTensorMode() as mode:
        n = mode.constant(3)
        assert np.broadcast_to(n, (1, 1)).constant is not None
        assert np.broadcast_to(n, (2,)).constant is None
        assert np.multiply(n, mode.from_array(np.array(2))).constant is None
        assert define("(Tensor x) -> Tensor", lambda x: np.empty_like(x))(n).constant is None  # no kernel of a user runs
        assert np.empty_like(n).constant is None
        assert np.zeros_like(n).item() == 0
        assert define("(Tensor x) -> Tensor", lambda x: x * 2)(n).constant is None
        assert mode.from_array(np.array(3)).constant is None


def test_it_is_forgotten_when_it_is_written_to():
    with FakeTensorMode() as mode:
        other = mode.from_array(np.array(2.0))
        for write in (
            lambda x: x.__setitem__((), other), lambda x: np.add(x, 1.0, out=x), lambda x: x.fill(0.0),
            lambda x: np.reshape(x, (1,)).__setitem__(0, other), define("(Tensor(a!) x) -> ()", lambda x: None),
        ):  # fmt: skip
            x = mode.constant(3.0)
            seen, late = np.reshape(x, (1,)), x * 2
            write(x)
            assert said(DataDependentError, lambda: float(x)).startswith("a float was asked")  # noqa: B023
            assert seen.constant is None
            assert float(late) == 6.0


def test_a_real_array_of_one_element_is_known_while_it_stays_as_it_was():
    a = np.array(2.0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert float(ops.np.multiply(a, 3)) == 6.0
        a[...] = 5.0
        assert float(ops.np.multiply(a, 3)) == 15.0
        ops.np.setitem_(a, (), 7.0)
        assert ops.np.multiply(a, 3).constant is None


def test_one_element_is_kept_and_no_more():
    mode = FakeTensorMode()
    for value, given in (
        ([1, 2], "an array of shape (2,)"), ([], "an array of shape (0,)"), (mode.constant(1), "a FakeTensor"), (object(), "an object"),
    ):  # fmt: skip
        assert said(FakeTensorError, lambda: mode.constant(value)) == (  # noqa: B023
            f"constant keeps the value of a number or of an array of one element, and was given {given}. "
            "Use from_array, which keeps none."
        )


# -- what is remembered ----------------------------------------------------------------------------------------------------


def test_a_number_is_told_from_another_of_equal_value():
    with FakeTensorMode() as mode:
        x = mode.from_array(np.ones((2, 3), "i4"))
        for number in (1, 1.0, True, 1 + 0j, 1):
            assert np.multiply(x, number).dtype == np.multiply(np.ones((2, 3), "i4"), number).dtype
            assert x[0, number].shape == A[0, number].shape if isinstance(number, int) else True
        for index in (1, True, None, (1,), (True,), [1], [True, False], slice(1), slice(None, None, 2), Ellipsis):
            assert x[index].shape == np.ones((2, 3))[index].shape


def test_an_error_is_raised_each_time():
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        for _ in range(2):
            with pytest.raises(ValueError, match="could not be broadcast"):
                np.add(x, mode.from_array(np.ones(4)))


def test_what_is_remembered_is_bounded():
    with FakeTensorMode() as mode:
        x = mode.from_array(np.ones(3000))
        for n in range(2500):
            assert x[:n].shape == (n,)


# -- writing, and the layers above -----------------------------------------------------------------------------------------


def test_writes_as_numpy_spells_them():
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        y = np.zeros_like(x)
        y[0] = x[1]
        y[:, 1] += 2
        y += 1
        assert np.add(x, y, out=y) is y
        np.copyto(y, x)
        with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(4,\)"):
            y[0] = mode.from_array(np.ones(4))
        assert (type(y), y.shape, y.dtype) == (FakeTensor, (2, 3), F8)


def norm(x):
    return np.sum(np.sin(x) ** 2)


TRANSFORMED = {
    "grad": dispatch.grad(norm),
    "vmap": dispatch.vmap(norm),
    "vmap of grad": dispatch.vmap(dispatch.grad(norm)),
    "grad of vmap": dispatch.grad(lambda x: np.sum(dispatch.vmap(norm)(x))),
    "jvp": lambda x: dispatch.jvp(norm, (x,), (x,)),
    "vjp": lambda x: dispatch.vjp(np.sin, x)[1](x),
    "jacrev": dispatch.jacrev(np.sin),
    "jacrev in pieces": dispatch.jacrev(np.sin, chunk_size=2),
    "jacrev row by row": dispatch.jacrev(np.sin, chunk_size=1),
    "jacfwd": dispatch.jacfwd(np.sin),
    "hessian": dispatch.hessian(norm),
    "vmap of hessian": dispatch.vmap(dispatch.hessian(norm)),
    "written": dispatch.grad(lambda x: np.sum(_written(x))),
}


def _written(x):
    y = np.zeros_like(x)
    y[0] = x[1] * 2
    return y * y


@pytest.mark.parametrize("f", TRANSFORMED.values(), ids=TRANSFORMED)
def test_transforms_of_fakes_give_the_shapes_of_transforms_of_arrays(f):
    mode = FakeTensorMode()
    x = mode.from_array(A)
    with mode:
        inside = f(x)
    real = f(A)
    for fake in (inside, f(x)):  # outside of its mode a fake goes back into it
        for made, expected in zip(leaves_of(fake), leaves_of(real), strict=True):
            assert (type(made), made.shape, made.dtype) == (FakeTensor, expected.shape, expected.dtype)


def leaves_of(out):
    return list(out) if isinstance(out, tuple) else [out]


def test_numbers_are_differentiated_under_a_mode():
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        assert dispatch.grad(lambda s: np.sum(s * x))(2.0).shape == ()
        assert dispatch.grad(lambda p: np.sum(p["s"] * x))({"s": 2.0})["s"].shape == ()
        assert [out.shape for out in dispatch.jvp(lambda s: s * x, (2.0,), (1.0,))] == [(2, 3), (2, 3)]
        assert dispatch.jacfwd(lambda s: s * x)(2.0).shape == (2, 3)


def test_tracked_fakes():
    with FakeTensorMode() as mode:
        x = dispatch.tensor(mode.from_array(A), requires_grad=True)
        np.sum(np.exp(x) * x).backward()
        assert (type(x.grad), x.grad.shape) == (FakeTensor, (2, 3))
        again = dispatch.autograd.grad(np.sum(x**3), x, create_graph=True)[0]
        assert dispatch.autograd.grad(np.sum(again), x)[0].shape == (2, 3)


def test_functional_forms_and_their_shapes():
    op = dispatch.custom_op(
        f"fakemodetests::add_{next(_numbers)}", lambda x, y: x.__iadd__(y), mutates_args=("x",), schema="(Tensor(a!) x, Tensor y) -> Tensor(a!)"
    )
    with FakeTensorMode() as mode:
        x, y = mode.from_array(A.T), mode.from_array(np.ones((3, 1)))
        assert op(x, y) is x
        made = op.functional(x, y)
    assert (made is not x, made.shape, made.strides, made.base) == (True, (3, 2), x.strides, None)
