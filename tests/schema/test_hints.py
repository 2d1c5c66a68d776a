"""Type hints: a table from annotation to schema type, what a hint notes about an array, and what is refused."""
# ruff: noqa: UP006, UP007, UP035, UP045  the older spellings are read too

import collections.abc
import enum
import fractions
import numbers
import sys
import typing
from typing import Annotated, Any, Dict, ForwardRef, List, Literal, NewType, Optional, Sequence, Tuple, TypeVar, Union, get_args

import numpy as np
import numpy.typing as npt
import pytest

from dispatch.core import Residual, Tensor
from dispatch.errors import HintError
from dispatch.schema.hints import HintReader, show
from dispatch.schema.opaque_types import register_opaque_type


class Mode(enum.Enum):
    FULL = 1


class Matrix(np.ndarray):
    pass


class Wrapped(Tensor):
    pass


@register_opaque_type
class Handle:
    pass


class Stranger:
    pass


Metres = NewType("Metres", float)
T = TypeVar("T", bound=np.generic)

TABLE = [
    # arrays
    (np.ndarray, "Tensor"),
    (Matrix, "Tensor"),
    (np.ma.MaskedArray, "Tensor"),
    (Tensor, "Tensor"),
    (Wrapped, "Tensor"),
    (npt.NDArray[np.float64], "Tensor"),
    (npt.NDArray[Any], "Tensor"),
    (npt.NDArray, "Tensor"),
    (np.ndarray[tuple[int, int], np.dtype[np.float32]], "Tensor"),
    (Annotated[np.ndarray, "C"], "Tensor"),
    (np.ndarray | Tensor, "Tensor"),
    # words
    (int, "int"),
    (float, "float"),
    (bool, "bool"),
    (complex, "complex"),
    (str, "str"),
    (bytes, "bytes"),
    (Any, "Any"),
    (typing.Callable, "Callable"),
    (typing.Callable[[int], int], "Callable"),
    (collections.abc.Callable, "Callable"),
    (Metres, "float"),
    (Literal["full", "same"], "Literal['full', 'same']"),
    (Literal[1, 2, None], "Literal[1, 2]?"),
    (Literal["full"] | Literal["full", "same"], "Literal['full', 'same']"),
    (Literal["full"] | str, "str"),
    (Literal[1, 2] | float, "Scalar"),
    # numbers
    (numbers.Number, "Scalar"),
    (numbers.Complex, "Scalar"),
    (numbers.Real, "Scalar"),
    (numbers.Integral, "int"),
    (int | float, "Scalar"),
    (Union[int, float, bool], "Scalar"),
    (float | complex, "Scalar"),
    # dtypes
    (np.dtype, "ScalarType"),
    (np.dtype[np.float64], "ScalarType"),
    (type, "ScalarType"),
    (type[np.floating], "ScalarType"),
    (np.dtype | type | str, "ScalarType"),
    (npt.DTypeLike, "ScalarType?" if type(None) in get_args(npt.DTypeLike) else "ScalarType"),  # None is one in older releases
    (Optional[npt.DTypeLike], "ScalarType?"),
    # None
    (np.ndarray | None, "Tensor?"),
    (Optional[int], "int?"),
    (Union[None, int, float], "Scalar?"),
    (list[np.ndarray | None], "Tensor?[]"),
    (Optional[List[np.ndarray]], "Tensor[]?"),
    (Optional[list[Optional[int]]], "int?[]?"),
    # lists
    (list[np.ndarray], "Tensor[]"),
    (List[int], "int[]"),
    (Sequence[float], "float[]"),
    (collections.abc.Sequence[str], "str[]"),
    (list[list[int]], "int[][]"),
    (list[bytes], "bytes[]"),
    (list[np.dtype], "ScalarType[]"),
    (tuple[np.ndarray, ...], "Tensor[]"),
    (Tuple[int, ...], "int[]"),
    # tuples
    (tuple[int, int], "int[2]"),
    (tuple[int], "int[1]"),
    (tuple[int, int] | int, "int[2]"),
    (tuple[np.ndarray, int], "(Tensor, int)"),
    (Tuple[int, str, int], "(int, str, int)"),
    (list[tuple[int, int]], "int[2][]"),
    # dictionaries
    (dict[str, np.ndarray], "Dict(str, Tensor)"),
    (Dict[str, float | None], "Dict(str, float?)"),
    (collections.abc.Mapping[int, str], "Dict(int, str)"),
    # classes
    (Mode, f"{__name__}.Mode"),
    (Handle | None, f"{__name__}.Handle?"),
    # numbers for arrays
    (np.ndarray | float, "Tensor"),
    (np.ndarray | float | int | None, "Tensor?"),
    (list[np.ndarray | complex], "Tensor[]"),
]


