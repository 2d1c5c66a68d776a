"""The form `implicit=`: an operator is defined by an equation, its output `y` solves `F(y, *args) == 0`.

By the implicit function theorem, wherever `dF/dy` is invertible,

    forward     dy = -(dF/dy)^-1 (dF/dargs dargs)
    backward    u = (dF/dy)^-H g,    the gradient of args is -(dF/dargs)^H u

so each direction takes one linear solve, and how the operator found `y` does not matter. The solve is an operator itself, of
which the derivative is again a solve: of `A x = b` it is `dx = A^-1 (db - dA x)` and `b' = A^-H x'`, `A' = -b' x^H`. Therefore
derivatives of every order are right, and `solve` only ever gets plain arrays.

Source: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 15; JAX's `custom_root` and
`custom_linear_solve`, from which the convention `solve(A, b)` is; M. Giles, "Collected matrix derivative results for forward
and reverse mode algorithmic differentiation" (2008), section 2.3, for the solve.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, OpOverload, Tensor, is_array, wrap
from ...core.array_memory import inexact_layout
from ...core.pytree import items_of, mapped
from ...dispatcher.rule_parameters import by_position, check_parameters, parameter_names
from ...errors import DefinitionError, DispatchError, GradientError, kind_of
from ...layers.autograd import Rule, run_backward, track
from ...layers.autograd.derivative_sources import Form
from ...layers.autograd.layer import layer as tape_layer
from ...layers.derivatives import zeros
from ...layers.fake.layer import layer as fake_layer
from ...layers.jvp import DualTensor
from ...layers.jvp.layer import layer as jvp_layer
from ...layers.opaque_rules import apart, together
from ...layers.vmap import vmap
from ...layers.vmap.layer import layer as vmap_layer
from ...operators.prims import broadcast_to, moveaxis, select, stack
from ...operators.registry import build
from ...schema.schema import Schema
from ...schema.types import TENSOR
from .argument_selection import check_function
from .by_columns import outputs_of

Function = Callable[..., Any]
UNSOLVED = 0.05  # of the residual beside the output: what no output leaves that solves the equation in two digits


@dataclass(slots=True)
class System:
    """A linear map that depends on some arrays, its adjoint, and a function that solves linear systems of either."""

    apply: Function  # apply(x, *at)
    adjoint: Function
    solve: Function | None
    name: str  # of the operator that this is about

    @property
    def transposed(self) -> "System":
        return System(self.adjoint, self.apply, self.solve, self.name)


def make(op: OpOverload, given: Any, rule: Rule | None) -> Form:
    """Make the form `implicit=`."""
    outputs = op.schema.returns[: len(op.schema.returns) - op.outputs.residual]
    if [r.type for r in outputs] != [TENSOR]:
        raise DefinitionError(
            f"{op.name}: implicit= is for operators that return one array, the solution of one equation. Give a backward; or "
            "stack the outputs.",
            operator=op.name,
        )
    residual, solve = given if isinstance(given, (tuple, list)) and len(given) == 2 else (given, None)
    check_function(op, "the residual of implicit=", residual)
    if solve is not None:
        check_function(op, "the solve of implicit=", solve)
    names = parameter_names(residual) or ()
    if names[:1] and names[0] in op.arguments.names:
        raise DefinitionError(
            f"{op.name}: the residual of implicit= takes ({', '.join(names)}), and is called with the output first, then the "
            f"arguments: lambda y, {', '.join(op.arguments.names)}: ... .",
            operator=op.name,
        )
    check_parameters(op, residual, leading=1, what="residual")
    function = by_position(op, residual, leading=1)

    def equation(at: list[int], rest: Any) -> Function:
        """The residual as a function of the output and the arrays alone."""

        def of(y: Any, *arrays: Any) -> Any:
            found = function(y, *together(arrays, at, rest))
            if getattr(found, "shape", None) != y.shape:
                got = f"of shape {found.shape}" if hasattr(found, "shape") else kind_of(found)
                raise GradientError(
                    f"{op.name}: its residual gave {got}, and the output has shape {y.shape}. A residual is one equation for "
                    "each element of the output.",
                    operator=op.name,
                )
            return found

        return of

    def system(F: Function) -> System:
        return System(
            lambda x, y, *rest: pushed_forward(lambda z: F(z, *rest), [y], [x]),
            lambda x, y, *rest: pulled_back(lambda z: F(z, *rest), [y], x)[0],
            solve,
            op.name,
        )

    held: list[bool] = []  # of one item, once an output was seen to solve the equation

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.given, ctx.found = inputs, output

    def backward(ctx: Any, g: Any) -> Any:
        y = ctx.found
        arrays, at, rest = apart(tuple(ctx.given))
        F = equation(at, rest)
        if not held:
            _hold(op, F, y, arrays, held)
        u = linear_solve(system(F).transposed, g, [y, *arrays], 0)
        grads = pulled_back(lambda *xs: F(y, *xs), arrays, np.negative(u))
        return tuple(together(grads, at, mapped(lambda _: None, rest)))

    def jvp(tangents: Any, output: Any, *args: Any) -> Any:
        y = outputs_of(op, output)
        arrays, at, rest = apart(args)
        flat = _matching(args, tangents)
        F = equation(at, rest)
        if not held:
            _hold(op, F, y, arrays, held)
        change = pushed_forward(lambda *xs: F(y, *xs), arrays, flat)
        return linear_solve(system(F), np.negative(change), [y, *arrays], 0)

    return Form(Rule(backward, setup_context), jvp, residual)


def _matching(x: Any, t: Any) -> list[Any]:
    """Return the tangents of the arrays in some arguments, None for arrays without one."""
    items = items_of(x)
    if items is not None:
        parts = [None] * len(items) if t is None else items_of(t) or ()
        return [found for item, part in zip(items, parts, strict=True) for found in _matching(item, part)]
    return [t] if is_array(x) else []


def _hold(op: OpOverload, F: Function, y: Any, arrays: Any, held: list[bool]) -> None:
    """Raise where the residual is as large at the output as elsewhere; what an output solves in some digits passes."""
    if not all([type(x) is np.ndarray for x in (y, *arrays)]):
        return
    try:
        with np.errstate(all="ignore"):
            here, there = (float(np.abs(F(at, *arrays)).max(initial=0.0)) for at in (y, y + 1 + np.abs(y)))
    except Exception:  # it refuses values that are no output: nothing is said then, and what is wrong with it the solve says
        here = there = 0.0
    if here > UNSOLVED * there:  # false where one is no number
        raise GradientError(
            f"{op.name}: the residual of implicit= is {here:.3g} at the operator's output, and {there:.3g} elsewhere. It is "
            "the equation that the output solves, 0 at the output: lambda y, a: y**3 - a for y = np.cbrt(a).",
            operator=op.name,
        )
    held.append(True)


def _linear_solve(system: System, b: Any, at: Any, leading: int) -> Any:
    """Return the solution of `A x == b` for plain arrays. `b` has `leading` axes of right-hand sides."""
    batch, shape = b.shape[:leading], b.shape[leading:]
    sides = np.reshape(b, (prod(batch), *shape))
    solve = system.solve
    if solve is None:
        found = _dense(lambda x: system.apply(x, *at), sides)
    else:
        found = np.zeros(sides.shape, b.dtype)
        for i, side in enumerate(sides):
            try:
                x = np.asarray(solve(lambda v: system.apply(v, *at), side))
            except DispatchError:
                raise
            except Exception as error:
                error.add_note(
                    f"{system.name}: the solve of implicit=(residual, solve) is called as solve(A, b), with A a function, "
                    "v -> A v."
                )
                raise
            if x.shape != side.shape:
                raise GradientError(
                    f"{system.name}: the solve of its implicit= returned {x.shape} as the shape of a solution, and the "
                    f"right-hand side has {side.shape}. Return x with A(x) == b, both of the output's shape.",
                    operator=system.name,
                )
            found[i] = x
    dtype = b.dtype if found.dtype.kind == b.dtype.kind else found.dtype
    return np.asarray(np.reshape(found, b.shape), dtype, order="C")


def _solution_shape(system: System, b: Any, at: Any, leading: int) -> Any:
    return np.empty_like(b, order="C")


def _dense(A: Function, sides: Any) -> Any:
    """Solve with the matrix of A.

    A complex system is solved as a real one of twice the size, so that A may be linear only over the real numbers.
    """
    count, n = len(sides), prod(sides.shape[1:])
    if not sides.size:
        return sides
    unit = np.eye(n, dtype=sides.dtype)
    units = np.concatenate([unit, 1j * unit]) if sides.dtype.kind == "c" else unit
    columns = np.reshape(np.stack([np.asarray(A(np.reshape(e, sides.shape[1:]))) for e in units]), (len(units), n))
    flat = np.reshape(sides, (count, n))
    if sides.dtype.kind != "c":
        return np.linalg.solve(columns.T, flat.T).T
    real = np.linalg.solve(
        np.concatenate([columns.real, columns.imag], axis=1).T, np.concatenate([flat.real, flat.imag], axis=1).T
    ).T
    return real[:, :n] + 1j * real[:, n:]


linear_solve = build(Schema.parse("(Any system, Tensor b, Tensor[] at, int leading) -> Tensor", name="forms::linear_solve"))
linear_solve.register_at(DispatchKey.CPU, _linear_solve)


def _applied(system: System, leading: int) -> Function:
    """Return a function that computes A(x) for each of the right-hand sides."""

    def applied(x: Any, *at: Any) -> Any:
        f = system.apply
        for _ in range(leading):
            f = vmap(f, (0, *(None,) * len(at)))
        return f(x, *at)

    return applied


def _setup_solve(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.system, _, ctx.at, ctx.leading = inputs
    ctx.x = output


def _solve_backward(ctx: Any, g: Any) -> Any:
    x, at = ctx.x, list(ctx.at)
    u = linear_solve(ctx.system.transposed, g, at, ctx.leading)
    apply = _applied(ctx.system, ctx.leading)
    return None, u, pulled_back(lambda *at: apply(x, *at), at, np.negative(u)), None


def _solve_jvp(tangents: Any, output: Any, system: System, b: Any, at: Any, leading: int) -> Any:
    apply = _applied(system, leading)
    change = pushed_forward(lambda *at: apply(output, *at), list(at), list(tangents[2]))
    return linear_solve(system, np.subtract(tangents[1], change), at, leading)


def _solve_batched(info: Any, in_dims: Any, system: System, b: Any, at: Any, leading: int) -> Any:
    _, of_b, of_at, _ = in_dims
    if of_at is None:  # one system, and many right-hand sides
        return linear_solve(system, moveaxis(b, of_b, 0), at, leading + 1), 0
    items = [
        linear_solve(
            system,
            b if of_b is None else select(b, of_b, i),
            [x if dim is None else select(x, dim, i) for x, dim in zip(at, of_at, strict=True)],
            leading,
        )
        for i in range(info.batch_size)
    ]
    return (stack(items, 0) if items else broadcast_to(b, (0, *b.shape)) if of_b is None else moveaxis(b, of_b, 0)), 0


fake_layer.attach(linear_solve, _solution_shape)
tape_layer.attach(linear_solve, _solve_backward, setup_context=_setup_solve)
jvp_layer.attach(linear_solve, _solve_jvp)
vmap_layer.attach(linear_solve, _solve_batched)


# -- a function of operators, differentiated both ways -------------------------------------------------------------------------


def pulled_back(f: Function, values: list[Any], cotangent: Any) -> list[Any]:
    """Return the gradient of each value, given the cotangent of `f(*values)`: zeros without dependence, None for integers."""
    with Level("pullback") as level:
        inside = [x if inexact_layout(x) is None else track(x, level) for x in values]
        out = f(*inside)
        found = {}
        if isinstance(out, Tensor) and out.level is level:
            found = run_backward((out.kept,), (cotangent,), level, False, False)
        return [
            None if x is value else found[x.kept] if x.kept in found else zeros(x.kept.layout, value)
            for x, value in zip(inside, values, strict=True)
        ]


def pushed_forward(f: Function, values: list[Any], tangents: list[Any]) -> Any:
    """Return the tangent of `f(*values)`, given a tangent for each value or None."""
    with Level("pushforward") as level:
        out = f(*[x if t is None else wrap(DualTensor, x, level, t) for x, t in zip(values, tangents, strict=True)])
        if isinstance(out, Tensor) and out.level is level:
            return out.kept
        return zeros((out.shape, out.dtype), out)
