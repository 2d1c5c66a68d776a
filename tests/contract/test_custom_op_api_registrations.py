"""TestCustomOpAPI, registrations by function: kernels, shape rules and where they stand, rules for modes and array classes."""

import numpy as np
import pytest
from making import said

import dispatch
from dispatch import FakeTensorMode, custom_op
from dispatch.core.source import where
from dispatch.errors import ArgumentError, DefinitionError, NoKernelError, NoRuleError, OperatorNotFoundError
from dispatch.library import Library, impl_abstract, register_fake, register_kernel

X = np.array([0.5, 1.0, 2.0])


def simple(ns, kernel=lambda x: x * 1, **options):
    return custom_op(f"{ns}::op", kernel, mutates_args=(), schema="(Tensor x) -> Tensor", **options)


# -- kernels -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["cpu", ["cpu", "remote"], None], ids=str)
@pytest.mark.parametrize("spelling", ["operator", "name", "decorator", "method"])
def test_library_register_kernel(spelling, key, ns, remote):
    """A kernel is registered for one device, several or every one, in every spelling; the function comes back as it was.

    Beyond: each device keeps its own kernel; in torch those of a list of devices are taken one for the other.
    """
    op = simple(ns, device_types="cuda")

    def kernel(x):
        return x * 2 if isinstance(x, np.ndarray) else remote(x.values * 2)

    returned = {
        "operator": lambda: register_kernel(op, key, kernel),
        "name": lambda: register_kernel(f"{ns}::op", key, kernel),
        "decorator": lambda: register_kernel(op, key)(kernel),
        "method": lambda: op.register_kernel(key)(kernel),
    }[spelling]()
    assert returned is kernel
    assert np.array_equal(op(X), 2 * X)
    if key == "cpu":
        message = said(lambda: op(remote(X)), NoKernelError)
        assert message.startswith(f"{ns}::op has no kernel for arrays on 'remote'.")
    else:
        assert np.array_equal(op(remote(X)).values, 2 * X)


def test_library_register_kernel_low_level(lib, ops):
    """A kernel of an operator that a library defines goes with the library it is registered through, and uncovers the other."""
    lib.define("foo(Tensor x) -> Tensor")
    register_kernel(ops.foo, "cpu", lambda x: x + 1, lib=lib)
    with Library(lib.ns, "FRAGMENT") as other:
        register_kernel(f"{lib.ns}::foo", "cpu", lambda x: x + 2, lib=other)
        assert np.array_equal(ops.foo(X), X + 2)
    assert np.array_equal(ops.foo(X), X + 1)
    assert said(lambda: register_kernel(ops.foo, "nowhere", lambda x: x, lib=lib), DefinitionError).startswith(
        "there is no device 'nowhere'. Devices: "
    )
    assert said(lambda: register_kernel(f"{lib.ns}::none", "cpu", lambda x: x), OperatorNotFoundError) == (
        f"there is no operator {lib.ns}::none. Operators: foo."
    )
    assert said(lambda: register_kernel(5, "cpu", lambda x: x), ArgumentError) == (
        "an operator or its name, 'ns::name', is asked for, and an int was given. It comes before the function."
    )


# -- shape rules -------------------------------------------------------------------------------------------------------------


def rule(x):
    return np.empty((7,))


def by_method(op, lib):
    op.register_fake(rule)


def by_function(op, lib):
    register_fake(op, rule)


def by_name(op, lib):
    register_fake(op.name)(rule)


def by_library(op, lib):
    register_fake(op, rule, lib=lib)


def by_key(op, lib):
    lib.impl(op, rule, "Meta")


def by_the_old_name(op, lib):
    with pytest.warns(FutureWarning, match="impl_abstract is the old name of register_fake"):
        impl_abstract(op.name, rule, lib=lib)


@pytest.mark.parametrize("register", [by_method, by_function, by_name, by_library, by_key, by_the_old_name])
def test_library_register_fake_source(register, ns, lib):
    """Where a shape rule is written is known, file and line, in whichever of six spellings it was registered."""
    op = simple(ns)
    register(op, lib)
    place = next(place for key, _, place in op.kernels.rows if key == "FAKE")
    assert place == where(rule)
    assert place.startswith("test_custom_op_api_registrations.py:")
    assert place in repr(op.kernels)
    with FakeTensorMode() as mode:
        assert op(mode.from_array(X)).shape == (7,)


