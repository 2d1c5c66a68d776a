"""`ops.ns.name.overload`: looks up operators by name.

An unknown name raises with close matches. A name with one overload is that overload, so `ops.ns.name(x)` costs the same
as `op(x)`; with several it is an `Operator`, which finds the overload whose types fit best and caches it.
More than 350 lines: what is not there is told with what waits for it, and what is near.
"""

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..core import OpOverload, registration_lock
from ..core.wrong_attributes import NAMESPACES_ELSEWHERE, Fields, namespace_instead, operator_instead
from ..errors import OperatorNotFoundError, did_you_mean, how_many
from ..schema.types import split_name
from .overload_resolution import choose

RESERVED = {"control_flow", "error_state", "generator", "np", "np_random", "prim", "prims", "python_bool"}  # this package's own
PUBLIC = {"control_flow", "np"}  # of these; graphs alone call what is in the others
_MOST_DECISIONS = 512  # of one operator, by the types of a call: a bound for programs that make classes as they run
_UNDECIDED: dict[tuple[object, ...], OpOverload] = {}  # stays empty: most operators have one overload, and are never asked


class Operator(Fields):
    """A name and its overloads.

    Calling it runs the overload whose types fit best, exactly before by widening. The order of definition never decides: a
    call that fits two equally well is an error that says which, and one that fits none lists why each was passed over.
    """

    __slots__ = ("_decided", "_overloads", "name")
    _fields = ()
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)
        self._overloads: tuple[OpOverload, ...] = ()
        self._decided = _UNDECIDED  # by the types of a call, where they alone decide

    def overloads(self) -> list[str]:
        """The names of the overloads, `"default"` for the one without a name."""
        return [op.schema.overload or "default" for op in self._overloads]

    def _find_overload(self, name: str) -> OpOverload | None:
        """Return the overload of a name, `""` for the default one, or None."""
        for op in self._overloads:
            if op.schema.overload == name:
                return op
        return None

    def __getattr__(self, name: str) -> OpOverload:
        if (found := self._find_overload("" if name == "default" else name)) is not None:
            return found
        known = self.overloads()
        if not known and not name.startswith("__"):
            raise self._gone()
        shown = f"ops.{self.name.replace('::', '.')}"
        advice = did_you_mean(name, [*known, "explain", "name", "overloads"])
        if hasattr(OpOverload, name) or name.startswith("register_"):
            advice = f" An overload has it: {shown}.{known[0]}.{name}."
        said = f"{self.name} has no overload {name!r}.{advice} Overloads: {', '.join(known)}."
        raise OperatorNotFoundError(said + _those_waiting(f"{self.name}.{name}"))

    def explain(self, /, *args: Any, **keywords: Any) -> Any:
        """`explain` of the overload that a call means; without arguments of each, by its name."""
        if not args and not keywords:
            return {op.schema.overload or "default": op.explain() for op in self._overloads}
        return choose(self.name, list(self._overloads), args, keywords)[0].explain(*args, **keywords)

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        if not keywords:
            types: tuple[object, ...] = tuple(map(type, args))
            op = self._decided.get(types)
            return self._find(types, args, keywords)(*args) if op is None else op(*args)
        types = (*map(type, args), *keywords, *map(type, keywords.values()))
        return (self._decided.get(types) or self._find(types, args, keywords))(*args, **keywords)

    def _find(self, types: tuple[object, ...], args: tuple[Any, ...], keywords: dict[str, Any]) -> OpOverload:
        """Find the overload that a call means; it is cached if the types of the values decide."""
        decided = self._decided  # one that is replaced meanwhile, with the overloads, is written to in vain
        if decided is _UNDECIDED:
            decided = self._decided = {}
        if not self._overloads:
            raise self._gone()
        op, by_type = choose(self.name, list(self._overloads), args, keywords)
        if by_type:
            if len(decided) >= _MOST_DECISIONS:
                decided.clear()
            decided[types] = op
        return op

    def _gone(self) -> OperatorNotFoundError:
        return OperatorNotFoundError(
            f"{self.name} has been removed, by what had defined it. Define it again, and look it up anew.", operator=self.name
        )

    def _set(self, overload: str, op: OpOverload | None) -> None:
        """Add, replace or remove an overload, at its place."""
        before = self._find_overload(overload)
        found = [op if each is before else each for each in self._overloads] if before else [*self._overloads, op]
        self._overloads = tuple([each for each in found if each is not None])
        self._decided = _UNDECIDED

    def __copy__(self) -> "Operator":
        return self

    def __deepcopy__(self, memo: object) -> "Operator":
        return self

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._overloads)) or f"{self.name}  [no overload]"


