"""Forward mode for an operator whose derivative was given in one of the forms. It is tried before a general construction."""

from ...core import OpOverload
from ...dispatcher.layer import Derived, Kernel
from ...layers.autograd.derivative_sources import Form
from ...layers.jvp.layer import layer as forward_layer
from . import linear
from .transpose import jvp_from_vjp


def jvp_from_form(op: OpOverload) -> Derived | None:
    """Return the forward derivative that a form made, if the operator has one."""
    general = jvp_from_vjp(op)
    if general is None or not isinstance(general.source.rule, Form):
        return None
    form = general.source.rule

    def make() -> Kernel:
        kernel = forward_layer.lower(op, form.jvp)
        return linear.where_held(op, form.held, kernel, general.make()) if form.held else kernel

    return Derived(general.source, make)

