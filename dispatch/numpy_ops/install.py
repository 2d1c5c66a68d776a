"""`install` connects the parts of the package: layers, derived rules, pickles, and the rows, which load on first use.

No module changes another by being imported. `install` makes all such connections, in order, when `dispatch` is imported.
"""

import os

import numpy as np

from ..core import Tensor, before_first_wrapper, register_when_seen
from ..core.lazy import LazyAttribute, LazyFunction, Loader
from ..dispatcher import observer
from ..dispatcher.argument_layout import around_kernels
from ..dispatcher.frameworks import frameworks, labelled
from ..dispatcher.layer import kernels
from ..dispatcher.operator_hooks import hooks
from ..layers import mode, second_tries
from ..layers.autograd.derivative_sources import makers, plugged
from ..layers.autograd.layer import backward_rule, partial_rule
from ..layers.autograd.layer import layer as autograd
from ..layers.fake.layer import layer as fake
from ..layers.functionalize.layer import layer as functionalize
from ..layers.jvp.layer import jvp_rule
from ..layers.jvp.layer import layer as jvp
from ..layers.trace.layer import layer as trace
from ..layers.trace.layer import makers as array_makers
from ..layers.trace.layer import unasked
from ..layers.vmap.layer import layer as vmap
from ..operators import pickling
from ..operators.functional_variant import functional
from ..operators.namespaces import overloads_of
from ..operators.registry import define_on_first_use
from ..operators.rule_operators import makers as rule_makers
from ..operators.rule_operators import rule_operator
from ..schema.tags import Tag

COMPILER = f"{__package__.partition('.')[0]}.compiler"
RULES = f"{__package__.partition('.')[0]}.autodiff.rules"
CONTROL_FLOW = f"{__package__.partition('.')[0]}.control_flow"
GUFUNC = f"{__package__.partition('.')[0]}.operators.gufunc"
INTEROP = f"{__package__.partition('.')[0]}.interop"
# By a package, the module that registers its classes as ours.
REGISTERED_WHEN_SEEN = {"cupy": ".cupy", "dask": ".dask", "xarray": ".xarray"}
# By the package that a class comes from, the module that takes a call over.
FRAMEWORKS = {"jax": ".jax", "jaxlib": ".jax", "torch": ".torch", "xarray": ".xarray"}
LABELLED = {"xarray"}  # of these: packages whose objects hold arrays of any kind
FORMS = {  # of a derivative, by their keywords in `register_autograd`
    "elementwise": ".elementwise",
    "finite_difference": ".finite_differences",
    "implicit": ".implicit",
    "jacobian": ".full_jacobian",
    "linear": ".linear",
}
# What `Tensor` has from the rows, as soon as they are loaded: the names of `protocols.ON_TENSORS`.
ON_TENSORS = """
    __array_ufunc__ __array_function__ __copy__ __deepcopy__
    __add__ __sub__ __mul__ __truediv__ __pow__ __floordiv__ __mod__ __matmul__ __and__ __or__ __xor__ __lshift__ __rshift__
    __radd__ __rsub__ __rmul__ __rtruediv__ __rpow__ __rfloordiv__ __rmod__ __rmatmul__ __rand__ __ror__ __rxor__ __rlshift__ __rrshift__
    __iadd__ __isub__ __imul__ __itruediv__ __ipow__ __ifloordiv__ __imod__ __imatmul__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__
    __divmod__ __rdivmod__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__ __round__ __getitem__ __reversed__ __setitem__ __delitem__
    sum mean max min prod var std all any argmax argmin argsort sort cumsum cumprod clip round repeat diagonal trace nonzero
    searchsorted swapaxes squeeze dot take copy compress fill flat view put itemsize nbytes reshape transpose ravel flatten astype conj conjugate detach T mT real imag
    strides flags base setflags resize partition argpartition choose byteswap getfield setfield tobytes tofile dump dumps
    ctypes _numba_type_ __jax_array__ __torch_function__ __array_namespace__ __dlpack__ __dlpack_device__ to_device
"""


def install() -> None:
    """Connect layers, derived rules, pickles and rows, in this order."""
    for layer in (kernels, fake, trace, functionalize, mode.layer, jvp, autograd, vmap):
        layer.install()
    observer.install()
    around_kernels[Tag.random] = LazyFunction(__package__, "..layers.vmap.randomness", "around_kernel")
    for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "full"):
        unasked[getattr(np, name)] = LazyFunction(__package__, ".array_making", "asarray" if name == "asanyarray" else name)
    for name in ("empty", "zeros", "ones", "full"):
        array_makers[getattr(np, name)] = LazyFunction(__package__, ".array_making", name)
    second_tries.makers.append(LazyFunction(COMPILER, ".other_ways", "other_ways"))
    hooks.functional, hooks.overloads, hooks.rule_operator = functional, overloads_of, rule_operator
    hooks.cfunc, kernels.of_c = LazyFunction(GUFUNC, ".c_kernel", "cfunc_of"), LazyFunction(GUFUNC, ".c_kernel", "kernel_of_c")
    rule_makers.update(backward_rule=backward_rule, jvp_rule=jvp_rule, partial_rule=partial_rule)
    rule_makers["vmap_rule"] = LazyFunction(__package__, "..layers.vmap.opaque_vmap", "vmap_rule")
    frameworks.update((package, LazyFunction(INTEROP, module, "taken_over")) for package, module in FRAMEWORKS.items())
    labelled.update(LABELLED)
    for package, module in REGISTERED_WHEN_SEEN.items():
        register_when_seen(package, LazyFunction(INTEROP, module, "register"))
    makers.update((keyword, LazyFunction(RULES, module, "make")) for keyword, module in FORMS.items())
    plugged["ufunc"] = LazyFunction(__package__, ".from_ufunc", "operator_of")
    jvp.derivations = (LazyFunction(RULES, ".forms", "jvp_from_form"), LazyFunction(RULES, ".transpose", "jvp_from_vjp"))
    kernels.derivations = (LazyFunction(__package__, ".array_protocols", "kernel_by_protocols"),)
    autograd.derivations = (LazyFunction(RULES, ".transpose", "vjp_from_jvp"),)
    pickling.install()
    load_rows = Loader(__package__, ".rows")
    define_on_first_use("np", load_rows)
    define_on_first_use("np_random", Loader(__package__, ".draws"))
    before_first_wrapper(load_rows)
    define_on_first_use("control_flow", Loader(CONTROL_FLOW, ".derivations"))
    define_on_first_use("scipy_special", Loader(__package__, ".special_ufuncs"))
    for name in ON_TENSORS.split():
        setattr(Tensor, name, LazyAttribute(name, load_rows))
    if os.environ.get("DISPATCH_VALIDATE"):
        Loader(__package__, "..testing.validate")()
