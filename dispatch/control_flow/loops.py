"""`scan`, `fori_loop`, `while_loop` and `map`: loops that every transform takes as one operator.

More than 350 lines, because half of them are what `help` shows of the four.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt
from operator import index
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..errors import ControlFlowError, check_flag, how_many, kind_of, shown
from ..operators.registry import ops
from ..symbolic import SymInt
from .carries import Given, alike, as_array, check_carry, filled, frozen, is_plain, returned, run_plain
from .steps import Kind, fori_plain, scan_plain, while_plain
from .tracing import Function, Like, Traced, item_like, trace
from .words import condition_refused, functions_refused, layout_text, not_a_pair, path_to


@partial(clear, calls={"f": "f(carry, x)"})
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: bool | int = False,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` for each item of arrays, and return the last carry and all results.

    The order of arguments is JAX's; torch's `scan(combine_fn, init, xs, *, dim=0, reverse=False)` has the same first three.

    Parameters
    ----------
    f : callable
        `f(carry, x)` returns `(carry, y)`: the next carry, of the containers, shapes and dtypes of the one before, and a
        result, an array, a container of arrays or None. It writes to nothing that it is given. It may close over arrays.
    init : array, number, or container of these
        The first carry.
    xs : array or container of arrays, optional
        Their items along the first axis are what `f` gets, in the same container. None gives `f` None.
    length : int, optional
        The number of steps; only needed without `xs`.
    reverse : bool, optional
        Whether to begin at the last item. The results stand where their items do.
    checkpoint : bool or int, optional
        What reverse mode keeps: by default the carry before each step. With k the carry before each k-th step, and the steps
        between run once more in the backward; True is about the square root of the number of steps.

    Returns
    -------
    carry : object
        The last carry.
    ys : object
        The results, stacked along a new first axis.

    Raises
    ------
    ControlFlowError
        If the carry changes its shape, its dtype or its container, or items differ in number.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.scan(lambda total, x: (total + x, total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 1., 3.]))
    >>> last = lambda rate: dispatch.scan(lambda c, x: (c + rate * (x - c), None), 0.0, np.ones(3))[0]
    >>> dispatch.grad(last)(0.5)
    array(0.75)
    """
    if not callable(f):
        raise functions_refused("scan", "scan(f, init, xs)", f)
    return _scan("scan", f, init, xs, length, reverse, checkpoint)


def _scan(
    who: str, f: Any, init: Any, xs: Any, length: Any = None, reverse: Any = False, checkpoint: Any = False
) -> tuple[Any, Any]:
    """Run `scan` for the function that a user called, which messages name."""
    start, items = Given(who, "init", init), Given(who, "xs", xs)
    n, reverse = _length(who, start, items, length), check_flag(reverse, "scan: reverse")
    every = _every(checkpoint, n)
    if is_plain([*start.arrays, *items.arrays]) and n:
        carry = start.filled([frozen(x) for x in start.arrays])
        kinds = [Kind(x) for x in start.arrays]
        arrays = [frozen(x) for x in items.arrays]
        found = run_plain(scan_plain, who, f, carry, start.like, kinds, arrays, items.like, n, reverse)
        if found is not None:
            carry, y, ys = found
            return returned(start, carry), filled(y, ys)
    return _as_operator(who, f, start, items, n, reverse, every)


def _as_operator(who: str, f: Any, start: Given, items: Given, n: Any, reverse: bool, every: Any) -> tuple[Any, Any]:
    m = len(start.arrays)

    def call(values: Sequence[Any]) -> Any:
        out = f(start.filled(values[:m]), items.filled(values[m:]) if items.arrays else items.like)
        if type(out) is not tuple or len(out) != 2:
            raise not_a_pair(who, out)
        return alike(start.like, out[0]), out[1]

    like = [*start.arrays, *[item_like(x) for x in items.arrays]]
    names = [*start.names, *items.names]
    (body,), captures = trace(who, Function(f, like, names, call))
    carry_like, y_like = body.like
    check_carry(who, start, body.outputs[: _count(carry_like)], carry_like)
    flip = reverse and every != 1
    xs = [x[::-1] for x in items.arrays] if flip else items.arrays
    last, ys, _ = ops.control_flow.scan(body.body, start.arrays, xs, captures, n, reverse and not flip, every, False)
    return start.filled(last), filled(y_like, [y[::-1] for y in ys] if flip else ys)


def _count(like: Any) -> int:
    return sum(leaf is not None for leaf in leaves(like))


