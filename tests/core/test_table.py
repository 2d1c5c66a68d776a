"""Registrations are a stack at each key, and what a slot holds follows from the stacks by one rule."""

import itertools

import numpy as np
import pytest
from making import made, shadow

from dispatch.core import DispatchKey, OpOverload, Registration, ground, registration_lock, set_layer, wrap
from dispatch.dispatcher.layer import layers
from dispatch.errors import DefinitionError, NoKernelError
from dispatch.layers.vmap import BatchedTensor

A = np.arange(3.0)
CPU, CUDA, FAKE, JVP, AUTOGRAD = (DispatchKey[name] for name in ("CPU", "CUDA", "FAKE", "JVP", "AUTOGRAD"))
EXPLICIT, IMPLICIT, ALIAS = DispatchKey.CompositeExplicit, DispatchKey.CompositeImplicit, DispatchKey.Autograd


def named(name):
    return lambda *args: name


# -- the stack -------------------------------------------------------------------------------------------------------------


def test_the_newest_registration_is_live_and_removing_it_brings_the_one_below_back():
    op = made("(Tensor x) -> str")
    handles = [op.register_at(CPU, named(name)) for name in "abc"]
    for handle, name in zip(reversed(handles), "cba", strict=True):
        assert op(A) == name
        assert op.table.live(CPU) is handle
        op.unregister(handle)
    with pytest.raises(
        NoKernelError, match=r"making::op has no kernel for arrays on 'cpu'\. Kernels: none\. Add one: @library\.impl"
    ):
        op(A)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_registrations_are_removed_in_any_order(order):
    op = made("(Tensor x) -> str")
    handles = [op.register_at(CPU, named(name)) for name in "abc"]
    left = list("abc")
    for i in order[:2]:
        op.unregister(handles[i])
        left.remove("abc"[i])
        assert op(A) == left[-1]


def test_removing_twice_is_removing_once():
    op = made("(Tensor x) -> str", named("below"))
    handle = op.register_at(CPU, named("above"))
    op.unregister(handle)
    op.unregister(handle)
    op.unregister(Registration(CUDA, named("never registered")))
    assert op(A) == "below"


def test_one_kernel_may_be_registered_twice():
    op, kernel = made("(Tensor x) -> str"), named("kernel")
    first, second = op.register_at(CPU, kernel), op.register_at(CPU, kernel)
    op.unregister(second)
    assert op.table.all() == [first]
    assert op(A) == "kernel"


def test_the_table_lists_what_is_registered():
    op = made("(Tensor x) -> str")
    a, b, c = (op.register_at(key, named(key.name)) for key in (CUDA, CPU, CUDA))
    assert op.table.all() == [b, a, c]
    assert op.table.live(CUDA) is c
    assert op.table.live(FAKE) is None
    assert op.table.has_backend()
    assert repr(b).startswith("Registration(CPU, <function named.")
    for registration in (a, b, c):
        op.unregister(registration)
    assert op.table.all() == []


def test_a_registration_counts_from_the_next_call_on():
    op = made("(Tensor x) -> str", named("old"))
    assert op(A) == op(A) == "old"
    handle = op.register_at(CPU, named("new"))
    assert op(A) == "new"
    op.unregister(handle)
    assert op(A) == "old"


# -- the slots -------------------------------------------------------------------------------------------------------------

PLACES = [CPU, FAKE, JVP, AUTOGRAD, EXPLICIT, IMPLICIT, ALIAS]


def first_of(key, registered):
    """The rule of the design, word by word: whose kernel fills the slot of `key`, None for the layer's default."""
    backend_has_one = bool({CPU, EXPLICIT} & registered)
    found = [
        key,
        EXPLICIT if key.is_backend else None,
        IMPLICIT if key.is_backend or key is FAKE or not backend_has_one else None,
        ALIAS if key is AUTOGRAD else None,
    ]
    return next((place for place in found if place in registered), None)


@pytest.mark.parametrize("key", [CPU, CUDA, FAKE, JVP, AUTOGRAD])
def test_a_slot_holds_the_first_of_the_key_s_own_and_the_aliases_in_their_order(key):
    for count in range(len(PLACES) + 1):
        for registered in map(set, itertools.combinations(PLACES, count)):
            op = made("(Tensor x) -> str")
            for place in registered:
                op.register_at(place, named(place.name))
            expected = first_of(key, registered)
            source = op.table.source(key)
            assert (source and source.key) == expected, registered
            if expected is not None:
                assert op.at(key)(A) == expected.name


def test_a_slot_without_a_kernel_holds_the_layer_s_default_asked_once(monkeypatch):
    asked = []

    def default(op):
        asked.append(op)
        return named("default")

    monkeypatch.setattr(layers["vmap"], "default", default)
    op = made("(Tensor x) -> str", named("kernel"))
    assert [op(wrap(BatchedTensor, A, ground())) for _ in range(3)] == ["default"] * 3
    assert asked == [op]