class Namespace:
    """The operators of one library: `ops.ns`.

    Those that are defined on first use are found as if they were there: whatever is asked of the namespace, they come first;
    those that are defined when they are missed come before a look-up fails or the namespace is listed.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._operators: dict[str, Operator] = {}
        self._aliases: dict[str, str] = {}
        self._gone: dict[str, str] = {}  # what is said of the names of operators that are no more
        self._load: Callable[[], object] | None = None
        self._load_rest: Callable[[], object] | None = None

    def _complete(self, name: str | None = None) -> None:
        """Define what waits for a name to be looked up, or all. Never under the registration lock, which defining takes."""
        if self._load is not None:
            self._load()
        if self._load_rest is not None and name not in self._operators and name not in self._aliases:
            self._load_rest()

    def __getattr__(self, name: str) -> Any:
        self._complete(name)
        if name in self._aliases:
            return getattr(self, self._aliases[name])
        with registration_lock:  # what is remembered below must not be what a registration has just changed
            if name not in self._operators:
                if gone := self._gone.get(name):
                    raise OperatorNotFoundError(gone)
                known = dir(self)
                shown = f" Operators: {', '.join(known[:20]) or 'none'}{', ...' if len(known) > 20 else ''}."
                ns = NAMESPACES_ELSEWHERE.get(self._name, "")  # from_ufunc makes a namespace of that name
                advice = f" Write {ns}.{name}." if "ops." in ns else operator_instead(self._name, name, known) or shown
                waiting = _those_waiting(f"{self._name}::{name}")
                raise OperatorNotFoundError(f"there is no operator {self._name}::{name}.{advice}{waiting}")
            overloads = self._operators[name]._overloads
            found = overloads[0] if len(overloads) == 1 else self._operators[name]
            self.__dict__[name] = found  # the next look-up finds it without this function
            return found

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"{self._name}::{name} cannot be set: a namespace holds operators, which are defined by a name. "
                f'Write custom_op("{self._name}::{name}", fn, mutates_args=()).'
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        getattr(self, name)  # which raises for a name that there is not
        raise AttributeError(
            f"{self._name}::{name} cannot be deleted: an operator goes with the library that defined it. Define it by "
            f'Library("{self._name}", "FRAGMENT"), and call its destroy().'
        )

    def __call__(self, *_args: Any, **_keywords: Any) -> NoReturn:
        raise OperatorNotFoundError(f"ops.{self._name} is a namespace, and was called. Call an operator: {self._shown()}.")

    def __getitem__(self, name: object) -> NoReturn:
        call = f"ops.{self._name}.{name}" if isinstance(name, str) and name.isidentifier() else self._shown()
        raise OperatorNotFoundError(
            f"ops.{self._name} is a namespace, and takes no [...]. Write {call}, or getattr(ops.{self._name}, name) for a text."
        )

    def __contains__(self, op: object) -> bool:
        """Whether it has an operator, or one of a name."""
        return op in dir(self) if isinstance(op, str) else any(op is each for each in self)

    def _shown(self) -> str:
        return f"ops.{self._name}.{next(iter(dir(self)), 'name')}(...)"

    def __len__(self) -> int:
        """How many operators the namespace has, overloads counted each."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """True, said without loading what it holds."""
        return True

    def __iter__(self) -> Iterator[OpOverload]:
        self._complete()
        return (op for operator in list(self._operators.values()) for op in operator._overloads)

    def __dir__(self) -> list[str]:
        self._complete()
        return sorted([*self._operators, *self._aliases])

    def __repr__(self) -> str:
        self._complete()
        return f"<namespace {self._name}: {how_many(len(self._operators), 'operator')}>"


class Namespaces:
    """All operators by name: `dispatch.ops.<namespace>.<name>`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.ops.np.hypot(3.0, np.array([4.0]))
    array([5.])
    >>> "sin" in dir(dispatch.ops.np)
    True
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}

    def __getattr__(self, name: str) -> Namespace:
        if name not in (known := self._namespaces):
            raise OperatorNotFoundError(
                f"there is no namespace {name!r}.{_those_waiting(name) or namespace_instead(name, known)} Namespaces: "
                f"{', '.join(sorted(set(known) - RESERVED | PUBLIC & set(known)))}. "
                "A namespace exists once an operator is defined in it: import the module that does."
            )
        self.__dict__[name] = self._namespaces[name]
        return self._namespaces[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"the namespace {name!r} cannot be set: it exists once an operator is defined in it. Write "
                f'custom_op("{name}::...", fn, mutates_args=()).'
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        getattr(self, name)
        raise AttributeError(
            f"the namespace {name!r} cannot be deleted: its operators go with the libraries that defined them. Call the "
            "libraries' destroy()."
        )

    def __call__(self, *_args: Any, **_keywords: Any) -> NoReturn:
        raise OperatorNotFoundError("ops holds operators by name, and was called. Write ops.namespace.name(...).")

    def __getitem__(self, name: object) -> NoReturn:
        parts = str(name).replace("::", ".")
        plain = isinstance(name, str) and all(map(str.isidentifier, parts.split(".")))
        call = f"ops.{parts}" if plain else "ops.namespace.name"
        raise OperatorNotFoundError(f"ops takes no [...]. Write {call}, or getattr(getattr(ops, namespace), name) for texts.")

    def __contains__(self, name: object) -> bool:
        """Whether there is a namespace, or an operator of a name like `"ns::name"`."""
        if not isinstance(name, str):
            return any(name is op for op in self)
        namespace, _, word = name.partition("::")
        return namespace in self._namespaces and (not word or word in self._namespaces[namespace])

    def __len__(self) -> int:
        """How many operators there are, overloads counted each."""
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """True, said without loading what it holds."""
        return True

    def __iter__(self) -> Iterator[OpOverload]:
        return (op for namespace in list(self._namespaces.values()) for op in namespace)

    def __dir__(self) -> list[str]:
        return sorted(self._namespaces)

    def __repr__(self) -> str:
        return f"<operators of {', '.join(sorted(self._namespaces))}>"


ops = Namespaces()


def define_on_first_use(namespace: str, load: Callable[[], object] | None) -> None:
    """Have `load()` called before anything is looked up in a namespace, but not inside itself; None ends that."""
    ops._namespaces.setdefault(namespace, Namespace(namespace))._load = load


def define_when_missed(namespace: str, load: Callable[[], object] | None) -> None:
    """Have `load()` called before a look-up in a namespace fails, and before it is listed; None ends that."""
    ops._namespaces.setdefault(namespace, Namespace(namespace))._load_rest = load


# By full name what is registered with each definition of an operator: registration(op, module, again)
Waiting = Callable[[OpOverload, str, bool], None]
_waiting: dict[str, list[Waiting]] = {}


def wait(name: str, registration: Waiting) -> None:
    """Call `registration(op, module, again)` whenever an operator of this full name is defined."""
    _waiting.setdefault(name, []).append(registration)


def stop_waiting(name: str, registration: Waiting) -> None:
    """Remove a waiting registration."""
    _waiting[name].remove(registration)
    if not _waiting[name]:
        del _waiting[name]


def waiting_for(name: str) -> list[Waiting]:
    """Return the registrations waiting for an operator of a full name, oldest first."""
    return list(_waiting.get(name, ()))


def _those_waiting(name: str) -> str:
    """Describe what waits for an operator that is not defined, or for those of a namespace that is not there."""
    names = [full for full in list(_waiting) if name in (full, full.partition(".")[0], full.partition("::")[0])]
    places = [getattr(each, "place", "?") for full in names for each in waiting_for(full)]
    what = f"{'one of this name' if '::' in name else 'an operator of it'} "
    what += "a kernel waits" if len(places) == 1 else f"{len(places)} kernels wait"
    return f" For {what}, registered before it is defined: {', '.join(places)}." if places else ""


def overloads_of(op: OpOverload) -> Callable[[], list[str]]:
    """`op.overloads`: the names of all overloads of its name; of one that no name is for, none."""
    namespace = ops._namespaces.get(op.schema.namespace)
    operator = None if namespace is None else namespace._operators.get(op.schema.name)
    return (Operator(op.schema.qualname) if operator is None else operator).overloads


def defined_now() -> list[OpOverload]:
    """Return the operators that are defined; those that wait for a first use go on waiting."""
    namespaces = list(ops._namespaces.values())
    operators = [operator for namespace in namespaces for operator in list(namespace._operators.values())]
    return [op for operator in operators for op in operator._overloads]


def known(name: str) -> OpOverload | None:
    """Return the operator of a full name, or None."""
    namespace, word, overload = split_name(name)
    found = ops._namespaces.get(namespace)
    if found is not None:
        found._complete(word)
    operator = found._operators.get(word) if found is not None else None
    return operator._find_overload(overload) if operator is not None else None


def find(name: str) -> OpOverload:
    """Return the operator of a name, `"ns::name"` or `"ns::name.overload"`; OperatorNotFoundError has close matches."""
    namespace, word, overload = split_name(name)
    found = getattr(getattr(ops, namespace), word)
    if isinstance(found, OpOverload):
        if found.schema.overload == overload:
            return found
        found = getattr(ops, namespace)._operators.get(found.schema.name, found)
    return getattr(found, overload or "default")  # type: ignore[no-any-return]
