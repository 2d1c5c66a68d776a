"""Operators in torch: one law for eager calls, gradients of any order, torch.func, torch.compile and torch.export.

The oracle of values is the operator on arrays, and of derivatives torch's own gradcheck and the operator's transforms.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from making import define

import dispatch
from dispatch.errors import (
    ArgumentError,
    DeviceMismatchError,
    NoRuleError,
    UnsupportedError,
)

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.filterwarnings("ignore::FutureWarning")]
torch = pytest.importorskip("torch")

import custom_op_db as db  # noqa: E402  after torch is known to be here

from dispatch.interop.torch import export  # noqa: E402

X = np.array([1.0, 2.0, 3.0])
CASES = [(entry, entry.samples[0]) for entry in db.ENTRIES]
IDS = [entry.op.schema.name for entry in db.ENTRIES]
DIFFERENTIABLE = [(entry, sample) for entry, sample in CASES if entry.differentiable]
DIFFERENTIABLE_IDS = [name for name, (entry, _) in zip(IDS, CASES, strict=True) if entry.differentiable]


def tensors(x):
    """Arrays as tensors of their own memory, in lists too."""
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x.copy())
    return [tensors(y) for y in x] if isinstance(x, list) else x


def flat(x):
    return [y for item in x for y in flat(item)] if isinstance(x, (list, tuple)) else [x]


def of_floats(entry, sample, call):
    """A function of the floating-point tensors of a call, to the tuple of its floating-point results; and those tensors."""
    args = [tensors(x) for x in sample.args]
    inputs = [x for x in flat(args) if isinstance(x, torch.Tensor) and x.is_floating_point()]

    def function(*given):
        rest = iter(given)
        put = lambda x: [put(y) for y in x] if isinstance(x, list) else next(rest) if any(x is y for y in inputs) else x
        out = call(*[put(x) for x in args], **sample.kwargs)
        return tuple(x for x in flat(out) if isinstance(x, torch.Tensor) and x.is_floating_point())

    return function, inputs


def squared(function):
    return lambda *inputs: sum((x * x).sum() for x in function(*inputs))


@pytest.mark.parametrize(("entry", "sample"), CASES, ids=IDS)
def test_torch_s_own_opcheck_passes(entry, sample):
    args = [tensors(x) for x in sample.args]
    for x in flat(args):
        if entry.differentiable and isinstance(x, torch.Tensor) and x.is_floating_point():
            x.requires_grad_()
    assert set(torch.library.opcheck(export(entry.op).op, tuple(args), sample.kwargs).values()) == {"SUCCESS"}


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE, ids=DIFFERENTIABLE_IDS)
def test_torch_s_own_gradcheck_passes_in_both_modes_and_orders(entry, sample):
    function, inputs = of_floats(entry, sample, export(entry.op))
    inputs = [x.requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE, ids=DIFFERENTIABLE_IDS)
def test_torch_func_s_transforms_agree_with_autograd_and_each_other(entry, sample):
    function, inputs = of_floats(entry, sample, export(entry.op))
    loss, every = squared(function), tuple(range(len(inputs)))
    leaves = [x.clone().requires_grad_() for x in inputs]
    for x, y in zip(torch.func.grad(loss, every)(*inputs), torch.autograd.grad(loss(*leaves), leaves), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-12)
    jacobians = zip(torch.func.jacrev(function)(*inputs), torch.func.jacfwd(function)(*inputs), strict=True)
    assert all(torch.allclose(x, y, rtol=1e-12, atol=1e-12) for x, y in jacobians)
    batch = [torch.stack([x, 2 * x]) for x in inputs]
    for x, y in zip(torch.vmap(torch.func.grad(loss, every))(*batch), torch.func.grad(loss, every)(*[2 * x for x in inputs]), strict=True):
        torch.testing.assert_close(x[1], y, rtol=1e-12, atol=1e-12)


def test_a_hessian_is_that_of_the_operator_s_own_transforms():
    cube = export(db.numpy_cube)
    found = torch.func.hessian(lambda x: cube(x)[0].sum() * cube(x)[1].sum())(torch.from_numpy(X))
    wanted = dispatch.hessian(lambda x: np.sum(db.numpy_cube(x)[0]) * np.sum(db.numpy_cube(x)[1]))(X)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_a_vmap_is_one_call_by_the_operator_s_own_rule():
    calls = []

    @dispatch.custom_op("torch_tests::counted", mutates_args=())
    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(x.shape)
        return np.sin(x)

    counted.register_vmap(lambda info, in_dims, x: (counted(x), in_dims[0]))
    out = torch.vmap(export(counted), in_dims=1)(torch.ones(3, 5))
    assert (out.shape, calls) == ((5, 3), [(3, 5)])


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE[::3], ids=DIFFERENTIABLE_IDS[::3])
def test_torch_compile_in_one_graph_with_gradients(entry, sample):
    function, inputs = of_floats(entry, sample, export(entry.op))
    leaves = [x.clone().requires_grad_() for x in inputs]
    wanted = torch.autograd.grad(squared(function)(*leaves), leaves)
    torch._dynamo.reset()
    compiled = torch.compile(squared(function), fullgraph=True, backend="aot_eager", dynamic=True)
    for x, y in zip(torch.autograd.grad(compiled(*leaves), leaves), wanted, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-12)


def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize("cube", [db.numpy_cube, export(db.numpy_cube)], ids=["operator", "callable"])
def test_torch_func_inside_of_torch_compile(cube):
    x = torch.from_numpy(X)
    torch.testing.assert_close(compiled(lambda x: cube(x)[0] + 1)(x), x**3 + 1)
    torch.testing.assert_close(compiled(lambda x: torch.func.grad(lambda x: cube(x)[0].sum())(x))(x), 3 * x**2)
    torch.testing.assert_close(compiled(lambda x: torch.vmap(lambda x: cube(x)[1])(x))(x), 3 * x**2)
    torch.testing.assert_close(compiled(lambda x: torch.func.jvp(lambda x: cube(x)[0], (x,), (x,)))(x)[1], 3 * x**3)


def test_a_dict_and_a_number_inside_of_torch_compile_where_the_backward_is_plain_code():
    x, call = torch.from_numpy(X).requires_grad_(), export(weighed)

    def loss(x):
        return call({"w": x, "b": x}, 2.5).sum()

    (found,) = torch.autograd.grad(compiled(loss)(x), x)
    torch.testing.assert_close(found, torch.full((3,), 3.5, dtype=torch.float64))


@dispatch.custom_op("torch_tests::weighed", mutates_args=())
def weighed(p: dict[str, np.ndarray], x: np.ndarray | float) -> np.ndarray:
    return p["w"] * x + p["b"]


@weighed.register_fake
def _(p, x):
    return np.empty_like(p["w"])


@weighed.register_autograd
def _(ctx, g):
    numbers = np.array([float(x.item()) for x in g])  # which no fake has
    return {"w": 2.5 * numbers, "b": numbers}, None


@dispatch.custom_op("torch_tests::doubled", mutates_args=())
def doubled(x: np.ndarray, more: int) -> np.ndarray:
    return np.concatenate([x, x, x[:more]])


@doubled.register_fake
def _(x, more):
    return np.empty_like(x, shape=(2 * x.shape[0] + more, *x.shape[1:]))


class Net(torch.nn.Module):
    def forward(self, x, y):
        return export(db.numpy_mul)(x, y), export(doubled)(x, 3), export(db.numpy_nonzero)(x)


def test_torch_export_keeps_sizes_open_those_that_depend_on_data_too():
    n = torch.export.Dim("n", min=2)
    program = torch.export.export(Net(), (torch.ones(4, 3), torch.ones(4, 3)), dynamic_shapes=({0: n}, {0: n}))
    x, y = torch.eye(6)[:, :3], torch.ones(6, 3)
    product, joined, found = program.module()(x, y)
    assert torch.equal(product, x * y)
    assert torch.equal(joined, torch.cat([x, x, x[:3]]))
    assert torch.equal(found, x.nonzero())


def test_a_shape_rule_that_compares_sizes_leaves_torch_a_guard():
    @dispatch.custom_op("torch_tests::same", mutates_args=())
    def same(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + y

    @same.register_fake
    def _(x, y):
        if x.shape != y.shape:
            raise ValueError("of one shape")
        return np.empty_like(x)

    class Same(torch.nn.Module):
        def forward(self, x, y):
            return export(same)(x, y)

    n, m = torch.export.Dim("n"), torch.export.Dim("m")
    with pytest.raises(torch._dynamo.exc.UserError, match="m = n"):
        torch.export.export(Same(), (torch.ones(4), torch.ones(4)), dynamic_shapes=({0: n}, {0: m}))


# -- kinds of arguments and results ----------------------------------------------------------------------------------------


@dataclass
class Pair:
    w: np.ndarray
    b: np.ndarray
    power: int = 2


@dispatch.custom_op("torch_tests::affine", mutates_args=())
def affine(
    p: Pair, x: np.ndarray | float, mode: Literal["up", "down"] = "up", *, more: dict[str, np.ndarray], opt: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    y = p.w * x + p.b * more["k"]
    return {"y": y if mode == "up" else -y, "z": p.w**p.power}


@affine.register_fake
def _(p, x, mode, *, more, opt):
    return {"y": p.w * x + p.b, "z": np.empty_like(p.w)}


affine.register_autograd(finite_difference=True)


@pytest.mark.parametrize("number", [False, True])
def test_a_dataclass_a_dict_and_an_array_that_may_be_a_number(number):
    given = [torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    x = 2.5 if number else torch.rand(3, dtype=torch.float64)
    out = export(affine)(Pair(given[0], given[1]), x, "down", more={"k": given[2]})
    w, b, k = given
    torch.testing.assert_close(out["y"], -(w * x + b * k))
    found = torch.autograd.grad(out["y"].sum() + out["z"].sum(), given)
    torch.testing.assert_close(list(found), [2 * w - x, -k, -b], rtol=1e-6, atol=1e-6)
    assert torch.equal(affine(Pair(w, b), x, more={"k": k})["z"], w**2)


FLOAT32 = np.dtype("f4")


def test_dtypes_texts_lists_and_defaults():
    @dispatch.custom_op("torch_tests::plain", mutates_args=())
    def plain(x: np.ndarray, names: Sequence[str], dtype: np.dtype = FLOAT32, sizes: Sequence[int] = (1, 2), c: float = 0.5) -> np.ndarray:
        return np.full(tuple(sizes), x[0] * c * len(names), dtype)

    f = export(plain)
    assert torch.equal(f(torch.ones(2), ["a", "b"]), torch.ones(1, 2))
    assert f(torch.ones(2), ("a",), torch.float64, sizes=[np.int64(3)]).dtype == torch.float64
    assert f(torch.ones(2), [], np.int16).dtype == torch.int16


def test_a_list_of_optional_arrays_keeps_its_gradient():
    @dispatch.custom_op("torch_tests::sum_of", mutates_args=())
    def sum_of(xs: Sequence[np.ndarray | None]) -> np.ndarray:
        return sum(x for x in xs if x is not None) + 0.0

    sum_of.register_autograd(lambda ctx, g: [g if need else None for need in ctx.needs_input_grad[0]])
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    export(sum_of)([None, x, None, x]).sum().backward()
    assert torch.equal(x.grad, torch.full((2,), 2.0))


def test_a_residual_stays_inside():
    @dispatch.custom_op("torch_tests::factored", mutates_args=())
    def factored(x: np.ndarray) -> tuple[np.ndarray, dispatch.Residual]:
        return x**2, {"twice": 2 * x}

    @factored.register_autograd
    def _(ctx, g):
        return g * ctx.residual["twice"]

    x = torch.tensor(X, requires_grad=True)
    y = export(factored)(x)
    y.sum().backward()
    assert torch.equal(y.detach(), torch.tensor(X**2))
    assert torch.equal(x.grad, torch.tensor(2 * X))


# -- operators that write --------------------------------------------------------------------------------------------------


@dispatch.custom_op("torch_tests::scale_", mutates_args=("x",))
def scale_(x: np.ndarray, by: float) -> None:
    x *= by


@scale_.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))
def _(ctx, g):
    return g * ctx.by, None


def test_a_write_is_in_the_tensor_and_torch_is_told():
    for call in (scale_, export(scale_), export(scale_).op):
        x = torch.ones(3)
        before = x._version
        assert call(x, 2.0) is None
        assert torch.equal(x, torch.full((3,), 2.0))
        assert x._version == before + 1
    assert set(torch.library.opcheck(export(scale_).op, (torch.ones(3), 2.0)).values()) == {"SUCCESS"}


def test_a_write_to_what_torch_has_saved_raises_there():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    export(scale_).op(y.detach(), 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


torch_scale_ = export(scale_)


def wrote(x):
    y = x * 1
    torch_scale_(y, 3.0)
    return y.sum()


def test_a_write_has_a_gradient():
    x = torch.ones(3, requires_grad=True)
    wrote(x).backward()
    assert torch.equal(x.grad, torch.full((3,), 3.0))
    assert torch.equal(torch.func.grad(wrote)(torch.ones(3)), torch.full((3,), 3.0))
    torch._dynamo.reset()
    x.grad = None
    torch.compile(wrote, fullgraph=True, backend="aot_eager")(x).backward()
    assert torch.equal(x.grad, torch.full((3,), 3.0))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        export(scale_)(torch.ones(3, requires_grad=True), 2.0)


NUMBERS = torch.tensor([1j, 2.0 + 1j])
WRITABLE = {
    "C order": lambda: torch.rand(3),
    "transposed": lambda: torch.rand(2, 3).T,
    "every other": lambda: torch.rand(6)[::2],
    "0-d": lambda: torch.tensor(2.0),
    "empty": lambda: torch.empty(0),
    "conjugate": lambda: NUMBERS.clone().conj(),
    "negative": lambda: NUMBERS.clone().conj().imag,
    "parameter": lambda: torch.nn.Parameter(torch.ones(3), requires_grad=False),
}


@pytest.mark.parametrize("call", [scale_, export(scale_)], ids=["operator", "callable"])
@pytest.mark.parametrize("make", WRITABLE.values(), ids=WRITABLE)
def test_a_write_reaches_memory_of_every_layout_once_and_torch_is_told(make, call):
    x = make()
    before, version = x.clone(), x._version
    call(x, 2.0)
    assert torch.equal(x, 2 * before)
    assert x._version == version + 1


def test_a_write_where_torch_refuses_one_is_refused():
    with pytest.raises(ArgumentError, match=r"of which several elements are one in memory, an expanded one say\. Write x\.clone\(\)"):
        scale_(torch.rand(1, 3).expand(2, 3), 2.0)
    with torch.inference_mode():
        x = torch.ones(3)
        scale_(x, 2.0)
    assert x.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ArgumentError, match=r"writes to a tensor of torch\.inference_mode\(\), outside of that"):
        scale_(x, 2.0)
    x = torch.ones(3, requires_grad=True)
    for written in (x, x * 1):
        with pytest.raises(UnsupportedError, match=r"called by torch\.ops, and writes to a tensor that requires a gradient, which would be lost"):
            torch_scale_.op(written, 2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        torch_scale_(x[:2], 2.0)
    assert x.tolist() == [1.0, 1.0, 1.0]
    with torch.no_grad():
        scale_(x, 2.0)
    assert (x.tolist(), x.requires_grad) == ([2.0, 2.0, 2.0], True)


def test_a_write_to_a_part_has_the_gradient_of_the_whole():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    torch_scale_(y[:2], 3.0)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0, 1.0]


def test_a_write_to_memory_that_numpy_and_torch_share_shows_in_both():
    a = np.ones(3)
    x = torch.from_numpy(a)
    scale_(x, 2.0)
    assert a.tolist() == [2.0, 2.0, 2.0]
    scale_(a, 2.0)
    assert x.tolist() == [4.0, 4.0, 4.0]


# -- memory ----------------------------------------------------------------------------------------------------------------


@dispatch.custom_op("torch_tests::seen", mutates_args=())
def seen(x: np.ndarray) -> np.ndarray:
    seen_arrays.append(x)
    return np.negative(x)


seen_arrays: list[np.ndarray] = []


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.rand(4, 3).T,
        lambda: torch.rand(4, 3)[::2, 1:],
        lambda: torch.tensor(2.5),
        lambda: torch.empty(0, 3),
        lambda: torch.rand(1, 3).expand(4, 3),
        lambda: torch.rand(3, dtype=torch.complex64).conj(),
        lambda: torch.rand(3, dtype=torch.complex64).conj().imag,
        lambda: torch.nn.Parameter(torch.rand(3), requires_grad=False),
        lambda: torch.arange(3, dtype=torch.uint8),
        lambda: torch.tensor([True, False]).int(),
    ],
    ids=["transposed", "strided", "0-d", "empty", "expanded", "conjugate", "negative", "parameter", "uint8", "int32"],
)
def test_tensors_of_every_layout_arrive_without_a_copy_where_memory_allows(make):
    x = make()
    seen_arrays.clear()
    assert torch.equal(seen(x), -x)
    assert seen_arrays[0].shape == tuple(x.shape)
    if not x.is_conj() and not x.is_neg() and x.numel():
        assert seen_arrays[0].ctypes.data == x.data_ptr()


@pytest.mark.parametrize(
    ("make", "shared"),
    [
        (lambda: X.copy(), True),
        (lambda: X[::-1], False),
        (lambda: np.ones((2, 3)).T, False),
        (lambda: np.broadcast_to(2.0, (3,)), False),
        (lambda: np.array(1.5), True),
        (lambda: np.float64(1.5), False),
        (lambda: np.empty((0, 2)), True),
    ],
    ids=["plain", "negative strides", "transposed", "read-only", "0-d", "scalar", "empty"],
)
def test_arrays_of_every_layout_leave_without_a_copy_where_memory_allows(make, shared):
    made = make()

    given = define("(Tensor x) -> Tensor", lambda x: made)
    before = np.array(made)
    out = export(given)(torch.ones(1))
    assert np.array_equal(out.numpy(), before)
    assert out.is_contiguous()
    if np.size(made):
        assert shared == (isinstance(made, np.ndarray) and out.data_ptr() == made.ctypes.data)
    out.zero_()  # and a write to the tensor does not reach an array that could not be written to
    assert shared or np.array_equal(made, before)


def test_an_output_that_the_tape_has_kept_is_not_the_tensor_that_is_returned():
    @dispatch.custom_op("torch_tests::exp", mutates_args=())
    def exp(x: np.ndarray) -> np.ndarray:
        return np.exp(x)

    @exp.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    def _(ctx, g):
        return g * ctx.saved_tensors[0]

    for n in (3, 20_000):
        x = torch.zeros(n, dtype=torch.float64, requires_grad=True)
        y = export(exp)(x)
        with torch.no_grad():
            y.mul_(5)
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], torch.ones(n))


@pytest.mark.parametrize("n", [3, 20_000])
def test_a_write_to_an_input_between_forward_and_backward_raises(n):
    x = torch.ones(n, dtype=torch.float64, requires_grad=True)
    y = export(db.numpy_mul)(x, x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("n", [3, 20_000])
def test_a_write_to_an_array_beside_a_recorded_tensor_does_not_reach_its_gradient(n):
    x, a = torch.ones(n, dtype=torch.float64, requires_grad=True), np.full(n, 2.0)
    y = db.numpy_mul(x, a)
    a[:] = 5.0
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((n,), 2.0))


@pytest.mark.parametrize("n", [3, 20_000])
def test_what_a_recorded_call_keeps_is_the_tensor_s_own_memory(n):
    kept = []
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y)

    @op.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    def _(ctx, g):
        kept.extend(ctx.saved_tensors)
        return g * kept[1], None

    x, y = torch.ones(n, dtype=torch.float64, requires_grad=True), torch.ones(n, dtype=torch.float64)
    export(op)(x, y).sum().backward()
    assert [a.ctypes.data for a in kept] == [x.data_ptr(), y.data_ptr()]
    assert not any(a.flags.writeable for a in kept)


def test_a_gradient_that_is_the_cotangent_itself_is_copied():
    @dispatch.custom_op("torch_tests::same_again", mutates_args=())
    def same_again(x: np.ndarray) -> np.ndarray:
        return x.copy()

    same_again.register_autograd(lambda ctx, g: g)
    x = torch.ones(3, requires_grad=True)
    g = torch.ones(3)
    (found,) = torch.autograd.grad(export(same_again)(x), x, g)
    assert found.data_ptr() != g.data_ptr()


# -- what is asked of a call -----------------------------------------------------------------------------------------------


def test_no_gradient_is_recorded_where_none_is_asked():
    f = export(db.numpy_mul)
    x = torch.ones(3, requires_grad=True)
    assert f(x, x).requires_grad
    assert not f(x.detach(), x.detach()).requires_grad
    with torch.no_grad():
        assert not f(x, x).requires_grad
    assert not f(torch.ones(3), torch.ones(3)).requires_grad


def test_a_backward_runs_the_forward_s_kernel_once():
    calls = []

    @dispatch.custom_op("torch_tests::once", mutates_args=())
    def once(x: np.ndarray) -> np.ndarray:
        calls.append(1)
        return x**2

    @once.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    def _(ctx, g):
        return 2 * g * ctx.saved_tensors[0]

    x = torch.ones(3, requires_grad=True)
    y = export(once)(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert (calls, x.grad.tolist()) == ([1], [4.0, 4.0, 4.0])


def test_make_fx_sees_the_operator_and_its_backward():
    from torch.fx.experimental.proxy_tensor import make_fx

    def gradient(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(export(db.numpy_cube)(x)[0].sum(), x)[0]

    graph = make_fx(gradient)(torch.ones(3, dtype=torch.float64))
    names = {str(node.target) for node in graph.graph.nodes}
    assert {"db.numpy_cube.default", "db.numpy_cube_pullback.default"} <= names
    x = torch.tensor(X)
    torch.testing.assert_close(graph(x), 3 * x**2)


# -- faults ----------------------------------------------------------------------------------------------------------------


@dispatch.custom_op("torch_tests::failing", mutates_args=())
def failing(x: np.ndarray) -> np.ndarray:
    raise ZeroDivisionError("no convergence")


@pytest.mark.parametrize("call", [failing, export(failing), export(failing).op], ids=["operator", "callable", "torch.ops"])
def test_a_kernel_s_exception_comes_out_as_itself_with_a_note(call):
    for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
        with pytest.raises(ZeroDivisionError, match="no convergence") as caught:
            call(x)
        assert caught.value.__notes__[0].startswith("in operator torch_tests::failing(x: ")


def test_an_exception_of_a_backward_comes_out_as_itself():
    @dispatch.custom_op("torch_tests::fails_back", mutates_args=())
    def fails_back(x: np.ndarray) -> np.ndarray:
        return x + 1

    @fails_back.register_autograd
    def _(ctx, g):
        raise ZeroDivisionError("no convergence back")

    with pytest.raises(ZeroDivisionError, match="no convergence back"):
        export(fails_back)(torch.ones(2, requires_grad=True)).sum().backward()


def test_a_missing_rule_says_what_to_write():
    @dispatch.custom_op("torch_tests::bare", mutates_args=())
    def bare(x: np.ndarray) -> np.ndarray:
        return x + 1

    f = export(bare)
    with pytest.raises(NoRuleError, match=r"Add one: bare\.register_autograd"):
        f(torch.ones(2, requires_grad=True)).sum().backward()
    with pytest.raises(NoRuleError, match=r"Add one: bare\.register_autograd"):
        torch.func.grad(lambda x: f(x).sum())(torch.ones(2))
    with pytest.raises(NoRuleError, match=r"Add one: bare\.register_jvp"):
        torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),))
    with pytest.raises(NoRuleError, match=r"Add one: bare\.register_fake"):
        f(torch._subclasses.FakeTensorMode().from_tensor(torch.ones(2)))


META = torch.ones(3, device="meta")


def test_tensors_without_data_run_the_shape_rule():
    f, x = export(db.numpy_mul), torch.ones(3, device="meta", requires_grad=True)
    for out in (f(META, META), db.numpy_mul(META, META), f.op(META, META), torch.vmap(f)(META, META)):
        assert (out.device.type, out.shape) == ("meta", (3,))
    f(x, META).sum().backward()
    assert x.grad.device.type == "meta"


@pytest.mark.parametrize("call", [db.numpy_mul, export(db.numpy_mul), export(db.numpy_mul).op], ids=["operator", "callable", "torch.ops"])
def test_tensors_of_several_devices_are_refused_with_the_line_to_write(call):
    for x, y in ((torch.ones(3), META), (META, torch.ones(3))):
        wanted = rf"tensors on {x.device} and on {y.device}, and a call takes those of one device\. Write x\.to\('{x.device}'\)"
        with pytest.raises(DeviceMismatchError, match=wanted):
            call(x, y)
    with torch._subclasses.FakeTensorMode():  # stand-ins for tensors of a device that is not here
        there, here = torch.empty(3, device="cuda"), torch.empty(3)
        assert call(there, there).device.type == "cuda"
        with pytest.raises(DeviceMismatchError, match=r"tensors on cuda:0 and on cpu"):
            call(there, here)
    if call is not export(db.numpy_mul).op:
        with pytest.raises(DeviceMismatchError, match=r"tensors on meta and on cpu"):
            call(META, X)


KINDS = {
    "bool": torch.tensor([True, False, True]),
    "integers": torch.arange(3),
    "complex": NUMBERS,
    "float16": torch.ones(3, dtype=torch.float16),
}


@pytest.mark.parametrize("x", KINDS.values(), ids=KINDS)
def test_dtypes_without_and_with_a_gradient(x):
    f = export(db.numpy_mul)
    torch.testing.assert_close(f(x, x), x * x)
    w = torch.ones(len(x), dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(f(x.real if x.is_complex() else x, w), (x.real if x.is_complex() else x) * w)
    found = torch.autograd.grad(f(w, x.real if x.is_complex() else x).sum(), w)[0]
    torch.testing.assert_close(found, (x.real if x.is_complex() else x).double())


def test_inference_mode_and_subclasses_are_those_of_torch():
    f = export(db.numpy_mul)
    with torch.inference_mode():
        x = torch.ones(3)
        assert f(x, x).is_inference()
    assert torch.equal(f(x, x), x)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        f(torch.ones(3, requires_grad=True), x)

    class Named(torch.Tensor):
        pass

    assert type(f(torch.nn.Parameter(torch.ones(3)), torch.ones(3))) is torch.Tensor
    assert type(f(torch.ones(3).as_subclass(Named), torch.ones(3))) is Named
    with pytest.raises(TypeError, match=r"Sparse layout tensor"):
        f(torch.eye(3).to_sparse(), torch.ones(3))
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        with pytest.raises(UnsupportedError, match=rf"NumPy has no dtype for {dtype}\. Write x\.float\(\)"):
            f(torch.ones(3, dtype=torch.float32).to(dtype), torch.ones(3))


def test_a_dtype_that_the_other_does_not_have_is_named():
    with pytest.raises(UnsupportedError, match=r"NumPy has no dtype for torch\.bfloat16\. Write x\.float\(\)"):
        seen(torch.ones(2, dtype=torch.bfloat16))

    @dispatch.custom_op("torch_tests::long", mutates_args=())
    def long(x: np.ndarray, dtype: str) -> np.ndarray:
        return np.ones(2, dtype)

    for dtype in (">f8", "longdouble", "datetime64[s]"):
        with pytest.raises(UnsupportedError, match=r"torch has no dtype for .*: write x\.astype"):
            export(long)(torch.ones(1), dtype)


def test_an_operator_that_is_defined_anew_is_exported_anew():
    def again(f, schema="(Tensor x) -> Tensor"):
        return export(dispatch.custom_op("torch_tests::again", f, mutates_args=(), schema=schema))

    first = again(lambda x: 2 * x)
    assert torch.equal(again(lambda x: 3 * x)(torch.ones(1)), torch.tensor([3.0]))
    assert torch.equal(first(torch.ones(1)), torch.tensor([3.0]))
    assert torch.equal(again(lambda x, n=4: x * n, "(Tensor x, int n=4) -> Tensor")(torch.ones(1)), torch.tensor([4.0]))


def test_eight_threads_at_once():
    found, f = [], export(db.numpy_mul)
    start = threading.Barrier(8)

    def work(k):
        start.wait()
        for _ in range(50):
            x = torch.full((3,), float(k), dtype=torch.float64, requires_grad=True)
            (g,) = torch.autograd.grad(f(x, x).sum(), x)
            found.append(torch.equal(g.detach(), 2 * x.detach()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 400
