"""The laws of every row of `dispatch.ops.np`: its shape rule, gradient and batching agree with its kernel.

A row is held to them by being in the table; `samples.py` says with which arguments.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from samples import DTYPES, HERMITIAN, bare, cases, hermitian, laid_out, maker, numpys
from turns import every, in_turn

import dispatch
from dispatch import FakeTensor, FakeTensorMode, ops, vmap
from dispatch.core import OpOverload, Tensor
from dispatch.core.pytree import arrays
from dispatch.errors import NoRuleError

ROWS = {op.schema.name: op for op in ops.np if not op.schema.is_mutable}  # those that write are held to their functional forms
UNSET = {"empty", "empty_like"}  # what they hold is nobody's business
SETS = {"intersect1d", "setdiff1d", "setxor1d", "unique", "unique_all", "unique_counts", "unique_inverse"}
OF_VALUES = SETS | {"bincount", "number_of_bins", "nonzero", "flatnonzero", "argwhere", "unique_places", "value_places", "compress", "extract"}  # how many elements depends on data: no shape, no batch
SETTLED = {"complex_below_0", "complex_beyond_1", "float_below_0", "poly_real_if_paired"}  # the dtype depends on data; test_settled.py holds them
OF_VALUES |= {"roots", "polymul", "polynomial_remainder"} | SETTLED
OPAQUE = {"detach", "memory_view", *OF_VALUES} - {"bincount", "roots", "polymul", "polynomial_remainder", *SETTLED, "compress", "extract", *SETS}  # no gradient by intention, though the result depends on the argument

WITH_SHAPES = {name: op for name, op in ROWS.items() if name not in OF_VALUES}

# NumPy's own words about statistics of nothing.
pytestmark = pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning", "ignore:Mean of empty slice:RuntimeWarning")
every_row = pytest.mark.parametrize("op", WITH_SHAPES.values(), ids=WITH_SHAPES)
every_dtype = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)


def run(op: OpOverload, args: Any) -> Any:
    """Call a row with all its arguments in schema order."""
    count = op.arguments.positional
    return op(*args[:count], **dict(zip(op.arguments.keyword_names, args[count:], strict=True)))


def run_with(op: OpOverload, *args: Any) -> Any:
    return run(op, args)


def is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def mapped(function: Callable[[Any], Any], args: Any) -> Any:
    """A function applied to the arrays among arguments, in lists too."""
    return tuple([function(x) if is_array(x) else [function(i) for i in x] if is_arrays(x) else x for x in args])


def is_arrays(x: Any) -> bool:
    return isinstance(x, (list, tuple)) and len(x) > 0 and all(map(is_array, x))


def layouts(op: OpOverload, case: Any) -> Iterator[Any]:
    """A case under other strides, of one argument at a time and of all."""
    tensors = [i for i, x in enumerate(case) if is_array(x)]
    for at in tensors:
        for x in laid_out(case[at]):
            yield (*case[:at], x, *case[at + 1 :])
    if len(tensors) != 1:
        yield mapped(np.asfortranarray, case) if all(np.ndim(case[i]) for i in tensors) else case


def memory_order(x: Any) -> Any:
    """The strides that mean something."""
    return [stride for n, stride in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []


# -- kernels and shape rules -------------------------------------------------------------------------------------------


@every_row
@every_dtype
def test_the_shape_rule_gives_what_the_kernel_gives(op: OpOverload, dtype: Any) -> None:
    if op.schema.name == "round" and dtype.kind == "c" and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("NumPy 2.0 rounds complex numbers into C order, whatever the order is that they have")
    for number, case in enumerate(cases(op, maker(dtype)), list(DTYPES.values()).index(dtype)):
        laid = list(layouts(op, case))
        for args in in_turn(laid, 2 * number, (len(laid) + 1) // 2):
            with FakeTensorMode() as mode:
                fakes = mapped(mode.from_array, args)
            try:
                with np.errstate(all="ignore"):
                    real = run(op, args)
            except np.linalg.LinAlgError as error:
                assert any(said in str(error) for said in OF_DATA) or raises_too(op, fakes, mode, error), describe(args)
                continue
            except Exception as error:
                with pytest.raises(type(error)), mode:
                    run(op, fakes)
                continue
            with mode:
                found = [run(op, fakes), run(op, fakes)]  # worked out, and remembered
            given = [x for x, at in zip(arrays(args), arrays(fakes), strict=True) if isinstance(at, FakeTensor)]
            for fake in found:
                assert len(outputs(fake)) == len(outputs(real))
                for made, expected in zip(outputs(fake), outputs(real), strict=True):
                    assert isinstance(expected, (np.ndarray, np.generic))
                    assert not isinstance(expected, Tensor)
                    assert (made.shape, made.dtype) == (expected.shape, expected.dtype), describe(args)
                    assert memory_order(made) == memory_order(expected), describe(args)
                    if made.size:
                        shared = any(np.may_share_memory(expected, x) for x in given)
                        assert (made.base is not None) == shared, describe(args)


OF_DATA = ("Singular matrix", "not positive definite", "did not converge")  # what LAPACK finds, and no shape tells


def outputs(out: Any) -> list[Any]:
    return list(out) if isinstance(out, (list, tuple)) else [out]


def raises_too(op: OpOverload, fakes: Any, mode: FakeTensorMode, error: Exception) -> bool:
    with pytest.raises(type(error)), mode:
        run(op, fakes)
    return True


@every_row
@every_dtype
def test_a_row_computes_what_numpys_function_does(op: OpOverload, dtype: Any) -> None:
    numpy = numpys(op)
    for case in cases(op, maker(dtype)) if numpy else ():
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                expected = numpy(*case)  # type: ignore[misc]
            except Exception as error:
                with pytest.raises(type(error)):
                    run(op, case)
                continue
            found = run(op, case)
        assert len(outputs(found)) == len(outputs(expected))
        for made, wanted in zip(outputs(found), outputs(expected), strict=True):
            wanted = np.asarray(wanted)
            assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype), describe(case)
            rtol = 1e-5 if made.dtype.itemsize % 8 else 1e-12
            np.testing.assert_allclose(made, wanted, rtol=rtol, atol=1e-12, err_msg=describe(case))


def describe(args: Any) -> str:
    return ", ".join(f"{x.dtype}{x.shape}{x.strides}" if is_array(x) else repr(x) for x in args)


def test_a_row_without_cases_is_found() -> None:
    op = dispatch.library.custom_op(
        "table_tests::odd", lambda x, n: x, mutates_args=(), schema="(Tensor x, str n) -> Tensor"
    )
    with pytest.raises(LookupError, match=r"table_tests::odd\(Tensor x, str n\) -> Tensor: nothing is derived"):
        cases(op, maker("f8"))


# -- gradients ---------------------------------------------------------------------------------------------------------


def differentiable(case: Any) -> list[int]:
    """The arguments that a gradient can be asked for."""
    return [
        i
        for i, x in enumerate(case)
        if (is_array(x) and x.dtype.kind in "fc") or (is_arrays(x) and x[0].dtype.kind in "fc")
    ]


def replaced(case: Any, at: int, value: Any) -> Any:
    return (*case[:at], value, *case[at + 1 :])


def numeric(f: Callable[[Any], float], x: Any, step: float = 1e-6) -> Any:
    """The gradient of a real function by central differences, `df/da + i df/db` in a complex argument a + ib."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for direction in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            above, below = x.copy(), x.copy()
            above[place] += step * direction
            below[place] -= step * direction
            found[place] += direction * (f(above) - f(below)) / (2 * step)
    return found


