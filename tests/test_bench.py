"""The benchmarks' machinery, on made-up timings: nothing here depends on how fast a machine is."""

import ast
import doctest
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import planted_slowdowns
import pytest

from bench import compare, engines, hottest, instructions, kept, row_table, rows, table, timing, workload
from bench.call import comparison, figures
from bench.cases import cases
from bench.peers import PEERS, MissingPeerError, load
from bench.questions import questions
from bench.timing import Case, Timing
from bench.whole import cells
from bench.whole.twelve import PROGRAMS

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench"
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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


@pytest.mark.autograd
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_autograds_kind_gives_the_same_as_with_autograd(name):
    pytest.importorskip("scipy")
    autograd_programs = importlib.import_module("bench.autograd_programs")
    assert autograd_programs.apart(name) < autograd_programs.TOLERANCE


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


@pytest.mark.parametrize("name", ["table", "workload", "imports", "kept"])
def test_examples_of_the_machinery_hold(name):
    failed, tried = doctest.testmod(importlib.import_module(f"bench.{name}"))
    assert (failed, tried > 0) == (0, True)


# ------------------------------------------------------------------------------------------------ what is kept, and compared
BUILDS = {"CPython": "3.11.7", "NumPy": "2.4.6"}


def section(kind="ratios", *, builds=BUILDS):
    shown, most, portable = {"ratios": (1.25, 2, True), "instructions": (1.05, 1.05, False)}[kind]
    return kept.Section(kind, "3.11", shown, most, portable, builds)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "kept.json"


def keep(file, kind, **cases):
    kept.save(section(kind), cases, whole=True, file=file)


