"""A rule takes the place of one that came with this package only while a library says so."""

import numpy as np
import pytest
from making import said

import dispatch
from dispatch import ops
from dispatch.errors import DefinitionError
from dispatch.library import Library, impl, register_autograd, register_fake, register_jvp, register_kernel, register_vmap

X = np.array([0.5, 1.0])
RULES = {
    "autograd": (register_autograd, lambda ctx, g: g),
    "fake": (register_fake, lambda x: np.empty(7)),
    "jvp": (register_jvp, lambda tangents, output, x: tangents[0]),
    "vmap": (register_vmap, lambda info, in_dims, x: (x, 0)),
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_in_place_of_ours_is_refused_by_every_verb_and_changes_nothing(name):
    by_name, rule = RULES[name]
    before = list(ops.np.sin.table.all())
    message = (
        "np::sin is this package's own, and what stands in place of a rule of it would hold in the whole program. Make an "
        "operator of your own, custom_op('mylib::sin', ...); or replace it for a while: with "
        f"dispatch.library.Library('np', 'IMPL') as lib: dispatch.register_{name}('np::sin', ..., lib=lib)."
    )
    assert said(lambda: by_name("np::sin", rule), DefinitionError) == message
    assert said(lambda: by_name(ops.np.sin)(rule), DefinitionError) == message
    assert said(lambda: getattr(ops.np.sin, f"register_{name}")(rule), DefinitionError) == message
    assert list(ops.np.sin.table.all()) == before


def test_a_row_of_scipys_is_one_of_ours_where_its_derivative_came_with_it():
    special = pytest.importorskip("scipy.special")
    message = "scipy_special::erf is this package's own"
    assert said(lambda: ops.scipy_special.erf.register_autograd(lambda ctx, g: g), DefinitionError).startswith(message)
    np.testing.assert_allclose(dispatch.grad(special.erf)(0.5), 2 / np.sqrt(np.pi) * np.exp(-0.25))


def test_with_a_library_it_stands_as_long_as_that():
    with Library("np", "IMPL") as lib:
        register_autograd("np::sin", lambda ctx, g: g * 100, lib=lib)
        assert dispatch.grad(np.sin)(0.5) == 100
        impl("np::cos", "cpu", np.sin, lib=lib)
        np.testing.assert_array_equal(ops.np.cos(X), np.sin(X))
    np.testing.assert_array_equal([dispatch.grad(np.sin)(0.5), *ops.np.cos(X)], [np.cos(0.5), *np.cos(X)])


def test_a_kernel_in_place_of_ours_is_refused_and_one_beside_it_is_none_of_it():
    for call in (lambda: register_kernel("np::sin", "cpu", np.cos), lambda: register_kernel("np::sin", ["xpu", "cpu"])(np.cos),
                 lambda: impl("np::sin", "cpu", np.cos), lambda: ops.np.sin.register_kernel("cpu")):  # fmt: skip
        assert said(call, DefinitionError).startswith("np::sin is this package's own")
    np.testing.assert_array_equal(ops.np.sin(X), np.sin(X))
    before = list(ops.np.sin.table.all())
    register_kernel("np::sin", "xpu", np.cos)
    (ours,) = set(ops.np.sin.table.all()) - set(before)
    ops.np.sin.unregister(ours)
