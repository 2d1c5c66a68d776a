"""Prints operators and values: reprs, the table of kernels, values in messages."""

from typing import Any, NoReturn

import numpy as np

from ..core import AROUND, DispatchKey, OpOverload, Registration, Tensor, device_of_key
from ..core.source import where
from ..errors import ArgumentError, kind_of
from .layer import layers

# In a notebook. Where a page is narrow, what stands last, is `long` or a `call` breaks anywhere, and names between words alone.
TABLE = (
    "<style>table.npdispatch td, table.npdispatch th { text-align: left !important } "
    "table.npdispatch td:last-child, table.npdispatch td.long { overflow-wrap: anywhere } "
    "table.npdispatch td.call { overflow-wrap: anywhere; min-width: 16em }</style>"
    '<table class="npdispatch">'
)


def describe_value(x: Any) -> str:
    """Describe a value: its type, and shape and dtype of an array, never its content."""
    kind, cls = kind_of(x), type(x)  # isinstance would believe what an object says of its class
    if issubclass(cls, (np.ndarray, Tensor)):
        return f"{kind} of shape {x.shape} and dtype {x.dtype}"
    if issubclass(cls, np.generic):
        return f"a NumPy scalar of dtype {x.dtype}"
    if issubclass(cls, (list, tuple, dict)):
        return f"{kind} of length {len(x)}"
    if cls.__name__ == Tensor.__name__:  # another package's: torch.Tensor
        return f"a {cls.__module__.partition('.')[0]}.{cls.__name__}"
    return kind


def brief(x: object) -> str:
    """Describe a value in brief: `float64[2, 3]` for an array, the name of its type for anything else."""
    if isinstance(x, (np.ndarray, np.generic, Tensor)):
        return f"{x.dtype}[{', '.join(map(str, x.shape))}]"
    if isinstance(x, (list, tuple)):
        return f"{type(x).__name__}[{', '.join(map(brief, x[:4]))}{', ...' if len(x) > 4 else ''}]"
    return "None" if x is None else type(x).__name__


def describe(op: OpOverload) -> str:
    """Return the repr of an operator: its schema, its devices, and the layers it has rules for."""
    if op.table.gone is not None:
        return f"{op.schema}  [gone]"
    devices = [device_of_key(key) or key.name.lower() for key in DispatchKey if key.is_backend and op.table.live(key)]
    if not devices and op.table.has_backend():
        devices = ["every device"]
    if not devices and op.table.live(DispatchKey.CompositeImplicit):
        devices = ["made of other operators"]
    by_layer = {r.layer for r in op.table.all()}
    named = [(name, layer) for name, layer in sorted(layers.items()) if not layer.key.is_alias]
    rules = [name for name, layer in named if op.table.live(layer.key) or layer in by_layer]
    return f"{op.schema}  [{' '.join(devices) or 'no kernel'} | {' '.join(rules) or 'no rules'}]"


def escape(text: str) -> str:
    """Escape text for HTML; the standard library's function loads a table of all entities first, 1 ms."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def name_of(key: DispatchKey) -> str:
    """Return the name of a key, with the user's device that it stands for."""
    device = device_of_key(key) if key.name.startswith("BACKEND_") else None
    return key.name if device is None else f"{key.name} ({device})"


class KernelListing:
    """What is registered for an operator, key by key; `op.kernels`."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """`(key, what runs there, where it is defined)`, the highest key first."""
        around = [r for r in self.op.table.all() if r.key == AROUND]
        found = [("around", role_of(r), place_of(r)) for r in reversed(around)]
        asked = {layer.key for layer in layers.values() if layer.takes_rules}
        for key in sorted((k for k in DispatchKey if not (k.is_alias or k.is_backend)), reverse=True):
            registration = self.op.table.source(key)
            if registration is not None:
                found.append((key.name, role_of(registration), place_of(registration)))
            elif key in asked:
                found.append((key.name, *default_of(self.op, key)))
        devices = [key for key in sorted(DispatchKey, reverse=True) if key.is_backend and self.op.table.live(key)]
        kernels = [(key, self.op.table.live(key)) for key in devices]
        found += [(name_of(key), "kernel", place_of(kernel)) for key, kernel in kernels if kernel is not None]
        for alias in (DispatchKey.CompositeExplicit, DispatchKey.CompositeImplicit):
            registration = self.op.table.live(alias)
            if registration is not None:
                left = "other devices" if devices else "every device"
                found.append((left, role_of(registration), place_of(registration)))
                break
        return found

    def __getitem__(self, key: object) -> NoReturn:
        said = f"{self.op.name}: kernels is a table to be read, and was asked for [{key!r}]."
        raise ArgumentError(f"{said} Write {self.op.schema.name}.kernels.rows, a list of (key, what runs, where).")

    def __call__(self, *_given: Any, **_named: Any) -> NoReturn:
        raise ArgumentError(f"{self.op.name}: kernels is a table, and is not called. Write {self.op.schema.name}.kernels.")

    def __repr__(self) -> str:
        rows = [(self.op.name, "", ""), *self.rows]
        width = [max(len(row[i]) for row in rows) for i in range(2)]
        return "\n".join(f"{key:{width[0]}}  {what:{width[1]}}  {source}".rstrip() for key, what, source in rows)

    def _repr_html_(self) -> str:
        rows = [[escape(cell) for cell in row] for row in self.rows]  # a place may be `<ufunc sin>`
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
        return f"{TABLE}<caption>{self.op.name}</caption>{cells}</table>"


def role_of(registration: Registration) -> str:
    """Describe a registration: `"vmap rule"`, `"kernel (CompositeExplicit)"`."""
    layer: Any = registration.layer
    if layer is not None:
        remark = layer.remark(registration.rule)
        return f"{layer.name} rule{', ' * bool(remark)}{remark}"
    return "kernel" if not registration.key.is_alias else f"kernel ({registration.key.name})"


def default_of(op: OpOverload, key: DispatchKey) -> tuple[str, str]:
    """Return what runs at a layer's key without a rule, and where: `("derived from the vmap rule", "file.py:12")`."""
    derived = next(layer for layer in layers.values() if layer.key is key).derived(op)
    if derived is None:
        return "the layer's default", ""
    assert derived.source.layer is not None
    return f"derived from the {derived.source.layer.name} rule", place_of(derived.source)


def place_of(registration: Registration) -> str:
    """Return where its rule is written: `"file.py:12"`."""
    layer = registration.layer
    return where(registration.rule) if layer is None else layer.place(registration.rule)


def kernels(op: OpOverload) -> KernelListing:
    """Return what is registered for an operator, and what runs at each key."""
    return KernelListing(op)
