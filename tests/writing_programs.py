"""Programs that write to what they are given, in every way there is, and operators to do it with."""

import numpy as np

from dispatch import Tag, custom_op, functionalize


@custom_op("writingprograms::numpy_sin", mutates_args={"output"})
def numpy_sin(input: np.ndarray, output: np.ndarray) -> None:
    np.sin(input, out=output)


@custom_op("writingprograms::scale_", mutates_args=("x",), tags=Tag.inplace)
def scale_(x: np.ndarray, factor: float) -> np.ndarray:
    x *= factor
    return x


@custom_op("writingprograms::squared", mutates_args=("out",), tags=Tag.out)
def squared(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    return np.multiply(x, x, out=out)


@custom_op("writingprograms::powers_", mutates_args={"outs", "total"})
def powers_(x: np.ndarray, outs: list[np.ndarray], total: np.ndarray | None = None) -> np.ndarray:
    for n, out in enumerate(outs):
        out[...] = x**n
    if total is not None:
        total += sum(outs)
    return x + 1.0


powers_.register_fake(lambda x, outs, total=None: np.empty(x.shape, x.dtype))


def assert_same(found, expected):
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(found, expected)


def leaves_the_same(f, *args, how=functionalize):
    """Run a function and the other on copies of the arguments, and compare what they leave."""

    def run(f):
        given = [np.copy(x) if isinstance(x, np.ndarray) else [np.copy(y) for y in x] if isinstance(x, list) else x for x in args]
        out = f(*given)
        arrays = [y for x in given for y in (x if isinstance(x, list) else [x]) if isinstance(y, np.ndarray)]
        return list(out) if isinstance(out, (tuple, list)) else [out], arrays

    (out, arrays), (found, other) = run(f), run(how(f))
    for x, y in zip([*out, *arrays], [*found, *other], strict=True):
        if x is None or isinstance(x, (bool, int, float)):
            assert x == y
        else:
            assert_same(y, x)
    for x, y in zip(out, found, strict=True):
        assert [x is a for a in arrays] == [y is a for a in other]
        if x is not None:
            assert [np.shares_memory(x, a) for a in arrays] == [np.shares_memory(y, a) for a in other]
    among = [[isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.shares_memory(x, y) for x in every for y in every] for every in (out, found)]
    assert among[0] == among[1]


def item_writes(x, y):
    y[0] = x[1]
    y[[1, 2]] = x[:2]
    y *= 2.0
    np.add.at(y, [0, 0], x[0])
    return y


def view_writes(x, y):
    v, w = y[1:], y[::-1]
    v *= x[0]
    w[0] = y[0]
    return v, w, np.sum(y)


def custom_writes(x, y):
    scale_(x, 3.0)
    numpy_sin(x[1:], y[:2])
    z = np.empty_like(x)
    return squared(y, out=z), z, x


def list_writes(x, y):
    z = np.zeros_like(x)
    return powers_(x, [y, z]), z, powers_(z, [x, z[:]][:1], total=y)


def numpy_writes(x, y):
    np.multiply(x, 2.0, out=y)
    np.copyto(x, y, where=y > 1.0)
    np.sum(np.stack([x, y]), axis=0, out=y)
    y.fill(3.0)
    return np.where(x > 1, x, y), float(y[0]), bool(np.all(y == 3.0)), int(np.sum(y)), y.tolist()[0], complex(y[1]).real


PROGRAMS = [item_writes, view_writes, custom_writes, list_writes, numpy_writes]
