"""Traces in files: another process finds them, whatever is damaged is no entry, and nothing that has changed is found."""

import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from children import ROOT
from holders import HOLDERS, READS, generated, same, x

import dispatch
from dispatch.compiler.capture import Options, walked
from dispatch.compiler.dynamic_shapes import open_layout
from dispatch.compiler.entry_files import HEAD, digest, entry_text, head_of, key_of, read_entry, versions
from dispatch.errors import DefinitionError, PerformanceWarning
from dispatch.graph.serialize import MARK, signed

W = np.full(3, 2.0)


def files_in(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def first_call(f, folder, *args, **options):
    """A new compiled function's first call: the result, and its entry."""
    compiled = dispatch.compile(f, cache_dir=folder, **options)
    result = compiled(*args)
    return result, compiled.entries[-1]


def step(a, rate=0.5):
    return np.tanh(a * W) * rate + np.sum(a)


# -- across processes ----------------------------------------------------------------------------------------------------------

MODULE = '''
import dataclasses
import numpy as np, dispatch

@dispatch.custom_op("entry_files::twice", mutates_args=())
def twice(a: np.ndarray) -> np.ndarray:
    return a * 2

@twice.register_fake
def _(a):
    return np.empty_like(a)

@twice.register_autograd
def _(ctx, g):
    return twice(g)

@dataclasses.dataclass
class Layer:
    w: np.ndarray
    kind: str = "tanh"
    def __call__(self, a):
        return np.tanh(a @ self.w) if self.kind in {"tanh", "th"} else a

layers = [Layer(np.eye(3)), Layer(np.full((3, 3), 0.5), "none")]

def loss(a, rate):
    for layer in layers:
        a = layer(a)
    return np.mean(twice(a)) * rate

@dispatch.compile
def again(a):
    return np.cos(a) * layers[0].w[0]

gradient = dispatch.grad(loss)

def loops(a):
    return dispatch.fori_loop(0, 3, lambda i, s: s * a + i, a)
'''

CHILD = '''
import pathlib, pickle, sys, numpy as np, dispatch, entry_files_module as m
for f, args in ((m.loss, (np.arange(3.0), 0.5)), (m.gradient, (np.arange(3.0), 0.25)), (m.loops, (np.arange(3.0),))):
    compiled = dispatch.compile(f, cache_dir=sys.argv[1], fullgraph=True)
    result = compiled(*args)
    entry, = compiled.entries
    print(bool(entry.place), entry.unkept, np.array_equal(result, f(*args)), str(compiled.explain()).count("loaded from"))
plain = dispatch.compile(m.loss)
plain(np.ones(3), 0.5)
m.again(np.ones(3))
pathlib.Path(sys.argv[2]).write_bytes(pickle.dumps((plain, m.again)))
'''
AFTER = '''
import pathlib, pickle, sys
plain, again = pickle.loads(pathlib.Path(sys.argv[2]).read_bytes())
import numpy as np, entry_files_module as m
print(plain(np.zeros(3), 0.25) == m.loss(np.zeros(3), 0.25), np.array_equal(again(np.zeros(3)), np.eye(3)[0]), again is m.again)
print([entry.place for entry in plain.entries + again.entries])
'''


def child(folder, seed, code):
    """A process that runs the module's functions, compiled."""
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, "-W", "error", "-c", code, str(folder / "cache"), str(folder / f"pickle{seed}")]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_a_second_process_does_not_trace_and_two_at_once_do_no_harm(tmp_path):
    (tmp_path / "entry_files_module.py").write_text(MODULE)
    both = [child(tmp_path, seed, CHILD) for seed in ("1", "2")]
    for done in both:
        said, error = done.communicate(timeout=120)
        assert done.returncode == 0, error
        assert said.count("  True") == 3, said  # nothing unkept, and what the function gives
    assert [path.suffix for path in files_in(tmp_path / "cache")] == [".entry"] * 3
    (tmp_path / "pickle1").rename(tmp_path / "pickle3")
    said, error = child(tmp_path, "3", AFTER + CHILD).communicate(timeout=120)
    assert said == "True True True\n['a pickle', 'a pickle']\n" + "True  True 1\n" * 3, error
    assert len(files_in(tmp_path / "cache")) == 3


