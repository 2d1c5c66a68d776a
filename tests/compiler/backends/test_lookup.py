"""Modes and backends: which engine runs what, and which words contradict each other."""

import importlib.util
import re

import numpy as np
import pytest

import dispatch
from dispatch.compiler.backends import lookup
from dispatch.errors import DefinitionError, PerformanceWarning, UnsupportedError


def f(x):
    return np.sin(x) * 2.0


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        (
            {"mode": "exact", "backend": "torch"},
            UnsupportedError,
            "compile: mode='exact' gives the bits of the function, by replay, and the backend 'torch' has its own roundings. Leave one",
        ),
        ({"mode": "exact", "backend": f}, UnsupportedError, "compile: mode='exact' gives the bits of the function, by replay, and the backend "),
        ({"mode": "fast", "backend": "replay"}, UnsupportedError, "compile: the backend 'replay' is what mode='exact' is. Leave one of the two out."),
        ({"mode": "quick"}, DefinitionError, "compile: mode is 'exact' or 'fast', and was given as 'quick'."),
        ({"backend": "troch"}, DefinitionError, "there is no backend 'troch'. Backends: jax, replay, torch."),
        (
            {"mode": "fast", "dynamic": True},
            UnsupportedError,
            "compile(dynamic=True) was asked of an engine, and open sizes are run by mode='exact'. Leave one of the two out.",
        ),
        (
            {"backend": "jax", "dynamic": True},
            UnsupportedError,
            "compile(dynamic=True) was asked of the backend 'jax', and open sizes are run by mode='exact'. Leave one of the two out.",
        ),
    ],
)
def test_words_that_contradict_each_other_are_refused(options, error, said):
    with pytest.raises(error, match="^" + re.escape(said)):
        dispatch.compile(f, **options)


@pytest.mark.parametrize("options", [{}, {"mode": "exact"}, {"backend": "replay"}, {"mode": "exact", "backend": "replay"}])
def test_exact_is_the_default(options):
    assert lookup.backend_of(options.get("mode"), options.get("backend")) is lookup.replay
    x = np.linspace(0, 3, 7)
    np.testing.assert_array_equal(dispatch.compile(f, **options)(x), f(x))