def test_a_key_belongs_to_one_layer():
    set_layer(DispatchKey.VMAP, layers["vmap"])
    with pytest.raises(ValueError, match=r"VMAP belongs to the vmap layer already\."):
        set_layer(DispatchKey.VMAP, layers["fake"])


def test_a_layer_lowers_a_rule_at_the_first_call_that_needs_it_and_once():
    lowered = []

    class Lowering:
        name, key = "lowering", JVP

        def check(self, op, rule):
            if rule is None:
                raise DefinitionError("a rule is asked for.")

        def lower(self, op, rule):
            lowered.append((op, rule))
            return lambda x: rule

    op = made("(Tensor x) -> str", named("kernel"))
    handle = op.register(Lowering(), "rule")
    assert (handle.rule, handle.layer.name, handle.key, lowered) == ("rule", "lowering", JVP, [])
    x = shadow(A, ground())
    assert op(x) == op(x) == "rule"
    assert lowered == [(op, "rule")]
    op.register_at(CPU, named("other"))  # the slots are computed again, the rule is not lowered again
    assert op(x) == "rule"
    assert len(lowered) == 1
    with pytest.raises(DefinitionError, match="a rule is asked for"):
        op.register(Lowering(), None)
    op.unregister(handle)


def test_a_rule_that_cannot_be_lowered_raises_at_each_call_and_leaves_the_slot_empty():
    class Failing:
        name, key, fails = "failing", JVP, True

        def check(self, op, rule):
            pass

        def lower(self, op, rule):
            if self.fails:
                raise ZeroDivisionError("lowering")
            return named("lowered")

    layer = Failing()
    op = made("(Tensor x) -> str", named("kernel"))
    op.register(layer, "rule")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="lowering"):
            op(shadow(A, ground()))
    layer.fails = False
    assert op(shadow(A, ground())) == "lowered"


@pytest.mark.parametrize("key", [EXPLICIT, IMPLICIT, ALIAS])
def test_an_alias_has_no_kernel_of_its_own_to_ask_for(key):
    with pytest.raises(
        DefinitionError, match=rf"making::op: {key} is an alias and has no slot; ask at one of the keys it fills\."
    ):
        made("(Tensor x) -> str", named("kernel")).at(key)


# -- calling conventions ---------------------------------------------------------------------------------------------------


def test_a_backend_s_kernel_takes_keywords_and_a_layer_s_everything_by_position():
    text = "(Tensor x, *, int a, int b=2) -> Any"
    op = made(text, lambda x, *, a, b: ["kernel", a, b])
    op.register_at(JVP, lambda x, *, a, b: ["layer", a, b])
    assert op(A, a=1) == op.at(CPU)(A, a=1, b=2) == ["kernel", 1, 2]
    assert op(shadow(A, ground()), b=3, a=1) == ["layer", 1, 3]
    assert op.at(JVP)(A, 1, 2) == ["layer", 1, 2]


def test_an_operator_may_be_another_s_kernel():
    inner = made("(Tensor x, *, float y=2.0) -> Tensor", lambda x, *, y: x * y)
    outer = made("(Tensor x, *, float y=3.0) -> Tensor", inner)
    assert np.array_equal(outer(A), A * 3)
    assert np.array_equal(outer(A, y=4.0), A * 4)


@pytest.mark.parametrize("key", [CPU, JVP])
def test_operators_that_are_each_other_s_kernels_end_in_a_recursion_error(key):
    a, b = made("(Tensor x) -> Tensor"), made("(Tensor x) -> Tensor")
    a.register_at(key, b)
    b.register_at(key, a)
    x = A if key is CPU else shadow(A, ground())
    for op in (a, b):
        with pytest.raises(RecursionError):
            op(x)
    a.register_at(key, lambda x: A + 1)
    assert np.array_equal(b(x), A + 1)


def test_the_lock_is_one_that_its_thread_may_take_twice():
    with registration_lock, registration_lock:
        assert isinstance(made("(Tensor x) -> str", named("kernel")), OpOverload)


@pytest.mark.parametrize("key", ["CPU", 64, -1, None, 1.5])
def test_what_is_no_key_has_no_kernel(key):
    with pytest.raises(DefinitionError, match=rf"making::op: {key!r} is no key; ask at a DispatchKey\."):
        made("(Tensor x) -> Tensor", np.sin).at(key)


@pytest.mark.parametrize("order", [*itertools.permutations([CPU, FAKE, AUTOGRAD, EXPLICIT])])
def test_all_lists_each_key_s_stack_whatever_was_registered_between(order):
    op = made("(Tensor x) -> str")
    twice = [*order, *reversed(order)]
    handles = [op.register_at(key, named("")) for key in twice]
    listed = op.table.all()
    assert [each.key for each in listed] == sorted(twice)
    for key in order:
        assert [each for each in listed if each.key == key] == [each for each in handles if each.key == key]
        assert op.table.live(key) is [each for each in handles if each.key == key][-1]
