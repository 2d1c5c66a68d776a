"""Checkpoints: a function runs again in the backward, so that what it computes need not be kept.

The first run is recorded as usual. What its results were computed from and was there before the call becomes the inputs of one
node: arguments in containers, and variables that the function closes over. Nothing of it need be declared. The record between
is freed. The backward runs the function again, and carries the gradient back through that second record only.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from ...core import Level, Setting, setting
from ...core.array_memory import rewrite
from ...core.pytree import leaves, mapped
from ...core.random_states import generators_of, is_generator, of_module, set_state, state_of
from ...core.source import where
from ...core.wrong_calls import check_takes, clear
from ...errors import GradientError, check_function
from ...operators.registry import build
from ...schema.schema import Schema
from ..derivatives import Layout
from .anomaly import note_line
from .backward_graph import Edge, Leaf, Node, Output, next_order
from .grad_mode import AUTOGRAD, RECORDING
from .inputs import gradients_at, key_of
from .record import new_node
from .saved_tensors import protect
from .tensor import TrackedTensor

P = ParamSpec("P")
R = TypeVar("R")

OPERATOR = build(Schema.parse("tape::checkpoint() -> ()"))  # for its name: the node is of no operator


class Draws:
    """The states of the generators that a function may draw from, before its first run.

    They are those among its arguments, those that its code names, and that of `numpy.random` where something has drawn from it.
    """

    def __init__(self, f: Any, args: Any, keywords: Any) -> None:
        given = [x for x in leaves([args, keywords]) if is_generator(x)]
        self.generators = [x for x in (*given, *generators_of(f).values(), of_module()) if x is not None]
        self.states = [state_of(x) for x in self.generators]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Wind the generators back, and forward again when the block ends."""
        now = [state_of(x) for x in self.generators]
        self._set(self.states)
        try:
            yield
        finally:
            self._set(now)

    def _set(self, states: list[Any]) -> None:
        for x, state in zip(self.generators, states, strict=True):
            set_state(x, state)


class Recomputed(Node):
    """The node of one call of a checkpointed function."""

    __slots__ = ("layouts",)

    layouts: tuple[Layout, ...]  # of the outputs


@clear
def checkpoint(f: Callable[P, R], /, *given: Any) -> Callable[P, R]:
    """Return a function that does what `f` does, and keeps only its arguments for the backward, which runs `f` again.

    It takes less memory and more time: the tape keeps one node for a call. Arguments may be containers of arrays. Variables
    that `f` closes over get gradients too. Checkpoints may be nested, and differentiated any number of times.

    Parameters
    ----------
    f : callable
        Each run computes the same from the same arguments and from the variables that it closes over, and changes nothing
        else. What it draws from a NumPy Generator among these, among the global variables that it names or the attributes of
        the object whose method it is, or by `numpy.random`, the second run draws again; from others it may not draw.

    Returns
    -------
    callable
        With the signature and the results of `f`.

    Raises
    ------
    GradientError
        From the backward, if the second run gives other shapes than the first, or uses other tracked values.

    Notes
    -----
    Inside nested `grad`, it saves the memory of the innermost one. Inside a `vmap` that ends before the backward runs, it
    saves none.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor(np.ones(1000), requires_grad=True)
    >>> def f(x):
    ...     return np.sin(np.sin(np.sin(np.sin(x))))
    >>> dispatch.autograd.nbytes(f(x)), dispatch.autograd.nbytes(dispatch.checkpoint(f)(x))
    (32000, 8000)
    """
    check_function(f, "checkpoint", GradientError)
    if given:
        raise GradientError("checkpoint takes the function alone, and arguments were given to it. Write checkpoint(f)(x).")

    @wraps(f)
    def checkpointed(*args: P.args, **keywords: P.kwargs) -> R:
        drawing = Draws(f, args, keywords)
        saved = f, mapped(protect, args), mapped(protect, keywords), setting(AUTOGRAD) or RECORDING, drawing
        begin = next_order()
        try:
            result = f(*args, **keywords)
        except TypeError:
            check_takes("checkpoint", f, args, keywords)
            raise
        tracked = [x for x in leaves(result) if isinstance(x, TrackedTensor)]
        level = max(tracked, key=lambda x: x.rank).level if tracked else None
        made = _made_since(begin, tracked, level)
        if level is None or not made:
            return result
        node: Recomputed = new_node(Recomputed, OPERATOR, level, _again, _read_since(begin, made), None, saved, None)
        node.layouts = tuple(x.kept.layout for x in made)
        note_line(node)
        for number, x in enumerate(made):
            rewrite(x, x.value, Output(node, number, x.kept.layout))
        return result

    return checkpointed


def _again(node: Recomputed, grads: dict[int, Any], create_graph: bool) -> list[Any]:
    """Run the function again, recorded, and return the gradients of the call's inputs."""
    f, args, keywords, quiet, drawing = node.saved
    edges: Any = node.edges
    begin = next_order()
    with drawing.again(), Setting(AUTOGRAD, quiet):
        result = f(*mapped(protect, args), **mapped(protect, keywords))
    made = _made_since(begin, [x for x in leaves(result) if isinstance(x, TrackedTensor)], node.level)
    if tuple(x.kept.layout for x in made) != node.layouts:
        raise _differs(f, "gave results of other shapes or dtypes")
    if set(map(key_of, _read_since(begin, made))) != set(map(key_of, edges)):
        raise _differs(f, "read other tracked values")
    roots = [made[number].kept for number in grads]
    return gradients_at(edges, roots, list(grads.values()), node.level, create_graph, create_graph)


def _made_since(begin: int, tracked: list[TrackedTensor], level: Level | None) -> list[TrackedTensor]:
    """Return the values of a level that were recorded since, each once."""
    found = {id(x): x for x in tracked if x.level is level and x.grad_fn is not None and x.grad_fn.order < begin}
    return list(found.values())


def _read_since(begin: int, made: list[TrackedTensor]) -> tuple[Edge, ...]:
    """Return the values from before that others were computed from."""
    found: dict[Any, Edge] = {}
    seen: set[Node] = set()
    waiting: list[Any] = [x.grad_fn for x in made]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        for edge in node.edges:
            before = edge.node if isinstance(edge, Output) else edge
            if isinstance(before, Leaf) or (before is not None and before.order > begin):
                found[key_of(edge)] = edge
            elif before is not None:
                waiting.append(before)
    return tuple(found.values())


def _differs(f: Any, what: str) -> GradientError:
    return GradientError(
        f"the checkpointed {where(f)} {what} when it ran again for the backward. It has to compute the same each time: make "
        "random generators and leaves outside it or inside it from a seed, and write to nothing that it closes over.",
        operator=OPERATOR.name,
    )