@pytest.mark.parametrize(
    ("there", "chosen"),
    [({"torch", "jax", "g++"}, ["jax", "torch"]), ({"torch", "g++"}, ["torch"]), ({"torch", "jax"}, ["jax"]), ({"jax", "g++"}, ["jax"])],
)
def test_fast_chooses_from_torch_with_a_compiler_and_jax(monkeypatch, there, chosen):
    ran = []

    def made(name):
        return lookup.Registered(name, lambda graph, metadata: ran.append(name) or graph, lambda node: True)

    monkeypatch.setattr(lookup, "_backends", {name: made(name) for name in ("torch", "jax")})
    monkeypatch.setattr(lookup, "_is_there", lambda name: name in there)
    monkeypatch.setattr(lookup.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.delenv("CXX", raising=False)
    np.testing.assert_array_equal(dispatch.compile(f, mode="fast")(np.ones(2)), f(np.ones(2)))
    assert sorted(ran) == chosen


def test_a_rival_gets_parts_all_of_whose_calls_it_claims_and_that_are_not_long(monkeypatch):
    ran = []

    def made(name, *claimed):
        return lookup.Registered(name, lambda graph, metadata: ran.append(name) or graph, lambda node: node.op.schema.name in claimed)

    graph, x = dispatch.make_fx(lambda x: np.linalg.det(np.sin(x) * 2.0))(np.ones((2, 2))), [np.ones((2, 2))]
    first, second, third = made("first", "sin", "multiply"), made("second", "sin", "multiply", "add"), made("third", "sin")
    expected = graph(*x)
    run = first.program(graph, [], chooses=True, rivals=[second, third])
    assert sorted(ran) == ["first", "second"]
    assert lookup.pieces_of(run)[0].said() == ["2 calls, np::sin, np::multiply: runs by 'first' or 'second', once a first call has held it to NumPy"]
    assert run(*x) == expected
    assert re.fullmatch(
        "2 calls, np::sin, np::multiply: (runs by '(first|second)'|is replayed, which took less time on the first call than 'first' and 'second')",
        *lookup.pieces_of(run)[0].said(),
    )
    monkeypatch.setattr(lookup, "MOST_SHARED", 1)
    ran.clear()
    first.program(graph, [], chooses=True, rivals=[second, third])
    assert ran == ["first"]


def test_fast_without_an_engine_replays_and_says_so(monkeypatch):
    monkeypatch.setattr(lookup, "_is_there", lambda name: False)
    run = dispatch.compile(f, mode="fast")
    with pytest.warns(PerformanceWarning, match=r"^compile\(mode='fast'\) found no engine, and calls are replayed as with mode='exact'"):
        np.testing.assert_array_equal(run(np.ones(2)), f(np.ones(2)))
    np.testing.assert_array_equal(run(np.ones(2)), f(np.ones(2)))


def test_an_engine_is_there_if_it_can_be_imported(monkeypatch):
    assert lookup._is_there("numpy")
    assert lookup._is_there("torch") == (importlib.util.find_spec("torch") is not None)
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    assert not lookup._is_there("numpy")
    assert not lookup._is_there("no_such_module")


def test_a_backend_is_of_calls_that_it_claims(monkeypatch):
    monkeypatch.setattr(lookup, "_backends", {})
    seen = []

    @dispatch.register_backend("sines", claims=lambda node: node.op is dispatch.ops.np.sin)
    def sines(graph, metadata):
        seen.append((graph.nodes, metadata))
        return graph

    x = np.linspace(0, 3, 7)
    np.testing.assert_array_equal(dispatch.compile(f, backend="sines")(x), f(x))
    ((nodes, metadata),) = seen
    assert [node.name for node in nodes] == ["x", "sin"]
    assert metadata[0].shape == (7,)
    assert lookup.list_backends() == ["replay", "sines"]


def named(monkeypatch, claims):
    made = lookup.Registered("made", lambda graph, metadata: graph, claims)
    monkeypatch.setattr(lookup, "_backends", {"made": made})


def test_explain_says_of_each_piece_which_engine_took_it_and_why_not(monkeypatch):
    named(monkeypatch, lambda node: node.op.name != "np::linalg_det")

    def g(x, y):
        np.copyto(y, 2.0)
        return np.linalg.det(np.exp(x) + 1.0) * np.ones(3), x.T

    run = dispatch.compile(g, backend="made")
    x = np.eye(2)
    lines = [line.strip() for line in str(run.explain(x, np.ones(2))).splitlines()]
    assert "3 calls, np::setitem, np::exp, np::add: runs by 'made', once a first call has held it to NumPy" in lines
    run(x, np.ones(2))
    lines = [line.strip() for line in str(run.explain()).splitlines()]
    assert "3 calls, np::setitem, np::exp, np::add: runs by 'made'" in lines
    not_computed = "1 call, np::linalg_det: replayed, for 'made' does not compute it as NumPy does, of these dtypes and arguments"
    assert not_computed in lines
    assert any("np::setitem_: replayed, for 'made' takes no call that writes, draws or has an effect" in line for line in lines)
    assert "1 call, np::transpose: replayed, for 'made' makes no views, and this one is seen outside of it, or written to" in lines


def test_explain_names_a_few_operators_of_a_piece_and_counts_the_others(monkeypatch):
    named(monkeypatch, lambda node: True)
    many = [np.sin, np.cos, np.tan, np.exp, np.log1p, np.sqrt, np.cbrt, np.arctan]

    def g(x):
        for f in many:
            x = f(x)
        return x

    said = str(dispatch.compile(g, backend="made").explain(np.ones(2)))
    assert "8 calls, np::sin, np::cos, np::tan, np::exp, np::log1p, np::sqrt and 2 more: runs by 'made'" in said
    assert "calls, np::" not in str(dispatch.compile(g).explain(np.ones(2)))  # all of it is replayed


@pytest.mark.parametrize("workers", [1, 3])
def test_what_an_engine_leaves_is_replayed_by_as_many_threads(monkeypatch, workers):
    named(monkeypatch, lambda node: False)
    run = dispatch.compile(f, backend="made", workers=workers)
    run(np.ones(3))
    (piece,) = lookup.pieces_of(run.entries[0].run)
    assert piece.replayed.workers == workers
