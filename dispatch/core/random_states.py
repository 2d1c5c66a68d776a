"""The random generators of NumPy that a function may draw from, and whether it has."""

import copy
import sys
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .closures import named_by
from .pytree import leaves
from .source import innermost

METHODS = MethodType, BuiltinMethodType


def _kinds() -> tuple[type, ...]:
    """The classes of generators, NumPy's and Python's own, of the modules that somebody has imported."""
    ours, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    kinds = () if ours is None else (ours.Generator, ours.RandomState)
    return kinds if pythons is None else (*kinds, pythons.Random)


def is_generator(x: Any) -> bool:
    """Return whether something is a Generator or a RandomState of NumPy's, or a Random of Python's."""
    return isinstance(x, _kinds())


def generators_of(f: Any) -> dict[str, Any]:
    """Return the generators that the code of a function names, by name, and that of functions of its module that it names.

    They are among the variables that it closes over, the global ones that it names, its defaults, what a partial gives it and
    the attributes of the object whose method it is, and those whose methods they are, as `random.gauss` is; `numpy.random` and
    `random` are those of the modules, where the code names them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> generators_of(lambda x: x + rng.normal())
    {'rng': Generator(PCG64)...}
    """
    inner: Any = innermost(f)
    if getattr(inner, "__code__", None) is None:
        return {}
    found: dict[str, Any] = {}
    while isinstance(f, partial):
        found |= {f"argument {i}": x for i, x in enumerate(f.args)} | f.keywords
        f = f.func
    for name, x in getattr(getattr(f, "__self__", f), "__dict__", {}).items():
        found[f"self.{name}"] = x
    kinds = _kinds()
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
            elif type(x) is FunctionType:
                if x.__globals__ is inner.__globals__ and x not in reached:
                    reached.append(x)
            elif type(x) is ModuleType:
                if "random" in code.co_names or "random" in x.__name__:
                    generators |= _behind(x)
            elif type(x) in METHODS and isinstance(x.__self__, kinds):
                generators[_name_of(x.__self__, name)] = x.__self__
        found = {}
    return generators


def _behind(module: ModuleType) -> dict[str, Any]:
    """What the functions of a module draw from, by its name; of NumPy where `np.random` is named, and imported by that."""
    if module is np or module.__name__ == "numpy.random":
        return {"numpy.random": np.random.mtrand._rand}  # noqa: SLF001  it has no public name
    return {"random": _of_python()} if module is sys.modules.get("random") else {}


def _name_of(generator: Any, name: str) -> str:
    """The name of a generator that a method belongs to: that of its module, or of the method."""
    return "numpy.random" if generator is of_module() else "random" if generator is _of_python() else name


def _of_python() -> Any:
    """Return the generator that the functions of Python's `random` draw from; None where nothing has imported that."""
    pythons = sys.modules.get("random")
    return None if pythons is None else pythons._inst  # noqa: SLF001  it has no public name


def of_module() -> Any:
    """Return the generator that the functions of `numpy.random` draw from; None where nothing has imported that."""
    random: Any = sys.modules.get("numpy.random")
    return None if random is None else random.mtrand._rand  # noqa: SLF001  it has no public name


def given_generators(args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the generators among the arguments of a call, by place or name."""
    given = {**{f"argument {i}": x for i, x in enumerate(args)}, **keywords}
    return {name: x for name, x in given.items() if is_generator(x)}


def state_of(x: Any) -> Any:
    """Return the state of a generator; that of a RandomState has a normal number beside its bits."""
    if hasattr(x, "getstate"):
        return x.getstate()
    return copy.deepcopy(x.get_state(legacy=False) if hasattr(x, "get_state") else x.bit_generator.state)


def set_state(x: Any, state: Any) -> None:
    """Set a generator back to a state that `state_of` gave."""
    if hasattr(x, "getstate"):
        x.setstate(state)
    elif hasattr(x, "set_state"):
        x.set_state(state)
    else:
        x.bit_generator.state = state


def has_drawn(x: Any, state: Any) -> bool:
    """Return whether a generator has drawn since it had a state."""
    if hasattr(x, "getstate"):
        return bool(x.getstate() != state)
    return not all(np.array_equal(a, b) for a, b in zip(leaves(state_of(x)), leaves(state), strict=True))
