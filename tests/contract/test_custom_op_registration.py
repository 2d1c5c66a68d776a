"""TestCustomOp, registration and lifetime: where kernels go, what covers what, and what goes with what."""

import numpy as np
import pytest
from making import said

import dispatch
from dispatch import FakeTensorMode, OpOverload, Tensor, custom_op, register_fake, register_kernel
from dispatch.errors import ArgumentError, DefinitionError, LibraryError, NoKernelError, OperatorNotFoundError, SchemaError
from dispatch.library import Library, define, impl

X = np.array([0.5, 1.0, 2.0])
RESERVED = ("prim", "prims", "np")


def from_module(name, code, **scope):
    """Run code as the module of a name; what it has defined."""
    scope = {"__name__": name, "np": np, "custom_op": custom_op, **scope}
    exec(compile(code, f"{name}.py", "exec"), scope)
    return scope


def once(x):
    return x * 1


def twice(x):
    return np.concatenate([x, x])


def fake_shape(op, x=X):
    """The shape that an operator's fake rule gives."""
    with FakeTensorMode() as mode:
        return op(mode.from_array(x)).shape


# -- names -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ns", RESERVED)
def test_reserved_ns(ns):
    """The package's own namespaces are closed to definitions, by whichever way, and open for kernels.

    Adapted: the package's own namespaces are prim, prims and np.
    """
    refusal = f"the namespace {ns!r} is this package's own. Take another"
    for call in (
        lambda: custom_op(f"{ns}::foo_of_mine", once, mutates_args=(), schema="(Tensor x) -> Tensor"),
        lambda: define(f"{ns}::foo_of_mine", "(Tensor x) -> Tensor"),
        lambda: Library(ns, "DEF"),
        lambda: Library(ns, "FRAGMENT"),
    ):
        assert said(call, LibraryError).startswith(refusal)
    assert Library(ns, "IMPL").kind == "IMPL"


def test_private_ctor():
    """An operator is made by custom_op or a library, and its class, called with what is no schema, refuses.

    Adapted: it is a TypeError; torch raises a RuntimeError.
    """
    with pytest.raises(TypeError):
        OpOverload(None, None, None, None)
    with pytest.raises(TypeError):
        OpOverload()
    with pytest.raises(TypeError):
        Tensor()


def test_lifetime(ns):
    """A name has one definition, until its library is destroyed.

    Differs: defining again
    """
    code = f"@custom_op('{ns}::foo', mutates_args=())\ndef foo(x: np.ndarray) -> np.ndarray:\n    return x + N"
    old = from_module(f"{ns}_a", code, N=1)["foo"]
    message = said(lambda: from_module(f"{ns}_b", code, N=2), DefinitionError)
    assert message == (
        f"{ns}::foo is defined already, by {ns}_a ({ns}_a.py:1); {ns}_b ({ns}_b.py:1) defines it again. "
        "Take another name or another namespace."
    )
    new = from_module(f"{ns}_a", code, N=3)["foo"]
    assert new is old
    assert np.array_equal(old(X), X + 3)
    with Library(ns, "FRAGMENT") as lib:
        lib.define("bar(Tensor x) -> Tensor")
        gone = getattr(dispatch.ops, ns).bar
    with Library(ns, "FRAGMENT") as lib:
        lib.define("bar(Tensor x) -> Tensor")
        lib.impl("bar", once, "CPU")
        assert np.array_equal(getattr(dispatch.ops, ns).bar(X), X)
        with pytest.raises(OperatorNotFoundError, match=f"{ns}::bar is gone: the library that defined it"):
            gone(X)


