"""TestCustomOp, fake rules on operators that are there already, and shapes that depend on data."""

from functools import partial

import numpy as np
import pytest
from making import said

from dispatch import FakeTensorMode, ShapeEnv, Tag, custom_op, make_fx, register_fake, vmap
from dispatch.errors import BatchingError, DataDependentError, DefinitionError, NoKernelError, NoRuleError
from dispatch.library import Library, get_ctx, impl_abstract

X = np.array([0.5, 1.0, 2.0])


def run_fake(op, *args):
    """What an operator gives for the fakes of some arrays."""
    with FakeTensorMode() as mode:
        return op(*[mode.from_array(x) if isinstance(x, np.ndarray) else x for x in args])


@pytest.fixture
def nonzero(ns):
    """An operator whose shape depends on data, and says so."""

    @custom_op(f"{ns}::nonzero", mutates_args=(), tags=Tag.dynamic_output_shape)
    def nonzero(x: np.ndarray) -> np.ndarray:
        return np.argwhere(x)

    @nonzero.register_fake
    def _(x):
        return np.empty_like(x, np.intp, shape=(get_ctx().new_dynamic_size(), x.ndim))

    return nonzero


def asks_for_a_size(op):
    return (
        f"{op.name}: its fake rule asks for a size that depends on data, and sizes are numbers here. Give the "
        "mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode."
    )


# -- rules on operators that are there already -----------------------------------------------------------------------------


def test_abstract_impl_on_existing_op(lib, ops, ns):
    """A fake rule can be given to an operator that a library defined, and says shape, strides and dtype."""
    lib.define("foo(Tensor x) -> Tensor")
    with Library(ns, "IMPL") as other:
        register_fake(f"{ns}::foo", lambda x: np.sin(x), lib=other)
        out = run_fake(ops.foo, np.ones((2, 3), "f4").T)
        assert (out.shape, out.strides, out.dtype) == ((3, 2), (4, 12), np.float32)
    with pytest.raises(NoRuleError, match="and it has no fake rule"):
        run_fake(ops.foo, X)


def test_abstract_impl_on_existing_op_with_meta(lib, ns):
    """A fake rule is refused on request where a kernel for fakes, Meta in torch's words, is the fake rule already."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.sin(x), "Meta")
    message = said(lambda: register_fake(f"{ns}::foo", lambda x: x, lib=lib, allow_override=False), DefinitionError)
    assert message.startswith(f"{ns}::foo has a fake rule already, test_custom_op_fake.py:")
    assert message.endswith(", and allow_override is False.")


def test_abstract_impl_on_existing_op_with_CompositeImplicitAutograd(lib, ops, ns):
    """A composite operator needs no fake rule: fakes run through what it is made of. Another is refused on request.

    Differs: rules on composites
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.sum(np.sin(x), axis=0), "CompositeImplicitAutograd")
    assert run_fake(ops.foo, np.ones((2, 3))).shape == (3,)
    with pytest.raises(DefinitionError, match=f"{ns}::foo has a fake rule already"):
        register_fake(f"{ns}::foo", lambda x: np.empty(7), lib=lib, allow_override=False)
    with Library(ns, "IMPL") as other:
        register_fake(f"{ns}::foo", lambda x: np.empty(7), lib=other)
        assert run_fake(ops.foo, np.ones((2, 3))).shape == (7,)
    assert run_fake(ops.foo, np.ones((2, 3))).shape == (3,)


def test_abstract_impl_on_existing_op_with_CompositeExplicitAutograd(lib, ops, ns):
    """An operator whose kernel serves every device takes a fake rule."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.sin(x), "CompositeExplicitAutograd")
    register_fake(f"{ns}::foo", lambda x: np.sum(x), lib=lib)
    assert run_fake(ops.foo, np.ones(10)).shape == ()


def test_impl_abstract_overload(lib, ops, ns):
    """A fake rule goes to the overload that is named, a function of NumPy's as it stands; `impl_abstract` is the old name, which
    warns.
    """
    lib.define("sin.blah(Tensor x) -> Tensor")
    lib.define("sin(Tensor x, int n) -> Tensor")
    with Library(ns, "FRAGMENT") as other:
        register_fake(f"{ns}::sin.blah", np.empty_like, lib=other)
        assert run_fake(ops.sin.blah, X).shape == (3,)
    with pytest.raises(DefinitionError, match="Rules bind by parameter name"):
        register_fake(f"{ns}::sin", np.empty_like, lib=lib)
    with pytest.warns(FutureWarning, match="impl_abstract is the old name of register_fake") as caught:
        impl_abstract(f"{ns}::sin.blah", lambda x: np.empty_like(x), lib=lib)
    assert caught[0].filename == __file__
    assert run_fake(ops.sin.blah, X).shape == (3,)
    with pytest.raises(NoRuleError, match=f"the shape of {ns}::sin's output was asked for"):
        run_fake(ops.sin, X, 2)


def test_not_implemented_error(lib, ops, ns):
    """An operator without a kernel, or without a fake rule, says which it lacks and how to add it, with arrays and without; with a
    fake rule a fake argument gives the shape.

    Also: TestCustomOpAPI.fake
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.define("bar(int[] sizes) -> Tensor")
    arrays = f" for arrays on 'cpu'. Kernels: none. Add one: @library.impl('{ns}::foo', 'cpu')."
    sizes = f". Kernels: none. Add one: @library.impl('{ns}::bar', 'default'), for every device: the call names none."
    for name, args, lacks in (("foo", (X,), arrays), ("bar", ((1, 2, 3),), sizes)):
        op = getattr(ops, name)
        assert said(lambda op=op, args=args: op(*args), NoKernelError) == f"{ns}::{name} has no kernel{lacks}"
        assert said(lambda op=op, args=args: run_fake(op, *args), NoRuleError) == (
            f"the shape of {ns}::{name}'s output was asked for, and it has no fake rule. Add one: {name}.register_fake(rule), "
            "with the operator's own parameters."
        )
    ops.foo.register_fake(lambda x: np.empty_like(x))
    out = run_fake(ops.foo, X)
    assert (out.shape, out.dtype) == (X.shape, X.dtype)


