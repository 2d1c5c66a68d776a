"""The page of the contract is what the tests say, each entry is tested or left out with a reason, and none is both."""

import re

import pytest

from tests.contract.page import PAGE, cell, differences, entries, page, tables

ENTRIES = tables("ENTRIES")
LEFT_OUT = tables("LEFT_OUT")
FOUND = entries()


def test_the_page_is_what_the_generator_makes():
    assert PAGE.read_text() == page(), "python -m tests.contract.page"


@pytest.mark.parametrize("group", ENTRIES)
def test_every_entry_is_tested_or_left_out_with_a_reason(group):
    tested = {entry.name for entry in FOUND if entry.group == group}
    left_out = set(LEFT_OUT.get(group, {}))
    assert set(ENTRIES[group]) - tested - left_out == set()
    assert tested & left_out == set()
    assert left_out <= set(ENTRIES[group])


def test_every_reason_and_every_contract_is_a_sentence():
    said = [entry.contract for entry in FOUND] + [reason for reasons in LEFT_OUT.values() for reason in reasons.values()]
    assert [text for text in said if not re.fullmatch(r"([A-Z`'\"]|\w+_\w).*\.", text)] == []
    remarks = [text for entry in FOUND for text in (entry.adapted, entry.beyond) if text] + list(differences().values())
    assert [text for text in remarks if not text.endswith(".")] == []


def test_every_difference_has_one_cause_that_is_explained_and_an_entry_that_shows_it():
    beside = PAGE.parents[1].joinpath("tests", "contract", "test_beside_torch.py").read_text()
    named = {cause for entry in FOUND for cause in entry.causes}
    assert named <= set(differences())
    assert [cause for cause in differences() if cause not in named and f'"{cause}"' not in beside] == []
    assert len(differences()) <= 40


def test_what_a_docstring_says_is_on_the_page(tmp_path):
    (tmp_path / "test_some.py").write_text(
        '"""TestSome, of arrays: what is tested."""\n'
        'ENTRIES = {"TestSome": "plain other gone"}\n'
        'LEFT_OUT = {"TestSome": {"gone": "No streams."}}\n'
        'def test_plain():\n    """A | B."""\n'
        'def test_other():\n    """C.\n\n    Adapted: d d.\n\n    Differs: a b\n    """\n'
        'def test_more():\n    """G.\n\n    Also: one TestOther.two\n\n    Beyond: h h.\n    """\n'
    )
    (tmp_path / "differences.py").write_text('DIFFERENCES = {"a b": "E."}')
    made = page(tmp_path)
    assert "## TestSome\n\n[test_some.py](../tests/contract/test_some.py): of arrays.\n" in made
    assert "| `plain` | A \\| B. | same |  |\n| `other` | C. | differs | D d. See 1, a b. |\n| `more` | G. | beyond | H h. |" in made
    assert "| `one` | G. | beyond | Tested by `more`. H h. |" in made
    assert "## TestOther" in made
    assert "| `two` | G. | beyond | Tested by `more`. H h. |" in made
    assert "| TestSome | `gone` | No streams. |" in made
    assert made.endswith("1. **a b**: E. Entries: `other`.\n")


def test_a_cell_shows_what_it_says():
    assert cell("*args | x_y and `f(*args)` __init__") == "\\*args \\| x_y and `f(*args)` \\__init__"
