"""A library's definitions and kernels come and go as one; what goes uncovers what it covered, and nothing crashes."""

import gc
import itertools
import sys
import types
from typing import Annotated

import numpy as np
import pytest
from making import said, shadow
from numpy.typing import NDArray

import dispatch
from dispatch.core import DispatchKey, Level
from dispatch.dispatcher.key_guards import IncludeDispatchKeyGuard
from dispatch.errors import DefinitionError, LibraryError, NoKernelError, OperatorNotFoundError, OutputError, SchemaError
from dispatch.library import Library, Tag, custom_op, fallthrough_kernel

X = np.ones(2)
numbers = itertools.count()


@pytest.fixture
def ns():
    """A namespace nobody has."""
    return f"libraries{next(numbers)}"


def adds(n):
    return lambda x: x + n


def from_module(name, code, **scope):
    """Run code as the module of a name."""
    module = types.ModuleType(name)
    vars(module).update(scope, Library=Library, np=np, custom_op=custom_op)
    sys.modules[name] = module
    try:
        exec(compile(code, f"{name}.py", "exec"), vars(module))
    finally:
        del sys.modules[name]
    return module


# -- kinds and owners ------------------------------------------------------------------------------------------------------


def test_a_library_prints_as_it_is_made(ns):
    assert [repr(Library(ns, kind)) for kind in ("IMPL", "FRAGMENT")] == [
        f"Library({ns!r}, 'IMPL', '')",
        f"Library({ns!r}, 'FRAGMENT', '')",
    ]
    assert repr(Library(ns, "IMPL", "CPU")) == f"Library({ns!r}, 'IMPL', 'CPU')"


@pytest.mark.parametrize("name", ["np", "prim"])
def test_the_package_s_own_namespaces_are_reserved_but_open_for_kernels(name):
    with pytest.raises(LibraryError, match=f"the namespace '{name}' is this package's own"):
        Library(name, "DEF")
    assert Library(name, "IMPL").ns == name


def test_a_namespace_is_a_name():
    with pytest.raises(SchemaError, match="'a-b' cannot name a namespace"):
        Library("a-b", "DEF")
    with pytest.raises(LibraryError, match="'_' stands for every namespace, and a library of kind 'DEF' defines in one"):
        Library("_", "DEF")


def test_a_namespace_has_one_owner_and_both_places_are_named(ns):
    first = from_module(f"{ns}_first", f"lib = Library({ns!r}, 'DEF')").lib
    with pytest.raises(LibraryError) as caught:
        from_module(f"{ns}_second", f"Library({ns!r}, 'DEF')")
    assert str(caught.value) == (
        f"the namespace {ns!r} has its DEF library, made by {ns}_first ({ns}_first.py:1); {ns}_second ({ns}_second.py:1) makes "
        "another. There is one a process: use 'FRAGMENT'."
    )
    first.destroy()
    from_module(f"{ns}_second", f"Library({ns!r}, 'DEF')")


def test_the_same_module_may_make_its_library_again(ns):
    code = f"lib = Library({ns!r}, 'DEF')\nlib.define('f(Tensor x) -> Tensor')\nlib.impl('f', lambda x: x + N, 'CPU')"
    old = from_module(ns, code, N=1)
    handle = getattr(dispatch.ops, ns).f
    new = from_module(ns, code, N=2)
    assert handle is getattr(dispatch.ops, ns).f
    assert np.array_equal(handle(X), X + 2)
    old.lib.destroy()
    assert np.array_equal(handle(X), X + 2)
    new.lib.destroy()


# -- definitions -----------------------------------------------------------------------------------------------------------


def test_a_definition_has_no_kernel_until_one_is_registered(ns):
    with Library(ns, "DEF") as lib:
        assert lib.define("f(Tensor x) -> Tensor") == "f"
        op = getattr(dispatch.ops, ns).f
        with pytest.raises(NoKernelError, match=f"{ns}::f has no kernel for arrays on 'cpu'"):
            op(X)
        lib.impl("f", np.sin, "CPU")
        assert np.array_equal(op(X), np.sin(X))


