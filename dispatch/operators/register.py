"""Registers kernels and rules by operator or name, which calls `op.register(layer, rule)`; and the function of its samples.

It has more than 350 lines because the docstrings are whole: `help(op.register_fake)` shows them too.
"""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

from ..core import OpOverload, Registration, registration_lock
from ..core.source import where
from ..core.wrong_calls import check_takes, clear, holding, may_take
from ..dispatcher.layer import find_layer
from ..dispatcher.operator_hooks import documented
from ..dispatcher.own_rules import check_verb
from ..errors import ArgumentError, DefinitionError, check_word, did_you_mean, kind_of
from .kernel_functions import above_a_rule, made_of
from .namespaces import Operator
from .registry import find

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")


def resolve(op: object, *others: object, layer: str = "fake") -> OpOverload:
    """The operator itself, given it or its name. `others` was given behind it: the name, where the two are swapped.

    `layer` is that of the verb, for a message.
    """
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, str):
        return find(op)
    if isinstance(op, Operator):
        listed = ", ".join(op.name.replace("::", ".") + f".{name}" for name in op.overloads())
        raise ArgumentError(f"{op.name} has several overloads, and one is asked for. Write dispatch.ops.{listed}.")
    said = f"an operator or its name, 'ns::name', is asked for, and {kind_of(op)} was given."
    swapped = any(isinstance(other, (str, OpOverload)) for other in others)
    above = others[:1] == (None,) and isinstance(op, FunctionType)  # a verb as a decorator, without the operator
    advice = " It comes before the function." if swapped else above_a_rule(layer) if above else made_of(op)
    raise ArgumentError(said + advice)


class Keeper(Protocol):
    """What `lib=` asks of a library: to keep a registration, and to take it away with itself."""

    def keep(self, op: OpOverload, registration: Registration) -> None:
        """Let a registration go with this library."""


def _attach(layer: str, op: OpOverload | str, lib: Keeper | None, func: Any, *before: Any, **options: Any) -> Any:
    """What `op.register_<layer>` does, the registration kept by a library."""
    op = resolve(op, func, *before, layer=layer)
    if func is None:
        return lambda func: _attach(layer, op, lib, func, *before, **options)
    return _registered(layer, op, lib, *before, func, **options)


def _registered(layer: str, op: OpOverload | str, lib: Keeper | None, *given: Any, **options: Any) -> Any:
    """What `op.register_<layer>` does of all that was given, which comes back last."""
    op = resolve(op, *given, layer=layer)
    if lib is None:
        check_verb(op, layer, given)
    with registration_lock:
        already = op.table.all()
        find_layer(layer).attach(op, *given, **options)
        if lib is not None:
            for registration in op.table.all():
                if registration not in already:
                    lib.keep(op, registration)
    return given[-1]


@overload
def register_kernel(
    op: OpOverload | str, device_types: str | Sequence[str] | None, func: F, /, *, lib: Keeper | None = None
) -> F: ...
@overload
def register_kernel(
    op: OpOverload | str, device_types: str | Sequence[str] | None, func: None = None, /, *, lib: Keeper | None = None
) -> Callable[[F], F]: ...
@overload
def register_kernel(
    op: OpOverload | str, device_types: str | Sequence[str], /, *, cfunc: Any, workers: int = 1, lib: Keeper | None = None
) -> None: ...
@holding("device_types")
def register_kernel(
    op: OpOverload | str,
    device_types: str | Sequence[str] | None,
    func: Function | None = None,
    /,
    *,
    cfunc: Any = None,
    workers: int = 1,
    lib: Keeper | None = None,
) -> Any:
    """Give an operator a kernel for some devices.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    device_types : str or sequence of str, or None
        The devices, `"cpu"` say. None means every device that has no kernel of its own.
    func : callable, optional
        The kernel. It has the operator's own signature. Without it this is a decorator.
    cfunc : function in C or dict of these, optional
        For an operator with `signature=`, on the device `"cpu"`: the inner loop of a gufunc, `void (char **, npy_intp const *,
        npy_intp const *, void *)`, as a function of ctypes or cffi, a Numba `cfunc`, a capsule or a `scipy.LowLevelCallable`.
        Of several dtypes, or if the hints name none, a dict by dtypes, `{"dd->d": function}`. See docs/c_kernels.md.
    workers : int
        With `cfunc`: how many threads share the loop.
    lib : Library, optional
        The kernel is removed when this library is destroyed. Without it the kernel stays.

    Returns
    -------
    callable
        `func`, unchanged; None with `cfunc`.

    Raises
    ------
    DefinitionError
        If `func` is no function, there is no such device, or no call of the operator can ask for one; if `cfunc` is no
        function in C, or one of another signature.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import custom_op
    >>> @custom_op("doc::negate", mutates_args=(), device_types="cuda")
    ... def negate(x: np.ndarray) -> np.ndarray: ...
    >>> @negate.register_kernel("cpu")
    ... def _(x):
    ...     return -x
    >>> negate(np.ones(2))
    array([-1., -1.])
    """
    if cfunc is not None:
        return _registered("kernel", op, lib, device_types, func, cfunc=cfunc, workers=workers)
    return _attach("kernel", op, lib, func, device_types, workers=workers)


