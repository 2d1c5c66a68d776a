"""The command npdispatch: a tour in one minute, the operators there are, and what runs behind one of them.

    npdispatch tour                       one operator, from its schema to what a call costs
    npdispatch list [MODULE]              the operators that importing MODULE defines; without it, those of NumPy
    npdispatch list np                    NumPy's functions, and what stands for each
    npdispatch explain NAME [-m MODULE]   the kernels and rules of one operator, key by key
    npdispatch explain MODULE::NAME       the same of an operator that MODULE defines
    npdispatch check MODULE [--json]      opcheck of every operator that MODULE defines: ends with 0, with 1 if one has a fault
    npdispatch --version

MODULE is a module's name, or a file: ./kernels.py. `python -m dispatch` is the same command.
More than 350 lines, for what the tour prints is written here.
"""

import argparse
import ctypes
import errno
import inspect
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .autodiff.reverse_mode import grad
from .core import OpOverload
from .errors import ArgumentError, DispatchError, OperatorNotFoundError, did_you_mean, how_many
from .layers.autograd.leaf import tensor
from .layers.vmap import vmap
from .numpy_ops import inventory
from .operators.custom_op import custom_op
from .operators.loading import defined_by, is_file, load
from .operators.registry import find, ops
from .testing import opcheck
from .testing.generated_tests import Failures
from .testing.package_checks import MOST_SAMPLES, PATIENCE, Outcome, check_limits, check_operators, checked_requirements

FAULTS, NOT_CHECKED, INTERRUPTED = 1, 2, 130  # what `check` ends with, if not with 0
ENDINGS = "Exit status: 0 if nothing fails, 1 if something does, 2 if no operator could be checked, 130 after Ctrl-C."
ROUNDS, BATCH = 60, 2e-3  # batches of 2 ms, taken in turn: a machine's noise hits all statements alike


