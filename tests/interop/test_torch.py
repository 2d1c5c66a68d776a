"""Operators called with tensors, and by what `export` returns: type in, type out, with the values of the call on arrays."""

import subprocess
import sys

import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, ConversionError, DefinitionError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

import custom_op_db as db  # noqa: E402  after torch is known to be here

from dispatch.interop.torch import export  # noqa: E402

X = np.array([1.0, 2.0, 3.0])
CASES = [(entry, sample) for entry in db.ENTRIES for sample in entry.samples]
IDS = [f"{entry.op.schema.name}-{number}" for entry in db.ENTRIES for number in range(len(entry.samples))]


def tensors(x):
    """Arrays as tensors of their own memory, in lists too."""
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x.copy())
    return [tensors(y) for y in x] if isinstance(x, list) else x


def flat(x):
    return [y for item in x for y in flat(item)] if isinstance(x, (list, tuple)) else [x]


@pytest.mark.parametrize(("entry", "sample"), CASES, ids=IDS)
def test_type_in_is_type_out_and_values_are_bit_equal(entry, sample):
    wanted = entry.op(*sample.args, **sample.kwargs)
    for call in (entry.op, export(entry.op), export(entry.op).op):
        out = call(*[tensors(x) for x in sample.args], **sample.kwargs)
        assert [isinstance(x, torch.Tensor) for x in flat(out)] == [isinstance(x, (np.ndarray, np.generic)) for x in flat(wanted)]
        for x, y in zip(flat(out), flat(wanted), strict=True):
            if isinstance(x, torch.Tensor):
                x = x.numpy()
                assert (x.dtype, x.shape) == (y.dtype, y.shape)
            assert np.array_equal(x, y)


def test_what_cannot_be_exported_says_so():
    with pytest.raises(ArgumentError, match="export takes an operator, and was given a function"):
        export(lambda x: x)

    @dispatch.custom_op("aten::relu", mutates_args=())
    def relu(x: np.ndarray) -> np.ndarray:
        return x

    with pytest.raises(DefinitionError, match=r"torch\.ops\.aten\.relu exists already"):
        export(relu)


def test_without_torch_the_extra_is_named():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "import dispatch\n"
        "try:\n    import dispatch.interop.torch\nexcept ImportError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "dispatch.interop.torch needs torch, which is not installed." in said
    assert "pip install 'npdispatch[torch]'" in said


def test_importing_the_package_imports_neither_torch_nor_interop():
    program = "import sys, dispatch; print([name for name in sys.modules if name == 'torch' or name.startswith('dispatch.interop')])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_dtype_of_torch_alone_is_no_tensor():
    with pytest.raises(ArgumentError, match=r"argument 'x' is Tensor, and was given a torch\.dtype\."):
        db.numpy_cube(torch.float64)


def test_a_value_of_this_package_beside_a_tensor_is_refused():
    with pytest.raises(ConversionError, match=r"TrackedTensor and a torch\.Tensor"):
        db.numpy_mul(dispatch.tensor(X, requires_grad=True), torch.ones(3))


def test_an_array_beside_a_tensor_is_a_constant():
    x = torch.tensor(X, requires_grad=True)
    y = db.numpy_mul(x, X)
    assert isinstance(y, torch.Tensor)
    y.sum().backward()
    assert torch.equal(x.grad, torch.tensor(X))


def test_a_plain_call_loads_nothing_of_torch_s_compiler():
    program = (
        "import sys, numpy as np, torch, dispatch\n"
        "op = dispatch.custom_op('a::b', np.sin, mutates_args=(), schema='(Tensor x) -> Tensor')\n"
        "op(torch.ones(2))\n"
        "print('torch._dynamo.eval_frame' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
