"""Layer: the base class of every subsystem that has a key.

A layer owns one key. It says how a rule about one operator becomes a kernel of that operator (`lower`), and what an operator
without a rule gets (`default`). Its kernel takes the wrappers that are its own off (`core.split`), calls the same operator
again (`op.whole`) on the unwrapped values, and wraps the result (`core.wrap`). A layer never looks at another's wrapper and
names no operator.
More than 350 lines: the backends are a layer too, `Kernels`, and say here what is wrong with a device.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

from ..core import DispatchKey, OpOverload, Registration, about_devices, device_key, device_of_key, devices, set_layer
from ..core.lazy import NOT_HERE
from ..core.source import where
from ..core.wrong_calls import VERBS_ELSEWHERE
from ..errors import DefinitionError, LayerNotFoundError, NoKernelError, did_you_mean, kind_of
from ..schema.schema import Schema
from ..schema.types import DEVICE, OptionalOf
from .argument_layout import adapted
from .conversion_advice import of_ctypes
from .rule_parameters import check_kernel_parameters

Kernel = Callable[..., Any]

layers: dict[str, "Layer"] = {}
RULES_BEFORE = "rules_before"  # where an operator that was defined again has the names of layers that it had rules of before


class Constant:
    """The rule of an operator whose result does not depend on its arguments smoothly: comparisons, shapes, indices."""


CONSTANT = Constant()


class Made:
    """The rule of a row that makes an array after its first argument, to be written to: of a layer's value the layer's own.

    It depends on nothing; but for the value that it is filled with, say: `others` is the rule of the other arguments.
    """

    def __init__(self, others: Any = None) -> None:
        self.others = others


class Derived(NamedTuple):
    """A kernel that can be made, by `make()`, of another layer's rule, `source`."""

    source: Registration
    make: Callable[[], Kernel]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Derived) and self.source is other.source

    def __hash__(self) -> int:
        return hash(self.source)


class Layer:
    """A subsystem: a name, a key, and how a rule about an operator becomes a kernel of it.

    Parameters
    ----------
    name : str
        `op.register_<name>` and the keyword `<name>=` of a table's rows belong to this layer.
    key : DispatchKey
        The key it owns.

    Attributes
    ----------
    derivations : tuple of callable
        Given an operator without a rule of this layer, each returns a `Derived` made of another layer's rule, or None. The
        package's `install` sets them, so that layers need not know of each other; `derived` asks them in order.

    Examples
    --------
    >>> from dispatch.dispatcher.layer import layers
    >>> layers["vmap"].key
    <DispatchKey.VMAP: 23>
    """

    name: str
    key: DispatchKey
    takes_rules = True  # a layer that treats all operators alike takes none, and no listing of an operator's rules names it

    def __init__(self, name: str, key: DispatchKey) -> None:
        self.name = name
        self.key = key
        self.derivations: tuple[Callable[[OpOverload], Derived | None], ...] = ()

    def install(self) -> None:
        """Make the layer known: operators ask it for the kernels at its key, and have the method `register_<name>`.

        Raises
        ------
        DefinitionError
            If another layer has the name.
        """
        if layers.get(self.name, self) is not self:
            raise DefinitionError(
                f"there is a layer named {self.name!r} already, at {layers[self.name].key}. Take another name."
            )
        for key in self.keys():
            set_layer(key, self.at(key))
        layers[self.name] = self

    def keys(self) -> Iterable[DispatchKey]:
        """The keys at which the layer is asked for kernels."""
        return (self.key,)

    def at(self, key: DispatchKey) -> Any:
        """What gives the `default` at one of the keys."""
        return self

    def rule(self, rule: Any, /, *args: Any, **options: Any) -> Any:
        """Make one rule of the arguments of `op.register_<name>`."""
        return rule

    def check(self, op: OpOverload, rule: Any) -> None:
        """Refuse a rule that cannot be one of this operator, at the registration rather than at the first call."""

    def lower(self, op: OpOverload, rule: Any) -> Kernel:
        """Make a kernel of `op` of a rule, which takes every argument by position; asked at the first call that needs it."""
        raise NotImplementedError(f"{type(self).__name__} says how its rules become kernels by overriding `lower`.")

    def default(self, op: OpOverload) -> Kernel:
        """Make the kernel of an operator that has no rule of this layer, or raise what is missing."""
        raise NotImplementedError(f"{type(self).__name__} says what an operator without a rule gets by overriding `default`.")

    def derived(self, op: OpOverload) -> Derived | None:
        """What can be made of another layer's rule for an operator without one of this layer; None where nothing can."""
        return next((found for derive in self.derivations if (found := derive(op)) is not None), None)

    def attach(self, op: OpOverload, rule: Any = None, /, *args: Any, **options: Any) -> Any:
        """Register a rule: what `op.register_<name>` does. Without the rule it is a decorator."""
        if rule is None:
            return lambda rule: self.attach(op, rule, *args, **options)
        op.register(self, self.rule(rule, *args, **options))
        return rule

    def mark(self) -> Callable[[], None] | None:
        """What takes back all that the layer records from here on; None where it records into nothing of its own."""
        return None

    def remark(self, rule: Any) -> str:
        """What listings say of a rule beside where it is written; empty for most."""
        return ""

    def place(self, rule: Any) -> str:
        """Where a rule is written, for listings: `file.py:12`."""
        return where(rule)

    def __repr__(self) -> str:
        return f"the {self.name} layer"


