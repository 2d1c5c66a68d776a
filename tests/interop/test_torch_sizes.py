"""A shape rule runs once for torch's sizes and for ours: what it returns, and what it decided, is said in torch's."""

import numpy as np
import pytest
from making import define

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext  # noqa: E402

from dispatch.interop.torch_operators import exported  # noqa: E402
from dispatch.interop.torch_sizes import TorchSizes  # noqa: E402


def symbolic(*shape):
    """A fake tensor all of whose sizes are open."""
    mode = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv())
    context = StatelessSymbolicContext([DimDynamic.DYNAMIC] * len(shape))
    return mode.from_tensor(torch.ones(shape), symbolic_context=context), mode


def test_sizes_go_and_come_back():
    x, _ = symbolic(4, 6)
    sizes = TorchSizes("ns::op")
    n, m = map(sizes.ours, x.shape)
    assert (n.hint, m.hint, sizes.ours(3)) == (4, 6, 3)
    assert sizes.ours(x.shape[0]) is n
    assert str(sizes.theirs(2 * n * m + 1)) == str(2 * x.shape[0] * x.shape[1] + 1)
    fake = sizes.fake(x)
    assert fake.strides == (8 * m // 2, 4)


@pytest.mark.parametrize("shape", [(4, 6), (4, 1), (0, 3), (5,), ()])
def test_an_operator_on_fake_tensors_has_the_shape_that_it_has_on_real_ones(shape):
    flatter = define(
        "(Tensor x) -> Tensor", lambda x: np.concatenate([x.ravel(), x.ravel()]),
        fake=lambda x: np.empty_like(x, shape=(2 * x.size,)),
    )  # fmt: skip
    x, mode = symbolic(*shape)
    with mode:
        out = exported(flatter).overload(x)
    assert tuple(map(int, out.shape)) == flatter(np.ones(shape, np.float32)).shape
    assert out.dtype == torch.float32


def test_what_the_rule_decided_is_a_guard_of_torch_s():
    def rule(x):
        return np.empty_like(x) if x.shape[0] > 3 else np.empty_like(x, shape=(1,))

    op = define("(Tensor x) -> Tensor", np.sin, fake=rule)
    x, mode = symbolic(6)
    with mode:
        exported(op).overload(x)
    assert [str(guard.expr) for guard in mode.shape_env.guards] != []
