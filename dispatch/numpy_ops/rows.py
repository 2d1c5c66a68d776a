"""Imports the rows, but those of `numpy_functions.LATER`; `install` connects them with NumPy's protocols.

This module is imported when the first row is looked up, or before the first wrapper is made; see `numpy_ops.install`.
"""

from warnings import filterwarnings

from ..core import Tensor, before_first_wrapper
from ..core.array_memory import no_sequence
from ..core.lazy import LazyFunction
from ..graph.operator_facts import CANNOT_RAISE, register_spelling
from ..operators.registry import alias, define_on_first_use, define_when_missed, ops
from ..operators.views import ALIKE, ARRAYS_OF_NO_AXES, INDEXING, KEEPS_STRIDES, READ_ONLY_VIEWS, SUMMING
from .families import attach_plain_forms
from .numpy_functions import load_rest
from .protocols import ON_TENSORS

SECOND_NAMES = {  # NumPy's other names of the same functions
    "abs": "absolute",
    "acos": "arccos",
    "acosh": "arccosh",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "concat": "concatenate",
    "conj": "conjugate",
    "mod": "remainder",
    "permute_dims": "transpose",
    "pow": "power",
    "true_divide": "divide",
}


# Rows of whose results NumPy makes arrays, also where they have no axes; of other rows' results without axes it makes scalars.
MAKING_ARRAYS = """
    empty zeros ones full empty_like zeros_like ones_like full_like copy clone where setitem view_scatter scatter_add
"""


# Rows that raise of no data, so that graphs leave them out where nothing uses their results; ufuncs are such by themselves.
SURE = """
    stack clone empty zeros ones full arange empty_like zeros_like ones_like full_like copy concatenate where zero_unless
    zero_unless_nan cumsum cumprod sum prod max min mean any all clip angle nan_to_num isclose var std ptp nansum nanmean sort argsort
    argmax argmin matmul dot tensordot inner outer vdot vecdot repeat roll view_scatter tril triu trace
    getitem transpose reshape swapaxes moveaxis expand_dims squeeze broadcast_to diagonal ravel_from real imag flip astype detach select_index sum_to memory_view
"""

# Rows that programs call by a plain form; a module that is imported later attaches its own.
PLAIN_FORMS = """
    reshape swapaxes diagonal dot cumsum cumprod repeat take clip copy searchsorted nonzero concatenate stack inner outer vdot roll
    diff average ptp median nanmax nanmin nansum nanmean empty_like zeros_like ones_like full_like argmax argmin var std
    linalg_multi_dot sum prod max min any all getitem setitem_ power transpose moveaxis expand_dims squeeze ravel_from real astype
    round einsum vecdot where unique diag count_nonzero imag argsort delete nanvar nanstd trapezoid
"""
# Rows that have syntax, and the function of `graph_syntax` that prints it.
SPELLED = {"np::getitem": "spell_getitem", "np::setitem_": "spell_setitem"}


def install() -> None:
    """Connect the rows: their second names, how graphs print them, what is a number, and the methods of `Tensor`."""
    ARRAYS_OF_NO_AXES.update(getattr(ops.np, name) for name in MAKING_ARRAYS.split())
    KEEPS_STRIDES.update(getattr(ops.np, name) for name in "clone setitem view_scatter".split())
    ALIKE.update(getattr(ops.np, name) for name in "astype reshape transpose moveaxis squeeze flip real imag sum_to checked_weights".split())
    SUMMING.add(ops.np.sum_to)
    CANNOT_RAISE.update(getattr(ops.np, name) for name in SURE.split())
    INDEXING[ops.np.getitem] = 1
    READ_ONLY_VIEWS.update((ops.np.broadcast_to, ops.np.detach, ops.np.diagonal))
    for name, row in SECOND_NAMES.items():
        alias(getattr(ops.np, row), name)
    for name, function in SPELLED.items():
        register_spelling(name, LazyFunction(__package__, ".graph_syntax", function))
    attach_plain_forms(*[getattr(ops.np, name) for name in PLAIN_FORMS.split()])
    for name, attribute in ON_TENSORS.items():
        setattr(Tensor, name, attribute)
    # Generator.shuffle swaps items by views of them, so that some would be there twice: of that NumPy warns, and nothing else tells.
    filterwarnings("error", r"you are shuffling a '\w*Tensor' object", UserWarning)
    Tensor.__init_subclass__ = classmethod(no_sequence)  # type: ignore[assignment]
    _leave_to_float(Tensor)
    before_first_wrapper(None)
    define_on_first_use("np", None)
    define_when_missed("np", load_rest)


def _leave_to_float(cls: type[Tensor]) -> None:
    """Let a wrapper class raise its own error for `array[i] = x`; see `no_sequence`."""
    no_sequence(cls)
    for subclass in cls.__subclasses__():
        _leave_to_float(subclass)
