"""What torch's schemas say of ours, and that torch can read every one of them."""

import numpy as np
import pytest
from making import made, said

import dispatch
from dispatch.errors import ConversionError, UnsupportedError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from dispatch.interop.torch_values import TO_TORCH, Place, Plan, array_of, numpy_dtype, plain, tensor_of, torch_dtype  # noqa: E402

SPOKEN = {
    "(Tensor x, Tensor? y=None) -> Tensor": "(Tensor x, Tensor? y=None) -> Tensor",
    "(Tensor[] xs, int n=1, *, float f=0.5, bool b=False) -> (Tensor, int)": "(Tensor[] xs, SymInt n=1, *, float f=0.5, bool b=False) -> (Tensor, SymInt)",
    "(Tensor x, str s='a') -> Tensor[]": "(Tensor x, str s) -> Tensor[]",
    "(Tensor x, ScalarType[] d, str[] s, Device? e=None) -> ()": "(Tensor x, ScalarType[] d, str[] s, Device? e=None) -> ()",
    "(Tensor(a!) x, Tensor(b!)[] ys) -> Tensor(a!)": "(Tensor(a!) x, Tensor(b!)[] ys) -> ()",
    "(Tensor(a) x, int[2] n) -> Tensor(a)": "(Tensor x, SymInt[2] n) -> Tensor",
    "(Dict(str, Tensor) x, *, Tensor y) -> Tensor?": "(Tensor[] x, str x_rest, Tensor y) -> (Tensor[], str)",
    "(Tensor?[] x, complex c=1j) -> (Tensor, Tensor)": "(Tensor[] x, str x_rest, Tensor[] c, str c_rest) -> (Tensor, Tensor)",
    "(Tensor x, float f=inf) -> Tensor": "(Tensor x, float f) -> Tensor",
}


@pytest.mark.parametrize("text", SPOKEN)
def test_what_a_schema_is_to_torch(text):
    plan = Plan(made(text))
    assert plan.text == f"op{SPOKEN[text]}"
    torch._C.parse_schema(f"making::{plan.text}")


def test_a_write_into_a_container_of_another_kind_is_refused():
    with pytest.raises(UnsupportedError, match=r"it writes to 'x', which is Dict\(str, Tensor\).*Take the arrays as arguments"):
        Plan(made("(Dict(str, Tensor(a!)) x) -> ()"))


@pytest.mark.parametrize("x", [{"a": 1, "b": [2.5, None]}, (b"raw", 1j), 3, True, "text", None, float("inf")])
def test_what_is_no_tensor_goes_as_text_and_comes_back(x):
    plan = Plan(made("(Any x) -> Tensor"))
    values = plan.theirs([x])
    assert (values[0], type(values[1])) == ([], str)
    assert plan.ours(values, array_of) == [x]


def test_every_dtype_that_both_have_goes_and_comes_back():
    for dtype in TO_TORCH:
        x = np.zeros(2, dtype)
        assert array_of(tensor_of(x)).dtype == numpy_dtype(torch_dtype(dtype)) == dtype
    assert plain([np.float32, "f8"], made("(ScalarType[] x) -> ()").schema.arguments[0].type) == [torch.float32, torch.float64]


def test_a_place_is_no_container():
    plan = Plan(made("(Dict(str, Tensor) x) -> Tensor"))
    (tensors, text) = plan.theirs([{"k": torch.ones(1)}])
    assert (len(tensors), text) == (1, "{'k': tensor(0)}")
    assert Place(3).number == 3


@pytest.mark.filterwarnings("error")
def test_a_leaf_is_made_of_a_tensor_without_a_warning_and_not_of_one_on_torchs_tape():
    x = torch.arange(3, dtype=torch.float64)
    leaf = dispatch.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(dispatch.detach(leaf), np.arange(3.0))
    assert not np.shares_memory(dispatch.detach(leaf), x.numpy())
    assert said(lambda: dispatch.tensor(x.requires_grad_(), requires_grad=True), ConversionError) == (
        "tensor copies numbers, and a torch.Tensor on a tape gives none. Write np.asarray(a.detach())."
    )
