"""`signature=`: an operator of one item is np.vectorize of its kernel, to every layer."""

import threading
from typing import Annotated

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import loop, said
from numpy.typing import NDArray

import dispatch
from dispatch import Residual, custom_op
from dispatch.errors import ArgumentError, BatchingError, DefinitionError, NoRuleError, OutputError, SchemaError
from dispatch.testing import gradcheck, opcheck

RNG = np.random.default_rng(0)


def apply_kernel(a: np.ndarray, x: np.ndarray, *, by: np.ndarray, power: int = 1) -> tuple[np.ndarray, np.ndarray]:
    assert (a.ndim, x.ndim, by.ndim) == (2, 1, 0)
    return a @ x * by**power, np.sum(x)


apply = custom_op("gufunctests::apply", apply_kernel, mutates_args=(), signature="(m,n),(n),()->(m),()")
oracle = np.vectorize(lambda a, x, by: apply_kernel(a, x, by=by), signature="(m,n),(n),()->(m),()")


@custom_op("gufunctests::mv", mutates_args=(), signature="(m,n),(n)->(m)")
def mv(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return a @ x


@mv.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    a, x = ctx.saved_tensors
    return outer(g, x), mv(np.swapaxes(a, -1, -2), g)


@custom_op("gufunctests::outer", mutates_args=(), signature="(m),(n)->(m,n)")
def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x[:, None] * y


@outer.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    x, y = ctx.saved_tensors
    return mv(g, y), mv(np.swapaxes(g, -1, -2), x)


loops = st.sampled_from([(), (1,), (2,), (1, 2), (3, 1), (3, 2)])


def arrays(*shapes):
    return [RNG.random(shape) for shape in shapes]


def layout(x):
    return x.shape, x.dtype, tuple(step for n, step in zip(x.shape, x.strides, strict=True) if n > 1) if x.size else ()


# -- values and shapes -----------------------------------------------------------------------------------------------------


@given(loops, loops, loops)
def test_an_operator_of_one_item_is_numpys_vectorize_of_its_kernel(of_a, of_x, of_by):
    a, x, by = arrays((*of_a, 2, 3), (*of_x, 3), of_by)
    expected = oracle(a, x, by)
    found = apply(a, x, by=by)
    assert type(found) is tuple
    for one, wanted in zip(found, expected, strict=True):
        assert np.array_equal(one, wanted)
        assert np.shape(one) == wanted.shape


@given(loops, loops)
def test_the_shape_rule_is_the_kernels_shapes(of_a, of_x):
    a, x = arrays((*of_a, 2, 3), (*of_x, 3))
    real = mv(a, x)
    with dispatch.FakeTensorMode() as mode:
        fake = mv(mode.from_array(a), mode.from_array(x))
    assert layout(fake) == layout(real)


def test_the_shape_rule_needs_no_memory():
    with dispatch.FakeTensorMode() as mode:
        big = mode.from_array(np.broadcast_to(0.0, (10**6, 10**6, 2, 3)))
        assert mv(big, mode.from_array(np.ones(3))).shape == (10**6, 10**6, 2)


@given(loops, loops, st.sampled_from([0, -1, None]), st.sampled_from([0, 1, None]))
def test_a_batch_is_the_loop_over_its_items(of_a, of_x, a_dim, x_dim):
    if a_dim is None and x_dim is None:
        return
    a, x = arrays((*of_a, 2, 3), (*of_x, 3))
    if a_dim is not None:
        a = np.stack([a, a + 1], a_dim)
    if x_dim is not None:
        x = np.stack([x, x + 1], x_dim)
    found = dispatch.vmap(mv, in_dims=(a_dim, x_dim))(a, x)
    assert np.allclose(found, loop(mv, (a_dim, x_dim), a, x), rtol=1e-14)


def test_a_batch_of_batches_is_one_call():
    calls = []

    @custom_op("gufunctests::counted", mutates_args=(), signature="(n),(n)->()", broadcasts=True)
    def counted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        calls.append((x.shape, y.shape))
        return np.einsum("...i,...i->...", x, y)

    x, y = arrays((5, 4, 3), (4, 6, 3))
    inner = dispatch.vmap(counted, in_dims=(None, 0))
    found = dispatch.vmap(inner, in_dims=(0, None))(np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(y[0]))
    assert np.allclose(found, x[:, 0] @ y[0].T)
    assert len(calls) == 1


OPTIONAL = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2))]


