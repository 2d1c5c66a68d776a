"""A program gives what its graph gives, writes to nothing that anybody sees, and keeps nothing from one run to the next."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from making import made

import dispatch
from dispatch.compiler import program
from dispatch.compiler.trace_function import make_fx
from dispatch.core.program import Program, Slot

rng = np.random.default_rng(0)


def chain(x):
    for _ in range(5):
        x = np.exp(np.sin(x)) * 0.5
    return x


def same(a, b):
    assert type(a) is type(b)
    assert (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    assert a.tobytes() == b.tobytes()


def test_a_program_gives_what_the_function_gives():
    x = rng.normal(size=(3, 4))
    same(program(make_fx(chain)(x))(x), chain(x))


@pytest.mark.parametrize("order", ["C", "F"])
def test_results_are_laid_out_as_eager_results(order):
    """An array that dies takes a result of its own layout only, or the order of a later sum would change."""
    x, y = np.asarray(rng.normal(size=(3, 4)), order=order), rng.normal(size=(3, 4))

    def f(x, y):
        return np.sin(x) + np.cos(y), np.cos(y) + np.sin(x)

    for got, wanted in zip(program(make_fx(f)(x, y))(x, y), f(x, y), strict=True):
        same(got, wanted)


def test_inputs_and_constants_are_not_written():
    x, kept = rng.normal(size=4), np.ones(4)
    before = x.copy()
    run = program(make_fx(lambda x: (np.negative(x) * kept, np.exp(kept)))(x))
    run(x)
    same(x, before)
    same(run(x)[1], np.exp(kept))


def test_a_view_keeps_its_base_from_being_written():
    def f(x):
        y = np.sin(x)
        look = y[1:]
        z = np.exp(y)  # y dies as a name here, and its memory lives on in the view
        return z, look

    x = rng.normal(size=5)
    for got, wanted in zip(program(make_fx(f)(x))(x), f(x), strict=True):
        same(got, wanted)


def test_what_an_operator_keeps_is_not_written():
    seen = []

    def kernel(x):
        seen.append(x)
        return x * 2.0

    keep = made("(Tensor x) -> Tensor", kernel)

    def f(x):
        y = np.sin(x)
        return np.exp(y) + keep(y)

    x = rng.normal(size=3)
    run = program(make_fx(f)(x))
    seen.clear()
    run(x)
    same(seen[0], np.sin(x))


def test_an_array_with_a_weak_reference_is_not_written():
    seen = []

    def kernel(x):
        seen.append((weakref.ref(x), x.copy()))
        return x * 1.0

    watch = made("(Tensor x) -> Tensor", kernel)

    def f(x):
        y = np.sin(x)
        z = watch(y)
        return np.exp(y) + z

    run = program(make_fx(f)(rng.normal(size=3)))
    seen.clear()
    same(run(np.ones(3)), f(np.ones(3)))


def test_other_shapes_than_planned_run_as_well():
    run = program(make_fx(lambda x, y: np.sin(x) + y)(np.ones(3), np.ones(3)))
    x, y = rng.normal(size=3), rng.normal(size=(2, 3))
    same(run(x, y), np.sin(x) + y)
    x = rng.normal(size=3).astype(np.float32)
    same(run(x, y), np.sin(x) + y)


def test_scalars_stay_scalars():
    x = np.array(2.0)
    same(program(make_fx(lambda x: np.exp(np.sin(x)) * 2.0)(x))(x), np.exp(np.sin(x)) * 2.0)


def test_a_chain_needs_two_arrays_at_most():
    """Its live memory is what the kernels of a following operator see alive."""
    alive = []

    def kernel(x):
        alive.append(sum(1 for ref in made_arrays if ref() is not None))
        out = x + 1.0
        made_arrays.append(weakref.ref(out))
        return out

    made_arrays: list[weakref.ref] = []
    step = made("(Tensor x) -> Tensor", kernel)

    def f(x):
        for _ in range(20):
            x = step(x)
        return x

    run = program(make_fx(f)(np.ones(3)))
    made_arrays.clear()
    alive.clear()
    run(np.ones(3))
    assert max(alive) == 1  # the argument; the result is the second


def test_buffers_are_taken_over():
    """All elementwise steps of a chain after the first write to one array."""
    x = np.ones(1000)
    seen = []
    look = made("(Tensor x) -> ()", lambda x: seen.append(x.__array_interface__["data"][0]))

    def f(x):
        for _ in range(4):
            x = np.negative(x)
            look(x)
        return x

    run = program(make_fx(f)(x))
    seen.clear()
    run(x)
    assert len(set(seen)) == 1


UFUNCS = sorted({u.__name__ for u in [*vars(np).values()] if type(u) is np.ufunc and u.nout == 1 and u.signature is None})


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_a_ufunc_that_writes_to_its_argument_rounds_as_one_that_does_not(dtype, size):
    """NumPy multiplies complex arrays of one element otherwise in place."""
    random = np.random.default_rng(size)
    x, y = ((random.normal(size=(2, size)) + 1j * random.normal(size=(2, size))) if dtype[0] == "c" else random.normal(size=(2, size))).astype(dtype)
    with np.errstate(all="ignore"):
        for u in [getattr(np, name) for name in UFUNCS]:
            if np.dtype(dtype).char * u.nin not in [types.split("->")[0] for types in u.types]:
                continue

            def f(x, y, u=u):
                others = (-x, +y)[: u.nin]
                return u(*others), u(*others[1:], -x)

            for found, expected in zip(program(make_fx(f)(x, y))(x, y), f(x, y), strict=True):
                same(found, expected)


def test_nothing_is_kept_between_runs():
    x = np.ones(3)
    run = program(make_fx(lambda x: [np.sin(x), {"a": np.exp(np.sin(x))}])(x))
    before = sys.getrefcount(x)
    out = weakref.ref(run(x)[0])
    gc.collect()
    assert out() is None
    assert sys.getrefcount(x) == before


def test_containers_are_put_together():
    def f(xs, d):
        return {"sum": np.stack([xs[0], d["a"], xs[0]]), "parts": (xs[1], [d["a"] * 2.0])}

    x, y, z = (rng.normal(size=2) for _ in range(3))
    graph = make_fx(f)([x, y], {"a": z})
    got, wanted = program(graph)(x, y, z), f([x, y], {"a": z})
    same(got["sum"], wanted["sum"])
    assert got["parts"][0] is y
    same(got["parts"][1][0], wanted["parts"][1][0])


def test_items_of_several_outputs():
    def f(x):
        q, r = np.linalg.qr(x)
        return r, q

    x = rng.normal(size=(3, 3))
    for got, wanted in zip(program(make_fx(f)(x))(x), f(x), strict=True):
        same(got, wanted)


def test_wrappers_go_through_the_operators():
    x = rng.normal(size=(4, 3))
    run = program(make_fx(chain)(x[0]))
    same(dispatch.grad(lambda x: np.sum(run(x)))(x[0]), dispatch.grad(lambda x: np.sum(chain(x)))(x[0]))
    same(dispatch.vmap(run)(x), dispatch.vmap(chain)(x))
    with dispatch.FakeTensorMode() as mode:
        assert run(mode.from_array(x[0])).shape == (3,)


def test_a_mode_sees_every_call():
    x = np.ones(3)
    run = program(make_fx(chain)(x))
    with dispatch.profile() as seen:
        run(x)
    assert sum(row.calls for row in seen.rows) == run.count


def test_an_exception_names_the_node_and_the_line():
    def f(x):
        return np.linalg.inv(x) * 2.0

    run = program(make_fx(f)(np.eye(2)))
    with pytest.raises(np.linalg.LinAlgError) as raised:
        run(np.zeros((2, 2)))
    notes = raised.value.__notes__
    assert "in node linalg_inv of the graph, of test_program.py:" in notes[-1]
    assert "return np.linalg.inv(x) * 2.0" in notes[-1]


def test_an_exception_of_a_ufunc_that_writes_to_its_argument_is_noted_as_any_other():
    x = np.ones(3)
    run = program(make_fx(lambda x: np.log(np.negative(x)))(-x))
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError) as raised:
        run(x)
    assert "in operator np::log" in raised.value.__notes__[0]
    assert "in node log of the graph" in raised.value.__notes__[1]


def test_a_wrong_number_of_inputs_is_refused():
    run = program(make_fx(np.sin)(np.ones(2)))
    with pytest.raises(TypeError, match=r"^a program of 1 inputs was given 2\.$"):
        run(np.ones(2), np.ones(2))


def test_a_number_of_a_class_that_lies_about_its_shape_is_read_no_further_than_its_strides():
    class Lying(np.float64):
        shape = property(lambda self: (3,))

    with pytest.raises(ValueError, match=r"^an input of shape \(3,\) has as many strides, and not \(\)\.$"):
        program(make_fx(lambda x: 3)(Lying(2.0)))


def test_a_kernel_that_is_registered_later_runs():
    op = made("(Tensor x) -> Tensor", np.negative)
    x = np.ones(3)
    run = program(make_fx(lambda x: op(np.exp(x)))(x))
    same(run(x), -np.exp(x))
    op.register_at(dispatch.DispatchKey.CPU, lambda x: x + 1.0)
    same(run(x), np.exp(x) + 1.0)


def test_programs_run_in_threads_and_inside_themselves():
    x = rng.normal(size=1000)
    inner = []
    again = made("(Tensor x) -> Tensor", lambda x: inner[0](x) if inner else x * 1.0)
    run = program(make_fx(lambda x: np.exp(again(np.sin(x))) * 0.5)(x))
    inner.append(program(make_fx(chain)(x)))
    wanted = np.exp(chain(np.sin(x))) * 0.5
    got = []
    threads = [threading.Thread(target=lambda: got.extend(run(x) for _ in range(20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 80
    for out in got:
        same(out, wanted)


def test_many_slots_and_many_arguments_need_no_stack():
    names = ", ".join(f"Tensor x{i}" for i in range(30))
    total = made(f"({names}) -> Tensor", lambda *xs: sum(xs))

    def f(x):
        for _ in range(200):
            x = np.sin(x) + 0.1
        return total(*[x * float(i) for i in range(30)])

    x = rng.normal(size=3)
    same(program(make_fx(f)(x))(x), f(x))


def test_what_cannot_be_a_slot_is_refused():
    with pytest.raises(TypeError):
        Program(1, (None,), [], [(np.sin, (Slot(0),), -1, [], None, [], [], None, None)], Slot(0), str)


def test_what_it_shows():
    assert repr(program(make_fx(np.sin)(np.ones(2)))) == "Program(calls=1, inputs=1)"
