"""What a kernel may give back: fresh arrays, in number and of the types of the schema; the rest stays inside."""

import numpy as np
import pytest
from making import made, shadow

from dispatch.core import Check, DispatchKey, Kind, Level, Outputs, Residual, share_memory
from dispatch.core.outputs import may_share_memory
from dispatch.errors import AliasError, OutputError


def array(*shape):
    return np.zeros(shape or (4,))


def returns(text, kernel):
    return made(text, kernel)


# -- fresh, or not ---------------------------------------------------------------------------------------------------------

X, BASE = array(4), array(8)
BUFFER = bytearray(64)

ALIASED = {
    "the input": (lambda x: x, X),
    "the input, empty": (lambda x: x, array(0)),
    "the input, a subclass": (lambda x: x, array(4).view(np.recarray)),
    "a view": (lambda x: x[1:], X),
    "a view of a view": (lambda x: x[1:][::-1], X),
    "a transposed view": (lambda x: x.T, array(2, 3)),
    "a reinterpreted view": (lambda x: x.view("u1"), X),
    "a subclass's view": (lambda x: x.view(np.recarray)[1:], X),
    "its own base": (lambda x: BASE, BASE[2:6]),
    "a view of its base": (lambda x: BASE[:4], BASE[2:6]),
    "an overlap by one element": (lambda x: BASE[:3], BASE[2:6]),
    "a diagonal": (lambda x: x.diagonal(), array(3, 3)),
    "the same buffer": (lambda x: x[:1], np.frombuffer(BUFFER)),
}
FRESH = {
    "a copy": (lambda x: x.copy(), X),
    "disjoint halves of one base": (lambda x: BASE[4:], BASE[:4]),
    "an empty view": (lambda x: x[:0], X),
    "a view of something else": (lambda x: array(8)[2:6], X),
    "a scalar": (lambda x: np.float64(2), X),
    "a scalar that was given": (lambda x: np.float64(2), np.float64(2)),
    **{f"a scalar of {kind}": (lambda x, kind=kind: np.zeros(1, kind)[0], X) for kind in ("?", "i1", "u8", "f4", "c16", "m8[s]")},
    "a memory map": (lambda x: np.frombuffer(bytes(64))[1:], X),
}


@pytest.mark.parametrize(("kernel", "x"), ALIASED.values(), ids=ALIASED)
@pytest.mark.parametrize(
    "text", ["(Tensor x) -> Tensor", "(Tensor x) -> (Tensor, int)", "(Tensor x) -> Tensor[]", "(Tensor x) -> Tensor?"]
)
def test_an_input_or_a_view_of_one_is_refused(text, kernel, x):
    as_output = {"(Tensor, int)": lambda out: (out, 1), "Tensor[]": lambda out: [array(), out]}.get(
        text.split("-> ")[1], lambda out: out
    )
    op = returns(text, lambda x: as_output(kernel(x)))
    itself = kernel(x) is x
    said = r"its input 'x' itself\." if itself else r"a view of its input 'x'\."
    with pytest.raises(
        AliasError, match=rf"making::op: the kernel .*test_outputs\.py:\d+ returned {said} Return a copy, or declare it"
    ):
        op(x)


@pytest.mark.parametrize(("kernel", "x"), FRESH.values(), ids=FRESH)
@pytest.mark.parametrize("text", ["(Tensor x) -> Tensor", "(Tensor x, int y=0) -> Tensor?"])
def test_what_shares_no_memory_with_an_input_passes_as_it_is(text, kernel, x):
    seen = []
    op = returns(text, lambda *args: seen.append(kernel(args[0])) or seen[-1])
    assert op(x) is seen[0]


@pytest.mark.parametrize(
    "kind", ["(Tensor a, Tensor x) -> Tensor", "(int a, *, Tensor x) -> Tensor", "(str a, Tensor x) -> Tensor"]
)
def test_every_argument_counts_not_just_the_first(kind):
    a = {"T": array(), "i": 1, "s": "text"}[kind[1].upper() if kind[1] == "T" else kind[1]]
    with pytest.raises(AliasError, match="returned its input 'x' itself"):
        returns(kind, lambda a, x: x)(a, x=X)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("(Tensor[] x) -> Tensor", [array(), X]),
        ("(Tensor[] x) -> Tensor", (X,)),
        ("(Tensor[][] x) -> Tensor", [[array()], [array(), X]]),
        ("(Dict(str, Tensor) x) -> Tensor", {"a": array(), "b": X}),
        ("(Any x) -> Tensor", [X, "text"]),
    ],
)
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[1:]])
def test_an_array_in_a_list_or_dict_of_arguments_counts(text, given, view):
    with pytest.raises(AliasError, match=r"(its input 'x' itself|a view of its input 'x')\."):
        returns(text, lambda x: view(X))(given)


