"""TrackedTensor: a value whose operator calls are recorded. More than 350 lines, because each public method has its manual."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any, Never

import numpy as np

from ...core import (
    DispatchKey,
    Level,
    Tensor,
    check_data,
    check_open,
    count_conversion,
    freeze,
    is_of_registered_class,
    note_request,
)
from ...core.array_memory import has_layout, set_rewritable
from ...core.lazy import LazyFunction
from ...core.pytree import leaves, paths
from ...core.wrong_calls import clear, refusing, unfit
from ...dispatcher.conversion_advice import library_advice, wanted_array, wanted_number
from ...errors import ConversionError, GradientError, check_flag, kind_of
from ...operators.registered_arrays import filled
from .backward_graph import Leaf, Node, Output
from .engine import add_to_leaf, add_to_leaves, grad_of, one_of, set_grad, walking
from .grad_mode import TRANSFORMS, in_recorded_rule, quiet_now
from .gradient_hooks import Handle, Retained, check_hook, hooked, leaf_hooks, retain
from .inputs import gradients_at

WHOLE = "a tracked one"  # what holds such values in place of a plain array


class TrackedTensor(Tensor):
    """A value whose operator calls are recorded for a backward: the tape.

    `dispatch.tensor(a, requires_grad=True)` makes a leaf, and so does `dispatch.grad` of the arguments. Operators on such
    values return such values.

    Attributes
    ----------
    grad : ndarray, Tensor or None
        The sum of the gradients that backwards gave this value, of its shape and dtype. A leaf keeps it; another value after
        `retain_grad()` or `backward(inputs=...)`. After `backward(create_graph=True)` it is a Tensor.

    Examples
    --------
    >>> import dispatch
    >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.sum().backward()
    >>> x.grad, x.is_leaf, y.is_leaf, y.grad_fn.name()
    (array([2., 4.]), True, False, 'multiplyBackward')
    """

    __slots__ = ("retained",)  # unset on most: no gradient is kept
    key = DispatchKey.AUTOGRAD
    number_takes_items = True

    retained: Retained

    @property
    def version(self) -> int:
        """How many calls have written to it in place; torch's `_version`."""
        return self.writes

    @property
    def requires_grad(self) -> bool:
        """True: an array without a gradient is no TrackedTensor."""
        return True

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if flag is not True:
            raise GradientError(
                "requires_grad of a tracked value is True, and cannot be set. Write y = dispatch.detach(x), a constant, or "
                "compute under dispatch.no_grad()."
            )

    @property
    def is_leaf(self) -> bool:
        """Whether the tape begins here: no recorded call made the value."""
        return isinstance(self.kept, Leaf)

    @property
    def grad_fn(self) -> Node | None:
        """The recorded call that made the value; None for a leaf."""
        if isinstance(self.kept, Leaf):
            return None
        return self.kept if isinstance(self.kept, Node) else self.kept.node

    grad = property(grad_of, set_grad, doc="The sum of the gradients that backwards gave this value; see the class.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy: of a leaf of the tape another leaf, as torch does, of any other value one that keeps its gradient."""
        if isinstance(self.kept, Leaf) and self.level.name not in TRANSFORMS:
            return new_leaf(self.value.copy(), self.level)
        return self.copy()

    @walking
    @refusing
    def backward(
        self,
        gradient: Any = None,
        *more: Never,
        inputs: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        **others: Never,
    ) -> None:
        """Compute the gradients of this value, and add them to the `.grad` of every leaf that it was computed from.

        Parameters
        ----------
        gradient : array_like, optional
            The gradient of the final result with respect to this value, of its shape. A 0-d value needs none: it is 1.
        inputs : TrackedTensor or container of these, optional
            Add to the `.grad` of these only. They need not be leaves.
        retain_graph : bool, optional
            Whether to keep what the recorded calls saved, for another backward; by default as `create_graph` says.
        create_graph : bool
            Whether to record the backward itself, so that its result can be differentiated again.

        Raises
        ------
        GradientError
            If the value has axes and no gradient is given; if a gradient has another shape; or if what a recorded call saved
            was freed by an earlier backward.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> x = dispatch.tensor(np.array([1.0, 2.0]), requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        array([2., 4.])
        """
        if more or others:
            raise unfit(TrackedTensor.backward, (self, gradient, *more), others)
        check_open(self)
        if retain_graph is not None or create_graph is not False:
            retain_graph = None if retain_graph is None else check_flag(retain_graph, "retain_graph")
            create_graph = check_flag(create_graph, "create_graph")
        seed = seed_of(self, gradient)
        if self.level.name in TRANSFORMS:
            raise GradientError(
                f"backward was asked of a value of {self.level.name}, which takes the gradient of what the function returns. "
                "Leave backward() out."
            )
        keep = create_graph if retain_graph is None else retain_graph
        if inputs is not None:
            add_at(inputs, (self.kept,), (seed,), self.level, keep, create_graph)
        else:
            add_to_leaves((self.kept,), (seed,), self.level, keep, create_graph)

    @clear
    def register_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(grad)` in each backward, with the gradient of this value.

        Parameters
        ----------
        hook : callable
            Gets the gradient once a backward, when all calls that used the value have added to it. The array is read-only.
            The hook returns None, or another gradient of the same shape and dtype to use in its place.

        Returns
        -------
        Handle
            `handle.remove()` removes the hook, and so does the end of `with handle:`.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * x
        >>> handle = y.register_hook(lambda g: np.clip(g, -1, 1))
        >>> (5 * y + y).sum().backward()
        >>> x.grad
        array([2., 4.])
        """
        check_open(self)
        check_hook(hook, "grad")
        edge = self.kept
        if isinstance(edge, Leaf):
            return Handle(leaf_hooks(edge).values, hook)
        node, number = _place(edge)
        return Handle(hooked(node).values, (number, hook))

    @clear
    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(x)` each time a backward has added to the `.grad` of this leaf.

        Parameters
        ----------
        hook : callable
            Gets this value. What it returns is not used.

        Returns
        -------
        Handle
            `handle.remove()` removes the hook, and so does the end of `with handle:`.

        Raises
        ------
        GradientError
            If the value is no leaf.

        Examples
        --------
        >>> import dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
        >>> (x * x).sum().backward()
        [2. 4.]
        """
        check_hook(hook, "x")
        if not isinstance(self.kept, Leaf):
            raise GradientError(
                "register_post_accumulate_grad_hook is of leaves, which add up gradients, and this value is the result of an "
                "operator. Use register_hook."
            )
        return Handle(leaf_hooks(self.kept).after, (weakref.ref(self), hook))

    @clear
    def retain_grad(self) -> None:
        """Keep the gradient of this value in `.grad`, as a leaf does, in the backwards from now on.

        Examples
        --------
        >>> import dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = 3 * x
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad
        array([ 6., 12.])
        """
        check_open(self)
        if not isinstance(self.kept, Leaf):
            retained = _retained(self)
            if not retained.asked:
                retain(*_place(self.kept), retained)

    def item(self, *place: Any) -> Any:
        """Return the one element, or the one at a place, as a Python number, which every derivative takes for a constant.

        Raises
        ------
        GradientError
            In a backward rule that is differentiated itself: the derivative would be wrong without the number's part.
        """
        return self._as_constant("item").item(*place)

    def tolist(self) -> Any:
        """Return the elements as a nested list of Python numbers, constants to every derivative; raise as `item` does."""
        return self._as_constant("tolist").tolist()

    def _as_constant(self, asked: str) -> Any:
        if in_recorded_rule(self.level.number):
            raise GradientError(
                f"x.{asked}() was asked of a tracked value in a backward that is differentiated again: the derivative of that "
                "number would be lost in silence. Compute with the array; where a constant is meant, write dispatch.detach(x)."
            )
        count_conversion(number=True)
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def _number(self) -> Any:
        # NumPy fills `array[i] = x` with float(x), and no protocol tells it from a float() that a user wrote.
        note_request()
        check_open(self)
        if self._is_constant():
            return self.value
        raise ConversionError(
            f"a number was asked of a tracked value of shape {self.shape} and dtype {self.dtype}, by float() or by writing it "
            f"into a plain array: its gradient would be lost in silence. {library_advice(wanted_number(WHOLE))}"
        )

    def _is_constant(self) -> bool:
        """Return whether no gradient is followed here, under `no_grad`, so that what reads the value loses none."""
        if quiet_now().covers(self.level.number):
            count_conversion()
            return True
        return False

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        raise ConversionError(
            f"an index was asked of a tracked value of shape {self.shape} and dtype {self.dtype}, which is no integer. "
            "Write int(x.item()) where the number is meant."
        )

    def __format__(self, spec: str) -> str:
        return format(self.value if self.shape else self.value.item(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        note_request()
        check_open(self)
        if self._is_constant():
            found = np.asarray(self.value, dtype, copy=copy)
            return found if copy else freeze(found.view())
        raise ConversionError(
            f"a NumPy array was asked of a tracked value of shape {self.shape} and dtype {self.dtype}: its gradient would be "
            f"lost in silence. {library_advice(wanted_array(WHOLE))}"
        )

    def __repr__(self) -> str:
        made = self.grad_fn
        value = repr(self.value).replace("\n", "\n" + " " * len("tensor("))
        return f"tensor({value}, {'requires_grad=True' if made is None else f'grad_fn={made!r}'})"


set_rewritable(TrackedTensor, frozen=True)


RETAINED: Any = vars(TrackedTensor)["retained"]


def one(x: TrackedTensor) -> Any:
    """Return the gradient of a 0-d value with respect to itself: a read-only 1; a fake for a fake."""
    if isinstance(x.value, (np.ndarray, np.generic)):
        return one_of(x.kept.layout[1])
    return np.ones_like(x.value) if isinstance(x.value, Tensor) else filled(x.value, 1, *x.kept.layout)


def _place(edge: Any) -> tuple[Node, int | None]:
    """Return the node that made a value, and which of its outputs the value is, if it has several."""
    return (edge.node, edge.number) if isinstance(edge, Output) else (edge, None)


def keep_retained(x: TrackedTensor) -> None:
    """Let a value that was written keep the gradient of its new content, if it was asked to keep one."""
    found = _asked(x)
    if found is not None:
        retain(*_place(x.kept), found)


def _asked(x: TrackedTensor) -> Retained | None:
    """Return where a value keeps its gradient, if it was asked to; without a look-up on it, whose failure asks for words."""
    try:
        found: Retained = RETAINED.__get__(x)
    except AttributeError:
        return None
    return found if found.asked else None


def _retained(x: TrackedTensor) -> Retained:
    if not hasattr(x, "retained"):
        x.retained = Retained()
    return x.retained


def add_at(inputs: Any, roots: Any, seeds: Any, level: Level, keep: bool, create_graph: bool) -> None:
    """Run backward, and add to the `.grad` of some values only."""
    values = checked_inputs(inputs, level, "backward")
    grads = gradients_at([x.kept for x in values], roots, seeds, level, keep, create_graph)
    places = {id(x.kept): x for x in values}
    found = {id(x.kept): grad for x, grad in zip(values, grads, strict=True) if grad is not None}
    del grads
    while found:
        key, grad = found.popitem()
        x = places[key]
        if isinstance(x.kept, Leaf):
            add_to_leaf(x.kept, grad)
        elif _asked(x) is None:
            _retained(x).add(grad)


def checked_inputs(inputs: Any, level: Level, who: str) -> list[TrackedTensor]:
    """Return the values that gradients are asked at, or raise if they are of another level."""
    values: list[Any] = [inputs] if isinstance(inputs, TrackedTensor) else list(leaves(inputs))
    if not values:
        raise GradientError(f"{who} was given no inputs. Leave inputs= out to ask for the gradients of all leaves.")
    for place, x in enumerate(values):
        if not isinstance(x, TrackedTensor):
            remedy = "Make it a leaf before it is used: dispatch.tensor(a, requires_grad=True)."
            if isinstance(x, Iterable) and not hasattr(x, "shape"):
                remedy = "Give the values in a list or a tuple, list(inputs)."
            at = f"inputs{path_of(inputs, place)}"
            raise GradientError(f"{who} was asked for a gradient at {at}, which is {kind_of(x)} and not tracked. {remedy}")
        if x.level is not level:
            raise GradientError(
                f"{who} was asked for a gradient at inputs{path_of(inputs, place)}, which is tracked by {x.level!r}, and the "
                f"outputs by {level!r}. Ask for it outside that transform."
            )
    return values


def path_of(x: Any, place: int) -> str:
    """Return where a leaf of a container is, as it is written in Python, for a message."""
    return list(paths(x))[place]


def _is_complex(gradient: Any) -> bool:
    try:
        return np.iscomplexobj(gradient)
    except ValueError:  # a list whose parts have different lengths
        return False


new_leaf = LazyFunction(__package__, ".leaf", "track")
GIVEN_AS = {"backward": "gradient", "autograd.grad": "grad_outputs", "autograd.backward": "grad_tensors"}


def seed_of(x: TrackedTensor, gradient: Any, who: str = "backward") -> Any:
    """Return the gradient that a backward begins with."""
    if type(gradient) is np.ndarray and has_layout(gradient, x.kept.layout):
        return gradient  # the usual one, spared a microsecond
    if gradient is None:
        if x.shape:
            raise GradientError(
                f"{who} begins at a value of shape {x.shape}, and only a 0-d value has an obvious gradient to begin with. "
                f"Sum it first, or pass {GIVEN_AS[who]}= of its shape."
            )
        return one(x)
    if not (isinstance(gradient, Tensor) or is_of_registered_class(gradient)):
        if x.dtype.kind != "c" and _is_complex(gradient):
            raise GradientError(
                f"the gradient is complex, and the value it is of has dtype {x.dtype}. The imaginary part would be lost in "
                "silence: write .real where it has no meaning."
            )
        if isinstance(gradient, bool):  # where others have a flag
            raise GradientError(
                "the gradient to begin with is an array, and was given a bool. Give a flag by its name: "
                "retain_graph=True, create_graph=True."
            )
        check_data(gradient)
        try:
            kind = np.asarray(gradient).dtype.kind
        except ValueError:  # a list whose parts have different lengths
            kind = "O"
        if kind not in "biufc":
            raise GradientError(
                f"the gradient is {kind_of(gradient)}, and the value it is of has shape {x.shape}. Give an array."
            )
        gradient = np.asarray(gradient, dtype=x.dtype)
    if gradient.shape != x.shape:
        raise GradientError(f"the gradient has shape {gradient.shape}, and the value it is of {x.shape}. Make them equal.")
    return gradient
