"""The exceptions of the package, each also a subclass of the builtin that a caller would expect.

This module imports nothing of the package, so every other one, the compiled ones included, can raise these. A message
says what was asked, what is so, and what to do, in one to three short lines. It names operator, argument, shapes and
dtypes, never values; the operator and the argument are also in the fields `operator` and `argument`. More than 350 lines,
since the words that all messages share stand beside the exceptions.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import index
from threading import local
from typing import NoReturn


class DispatchError(RuntimeError):
    """Base of every exception this package raises; a RuntimeError, as most of torch's are.

    Parameters
    ----------
    *args
        The message.
    operator, argument : str
        Qualified name of the operator and name of the argument the message is about, empty when there is none.

    Examples
    --------
    >>> error = ArgumentError("mylib::scale: argument 'x' is a list.", operator="mylib::scale", argument="x")
    >>> isinstance(error, TypeError), error.operator, error.argument
    (True, 'mylib::scale', 'x')
    """

    def __init__(self, *args: object, operator: str = "", argument: str = "") -> None:
        super().__init__(*args)
        self.operator = operator
        self.argument = argument
        heard().append(self)


_listeners = local()
PLURALS = {"axis": "axes", "entry": "entries"}  # those that take more than an s


@contextmanager
def listening() -> Iterator[list[DispatchError]]:
    """Give a list of the exceptions of this package that this thread makes in a `with` block, also of those that are caught.

    Examples
    --------
    >>> with listening() as made:
    ...     _ = DispatchError("a value was asked for")
    >>> made
    [DispatchError('a value was asked for')]
    """
    made: list[DispatchError] = []
    before = getattr(_listeners, "heard", None)
    _listeners.heard = made
    try:
        yield made
    except BaseException:
        made.clear()  # else the frame of who listens and an exception that went through it hold each other
        raise
    finally:
        _listeners.heard = before


def heard() -> list[DispatchError]:
    """Return the list of the innermost `listening` block of this thread; an empty one where there is none.

    Examples
    --------
    >>> heard()
    []
    """
    found: list[DispatchError] | None = getattr(_listeners, "heard", None)
    return [] if found is None else found


class SchemaError(DispatchError, ValueError):
    """A schema that makes no sense, as text or built by hand."""


class HintError(DispatchError, TypeError, ValueError):
    """A type hint that is missing or has no schema type."""


class DefinitionError(DispatchError, ValueError, TypeError):
    """A definition or registration that contradicts itself or what is already registered."""


class ArgumentError(DispatchError, TypeError, ValueError):
    """A call whose arguments do not fit the operator's schema."""


class OutputError(DispatchError, TypeError):
    """A kernel whose result does not fit the operator's schema."""


class AliasError(OutputError):
    """A kernel that returned an input, or a view of one, or wrote to one, without its schema saying so."""


class OperatorNotFoundError(DispatchError, AttributeError):
    """A namespace, an operator or an overload that nobody has defined."""

    def __init__(self, *args: object, operator: str = "", argument: str = "") -> None:
        super().__init__(*args, operator=operator, argument=argument)
        self.name = ""  # else Python adds close matches of its own where it prints the traceback


class LayerNotFoundError(DispatchError, AttributeError):
    """A `register_<layer>` for which there is no layer."""

    def __init__(self, *args: object, operator: str = "", argument: str = "") -> None:
        super().__init__(*args, operator=operator, argument=argument)
        self.name = ""  # else Python adds close matches of its own where it prints the traceback


class LibraryError(DispatchError, ValueError):
    """A library that was destroyed, is of another kind, or does not own the namespace it defines in."""


class NoKernelError(DispatchError, NotImplementedError):
    """An operator called with arrays for which it has no kernel."""


class NoRuleError(DispatchError, NotImplementedError):
    """An operator without the rule for a gradient, a shape or a batch that was asked for."""


class DeviceMismatchError(DispatchError, ValueError):
    """Arrays of two devices in one call."""


class EscapedValueError(DispatchError):
    """A value used after the transform it belongs to was left."""


class GuardError(DispatchError):
    """A mode or guard left in another order than it was entered, or by another thread."""


class GradientError(DispatchError, TypeError):
    """A gradient that cannot be computed, or a backward rule whose result does not fit; a TypeError, as in JAX."""


