"""The message of a refused call, held against Python's own binding and against the compiled checks that refused it."""

import inspect
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hint_table import Colour, Heir, Layer, State
from hypothesis import given
from hypothesis import strategies as st
from making import leaf, made

import dispatch
from dispatch import DispatchKey, Residual, custom_op, ops
from dispatch.core import device_of
from dispatch.core.source import where
from dispatch.dispatcher import call_errors
from dispatch.errors import AliasError, ArgumentError, DeviceMismatchError, OutputError
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.arange(3.0)
_numbers = itertools.count()


def define(kernel, schema, **options):
    return custom_op(f"calltests::op{next(_numbers)}", kernel, **{"mutates_args": (), "schema": schema, **options})


# -- the two twins ---------------------------------------------------------------------------------------------------------

KINDS = [inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY]


@st.composite
def signatures(draw):
    """A Python signature without annotations, and the operator whose schema says the same."""
    kinds = sorted(draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5)))
    defaults = draw(st.integers(0, len(kinds)))
    parameters, text, written = [], [], set()
    for i, kind in enumerate(kinds):
        required = (kind is not KINDS[2] and i < defaults) or (kind is KINDS[2] and draw(st.booleans()))
        default = inspect.Parameter.empty if required else i
        parameters.append(inspect.Parameter("abcde"[i], kind, default=default))
        if kind is KINDS[2] and "*" not in written:
            text.append("*")
            written.add("*")
        text.append(f"int {'abcde'[i]}" + ("" if required else f"={i}"))
        if kind is KINDS[0] and (i + 1 == len(kinds) or kinds[i + 1] is not KINDS[0]):
            text.append("/")
    return inspect.Signature(parameters), ", ".join(text)


def operator_of(signature, text):
    def kernel(*args, **keywords):
        return [*args, *keywords.values()]

    kernel.__signature__ = signature
    return define(kernel, f"({text}) -> int[]")


@given(signatures(), st.data())
def test_a_call_is_bound_as_python_binds_it(found, data):
    signature, text = found
    op = operator_of(signature, text)
    count = data.draw(st.integers(0, len(signature.parameters) + 1))
    args = tuple(range(10, 10 + count))
    names = data.draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=5))
    keywords = {name: 20 + i for i, name in enumerate(names)}
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError:
        refusal = call_errors.misfit(op.definition, args, keywords)
        assert isinstance(refusal, ArgumentError)
        with pytest.raises(ArgumentError) as caught:
            op(*args, **keywords)
        assert str(caught.value) == str(refusal)
    else:
        bound.apply_defaults()
        assert call_errors.misfit(op.definition, args, keywords) is None
        assert op(*args, **keywords) == [bound.arguments[name] for name in signature.parameters]


VALUES = [
    None, True, 3, 2.5, 1j, "text", b"bytes", np.bool_(True), np.int8(3), np.float32(2.5), np.complex64(1j), np.dtype("f4"),
    np.float32, float, str, len, range(2), A, A.astype("i4"), A[0], A.view(np.matrix), [A], (A, A), [A, 3], [1, 2], (1, 2, 3),
    [True], [1.0], ["a"], {"a": 1}, {"a": A}, object(), State(A), State(1.0), Heir(A), Layer(A, A), [Layer(A, A)], Colour.RED,
]  # fmt: skip
TYPES = [
    "Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "int?", "int[]", "int[2]", "float", "float[]", "complex", "bool",
    "str", "str[]", "bytes", "Scalar", "Scalar?", "ScalarType", "Device", "Any", "Callable", "(Tensor, int)", "Dict(str, int)",
    "Literal['text', 3]", "Literal[True]?", "hint_table.State", "hint_table.Colour", "hint_table.Layer[]", "Dict(str, Tensor)",
]  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_the_two_agree_about_every_value(kind):
    op = define(lambda x, y=0: None, f"({kind} x, int y=0) -> ()")
    for value in VALUES:
        refusal = call_errors.misfit(op.definition, (value,), {})
        for call in (lambda: op(value), lambda: op(x=value), lambda: op(value, 0), lambda: op(value, y=0)):  # noqa: B023
            if refusal is None:
                assert call() is None
            else:
                with pytest.raises(ArgumentError) as caught:
                    call()
                assert str(caught.value) == str(refusal)
                assert caught.value.operator == op.name
                assert caught.value.argument == "x"


