"""The ground floor, compiled: keys, thread state, wrappers, and the operator that is called.

It knows no operator and no layer by name. Everything above is plain Python and registers into the tables that stand here.
"""

try:
    from .keys import DispatchKey
except ModuleNotFoundError as error:
    raise ImportError(
        "dispatch is not compiled here: this is the source folder. Build it in place with `pip install -e .`, "
        "or leave the folder to import an installed copy.",
    ) from error

from .arguments import Arguments, Check
from .arrays import device_key, device_of, expand, freeze, has_layout, inexact_layout, sole, unwritten
from .outputs import Outputs, Residual
from .overload import OpOverload
from .state import (
    Guard,
    Level,
    ModeGuard,
    Setting,
    Without,
    active_mode,
    conversions,
    count_conversion,
    newest_level,
    open_levels,
    setting,
    turned_on,
)
from .table import Registration, registration_lock, set_layer
from .tensor import Tensor, check_open, descend, ground, settled, split, unwrap, wrap

__all__ = [
    "Arguments",
    "Check",
    "DispatchKey",
    "Guard",
    "Level",
    "ModeGuard",
    "OpOverload",
    "Outputs",
    "Registration",
    "Residual",
    "Setting",
    "Tensor",
    "Without",
    "active_mode",
    "check_open",
    "conversions",
    "count_conversion",
    "descend",
    "device_key",
    "device_of",
    "expand",
    "freeze",
    "ground",
    "has_layout",
    "inexact_layout",
    "newest_level",
    "open_levels",
    "registration_lock",
    "set_layer",
    "setting",
    "settled",
    "sole",
    "split",
    "turned_on",
    "unwrap",
    "unwritten",
    "wrap",
]