def projected(op: OpOverload, case: Any, at: int, weights: list[Any], part: int | None) -> Callable[[Any], Any]:
    """A real number made of an operator's result, as a function of one argument, or of one array in a list."""

    def f(x: Any) -> Any:
        x = hermitian(x) if op.schema.name in HERMITIAN else x
        value = x if part is None else [*case[at][:part], x, *case[at][part + 1 :]]
        found = bare(op.schema.name, run(op, replaced(case, at, value)))
        return sum(np.sum(np.real(ops.np.multiply(y, np.conj(w)))) for y, w in zip(found, weights, strict=True))

    return f


def gradients(op: OpOverload, dtype: Any) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Every argument of every case, and the function of it whose gradient is asked for."""
    make = maker(dtype)
    for case in cases(op, make):
        try:
            found = bare(op.schema.name, run(op, case))
        except (TypeError, ValueError):  # no complex remainder, no largest element of none
            continue
        if any(y.dtype.name in ("float32", "complex64") for y in found):  # too coarse for differences
            continue
        weights = [make(y.shape, "c16" if np.iscomplexobj(y) else "f8") for y in found]
        for at in differentiable(case):
            parts = range(len(case[at])) if is_arrays(case[at]) else [None]
            for part in parts:
                x = case[at] if part is None else case[at][part]
                yield np.asarray(x), projected(op, case, at, weights, part)


quiet = np.errstate(all="ignore")  # the mean of nothing is nan, here as in NumPy
with_gradient = pytest.mark.parametrize(
    "op", [op for name, op in ROWS.items() if name not in UNSET | OPAQUE], ids=lambda op: op.name
)


@with_gradient
@pytest.mark.parametrize("dtype", [DTYPES["float64"], DTYPES["complex128"]], ids=str)
@quiet
def test_the_gradient_is_that_of_finite_differences(op: OpOverload, dtype: Any) -> None:
    for x, f in gradients(op, dtype):
        np.testing.assert_allclose(dispatch.grad(f)(x), numeric(f, x), rtol=1e-6, atol=1e-7)


@with_gradient
@pytest.mark.parametrize("dtype", [DTYPES["float64"], DTYPES["complex128"]], ids=str)
@quiet
def test_the_second_gradient_is_that_of_the_first(op: OpOverload, dtype: Any) -> None:
    found = [(x, f) for x, f in gradients(op, dtype) if x.size]
    for x, f in found if every() or len(found) == 1 else found[dtype.kind == "c" :: 2]:  # each of real numbers or of complex ones
        weights = maker(dtype, seed=1)(x.shape)

        def slope(x: Any, f: Any = f, weights: Any = weights) -> Any:
            return np.sum(np.real(ops.np.multiply(dispatch.grad(f)(x), np.conj(weights))))

        np.testing.assert_allclose(dispatch.grad(slope)(x), numeric(slope, x), rtol=1e-5, atol=1e-6)


# -- batches -----------------------------------------------------------------------------------------------------------


def batches(op: OpOverload, dtype: Any, turn: int = 0) -> Iterator[tuple[Any, Any, int]]:
    """Arguments with a batch of 3 in some of them, `in_dims`, and the batch's size; the axes of the batch in turn, from `turn` on."""
    for number, makes in enumerate(zip(*[cases(op, maker(dtype, seed)) for seed in range(3)], strict=True), turn):
        case = makes[0]
        tensors = [i for i, x in enumerate(case) if is_array(x) or is_arrays(x)]
        choices = [chosen for chosen in (tensors, *[[i] for i in tensors if len(tensors) > 1]) if chosen]
        for i, chosen in enumerate(choices):
            for first, others in in_turn([(0, 0), (-1, -1), (0, -1)][: 3 if len(chosen) > 1 else 2], number + i):
                dims = [None if i not in chosen else first if i == chosen[0] else others for i in range(len(case))]
                args = [
                    x if dim is None else batched([c[i] for c in makes], dim)
                    for i, (x, dim) in enumerate(zip(case, dims, strict=True))
                ]
                yield tuple(args), tuple(dims), 3


