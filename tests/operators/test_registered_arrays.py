"""Which function computes on an array of a registered class: its protocols decide, or its namespace."""

import numpy as np
import pytest
from array_classes import CLASSES, ByNamespace, ByProtocols, Held, bare

from dispatch.errors import NoKernelError
from dispatch.operators.registered_arrays import converted, filled, function_for

X = np.arange(3.0)
of_each_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def test_a_class_with_numpys_protocols_is_handed_numpys_functions():
    assert function_for(ByProtocols(X), np.sin) is np.sin
    assert function_for(ByProtocols(X), np.sum) is np.sum


@pytest.mark.parametrize("function", [np.sin, np.power, np.absolute, np.arctan2, np.concatenate, np.sum, np.linalg.inv])
def test_a_class_with_a_namespace_gives_the_function_of_the_standards_name(function):
    x = ByNamespace(np.eye(3) + 1.0)
    args = {np.power: (x, x), np.arctan2: (x, x), np.concatenate: ([x, x],)}.get(function, (x,))
    found = function_for(x, function)(*args)
    assert type(found) is ByNamespace
    np.testing.assert_array_equal(bare(found), function(*bare(args)))


class Bare(Held):
    """An array class that nothing computes on."""


class Poor(Held):
    """An array class whose namespace has next to nothing."""

    def __array_namespace__(self):
        return np.ma  # has no cbrt


@pytest.mark.parametrize(
    ("cls", "function", "why"),
    [
        (Bare, np.sin, "it has neither __array_ufunc__ nor __array_namespace__"),
        (Bare, np.sum, "it has neither __array_function__ nor __array_namespace__"),
        (Poor, np.cbrt, "its namespace numpy.ma has no cbrt"),
    ],
)
def test_what_has_no_function_is_refused_with_the_line_that_adds_one(cls, function, why):
    with pytest.raises(NoKernelError) as caught:
        function_for(cls(X), function)
    name = function.__name__
    assert str(caught.value) == (
        f"np::{name} was called with a {cls.__qualname__}, and no function computes it: {why}. Register a kernel for its device: "
        f"dispatch.register_kernel('np::{name}', device, function)."
    )


@of_each_class
def test_an_array_is_made_in_the_class(cls):
    for found, expected in [
        (filled(cls(X), 1, (2, 2), np.dtype("f4")), np.ones((2, 2), "f4")),
        (converted(X, cls(X)), X),
    ]:
        assert type(found) is cls
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(bare(found), expected)
