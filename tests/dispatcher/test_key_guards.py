"""Keys left out, keys put in, kernels switched off: for one thread, one block, and as if it had never been."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import leaf, made, said

import dispatch
from dispatch.core import DispatchKey, Registration, active_modes, add_fallback, remove_fallback
from dispatch.dispatcher.key_guards import ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
from dispatch.errors import DefinitionError, GuardError, NoKernelError

X = np.array([1.0, 2.0])
sin = dispatch.ops.np.sin


def ran(op):
    """What kernel ran, by the number it adds."""
    return int(op(np.zeros(1))[0])


def numbered():
    """An operator with two kernels for the CPU and one for every device; each adds its number."""
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_kernel("cpu")(lambda x: x + 2)
    op.register_kernel(None)(lambda x: x + 3)
    return op


def test_an_excluded_key_s_values_are_constants():
    x = leaf(X)
    with ExcludeDispatchKeyGuard(DispatchKey.AUTOGRAD):
        out = sin(x)
        assert type(out) is np.ndarray
        assert np.array_equal(out, np.sin(X))
        assert np.array_equal(dispatch.vmap(sin)(X), np.sin(X))
    assert isinstance(sin(x), dispatch.Tensor)


@pytest.mark.parametrize("name", ["Autograd", "AUTOGRAD", "autograd", DispatchKey.Autograd])
def test_the_autograd_alias_names_the_tape_s_key(name):
    with ExcludeDispatchKeyGuard(name) as guard:
        assert type(sin(leaf(X))) is np.ndarray
        assert repr(guard) == "ExcludeDispatchKeyGuard(AUTOGRAD)"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("VMAP", "VMAP cannot be excluded: its values are no constants"),
        ("Meta", "FAKE cannot be excluded: its values are no constants"),
        ("CPU", "CPU cannot be excluded: that is for the keys of layers, and it is a backend"),
        ("default", "CompositeExplicit cannot be excluded: that is for the keys of layers, and it is an alias"),
    ],
)
def test_what_cannot_be_excluded(key, why):
    assert why in said(lambda: ExcludeDispatchKeyGuard(key), GuardError)


def test_an_unknown_key_is_refused_with_the_known_ones():
    message = said(lambda: ExcludeDispatchKeyGuard("Autocast"), DefinitionError)
    assert message.startswith("there is no dispatch key 'Autocast'. Keys: CPU, CUDA, DASK, XLA, MPS, IPU, XPU, FAKE")


def test_an_included_key_gets_every_call_and_hands_it_on():
    seen = []

    def fallback(op, *args):
        seen.append(op.name)
        return op.redispatch(DispatchKey.MODE, *args)

    registration = Registration(DispatchKey.MODE, fallback)
    op = made("(Tensor x) -> Tensor", np.sin)
    add_fallback(registration)
    try:
        assert np.array_equal(op(X), np.sin(X))
        assert seen == []
        with IncludeDispatchKeyGuard("MODE") as guard:
            assert np.array_equal(op(X), np.sin(X))
            assert repr(guard) == "IncludeDispatchKeyGuard(MODE)"
        assert seen == ["making::op"]
    finally:
        remove_fallback(registration)


def test_an_included_key_where_nothing_is_registered_is_transparent():
    op = made("(Tensor x) -> Tensor", np.sin)
    with IncludeDispatchKeyGuard("MODE"):
        assert np.array_equal(op(X), np.sin(X))


@pytest.mark.parametrize("key", ["AUTOGRAD", "FAKE", "VMAP"])
def test_only_the_modes_key_can_be_included(key):
    message = said(lambda: IncludeDispatchKeyGuard(key), GuardError)
    assert message == f"{key} cannot be included: a call has it by its arguments. Only MODE stands for no argument."


def test_a_kernel_that_is_off_uncovers_the_one_below():
    op = numbered()
    assert ran(op) == 2
    with op.set_kernel_enabled("cpu", False) as switch:
        assert ran(op) == 1
        assert repr(switch) == "making::op.set_kernel_enabled(cpu, False)"
        with op.set_kernel_enabled("cpu"):
            assert ran(op) == 2
        assert ran(op) == 1
    assert ran(op) == 2


def test_a_kernel_alone_uncovers_the_one_for_every_device():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_kernel(None)(lambda x: x + 3)
    with op.set_kernel_enabled(["cpu"], enabled=False):
        assert ran(op) == 3


def test_where_nothing_is_below_the_call_says_so():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    with op.set_kernel_enabled("cpu", False), pytest.raises(NoKernelError, match="making::op has no kernel for arrays on 'cpu'"):
        op(X)


def test_a_device_without_a_kernel_has_none_to_switch():
    message = said(lambda: numbered().set_kernel_enabled("cuda", False), DefinitionError)
    assert message == (
        "making::op has no kernel of its own for 'cuda', so that there is none to switch. Give it one, "
        "@op.register_kernel('cuda'): while that is off, calls run the kernel for every device."
    )


def test_other_operators_and_threads_keep_their_kernels():
    op, other = numbered(), numbered()
    with op.set_kernel_enabled("cpu", False), ThreadPoolExecutor(1) as pool:
        assert (ran(op), ran(other), pool.submit(ran, op).result()) == (1, 2, 2)


def test_a_switch_holds_through_the_layers():
    op = numbered()
    with op.set_kernel_enabled("cpu", False):
        assert np.array_equal(dispatch.vmap(op)(np.zeros(2)), [1, 1])


def test_nothing_is_left_when_the_blocks_end():
    with pytest.raises(KeyError, match="inside"), ExcludeDispatchKeyGuard("AUTOGRAD"), IncludeDispatchKeyGuard("MODE"):
        raise KeyError("inside")
    assert active_modes() == []