def read(hint, name="x"):
    reader = HintReader("ns::op", read)
    kind = reader.argument(name, hint)
    return kind, reader


@pytest.mark.parametrize(("hint", "text"), TABLE, ids=[f"{show(hint)[:50]}" for hint, _ in TABLE])
def test_the_type_that_a_hint_stands_for(hint, text):
    assert str(read(hint)[0]) == text


@pytest.mark.parametrize(("hint", "text"), TABLE, ids=[f"{show(hint)[:50]}" for hint, _ in TABLE])
def test_a_hint_inside_text_is_the_same(hint, text):
    def fn():
        return hint

    assert str(HintReader("ns::op", fn).argument("x", "hint")) == text
    assert str(HintReader("ns::op", fn).argument("x", "Optional[hint]")) == text.removesuffix("?") + "?"


@pytest.mark.parametrize(
    ("hint", "dtype"),
    [
        (npt.NDArray[np.float64], "f8"),
        (np.ndarray[tuple[int], np.dtype[np.int8]], "i1"),
        (npt.NDArray[np.float64] | None, "f8"),
        (list[npt.NDArray[np.complex64]], "c8"),
        (npt.NDArray[np.bool_] | float, "?"),
        (tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], "i8"),
        (npt.NDArray[np.object_], "O"),
        (np.ndarray, None),
        (npt.NDArray, None),
        (npt.NDArray[Any], None),
        (npt.NDArray[np.floating], None),  # abstract
        (npt.NDArray[np.str_], None),  # without a length
        (npt.NDArray[np.datetime64], None),  # without a unit
        (npt.NDArray[T], None),
        (npt.NDArray[np.float64] | npt.NDArray[np.float32], None),  # either will do
        (npt.NDArray[np.float64] | np.ndarray, None),
        (int, None),
    ],
)
def test_the_dtype_that_a_hint_asks_for(hint, dtype):
    assert read(hint)[1].dtype == (None if dtype is None else np.dtype(dtype))


@pytest.mark.parametrize(
    ("hint", "layout"),
    [
        (np.ndarray, ()),
        (Annotated[np.ndarray, "C"], ("C",)),
        (Annotated[npt.NDArray[np.float64], "F", "writeable"], ("F", "writeable")),
        (Annotated[np.ndarray, "C"] | None, ("C",)),
        (list[Annotated[np.ndarray, "writeable"]], ("writeable",)),
        (Annotated[np.ndarray, "metres", 3, []], ()),  # other tools' notes, hashable or not
    ],
)
def test_the_layout_that_a_hint_asks_for(hint, layout):
    assert read(hint)[1].layout == layout


@pytest.mark.parametrize(
    ("hint", "stand_in"),
    [(np.ndarray | float, True), (Optional[Union[np.ndarray, int]], True), (np.ndarray, False), (int | float, False)],
)
def test_whether_python_numbers_may_stand_for_the_array(hint, stand_in):
    assert read(hint)[1].numbers is stand_in


def test_notes_do_not_stay_for_the_next_argument():
    reader = HintReader("ns::op", read)
    reader.argument("x", Annotated[npt.NDArray[np.float64] | float, "C"])
    assert (reader.dtype, reader.layout, reader.numbers) == (np.dtype("f8"), ("C",), True)
    reader.argument("y", np.ndarray)
    assert (reader.dtype, reader.layout, reader.numbers) == (None, (), False)


@pytest.mark.parametrize(
    ("name", "hint", "text"),
    [("device", str, "Device"), ("device", str | None, "Device?"), ("devices", str, "str"), ("device", int, "int"), ("device", Literal["cpu"], "Device")],
)
def test_a_string_named_device_is_a_device(name, hint, text):
    assert str(read(hint, name)[0]) == text


