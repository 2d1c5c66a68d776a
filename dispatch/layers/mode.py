"""User-defined modes, and rules of operators for modes and for array classes.

A `Mode` is a `with` block that receives every operator call below the transforms. A rule says what one operator does under one
class of modes, or for arguments of one array class. The layer has no wrapper: its kernel turns the mode off and calls the mode
or the rule. A rule runs in place of the registered kernel, and where no rule applies, that kernel runs.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..core import (
    AROUND,
    DispatchKey,
    ModeGuard,
    OpOverload,
    Registration,
    Tensor,
    Without,
    active_modes,
    device_of,
    is_array_type,
    redispatched,
    registration_lock,
)
from ..core.source import where
from ..dispatcher.layer import Kernel, Layer
from ..dispatcher.printing import describe_value
from ..dispatcher.rule_parameters import check_count
from ..errors import DefinitionError, OutputError, close_matches, kind_of
from .mode_block import ModeBlock

MODE = int(DispatchKey.MODE)
Function = Callable[..., Any]
T = TypeVar("T")


class Mode(ModeBlock):
    """A `with` block that receives every operator call of this thread. A subclass says in `__dispatch__` what a call does.

    `vmap`, `grad` and the tape come first: a mode receives the calls that their rules make. Of several modes the one that was
    entered last receives a call first, and the next one when that calls the operator again.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> class Names(dispatch.Mode):
    ...     def __init__(self):
    ...         self.seen = []
    ...     def __dispatch__(self, op, types, args, kwargs):
    ...         self.seen.append(op.name)
    ...         return op(*args, **kwargs)
    >>> with Names() as names:
    ...     dispatch.grad(np.sin)(0.0)
    array(1.)
    >>> names.seen
    ['np::sin', 'np::cos', 'np::multiply']
    """

    mode_key = DispatchKey.MODE

    def __init_subclass__(cls, **options: Any) -> None:
        for name in () if "__dispatch__" in vars(cls) else vars(cls):
            word = name.removeprefix(f"_{cls.__name__}").strip("_")
            near = name.startswith("__") and close_matches(word, ["dispatch"], 1)
            if near or word in ("dispatch", "torch_dispatch", "torch_function"):
                raise DefinitionError(
                    f"{cls.__qualname__} has a {name}, which nothing here calls. Name it __dispatch__: "
                    "def __dispatch__(self, op, types, args, kwargs)."
                )
        _check_dispatch(cls)
        super().__init_subclass__(**options)

    def __dispatch__(self, op: OpOverload, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call. By default, call the operator.

        The mode is off meanwhile: `op(*args, **kwargs)` goes to the next mode, and then to the layers below.

        Parameters
        ----------
        op : OpOverload
            An operator with a `Residual` is passed as `op.whole`, which takes all arguments by position and returns it too.
        types : tuple of type
            The classes of the arrays that are not plain: subclasses, arrays of devices, wrappers.
        args : tuple
            The arguments, with defaults.
        kwargs : dict
            The keyword-only arguments.
        """
        return op(*args, **kwargs)


def _check_dispatch(cls: type[Mode]) -> None:
    """Refuse a `__dispatch__` that a call cannot be handed to, where the class is defined."""
    found = vars(cls).get("__dispatch__")
    if found is None:
        return
    asked = "def __dispatch__(self, op, types, args, kwargs)"
    if isinstance(found, (staticmethod, classmethod)) or not callable(found):
        what = f"a {type(found).__name__}" if isinstance(found, (staticmethod, classmethod)) else kind_of(found)
        raise DefinitionError(f"{cls.__qualname__}.__dispatch__ is {what}, and a call is handed to a method. Write {asked}.")
    if inspect.iscoroutinefunction(found):
        raise DefinitionError(f"{cls.__qualname__}.__dispatch__ is async: a call of it returns no result. Write {asked}.")
    try:
        inspect.signature(found).bind(*range(5))
    except TypeError:
        given = ", ".join(inspect.signature(found).parameters)
        raise DefinitionError(
            f"{cls.__qualname__}.__dispatch__ takes ({given}), and is called with five arguments. Write {asked}."
        ) from None
    except ValueError:  # of a callable without a signature
        return


