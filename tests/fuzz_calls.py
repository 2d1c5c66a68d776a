"""Calls random operators in every way there is with hostile arguments, in child processes, and holds the calls to four laws.

    python -m tests.fuzz_calls --calls 1000000 --seed 0 --processes 2

1. No signal ends the process, and no call hangs.
2. No call raises SystemError.
3. A KeyboardInterrupt or SystemExit that a hostile value raises in a call arrives as itself, and nothing compiled ignores one.
4. Afterwards nothing is on in the thread (guards, modes, levels, settings), and operators work.

Rounds are numbered. Each makes one operator from the seed and its number, and calls it `PER_ROUND` times. Where a law is broken
the round is run again in a process of its own, then its last call alone, and what is printed is the shortest command that
still breaks it: `--replay ROUND` or `--replay ROUND:CALL`.
"""

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import mmap
import random
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import hint_table
import numpy as np
from hostile import ENDING, Hostility, Shadow

import dispatch
from dispatch import core
from dispatch.core import DispatchKey, Guard, Level
from dispatch.core.program import Program, Slot
from dispatch.errors import DispatchError
from dispatch.library import get_kernel

PER_ROUND = 50
HANGS = 60  # seconds without a call that ends
LAYERS = [DispatchKey.FAKE, DispatchKey.TRACE, DispatchKey.FUNCTIONALIZE, DispatchKey.JVP, DispatchKey.AUTOGRAD, DispatchKey.VMAP]
A = np.arange(4.0)


class Parameter(NamedTuple):
    """The hint of a parameter, and values that fit it and that do not."""

    hint: Any
    fits: list[Any]
    refused: list[Any]
    default: Any = hint_table.MISSING


PLAIN = Parameter(np.ndarray, [A, A + 1, np.ones((2, 3))], [None, 1.0])
PARAMETERS = [Parameter(row.hint, row.fits, row.refused, row.default) for row in hint_table.TABLE]
PARAMETERS += [
    Parameter(Annotated[np.ndarray, "C"], [A, np.ones((2, 3)).T], [None]),
    Parameter(Annotated[np.ndarray, "F"], [A, np.ones((2, 3))], [1.0]),
    Parameter(dispatch.Residual, [None, [A], object()], []),
]
RETURNS: list[tuple[Any, Callable[[], Any]]] = [
    (np.ndarray, lambda: np.ones(4)),
    (np.ndarray, lambda: np.ones(4)),
    (np.ndarray | None, lambda: None),
    (tuple[np.ndarray, np.ndarray], lambda: (np.ones(4), np.ones(2))),
    (tuple[np.ndarray, dispatch.Residual], lambda: (np.ones(4), [1])),
    (tuple[np.ndarray, np.ndarray, dispatch.Residual], lambda: [np.ones(4), np.ones(4), {}]),
    (list[np.ndarray], lambda: [np.ones(4), np.ones(4)]),
    (dict[str, np.ndarray], lambda: {"x": np.ones(4)}),
    (hint_table.State, lambda: hint_table.State(np.ones(4))),
    (hint_table.Factors, lambda: hint_table.Factors(np.ones(4), np.ones(4))),
    (tuple[np.ndarray, int], lambda: (np.ones(4), 3)),
    (None, lambda: None),
    (int, lambda: 3),
    (float, lambda: 1.5),
    (Any, lambda: object()),
]
SIGNATURES = ["(n)->(n)", "(n),()->(n)", "(n),(n)->()", "(m,n),(n)->(m)", "(n?),(n)->(n?)", "(),()->(),()", "(3),(n)->(n)"]


class PlannedError(Exception):
    """What a kernel or a rule raises."""