def test_the_name_that_is_returned_has_the_overload_and_the_own_namespace_may_be_written(ns):
    with Library(ns, "FRAGMENT") as lib:
        assert lib.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=Tag.out) == "f.out"
        assert lib.define(f"{ns}::g(Tensor x) -> Tensor") == "g"
        assert getattr(dispatch.ops, ns).f.tags == [Tag.out]


def test_what_cannot_be_defined_leaves_nothing(ns):
    lib = Library(ns, "FRAGMENT")
    for call, error, message in [
        (lambda: lib.define("other::f(Tensor x) -> Tensor"), LibraryError, f"other::f is not in the namespace '{ns}'"),
        (lambda: lib.define("f(Tensor x) -> "), SchemaError, "f"),
        (lambda: lib.define("f(Tensor x) -> Tensor", tags=Tag.inplace), DefinitionError, "Tag.inplace asks"),
        (lambda: lib.define("f(Tensor x) -> Tensor", "SOME"), LibraryError, "'FROM_SCHEMA' or 'CONSERVATIVE', and 'SOME'"),
        (lambda: Library(ns, "IMPL").define("f(Tensor x) -> Tensor"), LibraryError, "it registers only"),
    ]:
        assert message in said(call, error)
    assert not hasattr(dispatch.ops, ns)


def test_conservative_is_a_tag(ns):
    with Library(ns, "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor", "CONSERVATIVE")
        assert getattr(dispatch.ops, ns).f.tags == [Tag.maybe_aliasing_or_mutating]


# -- kernels ---------------------------------------------------------------------------------------------------------------


def test_kernels_are_a_stack_and_removing_a_library_uncovers(ns):
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", adds(1), "CPU")
        op = getattr(dispatch.ops, ns).f
        second, third = Library(ns, "IMPL", "CPU"), Library(ns, "IMPL", "CPU")
        second.impl("f", adds(2))
        third.impl(op, adds(3))
        assert op(X)[0] == 4
        second.destroy()
        assert op(X)[0] == 4
        third.destroy()
        assert op(X)[0] == 2
        third.destroy()


def test_nothing_goes_because_a_name_went_out_of_scope(ns):
    def registering():
        lib = Library(ns, "DEF")
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", adds(1), "CPU")

    registering()
    gc.collect()
    assert getattr(dispatch.ops, ns).f(X)[0] == 2


@pytest.mark.parametrize("dispatch_key", ["", "CompositeImplicit", "CompositeImplicitAutograd"])
def test_without_a_key_a_kernel_is_a_composite(ns, dispatch_key):
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: np.sin(x), dispatch_key)
        op = getattr(dispatch.ops, ns).f
        assert np.array_equal(dispatch.grad(lambda x: op(x).sum())(X), np.cos(X))


def test_a_kernel_may_be_told_its_key_and_go_on_below_it(ns):
    seen = []

    def tape(key, x):
        seen.append(key)
        return op.redispatch(key, x)

    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", np.sin, "CPU")
        lib.impl("f", tape, "Autograd", with_keyset=True)
        op = getattr(dispatch.ops, ns).f
        assert np.array_equal(op(dispatch.tensor(X, requires_grad=True)), np.sin(X))
    assert seen == [DispatchKey.AUTOGRAD]


def test_a_kernel_for_fakes_is_the_fake_rule(ns):
    with Library(ns, "DEF") as lib, dispatch.FakeTensorMode() as mode:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: np.empty(x.shape, "f4"), "Meta")
        assert getattr(dispatch.ops, ns).f(mode.from_array(X)).dtype == np.float32


def test_override_can_be_refused(ns):
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", adds(1), "CPU", allow_override=False)
        message = said(lambda: lib.impl("f", adds(2), "CPU", allow_override=False), LibraryError)
        assert message.startswith(f"{ns}::f has a kernel at CPU already, test_libraries.py:")
        assert message.endswith("and allow_override is False.")
        assert getattr(dispatch.ops, ns).f(X)[0] == 2


