"""TestCustomOp, gradients: the rules of torch's old interface, where they reappear in `register_autograd`."""

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch import custom_op, detach, no_grad, register_autograd
from dispatch.errors import DefinitionError, GradientError, NoRuleError
from dispatch.library import Library

X = np.array([0.5, 1.0, 2.0])


def keep_first(ctx, inputs, output):
    """The setup_context of most: the first argument is kept, the first of a list."""
    first = inputs[0]
    ctx.save_for_backward(first[0] if isinstance(first, list) else first)


def cosine(ctx, g):
    (x,) = ctx.saved_tensors
    return g * np.cos(x)


SINES = {
    "(Tensor x) -> Tensor": lambda x: np.sin(x),
    "(Tensor[] xs) -> Tensor": lambda xs: np.sin(xs[0]),
    "(Tensor x, Tensor y) -> Tensor": lambda x, y: np.sin(x),
    "(Tensor x, Tensor? y) -> Tensor": lambda x, y: np.sin(x),
    "(Tensor x, int dim) -> Tensor": lambda x, dim: np.sin(x),
}


@pytest.fixture
def make(ns):
    """Make an operator, which computes the sine of its first array unless it is given a kernel, with a backward."""

    def made(schema, backward=None, kernel=None, setup_context=keep_first):
        op = custom_op(f"{ns}::foo", kernel or SINES[schema], mutates_args=(), schema=schema)
        if backward is not None:
            op.register_autograd(backward, setup_context=setup_context)
        return op

    return made


def backward_message(out, error=GradientError):
    """What the walk back from an output says."""
    return said(lambda: out.sum().backward(), error)


# -- no gradient -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ("(Tensor x) -> Tensor", lambda: (leaf(X),)),
        ("(Tensor[] xs) -> Tensor", lambda: ([X, leaf(X)],)),
        ("(Tensor x, Tensor y) -> Tensor", lambda: (X, leaf(X))),
    ],
)
def test_autograd_notimplemented(schema, args, make):
    """An operator without a gradient, asked for one through any argument, says which it is and what to add.

    Adapted: the entry is of torch's old interface; as in torch.library, it is said when the gradient is asked for, and not
    at the call.
    """
    op = make(schema)
    out = op(*args())
    assert np.array_equal(detach(out), np.sin(X))
    assert backward_message(out, NoRuleError) == (
        f"a gradient was asked of {op.name}, which has no derivative. Add one: foo.register_autograd(backward, "
        "setup_context=...); or write dispatch.detach(...) around the call to make it a constant."
    )


def test_autograd_notimplemented_gradmode(make):
    """Under no_grad an operator without a gradient computes, and its result is a plain array."""
    op = make("(Tensor x, Tensor y) -> Tensor")
    with no_grad():
        out = op(X, leaf(X))
    assert type(out) is np.ndarray
    assert np.array_equal(out, np.sin(X))


# -- the two functions -----------------------------------------------------------------------------------------------------


