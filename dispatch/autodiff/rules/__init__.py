"""The forms, other than a backward, in which a derivative is given: each makes a rule for the tape and one for forward mode.

    elementwise         the partial derivatives of an operator that works element by element
    linear              where an operator is linear its derivative is itself
    full_jacobian       the whole Jacobian, as an array
    implicit            the equation that the output solves
    finite_differences  central differences, on request
    by_columns          a gradient, one column of the Jacobian at a time

They stand above the layers, of which each needs two. The tape finds them in `derivative_sources.makers`; forward mode asks for
what `Layer.derivations` can make of the autograd rule, and is answered here before a general construction is tried.
"""

from ...core import OpOverload
from ...dispatcher.layer import Derived, Kernel
from ...layers.autograd.batched_backward import batching_rule, pull_all
from ...layers.autograd.derivative_sources import Form, makers
from ...layers.jvp import layer as forward_layer
from . import elementwise, finite_differences, full_jacobian, implicit, linear
from .transpose import jvp_from_vjp

makers.update(
    elementwise=elementwise.make,
    finite_difference=finite_differences.make,
    implicit=implicit.make,
    jacobian=full_jacobian.make,
    linear=linear.make,
)
pull_all.register_vmap(batching_rule)


def jvp_from_form(op: OpOverload) -> Derived | None:
    """Forward mode by the form that an operator's derivative was given in."""
    general = jvp_from_vjp(op)
    if general is None or not isinstance(general.source.rule, Form):
        return None
    form = general.source.rule

    def make() -> Kernel:
        kernel = forward_layer.lower(op, form.jvp)
        return linear.where_held(op, form.held, kernel, general.make()) if form.held else kernel

    return Derived(general.source, make)


forward_layer.derivations.insert(0, jvp_from_form)