# -- what is said of arguments ---------------------------------------------------------------------------------------------


def binding(x, /, factor=2.0, *, shift=0, other=1):
    return x * factor


def said(op, *args, **keywords):
    with pytest.raises(ArgumentError) as caught:
        op(*args, **keywords)
    return str(caught.value).replace(op.name, "f")


BINDING = define(binding, "(Tensor x, /, float factor=2.0, *, int shift=0, int other=1) -> Tensor")


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {}, "f(x, factor, shift, other): 'x' must be given."),
        ((A, 1.0, 2), {}, "f(x, factor, *, shift, other) takes 2 by position and was given 3. Name the others: shift=..."),
        ((A,), {"x": A}, "f(x, factor, shift, other): 'x' is given by position only, and was given by keyword."),
        ((A, 1.0), {"factor": 1.0}, "f(x, factor, shift, other): 'factor' was given twice, by position and by keyword."),
        ((A,), {"facotr": 1.0}, "f(x, factor, shift, other) has no argument 'facotr'. Did you mean 'factor'?"),
        ((A,), {"quux": 1.0}, "f(x, factor, shift, other) has no argument 'quux'."),
    ],
)
def test_a_call_that_does_not_bind(args, keywords, message):
    assert said(BINDING, *args, **keywords) == message


def test_several_that_are_missing():
    op = define(lambda x, y, z: x, "(int x, int y, int z) -> int")
    assert said(op) == "f(x, y, z): 'x', 'y', 'z' must be given."
    assert said(op, y=1) == "f(x, y, z): 'x', 'z' must be given."
    assert said(op, 1, 2, 3, 4) == "f(x, y, z) takes 3 and was given 4."