def test_library_register_fake(ns, lib, ops):
    """A shape rule is registered by function for any operator, the newest holds, and it goes with its library."""
    op = simple(ns)
    lib.define("defined(Tensor x) -> Tensor")
    for target in (op, ops.defined, f"{ns}::op", f"{ns}::defined"):
        assert register_fake(target, rule) is rule
    with FakeTensorMode() as mode:
        x = mode.from_array(X)
        with Library(ns, "FRAGMENT") as other:
            register_fake(op, lambda x: np.empty((9,)), lib=other)
            assert op(x).shape == (9,)
        assert op(x).shape == ops.defined(x).shape == (7,)
    assert said(lambda: register_fake(op, lambda y, z: y), DefinitionError) == (
        f"{ns}::op: the fake rule takes (y, z), and the operator (x). Rules bind by parameter name: give the rule the operator's "
        "own names, in its order."
    )
    assert said(lambda: register_fake(5, rule), ArgumentError) == (
        "an operator or its name, 'ns::name', is asked for, and an int was given."
    )
    with Library(ns, "FRAGMENT") as other:
        other.define("bare(Tensor x) -> Tensor")
        with FakeTensorMode() as mode, pytest.raises(NoRuleError, match="and it has no fake rule"):
            ops.bare(mode.from_array(X))


# -- modes and array classes -------------------------------------------------------------------------------------------------


def test_library_register_torch_dispatch_rule_subclass(ns, remote):
    """What an operator does where an array of a class is among its arguments is registered by that class.

    Adapted: a class of arrays, which is registered as one, stands for torch's tensor subclasses; the name is
    register_dispatch.
    """
    op = simple(ns, device_types="cpu")
    seen = []

    @op.register_dispatch(remote)
    def _(cls, func, types, args, kwargs):
        seen.append((cls, func, types))
        return remote(args[0].values + 1)

    assert np.array_equal(op(remote(X)).values, X + 1)
    assert np.array_equal(op(X), X)
    assert seen == [(remote, op, (remote,))]


def test_library_register_torch_dispatch_rule_mode(ns):
    """What an operator does under a mode is registered by the mode's class; other operators go to the mode itself.

    Adapted: Mode stands for torch's TorchDispatchMode.
    """
    seen = []

    class Seeing(dispatch.Mode):
        def __dispatch__(self, op, types, args, kwargs):
            seen.append(op.name)
            return op(*args, **kwargs)

    op = simple(ns)
    op.register_dispatch(Seeing, lambda mode, func, types, args, kwargs: func(*args, **kwargs) + 1)
    with Seeing():
        assert np.array_equal(op(X), X + 1)
        assert np.array_equal(dispatch.ops.np.sin(X), np.sin(X))
    assert np.array_equal(op(X), X)
    assert seen == ["np::sin"]


@pytest.mark.parametrize("spelling", ["function", "name", "decorator", "method"])
def test_library_register_torch_dispatch(spelling, ns):
    """A rule for a mode is registered in every spelling, and a newer one takes its place.

    Beyond: a newer rule takes the place of the older, as it does of every other kind; torch refuses it for the same class.
    """

    class Plain(dispatch.Mode):
        pass

    op = simple(ns)

    def adding(n):
        return lambda mode, func, types, args, kwargs: func(*args, **kwargs) + n

    spellings = {
        "function": lambda rule: dispatch.library.register_dispatch(op, Plain, rule),
        "name": lambda rule: dispatch.library.register_dispatch(f"{ns}::op", Plain, rule),
        "decorator": lambda rule: dispatch.library.register_dispatch(op, Plain)(rule),
        "method": lambda rule: op.register_dispatch(Plain, rule),
    }
    for n in (1, 2):
        spellings[spelling](adding(n))
        with Plain():
            assert np.array_equal(op(X), X + n)


def test_library_register_torch_dispatch_low_level(lib, ops):
    """A rule for a mode of an operator that a library defines goes with the library it is registered through."""

    class Plain(dispatch.Mode):
        pass

    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 1, "CPU")
    with Library(lib.ns, "FRAGMENT") as other, Plain():
        dispatch.library.register_dispatch(ops.foo, Plain, lambda mode, func, types, args, kwargs: args[0] + 1, lib=other)
        assert np.array_equal(ops.foo(X), X + 1)
    with Plain():
        assert np.array_equal(ops.foo(X), X)
