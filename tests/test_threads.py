"""Threads call, register, define and batch at once: each call is one whole answer, and nobody sees another's levels."""

import sys
import threading

import numpy as np
import pytest
from making import made, shadow

import dispatch
from dispatch import calls
from dispatch.core import DispatchKey, Level, OpOverload, Registration, Setting, open_levels, setting
from dispatch.errors import ArgumentError, EscapedValueError, OutputError
from dispatch.operators import build
from dispatch.schema import Schema

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


def at_once(*works):
    """Run each function in a thread of its own, all from one moment on; raise what the first that failed raised."""
    start, errors = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            for i in range(ROUNDS):
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
            assert "takes" in str(error) or "was defined anew while it was called. Call it again." in str(error)

    at_once(redefine, call, call)
    assert op(A) == 1


def test_a_call_that_fits_by_the_time_the_words_are_sought_says_so():
    op = made("(Tensor x) -> int", lambda x: 1)
    error = calls.refused(op, (A,), {})  # the core said no, and before the words were found another thread redefined
    assert isinstance(error, ArgumentError)
    assert str(error) == "making::op was defined anew while it was called. Call it again."


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
