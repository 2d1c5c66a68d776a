"""`reinplace` turns functional forms back into the operators that write, where no value that is used later changes.

A functional form copies the array that its operator would write to. If nothing reads the old array afterwards, the operator
may write to it, and the array itself replaces the copy:

    x2 = scale(x, 2)                    scale_(x, 2)        x is new, and read no more
    v2 = scale(v, 2)                    scale_(v, 2)        v is a view of x, which is read no more but to put v2 there
    x2 = view_scatter(x, v2, look)
    y2 = scale(y, 2)                    scale_(y, 2)        y is an input, and read no more but to be written
    setitem_(y, ..., y2)
    x2 = setitem(x, ..., v)                                 x2 is v, which is new, and read no more
    x2 = setitem(x, i, getitem(x, i))                       x2 is x: the end of `x[i] *= 2`, which Python puts back

It has more than 350 lines because each of these rewrites rests on the same plan, which is tested against all of them at once.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from ..core import OpOverload
from ..core.collector import collector_paused
from ..core.pytree import items_of, mapped
from ..core.wrong_calls import clear
from ..operators.functional_variant import Form, form_of, origin_of
from ..operators.views import Look, view_scatter
from ..schema.tags import Tag
from .alias_analysis import may_be_view
from .body import Body
from .liveness import NEVER, Lifetimes
from .metadata import Metadata
from .node import Node, maker, nodes_in, standing

G = TypeVar("G", bound=Body)
EXACT = frozenset({int, type(None)})  # of which equal ones are the same
WRITE, WRITTEN, READ = "np::setitem_", "np::setitem", "np::getitem"


class Call(NamedTuple):
    """What is asked of an operator for each of its calls; of a functional form, what it is the form of, and how.

    `only` is the place of the one argument that is copied and whose new value is all that is returned; -1 of other forms.
    """

    name: str
    origin: OpOverload | None
    form: Form | None
    may_write: bool
    is_view: bool
    only: int = -1


class Calls(dict[OpOverload, Call]):
    """The operators of a graph, each looked at once."""

    def __missing__(self, op: OpOverload) -> Call:
        origin = origin_of(op)
        form = None if origin is None else form_of(origin.schema)
        may_write = origin is not None and form is not None and Tag.inplace_view not in origin.tags and not form.severed
        found = Call(op.name, origin, form, may_write, may_be_view(op))
        only = form.written[0] if form is not None and len(form.written) == 1 == _count(found) else -1
        found = self[op] = found._replace(only=only)
        return found


class Step(NamedTuple):
    """One argument that a functional form copies and that its operator could write to.

    `target` is the argument and `new` the node of its new value, None if nothing uses that. If `target` is a view and the calls
    `scatters` put its new value back into the array it is a view of, `base` is that array and `result` its new value. Else
    `base` and `result` are `target` and `new`.
    """

    call: Node
    target: Node
    new: Node | None
    base: Node
    result: Node | None
    scatters: tuple[Node, ...]


@clear
def reinplace(graph: G, inputs: bool = True) -> G:
    """Return a graph that calls operators that write in place of functional forms, where no value that is used later changes.

    Its results are the same bit for bit, and so is what it writes to its arguments. It has no more nodes than before.

    Parameters
    ----------
    graph : Graph
    inputs : bool
        Whether inputs are written where the new value is computed, and not at the end.

    Returns
    -------
    Graph

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.graph import reinplace
    >>> def f(x):
    ...     y = np.sin(x)
    ...     y[0] = 1.0
    ...     return y
    >>> graph = dispatch.make_fx(dispatch.functionalize(f))(np.ones(3))
    >>> [node.op.name for node in graph.nodes if node.op]
    ['np::sin', 'np::setitem']
    >>> [node.op.name for node in reinplace(graph).nodes if node.op]
    ['np::sin', 'np::setitem_']
    """
    done = reinplaced(graph, inputs)
    return graph.copy() if done is graph else done


@collector_paused()
def reinplaced(graph: G, inputs: bool = True) -> G:
    """Return what `reinplace` does, and the graph itself where nothing in it is done in place."""
    calls = Calls()
    used = {node.op for node in graph.nodes}
    if not any([calls[op].may_write or calls[op].name == WRITTEN for op in used if op is not None]):
        return graph
    new = graph.copy()
    lifetimes = Lifetimes(new)
    changed = _leave_out_writes_of_itself(new, calls, lifetimes)
    plan = _Plan(new, calls, lifetimes, inputs)
    if plan.steps or plan.moved or plan.paths:
        _rewrite(new, plan)
    elif not changed:
        return graph
    return new


class _Plan:
    """Which calls of a graph are done in place.

    `paths` has, for a final write to an input, which becomes superfluous, the steps from the input to the written value, the
    last first. `steps` has, for a call that will write, its steps. `moved` has, for a call that is removed, the value that
    replaces it.
    """

    def __init__(self, graph: Body, calls: Calls, lifetimes: Lifetimes, inputs: bool) -> None:
        self.lifetimes, self.calls = lifetimes, calls
        writing = {op for op in calls if calls[op].may_write}
        filling = {op for op in writing if calls[op].name == WRITTEN}
        steps = {node: found for node in graph.nodes if node.op in writing and (found := self._steps_of(node))}
        self.paths = self._paths(graph, steps) if inputs else {}
        kept = {step.call for path in self.paths.values() for step in path}
        self.moved = {n: n.args[2] for n in graph.nodes if n.op in filling and n not in kept and self._is_moved(n)}
        self.steps: dict[Node, list[Step]] = {}
        for node, found in steps.items():
            if node in kept or all([(step.scatters or node not in self.moved) and self._may_write(step) for step in found]):
                self.steps[node] = found
                self.moved.pop(node, None)

    def _steps_of(self, node: Node) -> list[Step]:
        """Return the steps of a call; an empty list if the call could not write in place."""
        if node.op is None or not (call := self.calls[node.op]).may_write:
            return []
        if call.only >= 0 and type(x := node.args[call.only]) is Node and type(node.value) is Metadata:
            return [Step(node, x, node, *self._scattered(x, node))]
        pairs = list(_pairs(node, call, self.lifetimes.users))
        if any(type(x) is not Node or (new is not None and type(new.value) is not Metadata) for x, new in pairs):
            return []
        return [Step(node, x, new, *self._scattered(x, new)) for x, new in pairs]

    def _scattered(self, view: Node, new: Node | None) -> tuple[Node, Node | None, tuple[Node, ...]]:
        """Return the array that a view belongs to, the new value of that array, and the calls that make it."""
        scatters: tuple[Node, ...] = ()
        while new is not None and len(self.lifetimes.users[new]) == 1 and self.lifetimes.last_read(new) < NEVER:
            (user,) = self.lifetimes.users[new]
            if user.op is not view_scatter or user.args[1] is not new or not _is_look(view, user.args[0], user.args[2]):
                break
            scatters, view, new = (*scatters, user), user.args[0], user
        return view, new, scatters

    def _may_write(self, step: Step, write: Node | None = None) -> bool:
        """Whether a step may be done in place. With `write`, the step writes to the input that `write` writes to."""
        order = self.lifetimes.order
        here, home = order[step.call], write is not None and step.base is write.args[0]
        until = order[write] if write is not None and home else NEVER + 1
        passed = [order[scatter] for scatter in step.scatters]
        if any([here < i < until and i not in passed for i in self.lifetimes.reads(step.base)]):
            return False
        if self.lifetimes.aliases.count(step.base, step.call.args) != 1:
            return False  # another argument shows what is written
        if home:
            return True
        op = maker(step.base).op
        new = _has_axes(step.target) and (bool(step.scatters) or (op is not None and not self.calls[op].is_view))
        return new and (step.result is None or _alike(step.base, step.result))

    def _is_moved(self, node: Node) -> bool:
        """Whether a call only fills a copy with a new value, so that the new value can replace its result."""
        if node.op is None or self.calls[node.op].name != WRITTEN:
            return False
        if node.args[1] is not Ellipsis or type(node.args[2]) is not Node:
            return False
        x = node.args[2]
        op = maker(x).op
        if op is None or self.calls[op].is_view or not _has_axes(x) or not _alike(x, node):
            return False
        return self.lifetimes.last_read(x) == self.lifetimes.order[node] and self.lifetimes.aliases.count(x, node.args) == 1

    def _paths(self, graph: Body, steps: dict[Node, list[Step]]) -> dict[Node, list[Step]]:
        makers = {step.result: step for found in steps.values() for step in found}
        aliases = self.lifetimes.aliases
        written = [(n, x) for n, targets in aliases.written_by.items() for x in targets]
        times = Counter([aliases.of(x) for _, x in written])
        paths: dict[Node, list[Step]] = {}
        for write, home in written:
            if home.kind != "placeholder" or write.op is None or self.calls[write.op].name != WRITE or write.args[1] is not ...:
                continue
            path, x = [], write.args[2]
            while x in makers and x is not home:
                path.append(makers[x])
                x = makers[x].base
            alone = times[aliases.of(home)] == 1
            found = x is home and path and alone and self.lifetimes.last_read(write.args[2]) < NEVER
            if found and _alike(home, write.args[2], strides=False):
                paths[write] = path
        while True:  # a call may be on several paths, and be taken back with one of them
            own = {step: write for write, path in paths.items() for step in path}
            whole = {write: [step for last in path for step in steps[last.call]] for write, path in paths.items()}
            lost = [write for write, found in whole.items() if not all([self._may_write(s, own.get(s)) for s in found])]
            if not lost:
                return paths
            for write in lost:
                del paths[write]


def _pairs(node: Node, call: Call, users: dict[Node, list[Node]]) -> Iterator[tuple[Any, Node | None]]:
    """Yield the arguments that a functional form copies, each with the node of its new value or None."""
    form, single = _form(call), _count(call) == 1
    first = sum(place < 0 for place in form.returned) - form.residual
    for k, i in enumerate(form.written):
        x, new = node.args[i], node if single else _item(node, first + k, users)
        items = None if type(x) is Node else items_of(x)
        if items is None or isinstance(x, dict):
            if x is not None:
                yield x, new
        elif new is not None and any(user.kind != "item" for user in users[new]):
            yield None, new
        else:
            for number, item in enumerate(items):
                if item is not None:
                    yield item, None if new is None else _item(new, number, users)


def _item(node: Node, number: int, users: dict[Node, list[Node]]) -> Node | None:
    return next((user for user in users[node] if user.kind == "item" and user.args[1] == number), None)


# -- what is the same ------------------------------------------------------------------------------------------------------


def _is_look(view: Node, x: Node, look: Look) -> bool:
    """Whether a node is the view of another node that a `Look` describes."""
    if view.op is not look.op or look.part >= 0 or look.number or view.args[look.place] is not x:
        return False
    others = [(a, b) for i, (a, b) in enumerate(zip(view.args, look.args, strict=True)) if i != look.place]
    return type(view.value) is Metadata and all(_same(a, b) for a, b in others)


def _same(a: Any, b: Any) -> bool:
    """Whether two arguments are the same. Symbolic sizes are compared as text, which leaves no guard."""
    if a is b:
        return True
    kind = type(a)
    if kind is type(b) and (kind is tuple or kind is list or kind is slice):  # most are: numbers, or nothing
        parts = [(x.start, x.stop, x.step) if type(x) is slice else x for x in (a, b)]
        if all([type(part) in EXACT for part in parts[0]]) and all([type(part) in EXACT for part in parts[1]]):
            return bool(parts[0] == parts[1])
    nodes = [list(map(id, nodes_in(x))) for x in (a, b)]
    return type(a) is type(b) and nodes[0] == nodes[1] and repr(a) == repr(b)


def _alike(a: Node, b: Node, strides: bool = True) -> bool:
    """Whether two nodes are arrays of the same shape, dtype, device and strides."""
    x, y = a.value, b.value
    if type(x) is not Metadata or type(y) is not Metadata or x.dtype != y.dtype or x.device != y.device:
        return False
    return _same(x.shape, y.shape) and (not strides or _same(x.strides, y.strides) or _same(_steps(x), _steps(y)))


def _steps(x: Metadata) -> tuple[Any, ...]:
    """Return the strides, with 0 for axes of length 1, whose strides mean nothing."""
    return tuple([0 if type(n) is int and n == 1 else stride for n, stride in zip(x.shape, x.strides, strict=True)])


def _has_axes(node: Node) -> bool:
    """Whether a node has axes. A result without axes may be a NumPy scalar, which cannot be written to."""
    return type(node.value) is Metadata and len(node.value.shape) > 0


# -- writes that change nothing ------------------------------------------------------------------------------------------------


def _leave_out_writes_of_itself(graph: Body, calls: Calls, lifetimes: Lifetimes) -> bool:
    """Leave out calls that write into an array what it contains already, and say whether there were any."""
    copies: dict[Node, Node] = {}
    filling = {op for op in calls if calls[op].name == WRITTEN}
    for node in graph.nodes:
        if node.op in filling and type(node.args[2]) is Node:
            x, index, value, arrays = node.args
            read = value.op is not None and calls[value.op].name == READ and value.args[0] is x and type(x) is Node
            if read and _same(value.args[1], index) and _same(list(value.args[2]), list(arrays)):
                copies[node] = x
    if not copies:
        return False
    written: dict[Node, list[int]] = {}  # by the class of the memory, where it is written
    for writing in lifetimes.aliases.written_by:
        for memory in lifetimes.aliases.writes(writing):
            written.setdefault(memory, []).append(lifetimes.order[writing])
    stands: dict[Node, Node] = {}
    alike: dict[Node, list[Node]] = {}  # the values that are one array then, so that each must be able to replace each
    for node, x in copies.items():
        if all([_may_stand_for(lifetimes, written, other, node) for other in alike.get(x, [x])]):
            stands[node] = stands.get(x, x)
            alike[node] = alike.setdefault(x, [x])
            alike[x].append(node)
    _leave_out(graph, lifetimes, stands)
    return bool(stands)


def _leave_out(graph: Body, lifetimes: Lifetimes, stands: dict[Node, Node]) -> None:
    """Leave out nodes, for each of which another stands that stays; the lifetimes are then those of what is left."""
    users, aliases = lifetimes.users, lifetimes.aliases
    readers = [user for node in stands for user in users[node]]
    taken: set[Node] = set()  # by the nodes that go
    for node, x in stands.items():
        taken.update(nodes_in(node.args))
        reads, more = lifetimes.reads(x), lifetimes.reads(node)
        aliases.merge(x, node)
        reads += [] if more is reads else more
        users[x] += users.pop(node)
    gone = {lifetimes.order[node] for node in stands}
    taken = {stands.get(x, x) for x in taken}
    for x in taken:
        users[x] = [user for user in users[x] if user not in stands]
    for x in {aliases.of(x) for x in taken}:
        reads = lifetimes.reads(x)
        reads[:] = [i for i in reads if i not in gone]
    for user in readers:
        user.args = standing(user.args, stands, every=False)
    for writing, targets in aliases.written_by.items():
        aliases.written_by[writing] = [stands.get(x, x) for x in targets]
    graph.leave_out(stands)


def _may_stand_for(lifetimes: Lifetimes, written: dict[Node, list[int]], x: Node, copy: Node) -> bool:
    """Whether a value can replace its copy: code outside does not see both, and no write comes between."""
    if lifetimes.last_read(x) == lifetimes.last_read(copy) == NEVER:
        return False
    order, aliases = lifetimes.order, lifetimes.aliases
    places = [i for memory in {aliases.of(x), aliases.of(copy)} for i in written.get(memory, ())]
    ends = [i for i in (*lifetimes.reads(x), *lifetimes.reads(copy)) if i < NEVER]
    return not any([order[copy] < i < max(ends) for i in places])


# -- the new graph ---------------------------------------------------------------------------------------------------------


def _rewrite(graph: Body, plan: _Plan) -> None:
    """Do in a graph what is planned for it."""
    instead: dict[Node, Node] = dict(plan.moved)
    for step in [step for found in plan.steps.values() for step in found]:
        if step.new is not None:
            instead[step.new] = step.target
        for scatter in step.scatters:
            instead[scatter] = scatter.args[0]
    stands: dict[Node, Node | None] = {}  # for nodes that nobody reads any more, None where nobody did
    written: dict[Node, Call] = {}  # the forms that calls were of which write now
    kept: list[Node] = []
    for node in graph.nodes:
        other: Node | None = node
        if node in plan.steps:
            assert node.op is not None
            written[node] = plan.calls[node.op]
            node.args = standing(node.args, stands, every=False)
            _write(node, written[node])
            kept.append(node)
        elif node.kind == "item" and (call := written.get(maker(node))) is not None:
            other = None if node in instead else _item_of_written(node, call)
            if other is node:
                kept.append(node)
        elif node in plan.paths or node in instead:
            other = None
        else:
            node.args = standing(node.args, stands, every=False)
            kept.append(node)
        if node in instead:
            other = instead[node]
            other = stands.get(other, other)
        if other is not node:
            stands[node] = other
    graph.leave_out(stands, kept)
    graph.name_anew()


def _form(call: Call) -> Form:
    assert call.form is not None
    return call.form


def _write(node: Node, call: Call) -> None:
    """Make the call of a functional form a call of the operator that writes."""
    form = _form(call)
    assert call.origin is not None
    outputs = list(node.value) if _count(call) > 1 else [node.value]
    given = mapped(lambda x: x.value if type(x) is Node else x, node.args) if form.returned else node.args
    node.op, node.name, node.value = call.origin, call.origin.schema.name, form.given_back(outputs, given)


def _count(call: Call) -> int:
    """Return the number of outputs of a functional form."""
    form = _form(call)
    return sum(place < 0 for place in form.returned) + len(form.written)


def _item_of_written(node: Node, call: Call) -> Node | None:
    """Return what an output of a functional form is of the call that writes; None for a new value of a written argument."""
    form, (made, number) = _form(call), node.args
    if made is not maker(node):
        return None
    others = [i for i, place in enumerate(form.returned) if place < 0]
    if form.residual and number == len(others) + len(form.written) - 1:
        number = len(others) - 1
    elif number >= len(others) - form.residual:
        return None  # a list that is written
    if len(form.returned) == 1:
        return made
    node.name, node.args, node.source = "", (made, others[number]), made.source
    return node
