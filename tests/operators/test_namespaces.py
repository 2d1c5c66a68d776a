"""Operators are found by name, and a call of several overloads finds the one it means."""

import copy

import numpy as np
import pytest

import dispatch
from dispatch import OpOverload, custom_op, ops
from dispatch.core import DispatchKey
from dispatch.errors import ArgumentError, DispatchError, EscapedValueError, OperatorNotFoundError
from dispatch.operators.namespaces import _MOST_DECISIONS, Namespace, Operator, find
from dispatch.operators.registry import add, build, remove
from dispatch.schema.schema import Schema

A = np.arange(3.0)


def define(text, kernel, module=__name__, place="here.py:1"):
    op = build(Schema.parse(text))
    op.register_at(DispatchKey.CPU, kernel)
    return add(op, module, place)


@custom_op("namespacetests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """Scale an array."""
    return x * factor


@pytest.fixture(scope="module")
def pick():
    define("namespacetests::pick(Tensor x) -> str", lambda x: "array")
    define("namespacetests::pick.number(float x) -> str", lambda x: "number")
    define("namespacetests::pick.pair(Tensor x, float y) -> str", lambda x, y: "pair")
    return ops.namespacetests.pick


# -- what is looked up is not assigned to ----------------------------------------------------------------------------------


def test_an_operator_takes_no_attribute_that_is_misspelt():
    def rule(x):
        return x

    for name in ("regster_fake", "register_fake", "fake", "schema"):
        with pytest.raises(AttributeError) as caught:
            setattr(scale, name, rule)
        assert str(caught.value) == (
            f"namespacetests::scale: the attribute {name!r} cannot be set. What an operator has is registered: "
            "op.register_kernel('cpu', fn), op.register_fake(rule), op.register_autograd(backward)."
        )
    with pytest.raises(AttributeError, match=r"namespacetests::scale: the attribute .schema. cannot be deleted\."):
        del scale.schema
    with pytest.raises(AttributeError, match=r"namespacetests::scale has no attribute .typo.\."):
        del scale.typo
    before = scale.__doc__
    scale.__doc__ = "Scale."  # what a decorator writes
    assert scale.__doc__ == "Scale."
    scale.__doc__ = before


def test_a_namespace_is_not_assigned_to():
    assert ops.namespacetests.scale is scale
    with pytest.raises(AttributeError) as caught:
        ops.namespacetests.scale = 3
    assert str(caught.value) == (
        "namespacetests::scale cannot be set: a namespace holds operators, which are defined by a name. "
        'Write custom_op("namespacetests::scale", fn, mutates_args=()).'
    )
    with pytest.raises(AttributeError) as caught:
        del ops.namespacetests.scale
    assert str(caught.value) == (
        "namespacetests::scale cannot be deleted: an operator goes with the library that defined it. Define it by "
        'Library("namespacetests", "FRAGMENT"), and call its destroy().'
    )
    with pytest.raises(OperatorNotFoundError, match=r"there is no operator namespacetests::scal\. Did you mean 'scale'"):
        del ops.namespacetests.scal
    with pytest.raises(AttributeError, match="the namespace 'mine' cannot be set: it exists once"):
        ops.mine = 3
    with pytest.raises(AttributeError, match="the namespace 'namespacetests' cannot be deleted: its operators go with"):
        del ops.namespacetests
    with pytest.raises(OperatorNotFoundError, match="there is no namespace 'nobodys'"):
        del ops.nobodys
    assert ops.namespacetests.scale is scale


# -- by name ---------------------------------------------------------------------------------------------------------------


def test_an_operator_with_one_overload_is_that_overload():
    assert ops.namespacetests.scale is scale
    assert ops.namespacetests.scale.default is scale
    assert find("namespacetests::scale") is scale
    assert isinstance(scale, OpOverload)
    assert ops.namespacetests.scale is ops.namespacetests.scale


def test_an_operator_with_several_is_found_by_the_name_of_the_overload(pick):
    assert isinstance(pick, Operator)
    assert pick.overloads() == ["default", "number", "pair"]
    assert pick.default is find("namespacetests::pick")
    assert pick.number is find("namespacetests::pick.number")
    assert pick.number.name == "namespacetests::pick.number"
    assert repr(pick).splitlines() == [repr(pick.default), repr(pick.number), repr(pick.pair)]


def test_a_second_overload_is_seen_where_the_first_one_was_looked_up_before():
    define("namespacetests::late(Tensor x) -> str", lambda x: "first")
    first = ops.namespacetests.late
    assert first(A) == "first"
    define("namespacetests::late.second(int x) -> str", lambda x: "second")
    assert ops.namespacetests.late(3) == "second"
    assert ops.namespacetests.late(A) == "first" == first(A)


NOT_FOUND = [
    (lambda: ops.namespacetets, "there is no namespace 'namespacetets'. Did you mean 'namespacetests'? Namespaces: "),
    (lambda: ops.aten.sin, "there is no namespace 'aten'. Write ops.np. Namespaces: "),
    (lambda: ops.namespacetests.scal, "there is no operator namespacetests::scal. Did you mean 'scale'"),
    (lambda: ops.namespacetests.quux, "there is no operator namespacetests::quux. Operators: "),
    (lambda: define("numpy::of_nobody(Tensor x) -> str", str) and ops.numpy.sin, "there is no operator numpy::sin. Write ops.np.sin."),
    (lambda: ops.np.sine, "there is no operator np::sine. Did you mean 'sin"),
    (lambda: find("np::sine"), "there is no operator np::sine. Did you mean 'sin"),
    (lambda: find("nq::sin"), "there is no namespace 'nq'. Did you mean 'np'? Namespaces: "),
    (lambda: ops.namespacetests.pick.numbr, "namespacetests::pick has no overload 'numbr'. Did you mean 'number'? Overloads: default, number, pair."),
    (lambda: find("namespacetests::pick.quux"), "namespacetests::pick has no overload 'quux'. Overloads: default, number, pair."),
]  # fmt: skip


@pytest.mark.parametrize(("look", "message"), NOT_FOUND)
def test_a_name_that_nobody_has_defined(look, message, pick):
    with pytest.raises(OperatorNotFoundError) as caught:
        look()
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, AttributeError)


def test_an_overload_that_a_single_operator_does_not_have():
    with pytest.raises((OperatorNotFoundError, AttributeError)) as caught:
        find("namespacetests::scale.other")
    assert "namespacetests::scale has no" in str(caught.value)
    assert "'other'" in str(caught.value)


def test_how_to_come_by_a_namespace_that_is_not_there():
    with pytest.raises(OperatorNotFoundError) as caught:
        ops.quux
    assert str(caught.value).endswith("A namespace exists once an operator is defined in it: import the module that does.")
    assert not hasattr(ops, "quux")
    assert not hasattr(ops.np, "__array__")


@pytest.mark.parametrize("name", ["scale", "::scale", "a::b::c", "a b::c", "a::b.c.d", ""])
def test_a_text_that_is_no_qualified_name(name):
    with pytest.raises(DispatchError):
        find(name)


def test_what_is_there_can_be_listed():
    assert {"np", "namespacetests"} <= set(dir(ops))
    assert {"sin", "add"} <= set(dir(ops.np))
    assert scale in list(ops.namespacetests)
    assert {op.name for op in ops} >= {"np::sin", "namespacetests::scale"}
    assert all(isinstance(op, OpOverload) for op in ops)
    assert repr(ops.namespacetests) == f"<namespace namespacetests: {len(dir(ops.namespacetests))} operators>"
    assert repr(ops) == f"<operators of {', '.join(dir(ops))}>"


def test_len_counts_what_iteration_gives_and_truth_loads_nothing():
    loaded = []
    space = Namespace("counted")
    space._load = lambda: loaded.append(space)
    assert space
    assert not loaded
    assert len(space) == 0
    assert loaded == [space]
    assert len(ops) == sum(map(len, (getattr(ops, name) for name in dir(ops)))) == len(list(ops))


def test_a_long_list_of_operators_is_cut():
    namespace = Namespace("long")
    namespace._operators.update({f"op{i:02}": Operator(f"long::op{i:02}") for i in range(30)})
    with pytest.raises(OperatorNotFoundError) as caught:
        namespace.something_else
    assert str(caught.value).endswith("op18, op19, ....")


# -- overloads -------------------------------------------------------------------------------------------------------------


def test_an_operator_with_one_named_overload_has_it_by_that_name():
    only = define("namespacetests::only.one(Tensor x) -> str", lambda x: "one")
    assert ops.namespacetests.only is only is ops.namespacetests.only.one is find("namespacetests::only.one")
    assert only.overloads() == ["one"]
    assert scale.overloads() == ["default"]
    with pytest.raises(AttributeError, match=r"namespacetests::only.one has no attribute 'default'"):
        only.default
    with pytest.raises(OperatorNotFoundError, match=r"namespacetests::only has no overload 'default'. Overloads: one."):
        find("namespacetests::only")


def test_the_overload_whose_types_fit_runs(pick):
    for _ in range(2):  # the second time what was found is remembered
        assert pick(A) == "array"
        assert pick(3.0) == "number"
        assert pick(A, 3.0) == pick(x=A, y=3) == pick(A, y=3.0) == pick(y=3.0, x=A) == "pair"


def test_a_call_that_fits_none_lists_why_each_was_passed_over(pick):
    with pytest.raises(ArgumentError) as caught:
        pick("text")
    assert str(caught.value).splitlines() == [
        "namespacetests::pick: no overload fits the call.",
        "  namespacetests::pick: argument 'x' is Tensor, and was given a str. Text is no array; hint the parameter `x: str` where it is meant.",
        "  namespacetests::pick.number: argument 'x' is float, and was given a str. Write float(x).",
        "  namespacetests::pick.pair(x, y): 'y' must be given.",
    ]


def test_the_order_of_definition_never_decides():
    for order in ("ab", "ba"):
        texts = {"a": "(float x) -> str", "b": "(int x) -> str"}
        for overload in order:
            define(f"namespacetests::order{order}.{overload}{texts[overload]}", lambda x, said=overload: said)
        either = getattr(ops.namespacetests, f"order{order}")
        assert [either(x) for x in (2, 2.5, np.float64(2))] == ["b", "a", "a"]
        with pytest.raises(ArgumentError) as caught:
            either(np.int64(2))  # widens to both
        full = [f"namespacetests::order{order}.{name}" for name in order]
        assert str(caught.value) == (
            f"namespacetests::order{order}: the call fits {full[0]} and {full[1]} equally well. Call the one you mean by its name: "
            f"dispatch.ops.namespacetests.order{order}.{order[0]}(...)."
        )


def test_what_was_found_is_forgotten_when_an_overload_comes_or_goes():
    define("namespacetests::comes(float x) -> str", lambda x: "float")
    define("namespacetests::comes.more(float x, float y) -> str", lambda x, y: "two")
    comes = ops.namespacetests.comes
    assert (comes(3), comes(x=3)) == ("float", "float")
    nearer = define("namespacetests::comes.integer(int x) -> str", lambda x: "int")
    assert (comes(3), comes(x=3)) == ("int", "int")
    remove(nearer)
    assert (comes(3), comes(x=3)) == ("float", "float")
    define("namespacetests::comes.more(int x) -> str", lambda x: "redefined")
    assert (comes(3), comes(x=3)) == ("redefined", "redefined")


def test_what_is_remembered_is_bounded(pick):
    for i in range(2 * _MOST_DECISIONS):
        assert pick(type(f"Number{i}", (float,), {})(2.0)) == "number"
    assert 0 < len(pick._decided) <= _MOST_DECISIONS


def test_a_dtype_or_what_is_in_a_list_is_looked_at_in_every_call():
    @custom_op("namespacetests::depth", mutates_args=())
    def single(x: np.typing.NDArray[np.float32]) -> str:
        return "single"

    @custom_op("namespacetests::depth.double", mutates_args=())
    def double(x: np.typing.NDArray[np.float64]) -> str:
        return "double"

    define("namespacetests::depth.arrays(Tensor[] x) -> str", lambda x: "arrays")
    define("namespacetests::depth.ints(int[] x) -> str", lambda x: "ints")
    depth = ops.namespacetests.depth
    for _ in range(2):
        assert [depth(A.astype("f4")), depth(A), depth([A, A]), depth([1, 2]), depth(range(2))] == [
            "single", "double", "arrays", "ints", "ints",
        ]  # fmt: skip
        with pytest.raises(ArgumentError, match=r"fits namespacetests::depth.arrays and namespacetests::depth.ints equally well"):
            depth([])
        with pytest.raises(ArgumentError, match="no overload fits the call"):
            depth(A.astype("i4"))
    assert not depth._decided


def test_wrappers_are_the_arrays_they_stand_for():
    kernels = {
        "wrapped": ("(Tensor x, float y) -> Tensor", lambda x, y: x * y),
        "wrapped.arrays": ("(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y),
        "wrapped.anything": ("(Any x) -> Tensor", lambda x: np.zeros(3)),
    }
    for name, (text, kernel) in kernels.items():
        define(f"namespacetests::{name}{text}", kernel)
    wrapped = ops.namespacetests.wrapped
    wrapped.default.register_fake(lambda x, y: np.empty_like(x))
    wrapped.default.register_autograd(lambda ctx, g: (g * ctx.y, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "y", inputs[1]))
    for _ in range(2):
        assert np.array_equal(dispatch.vmap(lambda x: wrapped(x, 2.0))(np.ones((4, 3))), np.full((4, 3), 2.0))
        assert np.array_equal(dispatch.vmap(lambda x: wrapped(x, x))(np.ones((4, 3))), np.full((4, 3), 2.0))
        assert np.array_equal(dispatch.grad(lambda x: np.sum(wrapped(x, y=3.0)))(A), np.full(3, 3.0))
        with dispatch.FakeTensorMode() as mode:
            assert wrapped(mode.from_array(A), 2.0).shape == (3,)
    escaped = []
    dispatch.vmap(lambda x: escaped.append(x) or x)(np.ones((4, 3)))
    for call in (lambda: wrapped(escaped[0]), lambda: wrapped(escaped[0], 2.0), lambda: wrapped(x=escaped[0])):
        with pytest.raises(EscapedValueError):
            call()
    assert np.array_equal(dispatch.vmap(lambda x: wrapped(x, 2.0))(np.ones((4, 3))), np.full((4, 3), 2.0))


def test_an_operator_of_several_overloads_is_copied_to_itself(pick):
    assert copy.copy(pick) is pick
    assert copy.deepcopy([pick])[0] is pick


def test_an_argument_may_have_any_name():
    define("namespacetests::named(float self, float args=1.0) -> str", lambda self, args: "self")
    define("namespacetests::named.types(str keywords) -> str", lambda keywords: keywords)
    assert ops.namespacetests.named(self=1.0, args=2.0) == "self"
    assert ops.namespacetests.named(keywords="keywords") == "keywords"
