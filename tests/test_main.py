"""The command npdispatch: what it prints, what it refuses, and how it ends."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dispatch
from dispatch import __main__ as command
from dispatch.numpy_ops import inventory
from dispatch.testing import package_checks
from dispatch.testing.operator_checks import ALL

ROOT = Path(__file__).parents[1]
FLOAT = r"-?\d+\.\d{6}"

MODULE = """
import numpy as np
from dispatch import custom_op

@custom_op("{namespace}::halve", mutates_args=())
def halve(x: np.ndarray, times: int = 1) -> np.ndarray:
    \"\"\"Divide by two.

    As often as asked.
    \"\"\"
    return x / 2**times

@custom_op("{namespace}::double_", mutates_args=["x"])
def double_(x: np.ndarray) -> None:
    x *= 2

@halve.register_fake
def _(x, times):
    return np.empty_like(x)
"""


@pytest.fixture
def library(tmp_path, monkeypatch, request):
    """A module of operators in the working directory, its name and its namespace."""
    name = f"library_of_{request.node.name.partition('[')[0]}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(namespace=name))
    monkeypatch.chdir(tmp_path)
    return name


@pytest.fixture(scope="module")
def tour():
    """The lines of the tour, with a tenth of its timing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "BATCH", command.BATCH / 10)
        lines = []
        patch.setattr("builtins.print", lambda text="": lines.extend(text.split("\n")))
        assert command.main(["tour"]) == 0
    return lines


def section(tour, number):
    """The lines under one of the tour's headings."""
    heads = [i for i, line in enumerate(tour) if re.match(r"\d  ", line)] + [len(tour)]
    return [line for line in tour[heads[number - 1] + 1 : heads[number]] if line]


def numbers(line):
    return np.array(re.findall(FLOAT, line), float)


def test_the_tour_is_under_two_screens(tour):
    assert len(tour) <= 62
    assert max(map(len, tour)) <= 100
    assert [line[0] for line in tour if re.match(r"\d  ", line)] == list("1234567")


def test_the_tour_shows_code_that_runs_and_the_schema_of_it(tour, tmp_path):
    shown = "\n".join(line[4:] for line in section(tour, 1) if "slope(y) " not in line)
    source, at, code = shown.partition("\nschema")[0].partition("@custom_op")
    assert bool(source) == (command._compiled(tmp_path) is not None)
    scope = {"np": np, "custom_op": dispatch.custom_op, "NDArray": NDArray, "c": command._compiled(tmp_path)}
    assert source.strip() == (command.C_SOURCE.strip() if source else "")
    exec((at + code).replace("tour::", "tour_as_shown::"), scope)
    assert str(scope["slope"].schema) == "tour_as_shown::slope(Tensor y, float dx=1.0) -> Tensor"
    assert "    schema     tour::slope(Tensor y, float dx=1.0) -> Tensor" in tour
    exec("\n".join(line[4:] for line in section(tour, 2)[:-5]), scope)
    assert not dispatch.testing.opcheck(scope["slope"], (dispatch.tensor(np.ones(3), requires_grad=True),)).failures


@pytest.mark.parametrize("compiler", ["", "/no/such/compiler"])
def test_without_a_compiler_the_tour_is_of_numpy(monkeypatch, tmp_path, compiler):
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(command, "BATCH", command.BATCH / 100)
    lines = []
    monkeypatch.setattr("builtins.print", lambda text="": lines.extend(text.split("\n")))
    assert command.main(["tour"]) == 0
    assert lines[0] == "1  A function of yours (no C compiler is here) and one line over it. The hints are the schema."
    assert "        return (y[..., 1:] - y[..., :-1]) / dx" in lines