def following(source: Callable[[], Any], make: Callable[[Any], Kernel]) -> Kernel:
    """A kernel that is made of what `source` gives, and anew when it gives something else: a rule may come or go."""
    made: tuple[Any, Kernel] | None = None

    def kernel(*args: Any) -> Any:
        nonlocal made
        found = source()
        current = made
        if current is None or current[0] != found:
            current = made = found, make(found)
        return current[1](*args)

    return kernel


def find_layer(name: str, more: Iterable[str] = ()) -> Layer:
    """The layer of a name; LayerNotFoundError has close matches, among `more` verbs too."""
    try:
        return layers[name]
    except KeyError:
        known = ", ".join(sorted(layers))
        verb = VERBS_ELSEWHERE.get(name)
        advice = f" Write register_{verb}." if verb in layers or verb == "kernel" else did_you_mean(name, [*layers, *more])
        advice = f" {NOT_HERE[f'register_{name}']}" if f"register_{name}" in NOT_HERE else advice
        raise LayerNotFoundError(
            f"there is no layer named {name!r}, so no register_{name}.{advice} Layers: {known}."
        ) from None


def keys_of(device_types: str | Sequence[str] | None) -> list[DispatchKey]:
    """The keys of some devices; of None the key of a kernel that computes on any."""
    if device_types is None:
        return [DispatchKey.CompositeExplicit]
    if not isinstance(device_types, (str, Sequence, Set)):
        raise DefinitionError(
            f"device_types is the name of a device, 'cpu' say, or several in a tuple, and was given {kind_of(device_types)}."
        )
    named, known = [device_types] if isinstance(device_types, str) else list(device_types), devices()
    for device in named:
        if not isinstance(device, str):
            raise DefinitionError(f"device_types names devices, 'cpu' say, and {kind_of(device)} is among them.")
        if device not in known and (key := names_of_keys().get(device.lower())) is not None and not key.is_backend:
            raise DefinitionError(
                f"{device!r} is a dispatch key, and no device. Devices: {', '.join(sorted(known))}. A kernel at a key is "
                f"registered by a library: lib.impl(name, kernel, {device!r})."
            )
    if not named:
        raise DefinitionError("device_types names no device. Leave it out for a kernel that computes on any.")
    return [device_key(device) for device in named]


def check_choosable(schema: Schema, device_types: str | Sequence[str] | None) -> None:
    """Raise where a kernel is for some devices, and a call has neither an array nor a device that could ask for it."""
    if device_types is not None and not takes_arrays(schema) and not takes_device(schema):
        raise DefinitionError(
            f"{schema.full_name} takes no array and no device, so that no call says which device's kernel it means. Add a "
            "parameter `device: str`, or register the kernel for every device: device_types=None.",
            operator=schema.full_name,
        )


def takes_arrays(schema: Schema) -> bool:
    """Whether the arrays of a call say which kernel runs."""
    return any(a.type.has_tensor for a in schema.arguments)


def takes_device(schema: Schema) -> bool:
    """Whether an argument names a device; it counts where no argument can be an array."""
    return any((a.type.element if isinstance(a.type, OptionalOf) else a.type) == DEVICE for a in schema.arguments)


# torch.library's names for keys that have another name here.
TORCH_KEYS = {
    "compositeexplicitautograd": DispatchKey.CompositeExplicit,
    "compositeimplicitautograd": DispatchKey.CompositeImplicit,
    "default": DispatchKey.CompositeExplicit,
    "meta": DispatchKey.FAKE,
    "python": DispatchKey.MODE,
    "functorchbatched": DispatchKey.VMAP,
}


def names_of_keys() -> dict[str, DispatchKey]:
    """The names of keys in lower case, torch's for them too."""
    return {key.name.lower(): key for key in DispatchKey} | TORCH_KEYS


def _turned(given: object) -> str:
    """What to write where a kernel stands in the place of a key."""
    return " The key stands last: lib.impl(name, kernel, 'CPU')." if callable(given) else ""


