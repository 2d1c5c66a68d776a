"""The random generators of NumPy that a function may draw from, and whether it has."""

import copy
import sys
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .closures import named_by
from .pytree import leaves
from .source import innermost


def is_generator(x: Any) -> bool:
    """Return whether something is a Generator or a RandomState of NumPy's, which imports that module when it is asked for."""
    random: Any = sys.modules.get("numpy.random")
    return random is not None and isinstance(x, (random.Generator, random.RandomState))


def generators_of(f: Any) -> dict[str, Any]:
    """Return the generators that the code of a function names, by name, and that of functions of its module that it names.

    They are among the variables that it closes over, the global ones that it names, its defaults, what a partial gives it and
    the attributes of the object whose method it is; `numpy.random` is the one of that module, where the code names `random`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> generators_of(lambda x: x + rng.normal())
    {'rng': Generator(PCG64)...}
    """
    inner: Any = innermost(f)
    random = sys.modules.get("numpy.random")
    if random is None or getattr(inner, "__code__", None) is None:
        return {}
    found: dict[str, Any] = {}
    while isinstance(f, partial):
        found |= {f"argument {i}": x for i, x in enumerate(f.args)} | f.keywords
        f = f.func
    for name, x in getattr(getattr(f, "__self__", f), "__dict__", {}).items():
        found[f"self.{name}"] = x
    kinds: Any = (random.Generator, random.RandomState)
    generators, reached = {}, [inner]
    for g in reached:  # which grows; no comprehensions: each is a frame, and `vmap` asks
        code = g.__code__
        found |= named_by(g)
        if g.__defaults__:
            found |= dict(zip(code.co_varnames[: code.co_argcount][::-1], g.__defaults__[::-1], strict=False))
        if g.__kwdefaults__:
            found |= g.__kwdefaults__
        for name, x in found.items():
            if isinstance(x, kinds):
                generators[name] = x
            elif type(x) is FunctionType and x.__globals__ is inner.__globals__ and x not in reached:
                reached.append(x)
        if "random" in code.co_names:
            generators["numpy.random"] = of_module()
        found = {}
    return generators


def of_module() -> Any:
    """Return the generator that the functions of `numpy.random` draw from; None where nothing has imported that."""
    random: Any = sys.modules.get("numpy.random")
    return None if random is None else random.mtrand._rand  # noqa: SLF001  it has no public name


def given_generators(args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the generators among the arguments of a call, by place or name."""
    given = {**{f"argument {i}": x for i, x in enumerate(args)}, **keywords}
    return {name: x for name, x in given.items() if is_generator(x)}


def state_of(x: Any) -> Any:
    """Return the state of a Generator, or of a RandomState, which keeps a normal number beside that of its bits."""
    return copy.deepcopy(x.get_state(legacy=False) if hasattr(x, "get_state") else x.bit_generator.state)


def set_state(x: Any, state: Any) -> None:
    """Set a generator back to a state that `state_of` gave."""
    if hasattr(x, "set_state"):
        x.set_state(state)
    else:
        x.bit_generator.state = state


def has_drawn(x: Any, state: Any) -> bool:
    """Return whether a generator has drawn since it had a state."""
    return not all(np.array_equal(a, b) for a, b in zip(leaves(state_of(x)), leaves(state), strict=True))
