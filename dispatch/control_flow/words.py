"""The error messages of loops and branches."""

from typing import Any

import numpy as np

from ..core.pytree import leaves, paths
from ..core.source import where
from ..errors import ControlFlowError, kind_of


def functions_refused(who: str, how: str, *functions: Any) -> ControlFlowError:
    """The refusal of what is no function where a loop or a branch takes one; `how` is how it is called."""
    given = next(kind_of(f) for f in functions if not callable(f))
    asked = "functions" if len(functions) > 1 else "a function"
    return ControlFlowError(f"{who} takes {asked}, and was given {given}. Write {how}.")


def layout_text(x: Any) -> str:
    """The dtype and shape of an array, `float64[2, 3]`; of anything else its kind."""
    if type(x) in (bool, int, float, complex):
        x = np.asarray(x)
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    return kind_of(x) if not isinstance(dtype, np.dtype) or shape is None else f"{dtype}[{', '.join(map(str, shape))}]"


def path_to(like: Any, number: Any) -> str:
    """Where the array of a number is in a container."""
    if like is None or not isinstance(number, int):
        return ""
    at = [path for path, x in zip(paths(like), leaves(like), strict=True) if x is not None]
    return at[number] if number < len(at) else ""


def carry_changed(who: str, number: Any, before: Any, after: Any, like: Any = None, what: str = "carry") -> ControlFlowError:
    """The refusal of a step whose carry, or result, is of another shape or dtype than that of the step before."""
    name = f"{what}{path_to(like, number)}"
    first = "goes in as" if what == "carry" else "is"
    then = "and comes out as" if what == "carry" else "in the first step, and in a later one"
    index = ""
    if who == "fori_loop" and not np.shape(after) and layout_text(after) != layout_text(before):  # as the index has none
        index = " The body is called as body(i, carry), the index first."
    return ControlFlowError(
        f"{who}: the {name} {first} {layout_text(before)} {then} {layout_text(after)}. Each step has to give the shape and "
        f"dtype of the one before: {_advice(before, after, what)}{index}"
    )


def _advice(before: Any, after: Any, what: str) -> str:
    of = getattr(after, "dtype", np.asarray(after).dtype if type(after) in (bool, int, float, complex) else None)
    if of is None:
        return "return arrays."
    if tuple(before.shape) != tuple(np.shape(after)):
        return f"return a {what} of the shape that it has at the start."
    return f"begin with one of dtype {of}, or cast what comes out: x.astype({str(before.dtype)!r})."


def kind_changed(who: str, before: Any, after: Any, what: str = "carry") -> ControlFlowError:
    """The refusal of a step whose carry, or result, is another container than that of the step before."""
    then = "goes in as {} and {} comes out" if what == "carry" else "is {} in the first step, and {} in a later one"
    return ControlFlowError(
        f"{who}: the {what} {then.format(structure_text(before), structure_text(after))}. Return the same "
        "containers, with the same keys and as many items, at each step."
    )


def branches_differ(who: str, true: Any, false: Any, path: str = "") -> ControlFlowError:
    """The refusal of two branches that give different things."""
    return ControlFlowError(
        f"{who}: the branch for true gives {true}{path and f' at {path}'}, and that for false {false}. Both have to give the "
        "same containers of arrays of the same shapes and dtypes."
    )


def structure_text(x: Any) -> str:
    """A container in words."""
    if isinstance(x, dict):
        return f"a dict of {', '.join(map(repr, x)) or 'nothing'}"
    if isinstance(x, (list, tuple)):
        return f"a {type(x).__name__} of {len(x)}"
    return "an array" if type(x) is int or hasattr(x, "shape") else kind_of(x)


def not_a_pair(who: str, out: Any) -> ControlFlowError:
    """The refusal of a step of `scan` that gives no pair."""
    some = f"a tuple of {len(out)}" if type(out) is tuple else kind_of(out)
    return ControlFlowError(f"{who}: f(carry, x) returned {some}. Return a tuple of the next carry and the result: (carry, y).")


def result_refused(who: str, x: Any, what: str = "a result") -> ControlFlowError:
    """The refusal of what is no array."""
    return ControlFlowError(f"{who}: {what} is {kind_of(x)}, which is no array. Give arrays, numbers, or containers of them.")


def condition_refused(who: str, x: Any) -> ControlFlowError:
    """The refusal of a condition that is not one truth."""
    said = layout_text(x)
    few = "np.all(...) or np.any(...)" if getattr(x, "shape", ()) else "a comparison, x > 0"
    return ControlFlowError(f"{who}: the condition is {said}, and has to be one truth, bool[]. Write {few}.")


def is_true(who: str, x: Any) -> bool:
    """The truth of a condition on plain arrays; raise where it is not one."""
    dtype = getattr(x, "dtype", None)
    if type(x) is bool or (isinstance(dtype, np.dtype) and dtype.kind == "b" and x.shape == ()):
        return bool(x)
    raise condition_refused(who, x)


def still_true(who: str, most: int) -> ControlFlowError:
    """What is raised where a loop goes on beyond its bound."""
    return ControlFlowError(
        f"{who}: the condition still holds after max_steps={most} steps, and what would follow would be left out. Allow more."
    )


def unbounded(who: str) -> ControlFlowError:
    """The refusal of a gradient of a loop that keeps its carries in arrays of a length that nobody knows."""
    return ControlFlowError(
        f"{who}: a gradient of it in a graph keeps the carry of each step, and how many there are depends on data. Say how "
        f"many there may be: {who}(cond, body, init, max_steps=1000); or write a scan, or a fori_loop of fixed bounds."
    )


def write_refused(who: str, f: Any, name: str) -> ControlFlowError:
    """The refusal of a function that writes to what it is given or closes over."""
    return ControlFlowError(
        f"{who}: the {where(f)} writes to {name}. What it computes goes from step to step in what it returns alone. Write to a "
        "copy, x = x.copy(), and return that."
    )


def variable_changed(who: str, f: Any, name: str) -> ControlFlowError:
    """The refusal of a function that changes a variable which it closes over: a count, a list of what was seen."""
    return ControlFlowError(
        f"{who}: the {where(f)} changes {name!r}, which it closes over, and it is run once for all steps. Make it a part of "
        "the carry; or return it, as an output of each step."
    )


def captured_changed(who: str, f: Any, name: str) -> ControlFlowError:
    """The refusal of a function that changes an array which it closes over while it is traced."""
    return ControlFlowError(
        f"{who}: the {where(f)} changes {name or 'an array that it closes over'} while it runs, and it is run once for all "
        "steps. Make the array part of the carry."
    )


def varies(who: str, f: Any) -> ControlFlowError:
    """The refusal of a function that computes something else from one run to the next."""
    return ControlFlowError(
        f"{who}: the {where(f)} computes something else from one run to the next, and it is run once for all steps: what is "
        "drawn from a generator, counted, or read from a clock would be the same in each. Draw before the loop, and scan it: "
        "scan(f, init, rng.normal(size=n))."
    )
