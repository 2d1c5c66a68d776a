"""Records: which classes they are, what their fields are, and what makes a class with arrays no record."""

import dataclasses
import typing
from collections import namedtuple
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

import dispatch
from dispatch import custom_op
from dispatch.errors import HintError, SchemaError
from dispatch.schema.hints import HintReader, class_of_text
from dispatch.schema.opaque_types import register_opaque_type
from dispatch.schema.records import is_record, mentions_arrays
from dispatch.schema.schema import Schema
from dispatch.schema.types import ClassType
from dispatch.testing import opcheck

T = TypeVar("T")


@dataclasses.dataclass
class Point:
    x: npt.NDArray[np.float64]
    y: "np.ndarray | float"
    label: str = ""
    where: ClassVar[np.ndarray] = np.zeros(1)
    extra: dataclasses.InitVar[int] = 0
    tags: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Deep(Point):
    inner: "list[Point]" = dataclasses.field(default_factory=list)
    other: "Pair | None" = None


class Pair(NamedTuple):
    first: np.ndarray
    second: "dict[str, np.ndarray]"


@dataclasses.dataclass
class Settings:
    tol: float
    inner: "Settings | None" = None


@register_opaque_type
@dataclasses.dataclass
class Sealed:
    x: np.ndarray


@dataclasses.dataclass
class Tree:
    x: np.ndarray
    children: "list[Tree]"


@dataclasses.dataclass
class Cell:
    twin: "Twin"


@dataclasses.dataclass
class Twin:
    cell: "Cell"
    x: np.ndarray


@dataclasses.dataclass
class Hidden:
    x: set[np.ndarray]


@dataclasses.dataclass
class Variable(Generic[T]):
    x: np.ndarray
    y: T


@dataclasses.dataclass
class Nowhere:
    x: np.ndarray
    y: "Elsewhere"  # noqa: F821


@dataclasses.dataclass
class LaidOut:
    x: Annotated[np.ndarray, "C"]


@dataclasses.dataclass
class SelfMade:
    x: np.ndarray

    def __new__(cls, *args: Any) -> "SelfMade":
        return object.__new__(cls)


Bare = namedtuple("Bare", "x y")


def read(hint):
    return HintReader("ns::op", read).argument("p", hint)


@pytest.mark.parametrize(
    ("cls", "fields"),
    [
        (Point, ["Tensor x", "Tensor y", "str label", "Any tags"]),
        (Deep, ["Tensor x", "Tensor y", "str label", "Any tags", f"{__name__}.Point[] inner", f"{__name__}.Pair? other"]),
        (Pair, ["Tensor first", "Dict(str, Tensor) second"]),
        (np.linalg._linalg.QRResult, ["Tensor Q", "Tensor R"]),
    ],
)
def test_a_class_with_arrays_has_their_types(cls, fields):
    kind = read(cls)
    assert str(kind) == f"{cls.__module__}.{cls.__qualname__}"
    assert kind.has_tensor
    assert kind.cls is cls
    assert [f"{field.type} {field.name}" for field in kind.fields] == fields
    assert class_of_text(str(kind)) == kind
    assert class_of_text(str(kind)).fields == kind.fields


def test_what_a_field_says_of_its_array_is_kept():
    x, y, *_ = read(Point).fields
    assert (x.dtype, x.numbers) == (np.dtype("f8"), False)
    assert (y.dtype, y.numbers) == (None, True)


