"""A second device is real: arrays of a user's own class run the kernels of their device, through every layer."""

from fractions import Fraction

import numpy as np
import pytest
from making import define, said

import dispatch
from dispatch import custom_op
from dispatch.core import DispatchKey, device_key, device_of
from dispatch.dispatcher.array_types import register_array_type
from dispatch.errors import DefinitionError, DeviceMismatchError, NoKernelError
from dispatch.library import Library, impl, register_kernel
from dispatch.library import define as library_define
from dispatch.operators.registry import find


class Remote:
    """An array that lives elsewhere."""

    def __init__(self, values):
        self.values = np.asarray(values)

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)


class Nearer(Remote):
    """A subclass of it."""


register_array_type(Remote, device="remote")
X = np.array([1.0, 2.0])


@custom_op("array_types::sin", mutates_args=(), device_types="cpu")
def sin(x: np.ndarray) -> np.ndarray:
    return np.sin(x)


@sin.register_kernel("remote")
def _(x):
    return Remote(np.sin(x.values))


def test_each_device_runs_its_own_kernel():
    assert np.array_equal(sin(X), np.sin(X))
    out = sin(Remote(X))
    assert type(out) is Remote
    assert np.array_equal(out.values, np.sin(X))


def test_a_device_of_a_user_s_own_is_named_where_its_kernels_are_listed():
    key = device_key("remote")
    assert repr(sin).endswith("[cpu remote | no rules]")
    assert f"\n{key.name} (remote)  kernel" in repr(sin.kernels)
    assert repr(sin.explain(Remote(X))).splitlines()[1].startswith(f"{key.name} (remote)  kernel")


def test_a_subclass_belongs_to_its_base_unless_it_is_registered_itself():
    assert device_of(Nearer(X)) == "remote"
    assert type(sin(Nearer(X))) is Remote
    register_array_type(Nearer, device="nearer")
    assert device_of(Nearer(X)) == "nearer"
    assert device_of(Remote(X)) == "remote"
    with pytest.raises(NoKernelError, match=r"array_types::sin has no kernel for arrays on 'nearer'\. Kernels: CPU, "):
        sin(Nearer(X))


def test_a_subclass_of_ndarray_may_have_a_device_of_its_own():
    class Pinned(np.ndarray):
        pass

    register_array_type(Pinned, device="pinned")
    assert device_of(X.view(Pinned)) == "pinned"
    assert device_of(X) == "cpu"


def test_devices_do_not_mix_but_for_numbers():
    add = define("(Tensor x, Tensor y) -> Tensor", np.add)
    add.register_kernel("remote")(lambda x, y: Remote(x.values + np.asarray(getattr(y, "values", y))))
    message = said(lambda: add(Remote(X), X), DeviceMismatchError)
    assert message.endswith(
        "the arrays of one call live on one device, and these do not: Remote on remote, float64[2] on cpu. "
        "Move them together first."
    )
    assert np.array_equal(add(Remote(X), np.float64(1)).values, X + 1)
    assert np.array_equal(add(Remote(X), np.array(1.0)).values, X + 1)


def test_a_kernel_of_one_device_may_serve_all():
    op = define("(Tensor x) -> Tensor", lambda x: x, key=DispatchKey.CompositeExplicit)
    op.register_kernel(None)(lambda x: type(x)(x.values + 1) if isinstance(x, Remote) else x + 1)
    assert np.array_equal(op(Remote(X)).values, op(X))


def test_what_is_on_the_device_is_batched_by_a_rule():
    op = define("(Tensor x) -> Tensor", np.sin, vmap=lambda info, in_dims, x: (op(x), in_dims[0]))
    op.register_kernel("remote")(lambda x: Remote(np.sin(x.values)))
    out = dispatch.vmap(op, in_dims=1, out_dims=1)(Remote(np.ones((2, 3))))
    assert type(out) is Remote
    assert np.array_equal(out.values, np.sin(np.ones((2, 3))))


def test_fakes_know_the_device():
    with dispatch.FakeTensorMode() as mode:
        assert mode.from_array(Remote(X)).device == "remote"


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (X, "an array type is a class, and an ndarray was given."),
        (float, "float cannot be an array type: its values have another meaning here."),
        (dispatch.Tensor, "Tensor cannot be an array type: its values have another meaning here."),
        (np.ndarray, "ndarray is an array type already, of the device 'cpu'."),
        (np.float64, "float64 is an array type already, of the device 'cpu'."),
        (Remote, "Remote is an array type already, of the device 'remote'."),
    ],
)
def test_what_cannot_be_an_array_type(cls, why):
    assert said(lambda: register_array_type(cls, device="another"), DefinitionError) == why


