"""TestOpProfiles: what an operator returned for what it was given, recorded, and played back as its fake rule."""

import json

import numpy as np
import pytest
from making import said

from dispatch import FakeTensorMode, custom_op, register_fake
from dispatch.errors import MissingOpProfileError, NoRuleError, SchemaError
from dispatch.testing import generate_fake_kernels, load_op_profiles, record_op_profiles, save_op_profiles

X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def op(ns):
    """An operator that transposes, without a fake rule."""

    @custom_op(f"{ns}::flip", mutates_args=())
    def flip(x: np.ndarray, n: int = 1) -> np.ndarray:
        return np.repeat(x.T, n, axis=0)

    return flip


@pytest.fixture
def profiles(op, ns):
    """What two calls of it gave."""
    with record_op_profiles(ns) as recorded:
        op(X)
        op(X, 2)
    return recorded


def shape(op, *args):
    with FakeTensorMode() as mode:
        return op(*(mode.from_array(x) if isinstance(x, np.ndarray) else x for x in args)).shape


def test_fake_registration(op, profiles):
    """Inside the block the operator has a fake rule that knows the calls that were recorded, and no others.

    Adapted: the names are record_op_profiles and generate_fake_kernels; a profile is recorded, exact in shapes, strides and
    plain
    values, where torch's is written by hand and knows ranks.
    """
    with pytest.raises(NoRuleError, match="it has no fake rule"):
        shape(op, X)
    with generate_fake_kernels(profiles):
        assert (shape(op, X), shape(op, X, 2)) == ((3, 2), (6, 2))
        assert said(lambda: shape(op, X, 3), MissingOpProfileError) == (
            f"{op.name} was called with (float64[2, 3], int), for which no profile was recorded; there are 2. Record one, or "
            "write its fake rule: flip.register_fake(rule)."
        )
    with pytest.raises(NoRuleError, match="it has no fake rule"):
        shape(op, X)


def test_duplicate_registration_impl(op, profiles):
    """A fake rule that was registered by function is covered inside the block, and back after it."""
    register_fake(op.name, lambda x, n: np.empty((7,)))
    assert shape(op, X) == (7,)
    with generate_fake_kernels(profiles):
        assert shape(op, X) == (3, 2)
    assert shape(op, X) == (7,)


def test_duplicate_registration_custom_op(op, profiles):
    """A fake rule that was registered by the operator's own method is covered inside the block, and back after it."""

    @op.register_fake
    def _(x, n):
        return np.empty((9,))

    with generate_fake_kernels(profiles):
        assert shape(op, X, 2) == (6, 2)
    assert shape(op, X, 2) == (9,)


def test_yaml(profiles, tmp_path):
    """A file holds profiles in a form that can be read and compared, and gives them back as they were.

    Adapted: the form is JSON, which needs no other library.
    """
    path = tmp_path / "profiles.json"
    save_op_profiles(profiles, path)
    data = json.loads(path.read_text())
    assert list(data) == ["version", "profiles"]
    assert list(data["profiles"]) == list(profiles)
    assert load_op_profiles(path) == {name: sorted(known, key=lambda p: repr(list(p))) for name, known in profiles.items()}


def test_save_to_file(op, profiles, tmp_path):
    """Profiles go to a file by a path or its text, and play as those that were recorded; a second saving is the same."""
    path, again = tmp_path / "a.json", tmp_path / "b.json"
    save_op_profiles(profiles, path)
    save_op_profiles(load_op_profiles(str(path)), str(again))
    assert path.read_text() == again.read_text()
    with generate_fake_kernels(load_op_profiles(again)):
        assert shape(op, X, 2) == (6, 2)


def test_version(profiles, tmp_path):
    """A file of another version is refused, with both."""
    path = tmp_path / "profiles.json"
    save_op_profiles(profiles, path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data | {"version": data["version"] + 1}))
    assert said(lambda: load_op_profiles(path), SchemaError) == (
        f"{path} holds profiles of version {data['version'] + 1}, and {data['version']} is read here. Record them again."
    )