@overload
def register_fake(op: OpOverload | str, func: F, /, *, lib: Keeper | None = None, allow_override: bool = True) -> F: ...
@overload
def register_fake(
    op: OpOverload | str, func: None = None, /, *, lib: Keeper | None = None, allow_override: bool = True
) -> Callable[[F], F]: ...
@holding("allow_override")
def register_fake(
    op: OpOverload | str, func: Function | None = None, /, *, lib: Keeper | None = None, allow_override: bool = True
) -> Any:
    """Give an operator its fake rule: a function that computes the shape and dtype of each output, without data.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    func : callable, optional
        The rule. Its parameters have the names of the operator's. Each array arrives as a `FakeTensor`, which has `shape`,
        `dtype` and `strides`. The rule returns fake tensors or plain arrays; of a plain array only shape, dtype and strides
        are read, and `np.empty` allocates no memory that is touched. Without `func` this is a decorator.
    lib : Library, optional
        The rule is removed when this library is destroyed. Without it the rule stays.
    allow_override : bool
        If False, raise DefinitionError where the operator has a fake rule already. By default the new rule replaces it.

    Returns
    -------
    callable
        `func`, unchanged.

    Raises
    ------
    DefinitionError
        If the rule's parameters do not have the operator's names.
    OperatorNotFoundError
        If no operator has the name.

    See Also
    --------
    dispatch.library.get_ctx : sizes that depend on data.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::outer", mutates_args=())
    ... def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    ...     return np.outer(x, y)
    >>> @dispatch.register_fake(outer)
    ... def _(x, y):
    ...     return np.empty((x.size, y.size), np.result_type(x.dtype, y.dtype))
    >>> dispatch.eval_shape(outer, np.ones(3), np.ones(4, np.float32))
    FakeTensor(shape=(3, 4), dtype=float64)
    """
    op = resolve(op, func)
    held = op.table.source(find_layer("fake").key)
    if held is not None and not allow_override:
        raise DefinitionError(
            f"{op.name} has a fake rule already, {where(held.rule)}, and allow_override is False.", operator=op.name
        )
    return _attach("fake", op, lib, func)