def main(argv: list[str] | None = None) -> int:
    """Run the command with these words, by default those of the shell, and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    parser = _parser()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a path may have letters that the terminal has not
        sys.stdout.reconfigure(errors="backslashreplace")
    if not words:
        parser.print_help()
        return 0
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        advice = f" Write --{words[0]}." if words[0] in ("help", "version") else did_you_mean(words[0], COMMANDS)
        known = ", ".join(COMMANDS)
        print(f"npdispatch: there is no command {words[0]!r}.{advice} Commands: {known}.", file=sys.stderr)
        return 2
    options, more = parser.parse_known_args(words)
    if more:
        print(f"npdispatch: {_not_taken(options, more[0])}", file=sys.stderr)
        return 2
    status = 0
    try:
        if options.version:
            print(f"npdispatch {__version__}, NumPy {np.__version__}, CPython {platform.python_version()}")
        else:
            status = COMMANDS[options.command](options) or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except (DispatchError, ImportError) as error:
        print(f"npdispatch: {error}", file=sys.stderr)
        return NOT_CHECKED if options.command == "check" else 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, `head` say, has seen enough; nothing is left to be written when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("npdispatch: there is no space for what it prints. Write it elsewhere.", file=sys.stderr)
        return NOT_CHECKED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="npdispatch", description="PyTorch's operator contract on plain NumPy arrays: look at operators."
    )
    parser.add_argument("--version", action="store_true", help="the versions of npdispatch, NumPy and Python")
    parser.set_defaults(usage=parser.format_usage)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("tour", help="one operator, from its schema to what a call costs, in under a minute")
    listing = commands.add_parser("list", help="the operators that importing a module defines; by default NumPy's")
    listing.add_argument("module", nargs="?", help="the module to import, mylib.kernels or ./kernels.py; np: NumPy's functions")
    explaining = commands.add_parser("explain", help="the kernels and rules of one operator, key by key")
    explaining.add_argument("name", help="its name, np::add or ./kernels.py::scale say")
    explaining.add_argument("-m", "--module", help="the module or the file to import first, which defines it")
    checking = commands.add_parser("check", help="opcheck of every operator that a module defines", epilog=ENDINGS)
    checking.add_argument("module", help="the module to import, mylib.kernels or ./kernels.py")
    checking.add_argument("--json", action="store_true", help="every outcome, for programs")
    checking.add_argument("--samples", type=int, default=MOST_SAMPLES, help=f"of each operator; by default {MOST_SAMPLES}")
    checking.add_argument("--timeout", type=float, default=PATIENCE, help=f"seconds for a call; by default {PATIENCE:g}")
    checking.add_argument("--no-isolate", action="store_true", help="run kernels in this process, for debuggers and coverage")
    required = "what every operator must have: fake, gradient, vmap, with commas between"
    checking.add_argument("--require", action="append", default=[], metavar="RULES", help=required)
    checking.add_argument("--failures", metavar="FILE", help="a JSON file of what is known to fail, and fails if it passes")
    for command in commands.choices.values():
        command.set_defaults(usage=command.format_usage)
    return parser


def _not_taken(options: argparse.Namespace, word: str) -> str:
    """What is said of a word too many, or of an option that a command has not."""
    command = options.command
    who = f"npdispatch {command}" if command else "npdispatch"
    if word.startswith("-"):
        option = word.partition("=")[0]
        known = re.findall("--[a-z-]+", options.usage())
        if command and option in known:
            return f"{option} stands before the command. Write {who} ... {option}."
        near = did_you_mean(option, known)
        return f"{f'{command} has' if command else 'there is'} no option {option!r}.{near} {who} --help lists them."
    takes = {"tour": "nothing", "explain": "one name"}.get(command or "", "one module")
    module, name = sorted([getattr(options, "name", None) or "", word], key=lambda x: "::" in x)
    advice = f" Write explain -m {module} {name}." if command == "explain" and "::" in name and "::" not in module else ""
    return f"{command} takes {takes}, and {word!r} was given beside it.{advice}"


# -- list and explain --------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> None:
    """Print the operators that a module defines, or NumPy's, one a line; of `np` its functions."""
    if options.module == "np":
        found_for = {name: inventory.stands_for(f) for name, f in inventory.functions().items()}
        width = max(map(len, found_for))
        for name, what in sorted(found_for.items()):
            print(f"{name:{width}}  {what or 'no row'}")
        return
    if options.module is not None and options.module.startswith("np."):
        name = options.module[len("np.") :]
        said = f"{options.module} is one function of NumPy. Write npdispatch explain np::{name}; or npdispatch list np for all."
        raise ArgumentError(said)
    for op in sorted(ops, key=lambda op: op.name) if options.module is None else defined_by(options.module):
        print(op)


def _named(module: str, name: str) -> OpOverload:
    """Return the operator that a file defines: by its name, with or without its namespace, or the name of its function."""
    defined = defined_by(module)
    fitting = [op for op in defined if name in (op.name, op.schema.name)] or [op for op in defined if op.__name__ == name]
    if not fitting:
        known = ", ".join(op.name for op in defined)
        if not name:
            one = f"{module}::{defined[0].schema.name}"
            raise OperatorNotFoundError(f"name one operator of the file: {one}. It defines: {known}.")
        advice = did_you_mean(name, [op.schema.name for op in defined])
        raise OperatorNotFoundError(f"{module} defines no operator {name!r}.{advice} It defines: {known}.")
    return fitting[0]


