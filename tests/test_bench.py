"""The benchmarks' machinery, on made-up timings: nothing here depends on how fast a machine is."""

import ast
import doctest
import importlib
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import table, timing, workload
from bench.call import comparison, figures
from bench.peers import PEERS, MissingPeerError, load
from bench.questions import questions
from bench.timing import Case, Timing

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench"


def bench(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_listing_names_every_file_that_asks_and_its_question():
    listed = bench()
    assert listed.returncode == 0
    asking = {
        path.stem
        for path in FOLDER.glob("*.py")
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in ast.parse(path.read_text()).body)
    }
    assert set(questions()) == asking - {"__main__"}
    for name, question in questions().items():
        assert any(
            line.split() == ["python", "-m", "bench", name, *question.split()] for line in listed.stdout.splitlines()
        )


def test_listing_imports_no_peer():
    code = "import sys, bench.__main__ as b; b.main([]); print({'torch', 'plum', 'autograd'} & set(sys.modules))"
    listed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert listed.stdout.splitlines()[-1] == "set()"


def test_question_that_nobody_asks_is_refused_by_name():
    refused = bench("cal")
    assert refused.returncode == 2
    assert refused.stderr == f"No question is named cal. Those asked here: {', '.join(questions())}.\n"


def test_peer_that_is_not_there_is_refused_by_name():
    refused = bench("call", "tensorflow")
    assert refused.returncode == 1
    assert refused.stderr == f"No peer is named tensorflow. Those here: {', '.join(PEERS)}.\n"


def test_peer_not_installed_is_left_out_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "plum", None)
    monkeypatch.delitem(sys.modules, "bench.peers.plum", raising=False)
    with pytest.raises(MissingPeerError) as refused:
        load("plum")
    assert str(refused.value) == ('plum is left out: plum is not installed. It comes with `pip install -e ".[bench]"`.')


def test_each_peer_has_a_file_with_the_same_names():
    for name in PEERS:
        body = ast.parse((FOLDER / "peers" / f"{name}.py").read_text()).body
        bound = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        bound |= {target.id for node in body if isinstance(node, ast.Assign) for target in node.targets}
        assert {"label", "cases"} <= bound, name


@pytest.mark.parametrize("name", ["dispatch", "python", "singledispatch"])
def test_cases_of_a_peer_run_and_are_known_to_the_table(name):
    cases = load(name).cases()
    assert set(cases) <= set(workload.NAMES)
    for case in cases.values():
        with case.within():
            case.function()()


def test_ours_can_do_every_case():
    assert set(load("dispatch").cases()) == set(workload.NAMES)


def test_table_gives_each_case_a_line_for_each_peer_that_has_it():
    timings = {
        ("dispatch", "2 arrays"): Timing(50.0, 30.0),
        ("torch_custom_op", "2 arrays"): Timing(8030.0, 30.0),
        ("dispatch", "vmap"): Timing(3000.0),
    }
    lines = comparison(timings, {"dispatch": "ours", "torch_custom_op": "theirs"}).splitlines()
    assert lines[0].split() == ["case", "who", "ns", "over", "its", "kernel", "to", "torch", "custom_op"]
    assert [line.split() for line in lines[2:]] == [
        ["2", "arrays", "ours", "50.0", "20.0", "1/400"],
        ["2", "arrays", "theirs", "8", "030", "8", "000", "1.0"],
        ["vmap", "ours", "3", "000", "-", "-"],
    ]


def test_figures_are_taken_over_the_kernel_and_over_the_plain_call():
    timings = {
        ("dispatch", "2 arrays"): Timing(50.0, 30.0),
        ("dispatch", "2 arrays by keyword"): Timing(130.0, 100.0),
        ("torch_custom_op", "2 arrays"): Timing(1030.0, 30.0),
        ("dispatch", "fake"): Timing(5000.0),
    }
    seen = {figure.name: (figure.seen, figure.verdict) for figure in figures(timings)}
    assert seen["2 arrays, over the kernel"] == (20.0, "ok")
    assert seen["2 arrays, share of torch custom_op"] == (2.0, "over")
    assert seen["arrays by keyword, more than by position"] == (80.0, "over")
    assert seen["fake call"] == (5000.0, "over")
    assert seen["vmap(op) with a rule"] == (None, "not measured")


def test_verdicts_print_every_figure_with_its_bound():
    block = table.verdicts([table.Figure("a call", 40.0, 40), table.Figure("another", 41.0, 40, "us")])
    assert [line.split() for line in block.splitlines()[2:]] == [
        ["a", "call", "40.0", "<=", "40", "ns", "ok"],
        ["another", "41.0", "<=", "40", "us", "over"],
    ]


def test_every_round_times_every_case_and_the_fastest_batch_is_kept(monkeypatch):
    batches = []

    def seconds(watch):
        batches.append(watch.statement)
        return watch.number * (len(batches) if watch.statement == "f()" else 1) * 1e-3

    monkeypatch.setattr(timing.Stopwatch, "seconds", seconds)
    timings = timing.measure({"f": Case("f()", {}, "g()"), "h": Case("h()", {})}, rounds=3)
    assert batches == ["f()", "h()", "g()"] + 3 * ["f()", "g()", "h()"]
    assert timings["h"] == Timing(pytest.approx(1e6))
    assert timings["f"] == Timing(pytest.approx(4e6), pytest.approx(1e6))
    assert timings["f"].over == timings["f"].cost == pytest.approx(3e6)


def test_what_a_case_needs_is_open_while_it_is_timed():
    opened = []

    @contextmanager
    def within():
        opened.append("in")
        yield
        opened.append("out")

    watch = timing.Stopwatch("log.append('run')", {"log": opened}, within, 0.0)
    assert opened[0] == "in"
    assert opened[-1] == "out"
    assert set(opened[1:-1]) == {"run"}
    assert watch.fastest == float("inf")


@pytest.mark.parametrize("name", ["table", "workload", "imports"])
def test_examples_of_the_machinery_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(f"bench.{name}"))
    assert (failed, tried > 0) == (0, True)
