"""Operators in pickles: by name, by the modules that define them, and as a stub where they are not found."""

import copy
import functools
import pickle
import sys

import numpy as np
import pytest
from making import made

import dispatch
from dispatch import MissingOperator, Residual, custom_op, ops
from dispatch.core import DispatchKey
from dispatch.errors import OperatorNotFoundError
from dispatch.operators.pickling import load
from dispatch.operators.registry import Operator, add, build, remove
from dispatch.schema.schema import Schema

A = np.arange(3.0)


def define(text, kernel=lambda x: "found", module=__name__):
    op = build(Schema.parse(text))
    op.register_at(DispatchKey.CPU, kernel)
    return add(op, module, "here.py:1")


@custom_op("picklingtests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


@custom_op("picklingtests::halved", mutates_args=())
def halved(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    return x / 2, 7


@custom_op("picklingtests::shifted", mutates_args=())
def shifted(x: np.ndarray, *, by: float) -> np.ndarray:
    return x + by


define("picklingtests::pair(Tensor x) -> str", lambda x: "array")
define("picklingtests::pair.number(float x) -> str", lambda x: "number")
OPERATORS = [scale, halved, halved.whole, shifted, shifted.whole, ops.np.sin, ops.np.sum, ops.picklingtests.pair, ops.picklingtests.pair.number]


def again(x, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(x, protocol))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that a pickle can name, and has not been imported."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def write(name, text):
        names.append(name)
        (tmp_path / f"{name}.py").write_text(text)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


DEFINES = """
import numpy as np
from dispatch import custom_op
@custom_op("picklingtests::{name}", mutates_args=())
def op(x: np.ndarray) -> int:
    return 5
"""


# -- what is known ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_an_operator_is_pickled_and_copied_to_itself(op, protocol):
    assert again(op, protocol) is op
    assert copy.copy(op) is op
    assert copy.deepcopy([op])[0] is op


def test_an_operator_inside_other_things_is_itself_there():
    partial = again(functools.partial(scale, factor=3.0))
    assert partial.func is scale
    assert np.array_equal(partial(A), A * 3)
    assert again({"op": [scale, (halved.whole,)]}) == {"op": [scale, (halved.whole,)]}
    assert again(halved.whole)(A)[1] == 7


def test_what_is_redefined_after_it_was_pickled_loads_as_it_is_now():
    op = define("picklingtests::changing(Tensor x) -> str")
    data = pickle.dumps(op)
    define("picklingtests::changing(Tensor x) -> str", lambda x: "changed")
    assert pickle.loads(data) is op
    assert op(A) == "changed"


def test_an_operator_that_is_known_by_no_name_cannot_be_pickled():
    private = made("(Tensor x) -> Tensor", lambda x: x)
    assert copy.copy(private) is copy.deepcopy(private) is private
    with pytest.raises(OperatorNotFoundError) as caught:
        pickle.dumps(private)
    assert str(caught.value) == "making::op cannot be pickled: it goes by its name, and is not known by it."


# -- what has to be imported -----------------------------------------------------------------------------------------------


def test_loading_imports_the_module_that_defines_the_operator(module):
    name = module("picklingtests_elsewhere", DEFINES.format(name="elsewhere"))
    op = load("picklingtests::elsewhere", (name,))
    assert op is ops.picklingtests.elsewhere is sys.modules[name].op
    assert op.defined_in.module == name


def test_loading_an_operator_of_several_overloads_imports_the_modules_of_all(module):
    modules = tuple(module(f"picklingtests_{i}", DEFINES.format(name=f"many.{i}").replace("ndarray", kind)) for i, kind in
                    (("one", "ndarray"), ("two", "dtype")))  # fmt: skip
    op = load("picklingtests::many", modules, "operator")
    assert isinstance(op, Operator)
    assert op.overloads() == ["one", "two"]
    assert pickle.dumps(op) == pickle.dumps(again(op))
    assert again(op) is op
    remove(op.two)
    assert load("picklingtests::many", (*modules, "picklingtests_absent"), "operator") is op.one


# -- what is missing -------------------------------------------------------------------------------------------------------

REASONS = [
    (("picklingtests_nomodule",), "importing picklingtests_nomodule raised ModuleNotFoundError: No module named 'picklingtests_nomodule'", "Import picklingtests_nomodule in this process first."),
    (("json",), "json is imported and does not define it", "Import json in this process first."),
    (("__main__",), "it was defined in __main__, the program or notebook of another process", "Define it in a module that this process imports."),
    ((), "no module defines it", "Define it in a module that this process imports."),
]  # fmt: skip


@pytest.mark.parametrize(("modules", "reason", "remedy"), REASONS)
def test_what_cannot_be_found_loads_as_a_stub_that_says_so_when_it_is_called(modules, reason, remedy):
    stub = load("picklingtests::missing", modules)
    assert isinstance(stub, MissingOperator)
    assert stub.name == "picklingtests::missing"
    assert repr(stub) == f"<missing operator picklingtests::missing: {reason}>"
    for use in (lambda: stub(A), lambda: stub.schema, lambda: stub.register_fake):
        with pytest.raises(OperatorNotFoundError) as caught:
            use()
        assert str(caught.value) == f"picklingtests::missing was pickled, and is not known in this process: {reason}. {remedy}"
    assert not hasattr(stub, "__wrapped__")
    assert not hasattr(stub, "kernels")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("raise ValueError", "ValueError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import nonsense_picklingtests", "ModuleNotFoundError: No module named 'nonsense_picklingtests'"),
        ("def f(:", "SyntaxError: invalid syntax (picklingtests_broken.py, line 1)"),
        ("from dispatch import custom_op\ncustom_op('picklingtests::broken', 3, mutates_args=())", "DefinitionError: picklingtests::broken: a kernel is a function, and an int was given"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_its_reason(module, text, said):
    stub = load("picklingtests::broken", (module("picklingtests_broken", text),))
    assert repr(stub) == f"<missing operator picklingtests::broken: importing picklingtests_broken raised {said}>"


def test_an_interrupt_while_a_module_is_imported_is_not_swallowed(module):
    with pytest.raises(KeyboardInterrupt):
        load("picklingtests::broken", (module("picklingtests_interrupted", "raise KeyboardInterrupt"),))


def test_a_name_that_is_none_loads_too():
    for name in ("", "scale", "a::b::c"):
        assert isinstance(load(name, ("", ".relative", "no.such.module")), MissingOperator)
        assert isinstance(load(name, (), "operator"), MissingOperator)


def test_a_stub_is_the_operator_once_that_is_defined():
    stub, whole, several = (load("picklingtests::later", ("json",), kind) for kind in ("overload", "whole", "operator"))
    op = define("picklingtests::later(Tensor x, *, int n=3) -> int", lambda x, n: n)
    assert stub(A, n=4) == several(A, n=4) == whole(A, 4) == 4
    assert stub.schema is op.schema
    assert (repr(stub), repr(several)) == (repr(op), repr(op))
    assert again(stub) is op
    assert again(whole) is op.whole
    remove(op)
    with pytest.raises(OperatorNotFoundError):
        stub(A)


def test_a_stub_is_pickled_to_what_it_came_from_and_copied_to_itself():
    stub = load("picklingtests::missing", ("json",), "whole")
    assert pickle.dumps(again(stub)) == pickle.dumps(stub)
    assert again(stub) == stub
    assert copy.copy(stub) is copy.deepcopy([stub])[0] is stub


def test_stubs_are_equal_where_they_stand_for_the_same():
    stub = load("picklingtests::missing", ("json",))
    same, whole, other = load("picklingtests::missing", ()), load("picklingtests::missing", (), "whole"), load("picklingtests::mizzing", ())
    assert stub == same
    assert hash(stub) == hash(same)
    assert len({stub, same, whole, other}) == 3
    assert stub != "picklingtests::missing"


def test_an_operator_that_was_removed_is_pickled_and_comes_back_with_its_module(module):
    name = module("picklingtests_removed", DEFINES.format(name="removed"))
    op = load("picklingtests::removed", (name,))
    remove(op)
    stub = again(op)
    assert repr(stub) == f"<missing operator picklingtests::removed: {name} is imported and does not define it>"
    del sys.modules[name]
    assert again(op) is again(stub) is sys.modules[name].op is not op
    assert stub(A) == 5


def test_the_stub_is_among_the_public_names():
    assert dispatch.MissingOperator is MissingOperator
