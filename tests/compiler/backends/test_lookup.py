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


@pytest.mark.parametrize(("there", "chosen"), [({"torch", "jax", "g++"}, "torch"), ({"torch", "jax"}, "jax"), ({"jax", "g++"}, "jax")])
def test_fast_chooses_torch_with_a_compiler_then_jax(monkeypatch, there, chosen):
    ran = []

    def made(name):
        return lookup.Registered(name, lambda graph, metadata: ran.append(name) or graph, lambda node: True)

    monkeypatch.setattr(lookup, "_backends", {name: made(name) for name in ("torch", "jax")})
    monkeypatch.setattr(lookup, "_is_there", lambda name: name in there)
    monkeypatch.setattr(lookup.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.delenv("CXX", raising=False)
    np.testing.assert_array_equal(dispatch.compile(f, mode="fast")(np.ones(2)), f(np.ones(2)))
    assert ran == [chosen]


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