STATE, LAYER = "hint_table.State", "hint_table.Layer"
TRACKED = dispatch.tensor([1.0], requires_grad=True)
FAKE = dispatch.FakeTensorMode().from_array(A)
TO_NUMBER = "Write {}(x.item()), or hint the parameter `x: np.ndarray`."
WRAPPER = "cannot become a number without losing what it tracks: hint the parameter `x: np.ndarray | float`, so that it takes both."


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("Tensor", [1.0], "is Tensor, and was given a list of length 1. Write np.asarray(...) around it."),
        ("Tensor", (A, A), "is Tensor, and was given a tuple of length 2. Write np.asarray(...) around it."),
        ("Tensor", 2.0, "is Tensor, and was given a float. Write np.asarray(...) around it, or hint it `np.ndarray | float`."),
        ("Tensor", None, "is Tensor, and was given None. Hint it `np.ndarray | None` if it may be left out."),
        ("Tensor", "a", "is Tensor, and was given a str. Text is no array; hint the parameter `x: str` where it is meant."),
        ("Tensor[]", A, "is Tensor[], and was given an ndarray of shape (3,) and dtype float64. Write a list around it."),
        ("Tensor[]", 1.0, "is Tensor[], and was given a float. Give a list of arrays."),
        ("Tensor[]", [A, 1.0], "is Tensor[], and was given a list of length 2. Item 1 is a float. Write np.asarray(x[1])."),
        ("Tensor[]?", [None], "is Tensor[]?, and was given a list of length 1. Item 0 is None. Leave it out, or hint the items `np.ndarray | None`."),
        ("float", A, "is float, and was given an ndarray of shape (3,) and dtype float64. Hint the parameter `x: np.ndarray` if it may be an array."),
        ("float", np.array(1.0), f"is float, and was given an ndarray of shape () and dtype float64. {TO_NUMBER.format('float')}"),
        ("float", TRACKED, f"is float, and was given a TrackedTensor of shape (1,) and dtype float64. A TrackedTensor {WRAPPER}"),
        ("int", FAKE, f"is int, and was given a FakeTensor of shape (3,) and dtype float64. A FakeTensor {WRAPPER}"),
        ("int", True, "is int, and was given a bool. Write int(x)."),
        ("int", 2.0, "is int, and was given a float. Write int(x), or hint the parameter `x: float`."),
        ("int", None, "is int, and was given None. Hint it `int | None` if it may be left out."),
        ("int", [1], "is int, and was given a list of length 1. Hint the parameter `x: list[int]`."),
        ("float", 1j, "is float, and was given a complex. Write x.real, or hint the parameter `x: complex`."),
        ("float", "1", "is float, and was given a str. Write float(x)."),
        ("float", Fraction(1, 2), "is float, and was given a Fraction. Write float(x)."),
        ("str", 1, "is str, and was given an int. Write str(x)."),
        ("int", np.float64(2), f"is int, and was given a NumPy scalar of dtype float64. {TO_NUMBER.format('int')}"),
        ("bool", 1, "is bool, and was given an int. Write bool(x)."),
        ("str", b"a", "is str, and was given a bytes. Write x.decode()."),
        ("bytes", "a", "is bytes, and was given a str. Write x.encode()."),
        ("bytes", bytearray(b"a"), "is bytes, and was given a bytearray. Write bytes(x)."),
        ("int[]", [1, 2.0], "is int[], and was given a list of length 2. Item 1 is a float. Write int(x[1])."),
        ("int[2]", [1, 2, 3], "is int[2], and was given a list of length 3. Give 2."),
        ("ScalarType", "float65", "is ScalarType, and was given a str. No dtype has this name. Did you mean 'float64' or 'float' or 'float16'?"),
        ("Callable", 3, "is Callable, and was given an int. Give the function itself, not what it returns."),
        ("Callable", "np.sin", "is Callable, and was given a str. Give the function itself."),
        ("Literal['same', 'full']", "ful", "is Literal['same', 'full'], and was given a str. Did you mean 'full'?"),
        ("Literal['same', 'full']", "quux", "is Literal['same', 'full'], and was given a str. Give 'same' or 'full'."),
        ("Literal['same', 1]?", 2, "is Literal['same', 1]?, and was given an int. Give 'same' or 1."),
        ("Dict(str, Tensor)", [A], "is Dict(str, Tensor), and was given a list of length 1. Give a dict."),
        ("Dict(str, Tensor)", {"x": 1.0}, "is Dict(str, Tensor), and was given a dict of length 1. Item 'x' is a float. Write np.asarray(x['x'])."),
        ("Dict(str, Tensor)", {1: A}, "is Dict(str, Tensor), and was given a dict of length 1. A key is an int."),
        ("(Tensor, int)", [A, 1], "is (Tensor, int), and was given a list of length 2. Write tuple(...) around it."),
        ("(Tensor, int)", (A, 1.5), "is (Tensor, int), and was given a tuple of length 2. Item 1 is a float. Write int(x[1])."),
        ("(Tensor, int)", (A,), "is (Tensor, int), and was given a tuple of length 1."),
        (STATE, A, f"is {STATE}, and was given an ndarray of shape (3,) and dtype float64. Give an instance of {STATE}."),
        (STATE, {"position": A}, f"is {STATE}, and was given a dict of length 1. Write State(**x)."),
        (STATE, State([1.0]), f"is {STATE}, and was given a State. Its field 'position' is Tensor, and holds a list of length 1. Write np.asarray(x.position)."),
        (STATE, State(A, None, 1.5), f"is {STATE}, and was given a State. Its field 'steps' is int, and holds a float. Write int(x.steps)."),
        (STATE, Heir(A), f"is {STATE}, and was given a Heir. A subclass of {STATE} has fields of its own: hint the parameter with it."),
        (LAYER, Layer(A, A.astype("f4")), (f"is {LAYER}, and was given a Layer. Its field 'bias' is Tensor of float64, and holds an "
         "ndarray of shape (3,) and dtype float32.")),
        ("hint_table.Colour", 1, "is hint_table.Colour, and was given an int. Write Colour(x)."),
    ],
)
def test_a_value_that_does_not_fit(kind, value, message):
    op = define(lambda x: None, f"({kind} x) -> ()")
    assert said(op, value) == f"f: argument 'x' {message}"


