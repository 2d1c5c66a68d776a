"""Forward mode as a layer: values that carry a tangent along, the derivative in one direction.

A rule says what an operator does to tangents: `rule(tangents, output, *args)` gives the tangent of the output. It runs one
floor down, where values and tangents are ordinary, so that a rule written with operators is differentiated and batched like
any other function. In the tables a rule is a pushforward for each argument, and what they give is added up.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .containers import arrays, field_names, items_of, rebuilt
from .core import DispatchKey, OpOverload, Registration, Tensor, conversions, count_conversion, descend, split, wrap
from .errors import ConversionError, DefinitionError, EscapedValueError, GradientError, NoRuleError, kind_of
from .functional import ON_COPIES, form_of, origin_of
from .layer import Constant, Derived, Kernel, Layer, Made, by_position, check_parameters, following, parameter_names
from .listing import describe_value
from .memory import has_layout, inexact_layout, rewrite, set_rewritable
from .prims import add, astype, broadcast_to
from .views import replace, with_views
from .where import where


class DualTensor(Tensor):
    """A value and its tangent: how fast it changes as the inputs of a `jvp` move.

    Attributes
    ----------
    tangent : ndarray or Tensor
        Of the value's shape and dtype.
    """

    __slots__ = ("family",)  # unset on most: no view was taken
    key = DispatchKey.JVP

    family: Any  # what those that share memory have in common; see views.py

    @property
    def tangent(self) -> Any:
        return self.data

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number: a constant, to every derivative."""
        count_conversion()
        return self.value.item()

    def __bool__(self) -> bool:
        return bool(self.value)

    def _number(self) -> Any:
        raise ConversionError(
            f"a number was asked of a value with a tangent, of shape {self.shape} and dtype {self.dtype}, by float() or by "
            "writing it into a plain array: its tangent would be lost in silence. Write x.item() where the number is meant; "
            "to build an array of such values, np.stack them, or np.where(mask, x, other)."
        )

    __float__ = __int__ = __complex__ = _number

    def __format__(self, spec: str) -> str:
        return format(self.value if self.shape else self.value.item(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ConversionError(
            f"a NumPy array was asked of a value with a tangent, of shape {self.shape} and dtype {self.dtype}: the tangent "
            "would be lost in silence. Write dispatch.detach(x) where a constant is meant."
        )

    def __repr__(self) -> str:
        return f"DualTensor({self.value!r}, tangent={self.data!r})"


set_rewritable(DualTensor, frozen=True)


class Pushforward(NamedTuple):
    """A function that carries a tangent from an argument to the result, and the names of what it is given."""

    reads: tuple[str, ...]
    function: Callable[..., Any]


class Pushforwards(NamedTuple):
    """The rule of a row: a pushforward for each argument that has a derivative."""

    by_argument: dict[str, Pushforward]


def pushforwards(**by_argument: Callable[..., Any]) -> Pushforwards:
    """A row's derivative forward: `pushforwards(x=lambda t, y: multiply(t, y), y=lambda t, x: multiply(t, x))`.

    A pushforward names what it reads: `t` (the tangent of its argument), `out` (the result), or an argument. Of several
    outputs it gives a tuple.
    """
    made = {}
    for name, function in by_argument.items():
        reads = parameter_names(function)
        if reads is None:
            raise DefinitionError("a pushforward names what it reads; *args and **kwargs name nothing.")
        made[name] = Pushforward(reads, function)
    return Pushforwards(made)


class Forward(Layer):
    """Carries tangents along."""

    def rule(self, rule: Any, /) -> Any:
        return rule

    def check(self, op: OpOverload, rule: Any) -> None:
        if isinstance(rule, (Constant, Made)):
            return
        if isinstance(rule, Pushforwards):
            _check_reads(op, rule)
            return
        if not callable(rule):
            raise DefinitionError(f"{op.name}: a jvp rule is a function, and {kind_of(rule)} was given.")
        if not op.schema.returns and not op.schema.is_mutable:
            raise DefinitionError(
                f"{op.name} returns nothing and writes to nothing, so that no tangent comes of it. Leave the rule out.",
                operator=op.name,
            )
        check_parameters(op, rule, leading=2, what="jvp rule")

    def lower(self, op: OpOverload, rule: Any) -> Kernel:
        if op.schema.is_mutable:  # its functional form finds the rule by itself
            return _writing(op)
        if isinstance(rule, Constant):
            return _constant(op.whole)
        if isinstance(rule, Made):
            return _made(op, None if rule.others is None else _row_kernel(op, rule.others))
        if isinstance(rule, Pushforwards) and len(op.schema.returns) == 1:
            kernel = _row_kernel(op, rule)
        else:
            kernel = _user_kernel(op, rule_of(op, rule))
        return with_views(op, kernel, DualTensor) if op.schema.is_view else kernel

    def place(self, rule: Any) -> str:
        if isinstance(rule, (Constant, Made)):
            return "no derivative"
        return where(next(iter(rule.by_argument.values())).function if isinstance(rule, Pushforwards) else rule)

    def default(self, op: OpOverload) -> Kernel:
        if op.schema.is_mutable:
            return _writing(op)
        origin = origin_of(op)
        if origin is None:
            return self._without_rule(op, self.derived(op))
        return following(
            lambda: origin.table.source(self.key) or self.derived(op), lambda found: self._by_rule_of(op, found)
        )

    def _by_rule_of(self, op: OpOverload, found: Registration | Derived | None) -> Kernel:
        """The kernel of a functional form, by what there is for the operator that it was made of."""
        if not isinstance(found, Registration):
            return self._without_rule(op, found)
        if found.layer is self:
            return self.lower(op, found.rule)
        made: Kernel = vars(op)[ON_COPIES]
        return made

    def _without_rule(self, op: OpOverload, derived: Derived | None) -> Kernel:
        kernel = _ruleless(op) if derived is None else derived.make()
        return with_views(op, kernel, DualTensor) if op.schema.is_view and derived is not None else kernel


layer = Forward("jvp", DispatchKey.JVP)


def _constant(whole: Callable[..., Any]) -> Kernel:
    def kernel(*args: Any) -> Any:
        return descend(whole, args)[0]

    return kernel


def _made(op: OpOverload, record: Kernel | None) -> Kernel:
    """The kernel of a row whose rule is `Made`; `record` the one that the rule of its other arguments gives."""
    whole = op.whole

    def kernel(*args: Any) -> Any:
        like, values, _, own, _ = split(args)
        out = whole(*values) if record is None or not own & ~1 else record(*args)
        layout = inexact_layout(out)
        if not own & 1 or layout is None or (isinstance(out, Tensor) and out.rank == like.rank):
            return out
        return wrap(DualTensor, out, like, zeros(layout, out), True)

    return kernel


def _ruleless(op: OpOverload) -> Kernel:
    """The kernel of an operator of which nothing is known: integers come out of it, and for anything else it raises."""
    whole, name = op.whole, (origin_of(op) or op).schema.name

    def kernel(*args: Any) -> Any:
        out = descend(whole, args)[0]
        outputs = out[:-1] if op.outputs.residual and len(op.schema.returns) > 1 else out
        if any(inexact_layout(x) is not None for x in arrays(outputs)):
            raise NoRuleError(
                f"a tangent was asked of {op.name}'s output, and it has neither a jvp rule nor an autograd rule to derive one "
                f"from. Add one: {name}.register_jvp(rule), where rule(tangents, output, *args) returns the tangent of the "
                "output; or pass dispatch.detach(...) of its arguments, where constants are meant.",
                operator=op.name,
            )
        return out

    return kernel


# -- users' rules ------------------------------------------------------------------------------------------------------------


def _user_kernel(op: OpOverload, rule: Callable[..., Any]) -> Kernel:
    whole = op.whole
    single = len(op.schema.returns) == 1 and not op.schema.returns[0].type.parts
    taking = tuple(a.type.has_tensor for a in op.schema.arguments)

    def kernel(*args: Any) -> Any:
        out, like, values, data, _, _ = descend(whole, args)
        if single and inexact_layout(out) is None:
            return out
        tangents = tuple(
            [tangent_of(x, t) if takes else None for x, t, takes in zip(values, data, taking, strict=True)]
        )
        before = conversions()
        pushed = rule(tangents, out, *values)
        if conversions() != before:
            raise GradientError(
                f"a second derivative was asked of {op.name}, whose jvp rule turned a value into a number by x.item(): the "
                "derivative of that number would be lost in silence. Compute with the array.",
                operator=op.name,
            )
        return with_tangents(op, like, out, pushed)

    return kernel


def rule_of(op: OpOverload, rule: Any) -> Callable[..., Any]:
    """A rule of any kind as a user's: `rule(tangents, output, *args)`, every argument by position."""
    if isinstance(rule, Constant):
        return lambda tangents, output, *args: None
    if not isinstance(rule, Pushforwards):
        return by_position(op, rule)
    names = op.arguments.names

    def by_rows(tangents: tuple[Any, ...], output: Any, *args: Any) -> Any:
        given = dict(zip(names, args, strict=True)) | {"out": output}
        found: Any = None
        for name, t in zip(names, tangents, strict=True):
            push = rule.by_argument.get(name)
            if push is not None and t is not None:
                found = _added(found, push.function(*[t if read == "t" else given[read] for read in push.reads]))
        return found

    return by_rows


def _added(x: Any, y: Any) -> Any:
    """The sum of two tangents, or of two tuples or lists of them; None is zero."""
    if x is None or y is None:
        return y if x is None else x
    if items_of(x) is not None:
        return rebuilt(x, [_added(a, b) for a, b in zip(items_of(x) or (), items_of(y) or (), strict=True)])
    return add(x, y)


def tangent_of(x: Any, t: Any) -> Any:
    """The tangent of an argument as rules see it: zeros where it has none, None where it can have none, in containers too."""
    if t is not None and type(t) is not list:
        return t
    items = items_of(x)
    if items is not None:
        given = [None] * len(items) if t is None else t
        return rebuilt(x, [tangent_of(item, g) for item, g in zip(items, given, strict=True)])
    layout = inexact_layout(x)
    return None if layout is None else zeros(layout, x)


def zeros(layout: tuple[tuple[int, ...], np.dtype[Any]], like: Any) -> Any:
    """A tangent of zeros: an array, or of the kind of a wrapper, so that fakes meet fakes."""
    shape, dtype = layout
    return np.zeros_like(like, dtype=dtype, shape=shape) if isinstance(like, Tensor) else np.zeros(shape, dtype)


def with_tangents(op: OpOverload, like: Any, out: Any, tangents: Any) -> Any:
    """The outputs of an operator with the tangents that a rule gave for them.

    Parameters
    ----------
    op : OpOverload
    like : DualTensor
        Whose level and rank the outputs take.
    out : object
        What `op.whole` returned.
    tangents : object
        The tangent of the output; of several outputs a tuple of them. None where there is none.
    """
    count = len(op.schema.returns) - op.outputs.residual
    several = type(out) in (tuple, list) and len(op.schema.returns) > 1
    outputs = list(out)[:count] if several else [out]
    if tangents is None:
        return out
    if count == 1:
        tangents = (tangents,)
    elif not isinstance(tangents, (tuple, list)) or len(tangents) != count:
        some = f"{len(tangents)} tangents" if isinstance(tangents, (tuple, list)) else kind_of(tangents)
        raise GradientError(
            f"{op.name}: its jvp rule returned {some}, and the operator has {count} outputs. Return a tuple of one for each, "
            "None for those without.",
            operator=op.name,
        )
    made = []
    for i, (x, t) in enumerate(zip(outputs, tangents, strict=True)):
        made.append(_dual(op, like, x, t, "its output" if count == 1 else f"output {i}"))
    return (*made, *out[count:]) if several else made[0]


def _dual(op: OpOverload, like: Any, x: Any, t: Any, what: str) -> Any:
    if t is None:
        return x
    items = items_of(x)
    if items is not None:
        parts = _parts(t, x)
        if parts is None or len(parts) != len(items):
            raise GradientError(
                f"{op.name}: its jvp rule returned {describe_value(t)} for {what}, which is {describe_value(x)}. Return the same "
                "of tangents, None for those without.",
                operator=op.name,
            )
        return rebuilt(x, [_dual(op, like, item, part, f"a part of {what}") for item, part in zip(items, parts, strict=True)])
    layout = inexact_layout(x)
    if layout is None:
        raise GradientError(
            f"{op.name}: its jvp rule returned a tangent for {what}, which is {describe_value(x)} and has none: only "
            "floating-point and complex values do. Return None for it.",
            operator=op.name,
        )
    if not isinstance(t, np.ndarray) or not has_layout(t, layout):
        t = _fitted(op, like, t, layout, what)
    return wrap(DualTensor, x, like, t, True)


def _parts(t: Any, like: Any) -> Any:
    """The tangents of the parts of a container, in their order; None where `t` is none that fits."""
    fields = field_names(type(like))
    keys = tuple(like) if isinstance(like, dict) else fields
    if isinstance(t, dict):
        return None if keys is None or not set(keys).issuperset(t) else [t.get(key) for key in keys]
    return items_of(t) if isinstance(t, (list, tuple) if fields is None and keys is None else type(like)) else None


def _fitted(op: OpOverload, like: Any, t: Any, layout: Any, what: str) -> Any:
    """A tangent of the shape and dtype of its output, where broadcasting and a cast explain the difference."""
    shape, dtype = layout
    if isinstance(t, Tensor):
        if t.rank >= like.rank:
            raise EscapedValueError(
                f"{op.name}: its jvp rule returned a {type(t).__name__} of {t.level!r}, which stands above the tangents it was "
                "given. Compute the tangent of what the rule is given, not of values from outside.",
                operator=op.name,
            )
    elif isinstance(t, (int, float, complex)) and not isinstance(t, np.generic):
        t = np.asarray(t, dtype if isinstance(t, bool) or dtype.kind == "c" or not isinstance(t, complex) else None)
    elif not isinstance(t, (np.ndarray, np.generic)):
        raise GradientError(
            f"{op.name}: its jvp rule returned {kind_of(t)} for {what}. Return an array, or None where there is no tangent.",
            operator=op.name,
        )
    if t.shape != shape:
        missing = len(shape) - len(t.shape)
        if missing < 0 or any(n not in (1, m) for n, m in zip(t.shape, shape[missing:], strict=True)):
            raise GradientError(
                f"{op.name}: its jvp rule returned a tangent of shape {t.shape} for {what}, which has shape {shape}. A tangent "
                "has the shape of its output, or one that broadcasts to it.",
                operator=op.name,
            )
        t = broadcast_to(t, shape)
    return t if t.dtype == dtype else astype(t, dtype)


# -- rows --------------------------------------------------------------------------------------------------------------------


def _row_kernel(op: OpOverload, rule: Pushforwards) -> Kernel:
    """The kernel of an operator of the tables that has one output."""
    whole = op.whole
    plans: dict[int, Callable[..., Any]] = {}

    def kernel(*args: Any) -> Any:
        out, like, values, data, own, _ = descend(whole, args)
        layout = inexact_layout(out)
        if layout is None:
            return out
        push = plans.get(own) or plans.setdefault(own, _plan_for(op, rule, own))
        t = push(values, data, out)
        if t is None:
            return out
        if not isinstance(t, np.ndarray) or not has_layout(t, layout):
            t = _fitted(op, like, t, layout, "its output")
        return wrap(DualTensor, out, like, t, True)

    return kernel


def _plan_for(op: OpOverload, rule: Pushforwards, own: int) -> Callable[..., Any]:
    """What gives the tangent for one set of arguments that have one, bit i of `own` for argument i.

    It is written out, as the rows of the tape are: generic unpacking would cost as much as the rule.
    """
    names = op.arguments.names
    scope: dict[str, Any] = {"added": _added, "tangent_of": tangent_of}
    terms = []
    for i, name in enumerate(names):
        push = rule.by_argument.get(name)
        if push is None or not own >> i & 1:
            continue
        listed = bool(op.schema.arguments[i].type.parts)
        scope[f"f{i}"] = push.function
        sources = {"t": f"tangent_of(values[{i}], data[{i}])" if listed else f"data[{i}]", "out": "out"}
        read = [sources.get(r) or f"values[{names.index(r)}]" for r in push.reads]
        terms.append(f"f{i}({', '.join(read)})")
    source = terms[0] if terms else "None"
    for term in terms[1:]:
        source = f"added({source}, {term})"
    exec(f"def push(values, data, out): return {source}", scope)
    made: Callable[..., Any] = scope["push"]
    return made


def _check_reads(op: OpOverload, rule: Pushforwards) -> None:
    names = op.arguments.names
    for name, push in rule.by_argument.items():
        for read in (name, *push.reads):
            if read not in names and not (read in ("t", "out") and read is not name):
                raise DefinitionError(
                    f"{op.name}: a pushforward is for, or reads, {read!r}. It may read t, out, or an argument "
                    f"({', '.join(names)}).",
                    operator=op.name,
                )


# -- operators that write ----------------------------------------------------------------------------------------------------


def _writing(op: OpOverload) -> Kernel:
    """The kernel of an operator that writes: its functional form runs, and what is written stands for what that gave."""
    form, functional = form_of(op.schema), op.functional.whole
    single = len(op.functional.schema.returns) == 1

    def kernel(*args: Any) -> Any:
        like = split(args)[0]
        targets = [x for i in form.written for x in arrays(args[i]) if x is not None]
        _check_targets(op, like, args, targets)
        result = functional(*args)
        outputs = [result] if single else list(result)
        made = outputs[len(outputs) - len(form.written) - form.residual :]
        written = [x for i, new in zip(form.written, made, strict=False) for x in _paired(args[i], new)]
        for x, new in zip(targets, written, strict=True):
            _write(x, new, like)
        return form.given_back(outputs, args)

    return kernel


def _paired(x: Any, new: Any) -> list[Any]:
    """The new values of the arrays in a written argument, in their order."""
    return [n for old, n in zip(arrays(x), arrays(new), strict=True) if old is not None]


def _write(x: Any, new: Any, like: DualTensor) -> None:
    if not isinstance(x, Tensor) or x.rank != like.rank:
        x[...] = new  # integers, which have no tangent
    else:
        replace(x, new, _rewrite)


def _rewrite(x: Any, new: Any) -> None:
    """Let a written value stand for what the functional form gave for it."""
    if isinstance(new, Tensor) and new.rank == x.rank:
        rewrite(x, new.value, new.data)
    else:
        rewrite(x, new, zeros((new.shape, new.dtype), new))


def _check_targets(op: OpOverload, like: DualTensor, args: tuple[Any, ...], targets: list[Any]) -> None:
    """Refuse what would lose a tangent, or give it to the wrong value."""
    for i, x in enumerate(targets):
        if not isinstance(x, Tensor) or x.rank != like.rank:
            if inexact_layout(x) is not None:
                raise GradientError(
                    f"{op.name}: {_name(op, args, x)} is {describe_value(x)}, and values with a tangent of {like.level!r} would "
                    f"be written to it: the tangent would be lost in silence. Call {op.schema.name}.functional, which returns "
                    "what is written; or pass dispatch.detach(...) of the values, where constants are meant.",
                    operator=op.name,
                )
        elif any(x is other for other in targets[:i]):
            raise GradientError(
                f"{op.name}: one value was given for two arrays that are written, {_name(op, args, x)} among them. "
                "Give each its own.",
                operator=op.name,
            )
    for argument, value in zip(op.schema.arguments, args, strict=True):
        if type(value) is dict and argument.is_write and any(x is item for x in targets for item in arrays(value)):
            raise GradientError(
                f"{op.name}: argument {argument.name!r} is a dict that holds values with a tangent, and is written. Forward "
                "mode follows writes to arrays and to lists of arrays: pass a list.",
                operator=op.name,
            )


def _name(op: OpOverload, args: tuple[Any, ...], x: Any) -> str:
    """What a value is called: `argument 'x'`."""
    found = [a.name for a, value in zip(op.schema.arguments, args, strict=True) if any(x is i for i in arrays(value))]
    return f"argument {found[0]!r}"