def _length(who: str, start: Given, items: Given, length: Any) -> Any:
    """The number of steps."""
    sizes: list[tuple[str, Any]] = []
    for i, x in enumerate(items.arrays):
        if not x.shape:
            path = path_to(items.like, i)
            steps = " For a number of steps write scan(f, init, None, length)." if who == "scan" and not path else ""
            numbers = not any(y.shape for y in items.arrays)
            if numbers and isinstance(items.like, (list, tuple)) and len(items.like) == len(items.arrays):
                steps = f" For one array write np.asarray({items.what})."
            if who == "scan" and not path and any(len(a.shape) for a in start.arrays):
                steps = " Are they exchanged? init comes before xs: scan(f, init, xs)."
            said = f"{who}: {items.what}{path} has no axes, so that it has no items. Close over what is the same in each step."
            raise ControlFlowError(said + steps)
        sizes.append((f"{items.what}{path_to(items.like, i)}", x.shape[0]))
    if length is not None:
        if not isinstance(length, SymInt):
            try:
                if isinstance(length, (bool, np.bool_)):
                    raise TypeError
                length = index(length)
            except TypeError:
                raise ControlFlowError(f"{who}: length is a number of steps, and {kind_of(length)} was given.") from None
            if length < 0:
                raise ControlFlowError(f"{who}: length is a number of steps, and {length} was given.")
        sizes.append(("length", length))
    if not sizes:
        given = "Write scan(f, init, xs); or scan(f, init, None, length=n)."
        given = given if who == "scan" else "Give an array, or a container of arrays."
        raise ControlFlowError(f"{who}: without xs nothing says how many steps there are. {given}")
    for name, size in sizes[1:]:
        if size != sizes[0][1]:
            some = how_many(sizes[0][1], "item")
            raise ControlFlowError(f"{who}: {sizes[0][0]} has {some} and {name} {size}. Give as many of each.")
    return sizes[0][1]


def _every(checkpoint: Any, n: Any) -> Any:
    """Of how many steps one carry is kept."""
    if checkpoint is False or checkpoint is None:
        return 1
    if checkpoint is True:
        if type(n) is not int:
            raise ControlFlowError(
                f"scan: checkpoint=True takes the square root of the number of steps, which is {n} here. Give the number of "
                "steps between checkpoints: checkpoint=100."
            )
        return near_root(n)
    try:
        every = index(checkpoint)
    except TypeError:
        every = 0
    if every < 1:
        given = shown(checkpoint)
        raise ControlFlowError(f"scan: checkpoint is True, False, or a number of steps above 0, and {given} was given.")
    return max(1, min(every, n)) if type(n) is int else every


