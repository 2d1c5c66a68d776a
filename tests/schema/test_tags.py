"""Tags: torch's names, and the schemas that bear them out."""

import enum

import pytest

from dispatch.errors import DefinitionError
from dispatch.schema.schema import Schema
from dispatch.schema.tags import Tag, check_tags, tag_set

TORCH = {
    "inplace",
    "out",
    "inplace_view",
    "pointwise",
    "reduction",
    "core",
    "nondeterministic_seeded",
    "nondeterministic_bitwise",
    "data_dependent_output",
    "dynamic_output_shape",
    "maybe_aliasing_or_mutating",
}


def test_none_is_no_tag():
    assert tag_set(None, "mylib::f") == tag_set((), "mylib::f") == frozenset()


def test_torchs_names_are_there():
    assert set(Tag.__members__) >= TORCH


@pytest.mark.torch
def test_and_they_are_torchs():
    import torch

    ours_alone = {"view", "random", "effect", "metadata"}
    assert {name for name in Tag.__members__ if not hasattr(torch.Tag, name)} <= ours_alone | {"inplace", "out"}


def test_one_tag_or_many_or_twice():
    assert tag_set(Tag.core, "f") == tag_set([Tag.core, Tag.core], "f") == frozenset([Tag.core])
    assert tag_set((), "f") == frozenset()
    assert Tag.random is Tag.nondeterministic_seeded


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("pointwise", "f: 'pointwise' is no Tag. Write Tag.pointwise."),
        (["pointwize"], "f: 'pointwize' is no Tag. Did you mean 'pointwise'?"),
        (enum.Enum("Tag", "pointwise core", module="torch").core, "f: a torch.Tag is no Tag. Write dispatch.Tag.core."),
        ([3], f"f: 3 is no Tag. Tags: {', '.join(Tag.__members__)}."),
    ],
)
def test_what_is_no_tag(tags, message):
    with pytest.raises(DefinitionError) as caught:
        tag_set(tags, "f")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("ns::op_(Tensor(a!) x, Tensor y) -> Tensor(a!)", Tag.inplace),
        ("ns::op(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", Tag.out),
        ("ns::op(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(a!), Tensor(b!))", Tag.out),
        ("ns::op(Tensor(a) x) -> Tensor(a)", Tag.view),
        ("ns::op(Tensor(a!) x) -> Tensor(a!)", Tag.inplace_view),
        ("ns::op(Tensor x) -> Tensor", Tag.pointwise),
        ("ns::op(Tensor x) -> int", Tag.data_dependent_output),
        ("ns::op() -> ()", Tag.effect),
    ],
)
def test_schemas_that_bear_their_tag_out(text, tag):
    assert check_tags(Schema.parse(text), tag) == {tag}


@pytest.mark.parametrize(
    ("signature", "tags", "message"),
    [
        ("(Tensor(a!) x) -> Tensor(a!)", (Tag.inplace, Tag.out), "Tag.inplace and Tag.out exclude each other"),
        ("() -> Tensor", Tag.inplace, "Tag.inplace asks for a first argument given by position"),
        ("(*, Tensor(a!) x) -> Tensor(a!)", Tag.inplace, "Tag.inplace asks for a first argument given by position"),
        ("(Tensor x) -> Tensor", Tag.inplace, "asks that the first argument, 'x', is written: mutates_args=('x',)"),
        ("(Tensor x, Tensor(a!) y) -> Tensor(a!)", Tag.inplace, "asks that the first argument, 'x', is written"),
        ("(Tensor(a!)[] x) -> Tensor(a!)", Tag.inplace, "the first argument is a plain Tensor; 'x' is a Tensor[]"),
        ("(Tensor(a!)? x) -> Tensor(a!)", Tag.inplace, "the first argument is a plain Tensor; 'x' is a Tensor?"),
        ("(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", Tag.inplace, "nothing but 'x' is written; 'y' is too"),
        ("(Tensor(a!) x) -> ()", Tag.inplace, "asks for exactly one return, the Tensor 'x'"),
        ("(Tensor(a!) x) -> (Tensor(a!), Tensor)", Tag.inplace, "asks for exactly one return"),
        ("(Tensor(a!) x) -> Tensor", Tag.inplace, "asks that the return is 'x' itself: write it as Tensor(a!)"),
        ("(Tensor(a!) x) -> Tensor(a)", Tag.inplace, "asks that the return is 'x' itself: write it as Tensor(a!)"),
        ("(Tensor x) -> Tensor", Tag.out, "Tag.out asks for a keyword-only argument that is written"),
        ("(Tensor x, Tensor(a!) out) -> Tensor(a!)", Tag.out, "what is written is keyword-only: put '*' before 'out'"),
        ("(*, Tensor(a!)? out) -> Tensor(a!)", Tag.out, "what is written is a plain Tensor; 'out' is a Tensor?"),
        ("(*, Tensor(a!)[] out) -> Tensor(a!)", Tag.out, "what is written is a plain Tensor; 'out' is a Tensor[]"),
        ("(*, Tensor(a!) out) -> ()", Tag.out, "one return for each written argument: 1, not 0"),
        ("(*, Tensor(a!) out) -> Tensor", Tag.out, "what is written, in order: 'out' as Tensor(a!)"),
        (
            "(*, Tensor(a!) u, Tensor(b!) v) -> (Tensor(b!), Tensor(a!))",
            Tag.out,
            "what is written, in order: 'u' as Tensor(a!)",
        ),
        ("(Tensor x) -> Tensor", Tag.view, "Tag.view asks for a return that shares memory with an argument"),
        ("(Tensor x) -> Tensor", Tag.inplace_view, "Tag.inplace_view asks for a first argument that is written"),
        ("(int n) -> int", Tag.pointwise, "Tag.pointwise asks for an argument that is a Tensor"),
    ],
)
def test_schemas_that_do_not(signature, tags, message):
    schema = Schema.parse(signature, name="ns::op")
    with pytest.raises(DefinitionError) as caught:
        check_tags(schema, tags)
    first, line = str(caught.value).splitlines()
    assert first.startswith("ns::op: ")
    assert message in first
    assert line.strip() == str(schema)
