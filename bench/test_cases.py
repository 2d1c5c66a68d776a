"""The cases under pytest-benchmark: `pytest bench --benchmark-enable` measures them, `pytest bench` runs each once.

Each case is a group: ours, and the peers that can do it.
"""

from functools import cache

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import workload
from bench.cases import cases
from bench.peers import PEERS, MissingPeerError, load
from bench.timing import Case


@cache
def cases_of(peer: str) -> dict[str, Case]:
    """The calls of one peer, made once: an operator's name is the process's."""
    found: dict[str, Case] = load(peer).cases()
    return found


def run(benchmark: BenchmarkFixture, name: str, case: Case) -> None:
    """Measure one case, in the group of its name."""
    benchmark.group = name
    with case.within():
        benchmark(case.function())


@pytest.mark.parametrize("name", cases())
def test_ours(benchmark: BenchmarkFixture, name: str) -> None:
    """One case of ours."""
    run(benchmark, name, cases()[name])


@pytest.mark.filterwarnings("default")  # what a peer warns of is not ours to raise
@pytest.mark.parametrize("name", workload.NAMES)
@pytest.mark.parametrize("peer", [peer for peer in PEERS if peer != "dispatch"])
def test_peer(benchmark: BenchmarkFixture, peer: str, name: str) -> None:
    """One call of one peer."""
    try:
        able = cases_of(peer)
    except MissingPeerError as missing:
        pytest.skip(str(missing))
    if name not in able:
        pytest.skip("this peer has no such call")
    run(benchmark, name, able[name])