@pytest.mark.parametrize("name", ["vmap", "Autograd", "default", "Meta", "CPU"])
def test_a_device_cannot_have_the_name_of_a_key(name):
    assert said(lambda: register_array_type(Fraction, device=name), DefinitionError) == (
        f"a device cannot be named {name!r}: that is the name of a key. Take another."
    )
    assert said(lambda: register_array_type(Fraction, device=3), DefinitionError) == (
        "a device is known by its name, a string, and an int was given."
    )


class Accelerated:
    """An array of a device that torch documents and NumPy has no arrays of."""

    shape, dtype, ndim = (2,), X.dtype, 1


SPELLINGS = {
    "custom_op": lambda name, device: custom_op(
        name, lambda x: "there", mutates_args=(), schema="(Tensor x) -> Any", device_types=device
    ),
    "register_kernel": lambda name, device: register_kernel(name, device, lambda x: "there"),
    "op.register_kernel": lambda name, device: find(name).register_kernel([device], lambda x: "there"),
    "impl": lambda name, device: impl(name, device, lambda x: "there"),
    "Library.impl": lambda name, device: Library("waiting", "IMPL").impl(name, lambda x: "there", device),
    "Library.impl, its key": lambda name, device: Library("waiting", "IMPL").impl(name, lambda x: "there", device.upper()),
    "Library(ns, kind, key)": lambda name, device: Library("waiting", "IMPL", device).impl(name, lambda x: "there"),
}


@pytest.mark.parametrize("device", ["cpu", "cuda", "xla", "mps", "ipu", "xpu"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_kernels_wait_for_the_devices_that_torch_documents(spelling, device):
    name = f"waiting::{''.join(c for c in spelling.lower() if c.isalpha())}_{device}"
    if spelling != "custom_op":
        library_define(name, "(Tensor x) -> Any")
    SPELLINGS[spelling](name, device)
    op = find(name)
    assert op.table.live(device_key(device)) is not None
    if device == "cpu":
        assert op(X) == "there"
    else:
        assert said(lambda: op(X), NoKernelError).startswith(f"{name} has no kernel for arrays on 'cpu'. Kernels: {device.upper()}.")
    if device == "xpu":  # the only one that a test gives arrays of
        register_array_type(Accelerated, device="xpu")
        assert op(Accelerated()) == "there"


@pytest.mark.parametrize("device", ["cdua", "hip", "meta device"])
@pytest.mark.parametrize("spelling", [spelling for spelling in SPELLINGS if "key" not in spelling])
def test_a_device_that_nobody_knows_is_refused_in_every_spelling(spelling, device):
    name = f"waiting::{''.join(c for c in spelling.lower() if c.isalpha())}_none"
    if spelling != "custom_op" and not hasattr(dispatch.ops.waiting, name.partition("::")[2]):
        library_define(name, "(Tensor x) -> Any")
    message = said(lambda: SPELLINGS[spelling](name, device), DefinitionError)
    assert message.startswith(("there is no device ", "there is no dispatch key "))
    assert "Did you mean 'cuda'" in message.replace("CUDA", "cuda") or device != "cdua"
    assert "Devices: cpu, cuda, dask" in message
    own = f" For arrays of your own write register_array_type(TheirClass, device={device!r})."
    assert message.endswith(own) is ("Did you mean" not in message)


def test_registering_again_is_nothing_new_and_a_device_keeps_its_key():
    key = device_key("remote")
    assert register_array_type(Remote, device="remote") is Remote
    assert device_key("remote") is key
    assert key.is_backend


def test_a_factory_chooses_by_device():
    @custom_op("array_types::zeros", mutates_args=(), device_types="cpu")
    def zeros(n: int, *, device: str = "cpu") -> np.ndarray:
        return np.zeros(n)

    zeros.register_kernel("remote")(lambda n, *, device="cpu": Remote(np.zeros(n)))
    assert type(zeros(2)) is type(zeros(2, device="cpu")) is np.ndarray
    assert type(zeros(2, device="remote")) is Remote


class _Foreign:
    pass


def test_a_class_that_is_not_registered_is_no_array():
    with pytest.raises(TypeError, match="_Foreign is no array type that is known here"):
        sin(_Foreign())


def test_a_gpu_s_arrays_run_the_kernels_of_their_device():
    cupy = pytest.importorskip("cupy")
    try:
        x = cupy.asarray(X)
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy is installed, and there is no GPU")
    register_array_type(cupy.ndarray, device="cuda")
    sin.register_kernel("cuda")(cupy.sin)
    out = sin(x)
    assert isinstance(out, cupy.ndarray)
    assert np.allclose(cupy.asnumpy(out), np.sin(X))
    with pytest.raises(DeviceMismatchError, match="on cuda, float64"):
        define("(Tensor x, Tensor y) -> Tensor", np.add)(x, X)
