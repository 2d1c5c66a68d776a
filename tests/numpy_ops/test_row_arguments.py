"""What NumPy takes beside a wrapper every row takes: lists, integers of its own, masks; under every layer, as plain NumPy does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import compile, functionalize, grad, jvp, make_fx, ops, vmap  # noqa: A004
from dispatch.errors import ArgumentError
from dispatch.numpy_ops.protocols import ON_TENSORS
from dispatch.numpy_ops.row_arguments import call, has_listed

X = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
MASK = X > 0
SOME = np.array([True, False, True, True])[1:]  # a view of a mask
I = np.int64
Z = np.array  # a 0-d array, where NumPy takes one for an int


def written(x: Any) -> Any:
    y = x * 1.0
    y[MASK] *= 2.0
    y[:, SOME] = 0.5
    y[[True, False]] = x[1]
    y[np.array([False, True])] += [1, 2, 3]
    return y


def put_nothing(x: Any) -> Any:
    y = x * 1.0
    np.put(y, [], [1.0])
    np.put(y, [I(1), 2], [x[0, 0], 1.0])
    return y


LISTS: dict[str, Callable[[Any], Any]] = {
    "x * list": lambda x: x * [1, 2, 3],
    "list * x": lambda x: [1, 2, 3] * x,
    "x * tuple": lambda x: x * (1, 2, 3),
    "x ** list": lambda x: np.abs(x) ** [1, 2, 3],
    "list - x": lambda x: [[1.0], [2.0]] - x,
    "x @ list": lambda x: x @ [1.0, 2.0, 3.0],
    "list @ x": lambda x: [1.0, 2.0] @ x,
    "x > list": lambda x: (x > [1, 0, 1]) * x,
    "x of a list of x": lambda x: x[0] + [x[0, 0], 1.0, x[1, 1]],
    "x += list": lambda x: augmented(x),
    "np.maximum": lambda x: np.maximum(x, [1, 0, -3]),
    "np.add list of x": lambda x: np.add([x[0, 0], 2.0, x[1, 2]], x),
    "np.add out": lambda x: np.add(x, [1, 2, 3], out=x * 0.0),
    "np.concatenate": lambda x: np.concatenate([x[0], [1.0, 2.0]]),
    "np.concatenate ints": lambda x: np.concatenate([[1, 2], x[0], (3,)]),
    "np.stack": lambda x: np.stack([x[0], [1.0, 2.0, x[0, 0]]]),
    "np.where": lambda x: np.where(x > 0, x, [1.0, 2.0, 3.0]),
    "np.where list": lambda x: np.where([True, False, True], x, 0.0),
    "np.vstack of an array": lambda x: np.vstack(x),
    "np.hstack of an array": lambda x: np.hstack(x),
    "np.concatenate of an array": lambda x: np.concatenate(x),
    "np.stack of an array": lambda x: np.stack(x, axis=1),
    "np.dot": lambda x: np.dot([1.0, 2.0], x),
    "np.outer": lambda x: np.outer(x[0], [1, 2]),
    "np.kron": lambda x: np.kron(x, [1, 2]),
    "np.clip": lambda x: np.clip(x, [-1, 0, 0], [1, 2, 3]),
    "np.append": lambda x: np.append(x, [1.0]),
    "np.average": lambda x: np.average(x, axis=0, weights=[1, 2]),
    "np.einsum": lambda x: np.einsum("ij,j->i", x, [1.0, 2.0, 3.0]),
    "np.einsum numbers": lambda x: np.einsum(x, [0, 1], [1.0, 2.0], [0], [1]),
    "np.einsum sum": lambda x: np.einsum(x, [0, 1], np.ones(3), [1]),
    "np.take": lambda x: np.take(x, [0, 2], axis=1),
    "np.copyto": lambda x: copied(x),
}


def augmented(x: Any) -> Any:
    y = x * 1.0
    y += [1, 2, 3]
    y *= [[2.0], [3.0]]
    return y


def copied(x: Any) -> Any:
    y = x * 1.0
    np.copyto(y, [1.0, x[0, 0], 2.0])
    return y


INTEGERS: dict[str, Callable[[Any], Any]] = {
    "axis": lambda x: np.sum(x, axis=I(1)),
    "axis of a method": lambda x: x.sum(I(0)),
    "axis 0-d": lambda x: np.max(x, axis=Z(1)),
    "axes": lambda x: np.mean(x, axis=(I(0), I(1))),
    "size": lambda x: x.reshape(I(3), I(2)),
    "sizes": lambda x: np.reshape(x, (I(3), -1)),
    "sizes of an array": lambda x: np.reshape(x, np.array([3, 2])),
    "shift": lambda x: np.roll(x, I(1), axis=I(0)),
    "repeats": lambda x: np.repeat(x, I(2), axis=I(0)),
    "repeats of an array": lambda x: np.repeat(x, np.array([2, 1]), axis=0),
    "repeats 0-d": lambda x: np.repeat(x, Z(2)),
    "reps": lambda x: np.tile(x, I(2)),
    "reps of an array": lambda x: np.tile(x, np.array([2, 1])),
    "index": lambda x: x[I(1)] * x[Z(0), np.uint8(2)],
    "slice": lambda x: x[I(0) : I(1), :: I(2)],
    "new axis": lambda x: np.expand_dims(x, I(0)),
    "axes of a transpose": lambda x: np.transpose(x, (I(1), I(0))),
    "axes of a transpose in an array": lambda x: x.transpose(np.array([1, 0])),
    "swapped": lambda x: x.swapaxes(I(0), Z(1)),
    "moved": lambda x: np.moveaxis(x, I(0), I(1)),
    "shape like": lambda x: np.zeros_like(x, shape=(I(2),)) + x[:, 0],
    "taken": lambda x: np.take(x, I(1), axis=I(1)),
    "cumsum": lambda x: np.cumsum(x, axis=I(1)),
    "diff": lambda x: np.diff(x, I(1), axis=I(0)),
    "split": lambda x: np.split(x, I(3), axis=I(1))[0],
    "split in an array": lambda x: np.split(x, np.array([1]), axis=1)[1],
    "broadcast": lambda x: np.broadcast_to(x, (I(2), I(2), I(3))),
    "broadcast to one": lambda x: np.broadcast_to(x[0, 0], I(3)),
    "norm": lambda x: np.linalg.norm(x, axis=I(1)),
    "flip": lambda x: np.flip(x, axis=I(0)),
    "pad": lambda x: np.pad(x, I(1)),
    "pad in an array": lambda x: np.pad(x, np.array([[1, 1], [0, 2]])),
    "diagonal": lambda x: np.diagonal(x, I(1)),
    "trace": lambda x: np.trace(x, I(1)),
    "sort": lambda x: np.sort(x, axis=I(0)),
    "std": lambda x: np.std(x, axis=I(1), ddof=I(1)),
    "linspace": lambda x: np.linspace(x[0, 0], 2.0, I(3)),
    "delete": lambda x: np.delete(x, I(1), axis=I(1)),
    "rot90": lambda x: np.rot90(x, I(1)),
    "tril": lambda x: np.tril(x, I(-1)),
}
MASKS: dict[str, Callable[[Any], Any]] = {
    "of all axes": lambda x: x[MASK],
    "of one axis": lambda x: x[:, SOME],
    "no mask: an array without axes": lambda x: of_an_array_without_axes(x),
    "its size": lambda x: x[:, SOME] * x[:, SOME].shape[1],
    "a list": lambda x: x[[True, False]],
    "a truth value": lambda x: x[True],
    "NumPy's truth value": lambda x: x[np.True_],
    "nothing": lambda x: x[np.zeros(2, bool)],
    "where": lambda x: np.where(MASK, x, 0.0),
    "compress": lambda x: np.compress(SOME, x, axis=1),
    "written": written,
    "put": put_nothing,
}
METHODS: dict[str, Callable[[Any], Any]] = {
    "ravel F": lambda x: x.ravel("F"),
    "flatten F": lambda x: x.flatten(order="F"),
    "np.ravel": lambda x: np.ravel(x, order="F"),
    "flat": lambda x: flat(x),
    "view": lambda x: viewed(x),
    "ravel backwards": lambda x: raveled(x[0, ::-1] * 1.0, x),
    "divmod": lambda x: divmod(x, 0.7)[1] + divmod(2.0, x + 7.0)[0],
    "sort": lambda x: in_order(x),
    "compress": lambda x: x.compress([True, False, True], axis=1),
    "nbytes": lambda x: x * (x.nbytes + x.itemsize),
}


def of_an_array_without_axes(x: Any) -> Any:
    y = x * 1.0
    y[:, np.array(1)][...] = 0.0  # NumPy's are copies
    y[np.array(0)][0] = 0.0
    y[I(0)][1] = 7.0
    return y


def in_order(x: Any) -> Any:
    y = x * 1.0
    y.sort(0)
    return y


def flat(x: Any) -> Any:
    y = x.T * 1.0
    y.flat[[0, -1]] = [x[0, 0], 5.0]
    y.flat[1:3] = 2.0
    return y * len(y.flat) + y.flat[2:3] + sum(y.flat)


def viewed(x: Any) -> Any:
    y = x * 1.0
    y.view()[0] = 1.0
    return y


def raveled(row: Any, x: Any) -> Any:
    y = row[::-1]
    y.ravel()[...] = 0.0  # NumPy's is a copy, for it is no view in C order
    z = x * 1.0
    z.ravel()[1] = 3.0
    return y + z


CASES = {f"{kind}: {name}": f for kind, table in (
    ("list", LISTS), ("integer", INTEGERS), ("mask", MASKS), ("method", METHODS)) for name, f in table.items()}  # fmt: skip
LAYERS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: dispatch.vjp(f, X.copy())[0],
    "jvp": lambda f: jvp(f, (X.copy(),), (X,))[0],
    "vmap": lambda f: vmap(f)(np.stack([X, X + 1.0]))[0],
    "vmap of one": lambda f: vmap(lambda x, k: f(x) * k, in_dims=(None, 0))(X.copy(), np.ones(2))[1],
    "real": lambda f: make_fx(f, "real")(X.copy())(X.copy()),
    "fake": lambda f: make_fx(f, "fake")(X.copy())(X.copy()),
    "symbolic": lambda f: make_fx(f, "symbolic")(X.copy())(X.copy()),
    "functionalize": lambda f: functionalize(f)(X.copy()),
    "compile": lambda f: compile(f, fullgraph=True)(X.copy()),
}


def slope(f: Callable[[Any], Any], t: Any, step: float = 1e-6) -> Any:
    return (np.asarray(f(X + step * t)) - np.asarray(f(X - step * t))) / (2 * step)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("case", CASES)
def test_a_layer_takes_what_numpy_takes(case: str, layer: str) -> None:
    found, expected = LAYERS[layer](CASES[case]), CASES[case](X.copy())
    assert (np.shape(found), found.dtype) == (np.shape(expected), expected.dtype)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("case", CASES)
def test_derivatives_go_through_what_numpy_takes(case: str) -> None:
    f, t = CASES[case], np.linspace(0.4, 1.3, X.size).reshape(X.shape)
    forward = jvp(f, (X,), (t,))[1]
    np.testing.assert_allclose(forward, slope(f, t), atol=1e-7)
    weights = np.cos(np.arange(forward.size)).reshape(forward.shape)
    np.testing.assert_allclose(np.sum(grad(lambda x: np.sum(f(x) * weights))(X) * t), np.sum(forward * weights), atol=1e-12)


@dispatch.custom_op("test_row_arguments::times", mutates_args=())
def times(x: np.ndarray, n: int, by: list[int], scale: float = 1.0) -> np.ndarray:
    return x * n * sum(by) * scale


times.register_fake(lambda x, n, by, scale=1.0: np.empty(x.shape, x.dtype))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_an_operators_ints_may_be_numpys_in_a_trace(mode: str) -> None:
    graph = make_fx(lambda x: times(x, I(3), [I(2), 1], np.float64(0.5)), mode)(X)
    np.testing.assert_array_equal(graph(X), X * 4.5)
    assert [node.kind for node in graph.nodes] == ["placeholder", "call"]


def test_a_mask_that_changes_is_seen_by_what_is_compiled() -> None:
    mask = np.array([True, False, True])
    f = compile(lambda x: np.mean(x[:, mask], axis=1), fullgraph=True)
    np.testing.assert_array_equal(f(X), np.mean(X[:, mask], axis=1))
    mask[0] = False
    np.testing.assert_array_equal(f(X), np.mean(X[:, mask], axis=1))


def test_whether_a_number_is_in_a_value() -> None:
    seen = []
    grad(lambda x: [seen.append((0.5 in x, 7.0 in x)), np.sum(x)][1])(X)
    jvp(lambda x: [seen.append((0.5 in x, 7.0 in x)), x][1], (X,), (X,))
    assert seen == [(True, False)] * 2


def test_bits_are_shifted() -> None:
    bits = np.array([1, 2, 4])

    def shifted(n: Any) -> Any:
        m = n << 2
        m >>= 1
        return (1 << m) + (256 >> n) + (m << [1, 0, 1])

    expected = shifted(bits)
    np.testing.assert_array_equal(vmap(shifted)(np.stack([bits, bits]))[1], expected)
    for mode in ("real", "fake", "symbolic"):
        np.testing.assert_array_equal(make_fx(shifted, mode)(bits)(bits), expected)


def test_what_is_no_array_is_refused_as_before() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    for wrong in (lambda: call(ops.np.sum, x, axis="x"), lambda: np.sum(x, axis=1.5), lambda: np.add(x, None)):
        with pytest.raises((ArgumentError, TypeError)):
            wrong()


def test_every_method_of_arrays_that_is_there_has_numpys_own_defaults() -> None:
    a = np.asfortranarray(X)
    for name in ON_TENSORS:
        if name.startswith("__") or name in ("to_device", "resize", "choose", "setflags", "tobytes", "tofile", "dump", "dumps", "byteswap", "getfield", "setfield") or not hasattr(np.ndarray, name):  # which take a device or places, or are refused
            continue
        own = getattr(np.ndarray, name)
        if not callable(own):
            continue
        arguments = {"take": ([1],), "repeat": (2,), "swapaxes": (0, 1), "reshape": (3, 2), "astype": (float,), "fill": (2.0,), "put": ([1], [2.0]),
                     "dot": (X.T,), "searchsorted": ([0.5],), "compress": ([True, False],), "clip": (0.0, 1.0), "partition": (1,), "argpartition": (1,), "choose": ([a, a],)}.get(name, ())  # fmt: skip
        values = np.sort(a[0]) if name == "searchsorted" else a[None] if name == "squeeze" else a
        expected_in, found_in = values.copy("K"), values.copy("K")
        expected = own(expected_in, *arguments)
        found = functionalize(lambda x, name=name, arguments=arguments: getattr(x, name)(*arguments))(found_in)
        for mine, theirs in zip(
            found if isinstance(found, tuple) else [found], expected if isinstance(expected, tuple) else [expected], strict=True
        ):
            assert type(mine) is type(theirs), name
            if isinstance(mine, (np.ndarray, np.generic)):
                assert (mine.dtype, np.shape(mine), mine.strides) == (theirs.dtype, np.shape(theirs), theirs.strides), name
                assert np.shares_memory(mine, found_in) == np.shares_memory(theirs, expected_in), name
                np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(found_in, expected_in, err_msg=name)


EDGES = {
    "a place of item": (lambda x: x.item(1, 2) + x.item(0) + x, X),
    "no counts": (lambda x: np.repeat(x, np.arange(x.shape[0]), axis=0), np.zeros((0, 2))),
    "no values": (lambda x: [np.put(x, [0], np.array([])), x][1] * 1.0, X),
    "an integer beyond 2**53": (lambda x: np.sum(x, axis=0, initial=2.0), np.array([[-9223372036854775806], [1]])),
    "a number cut off": (lambda x: np.max(x, initial=2.7), np.array([1, 2])),
    "a number beside float32": (lambda x: np.sum(x, initial=np.float64(2.7)), np.array([1.5], np.float32)),
    "a truth beside a number": (lambda x: np.max(x, initial=2), np.array([False])),
}


@pytest.mark.parametrize("layer", ["functionalize", "real", "symbolic", "vmap", "grad"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_arguments_are_numpys_under_every_layer(edge: str, layer: str) -> None:
    f, x = EDGES[edge]
    if layer == "vmap" and "item" in edge:
        with pytest.raises(dispatch.errors.BatchingError, match="one number was asked of a batched value"):
            vmap(f)(np.stack([x, x]))
        return
    if layer in ("real", "symbolic") and "item" in edge:
        with pytest.raises(dispatch.errors.DispatchError, match="a number was asked of a traced value"):
            make_fx(f, layer)(x)
        return
    found = {
        "functionalize": lambda: functionalize(f)(x.copy()),
        "real": lambda: make_fx(f, "real")(x.copy())(x.copy()),
        "symbolic": lambda: make_fx(f, "symbolic")(x.copy())(x.copy()),
        "vmap": lambda: vmap(f)(np.stack([x, x]))[1],
        "grad": lambda: dispatch.vjp(lambda x: f(x * 1), x)[0] if x.dtype.kind == "f" else f(x.copy()),
    }[layer]()
    expected = f(x.copy())
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ord", [None, 1, 2, np.inf])
@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0,)])
def test_norms_of_nothing_are_nothing(ord: Any, shape: tuple[int, ...]) -> None:
    f = functionalize(lambda x: np.linalg.norm(x, ord))
    assert f(np.zeros(shape)) == 0.0
    assert grad(lambda x: np.linalg.norm(x, ord))(np.zeros(shape)).shape == shape


def test_an_index_of_an_array_without_axes_makes_a_copy() -> None:
    def f(x: Any) -> Any:
        v = x[np.array(1), ...]
        v[...] = 5.0
        return x * 1.0

    x = np.arange(3.0)
    for found in (functionalize(f)(x.copy()), vmap(f)(np.stack([x, x]))[0], dispatch.vjp(lambda x: f(x * 1.0), x)[0]):
        np.testing.assert_array_equal(found, f(x.copy()))


@pytest.mark.parametrize("f", [lambda x: np.take(x, []), lambda x: x.take([], axis=1), lambda x: np.take(x, [[]], mode="wrap"), lambda x: np.bincount([], x[0, :0])])
def test_of_an_empty_list_of_places_numpy_makes_whole_numbers(f: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    expected = f(x)
    for found in (functionalize(f)(x), make_fx(f, "real")(x)(x), make_fx(f, "fake")(x)(x), vmap(f)(x[None])[0], dispatch.detach(f(dispatch.tensor(x, requires_grad=True)))):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("f", [
    lambda x, n: np.roll(x, n, axis=n), lambda x, n: np.roll(x, (n, n), axis=(0, n)), lambda x, n: np.fft.fftshift(x, n), lambda x, n: np.fft.ifftshift(x, n),
])  # fmt: skip
def test_a_whole_number_of_numpys_without_a_sign_is_one_of_pythons(f: Any) -> None:
    x = np.arange(15.0).reshape(3, 5)
    moved, weighted = lambda n: lambda x: f(x, n), lambda n: lambda x: np.sum(f(x, n) * x**2)
    for n in (np.uint8(1), np.int64(1)):
        assert np.array_equal(vmap(moved(n))(x[None])[0], f(x, 1))
        assert np.array_equal(functionalize(moved(n))(x), f(x, 1))
        assert np.array_equal(grad(weighted(n))(x), grad(weighted(1))(x))


def test_a_list_of_numbers_is_told_from_what_another_framework_knows() -> None:
    x = dispatch.tensor(np.ones(2), requires_grad=True)
    assert has_listed((x, [1.0, 2], None, "left"))
    for values in ((x, 2.0), (x, []), (x, [x]), (x, [np.float64(1.0)]), (x, [[1.0, 2.0]]), (x, [1.0], object())):
        assert not has_listed(values)
