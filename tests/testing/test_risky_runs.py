"""Writes that are undone, and what a kernel does to long arrays alone, are told by a copy of the child process."""

import ctypes
import os
import time

import numpy as np
import pytest
from planted import A, define, fault

from dispatch.core.source import where
from dispatch.testing import child_process, opcheck

pytestmark = pytest.mark.skipif(not child_process.has_fork(), reason="no os.fork here")
X = np.array([1.0, 2.0, 3.0])


def said(kernel):
    op = define(kernel)
    return fault(op, (X,), "test_schema").removeprefix(f"{op.name}: ").replace(f"the kernel {where(kernel)}", "KERNEL")


def test_a_write_that_is_undone_is_told_where_the_pages_are_read_only():
    def kernel(x):
        x = np.ascontiguousarray(x)
        if x.size:
            kept = x.flat[:1].tobytes()
            ctypes.memset(x.ctypes.data, 0, x.itemsize)
            ctypes.memmove(x.ctypes.data, kept, x.itemsize)
        return x * 2.0

    assert said(kernel) == (
        "KERNEL writes to its argument 'x' and puts back what was there: where the arguments lie in pages of memory that nobody may "
        "write to, it ended the process with SIGSEGV. Other threads read the array meanwhile. Compute on a copy."
    )


def test_what_may_be_written_to_lies_in_other_pages():
    def kernel(x, y):
        y[...] = x

    opcheck(define(kernel, "(Tensor x, Tensor(a!) y) -> ()", mutates_args=("y",)), (X, X.copy()), test_utils="test_schema")


@pytest.mark.parametrize("length", [67, 1031])
def test_what_a_kernel_does_to_long_arrays_is_told(length):
    def writes(x):
        if len(x) == length:
            x[0] = 0.0
        return x * 2.0

    def ends(x):
        if len(x) == length:
            os.abort()
        return x * 2.0

    assert said(writes).startswith(f"KERNEL writes to its argument 'x' on the sample with length {length} for 3, and the schema ")
    assert said(ends) == (
        f"KERNEL ended the process with SIGABRT on the sample with length {length} for 3 (x: float64[{length}]). Refuse such "
        "arguments with an exception, or make its buffers as long as they have to be."
    )


def test_a_kernel_that_takes_long_for_long_arrays_or_refuses_them_is_right():
    def endless(x):
        while len(x) > 60:
            time.sleep(1)
        return x * 2.0

    def refuses(x):
        if len(x) > 60:
            raise ValueError("too long")
        return x * 2.0

    for kernel in (endless, refuses):
        assert opcheck(define(kernel), (A,), test_utils="test_schema", timeout=0.3)["test_schema"] == "SUCCESS"


def test_in_this_process_nothing_is_tried():
    def kernel(x):
        if len(x) > 60:
            os.abort()
        return x * 2.0

    assert opcheck(define(kernel), (X,), test_utils="test_schema", isolate=False)["test_schema"] == "SUCCESS"
