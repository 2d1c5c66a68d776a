"""The order of the keys: fixed, written once, the same for everybody."""

import itertools

import pytest

from dispatch.core import DispatchKey

KEYS = [key for key in DispatchKey if not key.is_alias]
ALIASES = [key for key in DispatchKey if key.is_alias]


def test_backends_stand_below_every_layer():
    backends = [key for key in DispatchKey if key.is_backend]
    assert all(backend < layer for backend in backends for layer in KEYS if not layer.is_backend)
    assert backends[:3] == [DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.DASK]
    assert DispatchKey.CPU == 0  # a call without any array is the CPU's


def test_the_layers_stand_in_the_order_of_the_design():
    order = ["FAKE", "TRACE", "FUNCTIONALIZE", "LAYER", "MODE", "JVP", "AUTOGRAD", "VMAP"]
    assert [key.name for key in sorted(KEYS) if not key.is_backend] == order


def test_every_floor_has_a_slot_and_no_alias_has_one():
    assert all(0 <= key < 32 for key in KEYS)
    assert all(key >= 64 for key in ALIASES)
    assert {key.name for key in ALIASES} == {"CompositeExplicit", "CompositeImplicit", "Autograd"}


def test_no_two_keys_share_a_number():
    assert all(a != b for a, b in itertools.combinations(map(int, DispatchKey), 2))


@pytest.mark.parametrize("key", DispatchKey)
def test_a_key_prints_as_its_name_and_is_found_by_name_and_number(key):
    assert str(key) == f"{key}" == key.name
    assert DispatchKey[key.name] is DispatchKey(int(key)) is key


@pytest.mark.parametrize("key", DispatchKey)
def test_a_key_is_a_backend_a_layer_or_an_alias(key):
    assert (key.is_backend, key.is_alias) in {(True, False), (False, False), (False, True)}