def report(capsys, *args, **options):
    """Whether a run may be, and the lines that are printed of it, without the spaces that align them."""
    capsys.readouterr()
    may_be = kept.compare(*args, **options)
    return may_be, [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_what_moved_by_more_than_a_quarter_is_printed_and_above_twice_fails(file, capsys):
    keep(file, "ratios", same=2.0, fast=2.0, slow=2.0, slower=2.0)
    seen = {"same": 2.4, "fast": 1.5, "slow": 2.6, "slower": 4.1}
    may_be, lines = report(capsys, section(), seen, file=file)
    assert not may_be
    assert lines == [
        "ratios kept now change",
        lines[1],
        "fast 2.00 1.50 -25.0% less",
        "slow 2.00 2.60 +30.0% more",
        "slower 2.00 4.10 +105.0% fails",
        "",
        "4 ratios compared with those kept for CPython 3.11: 3 moved by more than 25%, 1 went up by more than 100%.",
    ]
    assert report(capsys, section(), {**seen, "slower": 3.9}, file=file)[0]
    assert "same 2.00 2.40 +20.0%" in report(capsys, section(), seen, everything=True, file=file)[1]


def test_instructions_fail_at_five_percent_more_and_never_at_less(file, capsys):
    keep(file, "instructions", plain=1000)
    for count, may_be in [(1049, True), (1051, False), (900, True)]:
        assert report(capsys, section("instructions"), {"plain": count}, file=file)[0] is may_be


def test_instructions_under_other_builds_are_printed_and_do_not_fail(file, capsys):
    keep(file, "instructions", plain=1000)
    other = section("instructions", builds=BUILDS | {"NumPy": "2.5.0", "valgrind": "3.19"})
    may_be, lines = report(capsys, other, {"plain": 1200}, file=file)
    assert may_be
    assert "plain 1 000 1 200 +20.0% fails" in lines
    assert lines[-3:] == [
        "They were kept with other builds, so nothing fails:",
        "NumPy: 2.4.6 then, 2.5.0 now",
        "valgrind: none then, 3.19 now",
    ]


def test_ratios_under_other_builds_fail_all_the_same(file, capsys):
    keep(file, "ratios", plain=1.0)
    may_be, lines = report(capsys, section(builds=BUILDS | {"NumPy": "2.5.0"}), {"plain": 3.0}, file=file)
    assert not may_be
    assert lines[-2:] == ["They were kept with other builds:", "NumPy: 2.4.6 then, 2.5.0 now"]


def test_case_that_is_not_kept_is_named_and_does_not_fail(file, capsys):
    keep(file, "ratios", plain=1.0)
    may_be, lines = report(capsys, section(), {"plain": 1.0, "documented": 31.5}, file=file)
    assert may_be
    assert lines[0] == "documented is new: 31.5. --save keeps it."


def test_version_that_is_not_kept_is_said_and_does_not_fail(file, capsys):
    may_be, lines = report(capsys, section(), {"plain": 1.0}, file=file)
    assert may_be
    assert lines[0] == "No ratios are kept for CPython 3.11. --save keeps these:"
    assert lines[-1] == "plain 1.00"


def test_saving_some_cases_leaves_the_others_and_saving_all_drops_what_is_gone(file):
    keep(file, "ratios", plain=1.0, gone=2.0)
    keep(file, "instructions", plain=900)
    kept.save(section(), {"plain": 1.5}, whole=False, file=file)
    assert kept.read(file)["ratios"]["3.11"] == {"builds": BUILDS, "cases": {"plain": 1.5, "gone": 2.0}}
    keep(file, "ratios", plain=1.0)
    assert kept.read(file)["ratios"]["3.11"]["cases"] == {"plain": 1.0}
    assert kept.read(file)["instructions"]["3.11"]["cases"] == {"plain": 900}


def test_saving_some_cases_beside_those_of_other_builds_is_refused(file):
    keep(file, "ratios", plain=1.0, other=2.0)
    before = file.read_text()
    with pytest.raises(SystemExit) as refused:
        kept.save(section(builds=BUILDS | {"NumPy": "2.5.0"}), {"plain": 1.0}, whole=False, file=file)
    assert str(refused.value) == (
        "The other ratios were kept with other builds:\n  NumPy: 2.4.6 then, 2.5.0 now\nSave all, without --only."
    )
    assert file.read_text() == before


def test_the_builds_name_the_compilers_of_our_modules():
    found = kept.builds()
    assert found["CPython"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "/" not in found["CPython"]
    assert "unknown" not in found.values()


def test_the_file_keeps_no_case_and_no_version_that_is_gone():
    supported = {line.rpartition(" ")[2] for line in METADATA["classifiers"] if re.search(r":: 3\.\d+$", line)}
    found = kept.read(kept.FILE)
    assert set(found["ratios"]) <= supported
    assert {key.split()[0] for key in found["instructions"]} <= supported
    for kind, names in [("ratios", set(cases())), ("instructions", set(instructions.HOTTEST))]:
        for key, one in found[kind].items():
            assert set(one["cases"]) <= names, (kind, key)


def test_hottest_calls_are_cases_of_the_table():
    assert set(instructions.HOTTEST) <= set(cases())


def test_a_loop_that_is_counted_runs_its_statement_so_many_times():
    seen = []
    hottest.loop_of(Case("f(1)", {"f": seen.append}))(7)
    assert seen == [1] * 7


def test_instructions_of_a_call_are_the_difference_of_two_loops(monkeypatch):
    """Callgrind is played: it writes what it counted before each mark, in the order of the marks."""

    def run(command, **options):
        assert command[-2:] == ["a", "b"]
        out = next(word.partition("=")[2] for word in command if word.startswith("--callgrind-out-file="))
        for place, total in enumerate([10**9, 5_000, 9_000, 50_000, 7_000, 13_500], start=1):
            Path(f"{out}.{place}").write_text(f"events: Ir\ntotals: {total}\n")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(hottest, "RUNS", 10)
    assert instructions.counts("valgrind", ["a", "b"]) == {"a": 400, "b": 650}


def test_process_that_fails_under_valgrind_shows_what_it_said(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, "", "no such call"))
    with pytest.raises(RuntimeError, match="no such call"):
        instructions.counts("valgrind", ["a"])


def test_without_valgrind_the_way_to_it_is_said(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    instructions.main([])
    assert capsys.readouterr().out == (
        "valgrind is not installed, so no instructions are counted. On Debian and Ubuntu it comes with "
        "`apt-get install valgrind`.\n"
    )
    with pytest.raises(SystemExit, match="valgrind is not installed"):
        instructions.main(["--save"])


@pytest.mark.parametrize(("question", "said"), [("compare", "No case's name holds chian"), ("instructions", "No call's name holds chian")])
def test_word_that_no_case_holds_is_refused(question, said):
    refused = bench(question, "--only", "chian")
    assert refused.returncode == 1
    assert said in refused.stderr


def test_compare_measures_each_case_in_bare_calls_a_part(monkeypatch):
    made = {"short": Case("f()", {}), "long": Case("g()", {}, "kernel()", parts=100)}
    monkeypatch.setattr(compare, "cases", lambda: made)

    def measure(timed, rounds, **options):
        assert {name: case.kernel for name, case in timed.items()} == {"short": "_bare(_x, _y)", "long": "_bare(_x, _y)"}
        assert all("_bare" in case.names for case in timed.values())
        return {"short": Timing(50.0, 25.0), "long": Timing(50_000.0, 25.0)}

    monkeypatch.setattr(compare, "measure", measure)
    assert compare.ratios(["short", "long"]) == {"short": 2.0, "long": 20.0}


def test_slowdowns_that_are_planted_find_their_place():
    """tests/planted_slowdowns.py builds and measures them; here each is only written."""
    core, tape = ((ROOT / name).read_text() for name in (planted_slowdowns.CORE, planted_slowdowns.TAPE))
    assert "\n    (<object>self).schema\n" in planted_slowdowns.more_in_the_core(core)
    slower = planted_slowdowns.more_in_the_tape(tape, 7)
    assert "\n        while True:\n            planted(7)\n" in slower
    assert planted_slowdowns.CHAIN in cases()


@pytest.mark.parametrize("row", row_table.ROWS, ids=lambda row: row.name)
def test_the_gradient_by_hand_of_each_row_is_ours(row):
    _, by_hand = rows.kernels(row, *rows.given(row, 3))
    _, gradient = rows.ours(row, *rows.given(row, 3))
    np.testing.assert_allclose(row.compared(gradient()), row.compared(by_hand()), rtol=1e-9, atol=1e-12)


def took(kernels, ours, hips, torch):
    seen = {"kernels": kernels, "dispatch": ours, "HIPS": hips, "torch": torch}
    return {(who, what): us * 1e3 for who, us in seen.items() for what in (rows.FORWARD, rows.BOTH)}


def test_a_row_that_is_slower_is_named_with_numpys_part_in_it():
    small, large = rows.SIZES
    seen = {("sin", small): took(1, 2, 8, 3), ("sin", large): took(9, 10, 11, 4), ("sort", small): took(1, 9, 8, 3), ("sort", large): took(9, 30, 31, 32)}
    assert rows.slower(seen) == [
        "sin is slower: forward at 10000 2.50 of torch, and so are NumPy's calls alone; and backward at 10000 2.50 of torch, and so are NumPy's calls alone.",
        "sort is slower: forward at 3 1.12 of HIPS; forward at 3 3.00 of torch; and backward at 3 1.12 of HIPS; and backward at 3 3.00 of torch.",
    ]
    found = {figure.name: (round(figure.seen, 2), figure.verdict) for figure in rows.figures(seen)}
    assert found["rows slower than HIPS and torch"] == (1, "over")
    assert found["slower than either, where NumPy's calls alone are not"] == (1, "ok")
    assert found["median to HIPS at 3, forward"] == (0.69, "over")
    assert found["most above NumPy's calls at 10000"] == (21.0, "over")
    assert found["most of the time of HIPS at 10000, forward"] == (0.97, "ok")


def test_without_peers_a_row_is_measured_alone():
    seen = {("sin", n): {key: ns for key, ns in took(1, 2, 8, 3).items() if key[0] in ("kernels", "dispatch")} for n in rows.SIZES}
    assert rows.slower(seen) == []
    assert {figure.verdict for figure in rows.figures(seen)} == {"ok", "not measured"}
    assert rows.comparison({"sin": seen["sin", 3]}, 3).splitlines()[-1].split() == ["sin", "1.0", "2.0", "-", "-", "-", "1.0", "2.0", "-", "-", "-"]


def test_what_the_modes_of_compile_may_take_is_of_numpy_and_of_the_best_of_the_others():
    name = "chain of 20, roots, 1e+05"
    seen = {name: {"numpy": 4.0, "exact": 3.0, "fast": 1.0, "jax.jit": 0.5, "torch": 2.0}}
    assert [(x.name, x.seen, x.bound, x.verdict) for x in engines.figures(seen)] == [
        (f"{name}: exact, of NumPy", 0.75, 0.7, "over"),
        (f"{name}: fast, of the best", 2.0, 1.5, "over"),
    ]
    small = "chain of 20, roots, 1e+03"  # there the two compilers count alone
    assert [x.seen for x in engines.figures({small: {"numpy": 1.0, "exact": 1.0, "fast": 3.0, "jax.jit": 2.0}})] == [1.0, 1.5]
    assert engines.figures({"chain of 20, roots, 1e+01": {"numpy": 1.0, "exact": 9.0, "fast": 9.0}}) == []


@pytest.mark.parametrize("name", ["roots", "sines", "heat", "mlp", "logsumexp", "softmax", "distances", "black_scholes"])
def test_a_program_of_the_engines_table_gives_compiled_what_it_gives_with_numpy(name, monkeypatch):
    monkeypatch.setattr(cells, "STEPS", 3)
    arrays = next(cell for cell in engines.CELLS.values() if cell.program == name).arrays()
    arrays = arrays if name == "mlp" else tuple(x[:7] for x in arrays)
    found, expected = (cells.maker(column)(name, arrays)() for column in ("exact", "numpy"))
    np.testing.assert_array_equal(found, expected)
