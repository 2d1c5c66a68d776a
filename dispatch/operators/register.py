"""Registers kernels and rules by operator or name: every function here calls `op.register(layer, rule)`."""


from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

from ..core import OpOverload, Registration, registration_lock
from ..core.source import where
from ..dispatcher.layer import find_layer
from ..errors import ArgumentError, DefinitionError, kind_of
from .registry import find

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")


def resolve(op: OpOverload | str) -> OpOverload:
    """The operator itself, given it or its name."""
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, str):
        return find(op)
    raise ArgumentError(f"an operator or its name, 'ns::name', is asked for, and {kind_of(op)} was given.")


class Keeper(Protocol):
    """What `lib=` asks of a library: to keep a registration, and to take it away with itself."""

    def keep(self, op: OpOverload, registration: Registration) -> None:
        """Let a registration go with this library."""


def _attach(layer: str, op: OpOverload | str, lib: Keeper | None, func: Any, *before: Any, **options: Any) -> Any:
    """What `op.register_<layer>` does, the registration kept by a library."""
    op = resolve(op)
    if func is None:
        return lambda func: _attach(layer, op, lib, func, *before, **options)
    return _registered(layer, op, lib, *before, func, **options)


def _registered(layer: str, op: OpOverload | str, lib: Keeper | None, *given: Any, **options: Any) -> Any:
    """What `op.register_<layer>` does of all that was given, which comes back last."""
    op = resolve(op)
    with registration_lock:
        already = op.table.all()
        find_layer(layer).attach(op, *given, **options)
        if lib is not None:
            for registration in op.table.all():
                if registration not in already:
                    lib.keep(op, registration)
    return given[-1]


def register_kernel(
    op: OpOverload | str,
    device_types: str | Sequence[str] | None,
    func: Function | None = None,
    /,
    *,
    lib: Keeper | None = None,
) -> Any:
    """Give an operator a kernel for some devices.

    Parameters
    ----------
    op : OpOverload or str
    device_types : str or sequence of str, or None
        None: for every device that has no kernel of its own.
    func : callable, optional
        With the operator's own signature. Without it this is a decorator.
    lib : Library, optional
        What the kernel goes with; without it the kernel stays.

    Returns
    -------
    callable
        `func`, unchanged.

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
    return _attach("kernel", op, lib, func, device_types)


def register_fake(
    op: OpOverload | str, func: Function | None = None, /, *, lib: Keeper | None = None, allow_override: bool = True
) -> Any:
    """Give an operator its fake rule, which says shape and dtype of the outputs without data; see `dispatch.layers.fake`.

    Parameters
    ----------
    op : OpOverload or str
    func : callable, optional
        Takes the operator's arguments, by its parameter names, with fake tensors for arrays; returns fake tensors, or plain
        arrays of which only the metadata is read. Without it this is a decorator.
    lib : Library, optional
        What the rule goes with; without it the rule stays.
    allow_override : bool
        False refuses an operator that has a fake rule.
    """
    op = resolve(op)
    held = op.table.source(find_layer("fake").key)
    if held is not None and not allow_override:
        raise DefinitionError(
            f"{op.name} has a fake rule already, {where(held.rule)}, and allow_override is False.", operator=op.name
        )
    return _attach("fake", op, lib, func)


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
    """Give an operator its derivative, from exactly one source; gradients and tangents both follow from it.

    Which to choose, with an example of each, is told in `docs/derivatives_rules.md`; a source without a backward is described
    in `dispatch.autodiff.rules`.

    Parameters
    ----------
    op : OpOverload or str
    backward : callable, optional
        `backward(ctx, *grads)`, a gradient for each output, returns one for each input, None for those without. Without any
        source this is a decorator of one.
    setup_context : callable, optional
        `setup_context(ctx, inputs, output)` keeps on `ctx` what the backward needs.
    batched : bool
        The backward takes any number of cotangents at once, along a leading axis, and returns gradients with that axis. Then
        `jacrev`, and vmap over cotangents, call it once, with plain arrays, whatever code it is.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone, SciPy or C. Such a rule is called as one operator,
        `op.backward_rule`: item by item under vmap, one call in a graph, and the next derivative is that of this operator. By
        default that is found out where the rule first asks a value for its NumPy array, and what it did until then is done
        again; True says it beforehand, False forbids it.
    linear : bool, str or sequence of str
        The arguments in which the operator is jointly linear; True for every array. A backward may stand beside it: the
        transpose. Without one the transpose costs a call of the operator for each input element.
    elementwise : callable, number, or tuple or dict of these
        The partial derivative by each array argument, of an operator that works element by element and broadcasts.
    jacobian : callable
        `jacobian(*args)` gives the Jacobian, of shape `output.shape + input.shape`; for several arrays a tuple or a dict.
    implicit : tuple of callable
        `(residual, solve)`: the output `y` solves `residual(y, *args) == 0`, and `solve(A, b)` the linear system `A(x) == b`;
        the residual alone, or None for `solve`, takes a dense one.
    finite_difference : bool or float
        Central differences of this step, True for one that fits the dtype: two calls of the operator for each input element.
    lib : Library, optional
        What the derivative goes with; without it the derivative stays.

    Returns
    -------
    callable
        `backward`, unchanged.

    Raises
    ------
    DefinitionError
        If there is more than one source, or what was given does not fit the operator.

    Examples
    --------
    >>> import numpy as np, dispatch
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