def key_of_name(name: str | DispatchKey) -> DispatchKey:
    """The key that a name means: of DispatchKey, in any case, torch's name for it, or a device's.

    Parameters
    ----------
    name : str or DispatchKey

    Raises
    ------
    DefinitionError
        If there is no such key.

    Examples
    --------
    >>> key_of_name("CPU"), key_of_name("CompositeImplicitAutograd")
    (<DispatchKey.CPU: 0>, <DispatchKey.CompositeImplicit: 65>)
    """
    if isinstance(name, DispatchKey):
        return name
    if not isinstance(name, str):
        raise DefinitionError(f"a key is a DispatchKey, its name or a device's, and {kind_of(name)} was given.{_turned(name)}")
    found = devices().get(name, names_of_keys().get(name.lower()))
    if found is None:
        named = [key.name for key in DispatchKey if not key.name.startswith("BACKEND")]
        near = did_you_mean(name, {key.lower(): key for key in [*devices(), *named]}.values())
        raise DefinitionError(f"there is no dispatch key {name!r}.{near} Keys: {', '.join(named)}.{about_devices(name, near)}")
    return found


class Kernels(Layer):
    """What answers for the backends: a rule is the kernel itself, and of a missing one stands in what can be derived.

    `of_c(op, devices, cfunc, workers)` makes a kernel of functions in C; the package's `install` sets it.
    """

    of_c: Callable[[OpOverload, Any, Any, int], Kernel]

    def attach(
        self,
        op: OpOverload,
        devices: Any = None,
        rule: Any = None,
        /,
        *,
        cfunc: Any = None,
        workers: int = 1,
    ) -> Any:
        """Register a kernel for a device, several, or None: any that has no kernel of its own."""
        if callable(devices) and not isinstance(devices, str):
            word = op.schema.name
            raise DefinitionError(
                f"{op.name}: register_kernel takes the device first, and was given {kind_of(devices)}. Write "
                f"{word}.register_kernel('cpu', kernel); or @{word}.register_kernel('cpu') above the function.",
                operator=op.name,
            )
        keys = keys_of(devices)
        check_choosable(op.schema, devices)
        if cfunc is None and not (type(workers) is int and workers == 1):
            raise DefinitionError(f"{op.name}: workers= share the loop of a function in C, cfunc=, and none is given.")
        if rule is None and cfunc is None:
            return lambda rule: self.attach(op, devices, rule)
        if rule is not None and cfunc is not None:
            raise DefinitionError(f"{op.name}: a kernel is a function in Python or one in C, cfunc=: give one, not both.")
        if cfunc is None and not callable(rule):
            raise DefinitionError(f"{op.name}: a kernel is a function, and {kind_of(rule)} was given.")
        if isinstance(rule, type):
            raise DefinitionError(f"{op.name}: a kernel is a function, and the class {rule.__qualname__} was given.")
        if said := of_ctypes(rule, op.schema.name):
            raise DefinitionError(f"{op.name}: {said}", operator=op.name)
        if cfunc is None:
            check_kernel_parameters(op, rule)
        kernel = adapted(op, rule) if cfunc is None else self.of_c(op, devices, cfunc, workers)
        for key in keys:
            op.register_at(key, kernel)
        return rule

    def keys(self) -> Iterable[DispatchKey]:
        return (self.key, *[key for key in DispatchKey if key.is_backend])

    def at(self, key: DispatchKey) -> "Backend":
        return Backend(self, key)


class Backend(NamedTuple):
    """What answers for one backend."""

    kernels: Kernels
    key: DispatchKey

    def default(self, op: OpOverload) -> Kernel:
        """The kernel that is derived from the one for NumPy's arrays; else raise: without a kernel there is nothing to run."""
        derived = self.kernels.derived(op)
        if derived is not None:
            return derived.make()
        registered = [str(r.key) for r in op.table.all() if r.layer is None]
        device = repr(device_of_key(self.key))
        if takes_arrays(op.schema):
            lacks, devices, why = f" for arrays on {device}", device, ""
        elif takes_device(op.schema):
            lacks, devices, why = f" for the device {device}", device, ""
        else:
            lacks, devices, why = "", "'default'", ", for every device: the call names none"
        verb = f"{op.schema.name}.register_kernel(" if registered else f"library.impl({op.name!r}, "
        raise NoKernelError(
            f"{op.name} has no kernel{lacks}. Kernels: {', '.join(registered) or 'none'}. Add one: @{verb}{devices}){why}.",
            operator=op.name,
        )


kernels = Kernels("kernel", DispatchKey.CompositeExplicit)
