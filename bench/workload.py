"""The kernels and statements that all peers run, on arrays of three float64.

A peer gives its array type and a function that makes an operator of a kernel.
"""

from collections.abc import Callable
from typing import Any

from bench.timing import Case

ARITIES = {"1 array": 1, "2 arrays": 2, "5 arrays": 5, "14 arrays": 14, "50 arrays": 50}

# In the order of the table. The tracked ones run on a product that saves its inputs, the transforms on `add`.
NAMES = (
    *ARITIES,
    "2 arrays, add",
    "2 arrays by keyword",
    "2 arrays, 2 options",
    "options by keyword",
    "options left out",
    "mutable",
    "tracked forward",
    "forward + backward",
    "jvp",
    "vmap",
    "fake",
    "mode",
)

Function = Callable[..., Any]
Make = Callable[[str, Function], Any]


def parameters(arity: int) -> list[str]:
    """The arrays' names: x0, x1, ...

    >>> parameters(2)
    ['x0', 'x1']
    """
    return [f"x{place}" for place in range(arity)]


def constant(arity: int, array: type, result: object, options: str = "") -> Function:
    """A kernel that returns one array, none of its arguments, and does nothing else: what is measured is the call around it."""
    declared = ", ".join(f"{name}: Array" for name in parameters(arity))
    scope: dict[str, Any] = {"Array": array, "result": result, "__name__": __name__}
    exec(f"def kernel({declared}{options}) -> Array:\n    return result", scope)
    kernel: Function = scope["kernel"]
    return kernel


def plain(make: Make, array: type, ones: Callable[[], Any]) -> dict[str, Case]:
    """The calls without a gradient or a transform, on operators that ``make(name, kernel)`` makes."""
    result = ones()
    cases = {}
    for name, arity in ARITIES.items():
        kernel = constant(arity, array, result)
        names = {"op": make(f"plain_{arity}", kernel), "kernel": kernel}
        names |= {parameter: ones() for parameter in parameters(arity)}
        arguments = ", ".join(parameters(arity))
        cases[name] = Case(f"op({arguments})", names, f"kernel({arguments})")
        if arity == 2:
            cases["2 arrays by keyword"] = Case("op(x0=x0, x1=x1)", names, "kernel(x0=x0, x1=x1)")
    kernel = constant(2, array, result, ", alpha: float = 1.0, beta: float = 2.0")
    names = {"op": make("options", kernel), "kernel": kernel, "x0": ones(), "x1": ones()}
    for name, options in (
        ("2 arrays, 2 options", ", 3.0, 4.0"),
        ("options by keyword", ", alpha=3.0, beta=4.0"),
        ("options left out", ""),
    ):
        cases[name] = Case(f"op(x0, x1{options})", names, f"kernel(x0, x1{options})")
    return cases


def save_inputs(ctx: Any, inputs: Any, output: Any) -> None:
    """The `setup_context` of a product, as the documentation of torch.library and ours have it."""
    ctx.save_for_backward(*inputs)


def pull_product(ctx: Any, g: Any) -> Any:
    """The `backward` of a product."""
    x0, x1 = ctx.saved_tensors
    return g * x1, g * x0


def added(op: Function, kernel: Function, ones: Callable[[], Any]) -> dict[str, Case]:
    """The plain call of an operator whose kernel is the library's own addition."""
    return {
        "2 arrays, add": Case("op(x0, x1)", {"op": op, "kernel": kernel, "x0": ones(), "x1": ones()}, "kernel(x0, x1)")
    }
