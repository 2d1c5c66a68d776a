"""The face with torch.library's names."""

import inspect

import pytest

import dispatch
from dispatch import library, testing
from dispatch.core import DispatchKey, Residual, fallthrough_kernel
from dispatch.dispatcher import array_types, key_guards
from dispatch.layers import fake
from dispatch.numpy_ops import from_ufunc
from dispatch.operators import custom_op, define, kernel_handle, libraries, register
from dispatch.schema import infer, opaque_types, tags

HOMES = [array_types, custom_op, define, key_guards, kernel_handle, libraries, register, fake, infer, opaque_types, tags, testing, from_ufunc]


def test_it_gathers_and_defines_nothing():
    for name in library.__all__:
        found = getattr(library, name)
        assert found in (DispatchKey, Residual, fallthrough_kernel) or any(getattr(home, name, None) is found for home in HOMES), name


def test_most_of_it_is_on_top_too():
    for name in set(library.__all__) & set(dispatch.__all__):
        assert getattr(dispatch, name) is getattr(library, name)
    assert {"custom_op", "register_kernel", "register_fake", "register_autograd", "register_vmap", "Tag"} <= set(dispatch.__all__)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["custom_op", "register_kernel", "register_fake", "register_autograd", "register_vmap", "infer_schema"])
def test_argument_names_are_torchs(name):
    import torch

    theirs = inspect.signature(getattr(torch.library, name)).parameters
    ours = inspect.signature(getattr(library, name)).parameters
    kinds = (inspect.Parameter.KEYWORD_ONLY,)
    words = {p.name for p in ours.values() if p.kind in kinds}
    beyond = {"functional", "signature", "broadcasts", "workers"}
    beyond |= {"batched", "linear", "elementwise", "jacobian", "implicit", "finite_difference"}  # sources of a derivative
    assert words & set(theirs) == words - beyond  # every other keyword of ours is one of theirs
    assert len(set(ours) - beyond) <= len(theirs)
