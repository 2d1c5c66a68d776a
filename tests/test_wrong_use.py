"""Wrong use, and what is said of it: what was asked, what is so, what to do; and nothing of what is inside.

One test an item of the list in the issue. The files of the modules hold the single messages to the letter; here a message
must in any case be short, name operator and argument, and show no name that only this package knows.
"""

import itertools
import re
import traceback

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensorMode, custom_op, grad, ops, vmap
from dispatch.errors import DispatchError

A = np.arange(1.0, 4.0)
SECRET = np.full(3, 87123.0)
_numbers = itertools.count()
SHARED = "Give arrays of one length, or None in in_dims for what all items share."
INSIDES = re.compile(r"0x[0-9a-f]{6}|<function|<lambda>|object at|\b_\w+\(|vectorcall|OpOverload|KernelTable|NoneType|__main__|/dispatch/|\.pyx|87123")


def name():
    return f"wronguse::f{next(_numbers)}"


def said(call, error=DispatchError):
    """The message of a refusal, once it is held to the laws of all messages."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert isinstance(caught.value, DispatchError)
    assert 1 <= len(message.splitlines()) <= 4
    assert message[-1] in ".?" or "\n" in message
    assert not INSIDES.search(message), message
    assert isinstance(caught.value.__cause__, (NameError, type(None)))
    shown = "".join(traceback.format_exception(caught.value))
    assert "During handling of the above exception" not in shown
    return message


def define(kernel, schema, **rules):
    op = custom_op(name(), kernel, mutates_args=(), schema=schema)
    for verb, rule in rules.items():
        getattr(op, f"register_{verb}")(rule)
    return op


# -- hints -----------------------------------------------------------------------------------------------------------------


def test_no_type_hint():
    def bare(x, factor):
        return x * factor

    def half(x: np.ndarray, factor=2.0) -> np.ndarray:
        return x * factor

    def no_result(x: np.ndarray):
        return x

    message = said(lambda: custom_op("wronguse::bare", bare, mutates_args=()), TypeError)
    assert message.startswith("wronguse::bare: parameter 'x' has no type hint.")
    assert "np.ndarray, " in message
    assert "`x: np.ndarray`" in message
    assert said(lambda: custom_op("wronguse::half", half, mutates_args=())).startswith(
        "wronguse::half: parameter 'factor' has no type hint."
    )
    message = said(lambda: custom_op("wronguse::no_result", no_result, mutates_args=()))
    assert message.startswith("wronguse::no_result: the return has no type hint")
    assert "-> np.ndarray" in message


@pytest.mark.parametrize(
    ("hint", "shown"), [(set, "set"), (list, "list"), (list[set], "set"), (object, "object"), (dict[str, set], "set"), ("Unknwon", "Unknwon")]
)
def test_a_hint_that_is_not_known(hint, shown):
    def f(x: np.ndarray, option: hint) -> np.ndarray:
        return x

    message = said(lambda: custom_op("wronguse::f", f, mutates_args=()), TypeError)
    assert message.startswith("wronguse::f: parameter 'option'")
    assert shown in message


def test_a_result_hint_that_is_not_known():
    def f(x: np.ndarray) -> set:
        return x

    message = said(lambda: custom_op("wronguse::f", f, mutates_args=()), TypeError)
    assert message.startswith("wronguse::f: the return")
    assert "set" in message


# -- calls -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scale():
    def scale(x: np.ndarray, factor: float = 2.0, *, shift: float = 0.0) -> np.ndarray:
        return x * factor + shift

    return custom_op("wronguse::scale", scale, mutates_args=())


CALL = "wronguse::scale(x, factor, shift)"
BY_POSITION = "wronguse::scale(x, factor, *, shift)"
CALLS = [
    ("list", lambda f: f([1.0, 2.0]), "wronguse::scale: argument 'x' is Tensor, and was given a list of length 2. Write np.asarray(...) around it."),
    ("nested list", lambda f: f([[87123.0]]), "wronguse::scale: argument 'x' is Tensor, and was given a list of length 1. Write np.asarray(...) around it."),
    ("tuple", lambda f: f((1.0,)), "wronguse::scale: argument 'x' is Tensor, and was given a tuple of length 1. Write np.asarray(...) around it."),
    ("list by keyword", lambda f: f(x=[1.0]), "wronguse::scale: argument 'x' is Tensor, and was given a list of length 1. Write np.asarray(...) around it."),
    ("array for a number", lambda f: f(A, SECRET), "wronguse::scale: argument 'factor' is float, and was given an ndarray of shape (3,) and dtype float64. Hint the parameter `factor: np.ndarray` if it may be an array."),
    ("text for a number", lambda f: f(A, "87123"), "wronguse::scale: argument 'factor' is float, and was given a str. Write float(factor)."),
    ("none", lambda f: f(), f"{CALL}: 'x' must be given."),
    ("keywords alone", lambda f: f(factor=2.0), f"{CALL}: 'x' must be given."),
    ("too many", lambda f: f(A, 2.0, 3.0), f"{BY_POSITION} takes 2 by position and was given 3. Name the others: shift=..."),
    ("far too many", lambda f: f(*[A] * 30), f"{BY_POSITION} takes 2 by position and was given 30. Name the others: shift=..."),
    ("unknown", lambda f: f(A, scale=2.0), f"{CALL} has no argument 'scale'."),
    ("misspelt", lambda f: f(A, factr=2.0), f"{CALL} has no argument 'factr'. Did you mean 'factor'?"),
    ("doubled", lambda f: f(A, 2.0, factor=3.0), f"{CALL}: 'factor' was given twice, by position and by keyword."),
    ("doubled array", lambda f: f(A, x=A), f"{CALL}: 'x' was given twice, by position and by keyword."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_a_list_for_an_array_and_too_few_too_many_unknown_and_doubled_arguments(call, message, scale):
    assert said(lambda: call(scale), TypeError) == message


LAYERS = {
    "vmap": lambda call: vmap(lambda x: call(x))(np.ones((2, 3))),
    "tape": lambda call: call(dispatch.tensor(A, requires_grad=True)),
    "grad": lambda call: grad(lambda x: call(x))(A),
    "fake": lambda call: call(FakeTensorMode().from_array(A)),
}


@pytest.mark.parametrize("under", LAYERS.values(), ids=LAYERS)
def test_the_same_is_said_under_every_layer(under, scale):
    assert said(lambda: under(lambda x: scale(x, 2.0, 3.0))) == f"{BY_POSITION} takes 2 by position and was given 3. Name the others: shift=..."
    assert said(lambda: under(lambda x: scale(x, factr=2.0))).endswith("Did you mean 'factor'?")
    assert said(lambda: under(lambda x: scale([x]))).endswith("given a list of length 1. Write np.stack(...) around it.")


# -- kernels ---------------------------------------------------------------------------------------------------------------

KERNELS = [
    ("None", lambda x: None, "(Tensor x) -> Tensor", "returned None, and its schema says Tensor."),
    ("None for two", lambda x: None, "(Tensor x) -> (Tensor, Tensor)", "returned None, and its schema says 2: return a tuple of 2."),
    ("None in two", lambda x: (x + 1, None), "(Tensor x) -> (Tensor, Tensor)", "returned None as output 1, and its schema says Tensor."),
    ("input", lambda x: x, "(Tensor x) -> Tensor", "returned its input 'x' itself. Return a copy, or declare it"),
    ("input as output 1", lambda x: (x + 1, x), "(Tensor x) -> (Tensor, Tensor)", "returned its input 'x' itself. Return a copy, or declare it"),
    ("view", lambda x: x[::-1], "(Tensor x) -> Tensor", "returned a view of its input 'x'. Return a copy, or declare it"),
    ("reshaped", lambda x: x.reshape(3, 1), "(Tensor x) -> Tensor", "returned a view of its input 'x'. Return a copy, or declare it"),
    ("view in a list", lambda x: [x[:1]], "(Tensor x) -> Tensor[]", "returned a view of its input 'x'. Return a copy, or declare it"),
    ("one too few", lambda x: (x + 1,), "(Tensor x) -> (Tensor, Tensor)", "returned 1 output, and its schema says 2: return a tuple of 2."),
    ("one too many", lambda x: (x + 1, x + 2), "(Tensor x) -> Tensor", "returned a tuple of length 2, and its schema says Tensor."),
    ("three for two", lambda x: (x + 1,) * 3, "(Tensor x) -> (Tensor, Tensor)", "returned 3 outputs, and its schema says 2: return a tuple of 2."),
    ("list", lambda x: [1.0], "(Tensor x) -> Tensor", "returned a list of length 1, and its schema says Tensor."),
    ("something for nothing", lambda x: 3, "(Tensor x) -> ()", "returned an int, and its schema says -> (). Return None, or hint the result."),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "schema", "message"), [case[1:] for case in KERNELS], ids=[case[0] for case in KERNELS])
def test_a_kernel_that_returns_none_its_input_a_view_or_the_wrong_number_of_outputs(kernel, schema, message):
    op = define(kernel, schema)
    for call in (lambda: op(A), lambda: op(x=SECRET), lambda: op(dispatch.tensor(A, requires_grad=True))):
        found = said(call, TypeError)
        assert found.startswith(f"{op.name}: the kernel test_wrong_use.py:")
        assert message in found


# -- names -----------------------------------------------------------------------------------------------------------------

NAMES = [
    ("operator", lambda: ops.wronguse.scael, "there is no operator wronguse::scael. Did you mean 'scale'?"),
    ("operator of np", lambda: ops.np.sine, "there is no operator np::sine. Did you mean 'sin'"),
    ("namespace", lambda: ops.wrongues, "there is no namespace 'wrongues'. Did you mean 'wronguse'?"),
    ("namespace of a name", lambda: dispatch.register_fake("wrongus::scale", lambda x: x), "there is no namespace 'wrongus'. Did you mean 'wronguse'?"),
    ("operator of a name", lambda: dispatch.register_vmap("wronguse::scal", lambda x: x), "there is no operator wronguse::scal. Did you mean 'scale'?"),
    ("overload", lambda: ops.wronguse.scale.defualt, "wronguse::scale has no attribute 'defualt'."),
    ("layer", lambda: ops.wronguse.scale.register_autogrd(len), "there is no layer named 'autogrd', so no register_autogrd. Did you mean 'autograd'? Layers: "),
    ("layer vmap", lambda: ops.wronguse.scale.register_vmp(len), "there is no layer named 'vmp', so no register_vmp. Did you mean 'vmap'? Layers: "),
    ("device", lambda: ops.wronguse.scale.register_kernel("cupy")(len), "there is no device 'cupy'. Devices: "),
]  # fmt: skip


@pytest.mark.parametrize(("look", "message"), [case[1:] for case in NAMES], ids=[case[0] for case in NAMES])
def test_a_misspelt_operator_namespace_or_layer(look, message, scale):
    if message.startswith("wronguse::scale has no attribute"):
        with pytest.raises(AttributeError) as caught:
            look()
        assert str(caught.value).startswith(message)
    else:
        assert said(look, (AttributeError, ValueError)).startswith(message)


# -- rules -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        (lambda x, f, shift: x, "x, f, shift"),
        (lambda x: x, "x"),
        (lambda factor, x, shift: x, "factor, x, shift"),
        (lambda x, factor: x, "x, factor"),
        (lambda x, factor, shift, more: x, "x, factor, shift, more"),
        (lambda: None, ""),
    ],
)
def test_a_fake_rule_whose_parameter_names_differ(rule, names, scale):
    assert said(lambda: scale.register_fake(rule), ValueError) == (
        f"wronguse::scale: the fake rule takes ({names}), and the operator (x, factor, shift). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order."
    )


GRADIENTS = [
    ("one for two", lambda g: g, "its backward returned 1 gradient, and the operator has 2 arguments (x, y). Return one for each, None for those without."),
    ("three for two", lambda g: (g, g, None), "its backward returned 3 gradients, and the operator has 2 arguments (x, y). Return one for each, None for those without."),
    ("none for two", lambda g: (), "its backward returned 0 gradients, and the operator has 2 arguments (x, y). Return one for each, None for those without."),
    ("shorter", lambda g: (g[:2], g), "its backward gave a gradient of shape (2,) for argument 'x', which has shape (3,)."),
    ("longer", lambda g: (g, np.concatenate([g, g])), "its backward gave a gradient of shape (6,) for argument 'y', which has shape (3,)."),
    ("smaller", lambda g: (g, np.sum(g)), "its backward gave a gradient of shape () for argument 'y', which has shape (3,)."),
    ("another axis", lambda g: (np.ones((3, 2)), g), "its backward gave a gradient of shape (3, 2) for argument 'x', which has shape (3,)."),
    ("text", lambda g: ("text", g), "its backward gave a str for argument 'x'. Return an array, or None where there is no gradient."),
]  # fmt: skip


@pytest.mark.parametrize(("result", "message"), [case[1:] for case in GRADIENTS], ids=[case[0] for case in GRADIENTS])
def test_a_backward_with_the_wrong_number_of_gradients_or_a_wrong_shape(result, message):
    op = define(lambda x, y: x * y, "(Tensor x, Tensor y) -> Tensor", autograd=lambda ctx, g: result(g))
    for call in (
        lambda: grad(lambda x, y: np.sum(op(x, y)), (0, 1))(A, SECRET),
        lambda: np.sum(op(dispatch.tensor(A, requires_grad=True), dispatch.tensor(A, requires_grad=True))).backward(),
    ):
        assert said(call, RuntimeError).startswith(f"{op.name}: {message}")


def test_a_gradient_asked_of_an_operator_without_a_rule():
    op = define(lambda x: x * 2, "(Tensor x) -> Tensor")
    message = (
        f"a gradient was asked of {op.name}, which has no derivative. Add one: {op.schema.name}.register_autograd("
        "backward, setup_context=...); or write dispatch.detach(...) around the call to make it a constant."
    )
    x = dispatch.tensor(A, requires_grad=True)
    for call in (
        lambda: np.sum(op(x)).backward(),
        lambda: np.sum(np.sin(op(np.cos(x)))).backward(),
        lambda: grad(lambda x: np.sum(op(x)))(SECRET),
        lambda: vmap(grad(lambda x: np.sum(op(x))))(np.ones((2, 3))),
        lambda: grad(lambda x: np.sum(vmap(op)(x)))(np.ones((2, 3))),
    ):
        assert said(call, NotImplementedError) == message


SIZES = [
    ("two arguments", lambda: vmap(np.add)(np.ones((3, 2)), np.ones((4, 2))), "argument 0 has 3 along axis 0; argument 1 has 4 along axis 0."),
    ("two axes", lambda: vmap(np.add, in_dims=(0, 1))(np.ones((3, 2)), np.ones((3, 2))), "argument 0 has 3 along axis 0; argument 1 has 2 along axis 1."),
    ("in a list", lambda: vmap(lambda xs: xs[0])([np.ones(3), np.ones(2)]), "argument 0[0] has 3 along axis 0; argument 0[1] has 2 along axis 0."),
    ("in a dict", lambda: vmap(lambda xs: xs["a"])({"a": np.ones(3), "b": np.ones(2)}), "argument 0['a'] has 3 along axis 0; argument 0['b'] has 2 along axis 0."),
    ("one item", lambda: vmap(np.add)(np.ones((3, 2)), np.ones((1, 2))), "argument 0 has 3 along axis 0; argument 1 has 1 along axis 0."),
    ("no items", lambda: vmap(np.add)(np.ones((3, 2)), np.ones((0, 2))), "argument 0 has 3 along axis 0; argument 1 has 0 along axis 0."),
    ("inner", lambda: vmap(lambda x: vmap(np.add)(x, np.ones(4)))(np.ones((2, 3))), "argument 0 has 3 along axis 0; argument 1 has 4 along axis 0."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in SIZES], ids=[case[0] for case in SIZES])
def test_mapped_sizes_that_differ(call, message):
    assert said(call, ValueError) == f"vmap: the mapped axes differ in length: {message} {SHARED}"
