"""Checking operators, gradients and values; what a test suite of operators stands on."""

from .close import assert_close
from .gradcheck import gradcheck, gradgradcheck
from .opcheck import opcheck
from .report import Report
from .samples import Sample, samples
from .variants import layouts, sizes, values

__all__ = [
    "Report",
    "Sample",
    "assert_close",
    "gradcheck",
    "gradgradcheck",
    "layouts",
    "opcheck",
    "samples",
    "sizes",
    "values",
]