@pytest.mark.parametrize("text", ["(Tensor x) -> Tensor[]", "(Tensor x) -> Tensor[][]", "(Tensor x) -> Dict(str, Tensor)"])
def test_an_array_in_a_list_or_dict_of_outputs_counts(text):
    def kernel(x):
        return {"]": [array(), x[1:]] if "[][]" not in text else [[array()], [x[1:]]], ")": {"a": x[1:]}}[text[-1]]

    with pytest.raises(AliasError, match="a view of its input 'x'"):
        returns(text, kernel)(X)


@pytest.mark.parametrize(
    "text", ["(Tensor x) -> (Tensor, Tensor)", "(Tensor x) -> Tensor[]", "(Tensor x) -> (Tensor, int, Tensor)"]
)
def test_one_array_as_two_outputs_is_refused(text):
    def kernel(x):
        y = x + 1
        return (y, 1, y) if "int" in text else (y, y)

    with pytest.raises(AliasError, match=r"returned one array as two outputs\. Return a copy for one of them"):
        returns(text, kernel)(X)


@pytest.mark.parametrize("text", ["-> (Tensor, Tensor)", "-> Tensor[]"])
@pytest.mark.parametrize(
    ("results", "passes"),
    [
        (lambda b: (b[:3], b[3:]), True),
        (lambda b: (b[::2], b[1::2]), True),
        (lambda b: (b[:0], b), True),
        (lambda b: (b.copy(), b.copy()), True),
        (lambda b: (b[:3], b[2:]), False),
        (lambda b: (b, b[:1]), False),
        (lambda b: (b, b.view("i8")), False),
        (lambda b: (b, np.frombuffer(memoryview(b))), False),
    ],
)
def test_two_outputs_share_no_byte(text, results, passes):
    make = list if text.endswith("[]") else tuple
    op = made(f"(Tensor x) {text}", lambda x: make(results(np.arange(6.0))))
    if passes:
        assert len(op(X)) == 2
    else:
        with pytest.raises(AliasError, match=r"returned two outputs that share memory\. Return a copy for one of them\.$"):
            op(X)



@pytest.mark.parametrize(
    "text", ["(Tensor(a) x) -> Tensor(a)", "(Tensor(a) x) -> (Tensor(a), Tensor)"]
)
def test_what_the_schema_declares_passes(text):
    op = returns(text, lambda x: (x[1:], x + 1) if ", " in text else x[1:])
    out = op(X)
    assert np.shares_memory(out[0] if ", " in text else out, X)


def test_a_list_that_holds_itself_among_the_arguments_ends():
    endless = []
    endless.append(endless)
    op = returns("(Tensor x, Any y) -> Tensor", lambda x, y: x[1:].copy()[1:])
    assert op(X, endless).shape == (2,)
    endless.clear()


# -- number and type -------------------------------------------------------------------------------------------------------

WRONG = [
    ("-> Tensor", None, "returned None, and its schema says Tensor"),
    ("-> Tensor", 1.0, "returned a float, and its schema says Tensor"),
    ("-> Tensor", [1.0], "returned a list of length 1, and its schema says Tensor"),
    ("-> Tensor", (X.copy(),), "returned a tuple of length 1, and its schema says Tensor"),
    ("-> int", X.copy(), "returned an ndarray of shape (4,) and dtype float64, and its schema says int"),
    ("-> int", True, "returned a bool, and its schema says int"),
    ("-> ()", X.copy(), "returned an ndarray of shape (4,) and dtype float64, and its schema says -> (). Return None, or hint the result."),
    (
        "-> (Tensor, Tensor)",
        X.copy(),
        "returned an ndarray of shape (4,) and dtype float64, and its schema says 2: return a tuple of 2",
    ),
    ("-> (Tensor, Tensor)", (X.copy(),), "returned 1 output, and its schema says 2: return a tuple of 2"),
    ("-> (Tensor, Tensor)", None, "returned None, and its schema says 2: return a tuple of 2"),
    ("-> (Tensor, int)", (X.copy(), 1.0), "returned a float as output 1, and its schema says int"),
    ("-> (Tensor, Tensor?)", (None, None), "returned None as output 0, and its schema says Tensor"),
    ("-> Tensor[]", X.copy(), "returned an ndarray of shape (4,) and dtype float64, and its schema says Tensor[]"),
    ("-> Tensor[]", [X.copy(), None], "returned a list of length 2, and its schema says Tensor[]"),
    ("-> (Tensor, Residual)", X.copy(), "returned an ndarray of shape (4,) and dtype float64, and its schema says 2"),
    ("-> (Tensor, Residual)", (None, 1), "returned None as output 0, and its schema says Tensor"),
]


