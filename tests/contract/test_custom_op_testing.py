"""TestCustomOpTesting: opcheck finds what is planted, and lets pass what is sound."""

import numpy as np
import pytest
from making import leaf

import dispatch
from dispatch import Tag, custom_op
from dispatch.errors import OpCheckError
from dispatch.library import get_ctx
from dispatch.testing import opcheck

X = np.array([0.5, 1.0, 2.0])


def finding(op, args, check):
    """What the one check that is run finds."""
    report = opcheck(op, args, test_utils=check, raise_exception=False)
    assert list(report.failures) == [check], report
    return str(report[check])


def with_gradient(lib, kernel, name="foo"):
    """An operator of a library with a kernel for the CPU and a gradient of its own, 2 * g."""
    lib.define(f"{name}(Tensor x) -> Tensor")
    lib.impl(name, kernel, "CPU")
    op = getattr(getattr(dispatch.ops, lib.ns), name)
    dispatch.register_autograd(op, lambda ctx, g: g * 2.0, lib=lib)
    return op


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("checks", ["ALL", ("test_schema", "test_faketensor", "test_vmap")])
def test_aot_autograd_check_degenerate_cases(tracked, checks, ns):
    """Operators with nothing to differentiate pass: copies, outputs without a gradient, no outputs.

    Adapted: the four cases are arguments with and without a gradient, under all checks and under those without gradients.
    """
    copy = custom_op(f"{ns}::copy", lambda x: x.copy(), mutates_args=(), schema="(Tensor x) -> Tensor")
    copy.register_fake(lambda x: np.empty(x.shape, x.dtype))
    copy.register_autograd(lambda ctx, g: g)
    order = custom_op(f"{ns}::order", lambda x: np.argsort(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    order.register_fake(lambda x: np.empty(x.shape, np.intp))
    nothing = custom_op(f"{ns}::nothing", lambda x: None, mutates_args=(), schema="(Tensor x) -> ()")
    for op in (copy, order, nothing):
        report = opcheck(op, (leaf(X) if tracked else X,), test_utils=checks)
        assert not report.failures
        assert report["test_schema"] == "SUCCESS"


def test_incorrect_schema_mutation(lib):
    """A kernel that writes to an argument which the schema does not mark is found, and the argument named."""

    def secretly(x):
        np.sin(x, out=x)
        return x.copy()

    op = with_gradient(lib, secretly)
    message = finding(op, (leaf(X),), "test_schema")
    assert "writes to its argument 'x', and the schema does not say so." in message
    assert "mutates_args=('x',)" in message


def test_incorrect_schema_view(lib):
    """A kernel that returns a view which the schema does not mark is found, and the argument named."""
    op = with_gradient(lib, lambda x: x[...])
    assert "a view of its input 'x'" in finding(op, (leaf(X),), "test_schema")


def test_opcheck_cpu_stride_mismatch(ns):
    """A fake rule with other strides than the kernel is found."""
    op = custom_op(f"{ns}::moved", lambda x: x.copy().transpose(2, 0, 1), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty((x.shape[2], *x.shape[:2]), x.dtype))
    assert "output 0 has strides (128, 32, 8) by the fake rule" in finding(op, (np.ones((4, 4, 3)),), "test_faketensor")


def test_opcheck_unbacked_stride(ns):
    """A fake rule may leave a size open that depends on data, and opcheck does not compare what follows from it.

    Adapted: fake sizes are static, so that the check is skipped by name instead of comparing strides of an unknown size.
    """

    def kernel(x):
        return np.zeros((x.shape[0], 18))

    def rule(x):
        return np.empty((x.shape[0], get_ctx().new_dynamic_size()))

    outcomes = []
    for name, tags in (("tagged", (Tag.dynamic_output_shape,)), ("plain", ())):
        op = custom_op(f"{ns}::{name}", kernel, mutates_args=(), schema="(Tensor x) -> Tensor", tags=tags)
        op.register_fake(rule)
        outcomes.append(str(opcheck(op, (np.zeros((10, 20)),), raise_exception=False)["test_faketensor"]))
    assert outcomes[0] == "SKIPPED: tagged dynamic_output_shape, and the fake rule asks for what depends on data"
    assert outcomes[1] == "SKIPPED: the fake rule says that a size depends on data"


def test_single_element_tuple_output(ns):
    """A tuple of one array stays a tuple of one array, plain and under every layer."""

    @custom_op(f"{ns}::one", mutates_args=())
    def one(x: np.ndarray) -> tuple[np.ndarray]:
        return (x.copy(),)

    one.register_fake(lambda x: (np.empty_like(x),))
    assert str(one.schema) == f"{ns}::one(Tensor x) -> ((Tensor))"
    with dispatch.FakeTensorMode() as mode:
        fake = one(mode.from_array(X))
    for out in (one(X), one(leaf(X)), dispatch.vmap(one)(X[None]), fake):
        assert type(out) is tuple
        assert len(out) == 1
    assert np.array_equal(one(X)[0], X)
    opcheck(one, (X,))


def test_missing_abstract_impl(lib):
    """An operator without a fake rule is found, with the line to add."""
    op = with_gradient(lib, lambda x: x**2)
    assert f"{op.name}: no fake rule says which shapes the outputs" in finding(op, (leaf(X),), "test_faketensor")


def test_incorrect_abstract_impl(lib):
    """A fake rule with another shape than the kernel is found, with both shapes."""
    op = with_gradient(lib, lambda x: x**2)
    lib.impl("foo", lambda x: np.empty((*x.shape, 1)), "Meta")
    message = finding(op, (leaf(X),), "test_faketensor")
    assert "output 0 has shape (3, 1) by the fake rule" in message
    assert "and (3,) by the kernel" in message


def test_missing_functionalization(lib, ops):
    """An operator that writes to its argument and returns it is checked for doing exactly that.

    Differs: functional forms
    """
    lib.define("good(Tensor(a!) x) -> Tensor(a!)", tags=Tag.inplace)
    lib.impl("good", lambda x: np.sin(x, out=x), "CPU")
    assert opcheck(ops.good, (X.copy(),), test_utils="test_schema")["test_schema"] == "SUCCESS"
    lib.define("bad(Tensor(a!) x) -> Tensor(a!)", tags=Tag.inplace)
    lib.impl("bad", np.sin, "CPU")
    message = finding(ops.bad, (X.copy(),), "test_schema")
    assert "returned another array as output 0, and its schema says that it is argument 'x' itself" in message


def tracking_kernel(x):
    """A kernel that makes its own tape, and leaves it."""
    return dispatch.detach(np.sin(leaf(x)) * 0.5)


def test_autograd_registered_at_backend(lib, ops):
    """A gradient that lives in the kernel of a device is found: the operator itself has none."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", tracking_kernel, "CPU")
    message = finding(ops.foo, (leaf(X),), "test_autograd_registration")
    assert f"{ops.foo.name}: 'x' came tracked, and no rule gives the gradient of the kernel" in message


def test_global_state_mutation(lib, ops):
    """An operator whose result depends on what ran before is found; the tolerance is the caller's."""
    calls = [0]

    def kernel(x):
        calls[0] += 1
        return x * (1 + calls[0] % 2)

    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", kernel, "CompositeImplicitAutograd")
    message = finding(ops.foo, (leaf(X),), "test_schema")
    assert "two calls of the kernel" in message
    assert "on equal arguments differ in output 0" in message
    assert opcheck(ops.foo, (leaf(X),), test_utils="test_schema", atol=1e3, rtol=0.01)["test_schema"] == "SUCCESS"


def test_opcheck_fails_basic(ns):
    """An operator with a kernel alone, given a tracked argument, is told everything that it lacks at once."""
    op = custom_op(f"{ns}::foo", lambda x: np.asarray(x.sum()), mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(OpCheckError) as caught:
        opcheck(op, (leaf(X),))
    message = str(caught.value)
    assert message.startswith(f"opcheck of {ns}::foo(x: float64[3]): 2 checks failed.\n")
    assert "no rule gives the gradient" in message
    assert "no fake rule says which shapes" in message


def test_autograd_registration_check_autograd_kernel(lib):
    """A gradient registered with the operator passes."""
    op = with_gradient(lib, np.sin)
    assert opcheck(op, (leaf(X),), test_utils="test_autograd_registration")["test_autograd_registration"] == "SUCCESS"


def test_autograd_registration_check_compositeimplicitautograd(lib, ops):
    """A kernel made of differentiable operators, registered as such, passes: its gradient follows from theirs."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.cos(np.sin(x)), "CompositeImplicitAutograd")
    report = opcheck(ops.foo, (leaf(X),))
    assert (report["test_autograd_registration"], report["test_gradients"]) == ("SUCCESS", "SUCCESS")


def test_autograd_registration_check_incorrect_composite(lib, ops):
    """The same kernel registered as one that computes, CompositeExplicit, is found: it has no gradient."""
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: np.cos(np.sin(x)), "CompositeExplicitAutograd")
    assert "no rule gives the gradient" in finding(ops.foo, (leaf(X),), "test_autograd_registration")


def test_autograd_registration_check_incorrect(lib, ops):
    """A kernel at the key of the tape that gives untracked values is found: the gradient is lost.

    Adapted: torch's entry registers an autograd.Function for a device; here the one way past the tape is a kernel at its key.
    """
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", np.sin, "CPU")
    lib.impl("foo", lambda x: np.sin(x.value), "AUTOGRAD")
    message = finding(ops.foo, (leaf(X),), "test_autograd_registration")
    assert "output 0 comes untracked although 'x' came tracked, so that its gradient is lost in silence" in message


def test_assert_raises_regex(ns):
    """What a kernel raises under a check is quoted with its type and its text, and is the cause.

    Adapted: torch's entry is about its helper for this; here it is a law of the report.
    """

    def kernel(x):
        raise KeyError("no such table")

    op = custom_op(f"{ns}::foo", kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(OpCheckError, match=r"raises KeyError on the sample .*: 'no such table'") as caught:
        opcheck(op, (X,))
    assert isinstance(caught.value.__cause__, KeyError)
    report = opcheck(op, (X,), test_utils="test_vmap", raise_exception=False)
    assert report["test_vmap"] == "SKIPPED: the sample gives no result, see test_schema"
