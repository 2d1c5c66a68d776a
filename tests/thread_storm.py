"""Five threads call an operator in many ways while one defines it anew, over and over.

    python -m tests.thread_storm --seconds 60

The operator has six definitions, of different arguments, outputs and kernels, for NumPy's arrays and for a user's array type.
What each call gives or raises under each of them is found first, in one thread. Among the threads every call must give one of
these answers: a mixture of one definition's arguments with another's kernel, outputs or message is none of them.
"""

import argparse
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from dispatch.core import DispatchKey, OpOverload, device_key
from dispatch.library import register_array_type
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

CALLERS = 5


class Mirror:
    """An array type of a user."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape, self.dtype = values, values.shape, values.dtype


register_array_type(Mirror, device="mirror")
MIRROR = device_key("mirror")
NAME = "threadstorm::op"


def like(x: Any, values: Any) -> Any:
    """Values as an array of the kind of `x`."""
    return Mirror(np.asarray(values)) if isinstance(x, Mirror) else np.asarray(values)


def values_of(x: Any) -> np.ndarray:
    """What is in an array of either kind."""
    return x.values if isinstance(x, Mirror) else x


def write(x: Any) -> None:
    """A kernel that writes to its argument."""
    values_of(x)[...] = 5.0


DEFINITIONS: list[tuple[str, Callable[..., Any]]] = [
    ("(Tensor x) -> Tensor", lambda x: like(x, values_of(x) + 100)),
    ("(Tensor x, int n=2) -> (Tensor, int)", lambda x, n: (like(x, values_of(x) * n), 1000 + n)),
    ("(Tensor x, Tensor? y=None, *, float s=1.5) -> Tensor", lambda x, y, *, s: like(x, values_of(x) + s)),
    ("(Tensor[] xs) -> Tensor[]", lambda xs: [like(x, values_of(x) + 300) for x in xs]),
    ("(Tensor(a!) x) -> ()", write),
    ("(Tensor x, str text='t') -> (Tensor, Residual)", lambda x, text: (like(x, values_of(x) - 400), text)),
]


def definition(number: int) -> OpOverload:
    """The operator as one of the definitions makes it, known to nobody yet."""
    text, kernel = DEFINITIONS[number]
    made = build(Schema.parse(text, name=NAME))
    for key in (DispatchKey.CPU, MIRROR):
        made.register_at(key, kernel)
    return made


def calls_of(op: OpOverload) -> dict[str, Callable[[Any], Any]]:
    """The ways to call the operator with an array of either kind."""
    return {
        "plain": op,
        "by name": lambda x: op(x=x),
        "two": lambda x: op(x, 3),
        "second by name": lambda x: op(x, n=4),
        "keyword only": lambda x: op(x, s=2.5),
        "list": lambda x: op([x, x]),
        "list by name": lambda x: op(xs=(x,)),
        "text": lambda x: op(x, "words"),
        "whole": lambda x: op.whole(x),
        "whole of two": lambda x: op.whole(x, 3),
        "kernel": lambda x: op.at(DispatchKey.CPU)(x),
        "redispatched": lambda x: op.redispatch(DispatchKey.AUTOGRAD, x),
        "redispatched by name": lambda x: op.redispatch(DispatchKey.VMAP, x=x),
        "nothing": lambda x: op(),
        "refused": lambda x: op(x, [x, None]),
    }


def told(found: Any) -> Any:
    """A result as something that can be compared."""
    if isinstance(found, (list, tuple)):
        return type(found).__name__, *map(told, found)
    if isinstance(found, (np.ndarray, Mirror)):
        return type(found).__name__, *values_of(found).tolist()
    return found


def outcome(call: Callable[[Any], Any], kind: str) -> Any:
    """What a call gives and what it has written, or what it raises."""
    values = np.arange(3.0)
    x: Any = Mirror(values) if kind == "mirror" else values
    try:
        return told(call(x)), tuple(values)
    except Exception as error:
        return type(error).__name__, str(error), tuple(getattr(error, "__notes__", ())), tuple(values)


def storm(turns: Callable[[], Iterable[object]]) -> int:
    """Call and redefine; how many calls were compared. `turns` says how often each thread goes round."""
    op = definition(0)
    calls = calls_of(op)
    cases = list(itertools.product(calls, ("cpu", "mirror")))
    allowed: dict[tuple[str, str], list[Any]] = {case: [] for case in cases}
    for number in range(len(DEFINITIONS)):
        op.redefine(definition(number))
        for name, kind in cases:
            allowed[name, kind].append(outcome(calls[name], kind))
    start, stop = threading.Barrier(CALLERS + 1), threading.Event()
    faults: list[Any] = []
    counts = [0] * CALLERS

    def call(k: int) -> None:
        start.wait()
        try:
            for _ in turns():
                for name, kind in cases[k:] + cases[:k]:
                    found = outcome(calls[name], kind)
                    counts[k] += 1
                    if found not in allowed[name, kind]:
                        faults.append((name, kind, found))
                        return
                if faults:
                    return
        except BaseException as error:
            faults.append(error)

    def redefine() -> None:
        start.wait()
        try:
            for number in itertools.cycle(range(len(DEFINITIONS))):
                op.redefine(definition(number))
                if stop.is_set():
                    return
        except BaseException as error:
            faults.append(error)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(CALLERS)]
    other = threading.Thread(target=redefine)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in [*callers, other]:
            thread.start()
        for thread in callers:
            thread.join()
    finally:
        stop.set()
        other.join()
        sys.setswitchinterval(interval)
    assert not faults, f"an answer of no definition: {faults[0]}"
    return sum(counts)


def main() -> None:
    """Run for some seconds, and say how many calls were compared."""
    parser = argparse.ArgumentParser(prog="python -m tests.thread_storm", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    end = time.monotonic() + parser.parse_args().seconds
    count = storm(lambda: iter(lambda: time.monotonic() < end, False))
    print(f"{count} calls in {CALLERS} threads, one more redefining: each gave the answer of one definition")


if __name__ == "__main__":
    main()
