"""A batch in chunks and in threads gives what it gives whole."""

import threading

import making
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch
from dispatch import grad, vmap
from dispatch.core.pytree import leaves
from dispatch.errors import BatchingError
from dispatch.layers.vmap import chunks
from dispatch.operators.gufunc import spread

A = np.arange(21.0).reshape(7, 3) + 1


def said(call, error=BatchingError):
    return making.said(call, error)


def program(p, y, *, k):
    return {"sin": np.sin(p["x"]) * y, "all": [np.sum(p["x"]) * k, y]}, 2.5


DIMS = {"in_dims": ({"x": 1}, None), "out_dims": ({"sin": -1, "all": 0}, 0)}


@pytest.mark.parametrize("options", [{"chunk_size": n} for n in (1, 2, 3, 7, 8)] + [{"workers": n} for n in (1, 2, 3, 9)] + [{"chunk_size": 2, "workers": 3}])
def test_chunks_and_threads_give_what_the_whole_gives(options):
    args = {"x": A.T}, A[0]
    expected = vmap(program, **DIMS)(*args, k=3)
    found = vmap(program, **DIMS, **options)(*args, k=3)
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert np.array_equal(x, y)


@given(st.integers(0, 9), st.integers(1, 10), st.sampled_from([None, 1, 2, 3]), st.integers(-2, 1), st.integers(-2, 1))
def test_any_size_in_any_chunks(size, chunk_size, workers, dim, out):
    x = np.moveaxis(np.arange(4.0 * size).reshape(size, 4), 0, dim)
    whole = vmap(np.sin, dim, out)(x)
    assert np.array_equal(vmap(np.sin, dim, out, chunk_size=chunk_size)(x), whole)
    assert np.array_equal(vmap(np.sin, dim, out, workers=workers)(x), whole)


def test_a_rule_is_told_the_size_of_its_chunk():
    seen = []
    op = making.batched("(Tensor x) -> Tensor", lambda x: x, lambda info, in_dims, x: seen.append(info.batch_size) or (x, 0))
    vmap(op, chunk_size=3)(A)
    assert seen == [3, 3, 1]
    vmap(op, chunk_size=7)(A)
    assert seen[3:] == [7]


def test_an_output_without_the_axis_is_that_of_the_first_chunk():
    first, text = vmap(lambda x: (x, "text"), out_dims=(0, None), chunk_size=2)(A)
    assert np.array_equal(first, A)
    assert text == "text"


def test_gradients_and_outer_batches_go_through_chunks_and_threads():
    for options in ({"chunk_size": 2}, {"workers": 2}, {"chunk_size": 2, "workers": 2}):
        assert np.allclose(grad(lambda x, o=options: np.sum(vmap(np.sin, 1, **o)(x) ** 2))(A), 2 * np.sin(A) * np.cos(A))
        assert np.array_equal(vmap(vmap(np.sin, **options))(np.stack([A, A])), np.sin([A, A]))
        assert np.allclose(vmap(grad(lambda x: np.sum(x**3)), **options)(A), 3 * A**2)
        outer = np.arange(7.0)
        assert np.array_equal(vmap(lambda s, o=options: vmap(lambda x: x * s, **o)(A))(outer), A * outer[:, None, None])


def test_workers_are_threads_in_which_what_is_turned_on_here_is_on():
    seen = set()
    tracked = dispatch.tensor([1.0], requires_grad=True)

    def f(x):
        seen.add(threading.current_thread().name)
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(1))
        return x + tracked * 0 if type(tracked * 2) is not np.ndarray else x

    with np.errstate(all="raise"), dispatch.no_grad():
        assert type(vmap(f, workers=2)(A)) is np.ndarray
    assert {name.partition(" ")[0] for name in seen} == {threading.current_thread().name, "dispatch"}  # this thread takes the first chunk
    assert not any(t.name.startswith("dispatch loop") for t in threading.enumerate())


@pytest.mark.parametrize("workers", [None, 1, 2, 4])
def test_the_first_exception_comes_through_and_ends_the_others(workers):
    begun = []

    def rule(info, in_dims, x):
        begun.append(x[0, 0])
        if x[0, 0] > 6:
            raise ZeroDivisionError(str(x[0, 0]))
        return x, 0

    op = making.batched("(Tensor x) -> Tensor", lambda x: x, rule)
    with pytest.raises(ZeroDivisionError) as caught:
        vmap(op, chunk_size=1, workers=workers)(A)
    assert caught.value.args[0] in {str(x) for x in begun}
    if workers in {None, 1}:
        assert begun == [1, 4, 7]
    assert not any(t.name.startswith("dispatch loop") for t in threading.enumerate())


@pytest.mark.parametrize("fails", ["start", "join"])
def test_a_thread_that_cannot_start_or_an_interrupt_leaves_none_behind(monkeypatch, fails):
    class Failing(threading.Thread):
        count = 0

        def start(self):
            Failing.count += 1
            if fails == "start" and Failing.count == 2:
                raise RuntimeError
            super().start()

        def join(self, timeout=None):
            super().join(timeout)
            if fails == "join" and Failing.count < 10:
                Failing.count = 10
                raise KeyboardInterrupt

    monkeypatch.setattr(spread, "Thread", Failing)
    with pytest.raises(RuntimeError if fails == "start" else KeyboardInterrupt):
        vmap(np.sin, chunk_size=1, workers=3)(A)
    assert not any(t.name.startswith("dispatch loop") for t in threading.enumerate())


def test_linear_algebra_is_kept_to_one_thread_where_it_can_be(monkeypatch):
    limits = []

    class Limited:
        def __enter__(self):
            limits.append("on")

        def __exit__(self, *error):
            limits.append("off")

    class Library:
        @staticmethod
        def threadpool_limits(count, kind):
            limits.append((count, kind))
            return Limited()

    monkeypatch.setattr(chunks, "require", lambda module, extra: Library)
    vmap(np.sin, workers=2)(A)
    assert limits == [(1, "blas"), "on", "off"]
    monkeypatch.undo()

    def missing(module, extra):
        raise dispatch.errors.MissingExtraError

    monkeypatch.setattr(chunks, "require", missing)
    assert np.array_equal(vmap(np.sin, workers=2)(A), np.sin(A))


@pytest.mark.parametrize("other", [lambda x: (x, x), lambda x: {"b": x}, lambda x: x])
def test_chunks_of_different_structure(other):
    sizes = []
    op = making.batched("(Tensor x) -> Tensor", lambda x: x, lambda info, in_dims, x: sizes.append(info.batch_size) or (x, 0))

    def f(x):
        x = op(x)
        return {"a": x} if sizes[-1] == 4 else other(x)

    message = said(lambda: vmap(f, chunk_size=4)(A))
    assert message.startswith("vmap: the chunks gave results of different structure, a dict with 'a' and ")
    assert message.endswith(". Return the same for every size of the batch.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 0}, "vmap: chunk_size is a number of items, 1 or more, and was given as 0."),
        ({"chunk_size": -2}, "vmap: chunk_size is a number of items, 1 or more, and was given as -2."),
        ({"chunk_size": 2.0}, "vmap: chunk_size is a number of items, 1 or more, and was given as a float."),
        ({"workers": 0}, "vmap: workers is a number of threads, 1 or more, and was given as 0."),
        ({"workers": "2"}, "vmap: workers is a number of threads, 1 or more, and was given as a str."),
    ],
)
def test_numbers_that_are_none(options, message):
    assert said(lambda: vmap(np.sin, **options)) == message
