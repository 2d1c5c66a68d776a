"""TestCustomOpAPI, what custom_op makes: calls, schemas, defaults, devices, aliases, kernels taken by themselves."""

import inspect

import numpy as np
import pytest
from making import leaf, loop, said

import dispatch
from dispatch import FakeTensorMode, custom_op, infer_schema
from dispatch.core import Tensor, device_key
from dispatch.errors import (
    AliasError,
    ArgumentError,
    DefinitionError,
    HintError,
    LibraryError,
    NoKernelError,
    NoRuleError,
    OperatorNotFoundError,
    SchemaError,
)
from dispatch.library import Library, get_kernel, register_kernel
from dispatch.testing import opcheck

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray


def simple(ns, kernel=lambda x: x * 1, name="op", **options):
    """An operator of one array."""
    return custom_op(f"{ns}::{name}", kernel, mutates_args=(), schema="(Tensor x) -> Tensor", **options)


def test_basic(ns):
    """The decorated function is called as before, is found by its name, and says what it was.

    Beyond: name, docstring, signature and the function itself are on the operator; torch hides them.
    """

    @custom_op(f"{ns}::add", mutates_args=())
    def add(x: Array, y: float) -> Array:
        """Add a number."""
        return x + y

    assert np.array_equal(add(X, 1.0), X + 1)
    assert getattr(dispatch.ops, ns).add is getattr(dispatch.ops, ns).add.default is add
    assert repr(add) == f"{ns}::add(Tensor x, float y) -> Tensor  [every device | no rules]"
    assert (add.__name__, add.__doc__, list(inspect.signature(add).parameters)) == ("add", "Add a number.", ["x", "y"])
    assert np.array_equal(add.__wrapped__(X, 1.0), X + 1)


def test_no_grad_skips_autograd(ns):
    """Under no_grad nothing is recorded: setup_context does not run, and the result is a plain array."""
    calls = []
    op = simple(ns)
    op.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: calls.append("kept"))
    with dispatch.no_grad():
        out = op(leaf(X))
    assert (type(out), calls) == (np.ndarray, [])
    assert op(leaf(X)).requires_grad
    assert calls == ["kept"]


def test_manual_schema(ns):
    """A schema given as text stands in place of the hints."""

    def foo(x, y=2.0, *, z=None):
        return x * y if z is None else x * y + z

    op = custom_op(f"{ns}::foo", foo, mutates_args=(), schema="(Tensor x, float y=2.0, *, Tensor? z=None) -> Tensor")
    assert str(op.schema) == f"{ns}::foo(Tensor x, float y=2.0, *, Tensor? z=None) -> Tensor"
    assert np.array_equal(op(X), 2 * X)
    assert np.array_equal(op(X, 3.0, z=X), 4 * X)

    @custom_op(f"{ns}::sin_", mutates_args=["x"], schema="(Tensor(a!) x) -> ()")
    def sin_(x):
        np.sin(x, out=x)

    x = X.copy()
    assert sin_(x) is None
    assert np.array_equal(x, np.sin(X))


@pytest.mark.parametrize(
    ("schema", "names", "error", "message"),
    [
        ("(Tensor x) -> Tensor", ("x",), DefinitionError, "mutates_args names ['x'], and the schema writes to nothing."),
        ("(Tensor(a!) x) -> Tensor", (), DefinitionError, "mutates_args names nothing, and the schema writes to ['x']."),
        ("(Tensor y) -> Tensor", (), DefinitionError, "argument 1 is 'y' in the schema and 'x' in the function."),
        ("(Tensor x, int n) -> Tensor", (), DefinitionError, "the schema's 'n' is not in the function."),
        ("(Tensor(a!) x) -> ()", ("y",), DefinitionError, "mutates_args names ['y'], and the schema writes to ['x']."),
        ("(Tensor(a!) x) -> ()", "x", DefinitionError, "mutates_args is the text 'x'. Write a tuple of names: ('x',)."),
        ("foo(Tensor x) -> Tensor", (), SchemaError, "the name is given already"),
        ("(Tensor x) -> Tenser", (), SchemaError, "Did you mean 'Tensor'?"),
    ],
)
def test_manual_schema_error(schema, names, error, message, ns):
    """A schema given as text is held against mutates_args and against the function, and nothing is left of a refused one.

    Beyond: torch compares the text with mutates_args only, and leaves the operator defined, without a kernel.
    """
    found = said(lambda: custom_op(f"{ns}::refused", lambda x: x * 1, mutates_args=names, schema=schema), error)
    assert found.startswith(f"{ns}::refused: ")
    assert message in found
    assert not hasattr(getattr(dispatch.ops, ns, None), "refused")


