"""One operator in every framework: fifteen operators of every kind, each in every column of the table in docs/interop.md.

A cell of the table calls an operator's samples in a framework. What comes out has the bits, shapes and dtypes of NumPy's, and gradients
differ from ours by 1e-12 at most. A cell that is empty has a reason in `REASONS`, and what is raised there instead; it is an error of
this table where nothing is.

`python -m tests.interop.conformance` runs every cell, and writes the table into the page; tests/interop/test_conformance.py holds each
cell, and the page, to what is here.
"""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve()
sys.path[:0] = [p for p in map(str, (HERE.parents[2], HERE.parents[1])) if p not in sys.path]  # as pytest's `pythonpath`

from conformance_operators import CASES, Call, Case  # noqa: E402

import dispatch  # noqa: E402
from dispatch.testing import gradcheck, gradgradcheck  # noqa: E402

PAGE = HERE.parents[2] / "docs" / "interop.md"
CLOSE = 1e-12

# -- what every column compares with: NumPy's values, and our gradients ------------------------------------------------------


def arrays_of(result: Any) -> list[Any]:
    """The arrays of a result of any framework, a number beside them left out; plain Python, for torch.compile."""
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in arrays_of(part)]
    return [result] if hasattr(result, "shape") else []


def held_equal(found: Any, expected: Any) -> None:
    """Bit-equal values of the same shapes, dtypes and number."""
    found, expected = ([np.asarray(x) for x in arrays_of(result)] for result in (found, expected))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert x.tobytes() == y.tobytes(), "not bit-equal"


def held_close(found: Sequence[Any], expected: Sequence[np.ndarray]) -> None:
    """Gradients of the same shapes and dtypes, equal to 1e-12."""
    assert len(found) == len(expected)
    for x, y in zip(map(np.asarray, found), expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=CLOSE, atol=CLOSE * max(1.0, np.abs(y).max(initial=0.0)))


def is_float(x: Any) -> bool:
    return hasattr(x, "shape") and "float" in str(x.dtype)


def called(case: Case, call: Call, op: Callable[..., Any]) -> Callable[..., Any]:
    """The call as a function of its floating-point arrays."""
    return lambda *floats: op(*call.with_floats(floats), **call.keywords)


def loss_of(case: Case, call: Call, op: Callable[..., Any]) -> Callable[..., Any]:
    """A number that depends on every float of every result, and not linearly, as a function of the call's floats."""
    f = called(case, call, op)

    def loss(*floats: Any) -> Any:
        outs = [x for x in arrays_of(f(*floats)) if is_float(x)]
        total = 0.0
        for i, x in enumerate(outs):
            total = total + ((x + 0.5 * i) * x * x).sum()
        return total

    return loss


