"""dispatch: PyTorch's operator contract on plain NumPy arrays.

Put `custom_op` on a function that calls your C, Fortran, Cython, Numba or SciPy kernel. It gets a schema from its type hints,
kernels for each device, a shape rule, gradients, batching, and a checker that finds its bugs.
"""

from . import autograd, library, testing
from . import derive as derive  # which tells the layers what they can make of each other's rules
from .carrying import carry
from .compiling import compile, register_backend  # noqa: A004  torch's name
from .core import DispatchKey, OpOverload, Residual, Tensor
from .exporting import ExportedProgram, export, load
from .fake import FakeTensor, FakeTensorMode
from .forward import DualTensor
from .functionalize import FunctionalTensor, functionalize
from .graph import Graph
from .library import (
    Tag,
    custom_op,
    from_ufunc,
    infer_schema,
    register_autograd,
    register_fake,
    register_jvp,
    register_kernel,
    register_vmap,
)
from .make_fx import make_fx
from .modes import Mode
from .numpy_protocols import detach
from .observe import log_calls, profile
from .operators import ops
from .pickling import MissingOperator
from .schema import Schema
from .shapes import eval_shape
from .symbolic import ShapeEnv, SymBool, SymInt, check
from .tape import checkpoint, detect_anomaly, enable_grad, no_grad, set_grad_enabled, tensor
from .transforms import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from .validating import validate
from .vectorize import vectorize
from .vmap import vmap

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
    "custom_op",
    "detach",
    "detect_anomaly",
    "enable_grad",
    "eval_shape",
    "export",
    "from_ufunc",
    "functionalize",
    "grad",
    "hessian",
    "infer_schema",
    "jacfwd",
    "jacrev",
    "jvp",
    "library",
    "load",
    "log_calls",
    "make_fx",
    "no_grad",
    "ops",
    "profile",
    "register_autograd",
    "register_backend",
    "register_fake",
    "register_jvp",
    "register_kernel",
    "register_vmap",
    "set_grad_enabled",
    "tensor",
    "testing",
    "validate",
    "value_and_grad",
    "vectorize",
    "vjp",
    "vmap",
]