def test_what_is_no_kernel_is_refused(ns):
    lib = Library(ns, "IMPL")
    assert said(lambda: lib.impl("f", 3, "CPU"), DefinitionError) == (
        f"{ns}::f: a kernel is a function, and an int was given. Write lib.impl('f', kernel, 'CPU'), or "
        "@library.impl(lib, 'f', 'CPU') above the kernel."
    )
    assert "there is no dispatch key 'Nope'" in said(lambda: lib.impl("f", adds(1), "Nope"), DefinitionError)
    assert "other::f is not in the namespace" in said(lambda: lib.impl("other::f", adds(1), "CPU"), LibraryError)
    assert "np::sin is not in the namespace" in said(lambda: lib.impl(dispatch.ops.np.sin, adds(1), "CPU"), LibraryError)


# -- waiting ---------------------------------------------------------------------------------------------------------------


def test_a_kernel_waits_for_its_operator_and_an_unknown_name_says_so(ns):
    early = Library(ns, "IMPL", "CPU")
    early.impl("f", adds(1))
    with Library(ns, "DEF") as lib:
        lib.define("g(Tensor x) -> Tensor")
        message = said(lambda: getattr(dispatch.ops, ns).f, OperatorNotFoundError)
        assert "For one of this name a kernel waits, registered before it is defined: test_libraries.py:" in message
        lib.define("f(Tensor x) -> Tensor")
        assert getattr(dispatch.ops, ns).f(X)[0] == 2
    early.destroy()


def test_a_kernel_from_elsewhere_survives_a_redefinition(ns):
    elsewhere = from_module(f"{ns}_b", f"lib = Library({ns!r}, 'IMPL', 'CPU')\nlib.impl('f', lambda x: x + 5)").lib
    code = f"@custom_op('{ns}::f', mutates_args=(), device_types='cuda')\ndef f(x: np.ndarray) -> np.ndarray: ..."
    from_module(f"{ns}_a", code)
    op = getattr(dispatch.ops, ns).f
    from_module(f"{ns}_a", code)
    assert op(X)[0] == 6
    elsewhere.destroy()
    with pytest.raises(NoKernelError, match="has no kernel"):
        op(X)


def test_a_waiting_kernel_goes_with_its_library(ns):
    early = Library(ns, "IMPL", "CPU")
    early.impl("f", adds(1))
    early.destroy()
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        with pytest.raises(NoKernelError, match="has no kernel"):
            getattr(dispatch.ops, ns).f(X)


# -- destroyed -------------------------------------------------------------------------------------------------------------


def test_handles_to_what_went_say_so(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", adds(1), "CPU")
    op = getattr(dispatch.ops, ns).f
    whole, kernel = op.whole, dispatch.library.get_kernel(op, "CPU")
    lib.destroy()
    gone = rf"{ns}::f is gone: the library that defined it \(test_libraries.py:\d+\) was destroyed\. Define it again"
    for call in (lambda: op(X), lambda: whole(X), lambda: op.at(DispatchKey.CPU), lambda: op.register_kernel("cpu")(adds(2))):
        with pytest.raises(OperatorNotFoundError, match=gone):
            call()
    with pytest.raises(LibraryError, match=rf"the kernel of {ns}::f at CPU is gone"):
        kernel(X)
    with pytest.raises(AttributeError, match=gone):
        getattr(dispatch.ops, ns).f
    with Library(ns, "DEF") as again:
        again.define("f(Tensor x) -> Tensor")
        assert getattr(dispatch.ops, ns).f.schema.name == "f"
    with pytest.raises(AttributeError, match=gone):
        getattr(dispatch.ops, ns).f


def test_a_new_definition_of_a_name_that_went_is_a_new_operator(ns):
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        old = getattr(dispatch.ops, ns).f
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x, int n) -> Tensor")
        lib.impl("f", lambda x, n: x + n, "CPU")
        assert getattr(dispatch.ops, ns).f(X, 3)[0] == 4
        with pytest.raises(OperatorNotFoundError, match="is gone"):
            old(X)


