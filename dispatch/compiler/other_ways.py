"""Other ways to run a function that shapes alone cannot run as it is: on a copy, as a compiled one is traced.

NumPy asks no argument of `np.array` or `np.full` whose it is, and a plain array takes no value without data. The copy names
functions that ask, and then ones that make arrays without data, too. What the copy would change, and whatever else a graph
would leave out, is refused: so a function that ran twice has done nothing twice.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..errors import TracingError, listening
from .copies import Copies, Held, check_heard, makes
from .given import Given, argument_names
from .reached import Reached


def other_ways(f: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Iterator[Callable[..., Any]]:
    """Yield functions that do what `f` does with arguments like these; raise where `f` cannot be copied.

    Parameters
    ----------
    f : callable
    args, keywords
        A call of it; the functions are called with other arrays in their place.
    """
    given = Given(args, keywords, argument_names(f, args, keywords))
    reached = Reached(f, *given.roots, classes=given.classes, texts=given.texts)
    if given.refused or given.containers & reached.seen.keys():
        raise TracingError(f"{given.refused or 'a container that it is given is one that it refers to, too'}.")
    if reached.arrays and "resize" in reached.names:
        raise TracingError("it may resize an array that it refers to, which its memory decides.")
    yield partial(_run, f, reached, False)
    if makes(reached):
        yield partial(_run, f, reached, True)


def _run(f: Callable[..., Any], reached: Reached, made: bool, *args: Any, **keywords: Any) -> Any:
    held = Held(list(reached.arrays.values()))
    copies = Copies(reached, dict(held.standing), made=made)
    with listening() as heard:
        out = copies.call(f, args, keywords)
    check_heard(heard, reached)
    copies.stores(allowed=False)
    held.check()
    return copies.back(out)