class BatchingError(DispatchError, ValueError):
    """Mapped sizes or axes that do not fit together."""


class FakeTensorError(DispatchError, TypeError):
    """A fake rule that is wrong, or a use of fake tensors that needs real arrays."""


class DataDependentError(FakeTensorError):
    """A fake tensor was asked for its data, and has none."""


class DataDependentSizeError(DataDependentError):
    """A program branched on a size that depends on data, and no `dispatch.check` answers it."""


class NewSizeError(DataDependentError):
    """A fake rule asked for a size that depends on data, in a mode whose sizes are numbers."""


class CheckError(DispatchError):
    """A condition given to `dispatch.check` is false."""


class MissingOpProfileError(FakeTensorError):
    """A call under recorded fake rules that was not recorded."""


class ConversionError(DispatchError, TypeError):
    """A wrapper was asked for its data where that would lose what it tracks."""


class TracingError(DispatchError):
    """A traced function did something that a graph cannot hold."""


class TracedDataError(TracingError, DataDependentError):
    """A traced value was asked for its data while only shapes are traced."""


class ControlFlowError(DispatchError, TypeError, ValueError):
    """A loop or a branch whose steps do not fit together: a carry that changes its shape, say."""


class GraphError(DispatchError, ValueError):
    """A graph cannot be run, changed, read or written as was asked."""


class MutationError(DispatchError):
    """A write that a layer cannot turn into a value: no later read of the array would see it."""


class UnsupportedError(DispatchError, NotImplementedError):
    """A NumPy function, or a way of calling one, that has no operator behind it."""


class MissingExtraError(DispatchError, ImportError):
    """An optional dependency that is not installed."""


class OpCheckError(DispatchError, AssertionError):
    """A fault that `opcheck` found in an operator."""


class GradcheckError(DispatchError, AssertionError):
    """A gradient that differs from its finite differences."""


class RedefinitionWarning(UserWarning):
    """A function that makes operators has made one of a name again, of the same code with other values."""


class PerformanceWarning(UserWarning):
    """A result that is right but slow; the message gives the line that makes it fast."""