def test_a_destroyed_library_does_nothing_more(ns):
    lib = Library(ns, "FRAGMENT")
    lib.destroy()
    for what, call in {
        "define an operator": lambda: lib.define("f(Tensor x) -> Tensor"),
        "register a kernel": lambda: lib.impl("f", adds(1), "CPU"),
        "register a fallback": lambda: lib.fallback(adds(1), "CPU"),
        "begin a block": lambda: lib.__enter__(),
        "keep a registration": lambda: lib.keep(dispatch.ops.np.sin, None),
    }.items():
        assert said(call, LibraryError) == f"Library({ns!r}, 'FRAGMENT', '') was destroyed, and cannot {what}. Make a new one."


def test_rules_go_with_their_library(ns):
    op = custom_op(f"{ns}::f", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    with Library(ns, "FRAGMENT") as lib:
        dispatch.library.register_kernel(op, "cpu", adds(2), lib=lib)
        dispatch.library.register_fake(op, lambda x: np.empty_like(x), lib=lib)
        dispatch.library.register_autograd(op, lambda ctx, g: g, lib=lib)
        dispatch.library.register_vmap(op, lib=lib)(lambda info, in_dims, x: (op(x), in_dims[0]))
        assert op(X)[0] == 3
        assert repr(op).endswith("[cpu | autograd fake vmap]")
    assert op(X)[0] == 2
    assert repr(op).endswith("[every device | no rules]")


# -- fallbacks and fallthrough ---------------------------------------------------------------------------------------------


def test_a_fallback_stands_in_for_every_operator_without_a_kernel(ns):
    def fallback(op, *args, **keywords):
        return [op.name, *args, keywords]

    with Library(ns, "DEF") as lib, Library("_", "IMPL", "JVP") as every, Level("t") as level:
        lib.define("f(Tensor x, *, int n=3) -> Any")
        lib.define("g(Tensor x) -> Any")
        lib.impl("g", lambda x: "its own", "JVP")
        lib.impl("f", lambda x, *, n: n, "CPU")
        every.fallback(fallback)
        x = shadow(X, level)
        assert getattr(dispatch.ops, ns).f(x) == [f"{ns}::f", x, {"n": 3}]
        assert getattr(dispatch.ops, ns).g(x) == "its own"
        assert getattr(dispatch.ops, ns).f(X) == 3


def test_fallbacks_are_a_stack_and_may_be_told_the_key(ns):
    with Library(ns, "DEF") as lib, Level("t") as level:
        lib.define("f(Tensor x) -> Any")
        op, x = getattr(dispatch.ops, ns).f, shadow(X, level)
        lower, upper = Library("_", "IMPL"), Library("_", "IMPL")
        lower.fallback(lambda op, x: "lower", DispatchKey.JVP)
        assert op(x) == "lower"
        upper.fallback(lambda key, op, x: (key, op.name), "JVP", with_keyset=True)
        assert op(x) == (DispatchKey.JVP, f"{ns}::f")
        lower.destroy()
        assert op(x) == (DispatchKey.JVP, f"{ns}::f")
        upper.destroy()
        with pytest.raises(NoKernelError, match="has no kernel"):
            op(x)


@pytest.mark.parametrize(
    ("library", "key", "message"),
    [
        (("mine", "IMPL"), "CUDA", "a fallback is for every operator, and Library('mine', 'IMPL', '') for 'mine'."),
        (("_", "IMPL"), "", "a fallback is registered at one key, and none was given. Name it: fallback(fn, 'CUDA')."),
        (("_", "IMPL"), "Autograd", "a fallback is registered at one key, and Autograd was given."),
    ],
)
def test_where_a_fallback_is_refused(library, key, message):
    assert message in said(lambda: Library(*library).fallback(lambda op, *args: None, key), LibraryError)


def test_fallthrough_makes_a_key_transparent(ns):
    with Library(ns, "DEF") as lib, Level("outer") as outer, Level("inner") as inner:
        lib.define("f(Tensor x, *, int n=1) -> Tensor")
        lib.impl("f", lambda x, *, n: x + n, "CPU")
        lib.impl("f", fallthrough_kernel, "JVP")
        op = getattr(dispatch.ops, ns).f
        assert np.array_equal(op(shadow(shadow(X, outer), inner), n=2), X + 2)


def test_a_fallback_may_be_a_fallthrough(ns):
    with Library(ns, "DEF") as lib, Library("_", "IMPL") as every, Level("t") as level:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", adds(1), "CPU")
        every.fallback(fallthrough_kernel, "JVP")
        assert np.array_equal(getattr(dispatch.ops, ns).f(shadow(X, level)), X + 1)


def test_under_an_included_key_a_fallback_sees_every_call(ns):
    seen = []

    def log(key, op, *args, **keywords):
        seen.append(op.name)
        return op.redispatch(key, *args, **keywords)

    with Library("_", "IMPL", "MODE") as every:
        every.fallback(log, with_keyset=True)
        with IncludeDispatchKeyGuard("MODE"):
            dispatch.grad(lambda x: np.sin(x).sum())(X)
    assert seen[:2] == ["np::sin", "np::sum"]
    assert "np::cos" in seen


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("CPU", "nothing is below it"),
        ("default", "nothing is below it"),
        ("CompositeImplicit", "nothing is below it"),
        ("VMAP", "its values are no constants"),
        ("Meta", "its values are no constants"),
    ],
)
def test_where_fallthrough_has_no_meaning(ns, key, why):
    message = said(lambda: Library(ns, "IMPL").impl("f", fallthrough_kernel, key), DefinitionError)
    assert message.endswith(f"cannot be made transparent by fallthrough_kernel: {why}.")


