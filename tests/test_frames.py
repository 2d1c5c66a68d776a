"""How many Python functions of this package one warm call enters: the way of a value through each transform is short.

A frame costs about 60 ns, and is one more place to look when one reads how a call goes. The third call is counted, in which
kernels are made and answers remembered; compiled functions are no frames. CPython 3.11 counts a comprehension as a function.
"""

import os
import sys

import numpy as np
import pytest

import dispatch

PACKAGE = os.path.dirname(dispatch.__file__) + os.sep
X, TANGENT = np.arange(3.0), np.ones(3)


def keep_input(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def backward(ctx, g):
    (x,) = ctx.saved_tensors
    return 2 * x * g


@dispatch.custom_op("frames::square", mutates_args=())
def square(x: np.ndarray) -> np.ndarray:
    return x * x


square.register_autograd(backward, setup_context=keep_input)
square.register_fake(lambda x: np.empty_like(x))
square.register_vmap(lambda info, in_dims, x: (square(x), in_dims[0]))


def f(x):
    return square(x).sum()


def frames(call):
    """The functions of this package that the third call enters, each with its file."""
    call()
    call()
    found = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found.append((frame.f_code.co_filename[len(PACKAGE) :], frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


gradient, compiled, mapped = dispatch.grad(f), dispatch.compile(f), dispatch.vmap(square)
TRACKED = dispatch.tensor(X, requires_grad=True)


@pytest.mark.parametrize(
    ("call", "most"),
    [
        (lambda: square(X), 0),
        (lambda: compiled(X), 4),
        (lambda: TRACKED.sum().backward(), 2),  # the rule of a sum, and what adds to the `.grad` that the call before left
        (lambda: mapped(np.stack([X, X])), 1),
        (lambda: gradient(X), 19),
        (lambda: dispatch.vmap(gradient)(np.stack([X, X])), 50),  # three of which look for what draws random numbers
        (lambda: dispatch.jvp(f, (X,), (TANGENT,)), 62),
        (lambda: dispatch.make_fx(gradient, "fake")(X), 105),
    ],
    ids=["plain", "compiled", "backward", "vmap", "grad", "vmap_grad", "jvp", "make_fx_grad"],
)
def test_a_call_is_short(call, most):
    found = frames(call)
    assert len(found) <= most, "\n".join(map(" ".join, found))


def test_a_value_and_its_gradient_take_few_files():
    both = dispatch.value_and_grad(f)
    assert len({file for file, _ in frames(lambda: both(X))}) <= 8