def _check(options: argparse.Namespace) -> int:
    """Check the operators of a module: 1 if one fails, 2 if none could be checked, 130 with what is known after Ctrl-C."""
    rows: list[Outcome] = []
    done, status = 0, 0
    check_limits(options.samples, options.timeout)
    require, failures = checked_requirements(options.require), Failures(options.failures, known=True)
    aside = redirect_stdout(sys.stderr) if options.json else nullcontext()  # what modules and kernels print
    with aside:
        defined = defined_by(options.module)
    failures.check_operators({op.schema.namespace for op in defined})
    try:
        with aside, _progress(len(defined)) as advance:
            how = {"isolate": not options.no_isolate, "timeout": options.timeout, "require": require, "failures": failures}
            for op, outcomes in check_operators(defined, most=options.samples, **how):
                rows += outcomes
                done += 1
                if not options.json:
                    _print_outcomes(op, outcomes)
                advance()
    except KeyboardInterrupt:
        status = INTERRUPTED
    failed = len({row.operator for row in rows if row.verdict == "FAILED"})
    if options.json:
        listed = [row._asdict() for row in rows]
        print(json.dumps({"operators": done, "of": len(defined), "failed": failed, "outcomes": listed}, indent=1))
    else:
        bare = done - len({row.operator for row in rows if row.check != "samples" or row.verdict == "FAILED"})
        left = f" {len(defined) - done} were not checked." if done < len(defined) else ""
        left = f" {how_many(bare, 'operator')} had no sample to be checked with.{left}" if bare else left
        print(f"{how_many(done - bare, 'operator')} checked, {failed} with faults.{left}")
    nothing = done and not any(row.check != "samples" or row.verdict == "FAILED" for row in rows)
    return status or (FAULTS if failed else NOT_CHECKED if nothing else 0)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object]]:
    """Show a bar on the error stream, where that is a terminal and `rich` is installed; give what moves it on."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # Lines printed above the bar go through it, but to where they were meant to go.
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _print_outcomes(op: OpOverload, outcomes: list[Outcome]) -> None:
    """Print an operator's verdict, and its faults, each once."""
    faults: dict[str, Outcome] = {}
    for row in outcomes:
        if row.verdict == "FAILED":
            faults.setdefault(row.check, row)
    unmade = [row.said for row in outcomes if row.check == "samples"]
    if faults:
        print(f"FAILED   {op.name}")
        faults = {row.check: row for row in outcomes if row.check == "samples"} | faults
        for row in faults.values():
            on = f" ({row.sample})" if row.sample else ""
            print(textwrap.indent(f"{row.check}{on}\n{textwrap.indent(row.said, '  ')}", "    "))
    elif unmade:
        print(f"SKIPPED  {op.name}: {unmade[0]}")
    else:
        count = len({row.sample for row in outcomes if row.sample})
        expected = sum(row.verdict == "XFAILED" for row in outcomes)
        known = f", {expected} known failure{'s' * (expected != 1)}" if expected else ""
        print(f"SUCCESS  {op.name}  {count} sample{'s' * (count != 1)}{known}")


def _explain(options: argparse.Namespace) -> None:
    """Print what is known of one operator and what runs at each key."""
    module, _, name = options.name.partition("::")
    if options.module is None and is_file(module):
        found: Any = _named(module, name)
    else:
        if options.module is not None:
            load(options.module)
        try:
            found = find(options.name)
        except OperatorNotFoundError as error:
            if options.module is None and not hasattr(ops, module):
                raise OperatorNotFoundError(f"{error} Name it: npdispatch explain -m MODULE {options.name}.") from None
            raise
    for op in [found] if isinstance(found, OpOverload) else [getattr(found, name) for name in found.overloads()]:
        print(op)
        paragraphs = inspect.cleandoc(vars(op).get("__doc__") or "").split("\n\n")
        about = next((text for text in paragraphs if not text.startswith(f"{op.schema.name}(")), "")  # a ufunc's own
        if about:
            print(textwrap.indent(about, "    "))
        if op.tags:
            print(f"    tags: {', '.join(tag.name for tag in op.tags)}")
        print(textwrap.indent(repr(op.explain()).partition("\n")[2], "    "))


# -- the tour ----------------------------------------------------------------------------------------------------------


C_SOURCE = """\
void slope(const double *y, double *out, long rows, long n, double dx) {
    for (long i = 0; i < rows * (n - 1); i++)
        out[i] = (y[i + i / (n - 1) + 1] - y[i + i / (n - 1)]) / dx;
}
"""