def test_autograd_function_backed_op(lib, ops):
    """An operator that is there already gets a gradient, whichever way it was defined.

    Also: backward_impl_on_existing_op

    Adapted: torch's entry has an autograd function in C++.
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", np.sin, "CPU")
    register_autograd(ops.foo, cosine, setup_context=keep_first, lib=lib)
    x = leaf(X)
    ops.foo(x).sum().backward()
    assert np.allclose(x.grad, np.cos(X))


def test_backward_partially_registered(make):
    """A backward without setup_context finds nothing kept, and is told what to write.

    Adapted: in torch's old interface the two are registered apart, and one without the other is refused.
    """
    op = make("(Tensor x) -> Tensor", cosine, setup_context=None)
    with pytest.raises(GradientError, match=rf"{op.name}: ctx.saved_tensors was read, .* Write ctx.save_for_backward\(\.\.\.\) there"):
        op(leaf(X)).sum().backward()


def test_save_for_backward_inputs_are_namedtuple(make):
    """setup_context is called once a call, with all arguments in the order of the schema, defaults filled in.

    Adapted: the entry is of torch's old interface; as in torch.library, they are a plain tuple.
    """
    calls = []

    def setup_context(ctx, inputs, output):
        calls.append(inputs)
        ctx.save_for_backward(inputs[0])

    op = make("(Tensor x, int n=3) -> Tensor", lambda ctx, g: (cosine(ctx, g), None), lambda x, n=3: np.sin(x), setup_context)
    x = leaf(X)
    out = op(x)
    assert [(type(inputs), inputs[0] is x, inputs[1]) for inputs in calls] == [(tuple, True, 3)]
    out.sum().backward()
    assert len(calls) == 1
    assert np.allclose(x.grad, np.cos(X))


# -- what a backward returns -----------------------------------------------------------------------------------------------


def test_backward_returns_dict(make):
    """A backward returns one gradient for each argument, by position; one that returns a dict is refused.

    Adapted: the entry is of torch's old interface; as in torch.library, gradients are given by position, and not as a dict.
    """
    op = make("(Tensor x) -> Tensor", lambda ctx, g: {"x": g})
    assert backward_message(op(leaf(X))) == (
        f"{op.name}: its backward gave a dict for argument 'x'. Return a tuple, with one for each of (x)."
    )


def test_backward_dict_grad_for_nontensor(make):
    """A gradient for an argument that is no array is refused by name.

    Adapted: the entry is of torch's old interface; as in torch.library, its place is None.
    """
    op = make("(Tensor x, int dim) -> Tensor", lambda ctx, g: (g, g))
    assert backward_message(op(leaf(X), 32)) == (
        f"{op.name}: its backward returned a gradient for argument 'dim', which is no array. Return None for it."
    )


def test_backward_dict_requires_keys_for_input_optional_tensors(make):
    """An array that was left out has its place among the gradients all the same."""
    op = make("(Tensor x, Tensor? y) -> Tensor", lambda ctx, g: (cosine(ctx, g),))
    message = backward_message(op(leaf(X), None))
    assert "its backward returned 1 gradient, and the operator has 2 arguments (x, y)." in message
    op.register_autograd(lambda ctx, g: (cosine(ctx, g), None), setup_context=keep_first)
    x = leaf(X)
    op(x, None).sum().backward()
    assert np.allclose(x.grad, np.cos(X))


def test_backward_grads_are_tensor_or_none(make):
    """A gradient is an array or None; what is neither is refused with the argument it is for."""
    op = make("(Tensor x) -> Tensor", lambda ctx, g: ((g,),))
    assert backward_message(op(leaf(X))) == (
        f"{op.name}: its backward gave a tuple for argument 'x'. Return an array, or None where there is no gradient."
    )


def test_backward_tensorlist_input_requires_list_grads_none_or_Tensor(make):
    """What stands in the list is an array or None."""
    op = make("(Tensor[] xs) -> Tensor", lambda ctx, g: [cosine(ctx, g), None, (None,)])
    assert backward_message(op([leaf(X) for _ in range(3)])) == (
        f"{op.name}: its backward gave a tuple for a tracked input. Return an array, or None where there is no gradient."
    )


@pytest.mark.parametrize(
    ("returned", "what"),
    [
        (lambda g: g, "an ndarray"),
        (lambda g: (g,), "an ndarray"),
        (lambda g: ([g],), "1 in a list"),
        (lambda g: [g, None], "2 in a list"),
        (lambda g: [g] * 4, "4 in a list"),
    ],
)
def test_backward_tensorlist_input_requires_list_grads(returned, what, make):
    """For a list of arrays a backward returns a list of as many gradients; one array, or another number of them, is refused.

    Also: backward_tensorlist_input_requires_list_grads_with_same_numel

    Differs: None for a list
    """
    op = make("(Tensor[] xs) -> Tensor", lambda ctx, g: returned(g))
    assert backward_message(op([leaf(X) for _ in range(3)])) == (
        f"{op.name}: argument 'xs' is a list of 3 arrays, and its backward returned {what} for it. "
        "Return a list of 3 gradients, None for those without."
    )
    op.register_autograd(lambda ctx, g: (None,))
    xs = [leaf(X) for _ in range(3)]
    op(xs).sum().backward()
    assert [x.grad for x in xs] == [None, None, None]


# -- outputs without a gradient --------------------------------------------------------------------------------------------

MARKED = (
    "mark_non_differentiable was given a value that is no output of the operator. Pass outputs as setup_context was given them."
)


def test_backward_output_differentiability_type(make):
    """What is marked as without a gradient is an output; a flag is refused.

    Adapted: an output is marked in setup_context, where the old interface takes a list of flags.
    """
    op = make("(Tensor x) -> Tensor", cosine, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(True))
    assert said(lambda: op(leaf(X)), GradientError) == f"{op.name}: {MARKED}"


def test_backward_output_differentiability_numel(make):
    """Each output is marked by itself; the list of them is none.

    Adapted: there is no list of flags that could be too short.
    """
    op = make(
        "(Tensor x) -> (Tensor, Tensor)",
        lambda ctx, g, h: g,
        lambda x: (np.sin(x), np.cos(x)),
        lambda ctx, inputs, output: ctx.mark_non_differentiable(list(output)),
    )
    assert said(lambda: op(leaf(X)), GradientError) == f"{op.name}: {MARKED}"


def test_backward_output_differentiability_tensorlist(make):
    """A list of outputs can be marked whole, and the others keep their gradient."""
    op = make(
        "(Tensor x) -> (Tensor[], Tensor)",
        lambda ctx, listed, g: g,
        lambda x: ([x.copy(), x.copy()], x.copy()),
        lambda ctx, inputs, output: ctx.mark_non_differentiable(*output[0]),
    )
    x = leaf(X)
    (a, b), c = op(x)
    assert (type(a), type(b), c.requires_grad) == (np.ndarray, np.ndarray, True)
    c.sum().backward()
    assert np.array_equal(x.grad, np.ones(3))


def test_backward_output_differentiability_non_tensor(make):
    """An output that is no array has no gradient by itself, and its place among the incoming ones is None; marking it is refused."""
    incoming = []

    def backward(ctx, g, h):
        incoming.append(h)
        return g

    op = make("(Tensor x) -> (Tensor, int)", backward, lambda x: (x.copy(), 3), None)
    y, n = op(leaf(X))
    y.sum().backward()
    assert (n, incoming) == (3, [None])
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]))
    assert said(lambda: op(leaf(X)), GradientError) == f"{op.name}: {MARKED}"


# -- which operators take a gradient ---------------------------------------------------------------------------------------


def test_backward_impl_on_existing_op_incorrect_schema_views(lib, ops):
    """An operator that returns a view takes a gradient.

    Differs: views
    """
    lib.define("foo(Tensor(a) x, int n) -> Tensor(a)")
    lib.impl("foo", lambda x, n: x[n:], "CPU")

    def backward(ctx, g):
        return np.concatenate([np.zeros(ctx.n), g]), None

    def setup_context(ctx, inputs, output):
        ctx.n = inputs[1]

    register_autograd(ops.foo, backward, setup_context=setup_context, lib=lib)
    x = leaf(X)
    ops.foo(x, 1).sum().backward()
    assert np.array_equal(x.grad, [0.0, 1.0, 1.0])


def test_backward_impl_on_existing_op_incorrect_schema_mutable(lib, ops):
    """An operator that writes to its argument takes a gradient, that of its functional form.

    Differs: writing operators
    """
    lib.define("foo(Tensor(a!) x) -> Tensor(a!)", tags=dispatch.Tag.inplace)
    lib.impl("foo", lambda x: np.multiply(x, 2, out=x), "CPU")
    register_autograd(ops.foo, lambda ctx, g: g * 2, lib=lib)
    x = leaf(X)
    y = x * 1.0
    ops.foo(y)
    y.sum().backward()
    assert np.array_equal(x.grad, [2.0, 2.0, 2.0])


def test_backward_impl_on_existing_op_incorrect_schema_no_output(lib, ops):
    """An operator that returns nothing and writes to nothing takes no gradient: none can begin at it."""
    lib.define("foo(Tensor x) -> ()")
    message = said(lambda: register_autograd(ops.foo, lambda ctx: None, lib=lib), DefinitionError)
    assert message == (
        f"{ops.foo.name} returns nothing and writes to nothing, so that no gradient comes back to it. Leave the backward out."
    )


def test_backward_impl_on_existing_op_CompositeImplicitAutograd(lib, ops, ns):
    """A composite operator's gradient is that of what it is made of, unless it has one of its own.

    Differs: rules on composites
    """

    def gradient():
        x = leaf(X)
        ops.foo(x).sum().backward()
        return x.grad

    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.cos(np.sin(x)), "CompositeImplicitAutograd")
    assert np.allclose(gradient(), -np.sin(np.sin(X)) * np.cos(X))
    with Library(ns, "IMPL") as other:
        register_autograd(ops.foo, lambda ctx, g: g * 7, lib=other)
        assert np.array_equal(gradient(), [7.0, 7.0, 7.0])
    assert np.allclose(gradient(), -np.sin(np.sin(X)) * np.cos(X))


@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU", "AutogradCUDA"])
def test_backward_impl_on_existing_op_with_key(key, lib, ops, ns):
    """A kernel at the key of the tape is covered by a gradient, and comes back when the gradient goes.

    Adapted: the entry is of torch's old interface; as in torch.library, a gradient takes the place of a kernel at the key
    of the tape. There is one such key for all
    devices, and torch's for one device are refused by name.
    """
    lib.define("foo(Tensor x) -> Any")
    lib.impl("foo", np.sin, "CPU")
    if key != "Autograd":
        with pytest.raises(DefinitionError, match=f"there is no dispatch key '{key}'"):
            lib.impl("foo", lambda x: "kernel", key)
        return
    lib.impl("foo", lambda x: "kernel", key)
    assert ops.foo(leaf(X)) == "kernel"
    with Library(ns, "IMPL") as other:
        register_autograd(ops.foo, cosine, setup_context=keep_first, lib=other)
        x = leaf(X)
        ops.foo(x).sum().backward()
        assert np.allclose(x.grad, np.cos(X))
    assert ops.foo(leaf(X)) == "kernel"
