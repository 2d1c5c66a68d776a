"""What users register for operators is part of a key: another rule is another text, wherever it was registered."""

import numpy as np
import pytest
from children import said_by_child
from making import define

import dispatch
from dispatch.compiler.capture import Options, walked
from dispatch.compiler.entry_files import key_of
from dispatch.compiler.fingerprint import Unkeyed
from dispatch.compiler.rule_texts import RuleText
from dispatch.layers.opaque_rules import Opacity
from dispatch.library import Library, register_array_type, register_dispatch

x = np.arange(1.0, 4.0)
FACTOR = 2.0


def text_of(f):
    return key_of(walked(f, (x,), {}, Options()), Options()).text


def fake(a):
    return np.empty_like(a)


def another_fake(a):
    return np.zeros_like(a)


def operator(**rules):
    return define("(Tensor a) -> Tensor", lambda a: a * 2, **({"fake": fake} | rules))


def test_a_rule_that_is_replaced_changes_the_text_and_a_kernel_does_not():
    op = operator()

    def f(a):
        return op(a) + 1

    texts = [text_of(f)]
    assert text_of(f) == texts[0]
    op.register_kernel("cpu", lambda a: a * 3)
    assert text_of(f) == texts[0]
    changes = [
        lambda: op.register_fake(another_fake),
        lambda: op.register_autograd(lambda ctx, g: 2 * g),
        lambda: op.register_autograd(lambda ctx, g: 3 * g),
        lambda: op.register_vmap("broadcast_all"),
        lambda: op.register_vmap("expand_dims"),
        lambda: op.register_jvp(lambda tangents, output, a: 2 * tangents[0]),
        lambda: op.register_vmap(lambda info, in_dims, a: (op(a), in_dims[0])),
    ]
    for change in changes:
        change()
        texts.append(text_of(f))
        assert text_of(f) == texts[-1]
    assert len(set(texts)) == len(texts)


def test_what_a_rule_refers_to_is_part_of_the_text():
    op = operator(autograd=lambda ctx, g: g * FACTOR)
    inner = operator(autograd=lambda ctx, g: g)
    outer = operator(autograd=lambda ctx, g: inner(g))

    def f(a):
        return op(a)

    def g(a):
        return outer(a)

    before, nested = text_of(f), text_of(g)
    globals()["FACTOR"] = 3.0
    try:
        assert text_of(f) != before
    finally:
        globals()["FACTOR"] = 2.0
    assert text_of(f) == before
    inner.register_fake(another_fake)
    assert text_of(g) != nested
    assert text_of(f) == before


def test_a_rule_for_an_operator_of_this_package_changes_every_text():
    def f(a):
        return np.sin(a)

    before = text_of(f)
    rules = {"Autograd": lambda ctx, *a: None, "Vmap": lambda a: a, "CompositeImplicit": lambda a: a}
    texts = {before}
    with Library("np", "IMPL") as lib:
        for key, rule in rules.items():
            lib.impl("cos", rule, key)
            texts.add(text_of(f))
    with Library("_", "IMPL") as lib:
        lib.fallback(lambda op, *a: op(*a), "Vmap")
        texts.add(text_of(f))
    assert len(texts) == 5
    assert text_of(f) == before


class Celsius(np.ndarray):
    pass


class Loud(dispatch.Mode):
    pass


class Remote:
    pass


def rule_for_a_class(cls, op, types, args, kwargs):
    return FACTOR


def test_a_rule_for_a_class_is_part_of_what_meets_the_class_alone():
    register_array_type(Remote, device="remote")

    def plain(a):
        return np.add(a, 1.0)

    def meets(a):
        return np.add(a, 1.0 if issubclass(type(a), Remote) else 2.0)

    before, met = text_of(plain), text_of(meets)
    for cls in (Celsius, Loud, Remote):
        with Library("np", "IMPL") as lib:
            register_dispatch("np::add", cls, rule_for_a_class, lib=lib)
            assert text_of(plain) == before
            assert (text_of(meets) == met) == (cls is not Remote)
    assert (text_of(plain), text_of(meets)) == (before, met)


def test_an_operator_that_is_looked_up_by_name_is_found():
    @dispatch.custom_op("rule_texts::named", mutates_args=())
    def named(a: np.ndarray) -> np.ndarray:
        return a * 2

    named.register_fake(fake)
    ours = dispatch.ops.rule_texts

    def by_path(a):
        return dispatch.ops.rule_texts.named(a)

    def by_space(a):
        return ours.named(a)

    before = text_of(by_path), text_of(by_space)
    named.register_fake(another_fake)
    assert text_of(by_path) != before[0]
    assert text_of(by_space) != before[1]


def test_a_rule_that_cannot_be_walked_has_no_text():
    generator = np.random.default_rng(0)
    op = operator(vmap=lambda info, in_dims, a: (op(a) + generator.normal(), in_dims[0]))
    with pytest.raises(Unkeyed, match=r"of what is registered for making::op\d+: it refers to a Generator, which has no text"):
        text_of(lambda a: op(a))


def test_what_is_a_users_in_a_rule_is_found_in_closures_and_containers():
    def of_mine():
        return 1

    assert RuleText(np.sin).roots == []
    assert RuleText([{"a": (of_mine, 1)}]).roots == [of_mine]
    assert RuleText(dispatch.grad(of_mine)).roots == [of_mine]
    assert RuleText(Opacity(True)).text == RuleText(Opacity()).text
    assert RuleText((1, "a")).text != RuleText((1, "b")).text


def test_all_rules_of_this_package_are_known_as_its_own():
    """Where one is not, it would be written into every key, and the key would depend on which modules are loaded."""
    said = said_by_child("""
        from dispatch.operators.namespaces import defined_now
        from dispatch.operators.rule_operators import is_kernel, is_ours
        for name in ("np", "np_random", "control_flow"):
            dir(getattr(dispatch.ops, name))
        print([(op.name, r.key) for op in defined_now() if is_ours(op) for r in op.table.all()
               if r not in vars(op).get("own_rules", ()) and not is_kernel(r)])
    """)
    assert said == "[]"


@pytest.mark.parametrize(("method", "other"), [(dispatch.ops.np.sin.at, dispatch.ops.np.cos.at), ({1: 2}.get, {1: 3}.get), ([1].count, [2].count)])
def test_a_method_in_c_has_the_text_of_what_it_is_a_method_of(method, other):
    assert RuleText(method).text == RuleText(getattr(method.__self__, method.__name__)).text
    assert RuleText(method).text != RuleText(other).text
