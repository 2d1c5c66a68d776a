"""TestCustomOp, tags."""

import pytest

from dispatch import Tag
from dispatch.library import define


@pytest.mark.parametrize("tags", [Tag.pointwise, (Tag.pointwise,), [Tag.pointwise, Tag.pointwise]])
def test_define_with_tags(tags, lib, ops, ns):
    """An operator has the tags it was defined with, one or several, each once.

    Difference: they are a tuple, which nobody can add to.
    """
    define(f"{ns}::foo", "(Tensor x) -> Tensor", lib=lib, tags=tags)
    assert ops.foo.tags == (Tag.pointwise,)