class Rule:
    """A rule of one operator for a class of modes or a class of arrays."""

    def __init__(self, cls: type, function: Function) -> None:
        self.cls, self.function = cls, function

    def __call__(self, op: OpOverload, key: int, covered: Callable[[], Kernel]) -> Kernel:
        """Return the kernel of a key with the rules of the operator in front of it; this rule is the newest."""
        rules = {cls: registration.rule.function for cls, registration in _rules_at(op, key).items()}
        if not rules:
            return covered()
        return _under_modes(op, rules, covered()) if key == MODE else _on_arrays(op, rules, covered)

    @staticmethod
    def answering(op: OpOverload, key: int, mode: object, args: tuple[Any, ...]) -> Registration | None:
        """Return the rule that runs in place of the kernel of a key, under a mode or with these arguments."""
        rules = _rules_at(op, key)
        cls = type(mode) if key == MODE else _chosen(_types(args), rules)
        return None if cls is None else _for_class(cls, rules)


def _rules_at(op: OpOverload, key: int) -> dict[type, Registration]:
    """Return the rules in front of the kernel of a key, by class: for modes at the key MODE, for arrays at backends."""
    rules = {}
    for registration in op.table.all() if key == MODE or key < DispatchKey.FAKE else ():  # of one class the newest last
        if registration.key == AROUND and issubclass(registration.rule.cls, Mode) == (key == MODE):
            rules[registration.rule.cls] = registration
    return rules


class Dispatch(Layer):
    """Passes a call to the newest mode. Its rules run in front of the kernels of its own key and of the backends."""

    takes_rules = False  # at its own key: they are for classes

    def attach(self, op: OpOverload, cls: Any = None, rule: Any = None, /, *args: Any, **options: Any) -> Any:
        """Register a rule of an operator for a class of modes or a class of arrays."""
        _check_class(op, cls)
        if rule is None:
            return lambda rule: self.attach(op, cls, rule)
        _check_rule(op, rule)
        op.register_at(AROUND, Rule(cls, rule), self)  # type: ignore[arg-type]  # a place without a name
        return rule

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: a dispatch rule is for a class. Write {op.schema.name}.register_dispatch(cls, rule).", operator=op.name
        )

    def default(self, op: OpOverload) -> Kernel:
        return _ask_modes(op)

    def place(self, rule: Any) -> str:
        return f"{rule.cls.__name__}: {where(rule.function)}" if isinstance(rule, Rule) else where(rule)


def _check_class(op: OpOverload, cls: Any) -> None:
    call = f"{op.name}: a rule of register_dispatch is for a class of modes or of arrays,"
    if not isinstance(cls, type):
        named = isinstance(cls, Mode) or device_of(cls) is not None
        written = f"@{op.schema.name}.register_dispatch(TheClass) above the rule"
        advice = f" Name its class: {type(cls).__name__}." if named else f" Write {written}."
        raise DefinitionError(f"{call} and {kind_of(cls)} was given.{advice}", operator=op.name)
    if issubclass(cls, Mode):
        return
    if cls is np.ndarray or issubclass(cls, np.generic):
        raise DefinitionError(
            f"{call} and {cls.__name__} is NumPy's own. Register a kernel for it: {op.schema.name}.register_kernel('cpu').",
            operator=op.name,
        )
    if issubclass(cls, Tensor):
        raise DefinitionError(
            f"{call} and {cls.__name__} is a wrapper, which its layer takes off. Register a rule of that layer.",
            operator=op.name,
        )
    if not is_array_type(cls):
        raise DefinitionError(
            f"{call} and {cls.__qualname__} is neither. Subclass dispatch.Mode, or make it an array type first: "
            f"register_array_type({cls.__qualname__}, device=...).",
            operator=op.name,
        )


def _check_rule(op: OpOverload, rule: Any) -> None:
    if not callable(rule):
        raise DefinitionError(f"{op.name}: a dispatch rule is a function, and {kind_of(rule)} was given.", operator=op.name)
    called = "It is called with five arguments: rule(mode_or_class, op, types, args, kwargs)."
    check_count(op, rule, 5, "the dispatch rule", lambda: called)


layer = Dispatch("dispatch", DispatchKey.MODE)


def _newest() -> ModeGuard | None:
    """Return the guard of the mode that receives a call: the highest rank, and then the newest; None if no Mode is on."""
    found = None
    for guard in active_modes():
        if guard.key == MODE and isinstance(guard.mode, Mode) and (found is None or guard.rank > found.rank):
            found = guard
    return found


def _ask_modes(op: OpOverload) -> Kernel:
    """Return the kernel of an operator without rules, which passes a call to the newest mode."""
    ask, whole = _asking(op), op.whole

    def kernel(*args: Any) -> Any:
        guard = _newest()
        if guard is None:  # an included key, or this kernel called by itself: transparent
            return redispatched(whole, 1 << MODE, args)
        return ask(guard, args, type(guard.mode).__dispatch__)

    return kernel