def register_jvp(
    op: OpOverload | str, rule: Function | None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Any:
    """Say what an operator does to tangents: its derivative in forward mode; see `dispatch.layers.jvp`.

    Parameters
    ----------
    op : OpOverload or str
    rule : callable, optional
        `rule(tangents, output, *args)` gives the tangent of the output, a tuple of them for several outputs, None for one
        without. The other parameters carry the operator's own names. `tangents` holds one for each argument: an array for an
        array of floating-point or complex numbers, zeros where it is a constant; a list for a list; None for anything else.
        `output` is what the operator gave, a Residual last. Without the rule this is a decorator.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone; see `register_autograd`. Its operator is
        `op.jvp_rule`.
    lib : Library, optional
        What the rule goes with; without it the rule stays.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::cubed", mutates_args=())
    ... def cubed(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> @dispatch.register_jvp(cubed)
    ... def _(tangents, output, x):
    ...     return 3 * x**2 * tangents[0]
    """
    return _attach("jvp", op, lib, rule, opaque=opaque)


def register_dispatch(
    op: OpOverload | str, cls_or_mode: type, func: Function | None = None, /, *, lib: Keeper | None = None
) -> Any:
    """Say what one operator does under a class of modes, or where a class of arrays is among its arguments; see `Mode`.

    Parameters
    ----------
    op : OpOverload or str
    cls_or_mode : type
        A subclass of `Mode`, or an array type: a subclass of `numpy.ndarray`, or a class given to `register_array_type`.
        Subclasses inherit the rule; of two rules for one class the newer runs.
    func : callable, optional
        `rule(mode_or_class, op, types, args, kwargs)` gives the result: for modes in place of `__dispatch__`, for arrays in
        place of the kernel. Without it this is a decorator.
    lib : Library, optional
        What the rule goes with; without it the rule stays.

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


def register_vmap(
    op: OpOverload | str, func: Function | str | None = None, /, *, opaque: bool | None = None, lib: Keeper | None = None
) -> Any:
    """Give an operator its batching rule; see `dispatch.vmap`.

    Parameters
    ----------
    op : OpOverload or str
    func : callable or str, optional
        `rule(info, in_dims, *args)` returns `(output, out_dims)`. Without it this is a decorator. A kernel that broadcasts
        needs none but the name of one: `"broadcast_all"`, `"expand_dims"`, `"broadcast"`; `"sequential"` asks for the loop.
    opaque : bool, optional
        Whether the rule hands what it gets to code that takes arrays alone; see `register_autograd`. Its operator is
        `op.vmap_rule`, whose derivative is that of `op`, item by item.
    lib : Library, optional
        What the rule goes with; without it the rule stays.
    """
    return _attach("vmap", op, lib, func, opaque=opaque)
