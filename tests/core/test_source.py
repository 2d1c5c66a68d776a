"""Where things are: the place of a function through any wrapping, and the code that called."""

import functools
import types

import numpy as np
import pytest

from dispatch import ops
from dispatch.core import source as room
from dispatch.core.source import caller, here, innermost, line, name_of, names_around, raised_at, where

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
        compile("lambda caller: caller()", "inside.py", "eval").co_consts[0], {"__name__": room.__name__ + ".sub"}
    )
    namesake = types.FunctionType(inside.__code__, {"__name__": room.__name__.partition(".")[0] + "_other"})
    assert inside(caller).place.startswith(FILE)
    assert namesake(caller) == (namesake.__globals__["__name__"], "inside.py:1")


def test_the_names_around_a_function_are_its_modules_its_own_and_those_of_the_functions_around():
    outer, shadowed = "outer", "outer"

    def middle():
        inner, shadowed = "inner", "inner"

        def fn():
            return outer

        found = names_around(functools.partial(fn))
        assert found[0] is globals()
        return found[1], inner, shadowed

    names, *_ = middle()
    assert (names["outer"], names["inner"], names["shadowed"]) == ("outer", "inner", "inner")
    assert shadowed == "outer"


def test_names_of_functions_that_have_returned_are_not_known():
    def outer():
        local = "local"

        def fn():
            pass

        assert names_around(fn)[1]["local"] is local
        return fn

    fn = outer()
    assert "local" not in names_around(fn)[1]


def test_a_caller_that_did_not_define_the_function_lends_no_names():
    unrelated = "unrelated"
    assert "unrelated" not in names_around(place)[1], unrelated
    assert names_around(len) == ({}, {})
    assert names_around(np.sin) == ({}, {})


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


OF_THE_MODULE = object()


def test_an_object_is_named_as_its_variable():
    local, of_the_function = object(), object()

    def inner():
        return name_of(of_the_function)

    assert name_of(local) == "local"
    assert inner() == "of_the_function"
    assert name_of(OF_THE_MODULE) == "OF_THE_MODULE"
    assert name_of(object()) == ""
