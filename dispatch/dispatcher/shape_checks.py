"""Checks the arrays of a call against the axis names in hints: `Float64[np.ndarray, "m n"]`.

A name has one size in all arguments and results of a call. An operator whose hints name the axes of its results needs no fake
rule. The outcome for a combination of shapes is cached, so the next call with the same shapes only looks it up.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, wraps
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..core import OpOverload
from ..core.pytree import leaves
from ..core.source import where
from ..errors import ArgumentError, DefinitionError, DispatchError, NoRuleError, OutputError
from ..schema.dimensions import ArrayHint, Bindings, Each, NumpyHint, Places, Shape, Tree, integers_of
from ..schema.schema import Schema
from ..schema.types import INT, TENSOR
from ..symbolic import is_open

Function = Callable[..., Any]
REMEMBERED = 256  # combinations of shapes, for each kernel


class Solution(NamedTuple):
    """The axis sizes that the arguments of a call give."""

    result: Shape | None  # the shape of the only result, where it is known
    bindings: Bindings
    integers: dict[str, int]


class Measure:
    """The axis names in one operator's hints, ready to check calls; a hint must not compute with a name that no axis has."""

    def __init__(self, schema: Schema) -> None:
        self.operator = schema.full_name
        self.keywords = tuple(a.name for a in schema.kwarg_only)
        self.positional = len(schema.arguments) - len(self.keywords)
        self.arguments = [(i, a.name, a.dimensions) for i, a in enumerate(schema.arguments) if a.dimensions is not None]
        # The core checks the dtype where there is one only.
        self.dtypes = [i for i, a in enumerate(schema.arguments) if a.dimensions is not None and a.dtype is None]
        kinds = [a.type == TENSOR and not a.numbers for a in schema.arguments]
        self.plain = [(i, name, tree) for i, name, tree in self.arguments if kinds[i] and isinstance(tree, ArrayHint)]
        returns = schema.returns[:-1] if schema.has_residual else schema.returns
        self.count = len(schema.returns)
        self.results = [(i, r.dimensions) for i, r in enumerate(returns) if r.dimensions is not None]
        only = self.results[0][1] if self.count == 1 and self.results and returns[0].type == TENSOR else None
        self.only = only if isinstance(only, ArrayHint) else None
        self.integers = self._integers(schema)
        self.is_plain = len(self.plain) == len(self.arguments) and not self.integers
        self.solve = lru_cache(REMEMBERED)(self._solve)
        self.solve_shapes = lru_cache(REMEMBERED)(self._solve_shapes)

    def _integers(self, schema: Schema) -> list[tuple[int, str]]:
        trees = [*[tree for *_, tree in self.arguments], *[tree for _, tree in self.results]]
        hints = [hint for tree in trees for hint in hints_in(tree)]
        self.names = not all(isinstance(hint, NumpyHint) for hint in hints)
        kinds = {a.name: (i, a.type) for i, a in enumerate(schema.arguments)}
        bound = {name for hint in hints for name in hint.names}
        for hint in hints:
            for name in integers_of(hint):
                if kinds.get(name, (0, None))[1] != INT:
                    raise DefinitionError(
                        f"{self.operator}: the hint {hint} reads '{{{name}}}', which is no argument of type int.",
                        operator=self.operator,
                    )
            for name in sorted({name for d in hint.dimensions if d.code for name in d.reads} - bound):
                raise DefinitionError(
                    f"{self.operator}: the hint {hint} computes with '{name}', and no axis is named so.", operator=self.operator
                )
        return [(kinds[name][0], name) for name in kinds if any(name in integers_of(hint) for hint in hints)]

    @property
    def is_ranks(self) -> bool:
        """Whether the hints name and compute no sizes: of one array each, by position, and of one result or of none."""
        trees = [*[tree for *_, tree in self.arguments], *[tree for _, tree in self.results]]
        by_position = all(i < self.positional for i, *_ in self.arguments) and (not self.results or self.only is not None)
        return by_position and all(isinstance(tree, ArrayHint) and tree.rank is not None for tree in trees)

    def whole(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments of a call, in the order of the schema."""
        return (*args, *[keywords[name] for name in self.keywords])

    @property
    def says_nothing(self) -> bool:
        """Whether every call passes."""
        free = all(hint.says_nothing for *_, tree in self.arguments for hint in hints_in(tree))
        dtypes = [hint.classes for i, _, tree in self.arguments if i in self.dtypes for hint in hints_in(tree)]
        return free and not self.results and dtypes.count(None) == len(dtypes)

    def solution(self, args: tuple[Any, ...]) -> Solution:
        """Check all arguments, in the order of the schema."""
        if self.is_plain and not self.dtypes:
            shapes = [args[i].shape for i, *_ in self.plain]
            return (self._solve_shapes if any(map(is_open, shapes)) else self.solve_shapes)(*shapes)
        found = [array for i, name, tree in self.arguments for array in arrays_in(tree, args[i], name)]
        integers = tuple([args[i] if is_open((args[i],)) else int(args[i]) for i, _ in self.integers])
        measured = tuple([(hint, x.shape, place) for hint, x, place in found if hasattr(x, "shape")])
        solve = self._solve if is_open(integers) or any([is_open(shape) for _, shape, _ in measured]) else self.solve
        solved = solve(measured, integers)
        for hint, x, place in found:
            self._check_dtype(hint, x, f"argument {place!r}", ArgumentError)
        return solved

    def _solve(self, found: Iterable[tuple[ArrayHint, Shape, str]], values: tuple[int, ...] = ()) -> Solution:
        bindings = Bindings()
        integers = dict(zip([name for _, name in self.integers], values, strict=True))
        for hint, shape, place in found:
            bindings.bind(hint, shape, place)
        bindings.finish(integers)
        self._refuse(bindings, "argument", ArgumentError)
        result = bindings.shape(self.only, integers) if self.only is not None else None
        return Solution(result, bindings, integers)

    def _solve_shapes(self, *shapes: Shape) -> Solution:
        return self._solve([(tree, shape, name) for (_, name, tree), shape in zip(self.plain, shapes, strict=True)])

    def check_results(self, kernel: Function, out: Any, solution: Solution) -> None:
        """Check the results of a kernel; the core refuses what is no array."""
        outputs = [out] if self.count == 1 else out
        if not isinstance(outputs, (list, tuple)) or len(outputs) != self.count:
            return
        bindings = solution.bindings.copy()
        for i, tree in self.results:
            for hint, x, place in arrays_in(tree, outputs[i], "result" if self.count == 1 else f"result {i}"):
                self._check_dtype(hint, x, f"the kernel {where(kernel)} returned {place!r}, which", OutputError)
                if hasattr(x, "shape"):
                    bindings.bind(hint, x.shape, place)
        bindings.finish(solution.integers)
        self._refuse(bindings, f"the kernel {where(kernel)} returned", OutputError)

    def _refuse(self, bindings: Bindings, what: str, error: type[DispatchError]) -> None:
        if bindings.faults:
            names = f"\nBound: {bindings}. A name is one size in the whole call." if self.names else ""
            raise error(f"{self.operator}: {what} {bindings.faults[0]}{names}", operator=self.operator)

    def _check_dtype(self, hint: ArrayHint, x: Any, what: str, error: type[DispatchError]) -> None:
        dtype = getattr(x, "dtype", None)
        if hint.classes is not None and dtype is not None and dtype.type not in hint.classes:
            raise error(
                f"{self.operator}: {what} has dtype {dtype}, and its hint is {hint}. "
                "Nothing is cast behind your back: write astype where it is to be.",
                operator=self.operator,
            )


def checked(op: OpOverload, kernel: Function) -> Function:
    """Wrap a kernel so that its arguments and results are checked against the axis names in the operator's hints.

    A kernel whose hints name no axes is returned itself, and costs nothing.
    """
    if not any([x.dimensions for x in (*op.schema.arguments, *op.schema.returns)]):
        return kernel
    measure = Measure(op.schema)
    if measure.says_nothing:
        return kernel
    returned = bool(measure.results)

    @wraps(kernel)
    def checking(*args: Any, **keywords: Any) -> Any:
        solution = measure.solution(measure.whole(args, keywords))
        out = kernel(*args, **keywords)
        if returned:
            measure.check_results(kernel, out, solution)
        return out

    if measure.is_ranks:
        return _quick_ranks(measure, kernel, checking)
    return _quick(measure, kernel, checking) if measure.is_plain and not measure.keywords else checking


def _quick_ranks(measure: Measure, kernel: Function, checking: Function) -> Function:
    """The same where hints say how many axes there are, and of which dtypes, and no more: 0.1 us."""
    hints = [(i, tree) for i, _, tree in measure.arguments if isinstance(tree, ArrayHint)]
    asked = [(i, hint.rank, hint.classes if i in measure.dtypes else None) for i, hint in hints]
    only = measure.only
    rank, made = (-1, None) if only is None else (only.rank, only.classes)

    @wraps(checking)
    def quick(*args: Any, **keywords: Any) -> Any:
        for i, n, fitting in asked:
            x = args[i]
            if type(x) is not np.ndarray and not hasattr(x, "shape"):  # a number, or nothing
                continue
            if (n != len(x.shape) and n != -1) or (fitting is not None and x.dtype.type not in fitting):
                measure.solution(measure.whole(args, keywords))
        out = kernel(*args, **keywords)
        if only is not None and not (
            type(out) is np.ndarray and rank in (-1, len(out.shape)) and (made is None or out.dtype.type in made)
        ):
            measure.check_results(kernel, out, measure.solution(measure.whole(args, keywords)))
        return out

    return quick


def _quick(measure: Measure, kernel: Function, checking: Function) -> Function:
    """The same for operators of plain arrays by position: 1 us for three of them, if their shapes are cached."""
    places, solve, returned = [i for i, *_ in measure.plain], measure.solve_shapes, bool(measure.results)
    classes = [(i, tree.classes) for i, _, tree in measure.plain if i in measure.dtypes and tree.classes is not None]
    only = None if measure.only is None else measure.only.classes

    @wraps(checking)
    def quick(*args: Any) -> Any:
        solution = solve(*[args[i].shape for i in places])
        for i, fitting in classes:
            if args[i].dtype.type not in fitting:
                measure.solution(args)
        out = kernel(*args)
        if returned and not (type(out) is np.ndarray and out.shape == solution[0] and (only is None or out.dtype.type in only)):
            measure.check_results(kernel, out, solution)
        return out

    return quick


def derived_rule(op: OpOverload, fn: Function) -> Function | None:
    """Make the fake rule that the operator's hints imply, or return None if they leave the results open.

    The arguments must bind every axis of every result, and the dtypes must be known: `Float64` names one, and `Float` means the
    common dtype of the arrays, if that is a `Float`.
    """
    schema = op.schema
    returns = schema.returns[:-1] if schema.has_residual else schema.returns
    hints = [r.dimensions for r in returns if isinstance(r.dimensions, ArrayHint) and r.type == TENSOR and r.alias is None]
    if not hints or len(hints) < len(returns):
        return None
    arguments = [hint for a in schema.arguments for hint in hints_in(a.dimensions)]
    bound = {name for hint in arguments for name in hint.names}
    if not all(d.is_bound_by(bound) for hint in hints for d in hint.dimensions):
        return None
    arrays = [i for i, a in enumerate(schema.arguments) if a.type.has_tensor]
    free = any(not schema.arguments[i].dimensions for i in arrays)  # an array of any dtype
    for hint in hints:
        given = [a.classes for a in arguments if a.classes is None or hint.classes is None or a.classes & hint.classes]
        if hint.dtype is None and (hint.classes is None or not (free or given)):
            return None
    measure = Measure(schema)

    @wraps(fn)
    def rule(*args: Any, **keywords: Any) -> Any:
        full = measure.whole(args, keywords)
        _, bindings, integers = measure.solution(full)
        found = [x for i in arrays for x in leaves(full[i]) if hasattr(x, "dtype")]
        made = [_made(op, hint, bindings.shape(hint, integers), found) for hint in hints]
        return made[0] if len(made) == 1 else tuple(made)

    return rule


def _made(op: OpOverload, hint: ArrayHint, shape: Shape | None, arrays: list[Any]) -> Any:
    """Make an array without data of a result's shape and dtype."""
    if shape is None:
        raise _no_rule(op, f"the arguments do not bind every axis of its result {hint}")
    dtype = hint.dtype
    if dtype is None:
        dtype = np.result_type(*[x.dtype for x in arrays])
        if hint.classes is not None and dtype.type not in hint.classes:
            raise _no_rule(op, f"its result is {hint}, and the dtypes of its arguments come to {dtype}")
    elsewhere = next((x for x in arrays if getattr(x, "device", "cpu") != "cpu"), None)
    if is_open(shape):  # no array has; a line of as many elements is C-ordered, whatever it is made after
        return np.empty_like(arrays[0], dtype=dtype, shape=prod(shape)).reshape(shape)
    return _hollow(shape, dtype) if elsewhere is None else np.empty_like(elsewhere, dtype=dtype, shape=shape, order="C")


def _no_rule(op: OpOverload, reason: str) -> NoRuleError:
    advice = f"Add a fake rule: {op.schema.name}.register_fake(rule)."
    return NoRuleError(f"{op.name}: {reason}. {advice}", operator=op.name)


@lru_cache(REMEMBERED, typed=True)
def _hollow(shape: Shape, dtype: np.dtype[Any]) -> Any:
    """Make an array that takes no memory and has the strides of C order; only the metadata of a fake rule's result is read."""
    steps = np.cumprod([dtype.itemsize, *[max(n, 1) for n in shape[:0:-1]]], dtype=np.intp)
    return as_strided(np.empty((), dtype), shape, [int(n) for n in steps[::-1][: len(shape)]], writeable=False)


def hints_in(tree: Tree) -> list[ArrayHint]:
    """Yield every array hint in a tree."""
    if isinstance(tree, ArrayHint):
        return [tree]
    if isinstance(tree, Each):
        return hints_in(tree.element)
    return [hint for member in tree.members for hint in hints_in(member)] if tree is not None else []


def arrays_in(tree: Tree, value: Any, name: str) -> Iterator[tuple[ArrayHint, Any, str]]:
    """Walk a value along its hint and yield each array hint, the array there, and its label."""
    if isinstance(tree, ArrayHint):
        yield tree, value, name
    elif isinstance(tree, Each) and isinstance(value, dict):
        for key, item in value.items():
            yield from arrays_in(tree.element, item, f"{name}[{key!r}]")
    elif tree is not None and isinstance(value, (list, tuple)):
        members: Iterable[Tree] = tree.members if isinstance(tree, Places) else [tree.element] * len(value)
        for i, (member, item) in enumerate(zip(members, value, strict=False)):
            yield from arrays_in(member, item, f"{name}[{i}]")
