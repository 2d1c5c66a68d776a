"""The cases of call.py under pytest-benchmark: ``pytest bench --benchmark-enable``, one group a case."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.peers import PEERS, MissingPeerError, load
from bench.timing import Case
from bench.workload import NAMES


@pytest.fixture(scope="session", params=PEERS)
def cases(request: pytest.FixtureRequest) -> dict[str, Case]:
    """The cases of each peer that is installed."""
    try:
        peer = load(request.param)
    except MissingPeerError as missing:
        pytest.skip(str(missing))
    able: dict[str, Case] = peer.cases()
    return able


@pytest.mark.filterwarnings("default")  # what a peer warns of is not ours to raise
@pytest.mark.parametrize("name", NAMES)
def test_call(benchmark: BenchmarkFixture, cases: dict[str, Case], name: str) -> None:
    """One case of one peer."""
    if name not in cases:
        pytest.skip("this peer has no such call")
    case = cases[name]
    benchmark.group = name
    with case.within():
        benchmark(case.function())
