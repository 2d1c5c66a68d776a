"""The page of the contract is what the tests say, each entry is tested or left out with a reason, and none is both."""

import re

import pytest

from tests.contract.page import PAGE, cell, entries, page, tables

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
    assert [entry.remark for entry in FOUND if entry.remark and not entry.remark.endswith(".")] == []


def test_what_a_docstring_says_is_on_the_page(tmp_path):
    (tmp_path / "test_some.py").write_text(
        '"""TestSome, of arrays: what is tested."""\n'
        'ENTRIES = {"TestSome": "plain other gone"}\n'
        'LEFT_OUT = {"TestSome": {"gone": "No streams."}}\n'
        'def test_plain():\n    """A | B."""\n'
        'def test_other():\n    """C.\n\n    Adapted: d d.\n\n    Difference: e_e\n    F.\n    """\n'
        'def test_more():\n    """G.\n\n    Also: one TestOther.two\n    """\n'
    )
    made = page(tmp_path)
    assert "## TestSome\n\n[test_some.py](../tests/contract/test_some.py): of arrays.\n" in made
    assert "| `plain` | A \\| B. | same |  |\n| `other` | C. | differs | D d. e_e F. |\n| `more` | G. | beyond |  |" in made
    assert "| `one` | G. | beyond | Tested by `more`. |" in made
    assert "## TestOther" in made
    assert "| `two` | G. | beyond | Tested by `more`. |" in made
    assert "| TestSome | `gone` | No streams. |" in made
    assert made.endswith("- `other`: C. *e_e F.*\n")


def test_a_cell_shows_what_it_says():
    assert cell("*args | x_y and `f(*args)` __init__") == "\\*args \\| x_y and `f(*args)` \\__init__"