def test_defined_in_python(lib, ops):
    """An operator says who defined it and where, an overload as well."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.define("bar.overload(Tensor x) -> Tensor")
    for op in (ops.foo, ops.bar.overload):
        module, place = op.defined_in
        assert module == __name__
        assert place.startswith("test_custom_op_registration.py:")
    assert dispatch.ops.np.sin.defined_in.module.startswith("dispatch.")


def test_load_library():
    """There is nothing to load: an operator is known once the module that defines it is imported, and a name that nobody has
    defined says so.

    Adapted: torch loads a shared library by its path, whose operators register themselves.
    """
    message = said(lambda: dispatch.ops.load_library("libnoexist.so"), OperatorNotFoundError)
    assert message.startswith("there is no namespace 'load_library'.")
    assert message.endswith("A namespace exists once an operator is defined in it: import the module that does.")


# -- define and impl in their forms ----------------------------------------------------------------------------------------


def test_define_bad_schema(ns):
    """`define` has the name already, and refuses a schema that begins with one.

    Beyond: the spaces of a schema are free, here as in a library.
    """
    message = said(lambda: define(f"{ns}::foo", "foo(Tensor x) -> Tensor"), SchemaError)
    assert message.startswith(f"{ns}::foo: the name is given already, as '{ns}::foo'. Begin with '('.")
    define(f"{ns}::foo", "( Tensor x )->Tensor")
    assert str(getattr(dispatch.ops, ns).foo.schema) == f"{ns}::foo(Tensor x) -> Tensor"


def test_define_validation():
    """`define` asks for a name with its namespace."""
    message = said(lambda: define("foo", "(Tensor x) -> Tensor"), SchemaError)
    assert message == "'foo' does not name an operator. Write 'namespace::name', e.g. 'mylib::scale'."
    message = said(lambda: define(3, "(Tensor x) -> Tensor"), DefinitionError)
    assert message == "define asks for the name 'ns::name' or a Library, and an int was given."


def test_legacy_define(lib, ops):
    """`define(lib, schema)` decorates the composite kernel.

    Beyond: a schema with an overload gets its kernel too; torch's lands on the operator without one.
    """

    @define(lib, "foo(Tensor x) -> Tensor")
    def f(x):
        return np.sin(x)

    @define(lib, "foo.wide(Tensor x, Tensor y) -> Tensor")
    def g(x, y):
        return np.sin(x) + y

    assert np.array_equal(ops.foo(X), f(X))
    assert np.array_equal(ops.foo.wide(X, X), g(X, X))
    assert np.array_equal(dispatch.grad(lambda x: ops.foo(x).sum())(X), np.cos(X))


def test_legacy_impl(lib, ops, ns):
    """`impl(lib, name, key)` decorates a kernel."""
    define(f"{ns}::foo", "(Tensor x) -> Tensor", lib=lib)

    @impl(lib, "foo", "CPU")
    def f(x):
        return np.sin(x)

    assert np.array_equal(ops.foo(X), f(X))


# -- devices ---------------------------------------------------------------------------------------------------------------


def test_impl_separate(ns, remote):
    """Two devices have a kernel each, and an array runs that of its own."""

    @custom_op(f"{ns}::foo", mutates_args=(), device_types="cpu")
    def foo(x: np.ndarray) -> np.ndarray:
        return np.sin(x)

    register_kernel(foo, "remote", lambda x: remote(np.cos(x.values)))
    assert np.array_equal(foo(X), np.sin(X))
    assert np.array_equal(foo(remote(X)).values, np.cos(X))


def test_impl_multiple(ns, remote):
    """A kernel without a device computes on arrays of every device."""

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(x: np.ndarray) -> np.ndarray:
        return remote(np.cos(x.values)) if isinstance(x, remote) else np.cos(x)

    assert np.array_equal(foo(X), np.cos(X))
    assert np.array_equal(foo(remote(X)).values, np.cos(X))


@pytest.mark.parametrize("types", ["default", "cpu", "CPU", ["cpu"], ["cpu", "remote"], dispatch.DispatchKey.CPU], ids=str)
@pytest.mark.parametrize("decorating", [True, False])
def test_impl_device_cpu(types, decorating, lib, ops, ns):
    """`define`, then `impl` as a decorator or with the function: a kernel for every device, for the CPU, or for the CPU among
    others computes on plain arrays.

    Also: define_and_impl impl_cpu impl_function impl_device_function

    Beyond: the decorator returns the function, where torch's returns None and the name is lost.
    """
    define(f"{ns}::foo", "(Tensor x) -> Tensor", lib=lib)
    name = f"{ns}::foo"
    assert (impl(name, types, lib=lib)(np.sin) if decorating else impl(name, types, np.sin, lib=lib)) is np.sin
    assert np.array_equal(ops.foo(X), np.sin(X))


@pytest.mark.parametrize("types", ["default", ["remote"], ["cpu", "remote"]])
def test_impl_device_cuda(types, lib, ops, ns, remote):
    """The same on a second device.

    Adapted: the device is that of a user's array class.
    """
    define(f"{ns}::foo", "(Tensor x) -> Tensor", lib=lib)
    impl(f"{ns}::foo", types, lib=lib)(lambda x: remote(np.sin(x.values)))
    assert np.array_equal(ops.foo(remote(X)).values, np.sin(X))


def test_impl_device_invalid():
    """`impl` for a device or key that nobody knows is refused at once, with those that are known."""
    message = said(lambda: impl("blah::blah", "somethingsomething"), DefinitionError)
    assert message.startswith("there is no dispatch key 'somethingsomething'. Keys: CPU, CUDA, ")
    assert " Devices: cpu, cuda, dask" in message


@pytest.mark.parametrize("device", ["hip", "mkldnn", ["cpu", "hip"]])
def test_impl_invalid_devices(device, ns):
    """A kernel for a device that nobody knows is refused by every way of registering one, and nothing is registered.

    Adapted: the entry is of torch's old interface; as in torch.library, a kernel may wait for xla. A device becomes known
    when an array type is registered for it.
    """
    schema = "(Tensor x) -> Tensor"
    op = custom_op(f"{ns}::foo", once, mutates_args=(), schema=schema, device_types="cuda")
    for call in (
        lambda: register_kernel(op, device, np.sin),
        lambda: op.register_kernel(device)(np.sin),
        lambda: custom_op(f"{ns}::bar", once, mutates_args=(), schema=schema, device_types=device),
    ):
        message = said(call, DefinitionError)
        assert message.startswith(f"there is no device {'hip' if isinstance(device, list) else device!r}. Devices: cpu, cuda, ")
        with pytest.raises(NoKernelError, match=f"{ns}::foo has no kernel for arrays on 'cpu'. Kernels: CUDA"):
            op(X)
    assert not hasattr(getattr(dispatch.ops, ns), "bar")


def test_impl_on_existing_op(lib, ops, ns):
    """An operator that a library defined gets its kernel from anybody."""
    lib.define("foo(Tensor x) -> Tensor")
    with Library(ns, "IMPL") as other:
        register_kernel(f"{ns}::foo", None, np.sin, lib=other)
        assert np.array_equal(ops.foo(X), np.sin(X))
    with pytest.raises(NoKernelError, match=r"has no kernel for arrays on 'cpu'\. Kernels: none"):
        ops.foo(X)


@pytest.mark.parametrize("key", ["CPU", "CUDA", "CompositeImplicitAutograd", "CompositeExplicitAutograd"])
def test_impl_on_existing_op_with_cpu_registration(key, lib, ops, ns):
    """The newest kernel at a key runs; on request a second one is refused, with the place of the first, and changes nothing.

    Also: override_impl

    Adapted: the entry is of torch's old interface; as in torch.library, a second kernel covers the first until its library
    goes, unless `allow_override=False`.
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", once, key)
    with Library(ns, "IMPL") as other:
        message = said(lambda: other.impl("foo", twice, key, allow_override=False), LibraryError)
        assert message.startswith(f"{ns}::foo has a kernel at {key.removesuffix('Autograd')} already, ")
        assert message.endswith(", and allow_override is False.")
        assert f"test_custom_op_registration.py:{once.__code__.co_firstlineno}" in message
        if key != "CUDA":
            assert ops.foo(X).shape == (3,)
        other.impl("foo", twice, key)
        if key != "CUDA":
            assert ops.foo(X).shape == (6,)


