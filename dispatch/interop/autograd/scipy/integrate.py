"""autograd.scipy.integrate: the solution of an ordinary differential equation, with the gradient of the adjoint equation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from ..differential_operators import make_vjp
from ..extend import defvjp_argnums, primitive
from ..misc.flatten import flatten

__all__ = ["odeint"]

odeint = primitive(scipy.integrate.odeint)


def _pull_odeint(argnums: Any, ans: Any, args: Any, keywords: Any) -> Any:
    """Solve the adjoint equation [1]_ backwards, from each time to the one before.

    .. [1] F. Froehlich, C. Loos and J. Hasenauer, Scalable inference of ordinary differential equation models of biochemical
       processes, section 2.4.2, https://arxiv.org/abs/1711.08079
    """
    func, _, t, *others = args
    func_args = others[0] if others else ()
    count, size = np.shape(ans)
    flat_args, unflatten = flatten(func_args)

    def slope(y: Any, t: Any, flat: Any) -> Any:
        return func(y, t, *unflatten(flat))

    def backwards(state: Any, t: Any, flat: Any) -> Any:
        """The slopes of y, and of the gradients by y, the time and the arguments."""
        pull, dy = make_vjp(slope, argnum=(0, 1, 2))(state[:size], t, flat)
        by_y, by_t, by_args = pull(-state[size : 2 * size])
        return np.concatenate([dy, by_y, np.reshape(by_t, (1,)), by_args])

    def pull(g: Any) -> list[Any]:
        by_y, by_first, by_args = g[-1], np.zeros(1), np.zeros(np.size(flat_args))
        by_times: list[Any] = []
        for i in range(count - 1, 0, -1):
            moved = np.reshape(np.dot(func(ans[i], t[i], *func_args), g[i]), (1,))
            by_times.append(moved)
            start = np.concatenate([ans[i], by_y, by_first - moved, by_args])
            before = odeint(backwards, start, np.stack([t[i], t[i - 1]]), (flat_args,), **keywords)[1]
            by_y, by_first, by_args = np.split(before[size:], [size, size + 1])
            by_y = by_y + g[i - 1]
        by_times.append(by_first)
        found: dict[int, Callable[[], Any]] = {
            1: lambda: by_y,
            2: lambda: np.concatenate(by_times)[::-1],
            3: lambda: unflatten(by_args),
        }
        return [found[i]() for i in argnums]

    return pull


defvjp_argnums(odeint, _pull_odeint)


def __getattr__(name: str) -> Any:
    return getattr(scipy.integrate, name)