@pytest.mark.parametrize(
    ("hint", "texts"),
    [
        (None, []),
        (type(None), []),
        ("None", []),
        (np.ndarray, ["Tensor"]),
        (float, ["float"]),
        (np.ndarray | None, ["Tensor?"]),
        (list[np.ndarray], ["Tensor[]"]),
        (tuple[np.ndarray, ...], ["Tensor[]"]),
        (tuple[np.ndarray, int], ["Tensor", "int"]),
        (tuple[np.ndarray, np.ndarray], ["Tensor", "Tensor"]),
        (Tuple[np.ndarray, np.ndarray], ["Tensor", "Tensor"]),
        ("tuple[np.ndarray, 'np.ndarray']", ["Tensor", "Tensor"]),
        (tuple[np.ndarray], ["(Tensor)"]),
        (tuple[tuple[int, int], str], ["int[2]", "str"]),
        (tuple[np.ndarray, Residual], ["Tensor", "Residual"]),
    ],
)
def test_returns(hint, texts):
    kinds, dtypes = HintReader("ns::op", read).returns(hint)
    assert list(map(str, kinds)) == texts
    assert dtypes == (None,) * len(texts)


def test_a_return_has_the_dtype_of_its_hint_each_its_own():
    several = tuple[npt.NDArray[np.float64], list[npt.NDArray[np.int8]], npt.NDArray[np.int16] | None, float]
    kinds, dtypes = HintReader("ns::op", read).returns(several)
    assert list(map(str, kinds)) == ["Tensor", "Tensor[]", "Tensor?", "float"]
    assert dtypes == (np.dtype("f8"), np.dtype("i1"), np.dtype("i2"), None)
    assert HintReader("ns::op", read).returns(npt.NDArray[np.float32] | npt.NDArray[np.float64])[1] == (None,)


@pytest.mark.parametrize(
    ("hint", "nearest"),
    [
        (list, "list[np.ndarray], or list[int] for numbers"),
        (Tuple, "tuple[np.ndarray, ...], or tuple[int, ...] for numbers"),
        (Dict, "dict[str, np.ndarray]"),
        (tuple[()], "tuple[np.ndarray, ...], or tuple[int, ...] for numbers"),
        (List, "list[np.ndarray], or list[int] for numbers"),
        (tuple, "tuple[np.ndarray, ...], or tuple[int, ...] for numbers"),
        (dict, "dict[str, np.ndarray]"),
        (set[int], "list[int]"),
        (collections.abc.Iterable[int], "list[np.ndarray]"),
        (object, "typing.Any"),
        (any, "typing.Any"),
        (callable, "typing.Callable"),
        (np.array, "np.ndarray"),
        (npt.ArrayLike, "np.ndarray"),
        (np.float64, f"float, or numpy.typing.NDArray[np.{np.float64.__name__}] for an array"),
        (np.int32, f"int, or numpy.typing.NDArray[np.{np.int32.__name__}] for an array"),
        (np.bool_, f"bool, or numpy.typing.NDArray[np.{np.bool_.__name__}] for an array"),
        (np.complex64, f"complex, or numpy.typing.NDArray[np.{np.complex64.__name__}] for an array"),
        (np.number, "numbers.Number"),
        (Stranger, "typing.Any, or register_opaque_type(Stranger)"),
        (fractions.Fraction | None, "typing.Any, or register_opaque_type(Fraction)"),
        (T, "typing.Any"),
        (3, "int"),
        (int | Any, "typing.Any"),
        (list[set[int]], "list[int]"),
    ],
)
def test_an_unknown_hint_names_the_nearest_and_the_way_out(hint, nearest):
    with pytest.raises(HintError) as caught:
        read(hint)
    assert str(caught.value) == (
        f"ns::op: parameter 'x' has the hint {show(hint)}, which has no schema type.\n"
        f'The nearest hint that has one: {nearest}. Or write schema="(Tensor hint, str name=\'x\') -> Tensor" yourself.'
    )
    assert (caught.value.operator, caught.value.argument) == ("ns::op", "x")


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Annotated[np.ndarray, "c"], "The layout 'c' is written 'C', 'F' or 'writeable'."),
        (Annotated[np.ndarray, "writable"], "The layout 'writable' is written 'C', 'F' or 'writeable'."),
        (Annotated[int, "C"], "A layout is for arrays."),
        (list[Residual], "Residual[]: Residual stands alone"),
        (Residual | None, "Residual?: Residual stands alone"),
        (dict[float, int], "Dict(float, int): the keys of a dictionary are str or int"),
    ],
)
def test_hints_that_contradict_themselves(hint, message):
    with pytest.raises(HintError) as caught:
        read(hint)
    assert message in str(caught.value)


