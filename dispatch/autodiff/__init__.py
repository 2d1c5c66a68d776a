"""Transforms of functions: derivatives, forward and in reverse, of functions of arrays and of containers of arrays.

    array_constants   arrays that a transform makes itself
    structures        containers taken apart and put together; cotangents and tangents held against what they are of
    argnums           which arguments a transform is by, and the arrays in them
    function_outputs  what a function may return, and how it leaves the transform
    taped_call        a function run on a tape of its own
    grad              grad, value_and_grad
    vjp               vjp
    jvp               jvp
    jacobian_basis, jacobian_rows, jacobian_columns   the parts of Jacobians
    jacobian          jacrev, jacfwd, hessian
"""

from .grad import grad, value_and_grad
from .jacobian import hessian, jacfwd, jacrev
from .jvp import jvp
from .vjp import vjp

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp"]