def test_a_read_only_array_in_what_is_written():
    op = define(lambda s: None, "(hint_table.State(a!) s) -> ()", mutates_args=("s",))
    fixed = A.copy()
    fixed.flags.writeable = False
    assert op(State(A.copy())) is None
    assert said(op, State(fixed)) == (
        "f: argument 's' is hint_table.State, and was given a State. Its field 'position' is Tensor, and holds a read-only ndarray "
        "of shape (3,) and dtype float64."
    )


def test_an_output_is_no_array_of_a_container():
    op = define(lambda s, d: s.position[1:], "(hint_table.State s, Dict(str, Tensor) d) -> Tensor")
    with pytest.raises(AliasError, match="returned a view of its input 's'"):
        op(State(A), {})
    op = define(lambda s, d: {"x": d["x"]}, "(hint_table.State s, Dict(str, Tensor) d) -> Dict(str, Tensor)")
    with pytest.raises(AliasError, match="returned its input 'd' itself"):
        op(State(A), {"x": A + 1})
    op = define(lambda s, d: State(*[A * 2] * 2), "(hint_table.State s, Dict(str, Tensor) d) -> hint_table.State")
    with pytest.raises(AliasError, match="returned one array as two outputs"):
        op(State(A), {})


def test_a_row_says_that_it_takes_numbers_too():
    assert said(ops.np.sin, [1.0]) == (
        "f: argument 'x' is np.ndarray | number, and was given a list of length 1. Write np.asarray(...) around it."
    )


def test_a_dtype_that_the_hint_asks_for():
    @custom_op("calltests::single", mutates_args=())
    def single(x: np.typing.NDArray[np.float32]) -> np.ndarray:
        return x * 2

    assert np.array_equal(single(A.astype("f4")), 2 * A)
    assert said(single, A) == (
        "f: argument 'x' is an array of float32 in native byte order, and was given an ndarray of shape (3,) and dtype "
        "float64. Nothing is cast behind your back: write x.astype('float32')."
    )
    assert "given an ndarray of shape (3,) and dtype >f4" in said(single, A.astype(">f4"))
    assert said(single, [1.0]).endswith("given a list of length 1. Write np.asarray(...) around it.")


def test_values_are_never_shown():
    secret = 87123.0
    op = define(lambda x, y: None, "(int x, str y) -> ()")
    for value in (secret, np.full(3, secret), [secret], {"a": secret}, str(secret).encode()):
        assert "87123" not in said(op, value, "")
        assert "87123" not in said(op, 1, value)


# -- what is said of outputs -----------------------------------------------------------------------------------------------


def refused(kernel, schema, *args, error=OutputError):
    op = define(kernel, schema)
    with pytest.raises(error) as caught:
        op(*args)
    assert caught.value.operator == op.name
    return str(caught.value).replace(op.name, "f").replace(where(kernel), "HERE")


FORGOTTEN = " Add the return statement; or, if it writes its result into an argument, name that in mutates_args, -> None."


