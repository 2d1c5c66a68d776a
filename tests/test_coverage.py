"""Every function that NumPy has is a row, is made of rows, or is listed with its reason; docs/coverage.md says what is so."""

import numpy as np
import pytest

from dispatch.numpy_ops import inventory
from tests import numpy_coverage as coverage

MADE_WITH = f"NumPy {'.'.join(np.__version__.split('.')[:2])} "


def test_each_function_that_numpy_hands_over_has_a_row_or_a_reason():
    assert coverage.without() == [], "write a row, or its reason into tests/numpy_coverage.py: WITHOUT"


def test_each_function_that_numpy_hands_to_nobody_is_listed_with_its_reason():
    assert coverage.unknown() == [], "tests/numpy_coverage.py: BESIDE"


def test_a_function_that_numpy_grows_is_found(monkeypatch):
    monkeypatch.setattr(np, "grown", len, raising=False)
    assert coverage.unknown() == ["grown"]
    handed = inventory.overridable()
    monkeypatch.setattr(inventory, "overridable", lambda: {**handed, "np.grown": len})
    assert (coverage.unknown(), coverage.without()) == ([], ["np.grown"])


@pytest.mark.skipif(MADE_WITH not in coverage.PAGE.read_text(), reason="the page is of another NumPy")
def test_the_page_says_what_the_calls_give():
    found = coverage.page(coverage.lines()).splitlines()
    written = coverage.PAGE.read_text().splitlines()
    names = [line for line in found if line.startswith("| `")]
    assert [x for x in written if x.startswith("| `")] == names, "python -m tests.numpy_coverage"
    assert written == found
