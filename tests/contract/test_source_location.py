"""TestLibrarySourceLocation: where definitions, kernels and rules are written is told exactly."""

import inspect

import numpy as np
from making import said

from dispatch import custom_op
from dispatch.errors import DefinitionError, LibraryError, OperatorNotFoundError
from dispatch.library import Library, define, impl, register_fake

X = np.ones(3)


def line():
    """The line of the caller, as messages write it."""
    return f"test_source_location.py:{inspect.currentframe().f_back.f_lineno}"  # noqa: TID251 - the oracle of where.py


def test_library_source_location(ns, lib, ops):
    """An operator knows the line of its definition; kernels and rules know the lines of their functions; errors name them.

    Differs: defining again
    """
    lib.define("foo(Tensor x) -> Tensor")
    defined = line()

    def kernel(x):
        return x * 1

    def rule(x):
        return np.empty_like(x)

    lines = [f"test_source_location.py:{f.__code__.co_firstlineno}" for f in (kernel, rule)]
    lib.impl("foo", kernel, "CPU")
    register_fake(f"{ns}::foo", rule, lib=lib)
    assert int(ops.foo.defined_in[1].partition(":")[2]) == int(defined.partition(":")[2]) - 1
    assert ops.foo.defined_in[0] == __name__
    places = {key: place for key, _, place in ops.foo.kernels.rows}
    assert [places["CPU"], places["FAKE"]] == lines
    assert lines[0] in said(lambda: lib.impl("foo", kernel, "CPU", allow_override=False), LibraryError)
    assert lines[1] in said(lambda: register_fake(ops.foo, rule, allow_override=False), DefinitionError)
    lib.destroy()
    owner = Library(f"{ns}_owned", "DEF")
    owned = int(line().partition(":")[2]) - 1
    other = {"__name__": "another", "Library": Library}
    message = said(lambda: exec(f"Library('{ns}_owned', 'DEF')", other), LibraryError)
    assert message == (
        f"the namespace '{ns}_owned' has its DEF library, made by {__name__} (test_source_location.py:{owned}); another "
        "(<string>:1) makes another. There is one a process: use 'FRAGMENT'."
    )
    again = Library(f"{ns}_owned", "DEF")  # of the module that owns it
    owner.destroy()
    again.destroy()
    gone = Library(ns, "FRAGMENT")
    gone.define("bar(Tensor x) -> Tensor")
    op = ops.bar
    gone.destroy()
    assert f"the library that defined it ({gone.place}) was destroyed" in said(lambda: op(X), OperatorNotFoundError)


def test_function_source_location(ns, ops):
    """Definitions without a library know their lines too, through decorators and define as through custom_op."""

    @custom_op(f"{ns}::one", mutates_args=())
    def one(x: np.ndarray) -> np.ndarray:
        return x * 1

    define(f"{ns}::two", "(Tensor x) -> Tensor")
    defined = line()

    @impl(f"{ns}::two", "cpu")
    def two(x):
        return x * 1

    assert one.kernels.rows[-1][2] == f"test_source_location.py:{one.__wrapped__.__code__.co_firstlineno}"
    assert int(ops.two.defined_in[1].partition(":")[2]) == int(defined.partition(":")[2]) - 1
    assert ops.two.kernels.rows[-1][2] == f"test_source_location.py:{two.__code__.co_firstlineno}"
