"""What a call may pass: bound as Python binds it, and checked type by type, never converted."""

import inspect
from array import array
from collections import UserList, UserString, deque
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import made, shadow

from dispatch.core import Arguments, Check, Kind, ground
from dispatch.errors import ArgumentError

# -- binding, held against inspect -----------------------------------------------------------------------------------------

ONLY, EITHER, KEYWORD = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def text_of(parameters):
    """The schema's arguments that say what the parameters of a Python signature say."""
    text, kinds = [], [p.kind for p in parameters]
    for i, p in enumerate(parameters):
        if p.kind is KEYWORD and KEYWORD not in kinds[:i]:
            text.append("*")
        text.append(f"int {p.name}" + ("" if p.default is p.empty else f"={p.default}"))
        if p.kind is ONLY and (i + 1 == len(kinds) or kinds[i + 1] is not ONLY):
            text.append("/")
    return ", ".join(text)


@st.composite
def signatures(draw):
    kinds = sorted(draw(st.lists(st.sampled_from([ONLY, EITHER, KEYWORD]), max_size=30)))
    first = draw(st.integers(0, len(kinds)))  # the first positional parameter with a default
    defaults = [draw(st.booleans()) if kind is KEYWORD else i >= first for i, kind in enumerate(kinds)]
    pairs = enumerate(zip(kinds, defaults, strict=True))
    return inspect.Signature(
        [inspect.Parameter(f"x{i}", kind, default=-i if has else inspect.Parameter.empty) for i, (kind, has) in pairs]
    )


@st.composite
def calls(draw, signature):
    """A call that fits more often than not: some by position, the rest by keyword, with a mishap now and then."""
    names = list(signature.parameters)
    count = draw(st.integers(0, sum(p.kind is not KEYWORD for p in signature.parameters.values())))
    left = [name for name in names[count:] if draw(st.integers(0, 9)) or not signature.parameters[name].default]
    mishap = draw(st.sampled_from(["none", "none", "one more", "doubled", "unknown", "omitted"]))
    if mishap == "one more":
        count += 1
    elif mishap == "doubled" and names:
        left.append(draw(st.sampled_from(names)))
    elif mishap == "unknown":
        left.append("other")
    elif mishap == "omitted" and left:
        left.remove(draw(st.sampled_from(left)))
    keywords = {"".join(list(name)): object() for name in draw(st.permutations(left))}  # joined: names that are not interned
    return tuple(object() for _ in range(count)), keywords


@given(st.data())
def test_a_call_is_bound_as_inspect_binds_it(data):
    signature = data.draw(signatures())
    args, keywords = data.draw(calls(signature))
    seen = []

    def kernel(*args, **keywords):
        seen.append([*args, *keywords.values()])

    op = made(f"({text_of(signature.parameters.values()).replace('int ', 'Any ')}) -> ()", kernel)
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError:
        with pytest.raises(
            ArgumentError, match=r"^making::op\(.*(takes|no argument|by position only|given twice|must be given)"
        ):
            op(*args, **keywords)
        assert seen == []
    else:
        bound.apply_defaults()
        op(*args, **keywords)
        assert len(seen[0]) == len(bound.arguments)
        assert all(got is want or got == want for got, want in zip(seen[0], bound.arguments.values(), strict=True))