def test_the_tour_shows_the_kernel_of_every_floor(tour):
    found = [line.split() for line in section(tour, 2)[-5:]]
    assert [" ".join(words[:-1]) for words in found] == [
        "VMAP vmap rule", "AUTOGRAD autograd rule", "JVP derived from the autograd rule", "FAKE fake rule", "every device kernel (CompositeExplicit)",
    ]  # fmt: skip
    source = Path(command.__file__).read_text().splitlines()
    for words in found:
        file, _, line = words[-1].partition(":")
        assert file == "__main__.py"
        assert source[int(line) - 1].strip().startswith("@")


def test_the_tour_prints_the_report_of_opcheck(tour):
    assert [line.split()[:2] for line in section(tour, 3)] == [[name, "SUCCESS"] for name in ALL]


def test_the_tour_ends_with_what_to_do_next(tour):
    steps = section(tour, 7)
    assert len(steps) == 3
    assert (ROOT / re.search(r"docs/\w+\.md", steps[0]).group()).exists()
    assert re.findall(r"npdispatch (\w+)", steps[1]) == ["list", "explain"]
    call = steps[2].partition("tests")[2].strip()
    op = dispatch.custom_op("tour_next::slope", lambda y, dx: np.diff(y) / dx, mutates_args=(), schema="(Tensor y, float dx) -> Tensor")
    op.register_fake(lambda y, dx: np.empty(y[..., 1:].shape, y.dtype))
    assert not eval(call, {"dispatch": dispatch, "np": np, "slope": op}).failures


def test_the_tour_prints_the_gradient_beside_the_numeric_one(tour):
    exact, numeric = map(numbers, section(tour, 4))
    t = np.linspace(0.0, 3.0, 7)
    slope = np.diff(np.sin(t)) / 0.5
    outward = slope / np.sqrt(1 + slope**2)  # d length / d y_i: what comes in from the left less what goes out
    assert np.allclose(exact, np.append(0, outward) - np.append(outward, 0), atol=1e-6)
    assert np.allclose(exact, numeric, atol=2e-6)


def test_the_tour_prints_a_batch_whose_first_item_is_that_gradient(tour):
    first, *others = map(numbers, section(tour, 5))
    assert np.array_equal(first, numbers(section(tour, 4)[0]))
    assert len(others) == 2


def test_the_tour_prints_the_cost_of_the_operator_beside_the_bare_call(tour):
    head, *rows, tracked = section(tour, 6)
    assert head.split() == ["call", "function", "operator", "over"]
    for row in rows:
        bare, ours, over = row.partition(") ")[2].split()
        assert float(bare) > 0
        assert abs(float(ours) - float(bare) - float(over)) <= 1
    assert len(tracked.partition(") ")[2].split()) == 2


def test_list_prints_the_operators_of_numpy(capsys):
    assert command.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "np::sin(Tensor x) -> Tensor  [cpu | autograd fake jvp vmap]" in lines
    assert lines == sorted(lines, key=lambda line: line.partition("(")[0])


