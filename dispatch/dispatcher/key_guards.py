"""Guards that exclude keys, include the key of modes, or turn a kernel off, for one thread and one `with` block."""

from typing import Any

from ..core import Definition, DispatchKey, ModeGuard, OpOverload, Registration, device_key
from ..core.wrong_calls import Block, clear
from ..errors import DefinitionError, GuardError, check_flag, kind_of
from .layer import key_of_name
from .observer import Watcher, watchers


class ExcludeDispatchKeyGuard(Watcher):
    """A `with` block in which the calls of this thread pass some keys: values of these layers are constants, modes are off.

    Parameters
    ----------
    *keys : DispatchKey or str
        Keys of layers. VMAP and FAKE cannot be among them: a batch is not one value, and a fake has no data.

    Raises
    ------
    GuardError
        If a key is VMAP, FAKE, a backend's or an alias.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import ExcludeDispatchKeyGuard
    >>> x = dispatch.tensor(np.ones(2), requires_grad=True)
    >>> with ExcludeDispatchKeyGuard("AUTOGRAD"):
    ...     np.sin(x)
    array([0.84147098, 0.84147098])
    """

    _fields = ("excluded", "keys")

    @clear
    def __init__(self, *keys: str | DispatchKey) -> None:
        self.keys = tuple(layer_key(key, "be excluded", transparent=True) for key in keys)
        self.excluded = sum({1 << key for key in self.keys})
        super().__init__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.keys))})"


def layer_key(name: str | DispatchKey, what: str, *, transparent: bool = False) -> DispatchKey:
    """Return a layer's key; with `transparent` one whose values can be constants."""
    key = key_of_name(name)
    key = DispatchKey.AUTOGRAD if key is DispatchKey.Autograd else key
    if key.is_backend or key.is_alias:
        kind = "an alias" if key.is_alias else "a backend"
        raise GuardError(f"{key} cannot {what}: that is for the keys of layers, and it is {kind}.")
    if transparent and key in (DispatchKey.VMAP, DispatchKey.FAKE):
        raise GuardError(f"{key} cannot {what}: its values are no constants, for a fake has no data and a batch no one item.")
    return key


class IncludeDispatchKeyGuard(ModeGuard, metaclass=Block):
    """A `with` block in which each call of this thread runs the kernel at the key MODE, as if a mode were on.

    That is the kernel that the operator has there, or the fallback of the key; without either the next key below runs.

    Parameters
    ----------
    key : DispatchKey or str
        MODE. A call has every other key by its arguments alone.

    Raises
    ------
    GuardError
        If it is another key.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import IncludeDispatchKeyGuard, Library
    >>> with Library("np", "IMPL", "MODE") as lib, IncludeDispatchKeyGuard("MODE"):
    ...     lib.impl("exp", lambda x: "the kernel at MODE")
    ...     dispatch.ops.np.exp(np.ones(2))
    'the kernel at MODE'
    """

    @clear
    def __init__(self, key: str | DispatchKey) -> None:
        found = layer_key(key, "be included")
        if found is not DispatchKey.MODE:
            raise GuardError(f"{found} cannot be included: a call has it by its arguments. Only MODE stands for no argument.")
        super().__init__(found, self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({DispatchKey(self.key)})"


class KernelSwitch(Watcher):
    """Turns an operator's kernel for some devices off, or on again, in this thread while the block lasts.

    A call then runs the registration before that kernel, or the kernel for every device.
    """

    _called = "op.set_kernel_enabled"

    def __init__(self, op: OpOverload, devices: tuple[str, ...], *, enabled: bool) -> None:
        self.op, self.devices, self.enabled = op, devices, enabled
        self.registrations = tuple(found for device in devices if (found := op.table.live(device_key(device))) is not None)
        if len(self.registrations) < len(devices):
            missing = ", ".join(repr(device) for device in devices if op.table.live(device_key(device)) is None)
            raise DefinitionError(
                f"{op.name} has no kernel of its own for {missing}, so that there is none to switch. Give it one, "
                f"@{op.schema.name}.register_kernel({missing.partition(', ')[0]}): while that is off, calls run the kernel for "
                "every device.",
                operator=op.name,
            )
        super().__init__()

    def passed(self, definition: Definition) -> tuple[Registration, ...]:
        if definition.table is not self.op.table or self.enabled is not False:
            return ()
        return tuple(r for r in self.registrations if not _enabled_again(self, r))

    def __repr__(self) -> str:
        return f"{self.op.name}.set_kernel_enabled({', '.join(self.devices)}, {self.enabled})"


def _enabled_again(switch: KernelSwitch, registration: Registration) -> bool:
    """Whether a newer switch of this thread turns a kernel on again."""
    for watcher in watchers():
        if watcher is switch:
            return False
        if isinstance(watcher, KernelSwitch) and registration in watcher.registrations:
            return watcher.enabled
    return False


def switch(op: OpOverload, device_type: str | tuple[str, ...] | list[str], enabled: bool = True) -> KernelSwitch:
    """`op.set_kernel_enabled`."""
    given: object = device_type
    if not isinstance(given, (str, tuple, list)) or not given:
        what = kind_of(given)
        raise DefinitionError(f"{op.name}: set_kernel_enabled names devices, 'cpu' say, and was given {what}.")
    devices: tuple[Any, ...] = (device_type,) if isinstance(device_type, str) else tuple(device_type)
    for device in devices:
        if not isinstance(device, str):
            what = kind_of(device)
            raise DefinitionError(f"{op.name}: set_kernel_enabled names devices, 'cpu' say, and {what} is among them.")
    return KernelSwitch(op, devices, enabled=check_flag(enabled, "set_kernel_enabled: enabled"))
