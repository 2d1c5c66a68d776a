"""A kernel taken by itself runs as it ran, for as long as it is registered, and says so when it is not."""

import itertools

import numpy as np
from making import said

from dispatch.core import DispatchKey
from dispatch.errors import NoKernelError
from dispatch.library import Library, custom_op, get_kernel

X = np.ones(2)
numbers = itertools.count()


def plus_one():
    """An operator that adds 1."""
    name = f"kernel_functions::f{next(numbers)}"
    return custom_op(name, lambda x, n=0: x + 1 + n, mutates_args=(), schema="(Tensor x, int n=0) -> Tensor")


def test_the_kernel_that_fills_a_key_is_had_by_operator_or_name():
    op = plus_one()
    for given in (op, op.name):
        for key in ("CPU", "cpu", DispatchKey.CPU):
            kernel = get_kernel(given, key)
            assert kernel(X)[0] == 2
            assert kernel(X, n=2)[0] == 4
            assert kernel.call_boxed(DispatchKey.CPU, X, 3)[0] == 5
            assert kernel.op_handle is op
            assert kernel.key is DispatchKey.CPU
    assert said(lambda: get_kernel(op, "VMAP"), NoKernelError) == f"{op.name} has no kernel at VMAP."
    assert repr(kernel).startswith(f"<kernel of {op.name} at CPU: test_kernel_handle.py:")


def test_a_kernel_that_takes_its_key_gets_it():
    op = plus_one()
    with Library("kernel_functions", "IMPL", "CPU") as lib:
        lib.impl(op, lambda key, x, n: key, with_keyset=True)
        assert get_kernel(op, "CPU")(X, 0) is DispatchKey.CPU
