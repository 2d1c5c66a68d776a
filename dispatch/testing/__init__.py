"""Checks of operators, gradients and values, for test suites."""

from ..core.lazy import names_of
from .closeness import assert_close
from .fake_profiles import OpProfile, generate_fake_kernels, load_op_profiles, record_op_profiles, save_op_profiles
from .generated_tests import dont_generate_opcheck_tests, generate_opcheck_tests, is_inside_opcheck_mode
from .gradient_checks import gradcheck, gradgradcheck
from .operator_checks import opcheck
from .report import Report
from .sample_strategies import sample_strategy
from .sampled_arguments import Sample, samples
from .variants import layouts, sizes, values

__all__ = [
    "OpProfile", "Report", "Sample", "assert_close", "dont_generate_opcheck_tests", "generate_fake_kernels",
    "generate_opcheck_tests", "gradcheck", "gradgradcheck", "is_inside_opcheck_mode", "layouts", "load_op_profiles", "opcheck",
    "record_op_profiles", "sample_strategy", "samples", "save_op_profiles", "sizes", "values",
]  # fmt: skip

__getattr__ = names_of(globals(), {})[0]
