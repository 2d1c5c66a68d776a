"""The compiled dispatcher: keys, thread state, wrappers, and the operator that is called.

It knows no operator and no layer by name. Everything above is plain Python and registers into the tables that stand here.
"""

try:
    from .keys import AROUND, OBSERVE, DispatchKey, key_of_rank, level_of_rank, rank_of
except ModuleNotFoundError as error:
    raise ImportError(
        "dispatch is not compiled here: this is the source folder. Build it in place with `pip install -e .`, "
        "or leave the folder to import an installed copy.",
    ) from error

from .arguments import Arguments, Check, Kind
from .arrays import (
    Size,
    about_devices,
    device_key,
    device_of,
    device_of_key,
    devices,
    freeze,
    is_array_type,
    is_beside_numpy,
    is_of_registered_class,
    register_when_seen,
    registers_now,
    set_array_type,
)
from .definition import Definition
from .flatten import items_of, rebuilt, set_record
from .hooks import Hooks
from .outputs import Outputs, Residual, share_memory
from .overload import OpOverload, bound, rank_of_call, redispatched, run_at
from .state import (
    ABOVE,
    Guard,
    Level,
    ModeGuard,
    Reopened,
    Setting,
    Without,
    active_mode,
    active_modes,
    answered,
    conversions,
    count_conversion,
    newest_level,
    note_request,
    numbers_taken,
    open_levels,
    requests,
    setting,
    turned_on,
)
from .table import (
    Registration,
    add_fallback,
    changes_of_all,
    fallthrough_kernel,
    live_fallbacks,
    registration_lock,
    remove_fallback,
    set_divided,
    set_layer,
    slot_keys,
)
from .tensor import (
    Tensor,
    before_first_wrapper,
    check_data,
    check_open,
    descend,
    first_wrapper,
    ground,
    is_array,
    seen_through,
    split,
    unwrap,
    wrap,
)
from .wrong_calls import hint_alone

Residual.__init__ = hint_alone  # type: ignore[assignment, method-assign]

__all__ = [
    "ABOVE",
    "AROUND",
    "OBSERVE",
    "Arguments",
    "Check",
    "Definition",
    "DispatchKey",
    "Guard",
    "Hooks",
    "Kind",
    "Level",
    "ModeGuard",
    "OpOverload",
    "Outputs",
    "Registration",
    "Reopened",
    "Residual",
    "Setting",
    "Size",
    "Tensor",
    "Without",
    "about_devices",
    "active_mode",
    "active_modes",
    "add_fallback",
    "answered",
    "before_first_wrapper",
    "bound",
    "changes_of_all",
    "check_data",
    "check_open",
    "conversions",
    "count_conversion",
    "descend",
    "device_key",
    "device_of",
    "device_of_key",
    "devices",
    "fallthrough_kernel",
    "first_wrapper",
    "freeze",
    "ground",
    "is_array",
    "is_array_type",
    "is_beside_numpy",
    "is_of_registered_class",
    "items_of",
    "key_of_rank",
    "level_of_rank",
    "live_fallbacks",
    "newest_level",
    "note_request",
    "numbers_taken",
    "open_levels",
    "rank_of",
    "rank_of_call",
    "rebuilt",
    "redispatched",
    "register_when_seen",
    "registers_now",
    "registration_lock",
    "remove_fallback",
    "requests",
    "run_at",
    "seen_through",
    "set_array_type",
    "set_divided",
    "set_layer",
    "set_record",
    "setting",
    "share_memory",
    "slot_keys",
    "split",
    "turned_on",
    "unwrap",
    "wrap",
]  # fmt: skip
