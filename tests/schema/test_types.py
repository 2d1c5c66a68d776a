"""Types, alias sets and names: what each one says of itself, and what cannot be built."""

import pickle
import re

import pytest
from hypothesis import given
from random_schemas import types

from dispatch.errors import SchemaError
from dispatch.schema.types import (
    BASES,
    INT,
    NONE,
    RESIDUAL,
    STR,
    TENSOR,
    WORDS,
    Alias,
    Base,
    ClassType,
    DictOf,
    ListOf,
    OptionalOf,
    TupleOf,
    check_name,
    split_name,
    unknown_type,
)


def alias(before, after=None, write=False):
    return Alias(frozenset(before), frozenset(before if after is None else after), write)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TENSOR, "Tensor"),
        (ListOf(OptionalOf(TENSOR)), "Tensor?[]"),
        (OptionalOf(ListOf(INT)), "int[]?"),
        (ListOf(ListOf(TENSOR, 2)), "Tensor[2][]"),
        (TupleOf((TENSOR, INT)), "(Tensor, int)"),
        (TupleOf((TENSOR,)), "(Tensor)"),
        (DictOf(STR, ListOf(TENSOR)), "Dict(str, Tensor[])"),
        (ClassType("fractions.Fraction"), "fractions.Fraction"),
    ],
)
def test_the_text_of_a_type(kind, text):
    assert str(kind) == text
    assert repr(kind) == f"{type(kind).__name__}({text!r})"


@given(types)
def test_a_type_has_a_tensor_exactly_when_its_text_names_one_or_a_record(kind):
    holding = re.compile("Tensor|numpy.linalg._linalg.QRResult|hint_table.State")
    assert kind.has_tensor == (holding.search(str(kind)) is not None)
    assert kind.spell("(a!)") == holding.sub(r"\g<0>(a!)", str(kind))


@given(types, types)
def test_types_are_equal_when_their_texts_are(a, b):
    assert (a == b) == (str(a) == str(b))
    assert pickle.loads(pickle.dumps(a)) == a


def test_a_word_and_a_list_of_one_letter_are_two_things():
    assert TupleOf((INT,)) != INT
    assert Base("int") == INT
    assert len({Base(name) for name in BASES}) == len(BASES) == len(WORDS)


def test_types_are_frozen():
    with pytest.raises(AttributeError):
        INT.name = "float"


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (alias("a"), "(a)"),
        (alias("a", write=True), "(a!)"),
        (alias("a", "ab", write=True), "(a! -> a|b)"),
        (alias("a", "*"), "(a -> *)"),
        (alias("*"), "(*)"),
        (alias(["a0", "b_1"]), "(a0|b_1)"),
    ],
)
def test_the_text_of_an_alias(info, text):
    assert str(info) == text


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Base("Tensr"), "there is no type 'Tensr'. Did you mean 'Tensor'?"),
        (lambda: ListOf(INT, 0), "int[0]: a fixed length is at least 1. Write [] for any length."),
        (lambda: OptionalOf(OptionalOf(INT)), "int?? says None twice"),
        (lambda: OptionalOf(NONE), "None? says None twice"),
        (lambda: TupleOf(()), "() is no type"),
        (lambda: DictOf(TENSOR, INT), "Dict(Tensor, int): the keys of a dictionary are str or int"),
        (lambda: ListOf(RESIDUAL), "Residual[]: Residual stands alone"),
        (lambda: OptionalOf(RESIDUAL), "Residual?: Residual stands alone"),
        (lambda: TupleOf((INT, RESIDUAL)), "(int, Residual): Residual stands alone"),
        (lambda: DictOf(STR, RESIDUAL), "Dict(str, Residual): Residual stands alone"),
        (lambda: ClassType("Fraction"), "'Fraction' does not name a class: write module.Class"),
        (lambda: ClassType("tests.f.<locals>.C"), "does not name a class: write module.Class, for a class at the top"),
        (lambda: alias(""), "an alias names at least one set"),
        (lambda: alias(["a!"]), "an alias names at least one set"),
        (lambda: alias("*a"), "the alias set '*' is everything: it stands alone"),
        (lambda: alias("*", write=True), "a write names its set: Tensor(a!), not Tensor(*!)"),
    ],
)
def test_what_has_no_text_cannot_be_built(build, message):
    with pytest.raises(SchemaError) as caught:
        build()
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["x", "_x", "λ", "match", "x1"])
def test_names_that_python_can_write(name):
    check_name(name, "an argument")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "'' cannot name an argument: a name is letters, digits and '_', and starts with no digit."),
        ("1x", "'1x' cannot name an argument"),
        ("a-b", "'a-b' cannot name an argument"),
        ("for", "'for' cannot name an argument: it is a keyword of Python. Write 'for_'."),
    ],
)
def test_names_that_it_cannot(name, message):
    with pytest.raises(SchemaError) as caught:
        check_name(name, "an argument")
    assert message in str(caught.value)


def test_split_name():
    assert split_name("np::add") == ("np", "add", "")
    assert split_name("np::add.out") == ("np", "add", "out")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("add", "'add' does not name an operator. Write 'namespace::name', e.g. 'mylib::scale'."),
        ("a::b::c", "'a::b::c' does not name an operator"),
        ("a::", "'a::' does not name an operator"),
        ("a.b::c", "'a.b' cannot name a namespace"),
        ("a::b.", "'a::b.' ends with a dot. Write the overload after it, or leave it out."),
        ("a::b.default", "an overload cannot be named 'default': that is the one without a name. Leave it out."),
        ("a::b.__call__", "'__call__' begins with '__', which Python keeps for itself. Take another name."),
        ("__a::b", "'__a' begins with '__'"),
    ],
)
def test_split_name_refuses(name, message):
    with pytest.raises(SchemaError) as caught:
        split_name(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("word", ["SymFloat", "int64_t", "double", "Number", "ndarray", "List", "Optional"])
def test_words_of_other_languages_are_translated(word):
    assert unknown_type(word).startswith(f"there is no type '{word}'. Write ")


@pytest.mark.parametrize("word", ["Layout", "MemoryFormat", "Storage", "QScheme", "Stream", "Future"])
def test_words_without_a_meaning_for_arrays_say_so(word):
    assert f"the type '{word}' has no meaning for arrays" in unknown_type(word)