# -- fake rules are registrations too --------------------------------------------------------------------------------------


def without(x, dim):
    return np.empty(np.delete(x.shape, dim), x.dtype)


def test_impl_meta(lib, ops, ns):
    """A fake rule gives the shape of the result without a kernel."""
    lib.define("foo(Tensor x, int dim) -> Tensor")
    register_fake(f"{ns}::foo", without, lib=lib)
    with FakeTensorMode() as mode:
        assert ops.foo(mode.from_array(np.ones((2, 3))), 1).shape == (2,)


def test_override_fake(lib, ops, ns):
    """The newest fake rule counts; on request a second one is refused, with the place of the first, and changes nothing; one that
    goes with its library uncovers the last.

    Also: duplicate_impl
    """
    lib.define("foo(Tensor x) -> Tensor")
    register_fake(f"{ns}::foo", once, lib=lib)
    message = said(lambda: register_fake(f"{ns}::foo", twice, lib=lib, allow_override=False), DefinitionError)
    place = f"test_custom_op_registration.py:{once.__code__.co_firstlineno}"
    assert message == f"{ns}::foo has a fake rule already, {place}, and allow_override is False."
    assert fake_shape(ops.foo) == (3,)
    register_fake(f"{ns}::foo", twice, lib=lib)
    assert fake_shape(ops.foo) == (6,)
    with Library(ns, "FRAGMENT") as other:
        register_fake(f"{ns}::foo", once, lib=other)
        assert fake_shape(ops.foo) == (3,)
    assert fake_shape(ops.foo) == (6,)


