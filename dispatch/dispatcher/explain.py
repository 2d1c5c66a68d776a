"""`op.explain(*args)`: what a call would run, step by step, and what it would pass over. Nothing is run.

The steps are found as a call finds them, by rank: the wrappers of the highest rank are taken off, as their layer would
do, and what is left has the next rank. `core.table` says which registrations may fill a slot; the others are listed too.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..core import (
    AROUND,
    OBSERVE,
    DispatchKey,
    ModeGuard,
    OpOverload,
    Registration,
    Tensor,
    active_modes,
    bound,
    device_of,
    device_of_key,
    fallthrough_kernel,
    key_of_rank,
    rank_of_call,
    seen_through,
    slot_keys,
    split,
)  # fmt: skip
from ..core.pytree import leaves
from ..core.wrong_attributes import Fields
from ..errors import DispatchError
from .layer import layers
from .observer import watchers
from .printing import TABLE, brief, default_of, escape, name_of, place_of, role_of

Arguments = tuple[Any, ...]
MODES = (1 << OBSERVE) - 1  # bit k for key k: every mode but the watchers


class Step(NamedTuple):
    """What runs at one key.

    Attributes
    ----------
    name : str
        The key, or the devices of a kernel that serves several.
    runs : str
        `"vmap rule"`, `"kernel"`, `"the layer's default"`.
    place : str
        Where that is written.
    reason : str
        Why a call gets here; empty in a table of all keys.
    passed : tuple of str
        What could run here and does not, and why.
    """

    name: str
    runs: str
    place: str
    reason: str
    passed: tuple[str, ...]


class Explanation(Fields):
    """The steps of one call, or all keys of an operator; prints as a table.

    Attributes
    ----------
    title : str
        The call.
    steps : list of Step
        In the order in which they run: the call begins with the first.
    notes : list of str
        What holds for all steps: excluded keys, why the call is refused.
    """

    _fields = ("notes", "steps", "title")

    def __init__(self, title: str, steps: list[Step], notes: list[str]) -> None:
        self.title, self.steps, self.notes = title, steps, notes

    def __repr__(self) -> str:
        width = [max((len(step[i]) for step in self.steps), default=0) for i in range(3)]
        lines = [self.title]
        for step in self.steps:
            cells = [f"{cell:{n}}" for cell, n in zip(step, width, strict=False)]
            lines.append("  ".join([*cells, step.reason]).rstrip())
            lines += [f"{'':{width[0]}}  not {words}" for words in step.passed]
        return "\n".join([*lines, *self.notes])

    def _repr_html_(self) -> str:
        rows = []
        for step in self.steps:
            passed = "".join(f"<br>not {escape(words)}" for words in step.passed)
            cells = f"<td>{escape(step.name)}</td><td>{escape(step.runs)}{passed}</td>"
            cells += f'<td class="long">{escape(step.place)}</td><td>{escape(step.reason)}</td>'
            rows.append(f"<tr>{cells}</tr>")
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"{TABLE}<caption>{escape(self.title)}</caption>{''.join(rows)}</table>{notes}"


def explain(op: OpOverload, args: Arguments, keywords: dict[str, Any]) -> Explanation:
    """Explain what a call would run in each step, or without arguments what runs at every key.

    Parameters
    ----------
    op : OpOverload
    args, keywords
        As in a call of the operator.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> print(dispatch.ops.np.sin.explain(np.ones(2)))
    np::sin(x: float64[2])
    CPU  kernel  <ufunc sin>  the arrays are on cpu
    """
    watching = watchers()
    off = {registration: repr(watcher) for watcher in watching for registration in watcher.passed(op.definition)}
    if op.table.gone is not None:
        return Explanation(op.name, [], [f"The call is refused: {op.table.gone}"])
    if not args and not keywords:
        return Explanation(op.name, list(_every_key(op, off)), [])
    steps: list[Step] = []
    notes: list[str] = []
    title = op.name
    try:
        values = bound(op, args, keywords)
        title += f"({', '.join(f'{name}: {brief(x)}' for name, x in zip(op.arguments.names, values, strict=True))})"
        without = 0
        for watcher in watching:
            without |= watcher.excluded
            words = ", ".join(key.name for key in DispatchKey if not key.is_alias and watcher.excluded >> key & 1)
            notes += [f"{words} is left out by {watcher!r}: values count as constants, and modes as off."] if words else []
        values = tuple([seen_through(x, without) for x in values])
        steps.extend(_steps(op, values, without, off))
    except DispatchError as error:
        notes.append(f"The call is refused: {error}")
    return Explanation(title, steps, notes)


def _steps(op: OpOverload, values: Arguments, without: int, off: Mapping[Registration, str]) -> Iterator[Step]:
    """Yield the steps of a call; the last one computes, or has no data to go on with."""
    modes = [m for m in active_modes() if m.key != OBSERVE and not without >> m.key & 1]
    modes.sort(key=lambda mode: mode.rank, reverse=True)
    while True:
        rank = rank_of_call(op, values, MODES)
        mode = modes.pop(0) if modes and modes[0].rank >= rank else None
        rank = rank if mode is None else mode.rank
        key = DispatchKey(key_of_rank(rank))
        around = op.table.live(AROUND)
        rule = around.rule.answering(op, key, mode and mode.mode, values) if around is not None else None
        yield _step(op, key, off, _reason(op, key, rank, values, mode), rule)
        if key <= DispatchKey.FAKE:
            return
        if any(wrapper.rank == rank for wrapper in _tensors(values)):
            values = split(values)[1]


def _reason(op: OpOverload, key: DispatchKey, rank: int, values: Arguments, mode: ModeGuard | None) -> str:
    if key.is_backend:
        device = device_of_key(key)
        named = any(device_of(x) == device for x in leaves(values))
        return f"the arrays are on {device}" if named else f"no array decides, and {device} is chosen"
    for name, x in zip(op.arguments.names, values, strict=True):
        for wrapper in _tensors(x):
            if wrapper.rank == rank:
                level = f" of {wrapper.level!r}" if wrapper.level.number else ""
                return f"argument {name!r} {'is' if x is wrapper else 'holds'} a {type(wrapper).__name__}{level}"
    return f"{mode.mode!r} is on" if mode is not None else ""


def _every_key(op: OpOverload, off: Mapping[Registration, str]) -> Iterator[Step]:
    for rule in reversed([r for r in op.table.all() if r.key == AROUND]):
        yield Step("around", role_of(rule), place_of(rule), "", ())
    owners = {layer.key for layer in layers.values() if layer.takes_rules}
    for key in sorted((k for k in DispatchKey if not (k.is_alias or k.is_backend)), reverse=True):
        asked = key in owners
        if asked or op.table.source(key) is not None:
            yield _step(op, key, off)
    devices = [key for key in sorted(DispatchKey, reverse=True) if key.is_backend and _stack(op, key)]
    for key in devices:
        yield _step(op, key, off)
    spare = next(key for key in DispatchKey if key.is_backend and key not in devices)  # stands for all that are left
    if op.table.source(spare) is not None or not devices:
        yield _step(op, spare, off)._replace(name="other devices" if devices else "every device")


def _step(
    op: OpOverload, key: DispatchKey, off: Mapping[Registration, str], reason: str = "", rule: Registration | None = None
) -> Step:
    """Return what runs at a key; `rule` is one for a mode or array class, which runs instead of the kernel."""
    live = op.table.source(key, off)
    runs, place = what_runs(op, key, live)
    passed = tuple(f"{role_of(r)} {place_of(r)}: {why}" for r, why in _passed_over(op, key, live, off) if r is not live)
    if rule is not None:
        passed = (f"{runs} {place}".rstrip() + f": a {role_of(rule)} stands around it", *passed)
        runs, place = role_of(rule), place_of(rule)
    return Step(name_of(key), runs, place, reason, passed)


def what_runs(op: OpOverload, key: DispatchKey, live: Registration | None) -> tuple[str, str]:
    """Describe what a registration, or None for none, runs at a key, and where it is written."""
    if live is None:
        if key.is_backend:
            return "nothing: NoKernelError", ""
        known = key in {layer.key for layer in layers.values()}
        return default_of(op, key) if known else ("nothing: the call goes on below", "")
    if live.rule is fallthrough_kernel:
        return "fallthrough: the call goes on below", ""
    role = role_of(live) if op.table.holds(live) else "fallback of every operator"
    return role, place_of(live)


def _stack(op: OpOverload, key: DispatchKey) -> list[Registration]:
    """Return what is registered at one key, the newest first."""
    return [r for r in reversed(op.table.all()) if r.key == key]


def _passed_over(
    op: OpOverload, key: DispatchKey, live: Registration | None, off: Mapping[Registration, str]
) -> Iterator[tuple[Registration, str]]:
    """Yield what could fill the slot of a key, in the order of priority, and why it does not."""
    for at in map(DispatchKey, slot_keys(key)):
        for registration in _stack(op, at):
            if registration in off:
                yield registration, f"passed over by {off[registration]}"
            elif at is DispatchKey.CompositeImplicit and key > DispatchKey.FAKE and op.table.has_backend():
                yield registration, "layers use it only where no backend has a kernel"
            elif live is not None and live.key == at:
                yield registration, "covered by a newer registration"
            elif live is not None:
                yield registration, f"{live.key.name} comes first"


def _tensors(x: Any) -> list[Tensor]:
    return [value for value in leaves(x) if isinstance(value, Tensor)]
