"""`from_ufunc`: makes an operator of any ufunc, NumPy's, SciPy's, Numba's or Cython's, generalised or not.

    erf = from_ufunc(scipy.special.erf)

A ufunc knows its number of arguments and results, its result dtypes (`resolve_dtypes`), and that it broadcasts. So its shape rule and
its batching rule are derived; only a derivative has to be written.
"""

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from importlib.machinery import ExtensionFileLoader
from keyword import iskeyword
from types import ModuleType
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.source import caller
from ..core.wrong_calls import holding
from ..dispatcher.layer import find_layer
from ..errors import DefinitionError, how_many, kind_of
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.gufunc.rules import Calls
from ..operators.gufunc.signature import Signature
from ..operators.registry import add, build, ops
from ..operators.registry import known as known_operator
from ..schema.schema import Schema
from ..schema.tags import Tag
from ..symbolic import guesses
from .families import batched_pointwise, kernel_of, kind
from .numpy_functions import LOADERS, UFUNCS, is_special, special_row
from .result_layouts import REMEMBERED, elementwise, elementwise_order
from .symbolic_layouts import dense

Partial = Callable[..., Any] | complex | None

DIFFERENTIATED: set[OpOverload] = set()  # SciPy's functions that have every partial derivative: see special.py
FEW = "xyz"  # the names of up to three arguments, as in NumPy's table; x0, x1, ... for more


@holding("name", "opaque")
def from_ufunc(f: Any, name: str | None = None, *, derivative: Partial | Sequence[Partial] = None, opaque: bool | None = None) -> OpOverload:
    """Make an operator of a ufunc.

    Parameters
    ----------
    f : ufunc
        NumPy's, SciPy's or Cython's, or what Numba's `vectorize` and `guvectorize` make. Generalised ones too.
    name : str, optional
        `"namespace::name"`. By default the ufunc's own name in the namespace of its module, `scipy_special::erf`; the same
        ufunc gives the same operator, and one of NumPy's table gives that.
    derivative : callable, number, or sequence of these, optional
        The partial derivative by each argument, None if there is none, as `register_autograd(elementwise=)` takes it: a
        function whose parameters name what it reads, arguments or `out` for the result; or a ufunc, of all arguments or of
        this one. Without it, `register_autograd` gives the operator a derivative.
    opaque : bool, optional
        Whether the functions in `derivative` hand what they read to code that takes arrays only; see `register_autograd`.

    Returns
    -------
    OpOverload
        Takes the ufunc's arrays, or Python numbers, by position; not its keywords `out`, `where`, `dtype` and `axis`.

    Raises
    ------
    DefinitionError
        If `f` is no ufunc, or has no name of its own and none is given; if a derivative is given for a row of NumPy's table.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.numpy_ops.from_ufunc import from_ufunc
    >>> hypot = from_ufunc(np.hypot, "mine::hypot", derivative=(lambda x, out: x / out, lambda y, out: y / out))
    >>> hypot
    mine::hypot(Tensor x, Tensor y) -> Tensor  [cpu | autograd fake vmap]
    >>> hypot(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
    array([ 5., 13.])
    >>> from_ufunc(np.hypot, "mine::hypot") is hypot, from_ufunc(np.sin) is dispatch.ops.np.sin
    (True, True)
    """
    inner = f if isinstance(f, np.ufunc) else getattr(f, "ufunc", None)
    if not isinstance(inner, np.ufunc):
        named = isinstance(f, str) and isinstance(getattr(np, f, None), np.ufunc)
        remedy = "For a function use custom_op; np.vectorize makes none either, but custom_op(..., signature=) does."
        word = getattr(f, "__name__", "")
        if word and getattr(np, word, None) is f and (row := known_operator(f"np::{word}")) is not None:
            remedy = f"np.{word} is an operator already: dispatch.ops.{row.name.replace('::', '.')}."
        raise DefinitionError(
            f"from_ufunc makes an operator of a ufunc, and was given {kind_of(f)}. {f'Write from_ufunc(np.{f}).' if named else remedy}"
        )
    _check(f)
    if name is None and derivative is None and f is inner and is_special(f):
        found: OpOverload = special_row(f)
        return found
    row = _row(f) if name is None else None
    full_name = row.name if row is not None else name or _name_of(f)
    op = row or _known(f, full_name)
    if op is not None and derivative is not None and (op is row or op in DIFFERENTIATED):
        whose, spelled = ("NumPy", "np") if op is row else ("SciPy", "scipy.special")
        raise DefinitionError(
            f"from_ufunc: {op.name} is a row of {whose}'s table, which all code of this process shares, and derivative= would change it "
            f'for all. Give an operator of your own a name: from_ufunc({spelled}.{f.__name__}, "mylib::{f.__name__}", derivative=...).',
            operator=op.name,
        )
    if derivative is None and opaque is not None:
        raise DefinitionError("from_ufunc: opaque= says what derivative= may be given, and there is none. Leave it out.")
    op = op or _define(f, inner, full_name)
    if f is inner and not (is_special(f) and op.schema.namespace != "scipy_special"):
        UFUNCS.setdefault(f, op)  # so that f(x) of a wrapper finds it; of SciPy's functions it finds SciPy's, whoever came first
    if derivative is not None:
        find_layer("autograd").attach(op, elementwise=_partials(op, inner, derivative), opaque=opaque)
    return op


