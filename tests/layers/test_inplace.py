"""What layers share that do writes on values: targets, their new values, and what is refused, in each layer's words."""

import making
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import dispatch
from dispatch.core import Level, Tensor, wrap
from dispatch.errors import GradientError, MutationError, PerformanceWarning
from dispatch.layers.inplace import Words, check_dicts, check_target, new_values, target_name, targets
from dispatch.layers.jvp import DualTensor
from dispatch.operators.functional_variant import form_of
from dispatch.operators.views import with_views

WORDS = Words(MutationError, "kept value", "The keeper")
op = making.define("(Tensor(a!)[] xs, int n, Tensor(b!)? y=None) -> Tensor", lambda xs, n, y: np.zeros(1))
look = making.define("(Tensor(a) x, int n) -> Tensor(a)", lambda x, n: x[n:])


@pytest.fixture
def value():
    with Level("keeping") as level:
        yield lambda x: wrap(DualTensor, x, level)


def test_targets_and_their_new_values_are_in_one_order():
    a, b, c = np.zeros((3, 2))
    form = form_of(op.schema)
    for args in (([a, b], 1, c), ((a, b), 1, None)):
        written = targets(form, args)
        assert [id(x) for x in written] == [id(x) for x in (a, b, c) if x is not c or args[2] is c]
        new = new_values(form, args, ["made", ["a", "b"], None if args[2] is None else "c"])
        assert new == ["a", "b", "c"][: len(written)]
    assert [target_name(op, ([a, b], 1, c), x) for x in (a, c, written)] == ["argument 'xs'", "argument 'y'", "an argument"]


def test_what_is_written_twice_or_seen_elsewhere_is_refused(value):
    def viewing(x, n):
        return value(x.value[n:])

    taken = with_views(look, viewing, DualTensor)
    x, other = value(np.zeros(3)), value(np.zeros(3))
    u, v, w = taken(x, 1), taken(x, 2), taken(other, 1)
    check_target(op, ([x, other], 1, None), other, [x], WORDS)
    check_target(op, ([w, x], 1, None), x, [w], WORDS)
    for y, others in ((x, [x]), (x, [u]), (v, [u]), (u, [other, v])):
        message = making.said(lambda y=y, others=others: check_target(op, ([y, *others], 1, None), y, others, WORDS), MutationError)
        assert message == (
            f"{op.name}: two arrays that are written share memory, argument 'xs' among them. Give each its own, or write "
            f"`result, xs, y = {op.schema.name}.functional(xs, n, y)`."
        )


def test_a_dict_is_refused_where_it_holds_values_of_the_layer(value):
    keyed = making.define("(Dict(str, Tensor(a!)) d) -> ()", lambda d: None)
    x: Tensor = value(np.zeros(3))
    check_dicts(keyed, ({"a": np.zeros(3)},), [], WORDS)
    assert making.said(lambda: check_dicts(keyed, ({"a": x},), [x], WORDS), MutationError) == (
        f"{keyed.name}: argument 'd' is a dict that holds a kept value, and is written. The keeper follows writes to arrays and to lists "
        "of arrays: pass a list."
    )


def windows():
    return as_strided(np.arange(4.0), (3, 2), (8, 8))


def alike():
    return as_strided(np.arange(2.0), (3, 2), (0, 8))


def through_a_view(x):
    x[1:][0, 0] = 10.0
    return x * 1


def at_once(x):
    x[0, 1] = 10.0
    return x * 1


@pytest.mark.parametrize("f", [at_once, through_a_view])
@pytest.mark.parametrize("made", [windows, alike])
def test_a_write_to_an_array_whose_elements_share_memory_is_refused_or_numpys(made, f):
    """Forward mode and functionalize changed one of the elements, where NumPy changes what shares its memory."""
    expected = f(made())
    for transform, error, layer in [
        (lambda x: dispatch.jvp(f, (x,), (np.ones_like(x),)), GradientError, "Forward mode"),
        (lambda x: dispatch.functionalize(f)(x), MutationError, "functionalize"),
    ]:
        x = made()
        with pytest.raises(error, match=f"some of its elements share memory .* {layer} has a value for each. Write to a copy: x = x.copy\\(\\)."):
            transform(x)
        assert np.array_equal(x, made())
        assert np.array_equal(dispatch.functionalize(lambda x: f(np.copy(x)))(x), f(made().copy()))
    with pytest.raises(GradientError, match="a leaf that requires a gradient"):
        dispatch.vjp(f, made())
    assert np.array_equal(dispatch.make_fx(f)(made())(made()), expected)
    with pytest.warns(PerformanceWarning, match="runs as it is"):
        assert np.array_equal(dispatch.compile(f)(made()), expected)
    assert np.array_equal(dispatch.jvp(lambda x: x * 2, (made(),), (np.ones((3, 2)),))[0], 2 * made())