def test_default_values(ns):
    """Defaults of every type are in the schema, and the kernel gets them as they were written."""
    seen = []

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(
        x: Array,
        a: int | None = None,
        b: float = 3.14,
        c: bool = True,
        d: int = 3,
        e: str = "foo",
        f: np.dtype = np.dtype("f4"),  # noqa: B008 - it is what is tested
        *,
        h: list[int] | None = None,
        device: str = "cpu",
    ) -> Array:
        seen.append((a, b, c, d, e, f, h, device))
        return x * 1

    assert str(foo.schema) == (
        f'{ns}::foo(Tensor x, int? a=None, float b=3.14, bool c=True, int d=3, str e="foo", ScalarType f=float32, *, '
        'int[]? h=None, Device device="cpu") -> Tensor'
    )
    foo(X)
    foo(X, 1, c=False, h=[2])
    assert seen == [
        (None, 3.14, True, 3, "foo", np.dtype("f4"), None, "cpu"),
        (1, 3.14, False, 3, "foo", np.dtype("f4"), [2], "cpu"),
    ]
    defaults = {argument.name: argument.default for argument in foo.schema.arguments if argument.has_default}
    assert list(defaults) == ["a", "b", "c", "d", "e", "f", "h", "device"]
    assert (defaults["b"], defaults["e"]) == (3.14, "foo")


def test_kwarg_only_tensors(ns):
    """An array may be keyword-only: it is computed on, differentiated and batched as any other, and comes last in the rules.

    Differs: keyword-only arrays
    """

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(x: Array, *, y: Array, n: float = 1.0) -> Array:
        return x * y * n

    foo.register_autograd(lambda ctx, g: (g * ctx.y, g * ctx.x, None), setup_context=_keep_two)
    x, y = leaf(X), leaf(2 * X)
    foo(x, y=y).sum().backward()
    assert np.array_equal(x.grad, 2 * X)
    assert np.array_equal(y.grad, X)
    batch = np.stack([X, 3 * X])
    out = dispatch.vmap(lambda x, y: foo(x, y=y))(batch, batch)
    assert np.array_equal(out, loop(lambda x, y: x * y, (0, 0), batch, batch))


def _keep_two(ctx, inputs, output):
    ctx.x, ctx.y, _ = inputs