def _check(f: Any) -> None:
    if getattr(f, "is_dynamic", False):
        raise DefinitionError(
            f"from_ufunc: {f.__name__} is a guvectorize without types, which allocates no output. Give guvectorize its types: "
            '["void(float64[:], float64[:])"].'
        )
    if written := getattr(getattr(f, "gufunc_builder", None), "writable_args", ()):
        raise DefinitionError(
            f"from_ufunc: {f.__name__} writes to its arguments, {written}, and the operator of a ufunc writes to nothing. "
            "Make it with custom_op(..., mutates_args=...)."
        )


def _row(f: Any) -> OpOverload | None:
    """Return the row of NumPy's table that has this ufunc as its kernel, or None."""
    if isinstance(f, np.ufunc) and f in LOADERS:
        LOADERS[f]()
    op = UFUNCS.get(f) if isinstance(f, np.ufunc) else None
    return op if op is not None and op.schema.namespace == "np" and kernel_of(op) is f else None


def _known(f: Any, name: str) -> OpOverload | None:
    """Return the operator of this name if it was made of this ufunc, else None."""
    namespace, _, word = name.partition("::")
    if namespace not in dir(ops) or word not in dir(getattr(ops, namespace)):
        return None
    found = getattr(getattr(ops, namespace), word)
    return found if isinstance(found, OpOverload) and vars(found).get("__wrapped__") is f else None


def _define(f: Any, inner: np.ufunc, name: str) -> OpOverload:
    module, place = caller()
    op = _built(f, inner, name)
    vars(op)["__module__"] = module
    op = add(op, module, place)
    for other in [other for other, known in UFUNCS.items() if known is op]:
        del UFUNCS[other]  # the operator has been another ufunc's
    return op


def _built(f: Any, inner: np.ufunc, name: str) -> OpOverload:
    """The operator of a ufunc, not registered by name yet."""
    names = FEW[: inner.nin] if inner.nin <= len(FEW) else [f"x{i}" for i in range(inner.nin)]
    arguments = ", ".join(f"Tensor {x}" for x in names)
    returns = "Tensor" if inner.nout == 1 else f"({', '.join(['Tensor'] * inner.nout)})"
    schema = Schema.parse(f"{name}({arguments}) -> {returns}")
    schema = schema.replace(arguments=tuple(a.replace(numbers=True) for a in schema.arguments))
    op = build(schema, () if inner.signature else (Tag.pointwise,))
    op.register_at(DispatchKey.CPU, _kernel(f, inner))
    if inner.signature:
        signature = Signature.parse(inner.signature)
        vars(op)["signature"] = signature
        calls = Calls(op, signature)
        fake, vmap = _fake_generalised(f, inner, calls), calls.batching_rule
    else:
        fake, vmap = _fake_elementwise(f, inner), batched_pointwise(op)
    find_layer("fake").attach(op, fake)
    find_layer("vmap").attach(op, vmap)
    vars(op).update(__name__=schema.name, __qualname__=schema.name, __doc__=f.__doc__, __wrapped__=f)
    return op


def _kernel(f: Any, inner: np.ufunc) -> Callable[..., Any]:
    """Return the kernel: the ufunc itself; a ufunc of Python objects returns bare objects, which are put into 0-d arrays."""
    if set("".join(inner.types)) != set("O->"):
        return f  # type: ignore[no-any-return]

    @wraps(f, assigned=("__doc__",), updated=())
    def kernel(*args: Any) -> Any:
        out = f(*args)
        results = out if inner.nout > 1 else (out,)
        arrays = [x if isinstance(x, np.ndarray) else _boxed(x) for x in results]
        return tuple(arrays) if inner.nout > 1 else arrays[0]

    return kernel


def _boxed(x: Any) -> Any:
    box = np.empty((), object)
    box[()] = x
    return box


# -- dtypes and shapes -----------------------------------------------------------------------------------------------------


