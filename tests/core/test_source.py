"""Where things are: the place of a function through any wrapping, and the code that called."""

import functools
import sys
import types

import numpy as np
import pytest

from dispatch import ops
from dispatch.core import source as module
from dispatch.core.source import Line, caller, here, innermost, library_function, line, raised_at, where

FILE = __file__.rpartition("/")[2]


def plain(x):
    return x


def deeper(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        return fn(*args)

    return wrapper


class Owner:
    def method(self):
        """Bound or not, one place."""

    @classmethod
    def of_class(cls):
        """The same."""

    @staticmethod
    def static():
        """The same."""


class Kernel:
    def __call__(self, x):
        return x


class Quiet:
    """Callable through its type's C slot alone."""

    __call__ = len


def place(fn):
    return f"{FILE}:{fn.__code__.co_firstlineno}"


@pytest.mark.parametrize(
    ("fn", "inner"),
    [
        (plain, plain),
        (functools.partial(plain, 1), plain),
        (functools.partial(functools.partial(plain), x=1), plain),
        (deeper(plain), plain),
        (deeper(deeper(plain)), plain),
        (functools.lru_cache(plain), plain),
        (Owner().method, Owner.method),
        (Owner.of_class, Owner.of_class.__func__),
        (Owner.static, Owner.static),
        (staticmethod(plain), plain),
        (Kernel(), Kernel.__call__),
        (functools.partial(Kernel()), Kernel.__call__),
    ],
)
def test_the_place_is_that_of_the_innermost_function(fn, inner):
    assert innermost(fn) is inner
    assert where(fn) == place(inner)


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (np.sin, "<ufunc sin>"),
        (functools.partial(np.add, 1), "<ufunc add>"),
        (len, "<builtin len>"),
        (dict, "<class dict>"),
        (Kernel, "<class Kernel>"),
        (str.upper, "<method_descriptor upper>"),
        (np.zeros(3), "<ndarray object>"),
        (3, "<int object>"),
        ("broadcast_all", "'broadcast_all'"),
    ],
)
def test_what_has_no_python_code_says_what_it_is(fn, text):
    assert where(fn) == text


def test_a_wrapper_of_itself_ends():
    def fn():
        pass

    fn.__wrapped__ = fn
    assert where(fn) == place(fn)


def test_the_caller_is_the_code_outside_the_package():
    found = caller()
    assert found.module == __name__
    assert found.place == f"{FILE}:{test_the_caller_is_the_code_outside_the_package.__code__.co_firstlineno + 1}"


def test_frames_of_the_package_are_passed_over():
    inside = types.FunctionType(
        compile("lambda caller: caller()", "inside.py", "eval").co_consts[0], {"__name__": module.__name__ + ".sub"}
    )
    namesake = types.FunctionType(inside.__code__, {"__name__": module.__name__.partition(".")[0] + "_other"})
    assert inside(caller).place.startswith(FILE)
    assert namesake(caller) == (namesake.__globals__["__name__"], "inside.py:1")


def test_code_without_a_module_name_is_outside():
    nameless = types.FunctionType(compile("lambda caller: caller()", "inside.py", "eval").co_consts[0], {})
    assert nameless(caller) == ("?", "inside.py:1")


def test_the_line_that_raised_is_the_innermost_of_ours():
    def fails():
        return ops.np.reshape(np.ones(3), (2,))

    with pytest.raises(ValueError, match="cannot reshape") as raised:
        fails()
    line = raised_at(raised.value)
    assert line.function == "fails"
    assert line.text == "return ops.np.reshape(np.ones(3), (2,))"
    assert raised_at(ValueError()) is None


def test_the_line_that_runs_is_remembered():
    known, found = {}, []
    while len(found) < 2:
        found.append((here(known), line()))
    assert found[0][0] is found[1][0]
    assert found[0][0] == found[0][1]
    assert here(known) != found[0][0]


def test_a_line_prints_with_its_text_where_that_can_be_read():
    found = line()
    assert str(found) == f"{FILE}:{found.number}, in {found.function}: found = line()"
    assert str(Line("nowhere.py", 3, "f")) == "nowhere.py:3, in f"


def test_a_line_of_code_that_only_a_loader_has_can_be_read():
    class Loader:
        def get_source(self, name):
            return "def f(line):\n    return line()  # of the loader\n"

    names = {"__name__": "loaded", "__loader__": Loader()}
    exec(compile(Loader().get_source("loaded"), "loaded_nowhere.py", "exec"), names)
    assert names["f"](line).text == "return line()  # of the loader"


def test_the_function_of_a_library_is_the_outermost_that_has_its_name_there(monkeypatch):
    library = types.ModuleType("shelf.books")
    code = "def _inner(ask): return ask()\ndef opened(ask): return wrapper(ask)\ndef wrapper(ask): return _inner(ask)"
    exec(code, found := {"__name__": "shelf.books._pages"})
    library.opened, library.closed = found["opened"], found["wrapper"]
    monkeypatch.setitem(sys.modules, "shelf.books", library)
    assert library_function("shelf") is None
    inside = eval("lambda: ask('shelf')", {"__name__": "dispatch.asked", "ask": library_function})  # a frame of this package
    assert inside() is None
    assert library.opened(inside) == ("shelf.books", "opened")
    assert library.closed(inside) == ("shelf.books", "")


class Compiler:
    def format_code_name(self, name):
        return ("Cell", "In[3]") if name.endswith("2855729523.py") else None


def test_code_of_a_notebook_is_placed_by_its_cell(monkeypatch):
    shell = types.SimpleNamespace(compile=Compiler())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    scope = {}
    exec(compile("\ndef f(x): ...", "/tmp/ipykernel_1/2855729523.py", "exec"), scope)
    assert where(scope["f"]) == "cell In[3]:2"
    assert module.file_of("/tmp/kernels.py") == "kernels.py"
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert where(scope["f"]) == "2855729523.py:2"
