"""A program of autograd changes its imports and nothing else: each runs with both, and computes the same."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
from autograd_programs import PROGRAMS

import dispatch
from dispatch import Tensor
from dispatch.core.pytree import leaves
from dispatch.errors import ConversionError, DefinitionError, GradcheckError, GradientError, NoRuleError, UnsupportedError
from dispatch.interop import autograd as ours
from dispatch.interop.autograd import extend, grad, jacobian, make_jvp, misc, test_util
from dispatch.interop.autograd import numpy as anp
from dispatch.interop.autograd.extend import defjvp, defvjp, defvjp_argnums, notrace_primitive, primitive, vspace


def computed(text):
    found = {}
    exec(compile(text, "<a program>", "exec"), found)
    return found["results"]


@pytest.mark.autograd
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_computes_the_same_with_its_imports_changed(text):
    pytest.importorskip("scipy")
    found, expected = computed(text.replace("autograd", "dispatch.interop.autograd")), computed(text)
    same(found, expected)


def same(found, expected, path="results"):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key in expected:
            same(found[key], expected[key], f"{path}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected), (path, type(found), type(expected))
        assert len(found) == len(expected), path
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            same(x, y, f"{path}[{i}]")
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        assert np.shape(found) == np.shape(expected), path
        assert isinstance(found, np.ndarray) == (np.ndim(expected) > 0), path  # without axes ours are scalars, autograd's now this, now that
        assert np.asarray(found).dtype == np.asarray(expected).dtype, path
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=path)
    else:
        assert found == expected, path


@pytest.mark.autograd
def test_every_name_of_autograd_is_here_or_refused_with_what_to_write():
    import autograd
    import autograd.extend
    import autograd.misc.flatten
    import autograd.misc.optimizers
    import autograd.test_util

    modules = {"autograd", "builtins", "core", "differential_operators", "extend", "misc", "numpy", "scipy", "test_util", "tracer", "util", "wrap_util"}
    assert {name for name in vars(autograd) if not name.startswith("_")} - modules <= set(vars(ours))
    for name in ("primitive", "notrace_primitive", "defvjp", "defjvp", "defvjp_argnum", "defvjp_argnums", "defjvp_argnum", "defjvp_argnums", "def_linear", "vspace", "VSpace"):
        assert name in vars(extend)
    for name in set(vars(autograd.extend)) - set(vars(extend)):
        if not name.startswith("_"):
            with pytest.raises(UnsupportedError, match=rf"autograd\.extend\.{name} is a part of how autograd traces, and is not offered here\. "):
                getattr(extend, name)
    assert {"check_grads", "combo_check"} <= set(vars(test_util))
    assert {"sgd", "rmsprop", "adam"} <= set(vars(misc.optimizers))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        extend.nothing


def test_no_value_of_a_transform_is_left_behind():
    for text in PROGRAMS.values():
        if "scipy" not in text:
            found = computed(text.replace("autograd", "dispatch.interop.autograd"))
            assert not any(isinstance(x, Tensor) for x in leaves(found))


@pytest.mark.parametrize("module", [m.name for m in pkgutil.walk_packages(ours.__path__, f"{ours.__name__}.", onerror=lambda name: None)])
def test_the_examples_run(module):
    if ".scipy" in module:
        pytest.importorskip("scipy")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(module), extraglobs={"np": np}, optionflags=flags).failed == 0


# -- functions and operators that are compared one by one ------------------------------------------------------------------

X, Y, Z = np.array([0.5, -1.25, 2.0]), np.array([[1.0, 2.0, 3.0], [0.5, 0.25, -1.0]]), np.array([1.0 + 2.0j, -0.5j, 0.25])
FUNCTIONS = {
    "scalar": (lambda np, x, y: np.sum(np.sin(x) * y), (X, Y)),
    "vector": (lambda np, x, y: np.dot(y, x**2), (X, Y)),
    "one element": (lambda np, x, y: np.array([[np.sum(x * y)]]), (X, Y)),
    "numbers": (lambda np, x, y: x * y**2, (2.0, 3.0)),
    "complex": (lambda np, x, y: np.sum(np.abs(x * y) ** 2), (Z, Z + 1.0)),
    "complex result": (lambda np, x, y: np.sum(x**2 * y), (Z, Z + 1.0)),
    "independent": (lambda np, x, y: np.sum(y) * 1.0, (X, Y)),
}
REAL_ONLY = {"jacobian", "hessian", "elementwise_grad", "deriv", "make_hvp"}


def outcome(package, name, key):
    f, args = FUNCTIONS[key]
    numpy = importlib.import_module(f"{package}.numpy")
    derive = getattr(importlib.import_module(package), name)
    found = []
    for argnum in (0, 1):
        made = derive(lambda x, y: f(numpy, x, y), argnum)
        if name == "make_vjp":
            pull, value = made(*args)
            found.append((pull(1j * value if key.startswith("complex") and np.iscomplexobj(value) else np.ones_like(value)), value))
        elif name == "make_jvp":
            found.append(made(*args)(args[argnum] * 0.5))
        elif name == "make_hvp":
            found.append(made(*args)[0](args[argnum] * 0.5))
        else:
            found.append(made(*args))
    return found


@pytest.mark.autograd
@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("key", FUNCTIONS)
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "make_vjp", "make_jvp", "jacobian", "hessian", "elementwise_grad", "deriv", "make_hvp"])
def test_a_derivative_is_autograds(name, key):
    if name in REAL_ONLY and key.startswith("complex"):
        pytest.skip("of real numbers")
    try:
        expected = outcome("autograd", name, key)
    except (TypeError, ValueError, AssertionError):
        if name in ("grad", "value_and_grad", "make_hvp", "hessian"):
            with pytest.raises((GradientError, ValueError)):
                outcome("dispatch.interop.autograd", name, key)
        return
    same(outcome("dispatch.interop.autograd", name, key), expected)


# -- primitives ------------------------------------------------------------------------------------------------------------


@primitive
def doubled(x, *, by=2.0):
    return by * x


def test_what_is_not_defined_is_named():
    with pytest.raises(NoRuleError) as caught:
        grad(doubled)(1.0)
    assert str(caught.value).partition("\n")[0] == "VJP of doubled by argument 0 is not defined. Write defvjp(doubled, ...)."
    two = primitive(np.arctan2)
    defvjp(two, None)
    assert grad(lambda x: two(x, 1.0))(0.5) == 0.0
    with pytest.raises(NoRuleError, match=r"VJP of arctan2 by argument 1 is not defined\. Write defvjp\(arctan2, \.\.\.\)\."):
        grad(lambda x: two(x, x))(0.5)
    defjvp(two, None)
    with pytest.raises(NoRuleError, match=r"JVP of arctan2 by argument 1 is not defined\. Write defjvp\(arctan2"):
        make_jvp(lambda x: two(x, x))(0.5)(1.0)
    assert make_jvp(lambda x: two(x, 1.0))(0.5)(1.0)[1] == 0.0


def test_a_value_by_keyword_is_refused_beside_one_by_position():
    with pytest.raises(ConversionError) as caught:
        grad(lambda x: doubled(x, by=x))(1.0)
    assert str(caught.value) == (
        "the primitive doubled was called with a TrackedTensor for 'by', by keyword, and has derivatives by positional arguments only. "
        "Give it by position."
    )
    assert grad(lambda x: doubled(3.0, by=x))(1.0) == 3.0  # without one by position the function is called as it is


def test_rules_that_return_another_structure_are_refused():
    pair = primitive(lambda x: (x, x + 1.0))
    defvjp_argnums(pair, lambda argnums, ans, args, kwargs: lambda g: [[g[0], g[1]]])
    defjvp(pair, lambda g, ans, x: g)
    with pytest.raises(GradientError) as caught:
        grad(lambda x: pair(x)[0])(np.ones(()))
    assert str(caught.value).partition("\n")[0] == (
        "the vjp of <lambda> for argument 0 returned a list, and the argument is an ndarray of another structure. Return one gradient for "
        "each array in it."
    )
    with pytest.raises(GradientError, match=r"the jvp of <lambda> returned an? \w+, and the function a tuple of another structure\. Return one tangent for each"):
        make_jvp(lambda x: pair(x)[0])(1.0)(1.0)


def test_definitions_that_are_none_are_refused():
    with pytest.raises(DefinitionError) as caught:
        defvjp(np.sin, lambda ans, x: lambda g: g)
    assert str(caught.value) == (
        "defvjp takes what primitive returned, and was given a ufunc. Write @primitive above the function; NumPy's own functions have "
        "their derivatives here."
    )
    with pytest.raises(DefinitionError) as caught:
        defvjp(primitive(np.sin), "same")
    assert str(caught.value) == "a VJP of sin was given as 'same'. It is a function or None."
    with pytest.raises(DefinitionError) as caught:
        defjvp(primitive(np.sin), "other")
    assert str(caught.value) == "a JVP of sin was given as 'other'. It is a function, None, or 'same'."


def test_a_primitive_may_return_its_argument_and_be_a_method():
    class Model:
        @primitive
        def scaled(self, x):
            return x

    defvjp(Model.scaled, lambda ans, model, x: lambda g: 10.0 * g, argnums=(1,))
    x = np.ones(2)
    assert Model().scaled(x) is x
    np.testing.assert_array_equal(grad(lambda x: np.sum(Model().scaled(x)))(x), [10.0, 10.0])
    np.testing.assert_array_equal(x, 1.0)


def test_a_primitive_runs_once_for_each_item_and_without_a_warning(recwarn):
    seen = []

    @primitive
    def cube(x):
        assert type(x) is np.ndarray
        seen.append(x.shape)
        return x**3

    defvjp(cube, lambda ans, x: lambda g: 3.0 * cube(x) / x * g)
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(jacobian(cube)(x), np.diag(3 * x**2))
    np.testing.assert_allclose(ours.hessian(lambda x: np.sum(cube(x)))(x), np.diag(6 * x))
    np.testing.assert_allclose(dispatch.vmap(cube)(np.stack([x, 2 * x])), np.stack([x**3, 8 * x**3]))
    assert {shape for shape in seen if shape} == {(3,)}
    assert not recwarn.list


def test_a_notrace_primitive_gets_values_and_gives_constants():
    count = notrace_primitive(lambda x: float(np.asarray(x).sum()))
    assert grad(lambda x: np.sum(x) * count(x))(np.ones(3)).tolist() == [3.0, 3.0, 3.0]


def test_a_wrong_derivative_is_found():
    wrong = primitive(np.sin)
    defvjp(wrong, lambda ans, x: lambda g: g * x)
    with pytest.raises(GradcheckError, match=r"^Derivative \(VJP\) check of sin failed: along a direction it is .*, and differences give "):
        test_util.check_grads(wrong, modes=["rev"])(X)
    with pytest.raises(AssertionError, match=r"^Derivative \(JVP\) check of sin failed: along a direction it is .*, and differences give "):
        test_util.check_grads(wrong, modes=["fwd"])(X)


def test_the_functions_that_numpy_hands_to_nobody_take_values_of_transforms():
    assert grad(lambda x: np.sum(anp.array([[x, 2.0], [3.0, x]]) ** 2))(1.5) == 6.0
    assert grad(lambda x: np.sum(anp.asarray(x) * anp.asarray([x[0], 1.0])))(np.array([2.0, 3.0])).tolist() == [4.0, 1.0]
    assert grad(lambda x: np.sum(anp.full((2, 3), x)))(1.0) == 6.0
    assert anp.array([1, 2], dtype=float).dtype == float
    assert grad(lambda x: np.sum(anp.array(x, dtype=np.float64)))(np.ones(1)).tolist() == [1.0]
    assert anp.linalg.qr is dispatch.numpy.linalg.qr
    assert (anp.random.RandomState, anp.__version__) == (np.random.RandomState, np.__version__)
    assert anp.fft.fft is np.fft.fft
    assert {"sin", "array", "linalg"} <= set(dir(anp))


def test_the_space_of_a_value():
    vs = vspace({"a": X, "b": [1.0, Z]})
    assert (vs.size, vs.iscomplex, vs == vspace({"a": X, "b": [2.0, Z]}), vs == vspace(X)) == (10, True, True, False)
    assert repr(vspace(X)) == "VSpace(float64[3])"
    assert vspace(Y).ndim == 2
    drawn = vs.randn()
    assert vs == vspace(drawn)
    twice = vs.add(drawn, drawn)
    same(twice, vs.scalar_mul(drawn, 2.0))
    assert vs.inner_prod(drawn, drawn) > 0