def test_overloading(ns, lib, ops):
    """One name may stand for several schemas, told apart by what follows the dot; a call runs the one that fits."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.define("foo.two(Tensor x, Tensor y) -> Tensor")
    lib.impl("foo", lambda x: x + 1, "CPU")
    lib.impl("foo.two", lambda x, y: x + y, "CPU")
    assert np.array_equal(ops.foo(X), X + 1)
    assert np.array_equal(ops.foo(X, X), 2 * X)
    assert np.array_equal(ops.foo.two(X, X), 2 * X)
    three = custom_op(f"{ns}::foo.three", lambda x, n: x * n, mutates_args=(), schema="(Tensor x, int n) -> Tensor")
    assert ops.foo.overloads() == ["default", "two", "three"]
    assert np.array_equal(ops.foo(X, 3), three(X, 3))


def test_disallows_output_aliasing(ns):
    """An output is no input, no view of one, and no other output.

    Beyond: what counts is memory, and not the buffer that it is a part of: halves that do not meet are allowed.
    """

    def says(kernel, schema="(Tensor x) -> Tensor"):
        op = custom_op(f"{ns}::alias", kernel, mutates_args=(), schema=schema)
        return said(lambda: op(X), AliasError).partition(" returned ")[2]

    assert says(lambda x: x) == (
        "its input 'x' itself. Return a copy, or declare it in the schema, as in (Tensor(a) x) -> Tensor(a)."
    )
    assert says(lambda x: x[1:]).startswith("a view of its input 'x'.")
    assert says(lambda x: x.reshape(3, 1)).startswith("a view of its input 'x'.")
    assert says(lambda x: [x], "(Tensor x) -> Tensor[]").startswith("its input 'x' itself.")
    assert says(lambda x: (x + 1, x), "(Tensor x) -> (Tensor, Tensor)").startswith("its input 'x' itself.")
    assert says(lambda x: [x + 1] * 2, "(Tensor x) -> Tensor[]").startswith("one array as two outputs.")
    buffer = np.ones(6)
    halves = custom_op(
        f"{ns}::halves", lambda x: (buffer[:3], buffer[3:]), mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)"
    )
    assert np.array_equal(halves(X)[1], np.ones(3))


def test_any_output_is_alias_to_input_or_output(ns):
    """Which outputs share memory with what is told exactly: with inputs in lists, by keyword, and between outputs.

    Adapted: torch tests the function that looks; here it is what a call and opcheck say.
    """
    schema = "(Tensor[] xs, *, Tensor? y=None) -> Tensor"
    first = custom_op(f"{ns}::first", lambda xs, *, y=None: xs[1][:2], mutates_args=(), schema=schema)
    assert "returned a view of its input 'xs'" in said(lambda: first([X, 2 * X]), AliasError)
    named = custom_op(f"{ns}::named", lambda xs, *, y=None: y, mutates_args=(), schema=schema)
    assert "returned its input 'y' itself" in said(lambda: named([X], y=2 * X), AliasError)
    fresh = custom_op(f"{ns}::fresh", lambda xs, *, y=None: xs[0] + 1, mutates_args=(), schema=schema)
    assert np.array_equal(fresh([X], y=X), X + 1)

    def overlapping(x: Array) -> tuple[np.ndarray, np.ndarray]:
        out = np.append(x, 0.0)
        return out[:-1], out[1:]

    op = custom_op(f"{ns}::overlapping", overlapping, mutates_args=())
    report = opcheck(op, (X,), test_utils="test_schema", raise_exception=False)
    assert "share memory" in str(report["test_schema"])
    assert said(lambda: op(X), AliasError).endswith("returned two outputs that share memory. Return a copy for one of them.")


def test_factory_function(ns, remote):
    """An operator without arrays is chosen by its device, given or left out, and by the mode that is on."""

    @custom_op(f"{ns}::make", mutates_args=(), device_types="cpu")
    def make(n: int, *, device: str = "cpu") -> Array:
        return np.zeros(n)

    make.register_kernel("remote", lambda n, *, device="cpu": remote(np.ones(n)))
    make.register_fake(lambda n, *, device="cpu": np.empty(n))
    assert np.array_equal(make(3), np.zeros(3))
    assert np.array_equal(make(3, device="cpu"), np.zeros(3))
    assert type(make(3, device="remote")) is remote
    assert said(lambda: make(3, device="cuda"), NoKernelError) == (
        f"{ns}::make has no kernel for the device 'cuda'. Kernels: CPU, {device_key('remote').name}. Add one: "
        "@make.register_kernel('cuda')."
    )
    with FakeTensorMode():
        assert repr(make(3)) == "FakeTensor(shape=(3,), dtype=float64)"


def test_library_schema_infer(lib, ops):
    """What infer_schema makes of a function is what define takes."""

    def foo(x: Array, *, n: int = 2) -> Array:
        return x * n

    schema = infer_schema(foo, mutates_args=())
    assert schema == "(Tensor x, *, int n=2) -> Tensor"
    lib.define(f"foo{schema}")
    lib.impl("foo", foo, "CPU")
    assert np.array_equal(ops.foo(X, n=3), 3 * X)
    with pytest.raises(HintError, match="'x' has no type hint"):
        infer_schema(lambda x: x, mutates_args=())


def test_multi_types(ns, remote):
    """One function may be the kernel of several devices, and of no other."""
    calls = []

    def kernel(x):
        calls.append(type(x))
        return x * 1 if isinstance(x, np.ndarray) else remote(x.values)

    op = simple(ns, kernel, device_types=["cpu", "remote"])
    op(X)
    op(remote(X))
    assert calls == [np.ndarray, remote]
    local = simple(ns, kernel, name="local", device_types=["cpu", "cuda"])
    assert said(lambda: local(remote(X)), NoKernelError) == (
        f"{ns}::local has no kernel for arrays on 'remote'. Kernels: CPU, CUDA. Add one: @local.register_kernel('remote')."
    )
    message = said(lambda: simple(ns, kernel, device_types=["cpu", "nowhere"]), DefinitionError)
    assert message.startswith("there is no device 'nowhere'. Devices: ")
    assert said(lambda: simple(ns, kernel, name="none", device_types=[]), DefinitionError) == (
        "device_types names no device. Leave it out for a kernel that computes on any."
    )


def test_replacement(ns):
    """A module may define its operator again; rules go with the old definition, and whoever holds it calls the new one.

    Beyond: the operator is the same object, so that older handles call the new definition.
    """
    old = simple(ns, lambda x: x + 1)
    old.register_fake(lambda x: np.empty(7))
    new = simple(ns, lambda x: x + 2)
    assert new is old is getattr(dispatch.ops, ns).op
    assert new.epoch == 2
    assert np.array_equal(old(X), X + 2)
    with FakeTensorMode() as mode, pytest.raises(NoRuleError, match="it has no fake rule"):
        old(mode.from_array(X))


def test_split_device(ns, remote):
    """Kernels of several devices are told apart by the arrays, whichever way they were registered.

    Beyond: each device keeps its own kernel; in torch those of a list of devices are taken one for the other.
    """
    op = simple(ns, lambda x: x + 1, device_types="cpu")
    op.register_kernel(["remote", "cuda"], lambda x: remote(x.values + 2))
    assert np.array_equal(op(X), X + 1)
    assert np.array_equal(op(remote(X)).values, X + 2)
    op.register_kernel("remote", lambda x: remote(x.values + 3))
    assert np.array_equal(op(X), X + 1)
    assert np.array_equal(op(remote(X)).values, X + 3)
    assert get_kernel(op, "CUDA")(remote(X)).values[0] == X[0] + 2


def test_supports_tensorlist(ns):
    """Lists of arrays go in and come out, tracked item by item."""

    @custom_op(f"{ns}::twice", mutates_args=())
    def twice(xs: list[np.ndarray]) -> list[np.ndarray]:
        return [2 * x for x in xs]

    twice.register_autograd(lambda ctx, grads: ([2 * g for g in grads],))
    a, b = leaf(X), leaf(X + 1)
    out = twice([a, X, b])
    assert [isinstance(x, Tensor) for x in out] == [True, True, True]
    (out[0] + 3 * out[2]).sum().backward()
    assert np.array_equal(a.grad, np.full(3, 2.0))
    assert np.array_equal(b.grad, np.full(3, 6.0))


@pytest.mark.parametrize("place", ["position", "list", "list with None", "keyword", "none"])
def test_any_requires_grad(place, ns):
    """A call is recorded where any array needs it: by position, by keyword, in a list, beside a None in a list.

    Adapted: torch tests the function that looks; here it is what a call records.

    Beyond: in torch a None in a list of arrays loses the gradient of all of them in silence.
    """
    schema = "(Tensor x, Tensor?[] ys, *, Tensor? z=None) -> Tensor"

    def kernel(x, ys, *, z=None):
        return sum((y for y in ys if y is not None), x if z is None else x + z)

    op = custom_op(f"{ns}::total", kernel, mutates_args=(), schema=schema)
    op.register_autograd(lambda ctx, g: (g, [g, None, g], g), setup_context=lambda ctx, inputs, output: None)
    tracked = leaf(X)
    values = {
        "position": (tracked, [X, None, X], X),
        "list": (X, [X, X, tracked], X),
        "list with None": (X, [tracked, None, X], None),
        "keyword": (X, [X, None, X], tracked),
        "none": (X, [X, None, X], X),
    }
    x, ys, z = values[place]
    out = op(x, ys, z=z)
    assert isinstance(out, Tensor) is (place != "none")
    if place != "none":
        out.sum().backward()
        assert np.array_equal(tracked.grad, np.ones(3))


def test_set_kernel_enabled(ns, remote):
    """A kernel is switched off inside a block, for one thread, and what it covered runs; no kernel is an error.

    Differs: switching kernels
    """
    op = simple(ns, lambda x: x + 1)
    op.register_kernel("cpu", lambda x: x + 2)
    with op.set_kernel_enabled("cpu", False):
        assert np.array_equal(op(X), X + 1)
        with op.set_kernel_enabled("cpu"):
            assert np.array_equal(op(X), X + 2)
        assert np.array_equal(op(X), X + 1)
    assert np.array_equal(op(X), X + 2)
    alone = simple(ns, lambda x: x + 1, name="alone", device_types="cpu")
    with alone.set_kernel_enabled("cpu", enabled=False):
        assert said(lambda: alone(X), NoKernelError).startswith(f"{ns}::alone has no kernel for arrays on 'cpu'.")
    assert said(lambda: op.set_kernel_enabled("cuda", False).__enter__(), DefinitionError) == (
        f"{ns}::op has no kernel of its own for 'cuda', so that there is none to switch. Give it one, "
        "@op.register_kernel('cuda'): while that is off, calls run the kernel for every device."
    )
    assert "nowhere" in said(lambda: op.set_kernel_enabled("nowhere", False).__enter__(), DefinitionError)


def test_library_get_kernel(ns, lib, ops):
    """A kernel can be taken by itself and called, without the keys above it, until it goes.

    Beyond: an operator is taken as well as a name, whatever made it.
    """
    lib.define("foo(Tensor x, *, int n=1) -> Tensor")
    with Library(ns, "IMPL") as other:
        other.impl("foo", lambda x, *, n=1: x + n, "CPU")
        kernel = get_kernel(f"{ns}::foo", "CPU")
        assert np.array_equal(kernel(X, n=2), X + 2)
        assert np.array_equal(kernel.call_boxed("CPU", X, n=2), X + 2)
        assert kernel.op_handle is ops.foo
        assert np.array_equal(get_kernel(ops.foo, "cpu")(X), X + 1)
    assert said(lambda: kernel(X), LibraryError) == (
        f"the kernel of {ns}::foo at CPU is gone: the library that registered it was destroyed, or the operator defined anew. "
        "Ask again: get_kernel(op, key)."
    )


def test_library_get_kernel_with_conditional_dispatch(ns):
    """A kernel that takes another's place calls it where it does not apply; the one that is held stays the one before."""
    op = simple(ns, lambda x: x + 1)
    before = get_kernel(op, "CPU")
    with Library(ns, "IMPL") as lib:
        register_kernel(op, "cpu", lambda x: before(x) if x.size < 4 else x - 1, lib=lib)
        between = get_kernel(op, "CPU")
        register_kernel(op, "cpu", lambda x: between(x) if x.size < 5 else x * 0, lib=lib)
        assert np.array_equal(op(X), X + 1)
        assert np.array_equal(op(np.ones(4)), np.zeros(4))
        assert np.array_equal(op(np.ones(5)), np.zeros(5))
    assert np.array_equal(op(np.ones(5)), np.full(5, 2.0))


def test_library_get_kernel_invalid(ns):
    """An unknown operator, an unknown key, an alias and a key without a kernel are refused, each by its own message."""
    op = simple(ns, device_types="cpu")
    assert said(lambda: get_kernel(5, "CPU"), ArgumentError) == (
        "an operator or its name, 'ns::name', is asked for, and an int was given."
    )
    assert said(lambda: get_kernel("nothing", "CPU"), SchemaError).startswith("'nothing' does not name an operator.")
    assert said(lambda: get_kernel(f"{ns}::nothing", "CPU"), OperatorNotFoundError).startswith(
        f"there is no operator {ns}::nothing."
    )
    message = said(lambda: get_kernel(op, "nowhere"), DefinitionError)
    assert message.startswith("there is no dispatch key 'nowhere'. Keys: CPU, ")
    assert " Devices: cpu, cuda, " in message
    assert said(lambda: get_kernel(op, "CUDA"), NoKernelError) == f"{ns}::op has no kernel at CUDA."
    assert said(lambda: get_kernel(op, "CompositeExplicit"), DefinitionError) == (
        f"{ns}::op: CompositeExplicit is an alias and has no slot; ask at one of the keys it fills."
    )