def _compiled(folder: str) -> ctypes.CDLL | None:
    """Compile the tour's C function with the machine's compiler; None where there is none, or it fails."""
    names = [name for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name]
    compiler = next((found for name in names if (found := shutil.which(name))), None)
    if compiler is None:
        return None
    source, library = Path(folder, "slope.c"), Path(folder, "slope.so")
    source.write_text(C_SOURCE)
    done = subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", library, source], capture_output=True, check=False, timeout=60
    )
    if done.returncode:
        return None
    c = ctypes.CDLL(str(library))
    c.slope.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_double]
    c.slope.restype = None
    return c


def _of_c(c: ctypes.CDLL) -> OpOverload:
    """The kernel in C; the tour prints what is written here."""

    @custom_op("tour::slope", mutates_args=())
    def slope(y: NDArray[np.float64], dx: float = 1.0) -> np.ndarray:
        y, out = np.ascontiguousarray(y), np.empty(y[..., 1:].shape)
        c.slope(y.ctypes, out.ctypes, y[..., :1].size, y.shape[-1], dx)
        return out

    made: OpOverload = slope
    return made


def _of_numpy() -> OpOverload:
    """The kernel where there is no compiler."""

    @custom_op("tour::slope", mutates_args=())
    def slope(y: NDArray[np.float64], dx: float = 1.0) -> np.ndarray:
        return (y[..., 1:] - y[..., :-1]) / dx

    made: OpOverload = slope
    return made


def _rules(slope: Any) -> None:
    """A rule for each layer, paragraph by paragraph."""

    @slope.register_fake
    def _(y, dx):  # type: ignore[no-untyped-def]
        return np.empty(y[..., 1:].shape)

    def setup_context(ctx, inputs, output):  # type: ignore[no-untyped-def]
        ctx.dx = inputs[1]

    @slope.register_autograd(setup_context=setup_context)
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        edge = np.zeros_like(g, shape=(*g.shape[:-1], 1))
        return -slope(np.concatenate([edge, g, edge], axis=-1), ctx.dx), None

    @slope.register_vmap
    def _(info, in_dims, y, dx):  # type: ignore[no-untyped-def]
        return slope(np.moveaxis(y, in_dims[0], 0), dx), 0


def _tour(options: argparse.Namespace) -> None:
    """Print one operator, end to end."""
    with tempfile.TemporaryDirectory() as folder:
        _walk(_compiled(folder))


def _walk(c: ctypes.CDLL | None) -> None:
    slope, kernel = (_of_numpy(), _of_numpy) if c is None else (_of_c(c), _of_c)
    _rules(slope)
    written = textwrap.dedent(inspect.getsource(kernel)).split("\n\n")[1]
    rules = textwrap.dedent(inspect.getsource(_rules)).split("\n\n")[1:]
    t = np.linspace(0.0, 3.0, 7)
    curve = np.sin(t)

    def length(y: Any, dx: float = 0.5) -> Any:
        return np.sum(np.sqrt(1 + slope(y, dx) ** 2) * dx)

    if c is None:
        _title(1, "A function of yours (no C compiler is here) and one line over it. The hints are the schema.")
    else:
        _title(1, "A function in C, compiled just now, and one line over its wrapper. The hints are the schema.")
        _code(C_SOURCE.rstrip())
    _code(written)
    print(f"    schema     {slope.schema}")
    print(f"    slope(y)   {_numbers(slope(curve, 0.5))}")
    print(f"    slope([0]) {_refusal(lambda: slope([0]))}")

    _title(2, "A rule for shapes, one for gradients, one for batches, and with them its table of kernels.")
    for rule in rules:
        _code(rule)
    _block(slope.kernels)

    _title(3, "opcheck holds the kernel and the rules against each other, on other values, layouts and sizes.")
    _block(opcheck(slope, (tensor(curve, requires_grad=True), 0.5)))

    exact, numeric = grad(length)(curve), _differences(length, curve)
    apart = np.abs(exact - numeric).max()
    _title(4, f"The gradient of length(y) = sum(sqrt(1 + slope(y)**2) * dx), {apart:.0e} from central differences.")
    print(f"    grad(length)(y)  {_numbers(exact)}")
    print(f"    differences      {_numbers(numeric)}")

    _title(5, "A batch: vmap(grad(length)) of three curves; the kernel runs as often as for one.")
    batch = np.stack([np.sin(t), np.cos(t), t**2 / 9])
    for name, row in zip(("sin t", "cos t", "t*t/9"), vmap(grad(length))(batch), strict=True):
        print(f"    {name}            {_numbers(row)}")

    _title(6, "What it costs: nanoseconds, the fastest of many calls on 7 numbers.")
    _costs(slope, curve)

    _title(7, "What next")
    print("    your own function    docs/custom_operators.md: the same steps, slower, and each with its checks")
    print("    what it then is      npdispatch list ./yours.py, npdispatch explain ./yours.py::slope")
    print("    in your tests        dispatch.testing.opcheck(slope, (np.linspace(0.0, 1.0, 7), 0.5))")


