"""dispatch: PyTorch's operator contract on plain NumPy arrays.

Put `custom_op` on a function that calls your C, Fortran, Cython, Numba or SciPy kernel. It gets a schema from its type hints,
kernels for each device, a shape rule, gradients, batching, and a checker that finds its bugs.
"""

from typing import TYPE_CHECKING

from . import autograd, errors, library
from .core import DispatchKey, OpOverload, Residual, Tensor
from .core.lazy import names_of
from .layers.autograd import detect_anomaly, enable_grad, no_grad, set_grad_enabled
from .layers.autograd.leaf import tensor
from .layers.fake import FakeTensor
from .layers.jvp import DualTensor
from .layers.mode import Mode
from .library import (
    Tag,
    custom_op,
    register_autograd,
    register_fake,
    register_jvp,
    register_kernel,
    register_vmap,
)
from .numpy_ops.install import install as _install
from .operators.pickling import MissingOperator
from .operators.registry import ops
from .schema.schema import Schema
from .symbolic import SymBool, SymInt, check

if TYPE_CHECKING:
    from . import control_flow, interop, numpy, testing
    from .autodiff.forward_mode import jvp
    from .autodiff.jacobian import hessian, jacfwd, jacrev
    from .autodiff.reverse_mode import grad, value_and_grad, vjp
    from .compiler import compile, register_backend  # noqa: A004  torch's name
    from .compiler.exported_program import ExportedProgram, export, load
    from .compiler.trace_function import make_fx
    from .control_flow.branches import cond
    from .control_flow.loops import fori_loop, scan, while_loop
    from .dispatcher.call_log import log_calls, profile
    from .dispatcher.thread_context import carry
    from .graph import Graph
    from .layers.autograd.checkpoints import checkpoint
    from .layers.fake.eval_shape import eval_shape
    from .layers.fake.fake_mode import FakeTensorMode
    from .layers.functionalize import FunctionalTensor, functionalize
    from .layers.vmap.transform import vmap
    from .layers.vmap.vectorize import vectorize
    from .library import from_ufunc, infer_schema
    from .numpy_ops.protocols import detach
    from .symbolic.shape_env import ShapeEnv
    from .testing.validate import validate
else:
    __getattr__, __dir__ = names_of(
        globals(),
        {
            ".autodiff.forward_mode": "jvp",
            ".autodiff.jacobian": "hessian jacfwd jacrev",
            ".autodiff.reverse_mode": "grad value_and_grad vjp",
            ".compiler": "compile register_backend",
            ".compiler.exported_program": "ExportedProgram export load",
            ".compiler.trace_function": "make_fx",
            ".control_flow": "",
            ".control_flow.branches": "cond",
            ".control_flow.loops": "fori_loop scan while_loop",
            ".dispatcher.call_log": "log_calls profile",
            ".dispatcher.thread_context": "carry",
            ".graph": "Graph",
            ".interop": "",
            ".layers.autograd.checkpoints": "checkpoint",
            ".layers.fake.eval_shape": "eval_shape",
            ".layers.fake.fake_mode": "FakeTensorMode",
            ".layers.functionalize": "FunctionalTensor functionalize",
            ".layers.vmap.transform": "vmap",
            ".layers.vmap.vectorize": "vectorize",
            ".library": "from_ufunc infer_schema",
            ".numpy": "",
            ".numpy_ops.protocols": "detach",
            ".symbolic.shape_env": "ShapeEnv",
            ".testing": "",
            ".testing.validate": "validate",
        },
    )

_install()

__version__ = "0.1.0"

__all__ = [
    "DispatchKey",
    "DualTensor",
    "ExportedProgram",
    "FakeTensor",
    "FakeTensorMode",
    "FunctionalTensor",
    "Graph",
    "MissingOperator",
    "Mode",
    "OpOverload",
    "Residual",
    "Schema",
    "ShapeEnv",
    "SymBool",
    "SymInt",
    "Tag",
    "Tensor",
    "autograd",
    "carry",
    "check",
    "checkpoint",
    "compile",
    "cond",
    "control_flow",
    "custom_op",
    "detach",
    "detect_anomaly",
    "enable_grad",
    "errors",
    "eval_shape",
    "export",
    "fori_loop",
    "from_ufunc",
    "functionalize",
    "grad",
    "hessian",
    "infer_schema",
    "interop",
    "jacfwd",
    "jacrev",
    "jvp",
    "library",
    "load",
    "log_calls",
    "make_fx",
    "no_grad",
    "numpy",
    "ops",
    "profile",
    "register_autograd",
    "register_backend",
    "register_fake",
    "register_jvp",
    "register_kernel",
    "register_vmap",
    "scan",
    "set_grad_enabled",
    "tensor",
    "testing",
    "validate",
    "value_and_grad",
    "vectorize",
    "vjp",
    "vmap",
    "while_loop",
]