def test_list_np_prints_what_stands_for_each_function(capsys):
    assert command.main(["list", "np"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert {"np.sin": "row `np::sin`", "np.average": "composite `np::average`", "np.where": "of rows"}.items() <= dict(lines).items()
    assert [name for name, _ in lines] == sorted(inventory.functions())


def test_list_prints_the_operators_that_a_module_of_the_working_directory_defines(library, capsys):
    assert command.main(["list", library]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{library}::double_(Tensor(a0!) x) -> ()  [every device | no rules]",
        f"{library}::halve(Tensor x, int times=1) -> Tensor  [every device | fake]",
    ]
    assert os.getcwd() not in sys.path


def test_explain_prints_what_runs_on_each_floor(library, capsys):
    assert command.main(["explain", f"{library}::halve", "-m", library]) == 0
    first, about, *table = capsys.readouterr().out.splitlines()
    assert first == f"{library}::halve(Tensor x, int times=1) -> Tensor  [every device | fake]"
    assert about == "    Divide by two."
    assert [" ".join(line.split()) for line in table] == [
        "VMAP the layer's default", "AUTOGRAD the layer's default", "JVP the layer's default", f"FAKE fake rule {library}.py:17",
        f"every device kernel (CompositeExplicit) {library}.py:5",
    ]  # fmt: skip


def test_explain_prints_tags_and_leaves_out_the_signature_of_a_ufunc(capsys):
    assert command.main(["explain", "np::sin"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:3] == ["    Trigonometric sine, element-wise.", "    tags: pointwise"]
    assert lines[-1].endswith("<ufunc sin>")


@pytest.mark.parametrize(("words", "status", "said"), [
    (["tuor"], 2, "npdispatch: there is no command 'tuor'. Did you mean 'tour'? Commands: tour, list, explain, check."),
    (["benchmark"], 2, "npdispatch: there is no command 'benchmark'. Commands: tour, list, explain, check."),
    (["explain", "np::tanhh"], 1, "npdispatch: there is no operator np::tanhh. Did you mean 'tanh'?"),
    (["explain", "sin"], 1, "npdispatch: "),
    (["version"], 2, "npdispatch: there is no command 'version'. Write --version. Commands: tour, list, explain, check."),
    (["list", "no_such_library"], 1, "npdispatch: there is no module 'no_such_library'. Write a name that can be imported here, or a file: ./no_such_library.py."),
    (["list", "./no_such_file.py"], 1, "npdispatch: there is no file no_such_file.py."),
    (["list", "json"], 1, "npdispatch: importing json defines no operator. Name the module or file where @custom_op, or a Library, stands."),
    (["check", "json", "--timeout", "0"], 2, "npdispatch: --timeout is how many seconds a call may take, above 0, and was 0."),
    (["check", "json", "--timeout", "nan"], 2, "npdispatch: --timeout is how many seconds a call may take, above 0, and was nan."),
    (["check", "json", "--jsn"], 2, "npdispatch: check has no option '--jsn'. Did you mean '--json'? npdispatch check --help lists them.\n"),
    (["--json", "check", "json"], 2,
     "npdispatch: --json stands before the command. Write npdispatch check ... --json.\n"),
    (["tour", "--fast"], 2, "npdispatch: tour has no option '--fast'. npdispatch tour --help lists them.\n"),
    (["--verson"], 2, "npdispatch: there is no option '--verson'. Did you mean '--version'? npdispatch --help lists them.\n"),
    (["list", "json", "re"], 2, "npdispatch: list takes one module, and 're' was given beside it.\n"),
    (["explain", "np::sin", "np::cos"], 2, "npdispatch: explain takes one name, and 'np::cos' was given beside it.\n"),
    (["check", "json", "--failures", "/"], 2, "npdispatch: / cannot be read: Is a directory. Name a file of failures."),
])  # fmt: skip
def test_a_wrong_word_is_refused_with_the_right_ones(words, status, said, capsys):
    assert command.main(words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(said)
    assert captured.err.count("\n") == 1


def test_an_operator_whose_module_nobody_imports_is_asked_for_with_it(capsys):
    assert command.main(["explain", "no_such::sin"]) == 1
    assert capsys.readouterr().err.endswith("import the module that does. Name it: npdispatch explain -m MODULE no_such::sin.\n")


def test_without_a_word_the_commands_are_listed(capsys):
    assert command.main([]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n    {name} " in printed for name in command.COMMANDS)


def test_what_a_command_takes_is_asked_for(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["explain"])
    assert ended.value.code == 2
    assert "arguments are required: name" in capsys.readouterr().err


def test_python_m_dispatch_is_the_same_command_and_ends_quietly_when_the_reader_does():
    done = subprocess.run(
        f"{sys.executable} -W error -m dispatch list | head -1", shell=True, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert re.fullmatch(r"\w+::\w+\(.*\) -> .*  \[cpu \| .*\]\n", done.stdout)
    assert done.stderr == ""


def test_letters_that_the_terminal_has_not_are_escaped(tmp_path):
    (tmp_path / "größe.py").write_text(
        "import numpy as np\nimport dispatch\n"
        "@dispatch.custom_op('letters::f', mutates_args=())\ndef f(x: np.ndarray) -> np.ndarray: return x + 1\n"
        "@f.register_fake\ndef _(x): return x + 1\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "dispatch", "explain", "./größe.py::f"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "gr\\xf6\\xdfe.py:" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is full")
@pytest.mark.parametrize("words", [["--version"], ["list", "np"]])
def test_where_no_space_is_left_for_what_is_printed_that_is_said(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "dispatch", *words], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "npdispatch: there is no space for what it prints. Write it elsewhere.\n"


def test_the_version_is_printed(capsys):
    assert command.main(["--version"]) == 0
    python = ".".join(map(str, sys.version_info[:3]))
    assert capsys.readouterr().out.startswith(f"npdispatch {dispatch.__version__}, NumPy {np.__version__}, CPython {python}")


@pytest.mark.parametrize("name", ["halve", "{library}::halve"])
def test_a_file_is_listed_and_its_operators_explained(library, capsys, name):
    listed = Path(f"listed_{library}_{len(name)}.py")
    listed.write_text(MODULE.format(namespace=listed.stem))
    assert command.main(["list", f"./{listed}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("(")[0] for line in lines] == [f"{listed.stem}::double_", f"{listed.stem}::halve"]
    other = Path(f"other_{library}_{len(name)}.py")
    other.write_text(MODULE.format(namespace=other.stem))
    assert command.main(["explain", f"./{other}::{name.format(library=other.stem)}"]) == 0
    assert capsys.readouterr().out.startswith(f"{other.stem}::halve(Tensor x, int times=1) -> Tensor")


def test_a_name_that_a_file_does_not_define_is_refused(library, capsys):
    assert command.main(["explain", f"./{library}.py::halv"]) == 1
    assert capsys.readouterr().err == (
        f"npdispatch: ./{library}.py defines no operator 'halv'. Did you mean 'halve'? It defines: {library}::double_, {library}::halve.\n"
    )


def test_an_operator_is_found_by_the_name_of_its_function(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("by_function.py").write_text(
        "import numpy as np\nimport dispatch\n"
        "@dispatch.custom_op('by_function::halve_all', mutates_args=())\n"
        "def half(x: np.ndarray) -> np.ndarray: return x / 2\n"
    )
    assert command.main(["explain", "./by_function.py::half"]) == 0
    assert capsys.readouterr().out.startswith("by_function::halve_all(Tensor x) -> Tensor")


def test_a_file_without_a_name_asks_for_one(library, capsys):
    assert command.main(["explain", f"./{library}.py"]) == 1
    assert capsys.readouterr().err == (
        f"npdispatch: name one operator of the file: ./{library}.py::double_. It defines: {library}::double_, {library}::halve.\n"
    )


def test_a_file_that_is_no_python_is_told_with_its_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("no_python.py").write_text("def f(:\n")
    assert command.main(["list", "./no_python.py"]) == 1
    assert capsys.readouterr().err == (
        "npdispatch: importing ./no_python.py raised SyntaxError: invalid syntax (no_python.py, line 1)\n"
    )


@pytest.mark.parametrize("text", ["1 / 0", "import sys; sys.exit(3)"])
def test_a_file_that_raises_is_told_with_its_line_and_no_traceback(tmp_path, monkeypatch, capsys, text):
    monkeypatch.chdir(tmp_path)
    Path("raising.py").write_text(f"x = 1\n{text}\n")
    assert command.main(["list", "./raising.py"]) == 1
    error = "ZeroDivisionError: division by zero" if "0" in text else "SystemExit: 3"
    assert capsys.readouterr().err == f"npdispatch: importing ./raising.py raised {error}\n    raising.py:2, in <module>: {text}\n"
    assert "raising" not in sys.modules


def test_a_file_that_is_named_like_a_module_is_pointed_to(tmp_path, monkeypatch, capsys):
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.setattr(command.os, "getcwd", lambda: str(tmp_path))
    Path("alone_in_src.py").write_text("")
    assert command.main(["list", "alone_in_src"]) == 1
    assert capsys.readouterr().err == "npdispatch: there is no module 'alone_in_src'. For the file write ./alone_in_src.py.\n"


OPERATORS = """
import ctypes
import numpy as np
from dispatch import custom_op

@custom_op("{namespace}::right", mutates_args=())
def right(x: np.ndarray) -> np.ndarray:
    return x * 2.0

@right.register_fake
def _(x):
    return np.empty_like(x, np.result_type(x, 1.0))

@custom_op("{namespace}::wrong", mutates_args=())
def wrong(x: np.ndarray) -> np.ndarray:
    x += 1
    return x * 2.0

wrong.register_fake(lambda x: np.empty_like(x))

@custom_op("{namespace}::crash", mutates_args=())
def crash(x: np.ndarray) -> np.ndarray:
    ctypes.string_at(0)

@custom_op("{namespace}::handle", mutates_args=())
def handle(x: np.ndarray, name: str) -> np.ndarray:
    return x * 2.0
"""


@pytest.fixture
def package(tmp_path, monkeypatch, request):
    name = "package_of_" + re.sub(r"\W", "_", request.node.name)
    (tmp_path / f"{name}.py").write_text(OPERATORS.format(namespace=name))
    monkeypatch.chdir(tmp_path)
    return name


def test_check_prints_every_operator_of_a_package_and_ends_with_1_for_a_fault(package, capsys):
    assert command.main(["check", package, "--samples", "1"]) == 1
    out = capsys.readouterr().out
    assert f"SUCCESS  {package}::right  1 sample\n" in out
    said = rf"FAILED   {package}::wrong\n    test_schema \(\(2, 3\)\)\n      {package}::wrong: the kernel {package}.py:\d+ writes to its argument 'x'"
    assert re.search(said, out)
    assert f"FAILED   {package}::crash\n    samples\n      {package}::crash: its kernel ended the process with SIGSEGV on arguments that were made from the schema (x: float64[2, 3]). Refuse" in out
    assert f"SKIPPED  {package}::handle: samples: nothing can be made for argument 'name'" in out
    assert out.endswith("3 operators checked, 2 with faults. 1 operator had no sample to be checked with.\n")


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_check_ends_with_2_where_nothing_could_be_checked(package, capsys, tmp_path, more):
    lines = OPERATORS.format(namespace=f"{package}_bare")
    (tmp_path / "bare_of_samples.py").write_text("import numpy as np\nfrom dispatch import custom_op\n" + lines[lines.index("@custom_op", lines.index("crash(")) :])
    assert command.main(["check", "./bare_of_samples.py", *more]) == 2
    out = capsys.readouterr().out
    assert "nothing can be made for argument 'name'" in out
    assert more or out.endswith("0 operators checked, 0 with faults. 1 operator had no sample to be checked with.\n")


def test_check_gives_json_for_programs(package, capfd):
    text = OPERATORS.format(namespace=package).replace("return x * 2.0", "os.write(1, b'raw'); print('said'); return x * 2.0")
    Path(f"{package}.py").write_text("import os\nprint('imported')\n" + text)
    assert command.main(["check", package, "--json", "--samples", "1"]) == 1
    captured = capfd.readouterr()
    found = json.loads(captured.out)
    assert "imported" in captured.err
    assert "raw" in captured.err
    assert (found["operators"], found["of"], found["failed"]) == (4, 4, 2)
    assert {(row["operator"].partition("::")[2], row["verdict"]) for row in found["outcomes"]} >= {
        ("right", "SUCCESS"), ("wrong", "FAILED"), ("crash", "FAILED"), ("handle", "SKIPPED"),
    }  # fmt: skip


def test_check_ends_with_2_where_nothing_can_be_checked(package, capsys):
    assert command.main(["check", "no_such_module"]) == 2
    assert command.main(["check", package, "--require", "vamp"]) == 2
    assert capsys.readouterr().err.splitlines()[1].startswith("npdispatch: 'vamp' cannot be required. Did you mean 'vmap'?")
    assert command.main(["check", package, "--samples", "0"]) == 2
    assert command.main(["check", package, "--failures", "none.json"]) == 2
    Path("known.json").write_text(json.dumps({"data": {f"{package}::rihgt": {"test_schema": {"status": "xfail"}}}}))
    assert command.main(["check", package, "--failures", "known.json"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "npdispatch: --samples is how many an operator is checked with, at least 1, and was 0.",
        "npdispatch: there is no file none.json. A run with DISPATCH_OPCHECK_ACCEPT=1 in the environment writes it.",
        f"npdispatch: known.json: there is no operator {package}::rihgt. Did you mean 'right'? Take its entry out, or mend its name.",
    ]


def test_check_takes_what_is_known_to_fail_and_what_is_required(package, capsys, tmp_path):
    known = {f"{package}::wrong": {"test_schema": {"status": "xfail"}}, f"{package}::crash": {"samples": {"status": "xfail"}}}
    (tmp_path / "known.json").write_text(json.dumps({"data": known}))
    assert command.main(["check", package, "--samples", "1", "--failures", "known.json"]) == 0
    out = capsys.readouterr().out
    assert f"SUCCESS  {package}::wrong  1 sample, 1 known failure\n" in out
    assert command.main(["check", package, "--samples", "1", "--failures", "known.json", "--require", "fake"]) == 1
    assert f"FAILED   {package}::handle\n    samples\n      samples: nothing can be made" in capsys.readouterr().out


def test_check_runs_kernels_in_this_process_if_it_is_told_to(tmp_path, capsys, monkeypatch):
    text = OPERATORS.partition('@custom_op("{namespace}::wrong"')[0].replace("return x * 2.0", "RAN.append(1); return x * 2.0")
    (tmp_path / "checked_here.py").write_text("RAN = []\n" + text.format(namespace="checked_here"))
    monkeypatch.chdir(tmp_path)
    for words, ran in ([], False), (["--no-isolate"], True):
        assert command.main(["check", "checked_here", "--samples", "1", *words]) == 0
        assert bool(sys.modules["checked_here"].RAN) == ran
    del sys.modules["checked_here"]


def test_ctrl_c_while_a_module_is_imported_prints_no_traceback(tmp_path, capsys, monkeypatch):
    (tmp_path / "interrupted.py").write_text("raise KeyboardInterrupt\n")
    monkeypatch.chdir(tmp_path)
    assert command.main(["check", "./interrupted.py"]) == 130
    assert capsys.readouterr() == ("", "")


def test_check_shows_a_bar_where_rich_and_a_terminal_are(package, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert command.main(["check", package, "--samples", "1", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["operators"] == 4
    assert "4/4" in captured.err


def test_an_interrupted_check_prints_what_it_knows(package, capsys, monkeypatch):
    def one(operators, **options):
        yield from itertools.islice(package_checks.check_operators([op for op in operators if "right" in op.name], **options), 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "check_operators", one)
    assert command.main(["check", package]) == 130
    assert capsys.readouterr().out.endswith("1 operator checked, 0 with faults. 3 were not checked.\n")


def test_help_fits_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    assert command.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert any(line.strip().startswith("explain") for line in lines)


@pytest.mark.parametrize("words", [["--help"], ["explain", "np::sin"]])
def test_nothing_is_coloured_in_a_pipe_or_where_nobody_wants_it(words):
    environ = {**os.environ, "NO_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run([sys.executable, "-m", "dispatch", *words], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""