# -- what is found and what is not ---------------------------------------------------------------------------------------------


def test_a_second_call_of_the_kind_is_loaded_and_says_so(tmp_path):
    result, entry = first_call(step, tmp_path, x)
    assert (entry.place, entry.unkept) == ("", "")
    (first,) = files_in(tmp_path)
    compiled = dispatch.compile(step, cache_dir=str(tmp_path), fullgraph=True, verify=1)
    np.testing.assert_array_equal(compiled(x), result)
    np.testing.assert_array_equal(compiled(x + 1, 0.5), step(x + 1, 0.5))
    said = str(compiled.explain())
    assert f"loaded from {first}" in said
    assert said.startswith("step: traced 1 times, loaded 1 times, 8 at most")
    assert compiled.entries[0].traced.captured == ["W"]
    assert np.array_equal(compiled(x * 2), step(x * 2))


def test_one_folder_for_all_programs_gives_each_its_own(tmp_path):
    """Holders, reads and values of the contract's test, each in a world of its own: none may find another's trace."""
    wrong, loaded = [], 0
    values = itertools.cycle(["0.5", "2", "np.ones(3)", "2.0", "-0.0", "np.full(3, 2.0)", "True"])
    before = "np.array([1, 2, 3])"
    for holder, read in itertools.product(HOLDERS, READS):
        value = next(values)
        for now in (value, before, value):
            places = []
            if not same(outcome(holder, read, now, None, []), outcome(holder, read, now, tmp_path, places)):
                wrong.append((holder, read, now))
        loaded += any(places)
        before = value
    assert not wrong
    assert loaded > 150