@pytest.mark.parametrize("count", [0, 1, 23, 24, 25, 30, 300])
def test_however_many_arguments_there_are_each_goes_to_its_place(count):
    text = ", ".join(f"Any x{i}=None" for i in range(count))
    seen = []
    op = made(f"({text}) -> ()", lambda *args: seen.append(args))
    values = [object() for _ in range(count)]
    op(*values)
    op(**{f"x{i}": value for i, value in reversed(list(enumerate(values)))})
    op(*values[: count // 2], **{f"x{i}": values[i] for i in range(count // 2, count)})
    op()
    assert [list(map(id, args)) for args in seen] == [list(map(id, values))] * 3 + [[id(None)] * count]


def test_keyword_only_arguments_reach_the_kernel_by_keyword():
    def kernel(x, /, y, *, a, b="default"):
        return [x, y, a, b]

    op = made('(int x, /, int y, *, int a, str b="default") -> Any', kernel)
    assert op(1, 2, a=3) == op(1, a=3, y=2) == op(1, b="default", a=3, y=2) == [1, 2, 3, "default"]
    assert op.whole(1, 2, 3, "b") == [1, 2, 3, "b"]


@pytest.mark.parametrize(
    ("args", "keywords", "said"),
    [
        ((1, 2, 3), {}, "takes 2 by position and was given 3."),
        ((1,), {}, "'y', 'a' must be given."),
        ((1, 2), {"z": 0, "a": 1}, "has no argument 'z'."),
        ((1, 2), {"y": 0, "a": 1}, "'y' was given twice, by position and by keyword."),
        ((), {"x": 0, "y": 1, "a": 1}, "'x' is given by position only, and was given by keyword."),
    ],
)
def test_a_call_that_does_not_fit_says_which_argument_and_why(args, keywords, said):
    with pytest.raises(ArgumentError) as caught:
        made("(int x, /, int y, *, int a, int b=1) -> ()", lambda *a, **k: None)(*args, **keywords)
    assert said in str(caught.value)


def test_arguments_say_what_they_are():
    arguments = made("(int x, /, int y, *, int a=3) -> ()").arguments
    assert (arguments.names, arguments.keyword_names, arguments.defaults) == (("x", "y", "a"), ("a",), ((), (), (3,)))
    assert (arguments.count, arguments.positional, arguments.positional_only) == (3, 2, 1)


@pytest.mark.parametrize("parts", [(("x",), (), ()), ((), (Check(Kind.INT),), ()), (("x",), (Check(Kind.INT),), ())])
def test_arguments_of_uneven_parts_are_refused(parts):
    with pytest.raises(ValueError, match="one of each an argument"):
        Arguments(*parts)


# -- types -----------------------------------------------------------------------------------------------------------------


class Str(str):
    __slots__ = ()


class Int(int):
    pass


A = np.arange(3.0)
X = shadow(A, ground())
VALUES = [
    None, True, np.bool_(True), 3, Int(3), 2**100, np.int8(3), np.uint64(3), 2.5, float("nan"), np.float16(1), np.float64(1),
    np.longdouble(1), 1j, np.complex64(1), Decimal(1), Fraction(1, 2), "text", Str("f8"), "float64", "2,", "(", np.str_("f8"),
    b"bytes", bytearray(b"b"), np.bytes_(b"b"), np.datetime64(0, "s"), np.timedelta64(0, "s"), np.dtype("f4"), np.float32, float,
    bool, str, np.ndarray, len, lambda: None, A, A[0], A.astype(">f4"), A.astype(int), A[:0], np.array(1.0), A.view(np.recarray),
    X, [X], [A, X], [A, None], range(2), range(3), [], (), [A], (A, A), [A, 3], [1, 2], (1, 2), (1, 2, 3), [True], [1.0, 2],
    ["a"], [[A], [A]], [[1], [2.0]], (A, 1), (1, A), {"a": 1}, {"a": A}, {1: 1}, {}, object(),
    deque([1, 2]), deque([A]), array("d", [1.0, 2.0]), UserList(["a"]), UserString("ab"),
]  # fmt: skip


def is_int(x):
    return isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.timedelta64))  # a time span has a unit


def is_float(x):
    return is_int(x) or isinstance(x, (float, np.floating))


def is_array(x):
    return isinstance(x, (np.ndarray, np.generic)) or x is X


def is_dtype(x):
    if isinstance(x, type):
        return issubclass(x, np.generic) or x in (int, float, bool, complex)
    if isinstance(x, str):
        try:
            np.dtype(x)
        except (TypeError, ValueError, SyntaxError):
            return False
    return isinstance(x, (np.dtype, str))


def list_of(one, size=None, *, holds_arrays=False):
    def fits(x):
        if size is not None and one(x):
            return True
        kinds = (list, tuple) if holds_arrays else Sequence
        return isinstance(x, kinds) and not isinstance(x, (str, bytes, bytearray)) and all(map(one, x)) and size in (None, 1, len(x))

    return fits


def optional(one):
    return lambda x: x is None or one(x)


