"""What torch.library offers, by its names: defining operators and registering their kernels and rules."""

from .core import DispatchKey, Residual
from .fake import get_ctx
from .infer import infer_schema
from .opaque import register_opaque_type
from .registration import custom_op, register_autograd, register_fake, register_kernel, register_vmap
from .tags import Tag
from .testing import opcheck
from .ufuncs import from_ufunc

__all__ = [
    "DispatchKey",
    "Residual",
    "Tag",
    "custom_op",
    "from_ufunc",
    "get_ctx",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_opaque_type",
    "register_vmap",
]
