"""Transforms of functions: derivatives, forward and in reverse, of functions of arrays and of containers of arrays.

    constants    arrays that a transform makes itself
    structures   containers taken apart and put together; cotangents and tangents held against what they are of
    arguments    which arguments a transform is by, and the arrays in them
    results      what a function may return, and how it leaves the transform
    recording    a function run on a tape of its own
    gradients    grad, value_and_grad
    pulling      vjp
    pushing      jvp
    basis, rows, columns   the parts of Jacobians
    jacobians    jacrev, jacfwd, hessian
"""

from .gradients import grad, value_and_grad
from .jacobians import hessian, jacfwd, jacrev
from .pulling import vjp
from .pushing import jvp

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp"]
