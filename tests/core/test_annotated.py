"""The plain call, read in the annotated C: not one line of it touches the Python interpreter before the kernel does."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "dispatch" / "core" / "overload.pyx"


def directives():
    """The directives of setup.py, its switches off."""
    tree = ast.parse((ROOT / "setup.py").read_text())
    (found,) = (
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DIRECTIVES"
    )
    return eval(ast.unparse(found), {"DEBUG": False, "COVERAGE": False})


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """(score, line) of every line of overload.pyx; Cython's score of a line is 0 where its C is C and nothing else."""
    main = pytest.importorskip("Cython.Compiler.Main", reason="Cython is not installed (extra `test`)")
    folder = tmp_path_factory.mktemp("annotated")
    options = main.CompilationOptions(
        annotate=True, output_file=str(folder / "overload.c"), compiler_directives=directives(), include_path=[str(ROOT)]
    )
    result = main.compile_single(str(SOURCE), options, "dispatch.core.overload")
    assert result.num_errors == 0
    scores = re.findall(r'class="cython line score-(\d+)"', (folder / "overload.html").read_text())
    return list(zip(map(int, scores), SOURCE.read_text().splitlines(), strict=False))


def body(scored, function):
    """The lines of a function at module level."""
    start = next(i for i, (_, line) in enumerate(scored) if re.match(rf"(cdef|def) .*\b{function}\(", line))
    length = next(i for i, (_, line) in enumerate(scored[start + 1 :], 1) if line and not line.startswith((" ", ")")))
    return scored[start : start + length]


def test_the_scores_are_read(scored):
    assert len(scored) == len(SOURCE.read_text().splitlines())
    assert max(score for score, _ in scored) > 0
    assert any(score for score, _ in body(scored, "resolved"))


@pytest.mark.parametrize("function", ["call", "call_whole"])
def test_the_plain_call_is_c(scored, function):
    _, *lines = body(scored, function)  # the first one has the ways out on an error
    assert any("return (<run_t>run)(" in line for _, line in lines)
    held = [score for score, line in lines if "cdef Definition definition =" in line]
    assert held == [1]  # one reference is taken: a call is held to the definition that it began with
    assert [line for score, line in lines if score and "cdef Definition definition =" not in line] == []


def test_the_way_to_the_kernel_and_back_is_c(scored):
    lines = body(scored, "run")[1:] + body(scored, "finish")
    kernel = max(i for i, (_, line) in enumerate(lines) if "result = call_kernel(" in line)
    assert [line for score, line in lines[: kernel + 1] if score] == []
    assert [line for score, line in lines[kernel + 1 :] if score] == []