def test_the_sign_of_fallthrough_is_never_called():
    message = said(fallthrough_kernel, NotImplementedError)
    assert message == "fallthrough_kernel is registered as a kernel, to let calls through, and is never called."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ns: Library(None, "DEF"), "a library is of a namespace, by its name, and None was given."),
        (lambda ns: Library(ns, "FRAGMENT").define(None), "a schema is a text, 'name(Tensor x) -> Tensor', and None was given."),
        (lambda ns: Library(ns, "IMPL").impl(None, print), "impl asks for an operator or its name, and None was given. Write lib.impl('name', kernel, 'CPU')."),
    ],
)
def test_what_is_of_another_kind_is_refused_in_words(call, message, ns):
    assert said(lambda: call(ns), LibraryError) == message


def test_a_kernel_waits_for_an_overload_and_what_went_says_so_in_its_repr(ns):
    with Library(ns, "DEF") as lib:
        lib.define("f.a(Tensor x, int n) -> Tensor")
        lib.define("f.b(Tensor x, str s) -> Tensor")
        lib.impl("f.late", adds(1), "CPU")
        f = getattr(dispatch.ops, ns).f
        message = said(lambda: f.late, OperatorNotFoundError)
        assert "has no overload 'late'. Overloads: a, b. For one of this name a kernel waits" in message
        assert list(f.explain()) == ["a", "b"]
        assert repr(f.explain(X, 1)).startswith(f"{ns}::f.a(x: float64[2], n: int)")
        a = f.a
    assert repr(a).endswith("-> Tensor  [gone]")


