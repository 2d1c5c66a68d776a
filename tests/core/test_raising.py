"""What a call is refused with: the exception that a hook makes, and where the hook fails, its failure; never nothing."""

import numpy as np
import pytest
from making import made

from dispatch.core import DispatchKey, Hooks, OpOverload
from dispatch.errors import ArgumentError, OutputError
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

X = np.ones(2)


def failing_hook(name):
    def fail(*args):
        raise LookupError(name)

    return fail


def nobody(op, args, keywords):
    return NotImplemented


def speechless(text, kernel):
    """An operator whose hooks fail."""
    hooks = Hooks(**{name: failing_hook(name) for name in ("refused", "refused_output", "note")}, taken_over=nobody)
    op = OpOverload(build(Schema.parse(text, name="making::op")).definition, hooks)
    op.register_at(DispatchKey.CPU, kernel)
    return op


def test_the_words_for_arguments_are_raised():
    with pytest.raises(ArgumentError, match=r"making::op: argument 'x' is Tensor, and was given a str\."):
        made("(Tensor x) -> Tensor", np.sin)("no")


def test_the_words_for_outputs_are_raised():
    with pytest.raises(OutputError, match=r"returned a str, and its schema says Tensor\."):
        made("(Tensor x) -> Tensor", lambda x: "no")(X)


@pytest.mark.parametrize(("args", "kernel", "asked"), [(("no",), np.sin, "refused"), ((X,), lambda x: "no", "refused_output")])
def test_where_the_words_cannot_be_found_that_is_raised(args, kernel, asked):
    with pytest.raises(LookupError, match=asked):
        speechless("(Tensor x) -> Tensor", kernel)(*args)


def test_what_takes_a_refused_call_over_returns_or_raises():
    hooks = Hooks(taken_over=lambda op, args, keywords: (op.name, args, keywords) if args else 1 / 0)
    op = OpOverload(build(Schema.parse("(Tensor x, int n=1) -> Tensor", name="making::op")).definition, hooks)
    assert op("no", n="other") == ("making::op", ("no",), {"n": "other"})
    with pytest.raises(ZeroDivisionError):
        op()


def test_a_kernel_s_exception_arrives_without_its_note_where_there_are_no_words():
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        speechless("(Tensor x) -> Tensor", failing)(X)
    assert not hasattr(caught.value, "__notes__")


def test_a_kernel_s_exception_keeps_its_type_and_gets_one_note():
    inner = made("(Tensor x) -> Tensor", lambda x: x @ np.ones((3, 3)))
    outer = made("(Tensor x) -> Tensor", inner)
    with pytest.raises(ValueError, match="matmul") as caught:
        outer(X)
    assert len(caught.value.__notes__) == 1
    assert caught.value.__notes__[0].startswith("in operator making::op(x: float64[2]), kernel test_raising.py:")


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_while_a_note_is_made_arrives(ending):
    def note(*args):
        raise ending

    def kernel(x):
        raise ZeroDivisionError

    op = OpOverload(build(Schema.parse("(Tensor x) -> Tensor", name="making::op")).definition, Hooks(note=note))
    op.register_at(DispatchKey.CPU, kernel)
    with pytest.raises(ending):
        op(X)
