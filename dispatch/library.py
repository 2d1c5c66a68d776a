"""What torch.library offers, by its names: defining operators and registering their kernels and rules."""

from typing import TYPE_CHECKING

from .core import DispatchKey, Residual, fallthrough_kernel
from .core.lazy import names_of
from .operators.custom_op import custom_op
from .operators.register import (
    register_autograd,
    register_dispatch,
    register_fake,
    register_jvp,
    register_kernel,
    register_vmap,
)
from .schema.opaque_types import register_opaque_type
from .schema.tags import Tag

if TYPE_CHECKING:
    from .dispatcher.array_types import register_array_type
    from .dispatcher.key_guards import ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
    from .layers.fake.rule_context import get_ctx
    from .numpy_ops.from_ufunc import from_ufunc
    from .operators.define import define, impl, impl_abstract
    from .operators.kernel_handle import get_kernel
    from .operators.libraries import Library
    from .schema.infer import infer_schema
    from .testing import opcheck
else:
    __getattr__, __dir__ = names_of(
        globals(),
        {
            ".dispatcher.array_types": "register_array_type",
            ".dispatcher.key_guards": "ExcludeDispatchKeyGuard IncludeDispatchKeyGuard",
            ".layers.fake.rule_context": "get_ctx",
            ".numpy_ops.from_ufunc": "from_ufunc",
            ".operators.define": "define impl impl_abstract",
            ".operators.kernel_handle": "get_kernel",
            ".operators.libraries": "Library",
            ".schema.infer": "infer_schema",
            ".testing": "opcheck",
        },
    )

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
