"""Threads call, register, define and batch at once: each call is one whole answer, and nobody sees another's levels."""

import sys
import threading

import numpy as np
import pytest
from making import made, shadow
from thread_storm import storm

import dispatch
from dispatch.core import DispatchKey, Level, OpOverload, Registration, Setting, open_levels, setting
from dispatch.dispatcher import call_errors
from dispatch.errors import ArgumentError, DispatchError, EscapedValueError, OperatorNotFoundError, OutputError
from dispatch.operators.registry import add, build, remove
from dispatch.schema.schema import Schema

A = np.arange(4.0)
CPU, JVP = DispatchKey.CPU, DispatchKey.JVP
ROUNDS = 300


@pytest.fixture(autouse=True)
def _often_switched():
    """Let the interpreter switch threads at every chance it has."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def at_once(*works, rounds=ROUNDS):
    """Run each function in a thread of its own, all from one moment on; raise what the first that failed raised."""
    start, errors = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            for i in range(rounds):
                work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def test_calls_while_others_register_get_one_of_the_kernels():
    op = made("(Tensor x) -> int", lambda x: 0)

    def register(i):
        handle = op.register_at(CPU, lambda x, i=i: i)
        op.register_at(JVP, lambda x, i=i: -i)
        op.unregister(handle)

    def call(i):
        assert 0 <= op(A) < ROUNDS
        assert 0 <= op(x=A) < ROUNDS

    at_once(register, register, call, call)
    assert op(A) == 0
    assert op.table.live(CPU).rule(A) == 0
    assert len(op.table.all()) == 1 + 2 * ROUNDS


def test_registering_from_many_threads_loses_nothing():
    op = made("(Tensor x) -> int", lambda x: 0)
    handles: list[Registration] = []
    at_once(*[lambda i: handles.append(op.register_at(CPU, lambda x: 1))] * 4)
    assert len(handles) == 4 * ROUNDS
    at_once(*[lambda i: op.unregister(handles.pop())] * 4)
    assert op(A) == 0


def test_a_slot_is_lowered_once_however_many_ask_for_it():
    class Layer:
        name, key = "layer", JVP

        def __init__(self):
            self.count = 0

        def check(self, op, rule):
            pass

        def lower(self, op, rule):
            self.count += 1
            return rule

    layers = [Layer() for _ in range(ROUNDS)]
    ops: list[OpOverload] = [made("(Tensor x) -> int") for _ in range(ROUNDS)]
    for op, layer in zip(ops, layers, strict=True):
        op.register(layer, lambda x: 1)
    with Level("t") as level:
        x = shadow(A, level)
        at_once(*[lambda i: ops[i](x)] * 4)
    assert [layer.count for layer in layers] == [1] * ROUNDS


def test_calls_while_another_redefines_get_one_definition_whole():
    def definition(text, kernel):
        other = build(Schema.parse(text, name="making::op"))
        other.register_at(CPU, kernel)
        return other

    op = made("(Tensor x) -> int", lambda x: 1)

    def redefine(i):
        op.redefine(definition("(Tensor x, int n=2) -> (int, int)", lambda x, n: (n, n)))
        op.redefine(definition("(Tensor x) -> int", lambda x: 1))

    def call(i):
        assert op(A) in {1, (2, 2)}
        assert op(x=A) in {1, (2, 2)}
        try:
            assert op(A, 3) == (3, 3)
        except ArgumentError as error:
            assert str(error) == "making::op(x) takes 1 and was given 2."

    at_once(redefine, call, call)
    assert op(A) == 1


def test_a_call_that_fits_when_the_reason_is_sought_says_so():
    op = made("(Tensor x) -> int", lambda x: 1)
    error = call_errors.refused(op.definition, (A,), {})  # as after a check that said no
    assert isinstance(error, ArgumentError)
    assert str(error).startswith("making::op: a check refused the call, and passed when it was asked again for the reason.")


def test_definitions_of_many_threads_are_all_found():
    def define(number):
        def work(i):
            name = f"threadtests::op{number}_{i}"
            op = dispatch.custom_op(name, lambda x: x + i, mutates_args=(), schema="(Tensor x) -> Tensor")
            assert getattr(dispatch.ops.threadtests, f"op{number}_{i}") is op

        return work

    at_once(*map(define, range(4)))
    assert len(dir(dispatch.ops.threadtests)) == 4 * ROUNDS


def test_the_state_of_a_thread_is_its_own():
    def work(name):
        def once(i):
            assert (setting(int(JVP)), open_levels()) == (None, [])
            with Setting(int(JVP), name), Level(name) as level:
                assert setting(int(JVP)) == name
                assert open_levels() == [level]

        return once

    at_once(*map(work, "abcd"))


def test_transforms_in_worker_threads_do_not_meet():
    op = dispatch.custom_op("threadtests_grad::cube", lambda x: x**3, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_autograd(
        lambda ctx, g: 3 * ctx.x * ctx.x * g, setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0])
    )
    op.register_vmap(lambda info, in_dims, x: (op(x), in_dims[0]))
    slope = dispatch.vmap(dispatch.grad(op))

    def work(scale):
        def once(i):
            assert np.allclose(slope(A * scale), 3 * (A * scale) ** 2)

        return once

    at_once(*map(work, (1.0, 2.0, 3.0)))


def test_a_value_of_another_thread_s_open_level_is_seen_and_of_a_closed_one_refused():
    op = made("(Tensor x) -> str", lambda x: "cpu")
    op.register_at(JVP, lambda x: "layer")
    with Level("here") as level:
        x = shadow(A, level)
        at_once(lambda i: op(x))
    with pytest.raises(EscapedValueError, match=rf"here \(level {level.number}\)"):
        at_once(lambda i: op(x))


def test_refusals_and_failures_of_many_threads_keep_to_themselves():
    op = made("(Tensor x, int n) -> Tensor", lambda x, n: None if n else x / [])

    def refused(i):
        with pytest.raises(ArgumentError, match="argument 'n' is int"):
            op(A, "text")

    def output(i):
        with pytest.raises(OutputError, match="returned None"):
            op(A, 1)

    def raised(i):
        with pytest.raises(ValueError, match="could not be broadcast") as caught:
            op(A, 0)
        assert len(caught.value.__notes__) == 1

    at_once(refused, output, raised)


def known(text, kernel):
    """An operator made known by its name, or the older one of that name, which has become it."""
    op = build(Schema.parse(text))
    op.register_at(CPU, kernel)
    return add(op, __name__, "test_threads.py:1")


def test_sixteen_threads_register_redefine_and_call_one_operator_and_lose_nothing():
    rounds = 60
    op = known("threadtests_all::op(Tensor x) -> str", lambda x: "0")
    by_name = lambda: dispatch.ops.threadtests_all.op
    made_by_all, handles = [], []

    def redefine(number):
        def work(i):
            new = known("threadtests_all::op(Tensor x) -> str", lambda x: f"{number}.{i}")
            assert new is op
            made_by_all.append(new.epoch)

        return work

    def overload(number):
        def work(i):
            text = f"threadtests_all::op.o{number}_{i}(Tensor x, *, int n{number}_{i}) -> str"
            new = known(text, lambda x, **keywords: f"overload {number}.{i}")
            found = by_name()
            assert found(A, **{f"n{number}_{i}": 1}) == f"overload {number}.{i}"
            assert getattr(found, f"o{number}_{i}") is new
            if i % 2:
                remove(new)

        return work

    def register(i):
        handles.append(op.register_at(JVP, lambda x: "jvp"))

    def call(i):
        for use in (op, by_name()):
            assert use(A).partition(".")[0] in {"0", "1", "2", "3", "4"}
            assert use(x=A)

    def define(number):
        def work(i):
            new = known(f"threadtests_all::own{number}_{i}(Tensor x) -> int", lambda x: i)
            assert getattr(dispatch.ops.threadtests_all, f"own{number}_{i}") is new
            assert new(A) == i

        return work

    works = [*map(redefine, range(1, 5)), *map(overload, range(4)), register, register, call, call, call, call, define(0), define(1)]
    assert len(works) == 16
    at_once(*works, rounds=rounds)
    assert op.epoch == 1 + 4 * rounds
    assert max(made_by_all) == op.epoch
    assert len(handles) == 2 * rounds
    assert sorted(by_name().overloads()) == sorted(["default", *(f"o{n}_{i}" for n in range(4) for i in range(0, rounds, 2))])
    assert {f"own{n}_{i}" for n in range(2) for i in range(rounds)} <= set(dir(dispatch.ops.threadtests_all))


def test_what_was_found_by_types_is_never_older_than_the_overloads():
    known("threadtests_types::op(float x) -> str", lambda x: "float")
    known("threadtests_types::op.text(str x) -> str", lambda x: "text")
    op = dispatch.ops.threadtests_types.op
    here = threading.Lock()

    def change(i):
        with here:  # the only one who adds and removes: what a call gives in between is certain
            nearer = known("threadtests_types::op.integer(int x) -> str", lambda x: "int")
            assert op(1) == "int"
            remove(nearer)
            assert op(1) == "float"

    def call(i):
        assert op(1) in {"int", "float"}
        assert op("text") == op(x="text") == "text"

    at_once(change, call, call, call)
    assert op(1) == "float"


def test_a_name_that_comes_and_goes_is_there_or_not_there():
    known("threadtests_gone::stays(Tensor x) -> int", lambda x: 0)

    def change(i):
        remove(known("threadtests_gone::op(Tensor x) -> int", lambda x: i))

    def call(i):
        try:
            assert dispatch.ops.threadtests_gone.op(A) in range(ROUNDS)
        except OperatorNotFoundError as error:
            assert "there is no operator threadtests_gone::op" in str(error)
        assert dispatch.ops.threadtests_gone.stays(A) == 0

    at_once(change, call, call)
    with pytest.raises(DispatchError):
        dispatch.ops.threadtests_gone.op


def test_calls_of_five_threads_while_one_redefines_give_the_answer_of_one_definition():
    assert storm(lambda: range(20)) == 5 * 20 * 30