def _title(number: int, text: str) -> None:
    print(f"{'' if number == 1 else chr(10)}{number}  {text}")


def _code(text: str) -> None:
    """Print a paragraph of code without what it says to a type checker."""
    lines = textwrap.dedent(text).splitlines()
    print(textwrap.indent("\n".join(line.partition("  # ")[0] for line in lines), "    "))


def _block(value: object) -> None:
    """Print a repr of several lines, without the first, which names the operator again."""
    print(textwrap.indent(repr(value).partition("\n")[2], "    "))


def _numbers(row: Any) -> str:
    return " ".join(f"{number:9.6f}" for number in row)


def _refusal(call: Callable[[], object]) -> str:
    """What a call is refused with, up to the advice."""
    try:
        call()
    except DispatchError as error:
        return f"{type(error).__name__}: {str(error).partition('. ')[0]}."
    raise AssertionError("the call was to be refused")


def _differences(f: Callable[[Any], Any], x: np.ndarray[Any, Any], step: float = 1e-6) -> np.ndarray[Any, Any]:
    """Central differences of a function of an array, element by element."""
    return np.array([f(x + move) - f(x - move) for move in step * np.eye(x.size)]) / (2 * step)


def _costs(slope: OpOverload, curve: np.ndarray[Any, Any]) -> None:
    """Time the operator beside the undecorated function."""
    scope = {"function": slope.__wrapped__, "slope": slope, "y": curve, "tracked": tensor(curve, requires_grad=True)}
    calls = ("(y, 0.5)", "(y, dx=0.5)")
    statements = [name + call for name in ("function", "slope") for call in calls]
    took = fastest([*statements, "slope(tracked, 0.5)"], scope)
    print(f"    {'call':22}{'function':>10}{'operator':>10}{'over':>8}")
    for call in calls:
        bare, ours = took["function" + call], took["slope" + call]
        print(f"    {'slope' + call:22}{bare:10.0f}{ours:10.0f}{ours - bare:+8.0f}")
    recorded = took["slope(tracked, 0.5)"]
    print(f"    {'slope(tracked, 0.5)':22}{'':10}{recorded:10.0f}{recorded - took['function(y, 0.5)']:+8.0f}")


def fastest(statements: Sequence[str], scope: Mapping[str, Any], rounds: int = ROUNDS) -> dict[str, float]:
    """Nanoseconds of each statement, of its fastest batch."""
    timers = {statement: timeit.Timer(statement, globals=dict(scope)) for statement in statements}
    counts = {statement: max(1, round(BATCH * 100 / timer.timeit(100))) for statement, timer in timers.items()}
    seconds = dict.fromkeys(statements, float("inf"))
    for _ in range(rounds):
        for statement, timer in timers.items():
            seconds[statement] = min(seconds[statement], timer.timeit(counts[statement]) / counts[statement])
    return {statement: found * 1e9 for statement, found in seconds.items()}


COMMANDS: dict[str, Callable[[argparse.Namespace], int | None]] = {
    "tour": _tour, "list": _list, "explain": _explain, "check": _check,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main())