@overload
def register_autograd(
    op: OpOverload | str,
    backward: F,
    /,
    *,
    setup_context: Function | None = None,
    batched: bool = False,
    opaque: bool | None = None,
    linear: bool | str | Sequence[str] = False,
    lib: Keeper | None = None,
) -> F: ...
@overload
def register_autograd(
    op: OpOverload | str,
    backward: None = None,
    /,
    *,
    setup_context: Function | None = None,
    batched: bool = False,
    opaque: bool | None = None,
    lib: Keeper | None = None,
) -> Callable[[F], F]: ...
@overload
def register_autograd(op: OpOverload | str, /, *, linear: bool | str | Sequence[str], lib: Keeper | None = None) -> None: ...
@overload
def register_autograd(
    op: OpOverload | str, /, *, elementwise: Any, opaque: bool | None = None, lib: Keeper | None = None
) -> None: ...
@overload
def register_autograd(
    op: OpOverload | str, /, *, jacobian: Function, opaque: bool | None = None, lib: Keeper | None = None
) -> None: ...
@overload
def register_autograd(
    op: OpOverload | str, /, *, implicit: tuple[Function, Function | None] | Function, lib: Keeper | None = None
) -> None: ...
@overload
def register_autograd(op: OpOverload | str, /, *, finite_difference: bool | float, lib: Keeper | None = None) -> None: ...
@clear
def register_autograd(
    op: OpOverload | str,
    backward: Function | None = None,
    /,
    *,
    setup_context: Function | None = None,
    batched: bool = False,
    opaque: bool | None = None,
    linear: bool | str | Sequence[str] = False,
    elementwise: Any = None,
    jacobian: Function | None = None,
    implicit: tuple[Function, Function | None] | Function | None = None,
    finite_difference: bool | float | None = None,
    lib: Keeper | None = None,
) -> Any:
    """Give an operator its derivative. `grad`, `backward()`, `jvp` and the Jacobians all follow from it.

    The usual source is a backward. Each of the keywords from `linear` to `finite_difference` is a source that takes its place.
    docs/derivatives_rules.md says which to choose, with an example of each.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    backward : callable, optional
        `backward(ctx, *grads)` gets one gradient for each output, of the output's shape and dtype. It returns one for each
        argument of the operator: an array of that argument's shape, or None. Without any source this is a decorator of a
        backward.
    setup_context : callable, optional
        `setup_context(ctx, inputs, output)` runs after the kernel, and keeps on `ctx` what the backward needs:
        `ctx.save_for_backward(x)` for arrays, an attribute for anything else.
    batched : bool
        Whether the backward takes several gradients at once, stacked along a new first axis, and returns gradients with that
        axis. Then `jacrev` calls it once for all rows, and with plain arrays, so that it may be code in C.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone, SciPy or C. Such a rule is called as one operator,
        `op.backward_rule`: item by item under vmap, one call in a graph, and the next derivative is that of this operator. By
        default that is found out where the rule first asks a value for its NumPy array, and what it did until then is done
        again; True says it beforehand, False forbids it.
    linear : bool, str or sequence of str
        The array arguments in which the operator is linear, all of them together; True for every array. A backward beside it
        is the transpose. Without one the transpose calls the operator once for each element of these arguments. Before the
        first derivative two more calls hold the kernel to it: one that is not linear raises `GradientError`.
    elementwise : callable, number, or tuple or dict of these
        For an operator that works element by element and broadcasts: the partial derivative by each array argument. A
        function's parameters name what it reads: arguments, or `out` for the result.
    jacobian : callable
        `jacobian(*args)` returns the Jacobian, of shape `output.shape + input.shape`. For several array arguments it returns
        a tuple of them, or a dict by name.
    implicit : tuple of callable, or callable
        `(residual, solve)`. The output `y` is the solution of `residual(y, *args) == 0`, and `solve(A, b)` solves the linear
        system `A(x) == b`. With the residual alone, NumPy solves the system as a dense matrix.
    finite_difference : bool or float
        Central differences with this step; True chooses a step for the dtype. They call the operator twice for each element
        of the arguments.
    lib : Library, optional
        The derivative is removed when this library is destroyed. Without it the derivative stays.

    Returns
    -------
    callable
        `backward`, unchanged; None with another source.

    Raises
    ------
    DefinitionError
        If there is more than one source, or a source does not fit the operator.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::square", mutates_args=())
    ... def square(x: np.ndarray) -> np.ndarray:
    ...     return x * x
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> @dispatch.register_autograd(square, setup_context=setup_context)
    ... def backward(ctx, g):
    ...     (x,) = ctx.saved_tensors
    ...     return 2 * x * g
    >>> dispatch.grad(lambda x: square(x).sum())(np.array([1.0, 2.0]))
    array([2., 4.])

    An operator that works element by element needs no backward:

    >>> @dispatch.custom_op("doc::cubic", mutates_args=())
    ... def cubic(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> dispatch.register_autograd(cubic, elementwise=lambda x: 3 * x**2)
    >>> dispatch.grad(lambda x: cubic(x).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    sources = {
        "linear": linear,
        "elementwise": elementwise,
        "jacobian": jacobian,
        "implicit": implicit,
        "finite_difference": finite_difference,
    }
    given = {name: source for name, source in sources.items() if source is not None and source is not False}
    if backward is None and given:
        return _registered("autograd", op, lib, None, setup_context=setup_context, batched=batched, opaque=opaque, **given)
    return _attach("autograd", op, lib, backward, setup_context=setup_context, batched=batched, opaque=opaque, **given)


@overload
def register_jvp(op: OpOverload | str, rule: F, /, *, opaque: bool | None = None, lib: Keeper | None = None) -> F: ...
@overload
def register_jvp(
    op: OpOverload | str, rule: None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Callable[[F], F]: ...
@clear
def register_jvp(
    op: OpOverload | str, rule: Function | None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Any:
    """Give an operator its derivative in forward mode: a rule that computes the tangent of the output.

    A tangent is the rate at which a value changes as the inputs of `dispatch.jvp` move. An operator that has a backward needs
    no such rule: one is made of it. An operator that has only this rule has gradients too.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    rule : callable, optional
        `rule(tangents, output, *args)`; after the first two, its parameters have the names of the operator's. It returns the
        tangent of the output, of the same shape and dtype; a tuple of them for several outputs; None for an output that has
        no tangent. `tangents` has one item for each argument: an array for an array of floating-point or complex numbers,
        zeros if that array is a constant; a list for a list; None for anything else. `output` is what the operator returned,
        with a `Residual` last. Without the rule this is a decorator.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone; see `register_autograd`. Its operator is
        `op.jvp_rule`.
    lib : Library, optional
        The rule is removed when this library is destroyed. Without it the rule stays.

    Returns
    -------
    callable
        `rule`, unchanged.

    Raises
    ------
    DefinitionError
        If the rule's parameters do not have the operator's names.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::cubed", mutates_args=())
    ... def cubed(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> @dispatch.register_jvp(cubed)
    ... def _(tangents, output, x):
    ...     return 3 * x**2 * tangents[0]
    >>> dispatch.jvp(cubed, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    (array([1., 8.]), array([3., 0.]))
    """
    return _attach("jvp", op, lib, rule, opaque=opaque)


@overload
def register_dispatch(op: OpOverload | str, cls_or_mode: type, func: F, /, *, lib: Keeper | None = None) -> F: ...
@overload
def register_dispatch(
    op: OpOverload | str, cls_or_mode: type, func: None = None, /, *, lib: Keeper | None = None
) -> Callable[[F], F]: ...
@clear
def register_dispatch(
    op: OpOverload | str, cls_or_mode: type, func: Function | None = None, /, *, lib: Keeper | None = None
) -> Any:
    """Say what one operator does under a mode, or with an array class among its arguments; torch's `register_torch_dispatch`.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    cls_or_mode : type
        A subclass of `Mode`; or an array class: a subclass of `numpy.ndarray`, or a class given to `register_array_type`.
        The rule holds for its subclasses too. A newer rule for the same class replaces an older one.
    func : callable, optional
        `rule(mode_or_class, op, types, args, kwargs)` returns the result of the call. `types` are the classes of the arrays
        that are not plain. For a mode it runs in place of `__dispatch__`, for an array class in place of the kernel. Without
        it this is a decorator.
    lib : Library, optional
        The rule is removed when this library is destroyed. Without it the rule stays.

    Returns
    -------
    callable
        `func`, unchanged.

    Raises
    ------
    DefinitionError
        If the class is neither, or the rule does not take five arguments.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> class Celsius(np.ndarray): ...
    >>> @dispatch.library.register_dispatch("np::add", Celsius)
    ... def _(cls, op, types, args, kwargs):
    ...     return op(*[np.asarray(x) for x in args]).view(Celsius)
    >>> dispatch.ops.np.add(np.ones(2).view(Celsius), 1.0)
    Celsius([2., 2.])
    """
    return _attach("dispatch", op, lib, func, cls_or_mode)


@overload
def register_vmap(op: OpOverload | str, func: F, /, *, opaque: bool | None = None, lib: Keeper | None = None) -> F: ...
@overload
def register_vmap(op: OpOverload | str, func: str, /, *, lib: Keeper | None = None) -> str: ...
@overload
def register_vmap(
    op: OpOverload | str, func: None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Callable[[F], F]: ...
@clear
def register_vmap(
    op: OpOverload | str, func: Function | str | None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Any:
    """Give an operator its batching rule, which computes all items of a `vmap` in one call.

    Without a rule `vmap` calls the operator once for each item, and warns.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    func : callable or str, optional
        `rule(info, in_dims, *args)` returns `(output, out_dims)`; after the first two, its parameters have the names of the
        operator's. `info.batch_size` is the number of items and `info.randomness` the option of `vmap`. `in_dims` has one
        item for each argument: the axis of the batch, None for an argument that all items share, a list for a list.
        `out_dims` is the axis of the batch in the output; a tuple of axes for several outputs.
        A kernel that broadcasts needs no function but the name of a rule: `"broadcast_all"`, `"expand_dims"` or
        `"broadcast"` (docs/batching.md). `"sequential"` asks for the loop, without the warning.
        Without `func` this is a decorator.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone; see `register_autograd`. Its operator is
        `op.vmap_rule`, whose derivative is that of `op`, item by item.
    lib : Library, optional
        The rule is removed when this library is destroyed. Without it the rule stays.

    Returns
    -------
    callable or str
        `func`, unchanged.

    Raises
    ------
    DefinitionError
        If the rule's parameters do not have the operator's names, or no rule has the name that was given.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::centred", mutates_args=())
    ... def centred(x: np.ndarray) -> np.ndarray:
    ...     return x - x.mean(axis=-1, keepdims=True)
    >>> @dispatch.register_vmap(centred)
    ... def _(info, in_dims, x):
    ...     return centred(np.moveaxis(x, in_dims[0], 0)), 0
    >>> dispatch.vmap(centred)(np.array([[0.0, 2.0], [3.0, 5.0]]))
    array([[-1.,  1.],
           [-1.,  1.]])
    """
    return _attach("vmap", op, lib, func, opaque=opaque)


class SampleFunction(NamedTuple):
    """What makes an operator's samples, and how `opcheck` is to look at them."""

    function: Function
    fixed: tuple[str, ...]
    gradients: str


@clear
def register_samples(
    op: OpOverload | str, func: Any = None, /, *, fixed: str | Sequence[str] = (), gradients: str = "compare"
) -> Any:
    """Give an operator a function that makes samples of its arguments, in place of those made from its schema.

    `dispatch.testing.samples`, `npdispatch check` and `pytest --opcheck` ask it.

    Parameters
    ----------
    op : OpOverload or str
        The operator, or its name `"ns::name"`.
    func : callable, optional
        Called with a `numpy.random.Generator`; returns or yields samples. A sample is a tuple, all arguments by position; or a
        dict of arguments by name, of which those that are left out take their defaults or are made from the schema; or a
        `dispatch.testing.Sample`. Without `func` this is a decorator.
    fixed : str or sequence of str
        The arguments that keep the sample's values and lengths in every run, for they belong together: indices, pointers.
    gradients : str
        As in `opcheck`: "compare" them with finite differences, or ask that they "exist".

    Returns
    -------
    callable
        `func`, unchanged.

    Raises
    ------
    DefinitionError
        If `func` is no function, or `fixed` names no argument.
    OperatorNotFoundError
        If no operator has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::pick", mutates_args=())
    ... def pick(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    ...     return x[indices]
    >>> @pick.register_samples(fixed="indices")
    ... def _(random):
    ...     yield random.normal(size=5), np.array([0, 4])
    >>> [sample.what for sample in dispatch.testing.samples(pick)]
    ['(5,), (2,)']
    """
    op = resolve(op)
    if func is None:
        return lambda func: register_samples(op, func, fixed=fixed, gradients=gradients)
    if not callable(func):
        made = "samples are made by a function of a numpy.random.Generator"
        raise DefinitionError(f"{op.name}: {made}, and {kind_of(func)} was given.")
    if not may_take(func, 1):
        says = "the sample function is called with a random generator. Take it: def samples(random): yield ..."
        raise DefinitionError(f"{op.name}: {says}")
    check_takes("register_samples", func, ("rng",))
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in op.arguments.names:
            close = did_you_mean(str(name), op.arguments.names)
            raise DefinitionError(f"{op.name} has no argument {name!r} to keep fixed.{close}")
    check_word(gradients, f"{op.name}: gradients=", ("compare", "exist"), DefinitionError)
    vars(op)["sample_function"] = SampleFunction(func, names, gradients)
    return func


documented.update(
    kernel=register_kernel,
    fake=register_fake,
    autograd=register_autograd,
    jvp=register_jvp,
    dispatch=register_dispatch,
    vmap=register_vmap,
    samples=register_samples,
)