def test_a_kernel_for_a_device_that_no_call_can_ask_for_is_refused():
    with Library("libs_sizes", "FRAGMENT") as lib:
        lib.define("zeros(int n) -> Tensor")
        with pytest.raises(DefinitionError, match=r"^libs_sizes::zeros takes no array and no device, so that no call says which"):
            lib.impl("zeros", np.zeros, "CPU")
        lib.impl("zeros", np.zeros, "CompositeExplicit")
        assert dispatch.ops.libs_sizes.zeros(2).tolist() == [0.0, 0.0]
        lib.define("on(int n, Device device) -> Tensor")
        lib.impl("on", lambda n, device: np.zeros(n), "CPU")
        assert dispatch.ops.libs_sizes.on(2, "cpu").tolist() == [0.0, 0.0]


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicit", "CompositeImplicit"])
@pytest.mark.parametrize("keyed", [False, True])
def test_a_kernel_of_a_library_gets_its_arrays_in_the_layout_of_the_hints(key, keyed):
    def prototype(x: Annotated[np.ndarray, "C"], n: int = 1, *, y: Annotated[np.ndarray, "F"]) -> np.ndarray: ...

    seen = []

    def kernel(x, n, *, y):
        seen.append((x.flags.c_contiguous, n, y.flags.f_contiguous))
        return x * n + y

    op = custom_op(f"libs_layouts::{key}_{keyed}", prototype, mutates_args=(), device_types="cuda")
    with Library("libs_layouts", "IMPL") as lib:
        lib.impl(op, (lambda key, *args, **keywords: kernel(*args, **keywords)) if keyed else kernel, key, with_keyset=keyed)
        x, y = np.arange(6.0).reshape(3, 2).T, np.ones((2, 3))
        assert np.array_equal(op(x, 2, y=y), 2 * x + y)
    assert seen == [(True, 2, True)]


@pytest.mark.parametrize(
    "run", [lambda op, x: op(x), dispatch.eval_shape, lambda op, x: dispatch.make_fx(op, "fake")(x)], ids=["plain", "fake", "trace"]
)
def test_a_composite_kernel_gives_the_dtype_of_the_hints_in_every_layer(run):
    def prototype(x: np.ndarray) -> NDArray[np.float64]: ...

    op = custom_op("libs_dtypes::f", prototype, mutates_args=(), device_types="cuda")
    with Library("libs_dtypes", "IMPL") as lib:
        lib.impl(op, lambda x: np.sin(x), "CompositeImplicit")
        run(op, np.ones(2))
        lib.impl(op, lambda x: np.sin(x).astype("f4"), "CompositeImplicit")
        with pytest.raises(OutputError, match=r"^libs_dtypes::f: the kernel .* returned .* float32, and its schema says Tensor of float64"):
            run(op, np.ones(2))


def test_a_kernel_that_waits_for_nearly_the_name_of_an_operator_is_told(ns):
    lib = Library(ns, "DEF")
    lib.define("scale(Tensor x) -> Tensor")
    with pytest.warns(RuntimeWarning) as caught:
        lib.impl("scales", lambda x: x * 2, "CPU")
    assert [str(each.message) for each in caught] == [
        f"{ns}::scales is not defined, and the kernel waits until it is. Did you mean 'scale'? Define the operator first where it is no slip."
    ]
    assert caught[0].filename == __file__
    other = Library(ns, "IMPL")
    other.impl("another", lambda x: x * 2, "CPU")  # without a warning: nothing is near, and another library may define it
    with pytest.warns(RuntimeWarning, match=f"^{ns}::more is not defined, and the kernel waits until it is. Define the operator first"):
        lib.impl("more", lambda x: x * 2, "CPU")
    lib.define("another(Tensor x) -> Tensor")
    lib.define("more(Tensor x) -> Tensor")
    assert getattr(dispatch.ops, ns).another(X).tolist() == getattr(dispatch.ops, ns).more(X).tolist() == [2.0, 2.0]


def test_a_name_that_one_library_defines_by_another_schema_is_told(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.other(Tensor x, Tensor y) -> Tensor")
    with pytest.warns(RuntimeWarning, match="defined again") as caught:
        lib.define("f(Tensor x, int n) -> Tensor")
    (told,) = caught
    assert str(told.message) == (
        f"{ns}::f(Tensor x) -> Tensor is defined again as {ns}::f(Tensor x, int n) -> Tensor, so that the first is gone, with its "
        "kernels. Give one of two overloads a name: f.other(...)."
    )
    assert caught[0].filename == __file__
    lib.destroy()
