"""`wrap` of a framework whose arrays are lists: what is a function's own, and what the framework's."""

import numpy as np
import pytest

from dispatch.core import DispatchKey
from dispatch.errors import DefinitionError
from dispatch.interop.wrapped_functions import KEPT, Framework, wrapped
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema


class Numbers(list):
    """An array of a framework."""


def flat_operator(name, run, fn):
    op = build(Schema.parse("(Tensor[] xs) -> Tensor[]", name=name))
    op.register_at(DispatchKey.CPU, lambda xs: [np.array(x) for x in run([Numbers(x) for x in xs])])
    return op


FRAMEWORK = Framework("Lists", lambda x: isinstance(x, np.ndarray), lambda fn: fn, flat_operator)


def wrap(fn, schema=None):
    return wrapped(fn, None, schema, FRAMEWORK)


def test_arrays_go_in_and_out_and_the_rest_stays():
    seen = []

    def fn(xs, n, *, word):
        seen.append((xs, n, word))
        return {"all": np.add(*xs), "n": [np.ones(n)]}

    op = wrap(fn, "(Tensor[] xs, int n, *, str word) -> Dict(str, Tensor[])".replace("Dict(str, Tensor[])", "Any"))
    out = op([np.ones(2), np.ones(2)], 3, word="w")
    assert [type(x) for x in seen[0][0]] == [Numbers, Numbers]
    assert seen[0][1:] == (3, "w")
    assert (out["all"].tolist(), out["n"][0].tolist()) == ([2, 2], [1, 1, 1])


def test_one_operator_for_each_combination_of_what_is_no_array_and_not_too_many():
    op = wrap(lambda x, n: np.asarray(x) * n, "(Tensor x, int n) -> Tensor")
    function = op.table.live(DispatchKey.CompositeImplicit).rule
    for n in [1, 1, 2]:
        assert op(np.ones(1), n) == n
    assert len(function.made) == 2
    for n in range(3 * KEPT):
        op(np.ones(1), n)
    assert len(function.made) <= KEPT


def test_an_operator_is_one_already():
    op = wrap(lambda x: x)
    with pytest.raises(DefinitionError) as caught:
        wrap(op)
    assert str(caught.value) == (
        "wrap makes an operator of a Lists function, and lists::function is one already. Call it on Lists values as it is, or "
        "write dispatch.interop.lists.export(op)."
    )


def test_a_schema_is_made_of_parameters_without_a_default():
    assert str(wrap(lambda x, y, z=1: x).schema) == "lists::function(Tensor x, Tensor y) -> Tensor"
    with pytest.raises(DefinitionError, match="wrap takes a Lists function, and was given a str"):
        wrap("x")
    with pytest.raises(DefinitionError, match="not every parameter is one tensor"):
        wrap(lambda **x: x)
