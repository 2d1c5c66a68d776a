"""Torch functions as operators: values, gradients of any order, tangents, batches and shapes are torch's own."""

import pickle

import numpy as np
import pytest

import dispatch
from dispatch.errors import AliasError, ArgumentError, ConversionError, DefinitionError, OutputError, UnsupportedError

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]
torch = pytest.importorskip("torch")

from dispatch.interop.torch import export, wrap  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)


def parameters():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()


MODULE = parameters()
net = wrap(MODULE, "torch_functions::net")


def loss(x):
    return np.sum(net(x) ** 2)


def torch_loss(x):
    return (MODULE(x) ** 2).sum()


def of_torch(f, *args):
    return f(*map(torch.from_numpy, args)).detach().numpy()


def test_a_module_takes_and_returns_arrays():
    out = net(X)
    assert type(out) is np.ndarray
    np.testing.assert_array_equal(out, of_torch(MODULE, X))
    assert str(net.schema) == "torch_functions::net(Tensor input) -> Tensor"
    assert pickle.loads(pickle.dumps(net)) is net


def test_gradients_of_any_order_are_torch_s():
    np.testing.assert_allclose(dispatch.grad(loss)(X), of_torch(torch.func.grad(torch_loss), X), rtol=1e-12)
    np.testing.assert_allclose(dispatch.hessian(loss)(X), of_torch(torch.func.hessian(torch_loss), X), rtol=1e-12, atol=1e-14)
    third = dispatch.jacrev(dispatch.jacrev(dispatch.grad(loss)))(X)
    wanted = of_torch(torch.func.jacrev(torch.func.jacrev(torch.func.grad(torch_loss))), X)
    np.testing.assert_allclose(third, wanted, rtol=1e-10, atol=1e-13)


def test_tangents_and_batches():
    np.testing.assert_allclose(dispatch.jvp(net, (X,), (X,))[1], torch.func.jvp(MODULE, (torch.from_numpy(X),), (torch.from_numpy(X),))[1].detach())
    batch = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(dispatch.vmap(net, in_dims=1)(batch), np.stack([net(x) for x in batch.T]), rtol=1e-12)
    np.testing.assert_allclose(
        dispatch.vmap(dispatch.grad(loss))(batch.T), np.stack([dispatch.grad(loss)(x) for x in batch.T]), rtol=1e-12
    )


def test_shapes_graphs_and_tape():
    fake = dispatch.eval_shape(net, np.empty((7, 3)))
    assert (fake.shape, fake.dtype) == ((7, 2), np.float64)
    graph = dispatch.make_fx(dispatch.grad(loss))(X)
    np.testing.assert_allclose(graph(2 * X), dispatch.grad(loss)(2 * X))
    x = dispatch.tensor(X, requires_grad=True)
    loss(x).backward()
    np.testing.assert_allclose(x.grad, dispatch.grad(loss)(X))


def test_a_module_that_changes_is_called_as_it_is():
    layer = torch.nn.Linear(1, 1, bias=False).double()
    op = wrap(layer)
    with torch.no_grad():
        layer.weight.fill_(2.0)
    assert op(np.ones(1)) == 2.0
    layer.load_state_dict({"weight": torch.tensor([[3.0]])})
    assert op(np.ones(1)) == 3.0
    assert layer.weight.grad is None


def test_containers_numbers_and_several_results():
    def fn(p, x, power, *, scale):
        return {"y": p["w"] * x**power * scale, "n": (x > 0).sum()}

    op = wrap(fn, schema="(Dict(str, Tensor) p, Tensor x, int power, *, float scale) -> Dict(str, Tensor)")
    out = op({"w": X}, X, 2, scale=0.5)
    np.testing.assert_allclose(out["y"], X**3 / 2)
    assert out["n"] == np.sum(X > 0)
    found = dispatch.grad(lambda p, x: np.sum(op(p, x, 3, scale=2.0)["y"]), (0, 1))({"w": X}, X)
    np.testing.assert_allclose(found[0]["w"], 2 * X**3)
    np.testing.assert_allclose(found[1], 6 * X * X**2)


def test_a_wrapped_function_and_its_export_are_the_function():
    op = wrap(lambda x: x.sin() * x, "torch_functions::sin_times", schema="(Tensor x) -> Tensor")
    x = torch.from_numpy(X).requires_grad_()
    (g,) = torch.autograd.grad(export(op)(x).sum(), x)
    torch.testing.assert_close(g, x.cos() * x + x.sin())


@pytest.mark.parametrize("make", [lambda: X[::-1], lambda: np.broadcast_to(2.0, (3,)), lambda: np.float64(1.5), lambda: np.empty((0, 3))])
def test_arrays_of_every_layout_go_in(make):
    x = make()
    np.testing.assert_array_equal(wrap(lambda x: x * 2, schema="(Tensor x) -> Tensor")(x), x * 2)