class Round:
    """One operator, and the calls of it.

    Attributes
    ----------
    rng : random.Random
        Of the operator, then of each call anew.
    values : Hostility
    op : OpOverload
    """

    def __init__(self, seed: int, number: int, values: Hostility) -> None:
        self.seed, self.number, self.values = seed, number, values
        self.rng = self.begin(PER_ROUND)
        self.depth = 0
        self.handles: list[Any] = []
        self.parameters: list[Parameter] = []
        self.positional = 0
        self.good: Callable[[], Any] = lambda: np.ones(4)
        self.op: Any = None
        self.way = "none"
        while self.op is None:
            with contextlib.suppress(DispatchError):
                self.op = self.defined()
        values.actions = [gc.collect, self.register, self.unregister, self.redefine, self.call_again, lambda: None]

    def begin(self, call: int) -> random.Random:
        """A generator for one call, the same whatever calls went before."""
        self.rng = self.values.rng = random.Random((self.seed << 40) + self.number * (PER_ROUND + 1) + call)
        return self.rng

    # -- the operator ------------------------------------------------------------------------------------------------------

    def defined(self) -> Any:
        """A random operator; a DispatchError where the hints contradict each other."""
        rng = self.rng
        name = f"fuzz::op{self.number % 64}"
        options: dict[str, Any] = {"mutates_args": ()}
        if rng.random() < 0.15:
            signature = rng.choice(SIGNATURES)
            count = signature.partition("->")[0].count("(")
            parameters = [PLAIN] * count + [p for p in rng.sample(PARAMETERS, 2) if "ndarray" not in str(p.hint)][: rng.randrange(3)]
            outputs = signature.partition("->")[2].count("(")
            returns = (np.ndarray, lambda: np.float64(2)) if outputs == 1 else RETURNS[3]
            options.update(signature=signature, workers=rng.choice([1, 1, 2]))
        else:
            parameters = [PLAIN if rng.random() < 0.4 else rng.choice(PARAMETERS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 30]))]
            returns = rng.choice(RETURNS)
        hints = [p.hint for p in parameters]
        if rng.random() < 0.1 and np.ndarray in hints and "signature" not in options:
            options["mutates_args"] = {f"p{hints.index(np.ndarray)}"}
        keyword_only = rng.randrange(len(parameters) + 1) if rng.random() < 0.3 else len(parameters)
        positional_only = rng.randrange(keyword_only + 1) if rng.random() < 0.2 else 0
        scope: dict[str, Any] = {f"H{i}": p.hint for i, p in enumerate(parameters)}
        scope.update({f"D{i}": p.default for i, p in enumerate(parameters)}, R=returns[0], run=self.kernel)
        given = [p.default is not hint_table.MISSING and rng.random() < 0.6 for p in parameters]
        for i in reversed(range(keyword_only - 1)):
            given[i] = given[i] and given[i + 1]
        written = []
        for i in range(len(parameters)):
            if i == positional_only and i:
                written.append("/")
            if i == keyword_only:
                written.append("*")
            written.append(f"p{i}: H{i}" + f" = D{i}" * given[i])
        if positional_only and positional_only == len(parameters):
            written.append("/")
        names = ", ".join(f"p{i}" for i in range(len(parameters)))
        exec(f"def op({', '.join(written)}) -> R: return run({names})", scope)
        scope["op"].__module__ = __name__
        op = dispatch.custom_op(name, scope["op"], **options)
        self.good, self.parameters, self.positional = returns[1], parameters, keyword_only
        rules: dict[str, Callable[[], Any]] = {
            "fake": lambda: op.register_fake(self.kernel),
            "autograd": lambda: op.register_autograd(self.backward, setup_context=self.setup),
            "vmap": lambda: op.register_vmap(lambda info, in_dims, *args: self.kernel(*args)),
            "vmap loop": lambda: op.register_vmap("sequential"),
            "kernel": lambda: op.register_kernel("cpu", self.kernel),
        }
        for rule in rng.sample(list(rules), rng.randrange(4)):
            with contextlib.suppress(DispatchError):
                rules[rule]()
        return op

    def kernel(self, *args: Any) -> Any:
        """The kernel, and every rule: mostly what it should give back."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.7:
            return self.good()
        acts: list[Callable[[], Any]] = [
            self.values.any,
            lambda: self.values.like(self.good()),
            lambda: self.values.container([np.ones(4), np.ones(4), [1]]),
            lambda: args[0] if args else None,
            lambda: [args[0], args[0]] if args else (),
            lambda: args[0][1:] if args and type(args[0]) is np.ndarray and args[0].ndim else args,
            lambda: self.raising(),
            lambda: (self.register(), self.good())[1],
            lambda: (self.unregister(), self.good())[1],
            lambda: (self.redefine(), self.good())[1],
            lambda: (self.call_again(), self.good())[1],
            lambda: ([x.clear() for x in args if type(x) in {list, dict}], self.good())[1],
            lambda: (gc.collect(0), self.good())[1],
        ]
        return rng.choice(acts)()

    def raising(self) -> Any:
        """Raise an exception, a hostile one among them."""
        raise self.rng.choice([PlannedError("planned"), ValueError("planned"), np.linalg.LinAlgError("planned"), StopIteration()])

    def setup(self, ctx: Any, inputs: Any, output: Any) -> None:
        """Keep some of what went in and came out."""
        if self.rng.random() < 0.5:
            ctx.save_for_backward(*[x for x in inputs if isinstance(x, (np.ndarray, dispatch.Tensor))])
        ctx.count = len(inputs)

    def backward(self, ctx: Any, *grads: Any) -> Any:
        """A gradient for each input, or something else."""
        if self.rng.random() < 0.7:
            return tuple(grads[0] if i == 0 else None for i in range(ctx.count)) if ctx.count != 1 else grads[0]
        return self.kernel(*grads)

    # -- what goes on meanwhile --------------------------------------------------------------------------------------------

    def register(self) -> None:
        """Register another kernel."""
        with contextlib.suppress(DispatchError):
            self.handles.append(self.op.register_at(self.rng.choice([DispatchKey.CPU, *LAYERS]), self.kernel))

    def unregister(self) -> None:
        """Take a kernel away again."""
        if self.handles:
            self.op.unregister(self.handles.pop())

    def redefine(self) -> None:
        """Define the operator anew, with another schema."""
        with contextlib.suppress(DispatchError):
            self.defined()

    def call_again(self) -> None:
        """Call the operator while it is called."""
        if self.depth < 2:
            self.depth += 1
            try:
                self.op(*[self.rng.choice(p.fits) if p.fits else None for p in self.parameters[: self.positional]])
            except Exception:
                pass
            finally:
                self.depth -= 1

    # -- the calls ---------------------------------------------------------------------------------------------------------

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of a call: most fit, some do not, some are hostile."""
        rng = self.rng
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        hostility = rng.choice([0.0, 0.2, 0.6])
        for i, p in enumerate(self.parameters):
            fit = rng.choice(p.fits) if p.fits else None
            choice = rng.random()
            value = fit if choice > hostility else rng.choice(p.refused) if p.refused and choice < 0.05 else self.values.like(fit)
            if i >= self.positional or rng.random() < 0.05:
                if rng.random() < 0.9:
                    keywords[f"p{i}"] = value
            else:
                args.append(value)
        if rng.random() < 0.03:
            args.append(self.values.any())
        if rng.random() < 0.03:
            keywords["other"] = 1
        return args, keywords

    def call(self, number: int) -> None:
        """Make one call."""
        rng = self.begin(number)
        args, keywords = self.arguments()
        self.values.raised.clear()
        way = rng.choice(WAYS)
        self.way = way.__name__
        way(self, args, keywords)

    def every(self, args: list[Any], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, as layers hand them on."""
        return (*args, *keywords.values())


Args = list[Any]
Keywords = dict[str, Any]


def plain(r: Round, args: Args, keywords: Keywords) -> None:
    r.op(*args, **keywords)


def by_keyword(r: Round, args: Args, keywords: Keywords) -> None:
    cut = r.rng.randrange(len(args) + 1)
    r.op(*args[:cut], **{f"p{i}": args[i] for i in range(cut, len(args))}, **keywords)


def whole(r: Round, args: Args, keywords: Keywords) -> None:
    r.op.whole(*r.every(args, keywords))


def redispatch(r: Round, args: Args, keywords: Keywords) -> None:
    r.op.redispatch(r.rng.choice(LAYERS), *args, **keywords)


def at(r: Round, args: Args, keywords: Keywords) -> None:
    key = r.rng.choice([DispatchKey.CPU, DispatchKey.CPU, *LAYERS, 31])
    r.op.at(key)(*r.every(args, keywords)) if key else r.op.at(key)(*args, **keywords)


def kernel_handle(r: Round, args: Args, keywords: Keywords) -> None:
    get_kernel(r.op, "cpu")(*args, **keywords)


def run_at(r: Round, args: Args, keywords: Keywords) -> None:
    given = r.every(args, keywords)
    rank = r.rng.choice([0, 0, 1, *LAYERS, 31, 64 + 21, 2**63])
    kernel = r.rng.choice([None, None, r.kernel, 3])
    core.run_at(r.op, rank, given[: r.rng.choice([None, None, -1])], kernel, whole=r.rng.random() < 0.5)


def taken_apart(r: Round, args: Args, keywords: Keywords) -> None:
    given = r.every(args, keywords)
    r.rng.choice([
        lambda: core.split(given),
        lambda: core.descend(r.op.whole, given),
        lambda: [core.unwrap(x, r.rng.choice([0, 21, 64 + 21])) for x in given],
        lambda: [core.seen_through(x, r.rng.choice([0, 1 << 21, 2**32 - 1])) for x in given],
        lambda: core.bound(r.op, tuple(args), keywords),
        lambda: core.redispatched(r.op, r.rng.choice([0, 1 << 21]), given),
        lambda: [core.rebuilt(x, list(items)) for x in given if (items := core.items_of(x)) is not None],
        lambda: [core.wrap(Shadow, x, core.ground()) for x in given],
        lambda: [core.wrap(r.rng.choice([None, int, Shadow, type(x)]), x, r.rng.choice([r.values.closed, core.ground(), 3])) for x in given],
        lambda: [core.device_of(x) for x in given],
        lambda: [core.freeze(x) for x in given if type(x) is not np.ndarray],
    ])()


def observed(r: Round, args: Args, keywords: Keywords) -> None:
    guard = r.rng.choice([
        lambda: dispatch.validate("full"),
        lambda: dispatch.log_calls(open("/dev/null", "w")),  # noqa: SIM115  closed by the collector
        dispatch.profile,
        dispatch.no_grad,
        lambda: Level("fuzz"),
    ])
    with guard():
        r.op(*args, **keywords)


def explained(r: Round, args: Args, keywords: Keywords) -> None:
    r.op.explain(*args, **keywords)


def wrapped(r: Round, args: Args, keywords: Keywords) -> None:
    with Level("fuzz") as level:
        r.op(*[core.wrap(Shadow, x, level) if type(x) is np.ndarray and r.rng.random() < 0.5 else x for x in args], **keywords)


def tracked(r: Round, args: Args, keywords: Keywords) -> None:
    leaves = [dispatch.tensor(x, requires_grad=True) if type(x) is np.ndarray and x.dtype == float else x for x in args]
    out = r.op(*leaves, **keywords)
    if isinstance(out, dispatch.Tensor):
        out.sum().backward()


def transformed(r: Round, args: Args, keywords: Keywords) -> None:
    def function(*given: Any) -> Any:
        return r.op(*given, **keywords)

    r.rng.choice([
        lambda: dispatch.compile(function)(*args),
        lambda: [found(*args) for found in [dispatch.compile(function)] * 2],
        lambda: dispatch.make_fx(function, tracing_mode=r.rng.choice(["real", "fake", "symbolic"]))(*args),
        lambda: dispatch.vmap(function, in_dims=r.rng.choice([0, 0, -1]))(*args),
        lambda: dispatch.grad(function)(*args),
        lambda: dispatch.vjp(function, *args)[1](r.values.like(np.ones(4))),
        lambda: dispatch.jvp(function, tuple(args), tuple(args)),
        lambda: dispatch.functionalize(function)(*args),
        lambda: dispatch.eval_shape(function, *args),
        lambda: dispatch.vmap(dispatch.grad(function))(*args),
    ])()


def program(r: Round, args: Args, keywords: Keywords) -> None:
    given = r.every(args, keywords)
    slots = len(given) + 2
    inside = tuple(r.rng.choice([Slot(i), Slot(i), [Slot(i), x], x]) for i, x in enumerate(given))
    out = r.rng.choice([-1, slots - 1])
    constants = [(slots - 2, r.values.any(), r.rng.random() < 0.3)]
    outputs = r.rng.choice([Slot(slots - 2), [Slot(0 if given else slots - 2), {"x": Slot(slots - 2)}], r.values.any()])
    promised = r.rng.choice([None, None, (np.dtype(float), (3,)), [(np.dtype("f4"), (None, 2)), None], r.values.any()])
    calls = [(r.op.whole, inside, out, (None,) * len(inside), None, (), (), None, promised)]
    broken = r.rng.choice([lambda i, x: ValueError(f"call {i}"), r.values.any()])
    made = Program(slots, (None,) * len(given), constants, calls, outputs, lambda i: f"call {i}", broken)
    for _ in range(2):
        made(*given)


WAYS = [plain] * 40 + [by_keyword] * 15 + [whole] * 8 + [redispatch] * 5 + [at] * 5 + [kernel_handle] * 5 + [run_at] * 6
WAYS += [taken_apart] * 14 + [program] * 4 + [observed] * 3 + [explained] + [wrapped] * 4 + [tracked] * 3 + [transformed] * 4


# -- the laws --------------------------------------------------------------------------------------------------------------

WORKS = dispatch.custom_op("fuzz::works", lambda x, y=2.0: x * y, mutates_args=(), schema="(Tensor x, float y=2.0) -> Tensor")


def broken(values: Hostility, arrived: BaseException | None) -> str | None:
    """Which law a call has broken, if any."""
    if values.ignored:
        return f"ignored: {values.ignored[0]}"
    seen, error = set(), arrived
    # NumPy (2.4) looks classes up by their hash, and goes on with the exception set where the hash raises: nobody here can help
    of_numpy = any(str(error) == "hostile __hash__" for error in values.raised)
    while error is not None and id(error) not in seen:
        if type(error) is SystemError and not of_numpy:
            return f"SystemError: {error}"
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    ending = [error for error in values.raised if isinstance(error, ENDING)]
    if ending and not any(error is arrived for error in values.raised) and type(arrived) is not SystemError:
        return f"{ending[0]!r} did not arrive, but {type(arrived).__name__}: {str(arrived)[:300]}"
    probe = Guard()
    with probe:
        if probe.below is not None:
            return f"{probe.below!r} is on after the call"
    if core.active_modes() or core.open_levels() or any(core.setting(key) is not None for key in range(32)):
        return "a mode, a level or a setting is on after the call"
    if WORKS(A).tolist() != (A * 2).tolist() or WORKS(y=3.0, x=A).tolist() != (A * 3).tolist():
        return "a plain operator no longer works"
    return None


PLANTS: dict[str, Callable[[Hostility], Any]] = {
    "signal": lambda values: ctypes.string_at(0),
    "guard": lambda values: Level("planted").__enter__(),
    "system-error": lambda values: (_ for _ in ()).throw(SystemError("planted")),
    "swallowed": lambda values: values.raised.append(KeyboardInterrupt("planted")),
}


def run_calls(seed: int, rounds: range, only: int | None, progress: Any, plant: str | None, keep_going: bool) -> int:
    """Run rounds in this process; the number of broken laws."""
    warnings.simplefilter("ignore")
    values = Hostility()
    sys.unraisablehook = values.unraisable
    found = 0
    for number in rounds:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        progress[:16] = number.to_bytes(8, "little") + (PER_ROUND).to_bytes(8, "little")
        r = Round(seed, number, values)
        for call in range(PER_ROUND) if only is None else [only]:
            progress[8:16] = call.to_bytes(8, "little")
            values.raised.clear()
            values.ignored.clear()
            arrived = None
            try:
                if plant and call == 7:
                    PLANTS[plant](values)
                elif not plant:
                    r.call(call)
            except BaseException as error:  # what a call raises is what is looked at
                arrived = error
            fault = broken(values, arrived)
            if fault is not None:
                found += 1
                print(f"BROKEN round {number} call {call} ({r.way}): {fault}", flush=True)
                if arrived is not None:
                    arrived.__traceback__ and print("".join(traceback.format_tb(arrived.__traceback__)[-4:]), flush=True)
                if not keep_going:
                    return found
            arrived = None
        values.actions = []
        progress[16:24] = (int.from_bytes(progress[16:24], "little") + (PER_ROUND if only is None else 1)).to_bytes(8, "little")
    faulthandler.cancel_dump_traceback_later()
    return found


# -- the processes ---------------------------------------------------------------------------------------------------------


class Child:
    """A process that runs rounds; `place` is the round and the call at which it is."""

    def __init__(self, options: argparse.Namespace, words: list[str]) -> None:
        self.file = tempfile.NamedTemporaryFile()  # noqa: SIM115  as long as the child
        self.file.write(bytes(24))
        self.file.flush()
        self.progress = mmap.mmap(self.file.fileno(), 24)
        command = [sys.executable, "-X", "faulthandler", __file__, "--seed", str(options.seed), "--progress", self.file.name, *words]
        command += ["--plant", options.plant] * bool(options.plant) + ["--keep-going"] * options.keep_going
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115  the same
        self.process = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT, text=True)

    @property
    def place(self) -> tuple[int, int]:
        return int.from_bytes(self.progress[:8], "little"), int.from_bytes(self.progress[8:16], "little")

    @property
    def calls(self) -> int:
        return int.from_bytes(self.progress[16:24], "little")

    def said(self) -> str:
        """The end of what it printed."""
        self.output.seek(0)
        return self.output.read()[-6000:]


def failure_of(options: argparse.Namespace, child: Child) -> str:
    """What a child died of, and the shortest way to see it again."""
    number, call = child.place
    status = child.process.returncode
    words = [f"FAILED with status {status} in round {number} call {call}", child.said()]
    shortest = f"the whole run up to round {number}"
    for place in (str(number), f"{number}:{call}"):
        again = Child(options, ["--replay", place])
        again.process.wait()
        if again.process.returncode != 0:
            shortest = f"python -m tests.fuzz_calls --seed {options.seed} --replay {place}"
        else:
            break
    return "\n".join([*words, f"again: {shortest}"])


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 where no law was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_calls", description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--replay", help="ROUND or ROUND:CALL, in this process")
    parser.add_argument("--keep-going", action="store_true", help="go on after a broken law, and count them")
    parser.add_argument("--plant", choices=PLANTS, help="break a law on purpose at call 7 of each round, and call nothing else")
    parser.add_argument("--rounds", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--progress", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.replay or options.rounds:
        progress: Any = bytearray(24)
        if options.progress:
            with open(options.progress, "r+b") as file:
                progress = mmap.mmap(file.fileno(), 24)
        number, _, call = (options.replay or "").partition(":")
        rounds = range(int(number), int(number) + 1) if options.replay else range(*options.rounds)
        found = run_calls(options.seed, rounds, int(call) if call else None, progress, options.plant, options.keep_going)
        return 3 if found else 0
    begun = time.perf_counter()
    rounds = -(-options.calls // PER_ROUND)
    nexts = list(range(options.processes))
    done, failures = 0, []
    children = {p: Child(options, ["--rounds", str(p), str(rounds), str(options.processes)]) for p in nexts}
    while children:
        for p, child in list(children.items()):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(0.2)
            if child.process.returncode is None:
                continue
            done += child.calls
            children.pop(p, None)
            if child.process.returncode == 3 and options.keep_going:
                failures.append(child.said())
                print(failures[-1], flush=True)
            elif child.process.returncode != 0:
                failures.append(failure_of(options, child))
                print(failures[-1], flush=True)
                if options.keep_going:
                    start = child.place[0] + options.processes
                    children[p] = Child(options, ["--rounds", str(start), str(rounds), str(options.processes)])
                else:
                    for other in children.values():
                        other.process.kill()
                        other.process.wait()
                    children.clear()
    print(f"{done} calls in {time.perf_counter() - begun:.0f} s, seed {options.seed}: {'FAILED' if failures else 'every law held'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