def near_root(n: int) -> int:
    """A number near the square root of another, a divisor of it if there is one: then all segments are alike."""
    root = max(1, isqrt(n))
    near = [k for k in range(max(1, root // 2), 2 * root + 1) if n % k == 0]
    return min(near, key=lambda k: abs(k - root), default=root)


@partial(clear, calls={"f": "f(x)"})
def map(f: Callable[[Any], Any], xs: Any) -> Any:  # noqa: A001  JAX's name, and torch's
    """Call a function for each item of arrays along their first axis, one after the other, and stack the results.

    It is a `scan` without a carry, so that what `f` needs is there for one item at a time; `vmap` runs all items at once. The
    order of arguments is JAX's and torch's, `map(f, xs)`.

    Parameters
    ----------
    f : callable
        Takes an item, in the container of `xs`, and returns an array or a container of arrays.
    xs : array or container of arrays

    Returns
    -------
    object
        The results, stacked along a new first axis.

    Raises
    ------
    ControlFlowError
        If the items differ in number, or results in shape or dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import control_flow
    >>> control_flow.map(lambda x: x.sum(), np.ones((3, 4)))
    array([4., 4., 4.])
    """
    if not callable(f):
        raise functions_refused("map", "map(f, xs)", f)

    def step(carry: None, x: Any) -> tuple[None, Any]:
        return None, f(x)

    step.__wrapped__ = f  # type: ignore[attr-defined] # messages say where the user's function is written
    return _scan("map", step, None, xs)[1]


@partial(clear, calls={"body": "body(i, carry)"})
def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Run `carry = body(i, carry)` for i from `lower` up to `upper`, and return the last carry.

    The order of arguments is JAX's: `fori_loop(lower, upper, body_fun, init_val)`.

    Parameters
    ----------
    lower, upper : int or array
        The bounds; `upper` is not reached. If one is a value of a transform, it is a `while_loop`, which has no gradient in a
        graph.
    body : callable
        `body(i, carry)` returns the next carry, of the containers, shapes and dtypes of the one before. `i` is a NumPy int64.
    init : array, number, or container of these

    Returns
    -------
    object
        The last carry.

    Raises
    ------
    ControlFlowError
        If the carry changes its shape, its dtype or its container, or a bound is no whole number.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.fori_loop(0, 4, lambda i, x: x * 2 + i, np.ones(2))
    array([27., 27.])
    """
    if not callable(body):
        raise functions_refused("fori_loop", "fori_loop(lower, upper, body, init)", body)
    start = Given("fori_loop", "init", init)
    if any(isinstance(x, Tensor) for x in (lower, upper)):
        low, high = (as_array("fori_loop", "a bound", x) for x in (lower, upper))
        for x in (low, high):
            if x.shape or x.dtype.kind not in "iu":
                raise ControlFlowError(f"fori_loop: a bound is a whole number, and was given as {layout_text(x)}.")
        zero = np.zeros((), np.int64)
        begin = np.add(low, zero), np.add(high, zero), init
        return while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], body(c[0], c[2])), begin)[2]
    low, high = _bound(lower), _bound(upper)
    if is_plain(start.arrays) and type(low) is int and type(high) is int:
        carry = start.filled([frozen(x) for x in start.arrays])
        kinds = [Kind(x) for x in start.arrays]
        found = run_plain(fori_plain, "fori_loop", body, carry, start.like, kinds, low, high)
        if found is not None:
            return returned(start, found[0])
    open_ended = isinstance(low, SymInt) or isinstance(high, SymInt)
    numbers = ops.np.arange(low, high, dtype=np.int64) if open_ended else np.arange(low, max(low, high), dtype=np.int64)
    m = len(start.arrays)
    function = Function(
        body,
        [*start.arrays, Like((), np.dtype(np.int64))],
        [*start.names, "i"],
        lambda values: alike(start.like, body(values[m], start.filled(values[:m]))),
    )
    (traced,), captures = trace("fori_loop", function)
    check_carry("fori_loop", start, traced.outputs, traced.like)
    last, _, _ = ops.control_flow.scan(traced.body, start.arrays, [numbers], captures, numbers.shape[0], False, 1, False)
    return start.filled(last)


def _bound(x: Any) -> Any:
    if isinstance(x, SymInt):
        return x
    try:
        if isinstance(x, (bool, np.bool_)):
            raise TypeError
        return index(x)
    except TypeError:
        line = " Write int(n)." if isinstance(x, float) else ""
        raise ControlFlowError(f"fori_loop: a bound is a whole number, and was given as {kind_of(x)}.{line}") from None


@partial(clear, calls={"cond": "cond(carry)", "body": "body(carry)"})
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, *, max_steps: int | None = None
) -> Any:
    """Run `carry = body(carry)` while `cond(carry)` is true, and return the last carry.

    The order of arguments is JAX's, `while_loop(cond_fun, body_fun, init_val)`; torch's `while_loop(cond_fn, body_fn,
    carried_inputs)` gives the carry, a tuple, as so many arguments.

    Parameters
    ----------
    cond : callable
        `cond(carry)` returns one truth.
    body : callable
        `body(carry)` returns the next carry, of the containers, shapes and dtypes of the one before.
    init : array, number, or container of these
    max_steps : int, optional
        How many steps there may be at most; one more raises. In a graph a gradient keeps so many carries, and is refused
        without it; elsewhere it keeps as many as there are steps.

    Returns
    -------
    object
        The last carry.

    Raises
    ------
    ControlFlowError
        If the carry changes its shape, its dtype or its container, the condition is not one truth, or there are more steps than
        `max_steps`; and where a gradient in a graph needs `max_steps`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> root = lambda a: dispatch.while_loop(lambda x: np.abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, 1.0)
    >>> float(root(2.0)), float(dispatch.grad(root)(2.0))
    (1.414213562373095, 0.35355339059327373)
    """
    if not all(callable(f) for f in (cond, body)):
        raise functions_refused("while_loop", "while_loop(lambda x: ..., lambda x: ..., x)", cond, body)
    start = Given("while_loop", "init", init)
    if max_steps is not None and (type(max_steps) is not int or max_steps < 0):
        raise ControlFlowError(f"while_loop: max_steps is a number of steps, and was given as {shown(max_steps)}.")
    if is_plain(start.arrays):
        carry = start.filled([frozen(x) for x in start.arrays])
        kinds = [Kind(x) for x in start.arrays]
        most = -1 if max_steps is None else max_steps
        found = run_plain(while_plain, "while_loop", cond, body, carry, start.like, kinds, most)
        if found is not None:
            return returned(start, found[0])

    test_of = Function(cond, start.arrays, start.names, lambda values: cond(start.filled(values)))
    step_of = Function(body, start.arrays, start.names, lambda values: alike(start.like, body(start.filled(values))))
    (test, step), captures = trace("while_loop", test_of, step_of)
    check_truth("while_loop", test)
    check_carry("while_loop", start, step.outputs, step.like)
    last, _, _ = ops.control_flow.while_loop(test.body, step.body, start.arrays, captures, max_steps, False)
    return start.filled(last)


def check_truth(who: str, test: Traced) -> None:
    """Raise where a traced condition is not one truth."""
    if type(test.like) is not int:
        raise condition_refused(who, test.like)
    (out,) = test.outputs
    if out.shape != () or out.dtype != bool:
        raise condition_refused(who, out)
