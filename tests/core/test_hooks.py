"""Each thing that the core asks of Python has a slot of its own, and no other name is taken."""

import pytest

from dispatch.core import Hooks


def test_a_slot_that_nothing_was_plugged_into_is_none():
    slots = [name for name in dir(Hooks) if not name.startswith("_")]
    assert {getattr(Hooks(), name) for name in slots} == {None}
    hooks = Hooks(**{name: name.upper for name in slots})
    assert [getattr(hooks, name)() for name in slots] == [name.upper() for name in slots]


def test_a_misspelt_hook_is_refused():
    with pytest.raises(AttributeError, match="explains"):
        Hooks(explains=print)
    with pytest.raises(AttributeError, match="explains"):
        Hooks().explains = print