@pytest.mark.parametrize(
    ("schema", "result", "message"),
    [
        ("(Tensor x) -> Tensor", None, f"None, and its schema says Tensor.{FORGOTTEN}"),
        ("(Tensor x) -> Tensor", 1.0, "a float, and its schema says Tensor. Return np.asarray(result)."),
        ("(Tensor x) -> Tensor", [A], "a list of length 1, and its schema says Tensor."),
        ("(Tensor x) -> Tensor", (A, A), "a tuple of length 2, and its schema says Tensor. Hint the results, -> tuple[np.ndarray, np.ndarray]; or say them in schema=, -> (Tensor, Tensor)."),
        ("(Tensor x) -> float", A, "an ndarray of shape (3,) and dtype float64, and its schema says float. Return a number, or hint the result: -> np.ndarray."),
        ("(Tensor x) -> ()", A, "an ndarray of shape (3,) and dtype float64, and its schema says -> (). Return None, or hint the result."),
        ("(Tensor x) -> (Tensor, Tensor)", None, "None, and its schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, Tensor)", A, "an ndarray of shape (3,) and dtype float64, and its schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, Tensor)", (A,), "1 output, and its schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, Tensor)", [A, A + 1, A], "3 outputs, and its schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, int)", (A, 1.0), "a float as output 1, and its schema says int. Return int(result)."),
        ("(Tensor x) -> (Tensor, Tensor)", (None, A), f"None as output 0, and its schema says Tensor.{FORGOTTEN}"),
        ("(Tensor x) -> Tensor[]", A, "an ndarray of shape (3,) and dtype float64, and its schema says Tensor[]. Return a list of arrays: list(result)."),
        ("(Tensor x) -> Tensor[]", [A, None], "a list of length 2, and its schema says Tensor[]. Item 1 is None."),
        ("(Tensor x) -> (Tensor, Residual)", A, "an ndarray of shape (3,) and dtype float64, and its schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, Residual)", (None, 1), f"None as output 0, and its schema says Tensor.{FORGOTTEN}"),
    ],
)
def test_a_result_that_is_not_what_the_schema_says(schema, result, message):
    assert refused(lambda x: result, schema, A + 1) == f"f: the kernel HERE returned {message}"


REMEDY = "Return a copy, or declare it in the schema, as in (Tensor(a) x) -> Tensor(a)."


@pytest.mark.parametrize(
    ("kernel", "schema", "message"),
    [
        (lambda x, y: x, "(Tensor x, Tensor y) -> Tensor", f"its input 'x' itself. {REMEDY}"),
        (lambda x, y: y[1:], "(Tensor x, Tensor y) -> Tensor", f"a view of its input 'y'. {REMEDY}"),
        (lambda x, y: x.T, "(Tensor x, Tensor y) -> Tensor", f"a view of its input 'x'. {REMEDY}"),
        (lambda x, y: (y + 1, x), "(Tensor x, Tensor y) -> (Tensor, Tensor)", f"its input 'x' itself. {REMEDY}"),
        (lambda x, y: [x + 1, x[:1]], "(Tensor x, Tensor y) -> Tensor[]", f"a view of its input 'x'. {REMEDY}"),
        (lambda x, y: (x[:1], 0), "(Tensor x, Tensor y) -> (Tensor, Residual)", f"a view of its input 'x'. {REMEDY}"),
        (lambda x, y: [x + 1] * 2, "(Tensor x, Tensor y) -> Tensor[]", "one array as two outputs. Return a copy for one of them."),
        (lambda x, y: (x + 1,) * 2, "(Tensor x, Tensor y) -> (Tensor, Tensor)", "one array as two outputs. Return a copy for one of them."),
    ],
)
def test_a_result_that_is_an_input_or_a_view_of_one(kernel, schema, message):
    a = np.ones((3, 3))
    assert refused(kernel, schema, a, a + 1, error=AliasError) == f"f: the kernel HERE returned {message}"


def test_an_input_in_a_list_is_an_input():
    assert refused(lambda xs: xs[1], "(Tensor[] xs) -> Tensor", [A, A + 1], error=AliasError).endswith(
        f"returned its input 'xs' itself. {REMEDY}"
    )


def test_disjoint_halves_of_one_buffer_are_not_views_of_each_other():
    buffer = np.zeros(6)
    op = define(lambda x: buffer[3:], "(Tensor x) -> Tensor")
    assert op(buffer[:3]).base is buffer
    with pytest.raises(AliasError):
        op(buffer[2:4])