def outcome(holder, read, value, folder, places):
    """What a program gives that is made anew, as it is or compiled with a folder; the class of its exception."""
    f, _ = generated(holder, read, (value,))()
    compiled = f if folder is None else dispatch.compile(f, cache_dir=folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compiled(x)
    except Exception as error:
        found = type(error).__name__
    places += [entry.place for entry in compiled.entries] if folder else []
    return found


def test_values_that_the_graph_holds_are_compared(tmp_path):
    mask = np.array([True, False, True])

    def masked(a):
        return a[mask]

    def decided(a, n):
        return a * n if n > 0 else -a

    for _ in range(2):
        for number in (2.0, -2.0, 0.0, -0.0, 3.0):
            np.testing.assert_array_equal(first_call(decided, tmp_path, x, number)[0], decided(x, number))
        for bits in range(8):
            mask[:] = [bits & 1, bits & 2, bits & 4]
            for options in ({}, {"captured": "compared"}, {"captured": "constant"}):
                np.testing.assert_array_equal(first_call(masked, tmp_path, x, **options)[0], masked(x))
    assert first_call(decided, tmp_path, x, 3.0)[1].place
    assert first_call(masked, tmp_path, x)[1].place
    assert not first_call(decided, tmp_path, x, 4.0)[1].place


def test_another_version_finds_nothing(tmp_path, monkeypatch):
    first_call(step, tmp_path, x)
    assert first_call(step, tmp_path, x)[1].place
    for change in (lambda: ("another",), lambda: (*versions(), 1)):
        monkeypatch.setattr("dispatch.compiler.entry_files.versions", change)
        assert not first_call(step, tmp_path, x)[1].place
        monkeypatch.undo()
    assert [versions()[i] for i in (0, 3)] == [dispatch.__version__, sys.version]
    assert versions()[2][0] == np.__version__


def test_an_operator_that_is_defined_again_is_traced_again(tmp_path):
    kernels, fakes = (lambda a: a * 2, lambda a: a * 3), (lambda a: np.empty_like(a), lambda a: np.zeros_like(a))
    for i, (kernel, fake) in enumerate(itertools.product(kernels, fakes)):
        op = dispatch.custom_op("entry_files::again", kernel, mutates_args=(), schema="(Tensor a) -> Tensor")
        op.register_fake(fake)
        result, entry = first_call(lambda a: op(np.ones(3)) + op(a), tmp_path, x)  # noqa: B023  it is called here
        np.testing.assert_array_equal(result, kernel(np.ones(3)) + kernel(x))
        assert (bool(entry.place), entry.unkept) == (i > 1, "")  # the kernel is called anew: its graph is that of the first


def test_a_users_kernel_is_called_when_the_graph_runs_and_not_before(tmp_path):
    ran = []

    @dispatch.custom_op("entry_files::noted", mutates_args=())
    def noted(a: np.ndarray) -> np.ndarray:
        ran.append(1)
        return a * 2

    noted.register_fake(lambda a: np.empty_like(a))

    def f(a):
        return a + noted(np.ones(3))

    compiled = dispatch.compile(f, cache_dir=tmp_path, fullgraph=True)
    compiled.explain(x)
    assert ran == []
    np.testing.assert_array_equal(compiled(x), x + 2)
    noted.register_kernel("cpu", lambda a: a * 5)
    np.testing.assert_array_equal(compiled(x), x + 5)


def test_open_lengths_writes_and_engines(tmp_path):
    def centred(a):
        return a - np.sum(a) if a.shape[0] > 4 else a * 2

    for n in (3, 6, 9, 1):
        np.testing.assert_array_equal(first_call(centred, tmp_path, np.arange(n + 0.0), dynamic=True)[0], centred(np.arange(n + 0.0)))
    assert first_call(centred, tmp_path, np.arange(7.0), dynamic=True)[1].place

    def written(a, b):
        a += b
        return np.sum(a)

    for _ in range(2):
        a = np.ones(3)
        result, entry = first_call(written, tmp_path, a, x)
        assert (result, a.tolist()) == (9.0, [2.0, 3.0, 4.0])
    assert entry.place
    assert entry.written == (0,)
    seen = []
    engine = lambda graph, metadata: seen.append(graph) or graph
    assert np.array_equal(first_call(step, tmp_path, x, 0.5, backend=engine)[0], step(x))
    entry = first_call(step, tmp_path, x, 0.5, backend=engine)[1]
    assert entry.place
    assert len(seen) == 2


def test_the_lines_of_a_loaded_graph_are_where_the_code_is_now(tmp_path):
    text = "def f(a):\n    return np.sin(a) + 1"
    for file in ("<one>", "<other>", "<one>"):
        exec(compile(text, file, "exec"), world := {"np": np, "__name__": "moved"})
        entry = first_call(world["f"], tmp_path, x)[1]
        assert {node.source.file for node in entry.traced.graph.nodes if node.op} == {file}
    assert entry.place


# -- what cannot be kept -------------------------------------------------------------------------------------------------------


def test_what_is_not_kept_runs_compiled_and_explain_says_why(tmp_path):
    words = {"a", "b"}
    compiled = dispatch.compile(lambda a: a * len(words), cache_dir=tmp_path, fullgraph=True)
    np.testing.assert_array_equal(compiled(x), x * 2)
    said = "not kept for other processes: it refers to a set of other things than numbers, whose order is another in each process"
    assert said in str(compiled.explain())
    assert files_in(tmp_path) == []
    alone = dispatch.compile(lambda a: a * len(words), fullgraph=True)
    assert (alone(x).shape, "other processes" in str(alone.explain())) == ((3,), False)  # nobody asked for files

    asks = dispatch.compile(lambda a: a * (2 if hasattr(np, "no_such_name") else 3), cache_dir=tmp_path, fullgraph=True)
    np.testing.assert_array_equal(asks(x), x * 3)
    assert asks.entries[0].unkept == "its trace has asked for numpy.no_such_name, which is not there"
    assert files_in(tmp_path) == []

    class Kept:
        pass

    kept = Kept()
    returned = dispatch.compile(lambda a: (a * 2, kept), cache_dir=tmp_path, fullgraph=True)
    assert returned(x)[1] is kept
    assert "not kept for other processes: the graph cannot be saved: its outputs hold a Kept" in str(returned.explain())
    assert pickle.loads(pickle.dumps(dispatch.compile(step)))(x).shape == (3,)


def test_an_operator_that_the_code_does_not_name_is_not_kept(tmp_path):
    op = dispatch.custom_op("entry_files::named", lambda a: a * 2, mutates_args=(), schema="(Tensor a) -> Tensor")
    op.register_fake(lambda a: np.empty_like(a))
    call = walked(lambda a: op(a), (x,), {}, Options())
    key = key_of(call, Options())
    assert key.covered == {op.name}
    compiled = dispatch.compile(lambda a: op(a), fullgraph=True)
    compiled(x)
    entry = compiled.entries[0]
    with pytest.raises(Exception, match="which its code does not name"):
        head_of(call, key._replace(covered=set()), entry.traced, "")


def test_a_folder_that_takes_nothing_is_a_reason_and_no_error(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(DefinitionError, match="is a file"):
        dispatch.compile(step, cache_dir=place)
    folder = tmp_path / "folder"
    first_call(step, folder, x)
    (file,) = files_in(folder)
    file.unlink()
    file.mkdir()
    result, entry = first_call(step, folder, x)
    np.testing.assert_array_equal(result, step(x))
    assert "it could not be written" in entry.unkept
    assert files_in(folder) == []
    for wrong in (3, b"a", ["a"]):
        with pytest.raises(DefinitionError, match="cache_dir is the path of a folder, and"):
            dispatch.compile(step, cache_dir=wrong)


def test_a_folder_is_not_filled_with_the_entries_of_one_key(tmp_path, monkeypatch):
    monkeypatch.setattr("dispatch.compiler.entry_files.MOST_ENTRIES", 2)

    def decided(a, n):
        return a * n if n > 0 else -a

    entries = [first_call(decided, tmp_path, x, n)[1] for n in (1.0, 2.0, 3.0)]
    assert entries[2].unkept.startswith("there are 2 entries for such calls, in ")
    assert [bool(entry.unkept) for entry in entries] == [False, False, True]
    assert len(files_in(tmp_path)) == 2
    assert [bool(first_call(decided, tmp_path, x, n)[1].place) for n in (1.0, 2.0, 3.0)] == [True, True, False]


def test_threads_that_write_one_entry(tmp_path):
    done = []
    threads = [threading.Thread(target=lambda: done.append(first_call(step, tmp_path, x)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, step(x)) for result in done)
    assert len(done) == 4
    assert [path.suffix for path in files_in(tmp_path)] == [".entry"]


# -- damage --------------------------------------------------------------------------------------------------------------------


def known_entry(options):
    call = walked(step, (x, 0.5), {}, options)
    key = key_of(call, options)
    compiled = dispatch.compile(step, fullgraph=True, dynamic=options.dynamic)
    compiled(x, 0.5)
    traced = compiled.entries[0].traced
    return call, key, entry_text(head_of(call, key, traced, "a call"), traced.graph)


def test_a_damaged_text_is_no_entry():
    call, key, text = known_entry(Options())
    found, said = read_entry(text, call, key, Options())
    assert (said, len(found.graph.nodes)) == ("a call", len(dispatch.Graph.loads(text.split("\n", 2)[2]).nodes))
    data = text.encode()
    damaged = [data[:n] for n in range(0, len(data), 3)] + [data + b"x", data + b"\n", b"\0" * len(data), data[1:], data * 2]
    damaged += [data[:i] + bytes([data[i] ^ 1 << i % 7]) + data[i + 1 :] for i in range(0, len(data), 2)]
    damaged += [data.replace(b"entry 1", b"entry 2"), data.replace(HEAD.encode(), b""), data.replace(b"\n", b"\r\n")]
    for one in damaged:
        if one.decode("utf-8", "replace") != text:
            assert read_entry(one.decode("utf-8", "replace"), call, key, Options()) is None


def test_a_damaged_file_is_traced_and_written_again(tmp_path):
    first_call(step, tmp_path, x)
    (file,) = files_in(tmp_path)
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"\xff" * 100, whole.replace(b"tanh", b"sinh"), pickle.dumps(os.getcwd)):
        file.write_bytes(damaged)
        result, entry = first_call(step, tmp_path, x)
        np.testing.assert_array_equal(result, step(x))
        assert (entry.place, entry.unkept) == ("", "")
        assert file.read_bytes() == whole
    file.with_name("writing-left").write_bytes(b"")
    assert first_call(step, tmp_path, x)[1].place == str(file)


LIES = {
    "decided": [[0], [99], [-1], ["a"], None, [1.5], {}], "as_inputs": [False, None, 1, "yes"], "quiet": [None, 1, "no"], "values": ["", None, 3],
    "files": [[], None, [1], ["a"] * 9, {}], "call": [None, 3, []],
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_lies_with_a_right_digest_neither_runs_code_nor_raises(dynamic):
    options = Options(dynamic=True, layout=open_layout) if dynamic else Options()
    call, key, text = known_entry(options)
    _, head, graph = text.split("\n", 2)

    def forged(head, graph):
        rest = f"{head}\n{graph}"
        return f"{HEAD}{digest(rest)}\n{rest}"

    assert read_entry(forged(head, graph), call, key, options) is not None
    for name, values in LIES.items():
        for value in values:
            assert read_entry(forged(json.dumps(json.loads(head) | {name: value}), graph), call, key, options) is None, (name, value)
    for other in ("", "[]", "null", "{}", "1", "{", "__import__('os')"):
        assert read_entry(forged(other, graph), call, key, options) is None
    random_numbers = random.Random(0)
    lines = [line.rpartition(MARK)[0] for line in graph.splitlines()]
    for _ in range(300):
        changed = list(lines)
        i = random_numbers.randrange(len(lines))
        kind = random_numbers.randrange(4)
        if kind == 0:
            del changed[i]
        elif kind == 1:
            changed[i] = changed[random_numbers.randrange(len(lines))]
        elif kind == 2:
            changed[i] = changed[i].replace(*random_numbers.choice([("3", "4"), ("x", "y"), ("float64", "float32"), ("tanh", "sin")]))
        else:
            at = random_numbers.randrange(len(lines[i]) + 1)
            changed[i] = lines[i][:at] + random_numbers.choice("()',0axW \\\"#[]{}-") + lines[i][at + 1 :]
        read_entry(forged(head, signed(changed)), call, key, options)  # a graph of another program, perhaps, but no exception
    taken = signed([line.replace("(3,)", "(4,)") for line in lines])
    assert dynamic or read_entry(forged(head, taken), call, key, options) is None


def test_no_warning_where_nothing_runs_as_it_is(tmp_path, recwarn):
    for _ in range(2):
        first_call(step, tmp_path, x)
    assert not [w for w in recwarn if issubclass(w.category, PerformanceWarning)]


def test_a_folder_that_cannot_be_made_is_told_once_and_the_function_is_compiled(tmp_path):
    (tmp_path / "file").write_text("")
    compiled = dispatch.compile(step, cache_dir=tmp_path / "file" / "folder")
    with pytest.warns(PerformanceWarning) as caught:
        results = [compiled(np.zeros(n)) for n in (3, 3, 1)]
    assert [str(each.message) for each in caught] == [
        f"compile: nothing is kept in cache_dir={str(tmp_path / 'file' / 'folder')!r}: Not a directory. Name one to write to."
    ]
    assert [same(x, step(np.zeros(n))) for x, n in zip(results, (3, 3, 1), strict=True)] == [True] * 3
    assert [entry.unkept.startswith("it could not be written") for entry in compiled.entries] == [True] * 2
