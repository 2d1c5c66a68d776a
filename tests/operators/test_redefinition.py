"""A name defined again: in silence by a module, a reload and a notebook's cell; with a word by a function that makes operators."""

import importlib
import sys
import types
import warnings

import numpy as np
import pytest

from dispatch import custom_op, ops
from dispatch.errors import RedefinitionWarning
from dispatch.library import Library, define, impl

A = np.ones(2)

FACTORY = """
import numpy as np
from dispatch import custom_op

def make(k, name="{ns}::f"):
    @custom_op(name, mutates_args=())
    def f(x: np.ndarray) -> np.ndarray:
        return x * k
    return f
"""


def said(call):
    """The warnings of a call, by their text, under the filters that Python begins with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        call()
    return [str(w.message) for w in caught if w.category is RedefinitionWarning]


def cell(code, names):
    """Run code as a notebook does: each cell a program of its own, in one module."""
    exec(compile(code, "<cell>", "exec"), names)


@pytest.fixture
def notebook():
    module = types.ModuleType("a_notebook")
    sys.modules["a_notebook"] = module
    yield vars(module)
    del sys.modules["a_notebook"]


def by_custom_op(k):
    return custom_op("again::f", lambda x: x * k, mutates_args=(), schema="(Tensor x) -> Tensor")


def by_default(k):
    def f(x: np.ndarray, *, factor: float = k) -> np.ndarray:
        return x * factor

    return custom_op("again::g", f, mutates_args=())


def by_library(k):
    lib = Library("again", "FRAGMENT")
    lib.define("h(Tensor x) -> Tensor")
    lib.impl("h", lambda x: x * k, "CPU")
    return ops.again.h


def by_names(k):
    define("again::i", "(Tensor x) -> Tensor")
    impl("again::i", "cpu", lambda x: x * k)
    return ops.again.i


def by_a_helper(k):
    def scaled(x):
        return x * k

    return custom_op("again::j", lambda x: scaled(x), mutates_args=(), schema="(Tensor x) -> Tensor")


def by_method(k):
    class Scaled:
        def run(self, x):
            return x * k

    return custom_op("again::k", Scaled().run, mutates_args=(), schema="(Tensor x) -> Tensor")


MAKERS = {
    "custom_op": (by_custom_op, "k"),
    "a default": (by_default, "factor"),
    "a library": (by_library, "k"),
    "define and impl": (by_names, "k"),
    "a helper": (by_a_helper, "scaled"),
    "a method": (by_method, "k"),
}


@pytest.mark.parametrize(("make", "name"), MAKERS.values(), ids=MAKERS)
def test_a_function_that_makes_one_name_twice_with_other_values_says_so_each_time(make, name):
    first = make(2.0)
    assert said(lambda: make(2.0)) == []  # the same again
    for k in (3.0, 2.0, 3.0):
        messages = said(lambda k=k: make(k))
        maker = "by_method.<locals>.Scaled.run".partition(".")[0] if make is by_method else make.__qualname__
        assert len(messages) == 1
        assert messages[0].startswith(f"{maker}") or make is by_method
        assert messages[0].endswith(
            f" has made {first.name} before, of the same code and another {name}: whoever holds the first calls the new one from "
            f'here on. Give each a name of its own, of what tells them apart: f"{first.name}_{{{name}}}".'
        )
        assert np.array_equal(first(A), A * k)


def test_as_an_error_it_leaves_the_first_as_it_was():
    first = by_custom_op(2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RedefinitionWarning)
        for make in (by_custom_op, by_custom_op):
            with pytest.raises(RedefinitionWarning):
                make(5.0)
    assert np.array_equal(first(A), A * 2)


@pytest.mark.parametrize(
    ("value", "other", "same"),
    [
        (np.array([2.0]), np.array([2.0]), False),
        (np.float32(2), np.float32(2), True),
        (("a", 1), ("a", 1), True),
        (("a", 1), ("a", 1.0), False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        ([1], [1], False),
        (len, len, True),
        (None, 2.0, False),
    ],
)
def test_what_counts_as_another_value(value, other, same):
    by_custom_op(value)
    assert (said(lambda: by_custom_op(other)) == []) is same


def test_names_of_their_own_and_other_code_are_defined_in_silence():
    def make(k):
        return custom_op(f"again::own_{k}", lambda x: x * k, mutates_args=(), schema="(Tensor x) -> Tensor")

    assert said(lambda: (make(2), make(3))) == []
    again = lambda: custom_op("again::two", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert said(lambda: (again(), custom_op("again::two", lambda x: x * 3, mutates_args=(), schema="(Tensor x) -> Tensor"))) == []


def test_kernels_that_cover_one_another_do_so_in_silence():
    def cover(k):
        lib = Library("again", "FRAGMENT")
        lib.impl("covered", lambda x: x * k, "CPU")
        return lib

    define("again::covered", "(Tensor x) -> Tensor")
    libs = []
    assert said(lambda: libs.extend([cover(2), cover(3)])) == []
    assert np.array_equal(ops.again.covered(A), A * 3)
    libs[1].destroy()
    assert np.array_equal(ops.again.covered(A), A * 2)


def test_a_loop_in_one_function_shares_its_variables():
    called = []

    def run():
        for _ in range(3):

            @custom_op("again::loop", mutates_args=())
            def loop(x: np.ndarray) -> np.ndarray:
                called.append(1)
                return x * 1

            loop(A)

    assert said(run) == []


def test_a_cell_that_is_run_again_defines_in_silence(notebook):
    def run():
        for k in (2.0, 3.0):
            cell(FACTORY.format(ns="cells") + f"f = make({k})\n", notebook)
            assert np.array_equal(ops.cells.f(A), A * k)
        for k in (2.0, 3.0):
            cell(
                "import numpy as np\nfrom dispatch import custom_op\n@custom_op('cells::g', mutates_args=())\n"
                f"def g(x: np.ndarray) -> np.ndarray:\n    return x * {k}\n",
                notebook,
            )
            assert np.array_equal(ops.cells.g(A), A * k)

    assert said(run) == []
    assert len(said(lambda: cell("f = make(4.0)", notebook))) == 1  # the factory of another cell
    assert said(lambda: cell("f = make(4.0)", notebook)) == []


def test_a_reload_defines_in_silence(tmp_path, monkeypatch):
    (tmp_path / "reloaded_ops.py").write_text(FACTORY.format(ns="reloaded") + "K = np.array([2.0])\nf = make(K)\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("reloaded_ops")
    try:
        assert said(lambda: importlib.reload(module)) == []
        (tmp_path / "reloaded_ops.py").write_text(FACTORY.format(ns="reloaded") + "f = make(3.0)\n" + "#" * 50)
        assert said(lambda: importlib.reload(module)) == []
        assert np.array_equal(ops.reloaded.f(A), A * 3)
        assert len(said(lambda: module.make(4.0))) == 1
    finally:
        del sys.modules["reloaded_ops"]


def written_twice(name, first, second, inside=""):
    """What the second of two functions is told that makes the operator of the first, in a module or in a function of one."""
    made = "".join(
        f"def {word}(x):\n    return x * {factor}\ncustom_op('redefinition::{name}', {word}, mutates_args=(), schema='(Tensor x) -> Tensor')\n"
        for factor, word in ((2, first), (3, second))
    )
    scope = {"__name__": __name__, "custom_op": custom_op}
    code = compile("def run():\n" + made.replace("\n", "\n ").replace("def", " def", 1) + "\nrun()" if inside else made, "<string>", "exec")
    found = said(lambda: exec(code, scope))
    assert np.array_equal(getattr(ops.redefinition, name)(A), 3 * A)
    return found


def test_a_function_of_another_name_says_which_it_takes_the_place_of():
    (found,) = written_twice("twice", "double", "triple")
    assert found == (
        "redefinition::twice was double (<string>:1), and is triple from here on, also for who holds the first. Give one of the two "
        "another name."
    )
    assert written_twice("again", "double", "double") == []


def test_a_lambda_and_what_a_function_makes_say_nothing():
    assert written_twice("inside", "double", "triple", inside="run") == []
    custom_op("redefinition::anonymous", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert said(lambda: custom_op("redefinition::anonymous", np.add.reduce, mutates_args=(), schema="(Tensor x) -> Tensor")) == []


def test_it_points_at_the_line_that_defines():
    by_custom_op(2.0)
    with pytest.warns(RedefinitionWarning) as caught:
        by_custom_op(7.0)
    assert caught[0].filename == __file__
    assert caught[0].lineno == by_custom_op.__code__.co_firstlineno + 1
