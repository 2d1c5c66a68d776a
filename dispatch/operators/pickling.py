"""Pickles operators by name, with the modules that define them.

Loading an operator imports its module, as pickle does for a class, and never raises: an exception there would end a worker
process before anybody reads it. What cannot be found loads as a `MissingOperator`, which says so when it is called.
"""

import copyreg
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from ..core import OpOverload
from ..errors import DispatchError, OperatorNotFoundError
from ..schema.types import split_name
from .registry import Operator, find, ops
from .rule_operators import known_or_made, origin_of_name

Loader: TypeAlias = tuple[Callable[..., Any], tuple[str, tuple[str, ...], str]]
_OVERLOAD, _WHOLE, _OPERATOR = "overload", "whole", "operator"


class MissingOperator:
    """Stands for a pickled operator in a process that does not have it.

    Each call looks for the operator again. Once its module is imported the call runs it; until then it raises
    `OperatorNotFoundError`. It can be pickled, and is the operator again in a process that has it.

    Attributes
    ----------
    name : str
        The name of the operator, `"ns::name.overload"`.

    Examples
    --------
    >>> import pickle, dispatch
    >>> load("nowhere::scale", ("no_such_module",))
    <missing operator nowhere::scale: importing no_such_module raised ModuleNotFoundError: No module named 'no_such_module'>
    """

    __slots__ = ("_kind", "_modules", "_reason", "name")

    def __init__(self, name: str, modules: tuple[str, ...], kind: str, reason: str) -> None:
        self.name = name
        self._modules = modules
        self._kind = kind
        self._reason = reason

    def _found(self) -> Any:
        found = _look_up(self.name, self._kind)
        if found is None:
            listed = ", ".join(module for module in self._modules if module != "__main__")
            remedy = f"Import {listed} in this process first." if listed else "Define it in a module that this process imports."
            raise OperatorNotFoundError(
                f"{self.name} was pickled, and is not known in this process: {self._reason}. {remedy}", operator=self.name
            )
        return found

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        return self._found()(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copy, inspect and the like ask of every object
            raise AttributeError(name)
        return getattr(self._found(), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MissingOperator) and (self.name, self._kind) == (other.name, other._kind)

    def __hash__(self) -> int:
        return hash((self.name, self._kind))

    def __copy__(self) -> "MissingOperator":
        return self

    def __deepcopy__(self, memo: object) -> "MissingOperator":
        return self

    def __reduce__(self) -> Loader:
        return load, (self.name, self._modules, self._kind)

    def __repr__(self) -> str:
        found = _look_up(self.name, self._kind)
        return f"<missing operator {self.name}: {self._reason}>" if found is None else repr(found)


def load(name: str, modules: tuple[str, ...], kind: str = _OVERLOAD) -> Any:
    """Find a pickled operator, importing the modules that define it.

    Parameters
    ----------
    name : str
        `"ns::name.overload"`, or `"ns::name"` of an operator with several.
    modules : tuple of str
        Which defined it, where it was pickled.
    kind : str
        Which of an operator's objects was pickled: an overload, its `whole`, or the operator of several overloads.

    Returns
    -------
    OpOverload, Operator or MissingOperator

    Examples
    --------
    >>> import dispatch
    >>> load("np::sin", ()) is dispatch.ops.np.sin
    True
    """
    found = _look_up(name, kind)
    if found is not None and kind != _OPERATOR:
        return found
    reasons = [_bring(module) for module in modules]  # each may have one of the overloads
    found = _look_up(name, kind)
    return found if found is not None else MissingOperator(name, modules, kind, "; ".join(reasons) or "no module defines it")


def _bring(module: str) -> str:
    """Import a module, and return how it comes that it does not define what was sought."""
    if module == "__main__":
        return "it was defined in __main__, the program or notebook of another process"
    try:
        import_module(module)
    except (Exception, SystemExit) as error:  # a program that ends when it is imported must not end who loads a pickle
        said = f": {error}" if str(error) else ""
        return f"importing {module} raised {type(error).__name__}{said}".rstrip(".")
    return f"{module} is imported and does not define it"


def _look_up(name: str, kind: str) -> Any:
    try:
        if kind == _OPERATOR:
            namespace, word, _ = split_name(name)
            return getattr(getattr(ops, namespace), word)
        op = known_or_made(name) or find(name)
    except (DispatchError, AttributeError):  # the second where another thread takes it away meanwhile
        return None
    return op.whole if kind == _WHOLE else op


def _reduce(op: OpOverload) -> Loader:
    known = _look_up(op.name, _OVERLOAD)
    kind = _WHOLE if known is not None and known is not op and known.whole is op else _OVERLOAD
    found = op if kind == _OVERLOAD else known
    goes_by = origin_of_name(found)
    owner = vars(found if goes_by is None else goes_by[0]).get("defined_in")
    if owner is None:
        raise OperatorNotFoundError(
            f"{op.name} cannot be pickled: it goes by its name, and is not known by it.", operator=op.name
        )
    return load, (op.name, (owner.module,), kind)


def _reduce_operator(operator: Operator) -> Loader:
    overloads = [getattr(operator, overload) for overload in operator.overloads()]
    modules = dict.fromkeys(vars(op)["defined_in"].module for op in overloads)
    return load, (operator.name, tuple(modules), _OPERATOR)


def install() -> None:
    """Have operators pickled by name; copies, too, are the operator itself."""
    copyreg.pickle(OpOverload, _reduce)
    copyreg.pickle(Operator, _reduce_operator)
