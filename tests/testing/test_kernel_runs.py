"""One call of a kernel tells what it wrote, also beside its arguments and beside what it made."""

import ctypes

import numpy as np
from planted import A, define

from dispatch import Tag
from dispatch.testing.cases import bind
from dispatch.testing.kernel_runs import FILLINGS, longer_lists_used, results, run, written_arrays


def case_of(kernel, schema="(Tensor x) -> Tensor", args=(A,), **options):
    return bind(define(kernel, schema, **options), args, {})


def test_what_a_kernel_gets_has_the_values_and_another_memory():
    seen = []
    case = case_of(lambda x: seen.append(x) or x * 2.0)
    made = run(case, [False], readonly=True)
    assert not np.may_share_memory(seen[0], A)
    assert (made.error, made.stray, made.changed([False])) == (None, 0, [])
    np.testing.assert_array_equal(made.outputs[0], A * 2.0)
    assert not seen[0].flags.writeable
    run(case, [False], readonly=False)
    assert seen[1].flags.writeable


def test_an_exception_is_a_result():
    def kernel(x):
        raise KeyError("no")

    assert isinstance(run(case_of(kernel), [False], readonly=True).error, KeyError)


def test_memory_that_the_kernel_does_not_write_differs_where_it_is_asked_to():
    case = case_of(lambda x: np.empty(x.shape))
    for other, byte in enumerate(FILLINGS):
        out = run(case, [False], readonly=False, other_filling=bool(other)).outputs[0]
        assert set(out.tobytes()) == {byte}


def test_memory_beside_an_argument_differs_where_it_is_asked_to():
    def beside(x):
        return np.asarray(ctypes.c_double.from_address(x.ctypes.data + x.nbytes).value)

    case = case_of(beside)
    assert run(case, [False], readonly=False).outputs[0] in A
    assert run(case, [False], readonly=False, other_guards=True).outputs[0] == 0


def test_writes_beside_an_array_of_the_kernels_own_are_counted():
    def kernel(x):
        out = np.zeros(3)
        ctypes.c_double.from_address(out.ctypes.data + 24).value = 1.0
        return out

    assert run(case_of(kernel), [False], readonly=False).stray == 1


def test_what_a_schema_lets_a_kernel_write_to():
    def kernel(xs, y):
        y[...] = 0

    case = case_of(kernel, "(Tensor[] xs, Tensor(a!) y) -> ()", ([A, A], A), mutates_args=("y",))
    assert written_arrays(case) == [False, False, True]
    loose = case_of(lambda x: x * 2.0, tags=(Tag.maybe_aliasing_or_mutating,))
    assert written_arrays(loose) == [True]
    made = run(case, [False, False, True], readonly=False)
    assert [name for name, _ in results(case, made, written_arrays(case))] == ["its argument 'y'"]


def test_a_list_is_made_longer_where_the_kernel_does_something_with_the_third():
    of_all = case_of(lambda xs: sum(xs[1:], xs[0] * 1.0), "(Tensor[] xs) -> Tensor", ([A, A],))
    assert [len(more.args[0]) for more in longer_lists_used(of_all)] == [3]
    of_two = case_of(lambda xs: xs[0] * xs[1], "(Tensor[] xs) -> Tensor", ([A, A],))
    assert not list(longer_lists_used(of_two))

    def refuses(xs):
        x, y = xs
        return x * y

    assert not list(longer_lists_used(case_of(refuses, "(Tensor[] xs) -> Tensor", ([A, A],))))