@lru_cache(REMEMBERED)
def _dtypes(f: Any, inner: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes of the results; a Python number is given by its type.

    A ufunc that compiles itself for the types it meets, such as Numba's, is called on empty arrays: it compiles and computes
    nothing.
    """
    if f is inner:
        found: tuple[np.dtype[Any], ...] = inner.resolve_dtypes((*kinds, *(None,) * inner.nout))
        return found[-inner.nout :]
    return _of_nothing(f, inner, kinds)


def _of_nothing(f: Any, inner: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    cores = Signature.parse(inner.signature).inputs if inner.signature else ((),) * inner.nin
    args = []
    for found, core in zip(kinds, cores, strict=True):
        lengths = [int(name) if name.isdigit() else 1 for name in core]
        args.append(found(1) if isinstance(found, type) else np.empty((0, *lengths), found))
    out = f(*args)
    return tuple(x.dtype for x in (out if inner.nout > 1 else (out,)))


def _kinds(xs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([x.dtype if isinstance(x, FakeTensor) else kind(x) for x in xs])


def _fake_elementwise(f: Any, inner: np.ufunc) -> Callable[..., Any]:
    def rule(*xs: Any) -> Any:
        fakes = [x for x in xs if isinstance(x, FakeTensor)]
        if not fakes:
            return f(*xs)  # numbers only
        made = [elementwise(dtype, fakes) for dtype in _dtypes(f, inner, _kinds(xs))]
        return made[0] if len(made) == 1 else tuple(made)

    return rule


def _fake_generalised(f: Any, inner: np.ufunc, calls: Calls) -> Callable[..., Any]:
    def rule(*xs: Any) -> Any:
        fakes = [x for x in xs if isinstance(x, FakeTensor)]
        if not fakes:
            return f(*xs)
        binding = calls.bind(xs)
        loops = [
            (guesses(x.shape[:n]), guesses(x.strides[:n]))
            for x, n in zip(xs, binding.ndims, strict=True)
            if isinstance(x, FakeTensor) and n
        ]
        batch = elementwise_order(tuple(loops)) if loops else ()  # the loop as its operands lie, the items in C order
        made = []
        for shape, dtype in zip(calls.shapes(binding), _dtypes(f, inner, _kinds(xs)), strict=True):
            order = (*range(len(shape) - 1, len(batch) - 1, -1), *batch)
            strides = dense(shape, dtype.itemsize, order)
            made.append(fake_tensor(shape, dtype, strides, fakes[0].device, fakes[0].mode))
        return made[0] if len(made) == 1 else tuple(made)

    return rule


# -- derivatives -----------------------------------------------------------------------------------------------------------


def _partials(op: OpOverload, inner: np.ufunc, derivative: Partial | Sequence[Partial]) -> tuple[Partial, ...]:
    partials = tuple(derivative) if isinstance(derivative, (tuple, list)) else (derivative,)
    names = op.arguments.names
    if inner.signature or inner.nout > 1:
        what = "generalised" if inner.signature else f"of {how_many(inner.nout, 'result')}"
        raise DefinitionError(
            f"{op.name}: derivative= takes the partial derivatives of one result, element by element, and this ufunc is "
            f"{what}.\nWrite them as a rule: {op.schema.name}.register_autograd(backward, setup_context=...).",
            operator=op.name,
        )
    if len(partials) != len(names):
        raise DefinitionError(
            f"{op.name}: derivative= gives {how_many(len(partials), 'partial derivative')}, and the arguments are ({', '.join(names)}). "
            "Give one for each, None where there is none.",
            operator=op.name,
        )
    return partials


def operator_of(f: Any) -> OpOverload:
    """The operator of a ufunc that is a partial derivative; one without a name of its own is known to nobody by name."""
    known = UFUNCS.get(f) if isinstance(f, np.ufunc) else None
    if known is not None:
        return known
    try:
        return from_ufunc(f)
    except DefinitionError:
        return _built(f, f if isinstance(f, np.ufunc) else f.ufunc, f"ufunc::{f.__name__ if f.__name__.isidentifier() else 'f'}")


# -- names -----------------------------------------------------------------------------------------------------------------


def _name_of(f: Any) -> str:
    """Return `module::name` from the ufunc's own module and name."""
    word = str(f.__name__)
    module = _module_of(f, word)
    qualified = str(getattr(f, "__qualname__", getattr(getattr(f, "_dispatcher", None), "__qualname__", word)))
    if not module or "<" in qualified or not word.isidentifier():
        reason = "was made inside a function, where several may have its name" if "<locals>" in qualified else "has none"
        raise DefinitionError(
            f"from_ufunc: an operator is named after its ufunc and the ufunc's module, and {word} {reason}. "
            f'Give it a name: from_ufunc(f, "mylib::{word if word.isidentifier() else "name"}").'
        )
    namespace = module.strip("_").replace(".", "_")
    return f"{namespace}::{word}{'_' * iskeyword(word)}"


def _module_of(f: Any, word: str) -> str:
    """Return the module of a ufunc: its `__module__`, or the outermost package that has it."""
    said = getattr(f, "__module__", None)
    if isinstance(said, str):
        return said
    compiled = sorted(
        (name for name, module in list(sys.modules.items()) if _holds(module, word, f) and _is_extension(module)), key=len
    )
    for name in compiled:
        parts = name.split(".")
        for above in (".".join(parts[: i + 1]) for i in range(len(parts))):
            if _holds(sys.modules.get(above), word, f):
                return above
    return ""


def _holds(module: object, word: str, f: Any) -> bool:
    return isinstance(module, ModuleType) and vars(module).get(word) is f


def _is_extension(module: ModuleType) -> bool:
    return isinstance(getattr(module.__spec__, "loader", None), ExtensionFileLoader)
