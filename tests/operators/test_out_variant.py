"""The out= form of an operator is the overload that takes the same and writes as many results."""

import itertools

import pytest
from making import said

import dispatch
from dispatch.errors import DefinitionError
from dispatch.library import Library, Tag
from dispatch.operators.out_variant import check_out_variant, get_out_arg_names, to_out_variant

numbers = itertools.count()


@pytest.fixture
def lib():
    """A library of a namespace nobody has."""
    with Library(f"out_variants{next(numbers)}", "DEF") as lib:
        yield lib


def found(lib, name):
    return dispatch.ops.__getattr__(lib.ns).__getattr__(name)


def test_the_form_is_found_among_the_overloads(lib):
    lib.define("f(Tensor x, int n=1) -> Tensor")
    lib.define("f.other(Tensor x, int n=1, *, Tensor y) -> Tensor")
    assert to_out_variant(f"{lib.ns}::f") is None
    lib.define("f.out(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)", tags=Tag.out)
    out = to_out_variant(f"{lib.ns}::f")
    assert out.name == f"{lib.ns}::f.out"
    assert get_out_arg_names(out) == ("out",)
    assert check_out_variant(f"{lib.ns}::f", out) is None


def test_several_results_are_written_in_order(lib):
    lib.define("f(Tensor x) -> (Tensor, Tensor)")
    lib.define("f.out(Tensor x, *, Tensor(a!) lo, Tensor(b!) hi) -> (Tensor(a!), Tensor(b!))", tags=Tag.out)
    assert get_out_arg_names(to_out_variant(f"{lib.ns}::f")) == ("lo", "hi")


@pytest.mark.parametrize(
    ("text", "tags", "fault"),
    [
        ("(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", (), "it is not tagged Tag.out"),
        ("(Tensor y, *, Tensor(a!) out) -> Tensor(a!)", Tag.out, "beside what it writes, its arguments are others"),
        (
            "(Tensor x, *, Tensor(a!) lo, Tensor(b!) hi) -> (Tensor(a!), Tensor(b!))",
            Tag.out,
            "it writes 2 arrays, and the results are (Tensor)",
        ),
    ],
)
def test_what_is_no_out_form(lib, text, tags, fault):
    lib.define("f(Tensor x) -> Tensor")
    lib.define(f"g{text}", tags=tags)
    message = said(lambda: check_out_variant(f"{lib.ns}::f", f"{lib.ns}::g"), DefinitionError)
    assert message.startswith(f"{lib.ns}::g is no out= form of {lib.ns}::f: {fault}.")


@pytest.mark.parametrize("text", ["f(Tensor(a!) x) -> ()", "f(Tensor(a) x) -> Tensor(a)"])
def test_only_an_operator_of_fresh_results_has_one(lib, text):
    lib.define(text)
    expected = f"{lib.ns}::f writes to an argument, returns a view or returns nothing, so that it has no out= form."
    assert said(lambda: to_out_variant(f"{lib.ns}::f"), DefinitionError) == expected
    assert said(lambda: check_out_variant(f"{lib.ns}::f", f"{lib.ns}::f"), DefinitionError) == expected
