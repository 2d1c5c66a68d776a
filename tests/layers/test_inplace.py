"""What layers share that do writes on values: targets, their new values, and what is refused, in each layer's words."""

import making
import numpy as np
import pytest

from dispatch.core import Level, Tensor, wrap
from dispatch.errors import MutationError
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
            f"`..., xs, y = {op.schema.name}.functional(xs, n, y)`."
        )


def test_a_dict_is_refused_where_it_holds_values_of_the_layer(value):
    keyed = making.define("(Dict(str, Tensor(a!)) d) -> ()", lambda d: None)
    x: Tensor = value(np.zeros(3))
    check_dicts(keyed, ({"a": np.zeros(3)},), [], WORDS)
    assert making.said(lambda: check_dicts(keyed, ({"a": x},), [x], WORDS), MutationError) == (
        f"{keyed.name}: argument 'd' is a dict that holds a kept value, and is written. The keeper follows writes to arrays and to lists "
        "of arrays: pass a list."
    )
