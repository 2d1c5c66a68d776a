"""MiniOpTest and MiniOpTestOther: a small suite of tests, which runs as it is and once more under every check of opcheck."""

import numpy as np
import pytest
from making import leaf

import dispatch
from dispatch import FakeTensorMode, Tag, custom_op, register_autograd
from dispatch.errors import AliasError, OpCheckError
from dispatch.testing import dont_generate_opcheck_tests, generate_opcheck_tests
from dispatch.testing.kernel_runs import past_first_call
from dispatch.testing.operator_checks import ALL

X = np.array([0.5, 1.0, 2.0])
A, B = np.arange(6.0).reshape(2, 3) + 0.5, np.arange(15.0).reshape(3, 5) + 0.5


def failures(test, *namespaces):
    """Run a test as it is, then under every check; what each check that fails says."""

    class TestIt:
        def test_it(self):
            test()

    TestIt().test_it()
    generate_opcheck_tests(TestIt, namespaces)
    found = {}
    for util in ALL:
        try:
            getattr(TestIt(), f"{util}__test_it")()
        except OpCheckError as error:
            found[util] = str(error)
    return found


@pytest.fixture
def no_abstract(lib, ops):
    """An operator with a kernel alone."""
    lib.define("no_abstract(Tensor x) -> Tensor")
    lib.impl("no_abstract", lambda x: x.copy(), "CPU")
    return ops.no_abstract


@pytest.fixture
def delayed_error(lib, ops):
    """An operator whose backward raises."""

    def backward(ctx, g):
        raise NotImplementedError

    lib.define("delayed_error(Tensor x) -> Tensor")
    lib.impl("delayed_error", lambda x: x.copy(), "CompositeExplicitAutograd")
    register_autograd(ops.delayed_error, backward, lib=lib)
    return ops.delayed_error


@pytest.fixture
def incorrect_schema(ns):
    """An operator that writes to its argument, and does not say so; its first call, which raises for that, is behind it."""

    def kernel(x):
        x += 1.0
        return x.copy()

    op = custom_op(f"{ns}::incorrect_schema", kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(AliasError, match="writes to its argument 'x'"):
        op(X.copy())
    past_first_call(op)
    return op


@pytest.fixture
def nonzero(ns):
    @custom_op(f"{ns}::nonzero", mutates_args=(), tags=Tag.dynamic_output_shape)
    def nonzero(x: np.ndarray) -> np.ndarray:
        return np.argwhere(x)

    @nonzero.register_fake
    def _(x):
        return np.empty((dispatch.library.get_ctx().new_dynamic_size(), x.ndim), np.intp)

    return nonzero


def test_dont_generate(incorrect_schema, ns):
    """A test that is left out runs as it is, and no check is made of it.

    Differs: aliases of library operators
    """

    class TestIt:
        @dont_generate_opcheck_tests("it is wrong on purpose")
        def test_it(self):
            return incorrect_schema(X.copy())

    generate_opcheck_tests(TestIt, [ns])
    assert [name for name in vars(TestIt) if "test_it" in name] == ["test_it"]
    assert np.array_equal(TestIt().test_it(), X + 1.0)
    plain = custom_op(f"{ns}::plain", lambda x: x[:], mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(AliasError, match="returned a view of its input 'x'"):
        plain(X)


def test_mm():
    """A product of matrices passes every check, as it does on tracked arrays."""

    def test():
        assert np.array_equal(dispatch.ops.np.matmul(A, B), A @ B)
        assert np.array_equal(dispatch.ops.np.matmul(leaf(A), B).value, A @ B)

    assert failures(test, "np") == {}


def test_mm_meta():
    """A test on fakes outside their mode is let through: there is no data to vary.

    Adapted: an array without data is a fake, not a device.
    """

    def test():
        mode = FakeTensorMode()
        assert dispatch.ops.np.matmul(mode.from_array(A), mode.from_array(B)).shape == (2, 5)

    assert failures(test, "np") == {}


def test_mm_fake():
    """A test inside a mode of fakes is let through."""

    def test():
        with FakeTensorMode() as mode:
            assert dispatch.ops.np.matmul(mode.from_array(A), mode.from_array(B)).shape == (2, 5)

    assert failures(test, "np") == {}


def test_mm_errors():
    """A test of what a call raises sees the call's own exception under every check."""

    def test():
        with pytest.raises(ValueError, match="matmul"):
            dispatch.ops.np.matmul(A, A)

    assert failures(test, "np") == {}


def test_nonzero(nonzero, ns):
    """An operator whose shape depends on data, and says so, passes every check that can be made of it."""

    def test():
        assert np.array_equal(nonzero(np.array([0, 1, 2, 0, 0])), [[1], [2]])

    assert failures(test, ns) == {}


def test_inplace(ns):
    """An operator that writes to its argument, and says so, is checked on copies: the test sees one write.

    Adapted: the check of writes is the one that is looked at.
    """
    sin_ = custom_op(
        f"{ns}::sin_", lambda x: np.sin(x, out=x), mutates_args=("x",), schema="(Tensor(a!) x) -> Tensor(a!)", tags=Tag.inplace
    )

    def test():
        x = X.copy()
        assert sin_(x) is x
        assert np.array_equal(x, np.sin(X))

    assert "test_schema" not in failures(test, ns)


def test_incorrect_schema(incorrect_schema, ns):
    """A schema that does not say what is written fails the check of schemas.

    Differs: aliases of library operators
    """
    found = failures(lambda: incorrect_schema(X.copy()), ns)
    assert "test_schema" in found
    assert "writes to its argument 'x', and the schema does not say so" in found["test_schema"]
    plain = custom_op(f"{ns}::plain", lambda x: x[:], mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(AliasError, match="returned a view of its input 'x'"):
        plain(X)


def test_no_abstract(no_abstract, ns):
    """An operator without a fake rule passes as a test, and fails the check of fakes alone."""
    found = failures(lambda: no_abstract(X), ns)
    assert list(found) == ["test_faketensor"]
    assert "no fake rule says which shapes" in found["test_faketensor"]
    assert f"dispatch.testing.opcheck(dispatch.ops.{ns}.no_abstract, " in found["test_faketensor"]


def test_delayed_error(delayed_error, ns):
    """A backward that raises fails the check of gradients, and no other for that reason."""

    def test():
        out = delayed_error(leaf(X))
        with pytest.raises(NotImplementedError):
            out.sum().backward()

    found = failures(test, ns)
    assert list(found) == ["test_faketensor", "test_gradients"]
    assert "raises NotImplementedError" in found["test_gradients"]


def test_delayed_error_no_requires_grad(delayed_error, ns):
    """On untracked arrays its gradient is not looked at."""
    found = failures(lambda: delayed_error(X), ns)
    assert list(found) == ["test_faketensor"]


def test_nonzero_again(nonzero, ns):
    """Of two classes with tests of one operator, a file of what is known says for each test whether it fails."""

    class TestOne:
        def test_it(self):
            assert np.array_equal(nonzero(np.array([0, 1, 2, 0, 0])), [[1], [2]])

    class TestOther:
        test_it = TestOne.test_it

    for cls in (TestOne, TestOther):
        generate_opcheck_tests(cls, [ns])
        for util in ALL:
            getattr(cls(), f"{util}__test_it")()
        assert getattr(cls, f"{ALL[0]}__test_it").__qualname__.endswith(f"{cls.__name__}.{ALL[0]}__test_it")
