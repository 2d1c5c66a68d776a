"""Transforms of functions: derivatives in reverse and forward mode, of functions of arrays and of containers of arrays.

    structures        containers as leaves; cotangents and tangents compared with the values they are of
    argnums           the arguments that a transform differentiates by
    function_outputs  what a function may return, and how it leaves the transform
    reverse_mode      grad, value_and_grad, vjp
    forward_mode      jvp
    jacobian          jacrev, jacfwd, hessian
"""