def batched(items: list[Any], dim: int) -> Any:
    if is_array(items[0]):
        return np.stack(items, dim)
    return [np.stack(column, dim) for column in zip(*items, strict=True)]


def item(x: Any, dim: int | None, i: int) -> Any:
    if dim is None:
        return x
    return [np.take(array, i, dim) for array in x] if isinstance(x, (list, tuple)) else np.take(x, i, dim)


def loop(f: Callable[..., Any], args: Any, dims: Any, size: int) -> Any:
    """What vmap has to give: the function of each item, stacked; a list of them where it has several results."""
    items = [f(*[item(x, dim, i) for x, dim in zip(args, dims, strict=True)]) for i in range(size)]
    return [np.stack(column) for column in zip(*items, strict=True)] if type(items[0]) in (list, tuple) else np.stack(items)


taking_arrays = pytest.mark.parametrize(
    "op",
    [op for name, op in ROWS.items() if name not in UNSET | OF_VALUES and any(a.type.has_tensor for a in op.schema.arguments)],
    ids=lambda op: op.name,
)


@taking_arrays
@every_dtype
def test_a_batch_is_the_loop_over_it(op: OpOverload, dtype: Any) -> None:
    for args, dims, size in batches(op, dtype, list(DTYPES.values()).index(dtype)):
        try:
            with np.errstate(all="ignore"):
                expected = loop(partial(run_with, op), args, dims, size)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                vmap(partial(run_with, op), dims)(*args)
            continue
        with np.errstate(all="ignore"):
            found = vmap(partial(run_with, op), dims)(*args)
        assert len(outputs(found)) == len(outputs(expected))
        for made, looped in zip(outputs(found), outputs(expected), strict=True):
            assert type(made) is np.ndarray
            assert made.dtype == looped.dtype
            np.testing.assert_allclose(made, looped, rtol=1e-5, atol=1e-6, err_msg=f"{describe(args)}, {dims}")


def total(name: str, out: Any) -> Any:
    """One number of all results."""
    return sum(np.sum(np.real(y)) for y in bare(name, out)) * 1.5


@taking_arrays
@quiet
def test_the_gradient_of_each_item_is_the_loop_over_gradients(op: OpOverload) -> None:
    for args, dims, size in batches(op, np.dtype("f8")):
        for at in differentiable(args):
            if not is_array(args[at]):
                continue

            def slope(*args: Any, at: int = at) -> Any:
                return dispatch.grad(lambda x: total(op.schema.name, run(op, replaced(args, at, x))))(args[at])

            try:
                expected = loop(slope, args, dims, size)
            except (TypeError, ValueError, NoRuleError):
                continue
            np.testing.assert_allclose(
                vmap(slope, dims)(*args), expected, rtol=1e-6, atol=1e-9, err_msg=f"{describe(args)}, {dims}"
            )


@taking_arrays
@quiet
def test_the_gradient_through_a_batch_is_that_of_its_items(op: OpOverload) -> None:
    for args, dims, size in batches(op, np.dtype("f8"), 1):
        for at in differentiable(args):
            if not is_array(args[at]):
                continue

            def through(x: Any, f: Any, at: int = at, args: Any = args) -> Any:
                return total(op.schema.name, f(*replaced(args, at, x)))

            def items(*given: Any, dims: Any = dims, size: int = size) -> Any:
                return loop(partial(run_with, op), given, dims, size)

            try:
                expected = dispatch.grad(lambda x: through(x, items))(args[at])
            except (TypeError, ValueError, NoRuleError):
                continue
            found = dispatch.grad(through)(args[at], vmap(partial(run_with, op), dims))
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=f"{describe(args)}, {dims}")
