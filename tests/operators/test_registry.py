"""Operators are defined, defined again, given a second name and removed."""

import gc
import importlib
import sys
import tracemalloc

import numpy as np
import pytest

from dispatch import custom_op, ops
from dispatch.core import DispatchKey
from dispatch.errors import DefinitionError, OperatorNotFoundError, SchemaError
from dispatch.numpy_ops.rows import SECOND_NAMES
from dispatch.operators.registry import add, alias, build, find, remove
from dispatch.schema.schema import Schema
from dispatch.schema.tags import Tag

A = np.arange(3.0)


def define(text, kernel, module=__name__, place="here.py:1"):
    op = build(Schema.parse(text))
    op.register_at(DispatchKey.CPU, kernel)
    return add(op, module, place)


@custom_op("operatortests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """Scale an array."""
    return x * factor


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
    assert op.tags == [Tag.pointwise]
    assert ops.np.sin.tags == [Tag.pointwise]


def test_a_definition_knows_where_it_stands_and_how_often_it_was_made():
    op = define("operatortests::counted(Tensor x) -> str", lambda x: "a", "one.module", "one.py:3")
    assert (op.epoch, op.defined_in.module, op.defined_in.place) == (1, "one.module", "one.py:3")
    again = define("operatortests::counted(Tensor x, int n=0) -> str", lambda x, n: "b", "one.module", "one.py:9")
    assert again is op
    assert (op.epoch, op.defined_in.place) == (2, "one.py:9")


@pytest.mark.parametrize(("first", "second"), [("__main__", "__mp_main__"), ("__mp_main__", "__main__")])
def test_a_program_is_one_module_by_either_of_its_names(first, second):
    op = define(f"operatortests::from{first}(Tensor x) -> str", lambda x: "a", first)
    assert define(str(op.schema), lambda x: "b", second) is op
    assert op(A) == "b"
    with pytest.raises(DefinitionError, match=f"is defined already, by {second} "):
        define(str(op.schema), lambda x: "c", "another.module")


def test_a_program_that_is_imported_too_is_one_module(monkeypatch):
    module = type(sys)("operatortests_program")
    module.__file__ = "/somewhere/operatortests_program.py"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    op = define("operatortests::imported(Tensor x) -> str", lambda x: "a", "__main__")
    with pytest.raises(DefinitionError, match="is defined already"):
        define(str(op.schema), lambda x: "b", module.__name__)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", module.__file__, raising=False)
    assert define(str(op.schema), lambda x: "b", module.__name__)(A) == "b"


CELL = """
import numpy as np
from dispatch import custom_op
@custom_op("operatortests::cell", mutates_args=())
def cell(x: np.ndarray) -> int:
    return {number}
"""


def test_the_cells_of_a_notebook_are_one_module():
    space = {"__name__": "__main__"}
    for number in (1, 2):
        exec(compile(CELL.format(number=number), f"<ipython-input-{number}-0123456789ab>", "exec"), space)
        if number == 1:
            old = space["cell"]
            assert old.defined_in.place == "<ipython-input-1-0123456789ab>:4"
    assert space["cell"] is old
    assert old(A) == 2
    with pytest.raises(DefinitionError) as caught:
        exec(compile(CELL.format(number=3), "elsewhere.py", "exec"), {"__name__": "elsewhere"})
    assert str(caught.value) == (
        "operatortests::cell is defined already, by __main__ (<ipython-input-2-0123456789ab>:4); elsewhere (elsewhere.py:4) "
        "defines it again. Take another name or another namespace."
    )
    assert old(A) == 2


def test_a_module_that_is_loaded_anew_replaces_its_operators(tmp_path, monkeypatch):
    path = tmp_path / "operatortests_reloaded.py"
    path.write_text(CELL.format(number=1).replace("::cell", "::reloaded"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("operatortests_reloaded")
    monkeypatch.delitem(sys.modules, "operatortests_reloaded")  # at the end; reload wants it there
    sys.modules["operatortests_reloaded"] = module
    old = module.cell
    old.register_fake(lambda x: 7)
    path.write_text(CELL.format(number=22).replace("::cell", "::reloaded"))
    importlib.invalidate_caches()
    importlib.reload(module)
    assert module.cell is old is ops.operatortests.reloaded
    assert (old(A), old.epoch) == (22, 2)
    assert old.table.live(DispatchKey.FAKE) is None
    with pytest.raises(DefinitionError, match=r"by operatortests_reloaded \(operatortests_reloaded.py:4\); .*test_registry"):
        custom_op("operatortests::reloaded", lambda x: 1, mutates_args=(), schema="(Tensor x) -> int")


def test_an_overload_that_a_call_could_not_tell_from_another_is_refused_and_leaves_nothing():
    define("operatortests::told(Tensor x, int n=1) -> str", lambda x, n: "told")
    told = ops.operatortests.told
    for _ in range(2):
        with pytest.raises(DefinitionError) as caught:
            define("operatortests::told.again(Tensor y, int? k=None) -> str", lambda y, k: "again")
        assert str(caught.value) == (
            "operatortests::told.again(Tensor y, int? k=None) cannot stand beside operatortests::told(Tensor x, int n=1): the call "
            "told(Tensor) fits both, and one as exactly as the other. Change a type or the number of arguments, or require a "
            "keyword."
        )
    assert ops.operatortests.told is told
    assert told.overloads() == ["default"]
    assert define("operatortests::told.again(Tensor y, *, int? k) -> str", lambda y, k: "again").epoch == 1
    with pytest.raises(DefinitionError, match=r"the call told\(Tensor\) fits both"):
        define("operatortests::told.again(Tensor y) -> str", lambda y: "worse")
    assert ops.operatortests.told(A, k=None) == "again"
    with pytest.raises(DefinitionError):
        define("operatorteststhatarenot::f.name(Tensor x) -> str", lambda x: "")
    assert "operatorteststhatarenot" not in dir(ops)


@pytest.mark.parametrize("word", ["name", "overloads", "register_fake", "schema", "epoch", "defined_in", "whole"])
def test_an_overload_with_the_name_of_an_attribute_is_refused(word):
    with pytest.raises(DefinitionError) as caught:
        define(f"operatortests::scale.{word}(str x) -> str", lambda x: x)
    assert str(caught.value) == (
        f"operatortests::scale.{word}: an overload cannot be named {word!r}, which is an attribute of every operator. "
        "Take another name."
    )


def test_a_second_name_cannot_be_defined_as_an_operator():
    with pytest.raises(DefinitionError) as caught:
        define("np::abs.of_text(str x) -> str", lambda x: x)
    assert str(caught.value) == (
        "np::abs.of_text cannot be defined: it is a second name of np::absolute. Take another name or another namespace."
    )


# -- removing --------------------------------------------------------------------------------------------------------------


def test_what_is_removed_is_not_known_any_more_and_its_name_is_free():
    op = define("operatortests::gone(Tensor x) -> str", lambda x: "gone", "one.module")
    alias(op, "vanished")
    assert ops.operatortests.gone is op is ops.operatortests.vanished
    assert remove(op) is None
    for name in ("gone", "vanished"):
        assert name not in dir(ops.operatortests)
        assert not hasattr(ops.operatortests, name)
        with pytest.raises(OperatorNotFoundError, match=f"there is no operator operatortests::{name}"):
            find(f"operatortests::{name}")
    assert op not in list(ops.operatortests)
    remove(op)  # once more is no harm
    other = define("operatortests::gone(Tensor x, int n) -> str", lambda x, n: "other", "another.module")
    assert ops.operatortests.gone is other is not op
    assert other.epoch == 1
    remove(op)  # and takes nobody else's name away
    assert ops.operatortests.gone is other


def test_one_overload_of_several_is_removed_alone():
    whole = define("operatortests::some(Tensor x) -> str", lambda x: "array")
    number = define("operatortests::some.number(float x) -> str", lambda x: "number")
    some = ops.operatortests.some
    assert (some(A), some(2.0)) == ("array", "number")
    remove(whole)
    assert ops.operatortests.some is number is ops.operatortests.some.number
    assert some.overloads() == ["number"]
    assert some(2.0) == "number"
    with pytest.raises(TypeError, match="no overload fits the call"):
        some(A)  # what was remembered of it went with it
    remove(number)
    assert repr(some) == "operatortests::some  [no overload]"
    gone = "operatortests::some has been removed, by what had defined it. Define it again, and look it up anew."
    for use in (lambda: some(A), lambda: some.number, lambda: some(x=A)):
        with pytest.raises(OperatorNotFoundError) as caught:
            use()
        assert str(caught.value) == gone


def test_a_namespace_without_operators_says_so():
    remove(define("operatortestsempty::only(Tensor x) -> str", lambda x: ""))
    with pytest.raises(OperatorNotFoundError) as caught:
        ops.operatortestsempty.only
    assert str(caught.value) == "there is no operator operatortestsempty::only. Operators: none."
    assert list(ops.operatortestsempty) == []


# -- names and second names --------------------------------------------------------------------------------------------------


def test_an_operator_keeps_the_name_and_the_document_of_its_function():
    assert scale.__name__ == "scale"
    assert scale.__doc__ == "Scale an array."
    assert scale.__module__ == __name__
    assert scale.__wrapped__(A) is not None
    assert ops.np.sin.__name__ == "sin"


def test_a_second_name_is_the_same_operator():
    for name, row in SECOND_NAMES.items():
        op = getattr(ops.np, row)
        args: tuple[object, ...] = (A + 1, A + 2)[: sum(not a.has_default for a in op.schema.arguments)]
        args = ([A, A],) if op.schema.arguments[0].type.parts else args
        with np.errstate(all="ignore"):  # the angle whose sine is 2
            assert np.array_equal(op(*args), getattr(np, name)(*args), equal_nan=True)
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


# -- what operators share, and how much one takes --------------------------------------------------------------------------

ALONE = ["Tensor x, int n=1", "Tensor x, (int, str) n", "Tensor[] xs", "str? device"]  # a default, parts, or an option


@pytest.mark.parametrize("words", ["Tensor x", "Tensor x, *, int n", "Tensor(a!) x, /", "int n, str device", *ALONE])
def test_operators_share_the_checks_of_arguments_that_are_words_and_no_others(words):
    returns = "Tensor" if "Tensor" in words else "int"
    one, two = (build(Schema.parse(f"operatortests::{name}({words}) -> {returns}")) for name in ("one", "two"))
    assert (one.arguments is two.arguments) == (words not in ALONE)
    assert one.outputs is two.outputs
    for op in (one, two):
        given = [(a.name, (a.default,) if a.has_default else ()) for a in op.schema.arguments]
        assert given == list(zip(op.arguments.names, op.arguments.defaults, strict=True))
        assert op.arguments.positional == len(op.schema.positional)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("(Tensor x) -> Tensor", "(Tensor y) -> Tensor"),
        ("(Tensor x) -> Tensor", "(Tensor(a!) x) -> Tensor"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, float n) -> Tensor"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, *, int n) -> Tensor"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, /, int n) -> Tensor"),
    ],
)
def test_arguments_that_differ_in_a_word_or_a_mark_are_not_shared(one, two):
    one, two = (build(Schema.parse(f"operatortests::op{text}")) for text in (one, two))
    assert one.arguments is not two.arguments


@pytest.mark.parametrize("returns", ["(Tensor, Tensor)", "(Tensor, Residual)", "Tensor(a!)", "int", "()"])
def test_outputs_that_differ_are_not_shared(returns):
    one, two = (build(Schema.parse(f"operatortests::op(Tensor(a!) x) -> {text}")) for text in ("Tensor", returns))
    assert one.outputs is not two.outputs


def test_an_operator_takes_no_more_than_2_kib_beyond_its_functions():
    def functions():
        def kernel(x: np.ndarray) -> np.ndarray:
            return x * 1

        kernel.__annotations__  # a dict of the function's own, made when it is asked for
        return kernel, lambda x: x, lambda ctx, inputs, output: None, lambda ctx, g: g

    def defined(name, kernel, fake, setup_context, backward):
        op = custom_op(f"operatortests::{name}", kernel, mutates_args=())
        op.register_fake(fake)
        op.register_autograd(backward, setup_context=setup_context)

    defined("warm", *functions())
    count = 200
    given = [functions() for _ in range(count)]
    gc.collect()
    tracemalloc.start()
    try:
        for i, rules in enumerate(given):
            defined(f"sized_{i}", *rules)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / count <= 2048


def test_the_names_of_all_overloads_are_found_from_each():
    one = define("operatortests::listed(Tensor x) -> str", lambda x: "")
    assert one.overloads() == ["default"]
    two = define("operatortests::listed.more(Tensor x, int n) -> str", lambda x, n: "")
    assert one.overloads() == two.overloads() == ["default", "more"]
    remove(one)
    assert two.overloads() == ["more"]
    assert build(Schema.parse("operatortests::of_no_name(Tensor x) -> str")).overloads() == []


def test_an_operator_counts_its_definitions():
    op = define("operatortests::epochs(Tensor x) -> str", lambda x: "")
    assert op.epoch == 1
    define("operatortests::epochs(Tensor x) -> str", lambda x: "")
    assert op.epoch == 2
