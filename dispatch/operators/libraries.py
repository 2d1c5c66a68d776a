"""`Library`: definitions and kernels that are removed together, as in torch.library.

Everything registered through a library stays until the library is destroyed or its `with` block ends, whatever happens to
the name of the library. Registrations at a key are a stack: removing one brings back the one below. A kernel for an
operator that is not defined yet waits for the definition.
More than 350 lines: each registration can be refused in several ways, with words for each.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, ClassVar, NoReturn

from ..core import DispatchKey, OpOverload, Registration, add_fallback, fallthrough_kernel, registration_lock, remove_fallback
from ..core.source import caller, levels_out, warn_of_brother, where
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import Block, clear, holding
from ..dispatcher.argument_layout import adapted
from ..dispatcher.call_errors import refused_output
from ..dispatcher.conversion_advice import of_ctypes
from ..dispatcher.layer import check_choosable, find_layer, key_of_name
from ..dispatcher.rule_parameters import check_kernel_parameters
from ..errors import DefinitionError, LibraryError, SchemaError, did_you_mean, kind_of, shown
from ..schema.schema import Schema
from ..schema.tags import Tag, check_tags, tag_set
from ..schema.types import check_name, split_name
from .namespaces import RESERVED, known, ops, stop_waiting, wait, waiting_for
from .registry import add, build, remove

Function = Callable[..., Any]

KINDS = ("DEF", "IMPL", "FRAGMENT")
_owners: dict[str, "Library"] = {}  # namespace -> its DEF library


class Waiting:
    """A kernel that is registered each time an operator of its name is defined."""

    def __init__(self, library: "Library", name: str, key: DispatchKey, fn: Function, *, keyed: bool, module: str) -> None:
        self.library, self.name, self.key, self.fn, self.keyed, self.module = library, name, key, fn, keyed, module
        self.place = where(fn)
        self.epoch = 0  # which definition of the operator it was registered with first; 0 is none yet

    def __call__(self, op: OpOverload, module: str, again: bool) -> None:
        """Register the kernel with an operator that `module` has just defined, for the first time or again."""
        if not (again and module == self.module):  # a module that defines anew registers anew
            self.library.keep(op, register_at(op, self.key, self.fn, keyed=self.keyed))


class Library(Fields, metaclass=Block):
    """Definitions and kernels that are removed together, by `destroy()` or at the end of a `with` block.

    Parameters
    ----------
    ns : str
        The namespace. `"_"` stands for every namespace, for `fallback`.
    kind : str
        `"DEF"` owns the namespace: it defines and registers, and there is one for each namespace. `"FRAGMENT"` does the same,
        and there may be any number. `"IMPL"` only registers.
    dispatch_key : str or DispatchKey, optional
        The one key at which `impl` registers, so that it need not be named; for `fallback` the default.

    Raises
    ------
    LibraryError
        If there is no such kind, or the namespace is reserved or owned by another module.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import Library
    >>> with Library("docs_lib", "DEF") as lib:
    ...     name = lib.define("half(Tensor x) -> Tensor")
    ...     lib.impl(name, lambda x: x / 2, "CPU")
    ...     dispatch.ops.docs_lib.half(np.ones(2))
    array([0.5, 0.5])
    """

    _fields = ("destroyed", "dispatch_key", "kind", "module", "ns", "place")
    _elsewhere: ClassVar[dict[str, str]] = {
        **{
            f"{start}register_{rule}": f"dispatch.register_{rule}('ns::name', rule, lib=lib)"
            for rule in ("fake", "autograd", "vmap", "jvp", "kernel")
            for start in ("", "_")
        },
        "m": "lib.define(schema)", "remove": "lib.destroy()", "_destroy": "lib.destroy()",
    }  # fmt: skip

    @clear
    def __init__(self, ns: str, kind: str, dispatch_key: str | DispatchKey = "") -> None:
        module, place = caller()
        if not isinstance(ns, str):
            raise LibraryError(f"a library is of a namespace, by its name, and {kind_of(ns)} was given.")
        asked: object = kind
        if not isinstance(asked, str) or asked not in KINDS:
            near = did_you_mean(asked, KINDS) if isinstance(asked, str) else ""
            raise LibraryError(f"a library is of kind {', '.join(map(repr, KINDS))}, and {shown(asked)} was given.{near}")
        if ns != "_":
            check_name(ns, "a namespace")
        elif kind != "IMPL":
            raise LibraryError(f"'_' stands for every namespace, and a library of kind {kind!r} defines in one. Use 'IMPL'.")
        if ns in RESERVED and kind != "IMPL":
            raise LibraryError(f"the namespace {ns!r} is this package's own. Take another, or 'IMPL' for kernels in it.")
        self.ns, self.kind, self.module, self.place = ns, kind, module, place
        self.dispatch_key = key_of_name(dispatch_key) if dispatch_key != "" else None
        self.destroyed = False
        self._defined: list[tuple[OpOverload, object]] = []  # with its table: another one is a later definition
        self._schemas: dict[str, Schema] = {}  # the newest, by the names that were given
        self._kept: list[tuple[OpOverload, Registration]] = []
        self._waiting: list[Waiting] = []
        self._fallbacks: list[Registration] = []
        if kind == "DEF":
            with registration_lock:
                owner = _owners.get(ns)
                if owner is not None and owner.module != module:
                    raise LibraryError(
                        f"the namespace {ns!r} has its DEF library, made by {owner.module} ({owner.place}); {module} ({place}) "
                        "makes another. There is one a process: use 'FRAGMENT'."
                    )
                _owners[ns] = self

    @clear
    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> str:
        """Define an operator of this namespace by its schema, without a kernel.

        Parameters
        ----------
        schema : str
            `"name(arguments) -> returns"` or `"name.overload(arguments) -> returns"`.
        alias_analysis : str
            `"FROM_SCHEMA"`, the default; or `"CONSERVATIVE"`, for an operator that may write to arguments or share memory
            with them although the schema does not say so.
        tags : Tag or sequence of Tag
            What the operator promises; see `Tag`.

        Returns
        -------
        str
            The name, with the overload, as `impl` takes it.

        Warns
        -----
        RuntimeWarning
            If this library has defined the name by another schema: that operator is gone, with its kernels.

        Raises
        ------
        LibraryError
            If the library is of kind `"IMPL"`, or was destroyed.
        SchemaError
            If the schema cannot be read.
        DefinitionError
            If another module has defined the name, or the schema contradicts a tag.
        """
        self._check("define an operator")
        if not isinstance(schema, str):
            raise LibraryError(f"a schema is a text, 'name(Tensor x) -> Tensor', and {kind_of(schema)} was given.")
        if self.kind == "IMPL":
            raise LibraryError(f"{self!r} cannot define an operator: it registers only. Use 'DEF' or 'FRAGMENT'.")
        module, place = caller()
        head = schema.partition("(")[0].strip()
        if not head and "(" in schema:
            raise SchemaError(f'{self!r}: the schema {schema!r} has no name. Write it in front: "name{schema.strip()}".')
        op = definition(schema[len(schema.partition("(")[0]) :], self._full_name(head), alias_analysis, tags)
        with registration_lock:
            self._defined.append((add(op, module, place), op.table))
            before = self._schemas.get(head, op.schema)
            self._schemas[head] = op.schema
        if str(before) != str(op.schema):
            said = f"{before} is defined again as {op.schema}, so that the first is gone, with its kernels."
            named = f"Give one of two overloads a name: {head}.other(...)."
            warnings.warn(f"{said} {named}", RuntimeWarning, stacklevel=levels_out())
        return str(op.schema.full_name).partition("::")[2]

    @holding("with_keyset", "allow_override")
    def impl(
        self,
        op_name: str | OpOverload,
        fn: Function,
        dispatch_key: str | DispatchKey = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel of an operator at a key.

        Parameters
        ----------
        op_name : str or OpOverload
            The operator, or its name in this namespace. It may be defined later: it gets the kernel then. Where an operator
            of nearly this name is defined, a `RuntimeWarning` says that this one is not yet.
        fn : callable
            The kernel. At the key of a device it has the operator's own signature. At the key of a layer it takes every
            argument by position. `fallthrough_kernel` lets calls pass this key.
        dispatch_key : str or DispatchKey, optional
            The key of the library if it has one; else CompositeImplicit by default.
        with_keyset : bool
            Whether the kernel takes the key at which it runs, before its arguments. It can go on below that key with
            `op.redispatch(key, *args)`.
        allow_override : bool
            If False, raise where the key has a kernel already. By default the new kernel replaces the old one.

        Raises
        ------
        LibraryError
            If the name is of another namespace, the library of another key, or destroyed; or if the key has a kernel and
            `allow_override` is False.
        DefinitionError
            If `fn` is no function, there is no such key, or no call of the operator can ask for the device.
        """
        self._check("register a kernel")
        given = self._key(dispatch_key)
        if self.dispatch_key is not None and given is not self.dispatch_key:
            own = f"Use Library({self.ns!r}, {self.kind!r}), which has no key of its own."
            raise LibraryError(f"{self!r} registers at {self.dispatch_key}, and {given} was given. {own}")
        key = DispatchKey.CompositeImplicit if given is None else given
        if not isinstance(op_name, (str, OpOverload)):
            raise LibraryError(
                f"impl asks for an operator or its name, and {kind_of(op_name)} was given. "
                "Write lib.impl('name', kernel, 'CPU')."
            )
        name = self._full_name(op_name.name if isinstance(op_name, OpOverload) else op_name)
        check_kernel(name, key, fn)
        known(name)  # which may define operators, and must not under the lock
        with registration_lock:
            op = op_name if isinstance(op_name, OpOverload) else known(name)
            if op is not None and key.is_backend:
                check_choosable(op.schema, key.name)
                if not with_keyset and fn is not fallthrough_kernel:
                    check_kernel_parameters(op, fn)
            held = op.table.live(key) if op is not None else None
            if held is not None and not allow_override:
                raise LibraryError(
                    f"{name} has a kernel at {key} already, {where(held.rule)}, and allow_override is False.", operator=name
                )
            waiting = Waiting(self, name, key, fn, keyed=with_keyset, module=caller().module)
            waiting.epoch = 0 if op is None else op.epoch
            before = [each for each in waiting_for(name) if isinstance(each, Waiting) and each.key is key]
            if before and before[-1].epoch < waiting.epoch:  # defined again, not covered on purpose
                warn_of_brother(name, fn, before[-1].fn)
            if op is not None:
                waiting(op, "", False)
            self._waiting.append(waiting)
            wait(name, waiting)
        if op is None:
            _warn_of_unknown(name, defines=bool(self._defined))

    @holding("with_keyset")
    def fallback(self, fn: Function, dispatch_key: str | DispatchKey = "", *, with_keyset: bool = False) -> None:
        """Register a kernel at a key for every operator that has none of its own there.

        Parameters
        ----------
        fn : callable
            `fn(op, *args, **kwargs)`; or `fallthrough_kernel`, which lets calls pass this key.
        dispatch_key : str or DispatchKey, optional
            By default the key of the library.
        with_keyset : bool
            As in `impl`. The key comes before the operator.

        Raises
        ------
        LibraryError
            If the library is not `Library("_", "IMPL")`, was destroyed, or the key is missing or an alias of keys.
        """
        self._check("register a fallback")
        if self.ns != "_":
            raise LibraryError(f"a fallback is for every operator, and {self!r} for {self.ns!r}. Use Library('_', 'IMPL').")
        key = self._key(dispatch_key)
        if key is None or key.is_alias:
            found = "none" if key is None else str(key)
            raise LibraryError(f"a fallback is registered at one key, and {found} was given. Name it: fallback(fn, 'CUDA').")
        check_kernel("a fallback", key, fn)
        registration = Registration(key, fn, keyed=with_keyset)
        with registration_lock:
            add_fallback(registration)
            self._fallbacks.append(registration)
            _forget_slots()

    def keep(self, op: OpOverload, registration: Registration) -> None:
        """Remove a registration when this library is destroyed.

        Parameters
        ----------
        op : OpOverload
        registration : Registration
            What `op.register` returned.
        """
        self._check("keep a registration")
        self._kept.append((op, registration))

    def destroy(self) -> None:
        """Remove all definitions and registrations of this library. The kernels that they had replaced run again.

        A second call does nothing.
        """
        with registration_lock:
            if self.destroyed:
                return
            self.destroyed = True
            for waiting in self._waiting:
                stop_waiting(waiting.name, waiting)
            for op, registration in self._kept:
                op.unregister(registration)
            for fallback in self._fallbacks:
                remove_fallback(fallback)
            for op, table in self._defined:
                if op.table is table and known(op.name) is op:
                    gone = (
                        f"{op.name} is gone: the library that defined it ({self.place}) was destroyed. Define it again, and "
                        f"look it up: dispatch.ops.{op.schema.namespace}.{op.schema.name}."
                    )
                    remove(op, gone)
                    op.table.retire(gone)
            if _owners.get(self.ns) is self:
                del _owners[self.ns]
            if self._fallbacks:
                _forget_slots()

    def __enter__(self) -> "Library":
        self._check("begin a block")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.destroy()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} keeps what one process registered, and cannot be pickled or copied. Make another.")

    def __repr__(self) -> str:
        key = "" if self.dispatch_key is None else str(self.dispatch_key)
        return f"Library({self.ns!r}, {self.kind!r}, {key!r})"

    def _check(self, what: str) -> None:
        if self.destroyed:
            raise LibraryError(f"{self!r} was destroyed, and cannot {what}. Make a new one.")

    def _key(self, name: str | DispatchKey) -> DispatchKey | None:
        return key_of_name(name) if name != "" else self.dispatch_key

    def _full_name(self, name: str) -> str:
        namespace, colons, word = name.rpartition("::")
        if colons and namespace != self.ns:
            raise LibraryError(f"{name} is not in the namespace {self.ns!r} of {self!r}. Use a library of {namespace!r}.")
        if " " in word:
            raise SchemaError(f"a schema has its arguments in parentheses, 'f(Tensor x) -> Tensor', and {name!r} was given.")
        full = f"{self.ns}::{word}"
        split_name(full)
        return full


