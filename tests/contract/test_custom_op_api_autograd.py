"""TestCustomOpAPI, gradients: as many as there are arguments, defaults among them, lists as lists."""

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch import custom_op, register_autograd
from dispatch.errors import ArgumentError, DefinitionError, GradientError, OperatorNotFoundError

X = np.array([0.5, 1.0, 2.0])
Array = np.ndarray


def product(ns, backward):
    """An operator of two arrays and a number that has a default, with a gradient that is tested."""

    @custom_op(f"{ns}::product", mutates_args=())
    def op(x: Array, y: Array, n: float = 2.0) -> Array:
        return x * y * n

    op.register_autograd(backward, setup_context=_keep)
    return op


def _keep(ctx, inputs, output):
    ctx.x, ctx.y, ctx.n = inputs


def gradients(ctx, g):
    return g * ctx.y * ctx.n, g * ctx.x * ctx.n, None


@pytest.mark.parametrize(
    ("returned", "count"),
    [(lambda g: g, 1), (lambda g: (None,), 1), (lambda g: (), 0), (lambda g: (g, g, None, None), 4)],
)
def test_register_autograd_incorrect_num_gradients(returned, count, ns):
    """Too few gradients and too many are refused, counted as the user counts, with the arguments' names; an array alone counts
    as one. What returned nothing is told so.

    Also: TestCustomOp.backward_dict_invalid_keys TestCustomOp.backward_dict_requires_keys_for_input_tensors

    Beyond: the arguments are named.
    """
    op = product(ns, lambda ctx, g: returned(g))
    message = said(op(leaf(X), leaf(X)).sum().backward, GradientError)
    assert message == (
        f"{ns}::product: its backward returned {count} gradient{'s' * (count != 1)}, and the operator has 3 arguments (x, y, n). "
        "Return one for each, None for those without; those behind 'y', which are no arrays, may be left out."
    )
    op = product(f"{ns}b", lambda ctx, g: None)
    assert said(op(leaf(X), leaf(X)).sum().backward, GradientError) == (
        f"{ns}b::product: its backward returned None, as a function without a return statement does. Return one gradient for each "
        "argument (x, y, n), None in its place for one without."
    )


DEFAULTED = {
    "one": (lambda g: g, True),
    "up to the last array": (lambda g: (g, None), True),
    "all": (lambda g: (g, None, None, None), True),
    "none": (lambda g: (), False),
    "one too few": (lambda g: (g, None, None), False),
    "one too many": (lambda g: (g, None, None, None, None), False),
}


@pytest.mark.parametrize("given", [(), (None,), (None, 2.0), (None, 3.0, True)], ids=str)
@pytest.mark.parametrize("returned", DEFAULTED)
def test_register_autograd_defaulted_inputs_too_few_gradients(returned, given, ns):
    """Of arguments with defaults a backward returns all gradients, or those up to the last array that has to be given or may be;
    any other number is refused.

    Differs: defaults
    """
    function, passes = DEFAULTED[returned]

    @custom_op(f"{ns}::f", mutates_args=())
    def f(x: Array, y: Array | None = None, scale: float = 2.0, enabled: bool = False) -> Array:
        return np.sin(x)

    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return function(g * np.cos(X))

    f.register_autograd(backward, setup_context=lambda ctx, inputs, output: seen.append(len(inputs)))
    x = leaf(X)
    if passes:
        f(x, *given).sum().backward()
        assert np.allclose(x.grad, np.cos(X))
        y = leaf(X)
        if returned == "one":
            assert "returned 1 gradient" in said(f(x, y).sum().backward, GradientError)
    else:
        message = said(f(x, *given).sum().backward, GradientError)
        assert message.endswith(
            "and the operator has 4 arguments (x, y, scale, enabled). Return one for each, None for those without; those behind "
            "'y', which are no arrays, may be left out."
        )
    assert seen[:2] == [4, (True, False, False, False)]


@pytest.mark.parametrize("given", [(), (2.0,), (3.0,)])
def test_register_autograd_defaulted_inputs_full(given, ns):
    """A gradient for every argument is right, whether those with a default are given or not.

    Differs: defaults
    """
    op = product(ns, gradients)
    x, y = leaf(X), leaf(X + 1)
    op(x, y, *given).sum().backward()
    n = given[0] if given else 2.0
    assert np.allclose(x.grad, (X + 1) * n)
    assert np.allclose(y.grad, X * n)