# -- shapes that depend on data --------------------------------------------------------------------------------------------


def test_new_data_dependent_symint(ns):
    """A fake rule asks for a size that depends on data, within bounds that make sense.

    Differs: symbolic bounds
    """
    bounds = []

    @custom_op(f"{ns}::foo", mutates_args=(), tags=Tag.dynamic_output_shape)
    def foo(x: np.ndarray) -> np.ndarray:
        return x[x > 0]

    @foo.register_fake
    def _(x):
        for low, high in ((-1, None), (3, 2)):
            bounds.append(said(partial(get_ctx().new_dynamic_size, min=low, max=high), DefinitionError))
        return np.empty_like(x, shape=(get_ctx().new_dynamic_size(min=1, max=x.size),))

    assert said(lambda: run_fake(foo, X), DataDependentError) == asks_for_a_size(foo)
    assert bounds == [
        f"{ns}::foo: its fake rule asks for a size from {low} to {high}. Sizes begin at 0, and min is the smaller."
        for low, high in ((-1, None), (3, 2))
    ]
    graph = make_fx(lambda x: foo(x) * 2, "symbolic")(np.ones((2, 3)))
    assert [str(node.value[0]) for node in graph.nodes if node.op is foo] == ["(u0,)"]
    x = np.array([[1.0, -1.0, 2.0], [3.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    assert np.array_equal(graph(x), foo(x) * 2)


def test_meta_for_data_dependent_shape_operation(nonzero):
    """An operator whose shape depends on data cannot run on fakes, and says that and what to do."""
    assert said(lambda: run_fake(nonzero, X), DataDependentError) == asks_for_a_size(nonzero)
    with FakeTensorMode() as mode:
        x = mode.from_array(X)
    assert said(lambda: nonzero(x), DataDependentError) == asks_for_a_size(nonzero)


def test_data_dependent_basic(nonzero):
    """An operator whose shape depends on data computes like any other, and is one call of a graph for arrays of every size.

    Beyond: a batch of it is refused where its items differ.
    """
    x = np.array([[0.0, 1.0], [2.0, 0.0]])
    graph = make_fx(nonzero, "symbolic")(x)
    assert [node.op for node in graph.nodes if node.op is not None] == [nonzero]
    assert np.array_equal(graph(np.eye(3)), nonzero(np.eye(3)))
    assert np.array_equal(nonzero(x), np.argwhere(x))
    assert np.array_equal(vmap(nonzero)(x), [[[1]], [[0]]])
    message = said(lambda: vmap(nonzero)(np.array([[1.0, 1.0], [0.0, 1.0]])), BatchingError)
    assert message == (
        f"{nonzero.name}: the items of the batch gave outputs of different shapes, (1, 1), (2, 1), which make no batch."
    )


def test_data_dependent_fake_tracing(nonzero):
    """A trace over fakes has a symbol for the size that depends on data, and numbers for all others."""
    graph = make_fx(lambda x: nonzero(np.sin(x)) * 2, "fake")(np.ones((5, 5)))
    assert [str(node.value[0]) for node in graph.nodes] == ["(5, 5)", "(5, 5)", "(u0, 2)", "(u0, 2)"]
    for x in (np.eye(5), np.zeros((5, 5))):
        assert np.array_equal(graph(x), nonzero(x) * 2)
    with FakeTensorMode() as mode:
        x = np.sin(mode.from_array(np.ones((5, 5))))
        assert x.shape == (5, 5)
        assert said(lambda: nonzero(x), DataDependentError) == asks_for_a_size(nonzero)


def test_basic_make_fx(ns):
    """A program over fakes runs rules only, and knows the shape of its result; a trace has the operator as a call."""
    ran = []

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(x: np.ndarray) -> np.ndarray:
        ran.append("kernel")
        return np.asarray(x.sum())

    @foo.register_fake
    def _(x):
        ran.append("rule")
        return np.sum(x)

    out = run_fake(lambda x: np.sin(foo(x)), X)
    assert (out.shape, out.dtype, ran) == ((), X.dtype, ["rule"])
    graph = make_fx(foo, "symbolic")(X)
    assert f"{ns}.foo(x)" in str(graph)
    assert "kernel" not in ran


def test_symints(ns):
    """The shape of a fake goes to an operator that takes sizes, in a trace with symbols too, and gives the shape it gives."""

    @custom_op(f"{ns}::view_copy", mutates_args=())
    def view_copy(x: np.ndarray, shape: list[int]) -> np.ndarray:
        return np.array(x).reshape(shape)

    @view_copy.register_fake
    def _(x, shape):
        return np.empty_like(x, shape=tuple(shape))

    def f(x):
        return view_copy(x, (x.shape[0] * x.shape[1], x.shape[2]))

    x = np.ones((2, 3, 4))
    assert run_fake(f, x).shape == f(x).shape == (6, 4)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        assert str(f(mode.from_array(x)).shape) == "(s0*s1, s2)"
    graph = make_fx(f, "symbolic")(x)
    for other in (x, np.ones((5, 2, 3))):
        assert np.array_equal(graph(other), f(other))
