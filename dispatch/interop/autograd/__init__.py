"""HIPS autograd's names: a program of `autograd` changes its imports to `dispatch.interop.autograd`, and nothing else.

    from autograd import grad              from dispatch.interop.autograd import grad
    import autograd.numpy as np            import dispatch.interop.autograd.numpy as np

Every name is a few lines over this package's own; there is no derivative here. The modules have autograd's names, so that an
import is changed at its beginning only: `extend`, `test_util`, `builtins`, `numpy`, `scipy`, `misc.flatten`, `misc.optimizers`.
A gradient by a complex argument is `df/dx - 1j * df/dy`, as autograd has it; `dispatch.grad` has its conjugate.
"""

from ...layers.autograd.checkpoints import checkpoint
from .builtins import dict, isinstance, list, tuple, type  # noqa: A004  autograd's names
from .differential_operators import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from .primitives import primitive

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]