@pytest.mark.parametrize("given", [(), (2.0,), (3.0,)])
def test_register_autograd_defaulted_inputs_actual(given, ns):
    """A gradient for each argument up to the last array is right too, whether those behind it are given or not.

    Differs: defaults
    """
    lengths = []

    def backward(ctx, g):
        lengths.append(len(ctx.needs_input_grad))
        return gradients(ctx, g)[:2]

    op = product(ns, backward)
    x = leaf(X)
    op(x, X, *given).sum().backward()
    assert np.allclose(x.grad, X * (given[0] if given else 2.0))
    assert lengths == [3]


@pytest.mark.parametrize("name", ["_pt_metadata", "structure_of_mine", "metadata"])
@pytest.mark.parametrize("value", [[1, "a"], {"x": 1}, None], ids=["list", "dict", "None"])
def test_register_autograd_pt_metadata_ctx_attr_is_not_tensorlist(name, value, ns):
    """An attribute that a rule sets on its context comes back as it was, whatever its name and its value."""
    seen = []

    @custom_op(f"{ns}::copy", mutates_args=())
    def copy(x: Array) -> Array:
        return x.copy()

    def backward(ctx, g):
        seen.append(getattr(ctx, name))
        return g

    copy.register_autograd(backward, setup_context=lambda ctx, inputs, output: setattr(ctx, name, value))
    copy(leaf(X)).sum().backward()
    assert seen == [value]


def test_register_autograd_tensorlist_defaulted_input(ns):
    """A list of arrays beside defaults gets its gradients as a list of its length.

    Differs: defaults
    """

    @custom_op(f"{ns}::total", mutates_args=())
    def total(xs: list[np.ndarray], n: float = 2.0, ys: list[np.ndarray] | None = None) -> Array:
        return sum(xs) * n + sum(ys or [0.0])

    def setup(ctx, inputs, output):
        xs, ctx.n, ys = inputs
        ctx.lengths = len(xs), None if ys is None else len(ys)

    def backward(ctx, g):
        first, second = ctx.lengths
        return [g * ctx.n] * first, None, None if second is None else [g] * second

    total.register_autograd(backward, setup_context=setup)
    a, b, c = leaf(X), leaf(X), leaf(X)
    total([a, X, b]).sum().backward()
    assert np.array_equal(a.grad, np.full(3, 2.0))
    assert np.array_equal(b.grad, np.full(3, 2.0))
    total([X], 3.0, [X, c]).sum().backward()
    assert np.array_equal(c.grad, np.ones(3))


def test_register_autograd_tensorlist_return_defaulted_input(ns):
    """A list of arrays that comes back gets its gradients as a list, where an argument was left out too.

    Differs: defaults
    """
    seen = []

    @custom_op(f"{ns}::parts", mutates_args=())
    def parts(x: Array, n: int = 2) -> list[np.ndarray]:
        return [x * (i + 1) for i in range(n)]

    def backward(ctx, grads):
        seen.append((type(grads), len(grads)))
        return sum((i + 1) * g for i, g in enumerate(grads)), None

    parts.register_autograd(backward)
    for args, expected in (((), 3.0), ((3,), 6.0)):
        x = leaf(X)
        sum(part.sum() for part in parts(x, *args)).backward()
        assert np.array_equal(x.grad, np.full(3, expected))
    assert seen == [(list, 2), (list, 3)]
    x = leaf(X)
    parts(x)[1].sum().backward()  # what nothing was made of has a gradient of zeros
    assert np.array_equal(x.grad, np.full(3, 2.0))


def test_register_autograd_kwargonly_low_level(lib, ops):
    """A setup_context that asks for `keyword_only_inputs` gets them apart, by name; one that does not has them last in `inputs`.
    Gradients of numbers behind the last array may be left out.
    """
    lib.define("bar(Tensor x, *, float y) -> Tensor")
    lib.impl("bar", lambda x, *, y: x * y, "CPU")

    def apart(ctx, inputs, keyword_only_inputs, output):
        ctx.given = inputs[1:], keyword_only_inputs

    register_autograd(f"{lib.ns}::bar", lambda ctx, g: g * ctx.given[1]["y"], setup_context=apart, lib=lib)
    x = leaf(X)
    y = ops.bar(x, y=3.14)
    assert y.grad_fn.given == ((), {"y": 3.14})
    y.sum().backward()
    assert np.allclose(x.grad, np.full(3, 3.14))
    seen = []
    lib.define("foo(Tensor x, *, float n, Tensor y) -> Tensor")
    lib.impl("foo", lambda x, *, n, y: x * n * y, "CPU")

    def setup(ctx, inputs, output):
        ctx.x, ctx.n, ctx.y = inputs
        seen.append(len(inputs))

    register_autograd(ops.foo, lambda ctx, g: (g * ctx.n * ctx.y, None, g * ctx.x * ctx.n), setup_context=setup, lib=lib)
    x, y = leaf(X), leaf(X + 1)
    ops.foo(x, n=3.0, y=y).sum().backward()
    assert np.allclose(x.grad, 3 * (X + 1))
    assert np.allclose(y.grad, 3 * X)
    assert seen == [3]
    wrong = lambda ctx, keyword_only_inputs, output: None
    assert said(lambda: register_autograd(ops.foo, lambda ctx, g: g, setup_context=wrong, lib=lib), DefinitionError) == (
        f"{ops.foo.name}: setup_context takes (ctx, keyword_only_inputs, output). It is called with four arguments: "
        "setup_context(ctx, inputs, keyword_only_inputs, output)."
    )


