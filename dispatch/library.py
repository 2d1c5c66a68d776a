"""What torch.library offers, by its names: defining operators and registering their kernels and rules."""

from .array_types import register_array_type
from .core import DispatchKey, Residual, fallthrough_kernel
from .fake import get_ctx
from .guards import ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
from .infer import infer_schema
from .opaque import register_opaque_type
from .registration import custom_op, register_autograd, register_fake, register_kernel, register_vmap
from .tags import Tag
from .testing import opcheck

__all__ = [
    "DispatchKey",
    "ExcludeDispatchKeyGuard",
    "IncludeDispatchKeyGuard",
    "Residual",
    "Tag",
    "custom_op",
    "fallthrough_kernel",
    "get_ctx",
    "infer_schema",
    "opcheck",
    "register_array_type",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_opaque_type",
    "register_vmap",
]
