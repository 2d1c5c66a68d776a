"""Operators by name, and several overloads of one."""

import copy
import pickle
import sys
import types

import numpy as np
import pytest

from dispatch import OpOverload, custom_op, ops
from dispatch.core import DispatchKey
from dispatch.errors import ArgumentError, DefinitionError, DispatchError, OperatorNotFoundError, SchemaError
from dispatch.operators import Namespace, Operator, add, alias, build, find
from dispatch.schema import Schema
from dispatch.tables import SECOND_NAMES
from dispatch.tags import Tag

A = np.arange(3.0)


def define(text, kernel, module=__name__, place="here.py:1"):
    op = build(Schema.parse(text))
    op.register_at(DispatchKey.CPU, kernel)
    return add(op, module, place)


@custom_op("operatortests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """Scale an array."""
    return x * factor


@pytest.fixture(scope="module")
def pick():
    define("operatortests::pick(Tensor x) -> str", lambda x: "array")
    define("operatortests::pick.number(float x) -> str", lambda x: "number")
    define("operatortests::pick.pair(Tensor x, float y) -> str", lambda x, y: "pair")
    return ops.operatortests.pick


# -- by name ---------------------------------------------------------------------------------------------------------------


def test_an_operator_with_one_overload_is_that_overload():
    assert ops.operatortests.scale is scale
    assert ops.operatortests.scale.default is scale
    assert find("operatortests::scale") is scale
    assert isinstance(scale, OpOverload)
    assert ops.operatortests.scale is ops.operatortests.scale


def test_an_operator_with_several_is_found_by_the_name_of_the_overload(pick):
    assert isinstance(pick, Operator)
    assert pick.overloads() == ["default", "number", "pair"]
    assert pick.default is find("operatortests::pick")
    assert pick.number is find("operatortests::pick.number")
    assert pick.number.name == "operatortests::pick.number"
    assert repr(pick).splitlines() == [repr(pick.default), repr(pick.number), repr(pick.pair)]


def test_a_second_overload_is_seen_where_the_first_one_was_looked_up_before():
    define("operatortests::late(Tensor x) -> str", lambda x: "first")
    first = ops.operatortests.late
    assert first(A) == "first"
    define("operatortests::late.second(int x) -> str", lambda x: "second")
    assert ops.operatortests.late(3) == "second"
    assert ops.operatortests.late(A) == "first" == first(A)


NOT_FOUND = [
    (lambda: ops.operatortets, "there is no namespace 'operatortets'. Did you mean 'operatortests'? Namespaces: "),
    (lambda: ops.operatortests.scal, "there is no operator operatortests::scal. Did you mean 'scale'"),
    (lambda: ops.operatortests.quux, "there is no operator operatortests::quux. Operators: "),
    (lambda: ops.np.sine, "there is no operator np::sine. Did you mean 'sin"),
    (lambda: find("np::sine"), "there is no operator np::sine. Did you mean 'sin"),
    (lambda: find("nq::sin"), "there is no namespace 'nq'. Did you mean 'np'? Namespaces: "),
    (lambda: ops.operatortests.pick.numbr, "operatortests::pick has no overload 'numbr'. Did you mean 'number'? Overloads: default, number, pair."),
    (lambda: find("operatortests::pick.quux"), "operatortests::pick has no overload 'quux'. Overloads: default, number, pair."),
]  # fmt: skip


@pytest.mark.parametrize(("look", "message"), NOT_FOUND)
def test_a_name_that_nobody_has_defined(look, message, pick):
    with pytest.raises(OperatorNotFoundError) as caught:
        look()
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, AttributeError)


def test_an_overload_that_a_single_operator_does_not_have():
    with pytest.raises((OperatorNotFoundError, AttributeError)) as caught:
        find("operatortests::scale.other")
    assert "operatortests::scale has no" in str(caught.value)
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
    assert {"np", "operatortests"} <= set(dir(ops))
    assert {"sin", "add"} <= set(dir(ops.np))
    assert scale in list(ops.operatortests)
    assert {op.name for op in ops} >= {"np::sin", "operatortests::scale"}
    assert all(isinstance(op, OpOverload) for op in ops)
    assert repr(ops.operatortests) == f"<namespace operatortests: {len(dir(ops.operatortests))} operators>"
    assert repr(ops) == f"<operators of {', '.join(dir(ops))}>"


def test_a_long_list_of_operators_is_cut():
    namespace = Namespace("long")
    namespace._operators.update({f"op{i:02}": Operator(f"long::op{i:02}") for i in range(30)})
    with pytest.raises(OperatorNotFoundError) as caught:
        namespace.something_else
    assert str(caught.value).endswith("op18, op19, ....")


# -- overloads -------------------------------------------------------------------------------------------------------------


def test_the_overload_whose_types_fit_runs(pick):
    assert pick(A) == "array"
    assert pick(3.0) == "number"
    assert pick(A, 3.0) == pick(x=A, y=3) == "pair"


def test_a_call_that_fits_none_lists_why_each_was_passed_over(pick):
    with pytest.raises(ArgumentError) as caught:
        pick("text")
    assert str(caught.value).splitlines() == [
        "operatortests::pick: no overload fits the call.",
        "  operatortests::pick: argument 'x' is Tensor, and was given a str. builtins.str is no array type that is known here.",
        "  operatortests::pick.number: argument 'x' is float, and was given a str.",
        "  operatortests::pick.pair(x, y): 'y' must be given.",
    ]


def test_a_call_that_fits_two_is_refused_in_whatever_order_they_were_defined():
    for first, second in ("ab", "ba"):
        define(f"operatortests::fits{first}.{first}(float x) -> str", lambda x: "float")
        define(f"operatortests::fits{first}.{second}(int x) -> str", lambda x: "int")
        both = getattr(ops.operatortests, f"fits{first}")
        assert both(2.5) == "float"
        with pytest.raises(ArgumentError) as caught:
            both(2)
        full = [f"operatortests::fits{first}.{name}" for name in (first, second)]
        assert str(caught.value) == (
            f"operatortests::fits{first}: the call fits {full[0]} and {full[1]}. Name the overload: {full[0]}."
        )


# -- defining --------------------------------------------------------------------------------------------------------------


def test_a_name_belongs_to_the_module_that_defined_it_first():
    define("operatortests::owned(Tensor x) -> str", lambda x: "mine", "one.module", "one.py:3")
    with pytest.raises(DefinitionError) as caught:
        define("operatortests::owned(Tensor x) -> str", lambda x: "stolen", "another.module", "another.py:7")
    assert str(caught.value) == (
        "operatortests::owned is defined already, by one.module (one.py:3); another.module (another.py:7) defines it again. "
        "Take another name or another namespace."
    )
    assert ops.operatortests.owned(A) == "mine"


def test_the_same_module_replaces_its_operator_and_old_handles_call_the_new_one():
    old = define("operatortests::again(Tensor x) -> str", lambda x: "old")
    old.register_fake(lambda x: "fake")
    assert old(A) == "old"
    new = define("operatortests::again(Tensor x, int n=3) -> str", lambda x, n: f"new {n}")
    assert new is old is ops.operatortests.again
    assert old(A) == "new 3"
    assert old(A, n=4) == "new 4"
    assert old.table.source(DispatchKey.FAKE) is None  # the rules of the old definition are gone with it
    assert str(old.schema) == "operatortests::again(Tensor x, int n=3) -> str"


def test_a_redefinition_that_fails_leaves_the_old_operator():
    @custom_op("operatortests::steady", mutates_args=())
    def steady(x: np.ndarray) -> np.ndarray:
        return x + 1

    with pytest.raises(DefinitionError):
        custom_op("operatortests::steady", lambda x, y: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(SchemaError):
        custom_op("operatortests::steady", lambda x: x, mutates_args=(), schema="(Tensr x) -> Tensor")
    assert np.array_equal(steady(A), A + 1)


def test_tags_are_kept():
    op = build(Schema.parse("operatortests::tagged(Tensor x) -> Tensor"), (Tag.pointwise,))
    assert op.tags == (Tag.pointwise,)
    assert ops.np.sin.tags == (Tag.pointwise,)


# -- pickle and copy -------------------------------------------------------------------------------------------------------


def test_an_operator_is_pickled_and_copied_by_its_name():
    for op in (scale, ops.np.sin, ops.np.sum):
        assert pickle.loads(pickle.dumps(op)) is op
        assert copy.deepcopy(op) is op
        assert copy.copy(op) is op


def test_loading_an_operator_imports_the_module_that_defines_it(monkeypatch):
    made = []

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None if name != "operatortests_elsewhere" else types.SimpleNamespace(
                name=name, loader=Finder, origin=None, submodule_search_locations=None, cached=None, has_location=False, parent=""
            )  # fmt: skip

        @staticmethod
        def create_module(spec):
            return types.ModuleType(spec.name)

        @staticmethod
        def exec_module(module):
            made.append(define("operatortests::elsewhere(Tensor x) -> str", lambda x: "found", module.__name__))

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    __import__("operatortests_elsewhere")
    data = pickle.dumps(made[0])
    monkeypatch.delitem(sys.modules, "operatortests_elsewhere")
    assert pickle.loads(data)(A) == "found"
    assert len(made) == 2


def test_an_operator_keeps_the_name_and_the_document_of_its_function():
    assert scale.__name__ == "scale"
    assert scale.__doc__ == "Scale an array."
    assert scale.__module__ == __name__
    assert scale.__wrapped__(A) is not None
    assert ops.np.sin.__name__ == "sin"


def test_a_second_name_is_the_same_operator():
    for name, op in SECOND_NAMES.items():
        args = (A + 1, A + 2)[: sum(not a.has_default for a in op.schema.arguments)]
        assert np.array_equal(op(*args), getattr(np, name)(*args))
        assert getattr(ops.np, name) is op
        assert find(f"np::{name}") is op
        assert name in dir(ops.np)
    assert len(list(ops.np)) == len({op.name for op in ops.np})


def test_a_second_name_that_is_taken():
    with pytest.raises(DefinitionError) as caught:
        alias(ops.np.sin, "cos")
    assert str(caught.value) == "np::cos is the name of another operator and cannot be one of np::sin too."
    with pytest.raises(DefinitionError):
        alias(ops.np.sin, "abs")
    alias(ops.np.absolute, "abs")  # once more is no harm