def test_register_autograd_defaults(ns):
    """Defaults are filled in before a rule sees them: given or left out, and equal to the default or not."""
    seen = []

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(w: Array, x: int = 2, *, y: int = 3, z: float = 0.5) -> Array:
        return w * x * y * z

    foo.register_autograd(
        lambda ctx, g: (g * ctx.factor, None, None, None),
        setup_context=lambda ctx, inputs, output: (
            seen.append(inputs[1:]),
            setattr(ctx, "factor", np.prod(inputs[1:])),
        ),
    )
    for args, keywords in (((), {}), ((2,), {"y": 3}), ((), {"x": 4, "z": 1.0})):
        w = leaf(X)
        foo(w, *args, **keywords).sum().backward()
        assert np.allclose(w.grad, np.prod(seen[-1]))
    assert seen == [(2, 3, 0.5), (2, 3, 0.5), (4, 3, 1.0)]


def test_register_autograd_error_cases(ns):
    """What is no function, what has the wrong parameters, and what is no operator is refused when it is registered."""
    op = custom_op(f"{ns}::op", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert said(lambda: op.register_autograd(5), DefinitionError) == (
        f"{ns}::op: backward is a function, and an int was given."
    )
    assert said(lambda: op.register_autograd(lambda ctx, g: g, setup_context=5), DefinitionError) == (
        f"{ns}::op: setup_context is a function, and an int was given."
    )
    assert said(lambda: op.register_autograd(lambda ctx, g: g, setup_context=lambda ctx: None), DefinitionError) == (
        f"{ns}::op: setup_context takes (ctx). It is called with three arguments: setup_context(ctx, inputs, output)."
    )
    assert said(lambda: register_autograd(5, lambda ctx, g: g), ArgumentError) == (
        "an operator or its name, 'ns::name', is asked for, and an int was given."
    )
    assert said(lambda: register_autograd(f"{ns}::none", lambda ctx, g: g), OperatorNotFoundError) == (
        f"there is no operator {ns}::none. Operators: op."
    )
    nothing = custom_op(f"{ns}::nothing", lambda x: None, mutates_args=(), schema="(Tensor x) -> ()")
    message = said(lambda: nothing.register_autograd(lambda ctx: None), DefinitionError)
    assert message.startswith(f"{ns}::nothing returns nothing")
    assert type(op(X)) is np.ndarray
    assert repr(op).endswith("| no rules]")  # a rule that was refused left nothing behind


@pytest.mark.parametrize("spelling", ["method", "decorator", "function", "name"])
def test_library_register_autograd(spelling, ns):
    """A gradient is registered by method or function, on the operator or by its name; the newest holds."""
    op = custom_op(f"{ns}::sin", lambda x: np.sin(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(lambda ctx, g: 1 / 0)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        return g * np.cos(ctx.saved_tensors[0])

    {
        "method": lambda: op.register_autograd(backward, setup_context=setup),
        "decorator": lambda: op.register_autograd(setup_context=setup)(backward),
        "function": lambda: register_autograd(op, backward, setup_context=setup),
        "name": lambda: register_autograd(f"{ns}::sin", backward, setup_context=setup),
    }[spelling]()
    x = leaf(X)
    op(x).sum().backward()
    assert np.allclose(x.grad, np.cos(X))
    assert np.allclose(dispatch.grad(lambda x: op(x).sum())(X), np.cos(X))


def test_library_register_autograd_low_level(lib, ops):
    """The gradient of an operator that a library defines goes with the library it is registered through."""
    lib.define("sin(Tensor x) -> Tensor")
    lib.impl("sin", lambda x: np.sin(x), "CPU")
    with dispatch.library.Library(lib.ns, "FRAGMENT") as other:
        register_autograd(
            ops.sin,
            lambda ctx, g: g * np.cos(ctx.saved_tensors[0]),
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            lib=other,
        )
        x = leaf(X)
        ops.sin(x).sum().backward()
        assert np.allclose(x.grad, np.cos(X))
        assert "autograd" in repr(ops.sin)
    assert repr(ops.sin).endswith("[cpu | no rules]")
