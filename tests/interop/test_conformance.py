"""Every cell of the conformance table is what the table says of it, and the page has the table that the code makes."""

import pytest

from tests.interop.conformance import CASES, COLUMNS, PAGE, REASONS, Reason, close_client, fault_of, page, table

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.filterwarnings("ignore::FutureWarning")]  # torch's own
MARKS = {  # by the package that a column needs
    "numpy": [],
    "torch": [pytest.mark.torch],
    "jax": [pytest.mark.jax],
    "dask": [pytest.mark.dask],
    "distributed": [pytest.mark.dask],
    "xarray": [pytest.mark.xarray],
}


@pytest.fixture(scope="module", autouse=True)
def _workers():
    yield
    close_client()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("column", [pytest.param(c, marks=MARKS[c.needs], id=c.name) for c in COLUMNS])
def test_the_cell(column, case):
    pytest.importorskip(column.needs)
    assert fault_of(case, column) is None


def test_the_page_has_the_table_that_the_code_makes():
    assert PAGE.read_text() == page(), "python -m tests.interop.conformance"


def test_every_reason_is_of_a_cell_and_a_sentence():
    assert {name for name, _ in REASONS} <= {case.name for case in CASES}
    assert {name for _, name in REASONS} <= {column.name for column in COLUMNS}
    assert [reason.why for reason in REASONS.values() if not reason.why.endswith(".")] == []
    assert all(f"{i + 1}. {why}" in table() for i, why in enumerate(dict.fromkeys(reason.why for reason in REASONS.values())))
    assert len(CASES) == 15


def test_a_cell_that_is_wrong_is_told(monkeypatch):
    case, column = CASES[0], COLUMNS[0]._replace(run=lambda case: 1 / 0)
    assert fault_of(case, column) == "raised ZeroDivisionError: division by zero"
    monkeypatch.setitem(REASONS, (case.name, column.name), Reason("Why.", "division"))
    assert fault_of(case, column) is None
    assert fault_of(case, column._replace(run=lambda case: None)) == "works, and was to raise division"
    assert "was to raise division, and raised KeyError" in fault_of(case, column._replace(run=lambda case: {}["x"]))