def test_what_the_schema_declares_passes():
    assert define(lambda x: x, "(Tensor(a) x) -> Tensor(a)")(A) is A
    assert define(lambda x: x[1:], "(Tensor(a) x) -> Tensor(a)")(A).base is A


def test_a_numpy_scalar_is_a_0d_array_as_output_too():
    assert define(lambda x: x.sum(), "(Tensor x) -> Tensor")(A) == A.sum()


def test_a_residual_never_reaches_the_caller():
    assert define(lambda x: (x + 1, "kept"), "(Tensor x) -> (Tensor, Residual)")(A).shape == (3,)
    first, second = define(lambda x: (x + 1, x + 2, "kept"), "(Tensor x) -> (Tensor, Tensor, Residual)")(A)
    assert np.array_equal(second - first, np.ones(3))


# -- what is noted on a kernel's exception ---------------------------------------------------------------------------------


def test_a_kernels_exception_keeps_its_type_and_gets_one_note():
    def kernel(x, n):
        raise ZeroDivisionError("as it was")

    op = define(kernel, "(Tensor? x, int n) -> Tensor")
    outer = define(lambda x: op(x, 3), "(Tensor x) -> Tensor")
    with pytest.raises(ZeroDivisionError, match=r"^as it was") as caught:
        op(A, 3)
    assert caught.value.__notes__ == [f"in operator {op.name}(x: float64[3], n: int), kernel {where(kernel)}"]
    with pytest.raises(ZeroDivisionError) as caught:
        outer(A)
    assert caught.value.__notes__ == [f"in operator {op.name}(x: float64[3], n: int), kernel {where(kernel)}"]
    with pytest.raises(ZeroDivisionError) as caught:
        op(None, 3)
    assert caught.value.__notes__ == [f"in operator {op.name}(x: None, n: int), kernel {where(kernel)}"]
    with pytest.raises(ZeroDivisionError) as caught:
        dispatch.grad(lambda x: op(x, 3))(A)
    assert len(caught.value.__notes__) == 1


def test_a_kernel_and_a_rule_that_run_again_without_end_are_told_so_once():
    op = define(lambda x: op(x), "(Tensor x) -> Tensor")
    with pytest.raises(RecursionError) as caught:
        op(A)
    assert caught.value.__notes__[1:] == [
        f"A kernel that calls {op.name} runs again, without end: call the function that computes."
    ]
    ruled = define(lambda x: x.copy(), "(Tensor x) -> Tensor")
    ruled.register_vmap(lambda info, in_dims, x: (dispatch.vmap(ruled)(x), 0))
    with pytest.raises(RecursionError) as caught:
        dispatch.vmap(ruled)(np.ones((2, 3)))
    said = "If it asks for what it is the rule of, it runs again, without end"
    assert caught.value.__notes__ == [f"in the vmap rule of {ruled.name}. {said}: call {ruled.schema.name} itself."]


@pytest.mark.parametrize("rule", [
    lambda tangents, output, x, k: tangents["x"], lambda tangents, output, x, k: tangents.x,
    lambda tangents, output, x, k: tangents[0] + tangents[1] * x, lambda tangents, output, x, k: tangents[2],
])  # fmt: skip
def test_a_jvp_rule_that_takes_its_tangents_for_something_else_is_told_what_they_are(rule):
    op = define(lambda x, k: x * k, "(Tensor x, float k) -> Tensor")
    op.register_jvp(rule)
    with pytest.raises((AttributeError, LookupError, TypeError)) as caught:
        dispatch.jvp(lambda x: op(x, 2.0), (A,), (A,))
    said = f"in the jvp rule of {op.name}: tangents is a tuple with one for each of (x, k), None for what has none"
    assert caught.value.__notes__ == [said]