@pytest.mark.parametrize(("x_shape", "y_shape"), OPTIONAL)
@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0), (-1, 0)])
def test_absent_dimensions_stay_absent_in_a_batch(x_shape, y_shape, dims):
    x, y = arrays(x_shape, y_shape)
    x, y = (x if d is None else np.stack([x, x + 1], d) for x, d in zip((x, y), dims, strict=True))
    found = dispatch.vmap(product, in_dims=dims)(x, y)
    assert np.allclose(found, loop(np.matmul, dims, x, y))


@custom_op("gufunctests::product", mutates_args=(), signature="(n?,k),(k,m?)->(n?,m?)")
def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(x @ y)


@pytest.mark.parametrize(("x_shape", "y_shape"), OPTIONAL)
def test_optional_dimensions_are_matmuls(x_shape, y_shape):
    x, y = arrays(x_shape, y_shape)
    assert np.allclose(product(x, y), x @ y)
    with dispatch.FakeTensorMode() as mode:
        assert product(mode.from_array(x), mode.from_array(y)).shape == (x @ y).shape


def test_a_loop_without_items_has_the_shape_and_dtype_of_the_shape_rule():
    found = apply(np.ones((0, 1, 2, 3), "f4"), np.ones((5, 3), "f4"), by=np.ones((), "f4"))
    assert [(x.shape, x.dtype) for x in found] == [((0, 5, 2), np.float32), ((0, 5), np.float32)]
    assert mv(np.ones((0, 2, 3)), np.ones(3)).shape == (0, 2)


def test_items_without_elements_are_items():
    assert np.array_equal(mv(np.ones((4, 2, 0)), np.ones(0)), np.zeros((4, 2)))


def test_the_dtype_is_what_the_hint_says_else_what_the_arrays_promote_to():
    @custom_op("gufunctests::counts", mutates_args=(), signature="(n),()->(),(),()")
    def counts(x: np.ndarray, y: np.ndarray) -> "tuple[NDArray[np.int64], np.ndarray, NDArray[np.bool_]]":
        return np.int64(x.size), x.sum() + y, np.bool_(x.any())

    opcheck(counts, (np.ones((4, 3), "f4"), np.ones(4, "f8")))
    found = counts(np.ones((0, 3), "f4"), np.ones((), "f8"))
    assert [x.dtype for x in found] == [np.int64, np.float64, np.bool_]
    assert counts(np.ones((0, 3), "f4"), np.ones((), "f4"))[1].dtype == np.float32


def test_a_python_number_promotes_as_one():
    @custom_op("gufunctests::shifted", mutates_args=(), signature="(n),()->(n)")
    def shifted(x: np.ndarray, by: np.ndarray | float) -> np.ndarray:
        return x + by

    x = np.ones((4, 3), "f4")
    assert shifted(x, 2.0).dtype == np.float32
    assert shifted(x[:0], 2.0).dtype == np.float32
    assert np.array_equal(shifted(x, np.arange(4.0))[:, 0], [1.0, 2.0, 3.0, 4.0])
    opcheck(shifted, (x, 2.0))