def squared(gradients: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of the squares of gradients, whose own gradient is of second order."""
    return lambda *floats: sum([(g * g).sum() for g in gradients(*floats)])


@cache
def values(number: int, at: int) -> Any:
    """What NumPy's call returns."""
    case = CASES[number]
    call = case.calls[at]
    return called(case, call, case.op)(*call.floats)


@cache
def gradients(number: int, at: int, order: int = 1) -> tuple[np.ndarray, ...]:
    """The gradients of the loss of a call, or those of the sum of their squares."""
    case = CASES[number]
    call = case.calls[at]
    loss, every = loss_of(case, call, case.op), tuple(range(len(call.floats)))
    first = dispatch.grad(loss, every)
    return first(*call.floats) if order == 1 else dispatch.grad(squared(first), every)(*call.floats)


def batches(call: Call) -> list[np.ndarray]:
    """Three calls in one: each floating-point array, with other numbers in the second and third."""
    return [np.stack([x, 1.25 * x, 0.75 * x]) for x in call.floats]


@cache
def batched_values(number: int, at: int) -> list[np.ndarray]:
    """The arrays that the three calls return, stacked."""
    case = CASES[number]
    call = case.calls[at]
    each = [arrays_of(called(case, call, case.op)(*[x[i] for x in batches(call)])) for i in range(3)]
    return [np.stack(x) for x in zip(*each, strict=True)]


def every_call(case: Case) -> list[tuple[Call, int, int]]:
    """The calls of a case, each with the numbers by which what is expected of it is known."""
    number = next(i for i, other in enumerate(CASES) if other is case)
    return [(call, number, at) for at, call in enumerate(case.calls)]


# -- the columns -------------------------------------------------------------------------------------------------------------


def in_numpy(case: Case) -> None:
    """The values of the undecorated function, and gradients of two orders against finite differences."""
    for call, number, at in every_call(case):
        function = case.op.__wrapped__
        if call.loops:
            function = np.vectorize(function, signature=str(case.op.signature))
        plain = called(case, call, function)(*call.floats)
        held_equal(values(number, at), plain[:-1] if case.op.outputs.residual else plain)
        if case.differentiable:
            tracked = tuple([dispatch.tensor(x, requires_grad=True) for x in call.floats])
            assert gradcheck(loss_of(case, call, case.op), tracked)
            assert gradgradcheck(loss_of(case, call, case.op), tracked)


def tensors(call: Call) -> list[Any]:
    torch = import_module("torch")
    return [torch.from_numpy(x.copy()) for x in call.floats]


def torch_call(call: Call) -> Call:
    """The same call, its integer arrays tensors."""
    torch = import_module("torch")
    return call.with_integers(lambda x: torch.from_numpy(x.copy()))


def by_tape(loss: Callable[..., Any], floats: Sequence[Any]) -> list[Any]:
    """The gradients of a loss by torch's tape."""
    torch = import_module("torch")
    leaf = [x.detach().requires_grad_() for x in floats]
    return list(torch.autograd.grad(loss(*leaf), leaf))


def in_torch(case: Case) -> None:
    torch = import_module("torch")
    for plain, number, at in every_call(case):
        call = torch_call(plain)
        out = called(case, call, case.op)(*tensors(plain))
        assert {type(x) for x in arrays_of(out)} == {torch.Tensor}
        held_equal(out, values(number, at))
        if case.differentiable:
            held_close(by_tape(loss_of(case, call, case.op), tensors(plain)), gradients(number, at))


@contextmanager
def compiling() -> Any:
    """A torch.compile that has compiled nothing yet, and may meet sizes that depend on data."""
    torch = import_module("torch")
    torch._dynamo.reset()
    try:
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            yield partial(torch.compile, backend="aot_eager", fullgraph=True)
    finally:
        torch._dynamo.reset()


def in_torch_compile(case: Case) -> None:
    export = import_module("dispatch.interop.torch").export
    op = export(case.op)
    for plain, number, at in every_call(case):
        call = torch_call(plain)
        with compiling() as compile_:
            held_equal(compile_(called(case, call, op))(*tensors(plain)), values(number, at))
            if case.differentiable:
                held_close(by_tape(compile_(loss_of(case, call, op)), tensors(plain)), gradients(number, at))


def in_torch_func(case: Case) -> None:
    """`grad`, `grad` of `grad`, `jvp` and `vmap`."""
    torch = import_module("torch")
    op = import_module("dispatch.interop.torch").export(case.op)
    for plain, number, at in every_call(case):
        call, floats, every = torch_call(plain), tensors(plain), tuple(range(len(plain.floats)))
        if case.differentiable:
            loss = loss_of(case, call, op)
            first = torch.func.grad(loss, every)
            held_close(first(*floats), gradients(number, at))
            held_close(torch.func.grad(squared(first), every)(*floats), gradients(number, at, 2))
            _, slope = torch.func.jvp(loss, tuple(floats), tuple(floats))
            parts = [g * x for g, x in zip(gradients(number, at), plain.floats, strict=True)]
            size = sum([np.abs(x).sum() for x in parts])
            np.testing.assert_allclose(slope, sum([x.sum() for x in parts]), rtol=0, atol=CLOSE * size)
        if floats:
            batched = torch.vmap(lambda *x: tuple(arrays_of(called(case, call, op)(*x))))  # noqa: B023 - called in this turn
            held_equal(batched(*map(torch.from_numpy, batches(plain))), batched_values(number, at))


def in_torch_export(case: Case) -> None:
    """Exported with every size open, saved and loaded; the program has gradients too."""
    torch = import_module("torch")
    op = import_module("dispatch.interop.torch").export(case.op)
    for plain, number, at in every_call(case):
        call, floats = torch_call(plain), tensors(plain)
        if not floats:
            continue  # a program has arguments

        class Module(torch.nn.Module):
            def forward(self, *floats: Any) -> Any:
                return called(case, call, op)(*floats)  # noqa: B023 - it is called in this turn

        open_sizes = (tuple([dict.fromkeys(range(x.ndim), torch.export.Dim.AUTO) for x in floats]),)
        program = torch.export.export(Module(), tuple(floats), dynamic_shapes=open_sizes).module()
        held_equal(program(*floats), values(number, at))
        if case.differentiable:
            loss = loss_of(case, Call(tuple(plain.floats)), program)
            held_close(by_tape(loss, floats), gradients(number, at))


@contextmanager
def with_float64() -> Any:
    with import_module("jax").enable_x64(True):
        yield import_module("jax"), import_module("dispatch.interop.jax").export


def in_jax(case: Case, transform: str = "") -> None:
    """Values, eagerly or by `jit`; by the operator itself where nothing traces."""
    with with_float64() as (jax, export):
        op = export(case.op) if transform else case.op
        for plain, number, at in every_call(case):
            call, floats = plain.with_integers(jax.numpy.asarray), [jax.numpy.asarray(x) for x in plain.floats]
            f = called(case, call, op)
            out = jax.jit(lambda *x: arrays_of(f(*x)))(*floats) if transform else f(*floats)  # noqa: B023 - called in this turn
            assert all(isinstance(x, jax.Array) for x in arrays_of(out))
            held_equal(out, values(number, at))


def in_jax_grad(case: Case, order: int = 1) -> None:
    """Gradients of every argument, and by `jit` the same."""
    with with_float64() as (jax, export):
        op = export(case.op)
        for plain, number, at in every_call(case):
            call, floats = plain.with_integers(jax.numpy.asarray), [jax.numpy.asarray(x) for x in plain.floats]
            every = tuple(range(len(floats)))
            found = jax.grad(loss_of(case, call, op), every)
            if order == 2:
                found = jax.grad(squared(found), every)
            held_close(found(*floats), gradients(number, at, order))
            held_close(jax.jit(found)(*floats), gradients(number, at, order))


def in_jax_vmap(case: Case) -> None:
    with with_float64() as (jax, export):
        op = export(case.op)
        for plain, number, at in every_call(case):
            if not plain.floats:
                continue
            call = plain.with_integers(jax.numpy.asarray)
            batched = jax.vmap(lambda *x: arrays_of(called(case, call, op)(*x)))  # noqa: B023 - called in this turn
            held_equal(batched(*batches(plain)), batched_values(number, at))


def dask_arrays(call: Call) -> list[Any]:
    """Dask arrays in chunks of one item along the loop axes, and in one chunk along the others."""
    da = import_module("dask.array")
    return [da.from_array(x, chunks=(*(1,) * call.loops, *x.shape[call.loops :])) for x in call.floats]


def in_dask(case: Case, compute: Callable[[list[Any]], Sequence[Any]]) -> None:
    da = import_module("dask.array")
    for call, number, at in every_call(case):
        lazy = call.with_integers(lambda x: da.from_array(x, chunks=-1))
        floats = dask_arrays(call)
        out = arrays_of(called(case, lazy, case.op)(*floats))
        assert all(isinstance(x, da.Array) for x in out)
        asked = list(out)
        if case.differentiable:
            asked += dispatch.grad(loss_of(case, lazy, case.op), tuple(range(len(floats))))(*floats)
        found = compute(asked)
        held_equal(list(found[: len(out)]), [np.asarray(x) for x in arrays_of(values(number, at))])
        for x, y in zip(out, arrays_of(values(number, at)), strict=True):
            assert x.dtype == y.dtype
            assert all(n == m or np.isnan(n) for n, m in zip(x.shape, y.shape, strict=True))
        if case.differentiable:
            held_close(found[len(out) :], gradients(number, at))


def in_threads(case: Case) -> None:
    dask = import_module("dask")
    with dask.config.set(scheduler="threads"):
        in_dask(case, lambda asked: dask.compute(*asked))


@cache
def client() -> Any:
    """A client of two worker processes, made once; `close_client` ends them."""
    distributed = import_module("distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    return distributed.Client(cluster)


def close_client() -> None:
    if client.cache_info().currsize:
        client().cluster.close()
        client().close()
        client.cache_clear()


def in_workers(case: Case) -> None:
    in_dask(case, lambda asked: client().gather(client().compute(asked)))


def in_xarray(case: Case) -> None:
    """The operator on DataArrays, with a name for each axis from the last, so that arrays broadcast by name as by place."""
    xarray = import_module("xarray")
    from_the_last = lambda ndim: [f"axis {i - ndim}" for i in range(ndim)]
    for call, number, at in every_call(case):
        held = call.with_integers(lambda x: xarray.DataArray(x, dims=from_the_last(x.ndim)))
        axes = call.axes or [""] * len(call.floats)
        floats = [
            xarray.DataArray(x, dims=[*from_the_last(x.ndim - len(own)), *own])
            for x, own in zip(call.floats, axes, strict=True)
        ]
        out = called(case, held, case.op)(*floats)
        assert all(isinstance(x, xarray.DataArray) for x in arrays_of(out))
        held_equal([x.values for x in arrays_of(out)], values(number, at))
        if case.differentiable:
            found = dispatch.grad(loss_of(case, held, case.op), tuple(range(len(floats))))(*floats)
            assert [x.dims for x in found] == [x.dims for x in floats]
            held_close([x.values for x in found], gradients(number, at))


class Column(NamedTuple):
    """One column: its name, the package it needs, and how it runs an operator's samples."""

    name: str
    needs: str
    run: Callable[[Case], None]
    what: str


COLUMNS = (
    Column(
        "NumPy", "numpy", in_numpy, "values of the undecorated function; gradients of two orders against finite differences"
    ),
    Column("torch eager", "torch", in_torch, "the operator on tensors; torch's tape"),
    Column("torch.compile", "torch", in_torch_compile, "`fullgraph=True`; its tape"),
    Column("torch.func", "torch", in_torch_func, "`grad`, `grad` of `grad`, `jvp`, `vmap`"),
    Column("torch.export", "torch", in_torch_export, "every size open; the tape through the program"),
    Column("JAX eager", "jax", in_jax, "the operator on JAX arrays"),
    Column("jit", "jax", partial(in_jax, transform="jit"), "what `export` returned"),
    Column("grad", "jax", in_jax_grad, "and in `jit`"),
    Column("grad of grad", "jax", partial(in_jax_grad, order=2), "and in `jit`"),
    Column("vmap", "jax", in_jax_vmap, "by our own rule"),
    Column("Dask threads", "dask", in_threads, "the operator on Dask arrays; `dispatch.grad`"),
    Column("Dask distributed", "distributed", in_workers, "the same in two worker processes"),
    Column("xarray", "xarray", in_xarray, "the operator on DataArrays; `dispatch.grad`"),
)


class Reason(NamedTuple):
    """Why a cell is empty, in a sentence, and what is raised there."""

    why: str
    raised: str


SHAPE = "The shape of the result depends on data, and inside of a trace JAX knows all shapes before anything runs."
OTHER_AXES = "The result has other axes than the DataArray, and nothing says what they are called."
WHICH_AXES = "The arrays have different dimensions, and no `signature=` says which of them the operator computes along."
ALIGNED = "xarray aligns what is in one call along its dimensions, and arrays that are to be concatenated differ in one."
LISTS = "A list of arrays is returned, which is no DataArray."

REASONS: dict[tuple[str, str], Reason] = {
    ("numpy_nonzero", "jit"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nonzero", "grad"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nonzero", "grad of grad"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nms", "jit"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nms", "grad"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nms", "grad of grad"): Reason(SHAPE, "DataDependentError"),
    ("numpy_nonzero", "xarray"): Reason(OTHER_AXES, "nothing says which dimensions these are"),
    ("numpy_view_copy", "xarray"): Reason(OTHER_AXES, "nothing says which dimensions these are"),
    ("photo::crop", "xarray"): Reason(OTHER_AXES, "nothing says which dimensions these are"),
    ("numpy_nms", "xarray"): Reason(WHICH_AXES, "nothing says which axes it computes along"),
    ("lu::solve", "xarray"): Reason(WHICH_AXES, "nothing says which axes it computes along"),
    ("numpy_cat", "xarray"): Reason(ALIGNED, "AlignmentError"),
    ("numpy_split_copy", "xarray"): Reason(LISTS, "each of which could be a DataArray"),
    ("numpy_split_copy_with_int", "xarray"): Reason(LISTS, "each of which could be a DataArray"),
}


# -- the page ----------------------------------------------------------------------------------------------------------------

START, END = "<!-- the table: python -m tests.interop.conformance -->\n", "<!-- the end of the table -->\n"


def fault_of(case: Case, column: Column) -> str | None:
    """What is wrong with a cell, of which the table says that it works, or why it does not."""
    reason = REASONS.get((case.name, column.name))
    try:
        column.run(case)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if reason is None:
            return f"raised {said}"
        return None if re.search(reason.raised, said) else f"was to raise {reason.raised}, and raised {said}"
    return None if reason is None else f"works, and was to raise {reason.raised}"


def table() -> str:
    """The section of docs/interop.md: a row for each operator, the reasons of empty cells, and what each column runs."""
    reasons = list(dict.fromkeys(reason.why for reason in REASONS.values()))
    lines = ["", f"| operator | {' | '.join(column.name for column in COLUMNS)} |", "|---|" + ":-:|" * len(COLUMNS)]
    for case in CASES:
        found = [REASONS.get((case.name, column.name)) for column in COLUMNS]
        cells = ["✓" if reason is None else f"{reasons.index(reason.why) + 1}" for reason in found]
        lines.append(f"| `{case.name}` | {' | '.join(cells)} |")
    lines += ["", *[f"{i + 1}. {why}" for i, why in enumerate(reasons)]] if reasons else []
    lines += ["", "| operator | of what kind |", "|---|---|", *[f"| `{case.name}` | {case.kind} |" for case in CASES]]
    lines += ["", "| column | what runs |", "|---|---|", *[f"| {c.name} | {c.what} |" for c in COLUMNS], ""]
    return "\n".join(lines)


def page() -> str:
    """The page with the table that the code makes."""
    before, _, rest = PAGE.read_text().partition(START)
    return before + START + table() + END + rest.partition(END)[2]


def main(words: Sequence[str]) -> int:
    """Run every cell, or those of the columns that are named, print what is wrong, and write the page where nothing is."""
    wrong = 0
    for column in COLUMNS:
        if words and column.name not in words:
            continue
        if not find_spec(column.needs):
            sys.stdout.write(f"{column.name}: {column.needs} is not installed\n")
            wrong += 1
            continue
        for case in CASES:
            fault = fault_of(case, column)
            if fault is not None:
                sys.stdout.write(f"{case.name} in {column.name}: {fault}\n")
                wrong += 1
    close_client()
    if not wrong and not words:
        PAGE.write_text(page())
    return wrong > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