ORACLES = {
    "Tensor": is_array,
    "int": is_int,
    "float": is_float,
    "complex": lambda x: is_float(x) or isinstance(x, (complex, np.complexfloating)),
    "bool": lambda x: isinstance(x, (bool, np.bool_)),
    "str": lambda x: isinstance(x, str),
    "bytes": lambda x: isinstance(x, bytes),
    "Scalar": lambda x: isinstance(x, (int, float, complex, np.number, np.bool_)) and not isinstance(x, np.timedelta64),
    "ScalarType": is_dtype,
    "Device": lambda x: isinstance(x, str),
    "Callable": callable,
    "Any": lambda x: True,
    "Residual": lambda x: True,
    "Tensor[]": list_of(is_array, holds_arrays=True),
    "Tensor?[]": list_of(optional(is_array), holds_arrays=True),
    "Tensor[][]": list_of(list_of(is_array, holds_arrays=True), holds_arrays=True),
    "int[]": list_of(is_int),
    "int[1]": list_of(is_int, 1),
    "int[2]": list_of(is_int, 2),
    "float[2]": list_of(is_float, 2),
    "bool[]": list_of(lambda x: isinstance(x, (bool, np.bool_))),
    "str[]": list_of(lambda x: isinstance(x, str)),
    "int[][]": list_of(list_of(is_int), holds_arrays=True),
    "(Tensor, int)": lambda x: isinstance(x, tuple) and len(x) == 2 and is_array(x[0]) and is_int(x[1]),
    "Dict(str, int)": lambda x: isinstance(x, dict) and all(isinstance(k, str) and is_int(v) for k, v in x.items()),
    "Dict(str, Tensor)": lambda x: isinstance(x, dict) and all(isinstance(k, str) and is_array(v) for k, v in x.items()),
    "fractions.Fraction": lambda x: isinstance(x, Fraction),
}
ORACLES |= {f"{kind}?": optional(one) for kind, one in ORACLES.items() if kind not in {"Any", "Residual"}}


@pytest.mark.parametrize("kind", ORACLES)
def test_a_type_takes_what_is_of_it_and_nothing_else_and_hands_it_on_unchanged(kind):
    op = made(f"({kind} x, int y=0, Tensor? z=None) -> ()", lambda x, y, z: seen.append(x))
    # the wrapper's key has a kernel too: a wrapper inside makes it run
    op.register_at(type(X).key, lambda x, y, z: seen.append(x))
    (check, *_) = op.arguments.checks
    for value in VALUES:
        seen = []
        expected = ORACLES[kind](value)
        assert check(value) == expected, value
        for call in (lambda: op(value), lambda: op(x=value), lambda: op(value, 0), lambda: op.whole(value, 0, None)):  # noqa: B023
            if expected:
                call()
                assert seen.pop() is value
            else:
                with pytest.raises(ArgumentError, match=r"argument 'x' is .*, and was given "):
                    call()
        assert seen == []


@pytest.mark.parametrize("kind", ["f8", ">f8", "i4", "c16", "?"])
def test_a_check_with_a_dtype_takes_that_one_alone(kind):
    check = Check(Kind.TENSOR, dtype=np.dtype(kind))
    for other in ["f8", ">f8", "f4", "i4", "i8", "c16", "?"]:
        x = np.zeros(2, other)
        assert check(x) == check(shadow(x, ground())) == (np.dtype(other) == np.dtype(kind))
        assert check(x[0]) == (x[0].dtype == np.dtype(kind))  # a scalar has no byte order of its own


def test_numbers_are_taken_for_arrays_only_where_the_operator_says_so():
    check = Check(Kind.TENSOR_OR_NUMBER)
    for value in VALUES:
        assert check(value) == (is_array(value) or isinstance(value, (int, float, complex))), value


def test_text_that_numpy_has_no_dtype_for_is_refused_without_a_word_on_stderr(capfd):
    check = Check(Kind.DTYPE)
    assert [check(text) for text in ("f4", "float64", "nothing", "(", "2,", "79u=}{", "a")] == [True, True, *[False] * 5]
    assert capfd.readouterr().err == ""


def test_a_class_that_fails_when_asked_refuses():
    class Meta(type):
        def __instancecheck__(cls, x):
            return x == 1

    class Odd(metaclass=Meta):
        pass

    assert [Check(Kind.INSTANCE, cls=Odd)(x) for x in (1, 2, Odd())] == [True, False, True]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Check(Kind.LIST),
        lambda: Check(Kind.DICT, element=Check(Kind.INT)),
        lambda: Check(Kind.DICT, members=(Check(Kind.STR),)),
        lambda: Check(Kind.TUPLE, members=(int,)),
    ],
)
def test_a_check_of_what_holds_others_is_made_of_theirs(make):
    with pytest.raises(ValueError, match=r"is made of the checks of what is in it: element=, members=\."):
        make()


def test_an_unknown_kind_of_check_is_refused():
    with pytest.raises(ValueError, match=r"there is no kind of check 99\."):
        Check(99)
