"""Operators with a bug planted in them, and what opcheck says about it."""

import itertools

import numpy as np

import dispatch
from dispatch import custom_op
from dispatch.core.source import where
from dispatch.testing import opcheck

A = np.arange(6.0).reshape(2, 3) + 0.5
B = np.arange(3.0) + 0.25

_numbers = itertools.count()


def define(kernel, schema="(Tensor x) -> Tensor", **options):
    """A new operator of a kernel."""
    return custom_op(f"planted::op{next(_numbers)}", kernel, **{"mutates_args": (), "schema": schema, **options})


def like(x):
    """The fake rule of most operators."""
    return np.empty_like(x)


def tracked(x):
    return dispatch.tensor(x, requires_grad=True)


def rule_of(op, key):
    return op.table.source(key).rule


def fault(op, args, check):
    """The message of the one check that is run, which fails."""
    report = opcheck(op, args, test_utils=check, raise_exception=False)
    assert list(report.failures) == [check], report
    return str(report[check])


def brief_fault(op, args, check, key):
    """The same without the operator's name, RULE and KERNEL in place of the rule at a key and of the kernel."""
    said = fault(op, args, check).removeprefix(f"{op.name}: ")
    kernel = f"the kernel {where(rule_of(op, dispatch.DispatchKey.CPU))}"
    return said.replace(f"the {key.name.lower()} rule ({where(rule_of(op, key))})", "RULE").replace(kernel, "KERNEL")