def test_two_dtypes_in_one_parameter_are_refused():
    kind, reader = read(tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]])
    assert str(kind) == "Tensor[2]"
    with pytest.raises(HintError, match="Two dtypes in one parameter or result: write the same for all of its arrays, or none"):
        _ = reader.dtype


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (tuple[()], "An operator that returns nothing is hinted None."),
        (tuple[Residual], "A Residual goes along with a result: tuple[np.ndarray, Residual]."),
        (set, "The nearest hint that has one: list[int]"),
        (np.float64, "The nearest hint that has one: float"),
        (Annotated[np.ndarray, "C"], "A layout is for a parameter: a result is returned as the kernel made it."),
    ],
)
def test_refused_returns(hint, message):
    with pytest.raises(HintError) as caught:
        HintReader("ns::op", read).returns(hint)
    text = str(caught.value)
    assert text.startswith(f"ns::op: the return has the hint {show(hint)}")
    assert message in text
    assert caught.value.argument == ""


# ----------------------------------------------------------------------------------------------------------------- text
def test_text_is_looked_up_in_globals_and_enclosing_variables():
    Local = np.ndarray

    def fn():
        return Local

    assert str(HintReader("ns::op", fn).argument("x", "list[Local] | None")) == "Tensor[]?"
    assert str(HintReader("ns::op", fn).argument("x", " Mode")) == f"{__name__}.Mode"


def test_a_variable_that_is_not_set_yet_is_a_name_that_is_not_known():
    def fn():
        return later

    with pytest.raises(HintError, match="No name 'later' is known where the function is defined"):
        HintReader("ns::op", fn).argument("x", "later")
    later = int
    assert str(HintReader("ns::op", fn).argument("x", "later")) == "int"


def test_an_unknown_name_says_what_to_import_and_keeps_the_cause():
    with pytest.raises(HintError) as caught:
        read("list[Handel]")
    assert str(caught.value) == (
        "ns::op: parameter 'x' has the hint list[Handel], which has no schema type.\n"
        "No name 'Handel' is known where the function is defined. Did you mean 'Handle'? "
        "Import 'Handel' at the top of that module, outside `if TYPE_CHECKING`."
    )
    assert isinstance(caught.value.__cause__, NameError)


@pytest.mark.parametrize(
    ("hint", "cause"),
    [
        ("np.ndarray |", SyntaxError),
        ("np.ndarray[", SyntaxError),
        ("1 / 0", ZeroDivisionError),
    ],
)
def test_text_that_does_not_evaluate(hint, cause):
    with pytest.raises(HintError, match=f"Evaluating it raised {cause.__name__}: ") as caught:
        read(hint)
    assert isinstance(caught.value.__cause__, cause)


def test_a_slip_in_the_name_of_a_modules_attribute_is_told():
    with pytest.raises(HintError, match=r"\nnumpy has no 'ndaray'\. Did you mean 'ndarray'\?$") as caught:
        read("np.ndaray")
    assert isinstance(caught.value.__cause__, AttributeError)


def test_text_inside_a_hint_is_evaluated_too():
    assert str(read(list["np.ndarray"])[0]) == "Tensor[]"
    assert str(read(Optional["np.ndarray"])[0]) == "Tensor?"


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (int, "int"),
        (np.ndarray, "numpy.ndarray"),
        ("a.b", "a.b"),
        (list[int], "list[int]"),
        (ForwardRef("X"), "X"),
    ],
)
def test_a_hint_is_shown_as_it_is_written(hint, text):
    assert show(hint) == text


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the `type` statement is newer")
def test_the_type_statement_is_looked_through():
    scope = {"np": np}
    exec("type Array = np.ndarray | None\ntype Many[E] = list[E]", scope)
    assert str(read(scope["Array"])[0]) == "Tensor?"
    assert str(read(scope["Array"] | float)[0]) == "Tensor?"
    assert str(read(scope["Many"][int])[0]) == "int[]"
