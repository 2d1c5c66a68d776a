"""What does op(x, y) cost over the kernel itself?

Plain calls of 1 to 50 arrays of three float64, with keywords and with options left out, in place, tracked, forward and backward
of the sum, with tangents, under vmap with a rule, under fake mode, under a mode that calls on; all peers in one process, on one
thread.

    python -m bench call                    every peer that is installed
    python -m bench call dispatch python    these alone
"""

from collections.abc import Mapping, Sequence

from bench import table
from bench.peers import PACKAGES, installed
from bench.timing import Case, Timing, measure
from bench.workload import NAMES

# The contract we follow, and so the unit of the last column.
UNIT = "torch_custom_op"

Timings = Mapping[tuple[str, str], Timing]


def main(words: Sequence[str]) -> None:
    """Measure the peers named, or all, and print the table and the figures."""
    peers = installed(words)
    cases: dict[tuple[str, str], Case] = {}
    for name, peer in peers.items():
        cases |= {(name, case): statement for case, statement in peer.cases().items()}
    timings = measure(cases)
    print(table.machine(PACKAGES))
    print()
    print(comparison(timings, {name: peer.label for name, peer in peers.items()}))
    print()
    print(table.verdicts(figures(timings)))


def comparison(timings: Timings, labels: Mapping[str, str]) -> str:
    """The table: a block for each case, a line for each peer that can do it."""
    rows = []
    for name in NAMES:
        unit = timings.get((UNIT, name))
        for peer, label in labels.items():
            timing = timings.get((peer, name))
            if timing is not None:
                share = table.ratio(timing.cost, None if unit is None else unit.cost)
                rows.append((name, label, table.number(timing.call), table.number(timing.over), share))
    return table.columns(("case", "who", "ns", "over its kernel", "to torch custom_op"), rows, left=2)


def figures(timings: Timings) -> list[table.Figure]:
    """The design's figures for one call, as far as they were measured."""

    def seen(name: str, peer: str = "dispatch") -> float | None:
        timing = timings.get((peer, name))
        return None if timing is None else timing.cost

    def more(name: str, than: str) -> float | None:
        one, other = timings.get(("dispatch", name)), timings.get(("dispatch", than))
        return None if one is None or other is None else one.call - other.call

    def extra(name: str, than: str) -> float | None:
        one, other = seen(name), seen(than)
        return None if one is None or other is None else one - other

    def share(name: str) -> float | None:
        ours, theirs = seen(name), seen(name, UNIT)
        return None if ours is None or theirs is None else 100 * ours / theirs

    return [
        table.Figure("2 arrays, over the kernel", seen("2 arrays"), 25),
        table.Figure("2 arrays, over np.add", seen("2 arrays, add"), 25),
        table.Figure("2 arrays, share of torch custom_op", share("2 arrays"), 1, "%"),
        table.Figure("2 arrays, add, share of torch custom_op", share("2 arrays, add"), 1, "%"),
        table.Figure("14 arrays, over the kernel", seen("14 arrays"), 75),
        table.Figure("arrays by keyword, more than by position", more("2 arrays by keyword", "2 arrays"), 20),
        table.Figure(
            "options by keyword, more than by position", more("options by keyword", "2 arrays, 2 options"), 20
        ),
        table.Figure("options left out, more than given", more("options left out", "2 arrays, 2 options"), 20),
        table.Figure("mutable, more than functional", extra("mutable", "2 arrays"), 60),
        table.Figure("tracked forward, over the kernel", seen("tracked forward"), 1000),
        table.Figure("forward + backward of sum(op(x, y))", seen("forward + backward"), 5500),
        table.Figure("vmap(op) with a rule", seen("vmap"), 2500),
        table.Figure("fake call", seen("fake"), 2400),
    ]
