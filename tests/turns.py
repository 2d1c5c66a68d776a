"""Which of several ways a case is tried in: where each way is the same law, an ordinary run meets each case and each way, not each pair.

`pytest --hypothesis-profile=nightly` meets each pair: `.ci/nightly`.
"""

from collections.abc import Iterable
from typing import Any

import hypothesis


def every() -> bool:
    """Whether this is a run of everything."""
    return hypothesis.settings().max_examples > 100


def in_turn(ways: Iterable[Any], number: int, count: int = 1) -> list[Any]:
    """So many of the ways for the case of a number, the next ones for the next case; in a run of everything all."""
    ways = list(ways)
    return ways if every() or count >= len(ways) else [ways[(number + i) % len(ways)] for i in range(count)]
