"""Programs at random: source of Python that computes, writes in place and through views, packs and nests.

Each is a function of two arrays that returns one number, written with `np`, `grad`, `vmap` and `jvp`, whatever these names
stand for: NumPy and this package, or torch in NumPy's names. While it is made it runs on plain arrays, so that every line fits.
"""

import re
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dispatch

SHAPES = ((3,), (2, 3))  # of the two arguments
MOST_LINES = 14
OURS = {"np": np, "grad": dispatch.grad, "vmap": dispatch.vmap, "jvp": dispatch.jvp}

UNARY = ("np.sin({x})", "np.tanh({x})", "np.cos({x}) * 0.7", "{x} * {x}", "-{x}", "np.exp(np.sin({x}))", "1.5 - {x}", "{x} / 1.7")
BINARY = (
    "{x} + {y}", "{x} * {y}", "{x} - 0.5 * {y}", "np.where({x} > 0.1, {x}, {y})", "np.where({x} > {y}, {y}, {x} * 2.0)",
    "{x} / (2.0 + np.sin({y}))",
)  # fmt: skip
REDUCED = ("np.sum({x})", "np.sum({x}, axis=0)", "np.mean({x}, axis=-1)", "np.sum({x}, axis=0, keepdims=True)")
VIEWS = {  # by the number of axes
    1: ("{x}[1:]", "{x}[::2]", "{x}[::-1]", "{x}[None]", "{x}[...]", "{x}[1:2]"),
    2: ("{x}[0]", "{x}[:, 1:]", "np.transpose({x})", "{x}[1:, ::2]", "{x}[:, 0]", "{x}[None, 1]", "np.swapaxes({x}, 0, 1)"),
}
COPIES = {1: ("{x}[[0, 0]]", "np.stack([{x}, {x} * 2.0])"), 2: ("np.stack([{x}[0], {x}[-1]])", "{x} @ np.transpose({x})")}
PLACES = {  # of a write
    1: ("[0]", "[-1]", "[1:]", "[:]", "[::2]", "[[0]]"),
    2: ("[0]", "[:, 0]", "[0, 1:]", "[...]", "[1:]", "[[0], [1]]", "[:, ::-1]"),
}
WRITES = ("{x}{i} = {y}", "{x}{i} += {y}", "{x}{i} *= {y}", "{x} *= 0.6", "{x} += {y}", "{x}{i} = 0.3", "{x}{i} = np.sin({x}{i})")
NESTED = (
    "grad(lambda u: np.sum(np.sin(u) * {y}))({x})",
    "jvp(lambda u: np.sin(u) * {y}, ({x},), ({x} * 0.5,))[1]",
    "grad(lambda u: np.sum(jvp(np.sin, (u,), ({x},))[1]))({x} + 0.1)",
    "grad(lambda d: np.sum(d['a'] * np.sin(d['b'][0])))({{'a': {x}, 'b': [{y}]}})['b'][0]",
)
MAPPED = (
    "vmap(lambda r: np.sin(r) * 2.0)({x})",
    "vmap(lambda r: r * np.sum({y}))({x})",
    "vmap(grad(lambda r: np.sum(np.sin(r) * r)))({x})",
    "vmap(lambda d: d['a'] * d['b'])({{'a': {x}, 'b': {x}}})",
)
PACKED = ("{{'a': {x}, 'b': ({y}, [{x}])}}['b'][1][0] + 0.1", "[{x}, {y}][0] * 0.9", "dict(p={x}, q={y}).pop('p') - 0.2")


def program(seed: int, count: int) -> str:
    """The source of `program(x0, x1)`, of so many lines at most; with a smaller count it is the beginning of the same."""
    pick = Random(seed).choice
    rng = np.random.default_rng(0)
    lines = ["v0 = x0 * 1.0", "v1 = x1 * 1.0"]
    scope: dict[str, Any] = OURS | {"x0": rng.normal(size=SHAPES[0]), "x1": rng.normal(size=SHAPES[1])}
    for line in lines:
        exec(line, scope)
    names = ["v0", "v1"]
    for _ in range(count):
        x, y = pick(names), pick(names)
        ndim = scope[x].ndim
        kinds = [UNARY, BINARY, BINARY, PACKED, NESTED]
        if ndim:  # a NumPy scalar cannot be written to
            kinds += [WRITES, WRITES, WRITES, REDUCED, VIEWS[ndim], VIEWS[ndim], COPIES[ndim], MAPPED]
        pattern = pick(pick(kinds))
        text = pattern.format(x=x, y=y, i=pick(PLACES.get(ndim, ("",))))
        name = f"v{len(names)}"
        line = text if pattern in WRITES else f"{name} = {text}"
        if not fits(line, scope):
            continue
        if pattern not in WRITES:
            if scope[name].ndim > 2 or not scope[name].size:
                del scope[name]
                continue
            names.append(name)
        lines.append(line)
    total = " + ".join(f"np.sum(np.sin({name}))" for name in names)
    body = "".join(f"    {line}\n" for line in [*lines, f"return {total}"])
    return f"def program(x0, x1):\n{body}"


def programs() -> st.SearchStrategy[str]:
    """Sources of programs; a seed makes more different ones than draws of each line would."""
    return st.builds(program, st.integers(0, 2**63 - 1), st.integers(4, MOST_LINES))


def writing(source: str) -> str:
    """A program that writes to its arguments, and returns every value beside the number: arguments, views of them, and others."""
    lines = source.replace("v0 = x0 * 1.0", "v0 = x0").replace("v1 = x1 * 1.0", "v1 = x1").splitlines()
    names = dict.fromkeys(re.findall(r"^    (v\d+) = ", source, re.MULTILINE))
    return "\n".join([*lines[:-1], f"{lines[-1]}, {', '.join(names)}"]) + "\n"


def fits(line: str, scope: dict[str, Any]) -> bool:
    """Run a line on plain arrays; False, with nothing changed, where NumPy refuses it."""
    before = {name: np.copy(x) for name, x in scope.items() if isinstance(x, np.ndarray)}
    try:
        exec(line, scope)
    except Exception:
        for name, x in before.items():
            if scope[name].flags.writeable:
                scope[name][...] = x
        return False
    return True


def function(source: str, scope: dict[str, Any]) -> Any:
    """The function of a program's source."""
    scope = dict(scope)
    exec(source, scope)
    return scope["program"]


def in_torch() -> dict[str, Any]:
    """What the names of a program stand for in torch."""
    import torch

    def reduced(function: Any) -> Any:
        return lambda x, axis=None, keepdims=False: function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

    names = {
        "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "exp": torch.exp, "stack": torch.stack,
        "sum": reduced(torch.sum), "mean": reduced(torch.mean),
        "where": torch.where,
        "transpose": lambda x: x.permute(*reversed(range(x.ndim))),
        "swapaxes": torch.swapaxes,
    }  # fmt: skip
    return {"np": SimpleNamespace(**names), "grad": torch.func.grad, "vmap": torch.vmap, "jvp": torch.func.jvp}