def _under_modes(op: OpOverload, rules: dict[type, Function], covered: Kernel) -> Kernel:
    """Return a kernel that runs the rule for the newest mode, or `covered` if there is none."""
    ask = _asking(op)

    def kernel(*args: Any) -> Any:
        guard = _newest()
        rule = _for_class(type(guard.mode), rules) if guard is not None else None
        return covered(*args) if guard is None or rule is None else ask(guard, args, rule)

    return kernel


def _asking(op: OpOverload) -> Callable[[ModeGuard, tuple[Any, ...], Function], Any]:
    """Return a function that calls a mode, or a rule for it, with the mode off, and checks the result against the schema."""
    handed, positional = (op.whole, op.arguments.count) if op.outputs.residual else (op, op.arguments.positional)
    names = op.arguments.keyword_names

    def ask(guard: ModeGuard, args: tuple[Any, ...], rule: Function) -> Any:
        kwargs = dict(zip(names, args[positional:], strict=True)) if positional < len(args) else {}
        with Without(guard):
            out = rule(guard.mode, handed, _types(args), args[:positional], kwargs)
        _check_output(op, out, guard.mode, rule)
        return out

    return ask


def _on_arrays(op: OpOverload, rules: dict[type, Function], covered: Callable[[], Kernel]) -> Kernel:
    """Return a kernel of a backend that runs the rule for the class of an argument, or `covered` if there is none."""
    handed = op.whole if op.outputs.residual else op
    found: list[Kernel] = []  # asked for when needed: there may be no kernel, and rules for all that comes

    def kernel(*args: Any, **keywords: Any) -> Any:
        types = _types((*args, *keywords.values()))
        chosen = _chosen(types, rules)
        if chosen is None:
            if not found:
                with registration_lock:
                    found.append(covered())
            return found[0](*args, **keywords)
        rule = _for_class(chosen, rules)
        assert rule is not None
        if handed is not op:
            args, keywords = (*args, *[keywords[name] for name in op.arguments.keyword_names]), {}
        return rule(chosen, handed, types, args, keywords)

    return kernel


def _chosen(types: tuple[type, ...], rules: Mapping[type, object]) -> type | None:
    """Return the first class that has a rule, but a subclass before its base, as the protocols of NumPy choose."""
    chosen = None
    for cls in types:
        if _for_class(cls, rules) is not None and (chosen is None or (cls is not chosen and issubclass(cls, chosen))):
            chosen = cls
    return chosen


def _for_class(cls: type, rules: Mapping[type, T]) -> T | None:
    """Return the rule of a class or of its nearest base."""
    for base in cls.__mro__:
        if base in rules:
            return rules[base]
    return None


_PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, bytes, type(None)})


def _types(values: Iterable[Any]) -> tuple[type, ...]:
    """Return the classes of the arrays that are neither plain arrays nor NumPy scalars, each once, in order."""
    found: dict[type, None] = {}
    _collect(values, found)
    return tuple(found)


def _collect(values: Iterable[Any], found: dict[type, None]) -> None:
    for x in values:
        cls = type(x)
        if cls in _PLAIN:
            continue
        if isinstance(x, (list, tuple)):
            _collect(x, found)
        elif isinstance(x, dict):
            _collect(x.values(), found)
        elif (isinstance(x, Tensor) or device_of(x) is not None) and not isinstance(x, np.generic):
            found[cls] = None


def _check_output(op: OpOverload, out: Any, mode: Mode, rule: Function) -> None:
    """Raise if the result of a mode does not fit the schema. The most common fault is a missing `return`."""
    checks = op.outputs.checks
    total = len(checks) + op.outputs.residual
    outputs = (out,) if total == 1 else out
    if total == 0:
        fits = out is None
    elif total > 1 and not (isinstance(out, (list, tuple)) and len(out) == total):
        fits = False
    else:
        fits = all([check(x) for check, x in zip(checks, outputs, strict=False)])
    if not fits:
        returns = ", ".join(str(r.type) for r in op.schema.returns)
        raise OutputError(
            f"{op.name}: under {type(mode).__name__}, {where(rule)} returned {describe_value(out)}, and its schema says "
            f"{returns or '()'}. Return op(*args, **kwargs), or what stands for it.",
            operator=op.name,
        )
