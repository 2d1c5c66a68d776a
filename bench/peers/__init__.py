"""One file for each peer. All have the same names:

``label``     what stands in the table
``cases()``   the cases of bench/workload.py that it can do, by name; cached where an operator's name is the process's
``define``    where it has operators with rules: ``define(name, kernel, fake, setup_context, backward)`` gives the
              operator of one array; ``array`` and ``empty_like`` are what these functions are written with
``chain``     where it has a tape: ``chain(length) -> (forward, backward)``, two functions to be timed in turn
"""

import importlib
from collections.abc import Sequence
from types import ModuleType

# The order of the table, ours first; the torch ones from the one to beat down to the one written in C++.
PEERS = (
    "dispatch",
    "python",
    "singledispatch",
    "plum",
    "autograd",
    "torch_custom_op",
    "torch_library",
    "torch_function",
    "torch_add",
)
PACKAGES = ("npdispatch", "numpy", "plum-dispatch", "autograd", "torch")


class MissingPeerError(ImportError):
    """A peer whose package is not installed."""


def load(name: str) -> ModuleType:
    """The peer's module."""
    try:
        return importlib.import_module(f"bench.peers.{name}")
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package in {"", "bench", "dispatch"}:
            raise
        raise MissingPeerError(absent(name, package)) from None


def absent(name: str, package: str) -> str:
    """The line that says why a peer is left out, and what to do."""
    return f'{name} is left out: {package} is not installed. It comes with `pip install -e ".[bench]"`.'


def installed(names: Sequence[str]) -> dict[str, ModuleType]:
    """The peers named, or all, that can be measured; each that cannot is said in a line."""
    if strangers := [name for name in names if name not in PEERS]:
        raise SystemExit(f"No peer is named {', '.join(strangers)}. Those here: {', '.join(PEERS)}.")
    peers = {}
    for name in names or PEERS:
        try:
            peers[name] = load(name)
        except MissingPeerError as missing:
            print(missing)
    return peers
