"""What is taken apart into places is put together again."""

from dispatch.interop.places import Place, apart, put


def test_apart_and_put_are_each_other_s_inverse():
    x = [1.5, {"a": ("x", None), "b": ["y"]}, "z"]
    found = ["before"]
    template = apart(x, found, lambda leaf: isinstance(leaf, str))
    assert template == [1.5, {"a": (Place(1), None), "b": [Place(2)]}, Place(3)]
    assert found == ["before", "x", "y", "z"]
    assert put(template, found) == x


def test_places_are_equal_by_their_number():
    assert len({Place(1), Place(1), Place(2), 1}) == 3
    assert repr(Place(3)) == "array3"
