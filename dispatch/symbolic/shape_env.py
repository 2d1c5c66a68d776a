"""ShapeEnv: the symbols of one trace, and the guards that the trace rests on.

It has more than 350 lines because each of its public methods has a whole docstring.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from math import inf
from typing import Any, ClassVar

from ..core.source import line
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import Made, clear
from ..errors import ArgumentError, CheckError, DataDependentSizeError, check_int, kind_of
from .expressions import Expressions
from .facts import Facts
from .guards import Check, Guard, said
from .polynomials import plus
from .sym_bool import SymBool
from .sym_int import NUMBERS, SymInt

GUESS = 4099  # stands for sizes that depend on data, where an order of strides is asked: larger than most, and a prime


class ShapeEnv(Fields, metaclass=Made):
    """The symbolic sizes of a trace: `s0`, `s1` for sizes of arrays, `u0`, `u1` for sizes that depend on data.

    Equal sizes share a symbol. The sizes 0 and 1 stay numbers, because NumPy treats them unlike the others; so each `s` is at
    least 2. Where the traced function asks what number a size is, or compares it, the answer of this run leaves a guard: the
    trace holds only for sizes that give the same answer.

    Attributes
    ----------
    symbols : dict of str to SymInt
        The symbols by name.
    guards : list of Guard
        The conditions that the sizes of another run must meet. Each prints as Python, and has the `line` that asked.
    checks : list of Check
        The conditions on sizes that depend on data. Each run tests them; see `dispatch.check`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.symbolic import ShapeEnv
    >>> env = ShapeEnv()
    >>> with dispatch.FakeTensorMode(shape_env=env) as mode:
    ...     x = mode.from_array(np.ones((5, 3)))
    ...     y = np.reshape(x[1:], (-1, 1)) + x[0]
    >>> y.shape, env.guards
    ((s0*s1 - s1, s1), [])
    """

    _fields = ("answers", "checks", "expressions", "facts", "guards", "symbols")  # two of them by cached_property
    _elsewhere: ClassVar[dict[str, str]] = dict.fromkeys(
        ("create_symbol", "create_symint", "create_symintnode"), "env.new_size(3)"
    ) | {"create_unbacked_symint": "env.new_dynamic_size()"}
    _no_block = "`with FakeTensorMode(shape_env=env):`"
    made_by = "ShapeEnv(), and env.new_size(3) for a size"

    guards: list[Guard]
    checks: list[Check]
    symbols: dict[str, SymInt]
    answers: dict[Any, dict[Any, Any]]  # of shape rules: they hold where the guards do
    _compared: dict[Any, bool]  # comparisons that are known, by the identity of their operands
    _by_hint: dict[int, SymInt]
    _holds: tuple[int, Callable[..., Any]] | None

    def __init__(self) -> None:  # at once, and not by __setattr__: each trace makes one
        vars(self).update(guards=[], checks=[], symbols={}, answers={}, _compared={}, _by_hint={}, _holds=None)

    @cached_property
    def expressions(self) -> Expressions:
        """The expressions of this environment's symbols; made when there is a first one, which many traces never have."""
        return Expressions(self)

    @cached_property
    def facts(self) -> Facts:
        """What is known of them."""
        return Facts(self.expressions)

    # -- symbols -----------------------------------------------------------------------------------------------------------

    @clear
    def new_size(self, hint: int) -> Any:
        """Return the symbol for a size of an array.

        Parameters
        ----------
        hint : int
            The number that the size is in this run.

        Returns
        -------
        SymInt or int
            The same symbol for the same number; for 0 and 1 the number itself.
        """
        if type(hint) is not int:
            hint = check_int(hint, "ShapeEnv.new_size: hint")
        if hint in (0, 1):
            return hint
        with self.expressions.making:
            if hint not in self._by_hint:
                count = sum(name.startswith("s") for name in self.symbols)
                self._by_hint[hint] = self.new_symbol(f"s{count}", hint=hint, low=2)
            return self._by_hint[hint]

    @clear
    def new_dynamic_size(self, *, min: int = 0, max: Any = None) -> SymInt:
        """Return a new symbol for a size that depends on data.

        Parameters
        ----------
        min : int
        max : int or SymInt, optional
            The least and the greatest number that it can be.

        Returns
        -------
        SymInt
        """
        most = max if type(max) is SymInt or max is None else check_int(max, "ShapeEnv.new_dynamic_size: max")
        least = check_int(min, "ShapeEnv.new_dynamic_size: min")
        with self.expressions.making:
            count = sum(name.startswith("u") for name in self.symbols)
            made = self.new_symbol(f"u{count}", low=least, high=most if type(most) is int else None)
            if type(most) is SymInt:
                self.facts.add_nonnegative(plus(most.terms, made.terms, -1))
            return made

    @clear
    def new_symbol(self, name: str, *, hint: int | None = None, low: int = 0, high: int | None = None) -> SymInt:
        """Return a new symbol of a given name, for a graph that is read from a file.

        Parameters
        ----------
        name : str
        hint : int, optional
            The number that it is in this run; None for a size that depends on data.
        low, high : int, optional
            The least and the greatest number that it can be.

        Returns
        -------
        SymInt

        Raises
        ------
        ArgumentError
            If there is a symbol of that name.
        """
        if not isinstance(name, str):
            raise ArgumentError(f"ShapeEnv.new_symbol: name is a str, 'n' say, and was given {kind_of(name)}.")
        low = check_int(low, "ShapeEnv.new_symbol: low")
        hint = None if hint is None else check_int(hint, "ShapeEnv.new_symbol: hint")
        high = None if high is None else check_int(high, "ShapeEnv.new_symbol: high")
        if name in self.symbols:
            raise ArgumentError(f"a ShapeEnv was asked for a new symbol {name}, and has one. Take symbols[{name!r}].")
        guess = hint if hint is not None else max(low, GUESS if high is None else min(high, GUESS))
        made = self.expressions.atom("", name, None, None, hint, guess, low, inf if high is None else high)
        self.symbols[name] = made
        return made

    def sizes_of(self, array: Any) -> tuple[Any, Any]:
        """Return the shape and the strides of an array, with symbols for sizes.

        Parameters
        ----------
        array : ndarray or array of a device

        Returns
        -------
        shape : tuple of int or SymInt
        strides : tuple of int or SymInt, or None
            In bytes; None for an array that has none.
        """
        shape = tuple([self.new_size(n) for n in array.shape])
        strides = getattr(array, "strides", None)
        if strides is None or all(type(n) is int for n in shape):
            return shape, strides
        whole: list[Any] = [0] * len(shape)
        step: Any = array.dtype.itemsize
        known: dict[int, Any] = {step: step}  # numbers that are the size of some part of the array
        dense = _in_c_order(array.shape, strides, step)
        for axis in range(len(shape) - 1, -1, -1) if dense else _inwards(strides):
            stride, n = strides[axis], shape[axis]
            if dense:
                whole[axis], step = step, step * n if n else step
                continue
            found = known.get(abs(stride), abs(stride))
            whole[axis] = found if stride >= 0 else -found
            known[abs(stride) * array.shape[axis]] = found * n
        return shape, tuple(whole)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the trace is right for other sizes: every guard holds, and no symbol with a hint is 0 or 1.

        Parameters
        ----------
        sizes : mapping of str to int
            The numbers of the symbols, except those that depend on data.

        Returns
        -------
        bool

        Examples
        --------
        >>> env = ShapeEnv()
        >>> n = env.new_size(12)
        >>> bool(n % 4 == 0), env.holds({"s0": 20}), env.holds({"s0": 21})
        (True, True, False)
        """
        names = [name for name, x in self.symbols.items() if x.hint is not None]
        asked: object = sizes
        lacking = [name for name in names if name not in asked] if isinstance(asked, Mapping) else names
        if not isinstance(asked, Mapping) or lacking:
            given = f"none for {', '.join(lacking)}" if isinstance(asked, Mapping) else kind_of(asked)
            raise ArgumentError(f"ShapeEnv.holds takes the numbers of the symbols by name, {{'s0': 3}}, and was given {given}.")
        if self._holds is None or self._holds[0] != len(self.guards) + len(names):
            tests = [f"{name} > 1" for name in names] + [f"({guard})" for guard in self.guards]
            made = eval(f"lambda {', '.join(names)}: {' and '.join(tests) or True}", {"max": max, "min": min})
            self._holds = len(self.guards) + len(names), made
        return bool(self._holds[1](*[sizes[name] for name in names]))

    def match(self, shapes: Iterable[tuple[Any, ...]], given: Iterable[tuple[int, ...]]) -> dict[str, int] | None:
        """Return the numbers of the symbols that turn symbolic shapes into given shapes.

        Parameters
        ----------
        shapes : iterable of tuple
            The shapes of the fakes of a trace.
        given : iterable of tuple of int
            The shapes of the arrays of another run, in the same order.

        Returns
        -------
        dict of str to int, or None
            None if there are no such numbers.

        Examples
        --------
        >>> env = ShapeEnv()
        >>> m, n = env.new_size(12), env.new_size(5)
        >>> env.match([(m, n), (n,)], [(7, 3), (3,)]), env.match([(m, n), (n,)], [(7, 3), (4,)])
        ({'s0': 7, 's1': 3}, None)
        """
        values: dict[str, int] = {}
        later = []
        shapes, given = list(shapes), list(given)
        sequences: list[object] = [*shapes, *given]
        for x in sequences:
            if not isinstance(x, (tuple, list)):
                said = f"ShapeEnv.match takes two lists of shapes, and {kind_of(x)} stands where a shape goes"
                raise ArgumentError(f"{said}. Write env.match([shape], [lengths]).")
        for shape, lengths in zip(shapes, given, strict=True):
            if len(shape) != len(lengths):
                return None
            for n, length in zip(shape, lengths, strict=True):
                if type(n) is not SymInt:
                    if n != length:
                        return None
                elif str(n) not in self.symbols:
                    later.append((n, length))
                elif values.setdefault(str(n), length) != length:
                    return None
        return values if all(n.evaluate(values) == length for n, length in later) else None

    def run_checks(self, sizes: Mapping[str, int]) -> None:
        """Test the conditions on sizes that depend on data.

        Parameters
        ----------
        sizes : mapping of str to int
            The numbers of the symbols.

        Raises
        ------
        CheckError
            With the message of the first check that does not hold.
        """
        for check in self.checks:
            if not check.evaluate(sizes):
                raise CheckError(check.message)

    # -- conditions ---------------------------------------------------------------------------------------------------------

    def compared(self, op: str, a: Any, b: Any) -> Any:
        """Return the comparison of two sizes.

        Parameters
        ----------
        op : str
            `"=="`, `"<"` and so on.
        a, b : int or SymInt

        Returns
        -------
        bool or SymBool
            A bool if the answer is the same for all sizes that the guards and checks allow.
        """
        key = op, a if type(a) is int else (id(a),), b if type(b) is int else (id(b),)
        found = self._compared.get(key)
        if found is None:
            found = self.facts.answer(op, a, b)
            if found is None:
                return SymBool(self, op, a, b)
            self._compared[key] = found
        return found

    def known(self, condition: SymBool) -> bool | None:
        """Return whether a condition holds for all sizes that the guards and checks allow.

        Parameters
        ----------
        condition : SymBool

        Returns
        -------
        bool or None
            False if it holds for none of them, None if it holds for some.
        """
        if condition.op in NUMBERS:
            return self.facts.answer(condition.op, condition.left, condition.right)
        left, right = self.known(condition.left), self.known(condition.right)
        decisive = condition.op == "or"
        if left is decisive or right is decisive:
            return decisive
        return None if left is None or right is None else not decisive

    def truth(self, condition: SymBool) -> bool:
        """Return whether a condition holds in this run, and leave a guard.

        Parameters
        ----------
        condition : SymBool

        Returns
        -------
        bool

        Raises
        ------
        DataDependentSizeError
            If the condition depends on data.
        """
        found = self.known(condition)
        if found is not None:
            return found
        if condition.op not in NUMBERS:  # each half by itself, the second where it still counts
            decisive = condition.op == "or"
            return decisive if self.truth(condition.left) is decisive else self.truth(condition.right)
        hint = self.facts.hint(condition)
        if hint is None:
            hint = self.facts.solved(condition)
            if hint is None:
                raise self._depends(condition)
            self.facts.learn(condition if hint else ~condition)
            return hint
        held = condition if hint else ~condition
        self.guards.append(Guard(self.facts.by_arguments(held), line()))
        self.facts.learn(held)
        return hint

    def truth_or(self, condition: SymBool, otherwise: bool) -> bool:
        """Return whether a condition holds in this run, and leave a guard; or `otherwise` if it depends on data.

        Parameters
        ----------
        condition : SymBool
        otherwise : bool

        Returns
        -------
        bool
        """
        if self.known(condition) is None and self.facts.hint(condition) is None:
            return otherwise
        return self.truth(condition)

    def number(self, size: SymInt) -> int:
        """Return the number of a size in this run, and leave a guard.

        Parameters
        ----------
        size : SymInt

        Returns
        -------
        int

        Raises
        ------
        DataDependentSizeError
            If the size depends on data.
        """
        hint = size.hint
        if hint is None:
            resolved = self.facts.resolved(size.terms)
            if not resolved:
                return 0
            if len(resolved) == 1 and not resolved[0][0]:
                return resolved[0][1]
            found = self.expressions.size(resolved)
            if found.hint is None:
                raise self._no_number(size)
            hint = found.hint
        self.truth(SymBool(self, "==", size, hint))
        return int(hint)

    def assume(self, condition: SymBool, message: str | Callable[[], str] | None = None) -> None:
        """Take a condition as true: leave a guard if it holds in this run, or a check if it depends on data.

        Parameters
        ----------
        condition : SymBool
        message : str or callable, optional
            The message of the error, or a function that returns it.

        Raises
        ------
        CheckError
            If the condition does not hold.
        """
        found = self.known(condition)
        if found is None and condition.hint is None and condition.op in NUMBERS:
            found = self.facts.hint(condition) or self.facts.solved(condition)
        if found is None and condition.hint is None:
            if condition.op == "and":
                self.assume(condition.left, message)
                self.assume(condition.right, message)
                return
            self.checks.append(Check(condition, line(), message))
            self.facts.learn(condition)
        elif not (condition.hint if found is None else found):
            raise CheckError(said(message, f"{condition} was promised to dispatch.check at {line().place}, and is not so."))
        else:
            self.truth(condition)

    # -- refused -----------------------------------------------------------------------------------------------------------

    def _depends(self, condition: SymBool) -> DataDependentSizeError:
        return DataDependentSizeError(
            f"whether {condition} was asked {_here()}, and {self._data(condition.names)}. Promise what is so before that line, "
            f"dispatch.check({condition}), or ask nothing of the size."
        )

    def _no_number(self, size: SymInt) -> DataDependentSizeError:
        return DataDependentSizeError(
            f"the number that the size {size} is was asked for {_here()}, and {self._data(size.names)}. Hand the size itself "
            "to what takes one: np.empty_like(x, shape=(n,)) for np.empty((n,)), and so for zeros, ones and full; "
            f"dispatch.ops.np.arange(n). If it is always one number, write dispatch.check({size} == number) before that line."
        )

    def _data(self, names: tuple[str, ...]) -> str:
        found = [name for name in names if self.symbols[name].hint is None]
        return f"{' and '.join(found)} {'depends' if len(found) == 1 else 'depend'} on data"


def _here() -> str:
    """Return the line of user code that is running, as part of a message."""
    at = line()
    return f"at {at.place}" + (f" ({at.text})" if at.text else "")


def _in_c_order(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    """Whether an array, perhaps of a class without flags, lies in C order; the strides of axes of one element mean nothing."""
    if 0 in shape:
        return True
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _inwards(strides: tuple[int, ...]) -> list[int]:
    """Return the axes, the one with the smallest stride first."""
    return sorted(range(len(strides)), key=lambda axis: (abs(strides[axis]), -axis))