def test_override_meta(lib, ops, ns):
    """A kernel at the key of fakes, Meta in torch's words, is the fake rule: the two cover each other."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", once, "Meta")
    assert fake_shape(ops.foo) == (3,)
    with pytest.raises(LibraryError, match="has a kernel at FAKE already"):
        lib.impl("foo", twice, "Meta", allow_override=False)
    lib.impl("foo", twice, "Meta")
    with Library(ns, "FRAGMENT") as other:
        other.impl("foo", once, "Meta")
        assert fake_shape(ops.foo) == (3,)
    assert fake_shape(ops.foo) == (6,)
    register_fake(f"{ns}::foo", once, lib=lib)
    assert fake_shape(ops.foo) == (3,)


def test_override_cea(lib, ops, ns):
    """An operator whose kernel serves every device takes a fake rule, which counts.

    Differs: no kernel on fakes
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", once, "CompositeExplicitAutograd")
    with pytest.raises(NotImplementedError, match=r"and it has no fake rule\. Add one: foo\.register_fake"):
        fake_shape(ops.foo)
    register_fake(f"{ns}::foo", twice, lib=lib)
    assert fake_shape(ops.foo) == (6,)


def test_register_fake_does_not_leak_on_failure(lib, ops, ns):
    """A fake rule that is refused leaves nothing behind."""
    lib.define("foo(Tensor x) -> Tensor")
    before = ops.foo.table.all()
    for rule, error in ((lambda y, z: y, DefinitionError), (3, TypeError)):
        with pytest.raises(error):
            register_fake(f"{ns}::foo", rule, lib=lib)
    assert ops.foo.table.all() == before
    register_fake(f"{ns}::foo", once, lib=lib)
    assert fake_shape(ops.foo) == (3,)


# -- overloads -------------------------------------------------------------------------------------------------------------


def test_resolve_packet(lib, ops, ns):
    """A call by the operator's name runs the overload that fits; one that fits none is told why each does not.

    Beyond: the order of definition never decides.
    """
    lib.define("total.dims(Tensor x, int[] dim) -> str")
    lib.define("total(Tensor x) -> str")
    lib.impl("total", lambda x: "default", "CPU")
    lib.impl("total.dims", lambda x, dim: "dims", "CPU")
    assert ops.total(X) == "default"
    assert ops.total(X, dim=[1]) == "dims"
    message = said(lambda: ops.total(X, X, X), ArgumentError)
    assert message.startswith(f"{ns}::total: no overload fits the call.\n")
    assert f"{ns}::total(x) takes 1 and was given 3." in message
    assert f"{ns}::total.dims(x, dim) takes 2 and was given 3." in message
