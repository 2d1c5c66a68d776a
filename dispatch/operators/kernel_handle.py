"""`get_kernel`: a handle to one kernel, for a kernel that replaces it and calls it in some cases."""

from typing import Any

from ..core import DispatchKey, OpOverload, Registration, device_of, fallthrough_kernel
from ..core.source import where
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import clear
from ..dispatcher.layer import key_of_name
from ..errors import ArgumentError, DefinitionError, LibraryError, NoKernelError, kind_of
from .register import resolve

NOT_A_KEY = (int, float, complex, list, tuple)


class KernelFunction(Fields):
    """A handle to one kernel of an operator; made by `get_kernel`.

    Calling it runs the kernel and nothing else: no key is looked up and no output is checked. A kernel that replaces it
    calls it where it does not apply itself.
    """

    _fields = ("key", "op_handle")
    _no_block = "a call, kernel(x)"

    def __init__(self, op: OpOverload, key: DispatchKey, registration: Registration) -> None:
        self.op_handle, self.key, self._registration = op, key, registration
        self._table = op.table
        self._kernel = registration.lowered(op)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if not self._table.holds(self._registration):
            raise LibraryError(
                f"the kernel of {self.op_handle.name} at {self.key} is gone: the library that registered it was destroyed, "
                "or the operator defined anew. Ask again: get_kernel(op, key).",
                operator=self.op_handle.name,
            )
        return self._kernel(self.key, *args, **keywords) if self._registration.keyed else self._kernel(*args, **keywords)

    def call_boxed(self, keyset: object, *args: Any, **keywords: Any) -> Any:
        """Call the kernel. It has torch's name and form; a call of the handle itself does the same.

        Parameters
        ----------
        keyset : object
            Stands where torch has a set of keys. It is not used: a handle knows its key.
        *args, **keywords
            The arguments of the operator.

        Returns
        -------
        object
            What the kernel returns.

        Raises
        ------
        ArgumentError
            If an array or a number stands where the key does, the first argument of the operator most likely.
        """
        if not isinstance(keyset, DispatchKey) and (device_of(keyset) is not None or isinstance(keyset, NOT_A_KEY)):
            raise ArgumentError(
                f"call_boxed takes the key first, and was given {kind_of(keyset)}. Write kernel(x), or "
                "kernel.call_boxed(kernel.key, x)."
            )
        return self(*args, **keywords)

    def __repr__(self) -> str:
        return f"<kernel of {self.op_handle.name} at {self.key}: {where(self._registration.rule)}>"


@clear
def get_kernel(op: OpOverload | str, dispatch_key: str | DispatchKey) -> KernelFunction:
    """Return a handle to the kernel that an operator has at a key.

    Parameters
    ----------
    op : OpOverload or str
    dispatch_key : str or DispatchKey
        A key, or the name of a device; no alias.

    Returns
    -------
    KernelFunction
        A call of it runs this kernel, whatever has been registered since.

    Raises
    ------
    NoKernelError
        If the operator has no kernel at the key.
    DefinitionError
        If there is no such key, or it is an alias.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import custom_op
    >>> from dispatch.library import get_kernel
    >>> @custom_op("docs_kernel::root", mutates_args=())
    ... def root(x: np.ndarray) -> np.ndarray:
    ...     return np.sqrt(x)
    >>> before = get_kernel(root, "CPU")
    >>> @root.register_kernel("cpu")
    ... def _(x):
    ...     return before(x) if (x >= 0).all() else np.full_like(x, np.nan)
    >>> root(np.array([4.0])), root(np.array([-1.0]))
    (array([2.]), array([nan]))
    """
    op = resolve(op)
    key = key_of_name(dispatch_key)
    if key.is_alias:
        raise DefinitionError(
            f"{op.name}: {key} is an alias and has no slot; ask at one of the keys it fills.", operator=op.name
        )
    found = op.table.source(key)
    if found is None or found.rule is fallthrough_kernel or not op.table.holds(found):
        raise NoKernelError(f"{op.name} has no kernel at {key}.", operator=op.name)
    return KernelFunction(op, key, found)
