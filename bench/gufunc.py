"""What does the loop of `signature=` cost an item, over calling the kernel itself?

10 000 items of kernels that do next to nothing, beside the same kernel on the same items made beforehand, called by `map`
and collected by `deque`, which is a loop without a line of Python; and `np.vectorize(signature=...)` on the same arrays.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench import table
from bench.peers import PACKAGES
from bench.timing import Case, measure
from dispatch import custom_op

ITEMS = 10_000
BOUND = 150
# A batch is one call, of a millisecond and more.
ROUNDS = 15


class Kernel(NamedTuple):
    """A kernel of one item, its signature, its schema, and the shape of the items of each array."""

    function: Callable[..., Any]
    signature: str
    schema: str
    items: tuple[tuple[int, ...], ...]


def same(x: Any) -> Any:
    """The least a kernel in Python can do."""
    return x


def first(x: Any, y: Any) -> Any:
    """The same of two arrays."""
    return x


def both(x: Any, y: Any) -> Any:
    """The same with two outputs."""
    return x, y


KEPT: deque[Any] = deque(maxlen=1)


def keeping(x: Any) -> Any:
    """A kernel that keeps its item, so that the next one is a new object."""
    KEPT.append(x)
    return x


KERNELS = {
    "lambda x: x, ()": Kernel(same, "()->()", "(Tensor x) -> Tensor", ((),)),
    "lambda x: x, (3)": Kernel(same, "(n)->(n)", "(Tensor x) -> Tensor", ((3,),)),
    "one that keeps x, (3)": Kernel(keeping, "(n)->(n)", "(Tensor x) -> Tensor", ((3,),)),
    "lambda x, y: x, (3)": Kernel(first, "(n),(n)->(n)", "(Tensor x, Tensor y) -> Tensor", ((3,), (3,))),
    "lambda x, y: (x, y)": Kernel(both, "(n),(n)->(n),(n)", "(Tensor x, Tensor y) -> (Tensor, Tensor)", ((3,), (3,))),
    "np.dot, vectors": Kernel(np.dot, "(n),(n)->()", "(Tensor x, Tensor y) -> Tensor", ((3,), (3,))),
    "np.matmul, (3,3),(3)": Kernel(np.matmul, "(m,n),(n)->(m)", "(Tensor x, Tensor y) -> Tensor", ((3, 3), (3,))),
}


def main(words: Sequence[str]) -> None:
    """Measure every kernel, or those whose names hold one of the words; print."""
    chosen = {name: kernel for name, kernel in KERNELS.items() if not words or any(word in name for word in words)}
    looped, vectorized = {}, {}
    for number, (name, kernel) in enumerate(chosen.items()):
        looped[name], vectorized[name] = cases(kernel, f"bench_gufunc::k{number}")
    ours = measure(looped, ROUNDS)
    theirs = measure(vectorized, 3)
    rows = []
    for name in chosen:
        bare, call, peer = (x / ITEMS for x in (ours[name].kernel or 0.0, ours[name].call, theirs[name].call))
        rows.append((name, *map(table.number, (bare, call, call - bare, peer, peer - bare))))
    print(table.machine(PACKAGES))
    print()
    print(table.columns(("ns an item", "kernel", "signature=", "over it", "np.vectorize", "over it"), rows))
    print()
    worst = max((ours[name].over or 0.0) / ITEMS for name in chosen)
    print(table.verdicts([table.Figure("the loop of signature=, an item over the kernel", worst, BOUND)]))


def cases(kernel: Kernel, name: str) -> tuple[Case, Case]:
    """The operator's loop over the kernel's own, and NumPy's."""
    rng = np.random.default_rng(0)
    arrays = [rng.random((ITEMS, *shape)) for shape in kernel.items]
    names = {
        "op": custom_op(name, kernel.function, mutates_args=(), schema=kernel.schema, signature=kernel.signature),
        "vectorized": np.vectorize(kernel.function, signature=kernel.signature),
        "kernel": kernel.function,
        "collect": deque(maxlen=0).extend,
        "arrays": arrays,
        "items": [[array[i, ...] for i in range(ITEMS)] for array in arrays],
    }
    return Case("op(*arrays)", names, "collect(map(kernel, *items))"), Case("vectorized(*arrays)", names)