@pytest.mark.parametrize(
    ("text", "result", "said"), WRONG, ids=[f"{text} {type(result).__name__}" for text, result, _ in WRONG]
)
def test_a_wrong_output_is_told_with_the_kernel_that_gave_it(text, result, said):
    with pytest.raises(OutputError) as caught:
        returns(f"(Tensor x) {text}", lambda x: result)(X)
    assert "making::op: the kernel " in str(caught.value)
    assert "test_outputs.py:" in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.operator == "making::op"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("-> Tensor?", None),
        ("-> (Tensor, Tensor?)", (X.copy(), None)),
        ("-> (Tensor, int)", [X.copy(), 3]),
        ("-> Tensor[]", []),
        ("-> Tensor[]", (X.copy(), X.copy())),
        ("-> ()", None),
        ("-> int", 3),
        ("-> Any", {"anything": 1}),
        ("-> Tensor", np.ma.zeros(3)),
        ("-> Tensor", np.zeros(0)),
        ("-> Tensor", np.bool_(True)),
    ],
)
def test_an_output_that_fits_is_handed_on_unchanged(text, result):
    assert returns(f"(Tensor x) {text}", lambda x: result)(X) is result


# -- the residual ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sequence", [tuple, list])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_residual_stays_inside_and_whole_gives_it_back(count, sequence):
    kept = object()
    outputs = [array(i) for i in range(count)]
    result = sequence([*outputs, kept]) if count else kept
    op = returns(f"(Tensor x) -> ({', '.join(['Tensor'] * count + ['Residual'])})", lambda x: result)
    seen = op(X)
    assert op.whole(X) is result
    assert op.whole is not op
    if count == 1:
        assert seen is outputs[0]
    else:
        assert seen == (tuple(outputs) if count else None) or all(a is b for a, b in zip(seen, outputs, strict=True))


@pytest.mark.parametrize("kept", [None, X, [X], "text", 3])
def test_a_residual_may_be_anything_an_input_too(kept):
    op = returns("(Tensor x) -> (Tensor, Residual)", lambda x: (x + 1, kept))
    assert np.array_equal(op(X), X + 1)
    assert op.whole(X)[1] is kept


def test_an_operator_without_a_residual_is_whole():
    op = returns("(Tensor x) -> Tensor", np.negative)
    assert op.whole is op
    assert isinstance(Residual(), object)


def test_outputs_say_what_they_are():
    outputs = Outputs((Check(Kind.TENSOR), Check(Kind.INT)), residual=True, aliased=True)
    assert (outputs.count, outputs.residual, outputs.aliased, len(outputs.checks)) == (2, True, True, 2)


def test_what_is_written_in_a_list_and_returned_may_be_any_of_it():
    op = returns("(Tensor(a!)[] xs) -> Tensor(a!)", lambda xs: xs[1])
    x = array()
    assert op([array(), x]) is x


def test_what_is_written_and_returned_is_the_argument_itself():
    op = returns("(Tensor(a!) x) -> Tensor(a!)", lambda x: x)
    x = array()
    assert op(x) is x
    message = r"returned another array as output 0, and its schema says that it is argument 'x' itself\. Write to x and return it\."
    for wrong in (lambda x: x.copy(), lambda x: x[:]):
        with pytest.raises(OutputError, match=message):
            returns("(Tensor(a!) x) -> Tensor(a!)", wrong)(array())


@pytest.mark.parametrize("text", ["(Tensor x) -> (Tensor, Residual)", "(Tensor x) -> (Tensor, int, Residual)"])
@pytest.mark.parametrize("wrong", [None, 3, "text", (), (1,), [1, 2, 3, 4]])
def test_a_layer_s_kernel_that_forgets_the_residual_is_refused(text, wrong):
    op = returns(text, lambda x: (x + 1, 2, "kept"))
    op.register_at(DispatchKey.JVP, lambda x: wrong)
    with Level("t") as level, pytest.raises(OutputError, match=r"returned .*, and its schema says \d: return a tuple of \d"):
        op(shadow(X, level))


def test_interleaved_arrays_share_bounds_and_no_memory():
    x = np.zeros(4)
    assert share_memory(x, x[1:])
    assert not share_memory(x[::2], x[1::2])
    assert not share_memory(x, np.zeros(4))
    assert not share_memory(x[:0], x)


def test_what_says_by_its_class_that_it_is_an_array_shares_no_memory():
    class Liar:
        __class__ = property(lambda self: np.ndarray)

    assert isinstance(Liar(), np.ndarray)
    for share in (share_memory, may_share_memory):
        assert not share(np.ones(2), Liar())
        assert not share(Liar(), np.ones(2))