def _forget_slots() -> None:
    for op in ops:
        op.table.reset()


def definition(text: str, name: str, alias_analysis: str, tags: Tag | Sequence[Tag]) -> OpOverload:
    """Make an operator without kernels from a schema that begins with '('; it is not registered by name yet."""
    asked: object = alias_analysis
    if not isinstance(asked, str) or asked not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
        if isinstance(asked, str) and asked.startswith("("):
            word = name.partition("::")[2]
            raise LibraryError(f'{name}: lib.define takes name and schema as one text. Write lib.define("{word}{asked}").')
        raise LibraryError(f"{name}: alias_analysis is 'FROM_SCHEMA' or 'CONSERVATIVE', and {shown(alias_analysis)} was given.")
    marks = tag_set(tags, name) | ({Tag.maybe_aliasing_or_mutating} if alias_analysis == "CONSERVATIVE" else set())
    schema = Schema.parse(text, name=name)
    check_tags(schema, marks)
    return build(schema, tuple(sorted(marks, key=lambda tag: tag.name)))


def check_kernel(name: str, key: DispatchKey, fn: Any) -> None:
    """Raise for what cannot be a kernel at a key."""
    if not callable(fn):
        short = name.rpartition("::")[2]
        how = f"lib.impl({short!r}, kernel, 'CPU'), or @library.impl(lib, {short!r}, 'CPU') above the kernel"
        raise DefinitionError(f"{name}: a kernel is a function, and {kind_of(fn)} was given. Write {how}.", operator=name)
    if said := of_ctypes(fn, name.rpartition("::")[2].partition(".")[0]):
        raise DefinitionError(f"{name}: {said}", operator=name)
    below = key.is_backend or key in (DispatchKey.CompositeExplicit, DispatchKey.CompositeImplicit)
    if fn is fallthrough_kernel and (below or key in (DispatchKey.VMAP, DispatchKey.FAKE)):
        why = "nothing is below it" if below else "its values are no constants"
        raise DefinitionError(f"{name}: {key} cannot be made transparent by fallthrough_kernel: {why}.", operator=name)


