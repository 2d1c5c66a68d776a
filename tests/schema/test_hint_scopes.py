"""The names that the text of a type hint may use: those of the module, of the function, and of the functions around it."""

import functools

import numpy as np

from dispatch.schema.hint_scopes import names_around


def plain(x):
    return x


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
    assert "unrelated" not in names_around(plain)[1], unrelated
    assert names_around(len) == ({}, {})
    assert names_around(np.sin) == ({}, {})