def test_a_torch_write_to_an_argument_is_refused_and_reaches_no_array_that_cannot_be_written_to():
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(AliasError) as caught:
        wrap(lambda x: x.add_(1) * 1, "torchwraps::adds", schema="(Tensor x) -> Tensor")(x)
    assert str(caught.value) == (
        "torchwraps::adds: the torch function wrote to tensor 0 of its arguments, which the caller's array is. Write to a copy, "
        "x.clone()."
    )
    assert x.tolist() == [1, 1, 1]


def test_a_torch_function_that_draws_has_a_value_and_no_gradient():
    net = wrap(torch.nn.Dropout(0.5), "torchwraps::dropout")
    assert set(net(np.ones(64)).tolist()) <= {0.0, 2.0}
    with pytest.raises(UnsupportedError) as caught:
        dispatch.grad(lambda x: np.sum(net(x)))(np.ones(64))
    assert str(caught.value) == (
        "torchwraps::dropout: the torch function drew random numbers, and its backward runs it again, with others. Give what is "
        "drawn as an argument; of a net with dropout write net.eval()."
    )
    quiet = wrap(torch.nn.Dropout(0.5).eval())
    assert dispatch.grad(lambda x: np.sum(quiet(x)))(np.ones(3)).tolist() == [1, 1, 1]


def test_a_schema_names_as_many_arguments_as_the_function_takes():
    with pytest.raises(DefinitionError) as caught:
        wrap(lambda a, b: a * b, schema="(Tensor a) -> Tensor")
    place = f"test_torch_functions.py:{caught.traceback[0].lineno + 1}"
    assert str(caught.value) == (
        f"wrap: function, {place}, takes (a, b), and the schema has (a). Name as many arguments as the function takes."
    )
    assert wrap(lambda a, *, s: a * s, schema="(Tensor a, *, float s) -> Tensor")(np.ones(2), s=3.0).tolist() == [3, 3]


def test_a_result_is_neither_an_argument_nor_a_parameter():
    x = np.ones(3)
    out = wrap(lambda x: x, schema="(Tensor x) -> Tensor")(x)
    weight = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    for op in (wrap(lambda x: weight, schema="(Tensor x) -> Tensor"), wrap(lambda x: weight[1:], schema="(Tensor x) -> Tensor")):
        op(x)[:] = 7.0
    out[:] = 7.0
    assert (x.tolist(), weight.tolist()) == ([1, 1, 1], [1, 1, 1])


def test_an_exception_comes_out_as_itself():
    def failing(x):
        raise ZeroDivisionError("inside of torch")

    with pytest.raises(ZeroDivisionError, match="inside of torch"):
        wrap(failing)(X)


def test_what_cannot_be_wrapped_says_so():
    with pytest.raises(DefinitionError, match="wrap takes a torch function, and was given an int"):
        wrap(3)
    with pytest.raises(DefinitionError, match=r"in which not every parameter is one tensor\. Give schema='\(Tensor x\) -> Tensor'"):
        wrap(lambda *xs: xs[0])
    with pytest.raises(DefinitionError, match=r"does not say its parameters\. Give schema="):
        wrap(torch.sin)
    with pytest.raises(DefinitionError, match="wrap makes operators that write to nothing"):
        wrap(lambda x: None, schema="(Tensor(a!) x) -> ()")
    with pytest.raises((OutputError, AttributeError, TypeError)):
        wrap(lambda x: "text", schema="(Tensor x) -> Tensor")(X)


def test_a_tensor_is_detached_by_torch_and_no_array_type():
    with pytest.raises(ArgumentError) as caught:
        dispatch.detach(torch.ones(2, requires_grad=True) * 2)
    assert str(caught.value) == "detach is for values of this package, and was given a torch.Tensor. Write x.detach()."
    with pytest.raises(DefinitionError) as caught:
        dispatch.library.register_array_type(torch.Tensor, device="cuda")
    assert str(caught.value) == "torch.Tensor is taken by operators as it is: op(x)."


def test_a_tensor_for_a_number_and_a_tracked_value_for_a_tensor_are_told_what_to_write():
    @dispatch.custom_op("torchwraps::scaled", mutates_args=())
    def scaled(x: np.ndarray, k: float = 2.0) -> np.ndarray:
        return x * k

    with pytest.raises(ArgumentError) as caught:
        scaled(np.ones(2), torch.tensor(2.0))
    assert str(caught.value) == (
        "torchwraps::scaled: argument 'k' is float, and was given a torch.Tensor of shape (). Write k.item(), or hint the "
        "parameter `k: np.ndarray`."
    )
    exported = export(scaled)
    with pytest.raises(ConversionError) as caught:
        dispatch.grad(lambda x: np.sum(exported(x)))(np.ones(2))
    assert str(caught.value) == (
        "torchwraps::scaled, exported to torch, was called with a TrackedTensor: no derivative, batch or trace of this package goes "
        "through tensors. Call the operator itself, or give arrays."
    )
    with pytest.raises(ConversionError, match=r"; or make an operator of a function or net of torch: dispatch\.interop\.torch\.wrap"):
        dispatch.grad(torch.nn.Linear(2, 1).double())(np.ones(2))
