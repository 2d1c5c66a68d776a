"""A compiled function pickles as its function does, by name, and takes its graphs along; test_entry_files.py has other processes."""

import functools
import pickle
import sys
import types

import numpy as np
import pytest

import dispatch
from dispatch.compiler.pickled import found_by_name

x = np.arange(1.0, 4.0)
W = np.full(3, 2.0)


def step(a, rate=0.5):
    return np.tanh(a * W) * rate + np.sum(a)


class Net:
    def __init__(self):
        self.w = np.ones(3)

    def __call__(self, a):
        return a * self.w


def test_a_pickle_of_what_no_name_finds_is_refused_by_pickle():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(dispatch.compile(lambda a: a))
    module = types.ModuleType("entry_files_other")
    sys.modules["entry_files_other"] = module
    try:
        exec("import numpy as np, dispatch\n@dispatch.compile\ndef g(a): return a * 2", vars(module))
        module.g(x)
        text = pickle.dumps(module.g)
        assert pickle.loads(text) is module.g
        module.g = None
        with pytest.raises(pickle.PicklingError, match=r"entry_files_other\.g was pickled as a compiled function, and is None here"):
            pickle.loads(text)
    finally:
        del sys.modules["entry_files_other"]


def test_an_entry_brought_by_a_pickle_is_looked_at_first(tmp_path):
    compiled = dispatch.compile(step, cache_dir=tmp_path)
    compiled(x)
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again(x), step(x))
    assert again.entries[0].place == "a pickle"


def test_what_pickles_itself_is_compiled_again_with_its_options():
    made = {"a partial": functools.partial(step, rate=2.0), "an object": Net(), "a method": Net().__call__, "an operator": dispatch.ops.np.sin}
    for name, f in made.items():
        compiled = dispatch.compile(f, fullgraph=True, verify=1)
        want = compiled(x)
        again = pickle.loads(pickle.dumps(compiled))
        np.testing.assert_array_equal(again(x), want)
        assert [entry.place for entry in again.entries] == ["a pickle"], name
        assert again.entries[0].traced.graph == compiled.entries[0].traced.graph


def test_what_cannot_go_along_is_traced_again():
    held = dispatch.compile(functools.partial(step, rate=frozenset("a").__len__() * 0.5))
    words = dispatch.compile(functools.partial(len_of, {"a", "b"}))
    for compiled in (held, words):
        want = compiled(x)
        again = pickle.loads(pickle.dumps(compiled))
        np.testing.assert_array_equal(again(x), want)
    assert [entry.place for entry in again.entries] == [""]


def len_of(words, a):
    return a * len(words)


def test_a_name_that_leads_nowhere():
    assert found_by_name("nowhere", "f") is None
    assert found_by_name(__name__, "Net.missing.more") is None
    assert found_by_name(__name__, "Net.__call__") is Net.__call__
