"""Exports an operator to torch: registers it with torch.library, and makes the function that is called.

What torch asks beside the value, a gradient, a tangent or a batch, is an operator too (derived_operators.py), and is exported
the same way when it is first asked for. So `torch.ops.ns.name` has a fake rule, a gradient and a vmap rule, which is what
torch.compile and torch.export use. The callable adds a `torch.autograd.Function`, which torch.func goes through, where the
bare operator raises, or returns a tangent of zeros.

In eager mode a call whose gradient is wanted is recorded by our tape, inside of torch's, so that a backward does not run the
forward again. A call is seen by torch's modes and traces: the kernel is called without torch's dispatcher only where nothing
is in between.

More than 350 lines, because an operator, its calls and torch's functions for them refer to each other.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from inspect import signature
from typing import Any

from ..core import OpOverload
from ..core.optional import require
from ..core.pytree import leaves, mapped
from ..errors import ArgumentError, NoRuleError, UnsupportedError
from ..schema.schema import Argument
from .derived_operators import batch_of, called, kept_on, pullback_of, pushforward_of, recorded
from .places import Place
from .torch_sizes import TorchSizes
from .torch_values import Plan, Tensor, array_of, check_namespace, tensor_of, watched_array_of

torch = require("torch", "torch", needed_by="dispatch.interop.torch")

FIRST = tuple(map(Place, range(16)))

# Torch tells by no public name what is turned on.
_dispatch_modes, _function_modes = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack  # noqa: SLF001
_transforms_active, forward_ad = torch._C._are_functorch_transforms_active, torch.autograd.forward_ad  # noqa: SLF001
_is_tracing = torch._C._is_tracing  # noqa: SLF001

_libraries: dict[str, tuple[str, Any, list["Exported"]]] = {}  # by name: the text, the torch library, who answers for it now


def exported(op: OpOverload) -> "Exported":
    """What an operator is to torch, made once for each definition of the operator."""
    return kept_on(op, "__torch__", Exported)


class Exported:
    """One operator as torch knows it."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op
        self.plan = Plan(op)
        self.is_node = False
        self.node: Callable[[Sequence[Any]], Any] = lambda args: called(op, [self.plan.untraceable(x) for x in args])
        self.instead = threading.local()  # `run`: what the kernel does in place of the operator, for one call
        self.overload = self._defined()
        self.functional = exported(op.functional) if self.plan.written else None  # here, for torch.compile cannot look into it
        self.function = _function_of(self)

    def let_into_graphs(self) -> None:
        """Let torch.compile make a node of a call; only when asked, for torch takes a second to load what compiles."""
        if not self.is_node:
            self.is_node = True
            torch.compiler.allow_in_graph(self.op)
            torch.compiler.allow_in_graph(self.node)

    def _defined(self) -> Any:
        """Torch's operator, defined unless one of this name and schema is."""
        schema, text = self.op.schema, self.plan.text
        known = _libraries.get(schema.full_name)
        if known is not None and known[0] != text:
            known[1]._destroy()  # noqa: SLF001  torch's own way to take a definition back
            known = None
        if known is None:
            check_namespace(schema.full_name)
            library = torch.library.Library(schema.namespace, "FRAGMENT")
            known = _libraries[schema.full_name] = text, library, [self]
            self._register(library, known[2])
        known[2][0] = self
        packet = getattr(getattr(torch.ops, schema.namespace), schema.name)
        return getattr(packet, schema.overload or "default")

    def _register(self, library: Any, current: list["Exported"]) -> None:
        """Define the operator; what is registered asks `current`, so that a new definition need not be registered again."""
        schema = self.op.schema
        name = ".".join(filter(None, (schema.name, schema.overload)))
        library.define(self.plan.text, tags=(torch.Tag.pt2_compliant_tag,))
        library.impl(name, lambda *args, **keywords: current[0].kernel(args, keywords), "CompositeExplicitAutograd")
        qualified = f"{schema.namespace}::{name}"
        torch.library.register_fake(qualified, lambda *args, **keywords: current[0].fake(args, keywords), lib=library)
        if self.plan.written:
            return

        def setup_context(ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None) -> None:
            current[0].keep(ctx, inputs, keyword_only_inputs or {}, output)

        def backward(ctx: Any, *grads: Any) -> Any:
            return current[0].pulled(ctx, grads)

        def rule(info: Any, in_dims: Any, *args: Any, **keywords: Any) -> Any:
            return current[0].batched(in_dims, args, keywords)

        torch.library.register_autograd(qualified, backward, setup_context=setup_context, lib=library)
        torch.library.register_vmap(qualified, rule, lib=library)

    @cached_property
    def pullback(self) -> "Exported":
        """The operator of its gradients."""
        return exported(pullback_of(self.op))

    # -- what torch's dispatcher calls ---------------------------------------------------------------------------------------

    def kernel(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Run the operator on the arrays of tensors."""
        if self.plan.written and torch.is_grad_enabled():
            values = self.plan.filled(args, keywords)
            if _tracked([values[i] for i in self.plan.written]):
                raise UnsupportedError(
                    f"{self.op.name} was called by torch.ops, and writes to a tensor that requires a gradient, which would be "
                    "lost: torch records no write of such an operator. Call what dispatch.interop.torch.export returns, or "
                    "write under torch.no_grad().",
                    operator=self.op.name,
                )
        return self.computed(self.plan.filled(args, keywords), self.instead.__dict__.pop("run", None))

    def computed(self, values: Sequence[Any], run: Callable[[list[Any]], Any] | None) -> Any:
        """Torch's results of torch's arguments."""
        plan = self.plan
        if not plan.written:
            out = called(self.op, plan.ours(values, array_of)) if run is None else run(plan.ours(values, watched_array_of))
            return plan.results(out, tensor_of)
        given = list(values)
        for i in plan.written:
            given[i] = mapped(self._writable, values[i])
        out = called(self.op, plan.ours(given, array_of))
        for i in plan.written:
            for x, inside in zip(leaves(values[i]), leaves(given[i]), strict=True):
                if inside is not x:
                    x.copy_(inside)
                elif x is not None and not x.is_inference():  # what our kernel wrote, torch has not seen
                    torch.autograd.graph.increment_version(x)
        return plan.results(out, tensor_of)

    def _writable(self, x: Any) -> Any:
        """A tensor that a kernel may write to: itself, or, where its memory holds other numbers, one that is copied back."""
        if x is None:
            return None
        if torch._debug_has_internal_overlap(x) == 1:  # noqa: SLF001  torch asks this of its own; 1 is yes
            raise ArgumentError(
                f"{self.op.name} writes to a tensor of which several elements are one in memory, an expanded one say. "
                "Write x.clone() before.",
                operator=self.op.name,
            )
        if x.is_inference() and not torch.is_inference_mode_enabled():
            raise ArgumentError(
                f"{self.op.name} writes to a tensor of torch.inference_mode(), outside of that. Write x.clone() before.",
                operator=self.op.name,
            )
        return x.resolve_conj().resolve_neg()

    def fake(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Run the operator's shape rule."""
        sizes = TorchSizes(self.op.name)
        values = self.plan.ours(self.plan.filled(args, keywords), sizes.fake)
        with sizes.mode:
            out = called(self.op, mapped(sizes.ours, values))
        sizes.hold_guards()
        return mapped(sizes.theirs, self.plan.results(out, sizes.tensor))

    def keep(self, ctx: Any, inputs: Any, keywords: Mapping[str, Any], output: Any) -> None:
        """Keep for a backward what was called, for those who call `torch.ops.ns.name`."""
        call = Call(self, self.plan.filled(inputs, keywords))
        ctx.save_for_backward(*call.tensors)
        ctx.call, call.tensors = call, []
        call.apart(output)
        ctx.places = [_places(x) for x in call.values[: len(inputs)]]

    def pulled(self, ctx: Any, grads: Any) -> Any:
        """The gradients of the inputs, structured as they are."""
        call, needs = ctx.call, ctx.needs_input_grad
        flat = [g for x in grads for g in (x if isinstance(x, (list, tuple)) else [x])]
        flat = [g for g, x in zip(flat, leaves(call.out), strict=True) if type(x) is Place]
        wanted: list[int] = []
        for places, need in zip(ctx.places, needs, strict=True):
            if places is not None:
                listed, asked = (places, need) if isinstance(places, list) else ([places], [need])
                wanted += [place.number for place, is_asked in zip(listed, asked, strict=True) if is_asked]
        found = dict(zip(wanted, call.gradients(ctx.saved_tensors, flat, wanted), strict=True)) if wanted else {}

        def of(place: Place | None) -> Any:
            return None if place is None else found.get(place.number)

        made = [[of(place) for place in x] if isinstance(x, list) else of(x) for x in ctx.places]
        return made[0] if len(made) == 1 else tuple(made)

    def batched(self, in_dims: Any, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """The batching rule: the results have the batch first."""
        call = Call(self, self.plan.filled(args, keywords))
        dims: list[int] = []
        for x, dim in zip(call.values, [*in_dims, *[None] * len(call.values)], strict=False):
            listed = x if isinstance(x, list) else [x]
            given = dim if isinstance(dim, (list, tuple)) else [dim] * len(listed)
            dims += [-1 if d is None else d for y, d in zip(listed, given, strict=True) if type(y) is Place]
        out = exported(batch_of(self.op)).invoke([*call.put(call.tensors), dims])
        return out, mapped(lambda x: 0 if isinstance(x, Tensor) else None, out)

    # -- what the callable calls ---------------------------------------------------------------------------------------------

    def __call__(self, args: Sequence[Any]) -> Any:
        """Run a call with the operator's own arguments, in the order of its schema."""
        plan = self.plan
        if torch.compiler.is_dynamo_compiling() and (plan.packed or _transforms_active()):
            # a node of the graph, which torch.compile does not look into
            return self.node([plan.traceable(x) for x in args] if plan.records else args)
        out = self.invoke(plan.theirs(args))
        if not plan.rest and not plan.written:
            return out
        return plan.returned(plan.opened(out), args)

    def invoke(self, values: list[Any]) -> Any:
        """Run a call with torch's arguments, by the way that keeps what is asked of it; torch's results."""
        through = _transforming()
        if torch.compiler.is_compiling() and not through:
            if self.plan.written and torch.is_grad_enabled() and _tracked(values):
                return self._by_functional(values)
            return self.dispatched(values)
        if not through and not (torch.is_grad_enabled() and _tracked(values)):
            return self.run(values)
        if self.plan.written:
            return self._by_functional(values)
        call = Call(self, values)
        tensors, call.tensors = call.tensors, []
        flat = (Transformed if through else Recorded).apply(call, *tensors)
        return call.together(flat)

    def run(self, values: list[Any]) -> Any:
        """Call torch's operator; its kernel itself where nothing in between would see the call."""
        return self.computed(values, None) if _nothing_between(values) else self.dispatched(values)

    def dispatched(self, values: list[Any]) -> Any:
        """Call torch's operator by its dispatcher."""
        plan = self.plan
        if not plan.keywords:
            return self.overload(*values)
        args, keywords = plan.split(values)
        return self.overload(*args, **keywords)

    def run_as(self, values: list[Any], run: Callable[[list[Any]], Any]) -> Any:
        """Call torch's operator, whose kernel calls a function in place of the operator if it is reached."""
        if _nothing_between(values):
            return self.computed(values, run)
        self.instead.run = run
        try:
            return self.dispatched(values)
        finally:
            self.instead.__dict__.pop("run", None)

    def _by_functional(self, values: list[Any]) -> Any:
        """Write what the functional form returns, by torch's own `copy_`, which has a gradient."""
        form = self.functional
        assert form is not None
        given = list(values)
        for i in self.plan.written:  # a copy, for what is saved is not to be the tensor that is written to
            given[i] = [_copy(x) for x in values[i]] if isinstance(values[i], (list, tuple)) else _copy(values[i])
        outputs = form.plan.opened(form.invoke(given))
        count = len(self.plan.written)
        for i, new in zip(self.plan.written, outputs[len(outputs) - count :], strict=True):
            pairs = [(values[i], new)] if not isinstance(new, (list, tuple)) else zip(values[i], new, strict=True)
            for x, y in pairs:
                if x is not None:
                    x.copy_(y)
        rest = outputs[: len(outputs) - count]
        return rest[0] if len(rest) == 1 else tuple(rest) if rest else None


class Call:
    """A call of torch's operator, taken apart: `values` with a `Place` for each tensor, and the tensors."""

    def __init__(self, of: Exported, values: Sequence[Any]) -> None:
        self.of = of
        if of.plan.bare:
            self.tensors, self.values = list(values), list[Any](FIRST[: len(values)])
        else:
            self.tensors = []
            self.values = [_taken(x, self.tensors) for x in values]
        self.out: Any = None  # the result, with a `Place` for each of its tensors
        self.floats: list[int] = []
        self.pull: Callable[[Sequence[Any]], list[Any]] | None = None
        self.wrt: list[int] = []

    def put(self, tensors: Sequence[Any]) -> list[Any]:
        """The values with these tensors."""
        if self.of.plan.bare:
            return list(tensors)
        return [tensors[x.number] if type(x) is Place else _put(x, tensors) for x in self.values]

    def apart(self, out: Any) -> tuple[Any, ...]:
        """The tensors of a result, of which the rest is kept."""
        if type(out) is Tensor:  # the usual case, without a walk
            self.out = FIRST[0]
            self.floats = [0] if out.is_floating_point() or out.is_complex() else []
            return (out,)
        flat: list[Any] = []
        self.out = _taken(out, flat)
        self.floats = [i for i, x in enumerate(flat) if x.is_floating_point() or x.is_complex()]
        return tuple(flat)

    def together(self, flat: Sequence[Any]) -> Any:
        """The result, with these tensors."""
        if self.out is FIRST[0]:
            return flat[0]
        return _put(self.out, flat)

    def record(self, values: list[Any]) -> Any:
        """Run the operator on our tape."""
        out, self.pull = recorded(self.of.op, values, self.wrt)
        return out

    def gradients(self, tensors: Sequence[Any], grads: Sequence[Any], wrt: Sequence[int]) -> list[Any]:
        """The gradients of some tensors, out of those of all results."""
        try:
            return self._gradients(tensors, grads, wrt)
        except NoRuleError as error:
            error.add_note("Of a tensor of torch the constant is x.detach().")
            raise

    def _gradients(self, tensors: Sequence[Any], grads: Sequence[Any], wrt: Sequence[int]) -> list[Any]:
        of, pull = self.of.pullback, self.pull
        cotangents = [grads[i] for i in self.floats]
        if pull is None or torch.is_grad_enabled() or torch.compiler.is_compiling() or _transforming():
            found: list[Any] = of.invoke([*self.put(tensors), cotangents, list(wrt)])
        elif _nothing_between(cotangents):
            found = [tensor_of(x) for x in pull([array_of(g) for g in cotangents])]
        else:
            found = of.run_as([*self.put(tensors), cotangents, list(wrt)], lambda args: pull(args[-2]))
        return found


def _taken(x: Any, tensors: list[Any]) -> Any:
    """A value with a `Place` for each tensor, which are added to a list."""
    if isinstance(x, Tensor):
        tensors.append(x)
        return FIRST[len(tensors) - 1] if len(tensors) <= len(FIRST) else Place(len(tensors) - 1)
    # no closure: it would hold itself, and the tensors
    if isinstance(x, list):
        return [_taken(y, tensors) for y in x]
    return tuple([_taken(y, tensors) for y in x]) if isinstance(x, tuple) else x


def _put(x: Any, tensors: Sequence[Any]) -> Any:
    kind = type(x)
    if kind is Place:
        return tensors[x.number]
    return kind([_put(y, tensors) for y in x]) if kind is list or kind is tuple else x


def _places(x: Any) -> Any:
    """The place of a tensor, or those of a list of tensors, as torch sees such a list: an empty one is one too."""
    if isinstance(x, list):
        return x if all(type(y) is Place for y in x) else None
    return x if type(x) is Place else None


def _copy(x: Any) -> Any:
    return None if x is None else x.clone()


def _tracked(values: Sequence[Any]) -> bool:
    for x in values:
        if isinstance(x, Tensor):
            if x.requires_grad:
                return True
        elif isinstance(x, (list, tuple)) and _tracked(x):
            return True
    return False


def _nothing_between(values: Sequence[Any]) -> bool:
    """Whether torch's dispatcher would go straight to the kernel: no mode, no trace, tensors of no other class or device."""
    if _dispatch_modes() or _function_modes() or _is_tracing():
        return False
    for x in values:
        kind = type(x)
        if kind is Tensor and x.is_cpu:
            continue
        if kind is list:
            if not _nothing_between(x):
                return False
        elif isinstance(x, Tensor) and not (kind is torch.nn.Parameter and x.is_cpu):
            return False
    return True


def _transforming() -> bool:
    """Whether torch.func, or forward mode, is on: what torch's operators of Python do not go through."""
    return bool(_transforms_active()) or forward_ad._current_level >= 0  # noqa: SLF001


# What torch.autograd.Function derives from: its `apply` is in C, and knows nothing of torch.func, where Recorded is not used.
class Recorded(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc, name-defined]  # noqa: SLF001
    """A call in eager mode whose gradient may be asked for."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
        ctx.call = call
        ctx.save_for_backward(*tensors)  # so that torch tells when one was written to meanwhile
        call.wrt = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if need]
        return call.apart(call.of.run_as(call.put(tensors), call.record))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call = ctx.call
        found: list[Any] = [None] * len(ctx.needs_input_grad)
        for i, grad in zip(call.wrt, call.gradients(ctx.saved_tensors, grads, call.wrt), strict=True):
            found[i + 1] = grad
        return tuple(found)


class Transformed(torch.autograd.Function):  # type: ignore[misc, name-defined]
    """A call inside of torch.func's transforms, or with tangents."""

    @staticmethod
    def forward(call: Call, *tensors: Any) -> Any:
        return call.apart(call.of.run(call.put(tensors)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        call = ctx.call
        found: list[Any] = [None] * len(ctx.needs_input_grad)
        wrt = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if need]
        for i, grad in zip(wrt, call.gradients(ctx.saved_tensors, grads, wrt), strict=True):
            found[i + 1] = grad
        return tuple(found)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        call = ctx.call
        wrt = [i for i, t in enumerate(tangents) if t is not None]
        of = exported(pushforward_of(call.of.op))
        moved = iter(of.invoke([*call.put(ctx.saved_tensors), [tangents[i] for i in wrt], wrt]))
        count = sum(type(x) is Place for x in leaves(call.out))
        return tuple([next(moved) if i in call.floats else None for i in range(count)])

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Call, *tensors: Any) -> Any:  # noqa: ARG004
        dims = [-1 if dim is None else dim for dim in in_dims[1:]]
        flat = call.apart(exported(batch_of(call.of.op)).invoke([*call.put(tensors), dims]))
        return flat, (0,) * len(flat)


class TorchFunction:
    """What `export` returns: an operator as torch programs call it. Its classes have the parameters of one operator each.

    Attributes
    ----------
    op : torch._ops.OpOverload
        The operator of torch.
    """

    def __init__(self, of: Exported) -> None:
        self.op = of.overload
        self.exports = of.op
        self.__name__ = self.__qualname__ = of.op.schema.name
        self.__doc__ = vars(of.op).get("__doc__")
        self.__module__ = vars(of.op).get("__module__") or __name__
        self.__signature__ = signature(of.op)

    def __repr__(self) -> str:
        return f"<{self.exports.name} exported to torch>"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return loaded, (self.exports,)


def loaded(op: Any) -> Any:
    """Export an operator that was pickled; one that is not known in this process stays what says so when it is called."""
    if not isinstance(op, OpOverload):
        return op
    found = exported(op)
    found.let_into_graphs()
    return found.function


def _function_of(of: Exported) -> TorchFunction:
    """The function with the operator's own parameters; torch.compile looks into it, and so it is plain Python."""
    schema = of.op.schema
    scope: dict[str, Any] = {"__of__": of}

    def parameter(i: int, a: Argument) -> str:
        if not a.has_default:
            return a.name
        scope[f"__default_{i}__"] = a.default
        return f"{a.name}=__default_{i}__"

    words: list[str] = []
    for i, a in enumerate(schema.arguments):
        before = schema.arguments[i - 1] if i else None
        if before is not None and before.positional_only and not a.positional_only:
            words.append("/")
        if a.kwarg_only and not (before is not None and before.kwarg_only):
            words.append("*")
        words.append(parameter(i, a))
    if schema.arguments and schema.arguments[-1].positional_only:
        words.append("/")
    given = ", ".join(a.name for a in schema.arguments)
    exec(f"def __call__({', '.join(['__exported__', *words])}):\n    return __of__([{given}])", scope)
    scope["__call__"].__qualname__ = schema.name  # for messages about arguments
    function: TorchFunction = type("TorchFunction", (TorchFunction,), {"__call__": scope["__call__"]})(of)
    return function
