"""What torch.library offers, by its names: defining operators and registering their kernels and rules."""

from .array_types import register_array_type
from .core import DispatchKey, Residual, fallthrough_kernel
from .custom_ops import custom_op
from .defining import define, impl, impl_abstract
from .fake import get_ctx
from .guards import ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
from .infer import infer_schema
from .kernel_functions import get_kernel
from .libraries import Library
from .opaque import register_opaque_type
from .registration import (
    register_autograd,
    register_dispatch,
    register_fake,
    register_jvp,
    register_kernel,
    register_vmap,
)
from .tags import Tag
from .testing import opcheck
from .ufuncs import from_ufunc

__all__ = [
    "DispatchKey",
    "ExcludeDispatchKeyGuard",
    "IncludeDispatchKeyGuard",
    "Library",
    "Residual",
    "Tag",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "from_ufunc",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_array_type",
    "register_autograd",
    "register_dispatch",
    "register_fake",
    "register_jvp",
    "register_kernel",
    "register_opaque_type",
    "register_vmap",
]
