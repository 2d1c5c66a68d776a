"""The random generators of NumPy that a function may draw from, and whether it has."""

import copy
import sys
from functools import partial
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
    """Return the generators that the code of a function names, by name.

    They are among the variables that it closes over, the global ones that it names, its defaults, what a partial gives it and
    the attributes of the object whose method it is; `numpy.random` is the one of that module, where the code names `random`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> generators_of(lambda x: x + rng.normal())
    {'rng': Generator(PCG64)...}
    """
    inner: Any = innermost(f)
    code, random = getattr(inner, "__code__", None), sys.modules.get("numpy.random")
    if random is None or code is None:
        return {}
    found = named_by(inner)
    last = code.co_varnames[: code.co_argcount][::-1]
    found |= dict(zip(last, (getattr(inner, "__defaults__", None) or ())[::-1], strict=False))
    found |= getattr(inner, "__kwdefaults__", None) or {}
    while isinstance(f, partial):
        found |= {f"argument {i}": x for i, x in enumerate(f.args)} | f.keywords
        f = f.func
    for name, x in getattr(getattr(f, "__self__", f), "__dict__", {}).items():
        found[f"self.{name}"] = x
    kinds: Any = (random.Generator, random.RandomState)
    generators = {}
    for name, x in found.items():  # no comprehension: it is a frame, and `vmap` asks
        if isinstance(x, kinds):
            generators[name] = x  # noqa: PERF403
    if "random" in code.co_names:
        generators["numpy.random"] = of_module()
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