def register_at(op: OpOverload, key: DispatchKey, fn: Function, *, keyed: bool = False) -> Registration:
    """Register a kernel at a key; at the key of fakes a function is the fake rule, as torch's Meta kernels are."""
    if key is DispatchKey.FAKE and fn is not fallthrough_kernel and not keyed:
        layer = find_layer("fake")
        return op.register(layer, layer.rule(fn))
    computes = key.is_backend or key in (DispatchKey.CompositeExplicit, DispatchKey.CompositeImplicit)
    fn = adapted(op, fn, keyed=keyed) if computes else fn
    fn = _held_to_dtypes(op, fn, keyed) if key is DispatchKey.CompositeImplicit and op.outputs.typed else fn
    return op.register_at(key, fn, keyed=keyed)


def _held_to_dtypes(op: OpOverload, kernel: Function, keyed: bool) -> Function:
    """A composite kernel whose results have the dtypes of the hints in every layer; at a backend the core holds it to them."""

    @wraps(kernel)
    def held(*args: Any, **keywords: Any) -> Any:
        out = kernel(*args, **keywords)
        results = out if op.outputs.count > 1 and isinstance(out, (tuple, list)) else (out,)
        if any(not check(x) for check, x in zip(op.outputs.checks, results, strict=False)):
            raise refused_output(op.definition, args[keyed:], out)
        return out

    return held


def _warn_of_unknown(name: str, *, defines: bool) -> None:
    """Warn that a kernel waits for an operator that is not defined, where it may be misspelt.

    That is so where an operator of nearly this name is defined, or the library itself defines operators beside it.
    """
    namespace, _, own = name.partition("::")
    known = dir(getattr(ops, namespace)) if namespace in dir(ops) else []
    near = did_you_mean(own, known)
    if near or (defines and own.partition(".")[0] not in known):
        said = f"{name} is not defined, and the kernel waits until it is.{near} Define the operator first where it is no slip."
        warnings.warn(said, RuntimeWarning, stacklevel=levels_out())