def test_another_shape_rule_is_above_the_signatures():
    @custom_op("gufunctests::halves", mutates_args=(), signature="(n)->(p)")
    def halves(x: np.ndarray) -> np.ndarray:
        return x[: x.size // 2].copy()

    x = np.ones((3, 4))
    message = said(lambda: halves(x[:0]), NoRuleError)
    assert message == (
        "gufunctests::halves: no input says how long p of (n)->(p) is, and the kernel is not run to learn it. "
        "Add a shape rule: halves.register_fake(rule)."
    )
    halves.register_fake(lambda x: np.empty((*x.shape[:-1], x.shape[-1] // 2), x.dtype))
    assert halves(x[:0]).shape == (0, 2)
    assert halves(x).shape == (3, 2)
    opcheck(halves, (x,))


def test_a_fixed_size_is_part_of_the_signature():
    @custom_op("gufunctests::cross", mutates_args=(), signature="(3),(3)->(3)")
    def cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.cross(x, y)

    x, y = arrays((5, 1, 3), (4, 3))
    assert np.allclose(cross(x, y), np.cross(x, y))
    assert said(lambda: cross(x[..., :2], y), ArgumentError) == (
        "gufunctests::cross: an axis of 'x' has length 2, and (3),(3)->(3) says 3.\n"
        "  x  (3)  shape (5, 1, 2)  loop (5, 1)\n"
        "  y  (3)  shape (4, 3)     loop (4,)"
    )


# -- with the other layers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("of_a", "of_x"), [((), ()), ((4,), ()), ((), (4,)), ((4, 1), (2,))])
def test_gradients_are_summed_over_what_was_broadcast(of_a, of_x):
    a, x = arrays((*of_a, 2, 3), (*of_x, 3))
    tracked = [dispatch.tensor(y, requires_grad=True) for y in (a, x)]
    gradcheck(mv, tuple(tracked))
    mv(*tracked).sum().backward()
    full = np.broadcast_shapes(of_a, of_x)
    dense_a = np.broadcast_to(np.broadcast_to(x, (*full, 3))[..., None, :], (*full, 2, 3))
    extra = tuple(range(len(full) - len(of_a)))
    wanted = dense_a.sum(extra)
    wanted = wanted.sum(tuple(i for i, n in enumerate(of_a) if n == 1), keepdims=True)
    assert np.allclose(tracked[0].grad, wanted)


def test_gradients_of_batches_and_batches_of_gradients():
    a, x = arrays((5, 2, 3), (3,))
    of_one = dispatch.grad(lambda a, x: mv(a, x).sum(), argnums=1)
    assert np.allclose(dispatch.vmap(of_one, in_dims=(0, None))(a, x), a.sum(1))
    of_all = dispatch.grad(lambda x: dispatch.vmap(mv, in_dims=(0, None))(a, x).sum())
    assert np.allclose(of_all(x), a.sum((0, 1)))
    second = dispatch.grad(lambda a: dispatch.grad(lambda x: (mv(a, x) * mv(a, x)).sum())(x).sum())
    assert np.allclose(second(a[0]), 2 * (np.outer(a[0].sum(1), x) + (a[0] @ x)[:, None]))


@pytest.mark.parametrize("op", [mv, outer], ids=str)
def test_opcheck_finds_nothing(op):
    tracked = [dispatch.tensor(x, requires_grad=True) for x in arrays((4, 3, 3), (4, 1, 3))]
    assert set(opcheck(op, tracked).values()) == {"SUCCESS"}
    report = opcheck(apply, arrays((4, 2, 3), (3,)), {"by": np.arange(4.0)})
    assert {verdict.partition(":")[0] for verdict in report.values()} == {"SUCCESS", "SKIPPED"}


def test_a_kernel_that_broadcasts_keeps_its_residual():
    @custom_op("gufunctests::scaled", mutates_args=(), signature="(n)->(n)", broadcasts=True)
    def scaled(x: np.ndarray) -> tuple[np.ndarray, Residual]:
        norm = np.sqrt((x * x).sum(-1, keepdims=True))
        return x / norm, Residual()

    x = RNG.random((4, 3))
    assert np.allclose(dispatch.vmap(scaled)(x), scaled(x))


def test_a_layout_that_a_hint_asks_for_is_each_items():
    flags = []

    @custom_op("gufunctests::laid", mutates_args=(), signature="(m,n),(m,n)->()")
    def laid(x: Annotated[np.ndarray, "C"], y: Annotated[np.ndarray, "F"]) -> np.ndarray:
        flags.append((x.flags.c_contiguous, y.flags.f_contiguous))
        return np.sum(x * y)

    x, y = RNG.random((2, 3, 4)).transpose(1, 2, 0), RNG.random((3, 4, 2))
    assert np.allclose(laid(x, y), (x * y).sum((1, 2)))
    assert flags == [(True, True)] * 3


def test_the_signature_is_kept_and_a_kernel_for_a_device_takes_all_items():
    seen = []

    @custom_op("gufunctests::placed", mutates_args=(), signature="(n)->()", device_types="cuda")
    def placed(x: np.ndarray) -> np.ndarray: ...

    placed.register_kernel("cpu")(lambda x: seen.append(x.shape) or x.sum(-1))
    assert str(placed.signature) == "(n)->()"
    assert np.array_equal(placed(np.ones((4, 3))), [3.0] * 4)
    assert seen == [(4, 3)]


def test_a_kernel_without_hints_is_given_its_schema():
    op = custom_op("gufunctests::dot", np.dot, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor", signature="(n),(n)->()")
    x, y = arrays((4, 3), (3,))
    assert np.allclose(op(x, y), x @ y)
    opcheck(op, (x, y))


# -- threads ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 3, 64])
def test_workers_share_the_loop(workers):
    seen = set()

    def kernel(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.add(threading.current_thread())
        return x.sum(), 2 * x

    name = f"gufunctests::shared{workers}"
    op = custom_op(name, kernel, mutates_args=(), signature="(n)->(),(n)", workers=workers)
    x = RNG.random((7, 3, 2))
    total, doubled = op(x)
    assert np.array_equal(total, [[row.sum() for row in rows] for rows in x])
    assert np.array_equal(doubled, 2 * x)
    assert len(seen) == min(workers, 20)
    assert op(x[0, 0])[0] == x[0, 0].sum()
    assert op(x[:0])[0].shape == (0, 3)


def test_workers_run_at_once_and_with_the_callers_context():
    meeting = threading.Barrier(2)

    @custom_op("gufunctests::meet", mutates_args=(), signature="()->()", workers=2)
    def meet(x: np.ndarray) -> np.ndarray:
        if x:
            meeting.wait()
        return np.log(np.asarray(0.0))

    with np.errstate(divide="ignore"):
        assert np.array_equal(meet(np.arange(7.0)), [-np.inf] * 7)


def test_the_lowest_item_that_fails_is_the_one_that_raises():
    started = threading.Barrier(3)

    @custom_op("gufunctests::failing", mutates_args=(), signature="()->()", workers=3)
    def failing(x: np.ndarray) -> np.ndarray:
        if x in (1, 4, 7):
            started.wait()
        if x in (5, 6, 8):
            raise ValueError(f"item {int(x)}")
        return x + 1

    with pytest.raises(ValueError, match="item 5") as caught:
        failing(np.arange(10))
    assert caught.value.__notes__[0] == "at item [5] of the loop"
    assert threading.active_count() == 1 or all("loop" not in thread.name for thread in threading.enumerate())


def test_a_thread_that_cannot_be_started_leaves_nobody_writing(monkeypatch):
    started = []
    start = threading.Thread.start

    def limited(thread):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    op = custom_op("gufunctests::few", np.positive, mutates_args=(), schema="(Tensor x) -> Tensor", signature="()->()", workers=3)
    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        op(np.arange(10.0))
    assert [thread.is_alive() for thread in started] == [False]


# -- what is refused -------------------------------------------------------------------------------------------------------


def test_shapes_that_do_not_fit_are_refused_alike_by_kernel_shape_rule_and_batch():
    a, x = arrays((5, 2, 3), (5, 4))
    messages = {said(lambda: mv(a, x), ArgumentError)}
    with dispatch.FakeTensorMode() as mode:
        messages.add(said(lambda: mv(mode.from_array(a), mode.from_array(x)), ArgumentError))
    wanted = (
        "gufunctests::mv: dimension n of (m,n),(n)->(m) is 3 in 'a' and 4 in 'x'.\n"
        "  a  (m,n)  shape (5, 2, 3)  m=2 n=3  loop (5,)\n"
        "  x  (n)    shape (5, 4)     n=4      loop (5,)"
    )
    assert messages == {wanted}
    assert said(lambda: dispatch.vmap(mv)(a, x), ArgumentError) == (
        "gufunctests::mv: dimension n of (m,n),(n)->(m) is 3 in 'a' and 4 in 'x'.\n"
        "  a  (m,n)  shape (2, 3)  m=2 n=3  loop ()\n"
        "  x  (n)    shape (4,)    n=4      loop ()"
    )


def failing(name, kernel, signature="(n)->(n)", outputs="Tensor"):
    op = custom_op(f"gufunctests::{name}", kernel, mutates_args=(), schema=f"(Tensor x) -> {outputs}", signature=signature)
    return said(lambda: op(np.arange(6.0).reshape(2, 3)), OutputError)


def test_an_items_result_that_does_not_fit_is_said():
    assert failing("short", lambda x: x[:2]) == (
        "gufunctests::short: the output of an item has shape (2,), and the signature (n)->(n) says (n) with n=3."
    )
    assert failing("two", lambda x: (x, x[:2]), "(n)->(n),(3)", "(Tensor, Tensor)") == (
        "gufunctests::two: output 1 of an item has shape (2,), and the signature (n)->(n),(3) says (3)."
    )
    assert failing("lost", lambda x: x, "(n)->(n),(n)", "(Tensor, Tensor)") == (
        "gufunctests::lost: its kernel returned an ndarray of shape (3,) and dtype float64 for an item, and the signature "
        "(n)->(n),(n) has 2 outputs. Return a tuple of one for each."
    )
    assert failing("number", lambda x: 1.5, "(n)->()") == (
        "gufunctests::number: the output of an item is a float. A kernel returns plain NumPy arrays: np.asarray(result)."
    )
    assert failing("turned", lambda x: x if x[0] == 0 else x > 0) == (
        "gufunctests::turned: the output of an item has dtype bool, and that of the first item float64. "
        "Return the same dtype for each."
    )
    assert failing("deep", lambda x: x.reshape((3,) + (1,) * 63), f"(n)->(n,{','.join(f'p{i}' for i in range(63))})") == (
        "gufunctests::deep: the output of an item would make an array of 65 axes, and NumPy's have 64 at most."
    )


def test_arrays_whose_items_are_no_plain_arrays_are_refused_where_there_is_a_loop():
    a = np.ma.masked_array(np.ones((4, 2, 3)), mask=False)
    assert said(lambda: mv(a, np.ones(3)), ArgumentError) == (
        "gufunctests::mv: the loop (4,) hands its kernel items of plain NumPy arrays, and argument 'a' is a MaskedArray. "
        "Pass np.asarray(a), or say broadcasts=True of a kernel that does all items by itself."
    )
    assert isinstance(mv(a[0], np.ones(3)), np.ma.MaskedArray)
    found = apply(a[0], np.ma.masked_array(np.ones(3)), by=np.float64(2))
    assert np.array_equal(found[0], [6.0, 6.0])


class Foreign:
    """An array of another library."""

    shape, dtype = (4, 2, 3), np.dtype(float)


def test_arrays_of_another_library_need_a_kernel_of_their_own():
    kernel = vars(mv)["__wrapped__"]
    looped = mv.at(dispatch.DispatchKey.CPU)
    assert looped.__wrapped__ is kernel
    assert said(lambda: looped(Foreign(), np.ones(3)), ArgumentError) == (
        "gufunctests::mv: the loop (4,) hands its kernel items of plain NumPy arrays, and argument 'a' is a Foreign. "
        "Register a kernel for its device, or say broadcasts=True of a kernel that does all items by itself."
    )


def one(x: np.ndarray) -> np.ndarray: ...
def listed(x: list[np.ndarray]) -> np.ndarray: ...
def optional(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray: ...
def counted(x: np.ndarray) -> int: ...
def nothing(x: np.ndarray) -> None: ...
def kept(x: np.ndarray) -> tuple[np.ndarray, Residual]: ...


TAIL = "\n  signature: {}\n  schema:    {}"
REFUSED = [
    (one, {"signature": "(n),(n)->()"}, "the signature has 2 inputs, and the arrays are (x). Give each array, and no number, its parentheses."),
    (one, {"signature": "(n)->(),()"}, "the signature has 2 outputs, and the operator returns 1."),
    (nothing, {"signature": "(n)->()"}, "the signature has 1 output, and the operator returns 0."),
    (counted, {"signature": "(n)->()"}, "a signature is about arrays, and an output is none."),
    (listed, {"signature": "(n)->()"}, "argument 'x' is Tensor[]; a signature is about plain arrays."),
    (optional, {"signature": "(n),(n)->()"}, "argument 'y' is Tensor?; a signature is about plain arrays."),
    (one, {"signature": "(n)->()", "mutates_args": ("x",)}, "an operator with a signature writes to nothing, and returns fresh arrays. Leave out one of the two."),
    (kept, {"signature": "(n)->()"}, "the loop has no one residual to keep; a kernel that broadcasts by itself has, broadcasts=True."),
    (one, {"signature": "(n)->()", "workers": 0}, "workers= is a number of threads, 1 or more, and was given as 0."),
    (one, {"signature": "(n)->()", "workers": True}, "workers= is a number of threads, 1 or more, and was given as a bool."),
    (one, {"signature": "(n)->()", "workers": 2, "broadcasts": True}, "workers= share the loop, and with broadcasts=True there is none."),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_signature_that_contradicts_the_schema_is_refused(kernel, options, message):
    given = {"mutates_args": (), **options}
    found = said(lambda: custom_op("gufunctests::refused", kernel, **given), DefinitionError)
    first, signature, schema = found.split("\n")
    assert first == f"gufunctests::refused: {message}"
    assert signature == f"  signature: {options['signature']}"
    assert schema.startswith("  schema:    gufunctests::refused(")
    assert "refused" not in dir(dispatch.ops.gufunctests)


def test_what_is_about_items_needs_a_signature():
    for options, word in [({"broadcasts": True}, "broadcasts=True"), ({"workers": 2}, "workers=")]:
        assert said(lambda o=options: custom_op("gufunctests::refused", one, mutates_args=(), **o), DefinitionError) == (
            f'gufunctests::refused: {word} is about the items of a signature, and none is given. Write signature="(n)->()", say.'
        )
    assert said(
        lambda: custom_op("gufunctests::refused", one, mutates_args=(), signature="n->n"), SchemaError
    ).startswith("signature 'n->n' cannot be read at 'n'.")


def test_a_batch_that_was_not_asked_for_is_vmaps_business():
    with pytest.raises(BatchingError, match="no argument is mapped"):
        dispatch.vmap(mv, in_dims=None)(np.ones((2, 3)), np.ones(3))