def _distance(a: str, b: str) -> int:
    """Count the edits between two names; a swap of neighbours is one."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]


def close_matches(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names nearest to a misspelt one, best first, ignoring case.

    These are the names that begin with it, then those within one edit for each three letters; else those that it begins with.
    """
    known = list(known)
    begun = sorted(other for other in known if len(name) > 2 and other.lower().startswith(name.lower()))
    allowed = min(max(1, len(name) // 3), len(name) - 1)  # any two letters are one edit apart
    scored = [(_distance(name.lower(), other.lower()), other) for other in known if abs(len(name) - len(other)) <= allowed]
    found = list(dict.fromkeys([*begun, *(other for score, other in sorted(scored) if score <= allowed)]))
    shorter = [other for other in known if 4 < len(name) <= 2 * len(other) and name.lower().startswith(other.lower())]
    return (found or shorter)[:limit]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `" Did you mean 'factor'?"`, with its leading space, or `""` when no known name is near."""
    found = [f"'{other}'" for other in close_matches(name, known)]
    return f" Did you mean {' or '.join(found)}?" if found else ""


def kind_of(x: object) -> str:
    """Return the type of a value with an article: `an int`, `a tuple`."""
    name = "type" if isinstance(x, type) else type(x).__name__  # of a class, whatever its own class is
    if name in ("NoneType", "ellipsis"):
        return "None" if x is None else "an Ellipsis"
    if name.startswith("_") and callable(x):  # NumPy's dispatchers, functions of ctypes: what they are called is inside
        name = "value of cffi" if "CData" in name else "function"
    whose = str(type(x).__module__).partition(".")[0]
    if name in ("dtype", "Tensor", "Array", "ArrayImpl", "device", "Tag") and whose != "numpy":
        return f"a {whose}.{name}"  # NumPy and this package have such, too
    vowel = name[0].lower() in "aeiou" and name != "ufunc"
    return f"{'an' if vowel or name == 'ndarray' else 'a'} {name}"


def class_of(x: object) -> str:
    """Return `" Name its class: Grid."`, with its leading space, of an object of a user's class; of others nothing."""
    kind = type(x)
    return f" Name its class: {kind.__name__}." if kind.__module__ not in ("builtins", "numpy") else ""


def shown(x: object) -> str:
    """Return a value that a caller gave, as a message may show it: a number, a short text or None; of others the type.

    Examples
    --------
    >>> shown(3), shown("fast"), shown([1.0, 2.0])
    ('3', "'fast'", 'a list')
    """
    plain = x is None or type(x) in (bool, int, float, complex) or (isinstance(x, (str, bytes)) and len(x) <= 40)
    return repr(x) if plain else kind_of(x)


def how_many(count: int, what: str) -> str:
    """Return a number with the word for what is counted, of which there may be one.

    Examples
    --------
    >>> how_many(1, "argument"), how_many(2, "axis"), how_many(0, "entry")
    ('1 argument', '2 axes', '0 entries')
    """
    return f"{count} {what if count == 1 else PLURALS.get(what, what + 's')}"


def were_given(count: int) -> str:
    """Say how many were given: `1 was given`, `2 were given`."""
    return f"{count} {'was' if count == 1 else 'were'} given"


def check_function(f: object, who: str, error: type[DispatchError] = ArgumentError, call: str = "(f)(x)") -> None:
    """Refuse what cannot be called, where a transform takes a function: often what the function returned.

    `call` is how the transform is called.

    Examples
    --------
    >>> check_function(3, "grad")
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: grad takes a function, and was given an int. Write grad(f)(x), not grad(f(x)).
    """
    if not callable(f):
        method = callable(getattr(f, "forward", None))  # as torch's modules have it
        remedy = "Give its method, f.forward" if method else f"Write {who}{call}, not {who}(f(x))"
        if isinstance(f, str):
            remedy = "Give the function itself, not its name or its text"
        if isinstance(f, str) and "::" in f:
            remedy = f"The operator of this name is dispatch.ops.{f.replace('::', '.')}"
        elif isinstance(f, bool):
            remedy = f"Options are given by name: {who}(f, option={f})"
        raise error(f"{who} takes a function, and was given {kind_of(f)}. {remedy}.")


def check_flag(value: object, name: str) -> bool:
    """Return a flag, and refuse what is none: the text "False" is true."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_"):  # NumPy's, which this module does not import
        return bool(value)
    raise ArgumentError(f"{name} is True or False, and was given {kind_of(value)}.")


def check_int(value: object, name: str, error: type[DispatchError] = ArgumentError) -> int:
    """Return an int, NumPy's also, and refuse what is none: a fraction is not cut.

    Examples
    --------
    >>> check_int(2.5, "new_size: hint")
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: new_size: hint is an int, and was given 2.5.
    """
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise error(f"{name} is an int, and was given {shown(value)}.")


def check_word(value: object, name: str, known: Iterable[str], error: type[DispatchError] = ArgumentError) -> None:
    """Refuse what is none of the words that an option may be.

    Examples
    --------
    >>> check_word("fst", "compile: mode", ("exact", "fast"))
    Traceback (most recent call last):
    dispatch.errors.ArgumentError: compile: mode is 'exact' or 'fast', and was given as 'fst'. Did you mean 'fast'?
    """
    *most, last = known = tuple(known)
    if not isinstance(value, str) or value not in known:
        near = did_you_mean(value, known) if isinstance(value, str) else ""
        given = shown(value) if not isinstance(value, str) else repr(value[:40])
        raise error(f"{name} is {', '.join(map(repr, most))} or {last!r}, and was given as {given}.{near}")


def __getattr__(name: str) -> NoReturn:
    known = [word for word, value in globals().items() if isinstance(value, type) and issubclass(value, DispatchError)]
    listed = " dir(dispatch.errors) lists what it has; `except DispatchError` takes every one."
    advice = "" if name.startswith("_") else did_you_mean(name, known) or listed
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{advice}", name=name)


def no_items() -> NoReturn:
    """Raise what an iteration over a value without axes is answered with."""
    raise TypeError(
        "iteration over a 0-d tensor: it has no axis, and cannot be taken apart. A list of arrays is [x, y]; x.max(axis) gives "
        "the values alone, and x.argmax(axis) their places."
    )
