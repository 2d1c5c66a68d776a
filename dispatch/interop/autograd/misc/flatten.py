"""autograd.misc.flatten: a container of arrays as one vector, and back; both ways are differentiable."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core import Tensor
from ....core.pytree import items_of, rebuilt


def leaves_of(x: Any) -> list[Any]:
    """The arrays of a container, in autograd's order: a dict by its sorted keys."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x) for leaf in leaves_of(x[key])]
    items = items_of(x)
    return [x] if items is None else [leaf for item in items for leaf in leaves_of(item)]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers of a container as one vector, and the function from such a vector to a container.

    Parameters
    ----------
    value : array, number, or container of these

    Examples
    --------
    >>> flat, unflatten = flatten({"w": np.ones((2, 2)), "b": 3.0})
    >>> flat
    array([3., 1., 1., 1., 1.])
    >>> unflatten(2 * flat)["w"]
    array([[2., 2.],
           [2., 2.]])
    """
    parts = [x if isinstance(x, Tensor) else np.asarray(x) for x in leaves_of(value)]
    shapes = [x.shape for x in parts]
    if isinstance(value, (np.ndarray, Tensor)):
        shape = value.shape
        return np.ravel(value), lambda flat: np.reshape(flat, shape)
    empty = _put(value, iter([None] * len(parts)))

    def unflatten(flat: Any) -> Any:
        made, start = [], 0
        for shape in shapes:
            size = int(np.prod(shape))
            made.append(np.reshape(flat[start : start + size], shape) if shape else flat[start])
            start += size
        return _put(empty, iter(made))

    return np.concatenate([np.ravel(x) for x in parts]) if parts else np.array([]), unflatten


def _put(like: Any, parts: Any) -> Any:
    if isinstance(like, dict):
        made = {key: _put(like[key], parts) for key in sorted(like)}
        return {key: made[key] for key in like}
    items = items_of(like)
    return next(parts) if items is None else rebuilt(like, [_put(item, parts) for item in items])


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function of a vector for one of a container like `example`, the function back, and the example as a vector."""
    flat, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, flat