@pytest.mark.parametrize("rule", [
    lambda info, in_dims, x, k: (np.moveaxis(x, in_dims, 0), 0), lambda info, in_dims, x, k: (np.moveaxis(x, in_dims["x"], 0), 0)
])
def test_a_vmap_rule_that_takes_its_axes_for_something_else_is_told_what_they_are(rule):
    op = define(lambda x, k: x * k, "(Tensor x, float k) -> Tensor")
    op.register_vmap(rule)
    with pytest.raises(TypeError) as caught:
        dispatch.vmap(lambda x: op(x, 2.0))(np.ones((2, 3)))
    said = f"in the vmap rule of {op.name}: in_dims is a tuple with the mapped axis of each of (x, k), None for what has none"
    assert caught.value.__notes__ == [said]


# -- signatures and devices ------------------------------------------------------------------------------------------------


def test_the_signature_is_the_functions_or_else_the_schemas():
    def f(x: np.ndarray, /, factor: float = 2.0, *, shift: int = 0) -> np.ndarray:
        return x * factor + shift

    op = custom_op("calltests::signed", f, mutates_args=())
    assert inspect.signature(op) == inspect.signature(f)
    op = build(Schema.parse("calltests::unsigned(Tensor x, /, int[1]? axis=None, *, bool keepdims=False) -> Tensor"))
    assert str(inspect.signature(op)) == "(x, /, axis=None, *, keepdims=False)"
    assert str(inspect.signature(ops.np.add)) == "(x, y)"


def test_arrays_of_another_device_are_told_apart(monkeypatch):
    # No array type can be registered yet, so no call has arrays of two devices; the words are asked for themselves.
    assert call_errors.on_device(ops.np.sin, 0, [A, 3, None, "text"], DispatchKey.CPU)
    assert not call_errors.on_device(ops.np.sin, 0, A, DispatchKey.CUDA)
    assert call_errors.on_device(ops.np.sin, 0, np.array(1.0), DispatchKey.CUDA)
    assert call_errors.on_device(ops.np.getitem, 2, [np.array([1, 0]), np.array([True])], DispatchKey.CUDA)
    assert not call_errors.on_device(ops.np.getitem, 0, np.array([1, 0]), DispatchKey.CUDA)
    assert not call_errors.on_device(ops.np.getitem, 2, [np.array([1.0])], DispatchKey.CUDA)
    assert device_of(A) == "cpu"
    monkeypatch.setattr(call_errors, "device_of", lambda x: "cuda" if x is A else device_of(x))
    op = define(lambda x, y: None, "(Tensor x, Tensor[] y) -> ()")
    error = call_errors.refused(op.definition, (A, [A[:2]]), {})
    assert isinstance(error, DeviceMismatchError)
    assert str(error).endswith("on one device, and these do not: float64[3] on cuda, float64[2] on cpu. Move them together first.")


def test_residual_is_a_hint_and_no_value():
    assert Residual is dispatch.Residual


@pytest.mark.parametrize("kind", ["float[]", "int[]?", "float[3]", "Union(float, float[])", "Union(float, float[])?"])
def test_an_array_for_a_list_of_numbers_says_the_line_to_write(kind):
    op = made(f"({kind} x) -> ()", lambda x: None)
    given = A if kind != "int[]?" else A.astype(int)
    assert said(op, given) == (
        f"f: argument 'x' is {kind}, and was given an ndarray of shape (3,) and dtype {given.dtype}. Write x.tolist(), or "
        "hint the parameter `x: np.ndarray`."
    )
    op(given.tolist())
    message = said(op, leaf())
    assert message.endswith(
        " A TrackedTensor cannot become a list of numbers without losing what it tracks: hint the parameter `x: np.ndarray`."
    )


def test_in_a_union_the_words_are_those_of_the_member_that_was_meant():
    op = made("(Union(Literal['same', 'valid'], float[]) x) -> ()", lambda x: None)
    assert said(op, "vaild").endswith("was given a str. Did you mean 'valid'?")
    assert said(op, [1.0, "x"]).endswith("was given a list of length 2. Item 1 is a str. Write float(x[1]).")