@pytest.mark.parametrize("cls", [Settings, Sealed])
def test_without_an_array_or_when_it_is_opaque_a_class_is_one_value(cls):
    kind = read(cls)
    assert kind == ClassType(f"{__name__}.{cls.__name__}")
    assert not kind.has_tensor
    assert kind.fields == class_of_text(str(kind)).fields == ()


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Tree, "field 'children' of {}.Tree, has the hint list[{}.Tree], which has no schema type.\nA record that holds itself"),
        (Cell, "A record that holds itself has no end. Hint its arrays, or register_opaque_type it."),
        (Twin, "A record that holds itself has no end. Hint its arrays, or register_opaque_type it."),
        (list[Tree], "ns::op: parameter 'p', field 'children' of {}.Tree, has the hint list[{}.Tree]"),
        (Hidden, "field 'x' of {}.Hidden, has the hint set[numpy.ndarray], which has no schema type.\nThe nearest hint"),
        (Variable, "field 'y' of {}.Variable, has the hint ~T, which has no schema type.\nThe nearest hint that has one: typing.Any"),
        (Variable[int], "field 'y' of {}.Variable, has the hint ~T"),
        (Nowhere, "has the hint {}.Nowhere, which has no schema type.\nThe hints of {}.Nowhere raised NameError: name 'Elsewhere' is"),
        (Nowhere, "Import what they name at the top of its module, outside `if TYPE_CHECKING`."),
        (LaidOut, "A layout is for a parameter: the fields of a record are not adapted."),
        (SelfMade, "{}.SelfMade holds arrays and has a __new__ of its own, so none can be made of other arrays."),
        (Bare, "The nearest hint that has one: a typing.NamedTuple in place of Bare, whose fields have hints."),
    ],
)
def test_arrays_that_nothing_could_reach_are_refused(hint, message):
    with pytest.raises(HintError) as caught:
        read(hint)
    assert message.format(__name__, __name__) in str(caught.value)
    assert (caught.value.operator, caught.value.argument) == ("ns::op", "p")


def test_a_class_inside_a_function_has_no_name():
    @dataclasses.dataclass
    class Local:
        x: np.ndarray

    with pytest.raises(HintError, match=r"Local' does not name a class: write module\.Class, for a class at the top of its module"):
        read(Local)


@pytest.mark.parametrize("cls", [Tree, Hidden, Nowhere, SelfMade])
def test_the_text_of_a_schema_is_refused_for_the_same_reason(cls):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(f"ns::op({__name__}.{cls.__name__} p) -> ()")
    assert str(caught.value).startswith("ns::op: ")
    assert cls.__name__ in str(caught.value)


def test_a_class_that_is_not_imported_is_a_name():
    assert class_of_text("nowhere.Class").fields == ()


@pytest.mark.parametrize(
    ("cls", "may"), [(Point, True), (Pair, True), (Settings, True), (Bare, False), (tuple, False), (dict, False), (int, False)]
)
def test_which_classes_may_be_records(cls, may):
    assert is_record(cls) is may


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        (np.ndarray, True),
        (npt.NDArray[np.float64], True),
        (set[np.ndarray], True),
        (typing.Callable[[np.ndarray], int], False),
        (T, True),
        (Tree, True),
        (list[Twin], True),
        (Settings, False),
        (set[int], False),
        ("np.ndarray", False),
    ],
)
def test_whether_a_hint_speaks_of_arrays(hint, found):
    assert mentions_arrays(hint) is found


# ----------------------------------------------------------------------------------------------------------- as written
def test_a_record_that_is_written_has_an_alias_behind_its_name():
    text = f"ns::op({__name__}.Pair(a!) p) -> ()"
    schema = Schema.parse(text)
    assert str(schema) == text
    assert schema.mutable_arguments == ("p",)


def test_the_functional_form_of_an_operator_that_writes_to_a_record_returns_one():
    @custom_op("recordtests::push", mutates_args=("p",), functional=True)
    def push(p: Pair, by: float) -> None:
        for x in (p.first, *p.second.values()):
            x += by

    push.register_fake(lambda p, by: None)
    given = Pair(np.zeros(2), {"a": np.ones(3)})
    made = push.functional(given, 2.0)
    assert (made.first.tolist(), made.second["a"].tolist()) == ([2, 2], [3, 3, 3])
    assert (given.first.tolist(), given.second["a"].tolist()) == ([0, 0], [1, 1, 1])
    for op in (push, push.functional):
        assert not opcheck(op, (given, 2.0)).failures


def test_a_record_that_is_looked_at_in_full_is_left_as_it_is():
    seen = []
    op = custom_op("recordtests::seen", lambda p: seen.append(p), mutates_args=(), schema=f"({__name__}.Pair p) -> ()")
    with dispatch.validate("full"):
        op(Pair(np.zeros(2), {}))
    assert type(seen[0]) is Pair
    assert not seen[0].first.flags.writeable
