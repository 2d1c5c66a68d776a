"""An operator without arrays chooses its kernel by `device`, wherever that stands, and by the mode that is on."""

import itertools

import numpy as np
import pytest
from making import said

import dispatch
from dispatch import custom_op
from dispatch.dispatcher.array_types import register_array_type
from dispatch.errors import ArgumentError, DefinitionError, NoKernelError
from dispatch.library import define, register_kernel

numbers = itertools.count()


class Remote:
    """An array that lives elsewhere."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype


register_array_type(Remote, device="remote")

SCHEMAS = {
    "by position": "(int n, Device device) -> Tensor",
    "defaulted": '(int n, Device device="cpu") -> Tensor',
    "keyword-only": "(int n, *, Device device) -> Tensor",
    "keyword-only, defaulted": '(int n, *, Device device="cpu") -> Tensor',
    "optional": "(int n, *, Device? device=None) -> Tensor",
    "first": "(Device device, int n) -> Tensor",
    "another default": '(int n, *, Device device="remote") -> Tensor',
}


def factory(text):
    """An operator with a kernel on two devices."""
    name = f"factories::f{next(numbers)}"
    op = custom_op(name, kernel_of(text, np.zeros), mutates_args=(), device_types="cpu", schema=text)
    op.register_kernel("remote")(kernel_of(text, lambda n: Remote(np.zeros(n))))
    op.register_fake(kernel_of(text, np.empty))
    return op


def kernel_of(text, make):
    """A kernel with the parameters that a schema text says."""
    head = text.partition(" ->")[0].replace("Device? ", "").replace("Device ", "").replace("int ", "")
    scope = {"make": make}
    exec(f"def kernel{head}: return make(n)", scope)
    return scope["kernel"]


def is_remote(x):
    return isinstance(x, Remote)


@pytest.mark.parametrize("how", SCHEMAS)
def test_the_device_decides_wherever_it_stands(how):
    op = factory(SCHEMAS[how])
    assert not is_remote(op(n=2, device="cpu"))
    assert is_remote(op(n=2, device="remote"))
    if how in {"by position", "defaulted"}:
        assert is_remote(op(2, "remote"))


@pytest.mark.parametrize("how", [how for how, text in SCHEMAS.items() if "=" in text])
def test_left_out_it_is_the_default_and_none_is_the_cpu(how):
    op = factory(SCHEMAS[how])
    assert is_remote(op(2)) == (how == "another default")


def test_none_is_the_cpu():
    assert not is_remote(factory(SCHEMAS["optional"])(2, device=None))


@pytest.mark.parametrize("how", SCHEMAS)
def test_under_a_mode_the_mode_s_rule_runs_whatever_the_device(how):
    op = factory(SCHEMAS[how])
    with dispatch.FakeTensorMode():
        for device in ("cpu", "remote", "cuda"):
            assert isinstance(op(n=2, device=device), dispatch.FakeTensor)


def test_an_unknown_device_is_refused_with_the_known_ones():
    message = said(lambda: factory(SCHEMAS["defaulted"])(2, "nowhere"), ArgumentError)
    assert "there is no device 'nowhere'. Devices: " in message
    assert "cpu, cuda, dask" in message


def test_a_device_without_a_kernel_is_named():
    message = said(lambda: factory(SCHEMAS["defaulted"])(2, "cuda"), NoKernelError)
    assert "has no kernel for the device 'cuda'. Kernels: CPU, " in message


def test_beside_an_array_the_array_decides():
    op = custom_op(
        f"factories::f{next(numbers)}",
        lambda x, device: x + 1,
        mutates_args=(),
        device_types="cpu",
        schema="(Tensor x, Device device) -> Tensor",
    )
    assert np.array_equal(op(np.zeros(2), "anything at all"), np.ones(2))


def test_without_a_device_the_cpu_makes_it():
    op = custom_op(f"factories::f{next(numbers)}", lambda n: np.zeros(n), mutates_args=(), schema="(int n) -> Tensor")
    assert np.array_equal(op(2), np.zeros(2))


@pytest.mark.parametrize("device_types", ["cpu", "cuda", ["cpu"], ["cpu", "remote"]])
def test_a_kernel_for_some_devices_needs_an_array_or_a_device_in_the_call(device_types):
    name = f"factories::f{next(numbers)}"
    advice = (
        f"{name} takes no array and no device, so that no call says which device's kernel it means. Add a parameter "
        "`device: str`, or register the kernel for every device: device_types=None."
    )

    def zeros(n: int) -> np.ndarray:
        return np.zeros(n)

    assert said(lambda: custom_op(name, zeros, mutates_args=(), device_types=device_types), DefinitionError) == advice
    assert not hasattr(dispatch.ops.factories, name.partition("::")[2])
    op = custom_op(name, zeros, mutates_args=())
    for register in (op.register_kernel, lambda device, fn: register_kernel(op, device, fn)):
        assert said(lambda register=register: register(device_types, zeros), DefinitionError) == advice
    op.register_kernel(None)(lambda n: np.ones(n))
    assert np.array_equal(op(2), np.ones(2))


def test_what_a_factory_without_a_kernel_lacks_is_what_its_call_has():
    name = f"f{next(numbers)}"
    define(f"factories::{name}", "(int n) -> Tensor")
    assert said(lambda: getattr(dispatch.ops.factories, name)(2), NoKernelError) == (
        f"factories::{name} has no kernel. Kernels: none. Add one: @library.impl('factories::{name}', 'default'), for "
        "every device: the call names none."
    )
