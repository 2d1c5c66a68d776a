"""One law for arrays of other frameworks: type in, type out; who takes a call over is found by the class, after a refusal."""

import numpy as np
import pytest
from making import made

import dispatch
from dispatch.dispatcher.frameworks import framework_of, frameworks, labelled
from dispatch.errors import ArgumentError, ConversionError, DeviceMismatchError


class Strange:
    """An array of a framework that nobody imported."""

    __module__ = "stranger.arrays"

    def __init__(self, values):
        self.values = np.asarray(values)


class Nearer(Strange):
    """A user's subclass of it, of a module of the user's own."""

    __module__ = "mine"


class Dtype:
    __module__ = "stranger"


class Other:
    __module__ = "other._src"


def opened(x):
    return x.values if isinstance(x, Strange) else [opened(item) for item in x] if isinstance(x, list) else x


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    calls = []

    def taken_over(op, args, keywords):
        calls.append((args, dict(keywords)))
        arrays = {name: opened(x) for name, x in keywords.items()}
        values = [opened(x) for x in args]
        return Strange(op(*values, **arrays)) if any(x is not y for x, y in zip(values, args, strict=True)) or arrays else NotImplemented

    monkeypatch.setitem(frameworks, "stranger", taken_over)
    monkeypatch.setitem(frameworks, "other", lambda *call: None)
    return calls


X = np.array([1.0, 2.0])


@pytest.mark.parametrize("cls", [Strange, Nearer])
def test_type_in_is_type_out(cls):
    out = made("(Tensor x) -> Tensor", np.sin)(cls(X))
    assert type(out) is Strange
    assert np.array_equal(out.values, np.sin(X))


def test_an_array_in_a_container_or_given_by_keyword_is_found_too(taken):
    total = made("(Tensor[] xs, *, Tensor y) -> Tensor", lambda xs, *, y: sum(xs) + y)
    assert np.array_equal(total([Strange(X), Strange(X)], y=Strange(X)).values, 3 * X)
    assert [(len(args), list(keywords)) for args, keywords in taken] == [(1, ["y"])]


def test_a_call_that_fits_asks_nobody(taken):
    op = made("(Tensor x, Any y) -> Tensor", lambda x, y: np.sin(x))
    assert np.array_equal(op(X, Strange(X)), np.sin(X))
    assert taken == []


def test_what_the_framework_raises_arrives_as_it_is():
    def failing(x):
        raise ZeroDivisionError("of the kernel")

    with pytest.raises(ZeroDivisionError, match="of the kernel"):
        made("(Tensor x) -> Tensor", failing)(Strange(X))


def test_a_value_of_the_framework_that_is_no_array_is_refused_in_the_usual_words(taken):
    with pytest.raises(ArgumentError, match=r"argument 'x' is Tensor, and was given a Dtype\."):
        made("(Tensor x) -> Tensor", np.sin)(Dtype())
    assert len(taken) == 1


def test_two_frameworks_in_one_call_are_refused():
    with pytest.raises(DeviceMismatchError, match=r"making::op was called with a stranger\.Strange and a other\.Other: .* Convert one\."):
        made("(Tensor x, Tensor y) -> Tensor", np.add)(Strange(X), Other())


def test_a_value_of_a_transform_beside_a_foreign_array_is_refused():
    op = made("(Tensor x, Tensor y) -> Tensor", np.add)
    with pytest.raises(ConversionError, match=r"a TrackedTensor and a stranger\.Strange: no derivative.*Give one kind"):
        dispatch.grad(lambda x: np.sum(op(x, Strange(X))))(X)


def test_what_holds_arrays_of_any_kind_is_asked_first_and_takes_values_of_transforms_too(monkeypatch):
    monkeypatch.setattr("dispatch.dispatcher.frameworks.labelled", {*labelled, "stranger"})
    op = made("(Tensor x, Tensor y) -> Tensor", np.add)
    monkeypatch.setitem(frameworks, "stranger", lambda op, args, keywords: [type(x).__name__ for x in args])
    assert dispatch.grad(lambda x: (op(x, Strange(X)), 1.0)[1], has_aux=False)(X).shape == (2,)
    assert op(Other(), Strange(X)) == ["Other", "Strange"]


def test_a_metaclass_is_not_asked_where_its_class_comes_from():
    class Lying(type):
        __module__ = property(lambda cls: 1 / 0)
        __mro__ = property(lambda cls: 1 / 0)

    assert framework_of(Lying("Plain", (), {"__module__": "nowhere"})()) is None
    assert framework_of(Lying("Plain", (), {"__module__": "stranger.x"})()) == "stranger"
    assert framework_of(Lying("Plain", (), {"__module__": 3})()) is None
