"""Programs of NumPy at random under every layer, against NumPy itself, JAX and torch.

    python -m tests.fuzz_programs --programs 20000 --seed 0 --processes 2

`numpy_programs.py` says what a program is, `program_checks.py` what each layer is held to. What a layer refuses in words of its own
is counted by its reason and is no difference; any other exception is one. The first of each kind that is found is made as short as it
can be and printed at once, as source that runs.
"""

import argparse
import re
import sys
import traceback
import warnings
from collections import Counter
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from numpy_programs import Program, program, shortest
from program_checks import LAYERS
from program_oracles import LACKS, RefusedError, agrees, installed, kind
from program_values import DifferenceError

from dispatch.errors import DispatchError

OF_FAKES = {"fx fake", "fx symbolic", "compile"}  # in which a size that depends on data is a symbol


class Outcome(NamedTuple):
    """What a layer made of a program: nothing to say, a refusal by its reason, or a difference."""

    layer: str
    kind: str  # "same", "refused" or "different"
    said: str


def outcome(program: Program, layer: str) -> Outcome:
    """Run a program under a layer."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if layer in LACKS:
                agrees(program, layer)
            else:
                LAYERS[layer](program)
        except DifferenceError as error:
            return Outcome(layer, "different", str(error))
        except (DispatchError, RefusedError) as error:
            return Outcome(layer, "refused", str(error))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            if Path(frame.filename).name == "_stride_tricks_impl.py" and layer in OF_FAKES:
                return Outcome(layer, "refused", "np.broadcast_shapes, which asks no layer, got a size of data that x + y had taken to be that of y")
            return Outcome(layer, "different", f"{type(error).__name__} in {Path(frame.filename).name}: {error}")
    return Outcome(layer, "same", "")


def reason(said: str) -> str:
    """The words of a refusal without names and numbers."""
    return re.sub(r"\d+|'[^']*'", "_", said.splitlines()[0])[:110]


def sort_of(said: str) -> str:
    """What has to stay the same while a program is made shorter."""
    return re.sub(r"[\d.e+-]+", "_", ":".join(part[:40 - 28 * k] for k, part in enumerate(said.split(":")[:2])))[:60]


def shrunk(program: Program, layer: str) -> Program:
    """The shortest program with the same difference."""
    kind = sort_of(outcome(program, layer).said)

    def fails(candidate: Program) -> bool:
        found = outcome(candidate, layer)
        return found.kind == "different" and sort_of(found.said) == kind

    return shortest(program, fails)


class Report(NamedTuple):
    """What a run of many programs found."""

    calls: Counter[str]
    refused: Counter[tuple[str, str]]
    different: list[tuple[Program, Outcome]]


def run(seeds: range, layers: tuple[str, ...] = ()) -> Report:
    """Run the programs of these seeds under some layers; under all of them if none is named, and each tenth by JAX and torch, too."""
    report = Report(Counter(), Counter(), [])
    for seed in seeds:
        names = layers or (*LAYERS, *(oracle for oracle in installed() if seed % 10 == 0))
        everything = program(seed)
        for layer in names:
            made = program(seed, kind(layer)) if layer in LACKS else everything
            found = outcome(made, layer)
            report.calls[layer] += 1
            if found.kind == "refused":
                report.refused[layer, reason(found.said)] += 1
            elif found.kind == "different":
                report.different.append((made, found))
    return report


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--show", type=int, default=100, help="how many kinds of differences are made short and printed")
    options = parser.parse_args()
    last = options.seed + options.programs
    chunks = [range(i, min(i + 20, last)) for i in range(options.seed, last, 20)]
    calls: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    sorts: dict[str, Counter[str]] = {}
    with get_context("spawn").Pool(options.processes) if options.processes > 1 else nullcontext() as pool:
        for report in pool.imap(run, chunks) if pool else map(run, chunks):
            calls += report.calls
            if not calls[next(iter(LAYERS))] % 1000:
                print(f"# {calls[next(iter(LAYERS))]} programs", file=sys.stderr, flush=True)
            refused += report.refused
            for made, found in report.different:
                like = sort_of(re.sub("[A-Z][a-z]+Tensor", "Tensor", found.said))
                if like not in sorts and len(sorts) < options.show:
                    small = shrunk(made, found.layer)
                    print(f"\n# seed {small.seed}, {found.layer}: {outcome(small, found.layer).said[:300]}\n{small.text}", flush=True)
                else:
                    print(f"# again: seed {made.seed}, {found.layer}: {found.said[:100]!r}", flush=True)
                sorts.setdefault(like, Counter())[found.layer] += 1
    by_layer: Counter[str] = Counter()
    for (layer, _), n in refused.items():
        by_layer[layer] += n
    print("\nrefused, of " + str(sum(calls.values())) + " runs: " + ", ".join(f"{layer} {n / calls[layer]:.0%}" for layer, n in by_layer.most_common()))
    for (layer, said), n in refused.most_common(25):
        print(f"  {n:5d}  {layer}: {said}")
    for like, layers in sorts.items():
        print(f"{like}: " + ", ".join(f"{layer} {n}" for layer, n in layers.items()))
    print(f"{options.programs} programs of seed {options.seed} on, {sum(map(Counter.total, sorts.values()))} differences of {len(sorts)} kinds")
    return int(bool(sorts))


if __name__ == "__main__":
    sys.exit(main())
