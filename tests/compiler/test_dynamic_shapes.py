"""compile(dynamic=True): one graph for all lengths for which its guards hold."""

import numpy as np
import pytest

import dispatch
from dispatch import custom_op, grad, make_fx, vmap
from dispatch.compiler.dynamic_shapes import dynamic_program, with_sizes
from dispatch.core.program import Program
from dispatch.errors import CheckError, PerformanceWarning

RNG = np.random.default_rng(0)


def shaped(*shape):
    return RNG.standard_normal(shape)


def standardised(x):
    return (x - np.mean(x, 0)) / (np.std(x, 0) + 1) * x.shape[0]


PROGRAMS = {
    "a loss": (lambda w, x: np.mean(np.tanh(x @ w) ** 2) * x.shape[0], lambda n, m: (shaped(m), shaped(n, m))),
    "a gradient": (grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2)), lambda n, m: (shaped(m), shaped(n, m))),
    "a batch": (vmap(grad(lambda x: np.sum(np.sin(x) * x))), lambda n, m: (shaped(n, m),)),
    "slices": (lambda x: x[1:, 0] - x[:-1, -1], lambda n, m: (shaped(n, m),)),
    "sizes": (lambda x: np.reshape(np.concatenate([x, x]), (-1,))[: x.shape[0] // 2], lambda n, m: (shaped(n, m),)),
    "in Fortran's order": (standardised, lambda n, m: (np.asfortranarray(shaped(n, m)),)),
    "a float": (lambda x, k: x * k + k, lambda n, m: (shaped(n, m), float(n))),
    "an int": (lambda x, k: x * k, lambda n, m: (shaped(n, m), 3)),
    "containers": (lambda d: {"out": [d["a"] @ d["b"]]}, lambda n, m: ({"a": shaped(n, m), "b": shaped(m)},)),
}
SIZES = [(5, 3), (7, 11), (2, 13)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_serves_every_length(name):
    f, make = PROGRAMS[name]
    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for n, m in SIZES:
        args = make(n, m)
        for found, expected in zip(
            dispatch.core.pytree.leaves(compiled(*args)), dispatch.core.pytree.leaves(f(*args)), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    assert len(compiled.entries) == 1
    assert compiled.entries[0].hits == len(SIZES)


def test_lengths_0_and_1_are_traced_for_themselves():
    compiled = dispatch.compile(standardised, dynamic=True, fullgraph=True)
    for n in (4, 1, 6, 1):
        x = shaped(n, 3)
        np.testing.assert_array_equal(compiled(x), standardised(x))
    assert [entry.hits for entry in compiled.entries] == [2, 2]


def test_a_guard_that_does_not_hold_is_another_trace():
    def f(x):
        return x * 2 if x.shape[0] > 4 else x - 1

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for n in (5, 3, 9, 2):
        x = shaped(n)
        np.testing.assert_array_equal(compiled(x), f(x))
    assert [entry.hits for entry in compiled.entries] == [2, 2]
    assert "    where 4 < s0" in repr(compiled.explain()) or "    where s0 > 4" in repr(compiled.explain())
    assert "calls of float64[*]" in repr(compiled.explain())


def test_writes_are_written():
    def f(x, k):
        x[1:] *= k
        return x[:-1]

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for n in (4, 9):
        x = shaped(n)
        y = x.copy()
        np.testing.assert_array_equal(compiled(x, 2.5), f(y, 2.5))
        np.testing.assert_array_equal(x, y)
    assert len(compiled.entries) == 1


def test_floats_that_decide_are_held():
    def f(x, k):
        return x * k if k > 0 else x

    compiled = dispatch.compile(f, dynamic=True)
    for n, k in ((3, 1.0), (5, -1.0), (4, 1.0), (6, -1.0)):
        x = shaped(n)
        np.testing.assert_array_equal(compiled(x, k), f(x, k))
    assert len(compiled.entries) == 2


def test_sizes_of_data_are_known_when_it_runs():
    @custom_op("dynamic_tests::above", mutates_args=())
    def above(x: np.ndarray) -> np.ndarray:
        return x[x > 0]

    @above.register_fake
    def _(x):
        return np.empty_like(x, shape=(dispatch.library.get_ctx().new_dynamic_size(),))

    def f(x):
        y = above(x)
        return np.sum(y) / y.shape[0] + np.concatenate([y, y])

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for n in (6, 9):
        x = np.abs(shaped(n)) * np.where(np.arange(n) % 3, 1, -1)
        np.testing.assert_array_equal(compiled(x), f(x))
    assert len(compiled.entries) == 1


@pytest.mark.parametrize("mode", ["fake", "symbolic"])
@pytest.mark.parametrize("shape", [lambda v: v, lambda v: v[:, None], lambda v: v[None, :, None], lambda v: np.stack([v, v])], ids="n n1 1n1 2n".split())
def test_what_squeeze_leaves_out_of_a_size_of_data_is_checked(shape, mode):
    """How many axes there are hangs on the data; a graph of other data raises."""

    def f(x):
        v = np.squeeze(shape(x[x > 0]))
        return v + v.ndim

    data = [np.array(x) for x in ([-1.0, -2.0, -3.0], [1.0, -2.0, -3.0], [1.0, 2.0, -3.0], [1.0, 2.0, 3.0])]
    for given in data:
        graph = make_fx(f, mode)(given)
        for x in data:
            if np.count_nonzero(x > 0) == 1:
                with pytest.raises(CheckError, match=r"u0 != 1, which was promised at .*, is not so\."):
                    graph(x)
            else:
                np.testing.assert_array_equal(graph(x), f(x), strict=True)


def test_what_cannot_be_traced_runs_as_it_is():
    compiled = dispatch.compile(lambda x: x if x[0] > 0 else -x, dynamic=True)
    with pytest.warns(PerformanceWarning, match=r"^compile: .* runs as it is: the truth was asked of a traced value"):
        np.testing.assert_array_equal(compiled(np.array([-1.0, 2.0])), [1.0, -2.0])
    np.testing.assert_array_equal(compiled(np.array([-1.0, 2.0])), [1.0, -2.0])
    assert len(compiled.entries) == 1


def test_sizes_are_inputs_of_the_program():
    graph = make_fx(lambda x: np.reshape(x, (x.shape[0] * x.shape[1],))[: x.shape[0] + 1], "symbolic")(shaped(3, 4))
    opened, sizes = with_sizes(graph)
    assert [str(x) for x in sizes] == ["s0*s1", "slice(None, s0 + 1, None)"]
    assert [node.name for node in opened.nodes[:2]] == ["size_0", "size_1"]
    x = shaped(5, 2)
    np.testing.assert_array_equal(dynamic_program(graph)(x), x.ravel()[:6])


@pytest.mark.parametrize("mode", ["fake", "symbolic", "compile"])
def test_a_graph_repeats_however_many_elements_a_mask_selects(mode):
    f = lambda x: np.repeat(x[x > 0], 2)
    graph = dispatch.compile(f, fullgraph=True) if mode == "compile" else make_fx(f, mode)(np.array([1.0, 2.0, -3.0]))
    for x in ([1.0, 2.0, -3.0], [1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [-1.0, 2.0, -3.0]):
        np.testing.assert_array_equal(graph(np.array(x)), f(np.array(x)), strict=True)


def scaled_where_negative(x):
    y = x.copy()
    y[y < 0] *= 0.1
    np.add.at(y, [0, 0, 2], 1.0)
    return y


BY_DATA = {  # sizes that data decide; whether calls compute with one, or hold it against another
    "a mask": (lambda x: np.sum(np.sin(x[x > 0])), False),
    "a mask and a write": (scaled_where_negative, False),
    "counts": (lambda x: np.bincount(np.abs(np.floor(x)).astype(int), weights=x), False),
    "elements once": (lambda x: np.unique(np.round(x)) * 2, False),
    "places": (lambda x: x[np.flatnonzero(x > 0)][::-1], False),
    "a gradient": (grad(lambda x: np.sum(x[x > 0] ** 3)), True),
    "a new array": (lambda x: np.ones(x[x > 0].shape) * 2 + x[x > 0], True),
    "two masks": (lambda x: x[x > 0] + x[x < 0], True),
}


@pytest.mark.parametrize("name", BY_DATA)
def test_a_graph_whose_calls_take_no_size_of_data_is_a_program(name):
    f, computes = BY_DATA[name]
    compiled = dispatch.compile(f, fullgraph=True)
    for x in ([0.5, -1.5, 2.5, -0.25], [0.5, 1.5, -2.5, -0.25], [-0.5, 1.25, -3.5, 4.5]):
        np.testing.assert_array_equal(compiled(np.array(x)), f(np.array(x)))
    for x in ([0.5, 1.5, 2.5, 0.25], [-0.5, -1.5, -2.5, -0.25], [0.5, -1.5, -2.5, -0.25]) if not computes else ():
        np.testing.assert_array_equal(compiled(np.array(x)), f(np.array(x)))
    assert len(compiled.entries) == 1
    assert (type(compiled.entries[0].run) is Program) != computes


@pytest.mark.parametrize("index", [1, slice(1, None), -1, (Ellipsis, 1)], ids=str)
def test_a_size_that_data_make_another_is_left_to_the_function_where_a_view_is_read_behind_a_write(index):
    """No item and no slice is too far where the guards hold, so nothing has happened where the promise of the trace does not."""

    def f(x, v):
        y = x[1]
        x **= np.compress(v > 0, v)
        return x[index], y

    def run(f, count):
        x, v = np.linspace(1, 2, 16).reshape(4, 4), np.where(np.arange(4) < count, 2.0, -1.0)
        try:
            return [*f(x, v), x]
        except ValueError as error:
            return [np.array(str(error)), x]

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for count in (4, 1, 4, 2, 0):
        for found, expected in zip(run(compiled, count), run(f, count), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)
    assert [entry.fallbacks for entry in compiled.entries] == [{"an operator raised": 3}]


WINDOWS = np.lib.stride_tricks.sliding_window_view
READ_ONLY = {
    "broadcast_to": lambda x: np.broadcast_to(x * 2, (2, x.shape[0])),
    "windows": lambda x: WINDOWS(x * 2, 2),
    "windows of an argument": lambda x: WINDOWS(x, 2),
    "diagonal": lambda x: np.diagonal(np.outer(x, x)),
    "a row of windows": lambda x: WINDOWS(x * 2, 2)[1],
    "imag of real numbers": lambda x: (x * 2).imag,
    "np.imag of real numbers": lambda x: np.imag(x * 2),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", READ_ONLY)
def test_a_write_to_a_view_that_is_read_only_raises_as_numpys(name, dynamic):
    """Whether a view can be written to is a matter of what made it, and not of its lengths."""

    def f(x):
        y = READ_ONLY[name](x)
        assert not y.flags.writeable
        y[0] = 2.0
        return y + 1

    def g(x):
        y = READ_ONLY[name](x)
        y[0] = 2.0
        return y + 1

    compiled = dispatch.compile(g, dynamic=dynamic)
    for n in (5, 6, 5):
        for h in (f, g, compiled):
            x = np.linspace(1, 2, n)
            with pytest.raises(ValueError, match=r"^assignment destination is read-only$"):
                h(x)
            np.testing.assert_array_equal(x, np.linspace(1, 2, n))
    with pytest.raises((ValueError, dispatch.errors.ArgumentError), match="read-only"):
        make_fx(dispatch.functionalize(f), "symbolic" if dynamic else "fake")(x)(x)


def test_the_class_of_a_size_is_what_it_is_of_a_number():
    def asked(x):
        n, long = x.shape[0], x.shape[0] > 4
        of = [type(n), type(x.size), type(long)]
        return x * sum([cls in (int, bool) for cls in of]), x + isinstance(n, int) + isinstance(long, bool) * 2, x * isinstance(n, float)

    compiled = dispatch.compile(asked, dynamic=True, fullgraph=True)
    for n in (2, 3, 5, 6, 7):
        for found, expected in zip(compiled(np.ones(n)), asked(np.ones(n)), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(compiled.entries) == 1


def test_a_size_is_a_key_as_its_number():
    compiled = dispatch.compile(lambda x: {x.shape[0]: x * 2}, dynamic=True, fullgraph=True)
    for n in (3, 4, 5):
        (found,) = compiled(np.ones(n)).items()
        assert (type(found[0]), found[0], found[1].shape) == (int, n, (n,))
