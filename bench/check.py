"""What does checking an operator cost, and what does the plugin of pytest cost a run that does not ask for it?

One operator of two arrays with all its rules, five samples of other shapes, gradients and every check: in this process, in
processor time; in child processes; and torch's `opcheck` of the same. The plugin is timed in new interpreters, where pytest is
imported already.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import dispatch
from bench import table
from bench.peers import PACKAGES
from dispatch.testing import opcheck

SHAPES = [(3,), (2, 3), (2, 3, 4), (4,), (5, 2)]
ROUNDS = 7
INTERPRETERS = 5
SHIPPED = {".py", ".pyi", ".pxd", ".pyx", ".h", ".so"}
ROOT = Path(__file__).resolve().parent.parent
PLUGIN = ROOT / "dispatch" / "testing" / "npdispatch_pytest.py"
# What pytest does with the plugin in every run: imports it, asks for its options, and configures it.
LOADING = """
import sys, time
import _pytest.config as config
parser, manager = config.Parser(), config.PytestPluginManager()
class Options:
    def getoption(self, name):
        return None
sys.path.insert(0, {folder!r})
start = time.perf_counter()
import npdispatch_pytest as plugin
manager.register(plugin)
plugin.pytest_addoption(parser, manager)
plugin.pytest_configure(Options())
print(time.perf_counter() - start)
"""


def main(words: Sequence[str]) -> None:
    """Measure, print."""
    here = fastest(lambda: check(isolate=False), time.process_time)
    apart = fastest(lambda: check(isolate=True), time.perf_counter)  # what the children take is no time of this process
    rows = [("opcheck in this process", table.number(here * 1e3)), ("opcheck in child processes", table.number(apart * 1e3))]
    if importlib.util.find_spec("torch") is not None:
        rows.append(("torch.library.opcheck", table.number(fastest(torchs(), time.process_time, rounds=2) * 1e3)))
    loading = min(loaded() for _ in range(INTERPRETERS))
    rows.append(("the plugin, in a run of pytest without --opcheck", f"{loading * 1e3:.2f}"))
    with tempfile.TemporaryDirectory() as folder:
        listed = fastest(listing(Path(folder)), time.process_time)
    rows.append(("pytest's own reading of our list of files, of a wheel", f"{listed * 1e3:.2f}"))
    print(table.machine(PACKAGES))
    print()
    print(table.columns((f"an operator, {len(SHAPES)} samples", "ms"), rows))
    print()
    print(
        table.verdicts(
            [
                table.Figure("checking an operator, in process", here, 0.25, "s"),
                table.Figure("checking an operator, isolated", apart, 1.0, "s"),
                table.Figure("the plugin in another run of pytest", loading * 1e3, 2.0, "ms"),
            ]
        )
    )


def fastest(run: Callable[[], object], clock: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Seconds of the fastest run."""
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        run()
        best = min(best, clock() - start)
    return best


def values(shape: tuple[int, ...], start: float) -> "np.ndarray[Any, Any]":
    """An array without two equal elements."""
    return np.linspace(start, start + 1, int(np.prod(shape))).reshape(shape)


@dispatch.custom_op("bench_check::damped", mutates_args=())
def damped(x: np.ndarray, y: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """The operator that is checked."""
    return np.sin(x) * y * factor


@damped.register_fake
def _(x: Any, y: Any, factor: float) -> Any:
    return np.empty_like(x)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.factor = inputs[2]


@damped.register_autograd(setup_context=_keep)
def _(ctx: Any, g: Any) -> Any:
    x, y = ctx.saved_tensors
    return g * np.cos(x) * y * ctx.factor, g * np.sin(x) * ctx.factor, None


damped.register_vmap("broadcast_all")


def check(*, isolate: bool) -> None:
    """Check it on every sample."""
    for shape in SHAPES:
        tracked = [dispatch.tensor(values(shape, start), requires_grad=True) for start in (0.5, 1.0)]
        opcheck(damped, (*tracked, 2.0), isolate=isolate)


def torchs() -> Callable[[], object]:
    """The same with torch."""
    import torch

    def kernel(x: torch.Tensor, y: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return torch.sin(x) * y * factor

    op = torch.library.custom_op("bench_check::damped", kernel, mutates_args=())
    op.register_fake(lambda x, y, factor=2.0: torch.empty_like(x))

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.factor = inputs[2]

    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * torch.cos(x) * y * ctx.factor, g * torch.sin(x) * ctx.factor, None

    op.register_autograd(backward, setup_context=setup)

    def run() -> None:
        for shape in SHAPES:
            tracked = [torch.tensor(values(shape, start), requires_grad=True) for start in (0.5, 1.0)]
            torch.library.opcheck(op, (*tracked, 2.0))

    return run


def listing(folder: Path) -> Callable[[], object]:
    """What pytest does with each distribution that has a plugin: it reads which files are installed."""
    files = [path.relative_to(ROOT) for path in (ROOT / "dispatch").rglob("*") if path.suffix in SHIPPED]
    made = [path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc" for path in files if path.suffix == ".py"]
    lines = [f"{path},sha256=ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs,12345" for path in [*files, *made]]
    (folder / "npdispatch-0.dist-info").mkdir()
    (folder / "npdispatch-0.dist-info" / "RECORD").write_text("\n".join(lines))
    distribution = metadata.Distribution.at(folder / "npdispatch-0.dist-info")
    return lambda: list(map(str, distribution.files or ()))


def loaded() -> float:
    """Seconds that the plugin takes in a new interpreter."""
    code = LOADING.format(folder=str(PLUGIN.parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)
