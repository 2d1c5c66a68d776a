"""A mode sees every call below the transforms, once, and leaves nothing behind; a rule stands around the kernels it names."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import define, leaf, made, said

import dispatch
from dispatch import Mode
from dispatch.core import (
    DispatchKey,
    Level,
    ModeGuard,
    Registration,
    active_mode,
    active_modes,
    add_fallback,
    remove_fallback,
)
from dispatch.dispatcher.array_types import register_array_type
from dispatch.dispatcher.key_guards import IncludeDispatchKeyGuard
from dispatch.dispatcher.layer import find_layer
from dispatch.errors import DefinitionError, GuardError, NoKernelError, OperatorNotFoundError, OutputError
from dispatch.library import register_dispatch
from dispatch.operators.kernel_handle import get_kernel
from dispatch.operators.libraries import Library

X = np.array([1.0, 2.0])
sin, add = dispatch.ops.np.sin, dispatch.ops.np.add


class Diary(Mode):
    """Notes what it sees and calls on."""

    def __init__(self, name="", pages=None):
        self.name, self.pages = name, [] if pages is None else pages

    def __dispatch__(self, op, types, args, kwargs):
        self.pages.append((self.name, op.name, types, args, kwargs))
        return op(*args, **kwargs)

    @property
    def names(self):
        return [name for _, name, *_ in self.pages]

    @property
    def order(self):
        return [name for name, *_ in self.pages]


class Diaries(Diary):
    """A subclass."""


class Doubling(Mode):
    """Adds one to what comes up, then doubles it: two of them in another order give something else."""

    def __init__(self, f):
        self.f = f

    def __dispatch__(self, op, types, args, kwargs):
        return self.f(op(*args, **kwargs))


class Labelled(np.ndarray):
    """A subclass of NumPy's arrays: it belongs to the CPU."""


class Lettered(Labelled):
    """A subclass of it."""


class Distant:
    """An array of a device of its own."""

    def __init__(self, values):
        self.values = np.asarray(values)

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)


register_array_type(Distant, device="remote")


# -- what a mode sees ------------------------------------------------------------------------------------------------------


def test_a_mode_sees_the_call_and_what_it_returns_is_the_result():
    with Diary() as diary:
        out = sin(X)
    assert np.array_equal(out, np.sin(X))
    ((_, name, types, args, kwargs),) = diary.pages
    assert (name, types, args, kwargs) == ("np::sin", (), (X,), {})
    with Doubling(lambda y: 2 * y):
        assert np.array_equal(sin(X), 2 * np.sin(X))


def test_a_mode_is_off_again_after_its_block_and_costs_no_slot():
    diary = Diary()
    with diary:
        pass
    assert np.array_equal(sin(X), np.sin(X))
    assert diary.pages == []
    assert active_modes() == []


def test_by_default_a_mode_calls_on():
    with Mode() as mode:
        assert np.array_equal(sin(X), np.sin(X))
    assert repr(mode) == "Mode()"
    assert repr(Diary()) == "Diary()"


def test_arguments_are_full_and_keyword_only_ones_stand_apart():
    op = made("(Tensor x, float a=2.0, *, int n=3, str how='plain') -> Tensor", lambda x, a, *, n, how: x * a * n)
    with Diary() as diary:
        assert np.array_equal(op(X), X * 6)
        assert np.array_equal(op(a=1.0, x=X, n=1), X)
    assert [(args[1:], kwargs) for *_, args, kwargs in diary.pages] == [
        ((2.0,), {"n": 3, "how": "plain"}),
        ((1.0,), {"n": 1, "how": "plain"}),
    ]


def test_types_are_the_classes_of_arrays_that_are_not_plain_each_once_in_order():
    op = made("(Tensor x, Tensor[] many, Tensor? y=None, *, Dict(str, Tensor) named) -> Any", lambda *args, **named: 0)
    few = made("(Tensor x, Tensor[] many) -> Any", lambda *args: 0)
    label, letter = X.view(Labelled), X.view(Lettered)
    with Diary() as diary:
        op(X, [letter, X, label], np.float64(1), named={"a": label, "b": X})
        few(np.float64(2), [X])
        with dispatch.FakeTensorMode() as fakes:
            sin(fakes.from_array(X))
    assert [types for _, _, types, *_ in diary.pages] == [(Lettered, Labelled), (), (dispatch.FakeTensor,)]


def test_a_mode_stands_below_the_transforms():
    with Diary() as diary:
        out = dispatch.vmap(dispatch.grad(np.sin))(X)
    assert np.allclose(out, np.cos(X))
    assert Counter(diary.names) == {"np::sin": 1, "np::ones_like": 1, "np::cos": 1, "np::multiply": 1, "np::getitem": 1}
    assert all(type(x) is np.ndarray for *_, args, _ in diary.pages for x in args if not isinstance(x, (tuple, list, type(None))))


def test_a_mode_that_is_entered_inside_a_transform_stands_below_it_and_below_those_around_it():
    diary = Diary()

    def f(x):
        with diary:
            return np.sin(x)

    out = dispatch.vmap(dispatch.grad(f))(X)
    assert np.allclose(out, np.cos(X))
    assert [(name, types) for _, name, types, *_ in diary.pages] == [("np::sin", ())]


def test_a_mode_sees_backward_and_above_it_the_tape_records():
    x = leaf(X)
    with Diary() as diary:
        y = sin(x)
        assert isinstance(y, dispatch.Tensor)
        y.sum().backward()
    assert np.allclose(x.grad, np.cos(X))
    assert {"np::sin", "np::sum", "np::cos", "np::multiply"} <= set(diary.names)


def test_a_mode_stands_above_fakes_and_prims_pass_through_it():
    with dispatch.FakeTensorMode() as fakes, Diary() as diary:
        out = sin(fakes.from_array(X))
    assert (type(out), diary.names) == (dispatch.FakeTensor, ["np::sin"])


def test_a_composite_is_taken_apart_before_a_mode_sees_it():
    op = define("(Tensor x) -> Tensor", lambda x: sin(x) + sin(x), key=DispatchKey.CompositeImplicit)
    with Diary() as diary:
        assert np.array_equal(op(X), 2 * np.sin(X))
    assert diary.names == ["np::sin", "np::sin"]


def test_inside_its_dispatch_a_mode_is_off_for_every_operator():
    class Asking(Mode):
        calls = 0

        def __dispatch__(self, op, types, args, kwargs):
            self.calls += 1
            assert active_mode(DispatchKey.MODE) is None
            return add(sin(*args), op(*args, **kwargs))

    with Asking() as mode:
        assert np.array_equal(sin(X), 2 * np.sin(X))
        assert mode.calls == 1
        assert active_mode(DispatchKey.MODE).mode is mode


def test_a_residual_passes_a_mode():
    kept = []

    def forward(x):
        return np.sin(x), "kept"

    op = define(
        "(Tensor x) -> (Tensor, Residual)",
        forward,
        autograd=lambda ctx, g: kept.append(ctx.residual) or g,
        setup=lambda ctx, inputs, output: None,
    )
    with Diary() as diary:
        assert np.array_equal(op(X), np.sin(X))
        dispatch.grad(lambda x: op(x).sum())(X)
    assert kept == ["kept"]
    assert diary.names[0] == op.name


def test_keyword_only_arguments_of_an_operator_with_a_residual_come_by_position():
    op = made("(Tensor x, *, float a=2.0) -> (Tensor, Residual)", lambda x, *, a: (x * a, a))
    with Diary() as diary:
        assert np.array_equal(op(X, a=3.0), 3 * X)
    assert [(args[1:], kwargs) for *_, args, kwargs in diary.pages] == [((3.0,), {})]


# -- several modes ---------------------------------------------------------------------------------------------------------


def test_the_inner_of_two_modes_is_asked_first():
    pages = []
    with Diary("outer", pages), Diary("inner", pages) as inner:
        sin(X)
        assert inner.order == ["inner", "outer"]
    with Doubling(lambda y: y + 1), Doubling(lambda y: y * 2):
        assert np.array_equal(sin(X), (np.sin(X) + 1) * 2)


def test_one_mode_entered_twice_is_asked_twice():
    diary = Diary("one")
    with diary, diary:
        sin(X)
    assert diary.order == ["one", "one"]
    assert active_modes() == []


def test_a_mode_that_is_entered_in_a_dispatch_is_on_for_what_it_calls():
    diary = Diary()

    class Opening(Mode):
        def __dispatch__(self, op, types, args, kwargs):
            with diary:
                return add(*args, *args) if op is sin else op(*args, **kwargs)

    with Opening():
        assert np.array_equal(sin(X), X + X)
    assert diary.names == ["np::add"]


def test_a_mode_that_turns_itself_on_in_its_dispatch_ends_in_a_recursion_error_and_leaves_nothing():
    class Endless(Mode):
        def __dispatch__(self, op, types, args, kwargs):
            with self:
                return op(*args, **kwargs)

    with pytest.raises(RecursionError), Endless():
        sin(X)
    assert active_modes() == []


def test_a_mode_that_a_transform_turned_on_at_its_level_is_asked_before_those_at_level_zero():
    pages = []
    with Level("a transform") as level, ModeGuard(DispatchKey.MODE, Diary("level", pages), level), Diary("zero", pages):
        sin(X)
    assert [name for name, *_ in pages] == ["level", "zero"]


def test_an_included_key_lets_calls_through_beside_a_mode():
    with IncludeDispatchKeyGuard("MODE"), Diary() as diary, IncludeDispatchKeyGuard("MODE"):
        assert np.array_equal(sin(X), np.sin(X))
    assert diary.names == ["np::sin"]
    assert np.array_equal(sin.at(DispatchKey.MODE)(X), np.sin(X))


def test_redispatch_below_the_key_goes_past_every_mode():
    with Diary() as diary:
        assert np.array_equal(sin.redispatch(DispatchKey.MODE, X), np.sin(X))
    assert diary.pages == []


def test_what_is_registered_at_the_key_itself_comes_before_the_modes():
    op = made("(Tensor x) -> Tensor", np.sin)
    registration = Registration(DispatchKey.MODE, lambda op, *args: op.redispatch(DispatchKey.MODE, *args) + 1)
    with Diary() as diary:
        op(X)
        direct = op.register_at(DispatchKey.MODE, lambda x: op.redispatch(DispatchKey.MODE, x))
        op(X)
        op.unregister(direct)
        op(X)
    assert len(diary.pages) == 2
    add_fallback(registration)
    try:
        other = made("(Tensor x) -> Tensor", np.sin)
        with diary:
            assert np.array_equal(other(X), np.sin(X) + 1)
    finally:
        remove_fallback(registration)
    assert len(diary.pages) == 2


# -- nothing leaks ---------------------------------------------------------------------------------------------------------


def test_an_exception_leaves_no_mode_and_keeps_its_type():
    class Failing(Mode):
        def __dispatch__(self, op, types, args, kwargs):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), Diary(), Failing():
        sin(X)
    assert active_modes() == []
    diary = Diary()
    with pytest.raises(ZeroDivisionError), diary:
        made("(Tensor x) -> Tensor", lambda x: 1 / 0)(X)
    with diary:
        sin(X)
    assert diary.names == ["making::op", "np::sin"]


def test_a_mode_belongs_to_its_thread_and_is_carried_by_carry():
    diary = Diary()
    with diary, ThreadPoolExecutor(1) as pool:
        pool.submit(sin, X).result()
        assert diary.pages == []
        pool.submit(dispatch.carry(sin), X).result()
        assert diary.names == ["np::sin"]


def test_threads_may_share_a_mode():
    diary, barrier, outs = Diary(), threading.Barrier(8), []

    def work():
        with diary:
            barrier.wait()
            outs.append(sin(X))
            barrier.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(outs), diary.names) == (8, ["np::sin"] * 8)


def test_a_mode_held_over_a_yield_is_found_out():
    def paused(mode):
        with mode:
            yield

    first, second = paused(Diary()), paused(Diaries())
    next(first)
    next(second)
    message = said(lambda: next(first), GuardError)
    assert message.startswith("Diary() is left while Diaries(), entered after it, is still on.")
    assert next(second, "ended") == "ended"
    assert active_modes() == []


def test_a_mode_is_left_where_it_was_entered():
    mode = Diary()
    message = "Diary() is left in a thread in which it was not entered. Enter and leave it in one thread."
    assert said(lambda: mode.__exit__(None, None, None), GuardError) == message
    with mode, ThreadPoolExecutor(1) as pool:
        assert said(lambda: pool.submit(mode.__exit__, None, None, None).result(), GuardError) == message


# -- what a mode gives back ------------------------------------------------------------------------------------------------


class Silent(Mode):
    """Forgets to return."""

    def __dispatch__(self, op, types, args, kwargs):
        op(*args, **kwargs)


@pytest.mark.parametrize(
    ("returns", "kernel", "says"),
    [
        ("Tensor", np.sin, "its schema says Tensor"),
        ("(Tensor, Tensor)", lambda x: (x + 1, x + 2), "its schema says Tensor, Tensor"),
        ("Tensor[]", lambda x: [x + 1], "its schema says Tensor[]"),
        ("(Tensor, Residual)", lambda x: (x + 1, 0), "its schema says Tensor, Residual"),
    ],
)
def test_a_mode_that_returns_nothing_is_told(returns, kernel, says):
    op = made(f"(Tensor x) -> {returns}", kernel)
    with Silent():
        message = said(lambda: op(X), OutputError)
    assert message.startswith("making::op: under Silent, ")
    assert "test_mode.py:" in message
    assert message.endswith(f"returned None, and {says}. Return op(*args, **kwargs), or what stands for it.")
    assert active_modes() == []


def test_an_operator_that_returns_nothing_returns_nothing():
    op = made("(Tensor(a!) x) -> ()", lambda x: None)
    with Silent():
        assert op(X.copy()) is None
    with Doubling(lambda y: 1), pytest.raises(OutputError, match=r"returned an int, and its schema says \(\)\."):
        op(X.copy())


def test_every_kind_of_result_passes_a_mode():
    for returns, out in [
        ("(Tensor, Tensor)", (X + 1, X + 2)),
        ("Tensor[]", [X + 1]),
        ("Any", "text"),
        ("()", None),
        ("float", 1.0),
    ]:
        op = made(f"(Tensor x) -> {returns}", lambda x, out=out: out)
        with Mode():
            assert op(X) is out


# -- rules for modes -------------------------------------------------------------------------------------------------------


def test_a_rule_runs_in_place_of_the_mode_s_dispatch_and_for_its_operator_alone():
    op, seen = made("(Tensor x, *, int n=2) -> Tensor", lambda x, *, n: x * n), []

    @op.register_dispatch(Diary)
    def rule(mode, of, types, args, kwargs):
        seen.append((mode, of, types, args[1:], kwargs, active_mode(DispatchKey.MODE)))
        return of(*args, **kwargs) + 1

    with Diary() as diary:
        assert np.array_equal(op(X, n=3), X * 3 + 1)
        sin(X)
    assert seen == [(diary, op, (), (), {"n": 3}, None)]
    assert diary.names == ["np::sin"]
    assert np.array_equal(op(X), X * 2)
    with Mode():
        assert np.array_equal(op(X), X * 2)


def test_subclasses_inherit_the_nearest_rule_and_of_one_class_the_newest_counts():
    op = made("(Tensor x) -> Tensor", lambda x: x + 0)
    with Diaries():
        op.register_dispatch(Diaries, lambda mode, op, types, args, kwargs: op(*args) + 1)
        assert np.array_equal(op(X), X + 1)
        op.register_dispatch(Mode, lambda mode, op, types, args, kwargs: op(*args) + 2)
        op.register_dispatch(Diary, lambda mode, op, types, args, kwargs: op(*args) + 3)
        assert np.array_equal(op(X), X + 1)
        op.register_dispatch(Diaries, lambda mode, op, types, args, kwargs: op(*args) + 4)
        assert np.array_equal(op(X), X + 4)
    with Diary():
        assert np.array_equal(op(X), X + 3)
    with Silent():
        assert np.array_equal(op(X), X + 2)
    with Diary(), Silent():
        assert np.array_equal(op(X), X + 5)


def test_a_rule_goes_with_its_library_and_uncovers_the_one_before():
    op = made("(Tensor x) -> Tensor", lambda x: x + 0)
    assert register_dispatch(op, Diary, rule := lambda mode, op, types, args, kwargs: op(*args) + 1) is rule
    with Diary() as diary, Library("making", "IMPL") as lib:
        register_dispatch(op, Diary, lib=lib)(lambda mode, op, types, args, kwargs: op(*args) + 2)
        assert np.array_equal(op(X), X + 2)
        lib.destroy()
        assert np.array_equal(op(X), X + 1)
    assert diary.pages == []
    assert "Diary" in find_layer("dispatch").place(op.table.all()[-1].rule)


def test_under_another_mode_what_a_rule_covers_is_honoured():
    op, seen = made("(Tensor x) -> Tensor", np.sin), []
    op.register_dispatch(Silent, lambda mode, op, types, args, kwargs: op(*args) + 1)
    registration = Registration(DispatchKey.MODE, lambda op, *args: seen.append(op) or op.redispatch(DispatchKey.MODE, *args))
    add_fallback(registration)
    try:
        op.table.reset()
        with Diary() as diary, IncludeDispatchKeyGuard("MODE"):
            assert np.array_equal(op(X), np.sin(X))
        assert (seen, diary.pages) == ([op], [])
        with Silent():
            assert np.array_equal(op(X), np.sin(X) + 1)
    finally:
        remove_fallback(registration)
    op.table.reset()
    with Diary() as diary:
        op(X)
    assert diary.names == ["making::op"]


def test_a_rule_for_a_mode_is_one_for_a_composite_too_and_leaves_it_one():
    op = define("(Tensor x) -> Tensor", lambda x: dispatch.ops.np.multiply(sin(x), 2.0), key=DispatchKey.CompositeImplicit)
    op.register_dispatch(Silent, lambda mode, op, types, args, kwargs: np.zeros(2))
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: np.ones(2))
    assert np.allclose(dispatch.grad(lambda x: op(x).sum())(X), 2 * np.cos(X))
    with Silent():
        assert np.array_equal(op(X), np.zeros(2))
    with Diary() as diary:
        op(X)
    assert diary.names == ["np::sin", "np::multiply"]


# -- rules for arrays ------------------------------------------------------------------------------------------------------


def plain(values):
    return [np.asarray(getattr(x, "values", x)) for x in values]


def relabelled(cls, op, types, args, kwargs):
    return op(*plain(args), **kwargs).view(cls)


def test_a_rule_for_a_subclass_of_ndarray_runs_where_one_is_among_the_arguments():
    op, seen = made("(Tensor x, Tensor y, *, int n=1) -> Tensor", lambda x, y, *, n: (x + y) * n), []

    @op.register_dispatch(Labelled)
    def rule(cls, of, types, args, kwargs):
        seen.append((cls, of, types, kwargs))
        return relabelled(cls, of, types, args, kwargs)

    assert type(op(X, X)) is np.ndarray
    assert seen == []
    out = op(X, X.view(Labelled), n=2)
    assert type(out) is Labelled
    assert np.array_equal(out, 4 * X)
    assert type(op(X.view(Lettered), X)) is Lettered
    assert seen == [(Labelled, op, (Labelled,), {"n": 2}), (Lettered, op, (Lettered,), {"n": 1})]


def test_a_subclass_among_the_arguments_comes_before_its_base():
    op = made("(Tensor[] xs) -> str", lambda xs: "kernel")
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: cls.__name__)
    op.register_dispatch(Lettered, lambda cls, op, types, args, kwargs: f"own of {cls.__name__}")
    label, letter = X.view(Labelled), X.view(Lettered)
    assert op([X, label]) == "Labelled"
    assert op([X, label, letter]) == op([letter, label]) == "own of Lettered"
    assert op([X, X]) == "kernel"


def test_kernels_registered_later_are_honoured_and_stay_under_the_rule():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_dispatch(Labelled, relabelled)
    label = X.view(Labelled)
    for n, key in enumerate((DispatchKey.CompositeExplicit, DispatchKey.CPU), 2):
        handle = op.register_at(key, lambda x, n=n: x + n)
    assert np.array_equal(op(X), X + 3)
    assert np.array_equal(op(label), X + 3)
    assert type(op(label)) is Labelled
    with op.set_kernel_enabled("cpu", False):
        assert np.array_equal(op(X), X + 1)
        assert np.array_equal(op(label), X + 1)
        assert type(op(label)) is Labelled
    op.unregister(handle)
    assert np.array_equal(op(X), X + 1)
    assert type(op(label)) is Labelled


def test_a_kernel_that_calls_the_one_before_it_is_not_led_around_by_a_rule():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_dispatch(Labelled, relabelled)
    before = get_kernel(op, "CPU")
    op.register_kernel("cpu", lambda x: before(x) * 2)
    assert np.array_equal(op(X), (X + 1) * 2)
    assert np.array_equal(op(X.view(Labelled)), (X + 1) * 2)


def test_the_kernel_is_there_for_a_rule_that_wants_it_on_the_array_itself():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: get_kernel(op, "CPU")(*args, **kwargs) * 2)
    out = op(X.view(Labelled))
    assert type(out) is Labelled
    assert np.array_equal(out, (X + 1) * 2)


def test_a_rule_that_goes_leaves_the_kernel():
    op = made("(Tensor x) -> Tensor", lambda x: x + 1)
    with Library("making", "IMPL") as lib:
        register_dispatch(op, Labelled, relabelled, lib=lib)
        assert type(op(X.view(Lettered))) is Lettered
    out = op(X.view(Lettered))
    assert np.array_equal(out, X + 1)
    assert op.table.all() == [op.table.live(DispatchKey.CPU)]


def test_a_device_may_have_a_rule_and_no_kernel():
    op = made("(Tensor x) -> Tensor", np.sin)
    with pytest.raises(NoKernelError, match="making::op has no kernel for arrays on 'remote'"):
        op(Distant(X))
    op.register_dispatch(Distant, lambda cls, op, types, args, kwargs: cls(op(*plain(args))))
    out = op(Distant(X))
    assert type(out) is Distant
    assert np.array_equal(out.values, np.sin(X))
    assert np.array_equal(op(X), np.sin(X))
    bare = made("(Tensor x) -> Tensor")
    bare.register_dispatch(Labelled, relabelled)
    for _ in range(2):
        with pytest.raises(NoKernelError, match="making::op has no kernel for arrays on 'cpu'"):
            bare(X.view(Labelled))


def test_a_rule_for_arrays_is_met_below_the_transforms():
    op = define("(Tensor x) -> Tensor", np.sin, vmap=lambda info, in_dims, x: (op(x), in_dims[0]))
    op.register_dispatch(Distant, lambda cls, op, types, args, kwargs: cls(op(*plain(args))))
    out = dispatch.vmap(op)(Distant(np.ones((2, 3))))
    assert type(out) is Distant
    with Diary() as diary:
        op(Distant(X))
    assert [types for _, _, types, *_ in diary.pages] == [(Distant,)]


def test_what_a_rule_gives_back_is_looked_at_as_a_kernel_s_result():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: args[0])
    with pytest.raises(OutputError, match="returned its input 'x' itself"):
        op(X.view(Labelled))
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: None)
    with pytest.raises(OutputError, match="returned None, and its schema says Tensor"):
        op(X.view(Labelled))


def test_a_rule_hands_a_residual_on():
    op = made("(Tensor x, *, float a=2.0) -> (Tensor, Residual)", lambda x, *, a: (x * a, a))
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: op(np.asarray(args[0]), *args[1:], **kwargs))
    assert np.array_equal(op(X.view(Labelled), a=3.0), 3 * X)
    assert op.whole(X.view(Labelled), 3.0)[1] == 3.0


def test_a_rule_that_calls_itself_ends_in_a_recursion_error():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_dispatch(Labelled, lambda cls, op, types, args, kwargs: op(*args))
    with pytest.raises(RecursionError):
        op(X.view(Labelled))


def test_rules_of_an_operator_that_went_go_with_it():
    with Library("modes_gone", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        op = dispatch.ops.modes_gone.f
        op.register_dispatch(Labelled, relabelled)
    for x in (X, X.view(Labelled)):
        with pytest.raises(OperatorNotFoundError, match="modes_gone::f is gone"):
            op(x)


def test_rules_are_listed():
    op = made("(Tensor x) -> Tensor", np.sin)
    assert "MODE" not in repr(op.kernels)
    op.register_dispatch(Labelled, relabelled)
    op.register_dispatch(Diary, relabelled)
    first, second = op.kernels.rows[:2]
    assert first[:2] == second[:2] == ("around", "dispatch rule")
    assert first[2].startswith("Diary: ")
    assert second[2].startswith("Labelled: ")
    assert repr(op) == "making::op(Tensor x) -> Tensor  [cpu | dispatch]"


# -- what is refused -------------------------------------------------------------------------------------------------------

WHAT = "np::sin: a rule of register_dispatch is for a class of modes or of arrays, and"


class Stranger:
    """No array, and no mode."""


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (
            Stranger,
            f"{WHAT} Stranger is neither. Subclass dispatch.Mode, or make it an array type first: register_array_type(Stranger, device=...).",
        ),
        (np.ndarray, f"{WHAT} ndarray is NumPy's own. Register a kernel for it: sin.register_kernel('cpu')."),
        (np.float64, f"{WHAT} float64 is NumPy's own. Register a kernel for it: sin.register_kernel('cpu')."),
        (dispatch.FakeTensor, f"{WHAT} FakeTensor is a wrapper, which its layer takes off. Register a rule of that layer."),
        (Diary(), f"{WHAT} a Diary was given. Name its class: Diary."),
        (X.view(Labelled), f"{WHAT} a Labelled was given. Name its class: Labelled."),
        ("cpu", f"{WHAT} a str was given. Write @sin.register_dispatch(TheClass) above the rule."),
        (None, f"{WHAT} None was given. Write @sin.register_dispatch(TheClass) above the rule."),
    ],
)
def test_what_a_rule_cannot_be_for(cls, says):
    assert said(lambda: sin.register_dispatch(cls, relabelled), DefinitionError) == says
    assert said(lambda: sin.register_dispatch(cls), DefinitionError) == says
    assert said(lambda: register_dispatch("np::sin", cls, relabelled), DefinitionError) == says


def test_what_cannot_be_a_rule():
    assert (
        said(lambda: sin.register_dispatch(Diary, 3), DefinitionError)
        == "np::sin: a dispatch rule is a function, and an int was given."
    )
    assert said(lambda: sin.register_dispatch(Diary, lambda op, args: 0), DefinitionError) == (
        "np::sin: the dispatch rule takes (op, args). It is called with five arguments: rule(mode_or_class, op, types, args, kwargs)."
    )
    assert said(lambda: sin.register(find_layer("dispatch"), relabelled), DefinitionError) == (
        "np::sin: a dispatch rule is for a class. Write sin.register_dispatch(cls, rule)."
    )
    assert sin.register_dispatch(Silent, rule := lambda *given: X + 0) is rule
    for registration in [r for r in sin.table.all() if r.layer is find_layer("dispatch")]:
        sin.unregister(registration)


def test_explain_says_where_a_rule_answers_and_what_it_stands_around():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_dispatch(Labelled, relabelled)
    op.register_dispatch(Diary, relabelled)
    op.register_dispatch(Mode, lambda mode, op, types, args, kwargs: op(*args))

    def rows(*args):
        return [(step.name, step.runs, step.place.partition(":")[0], step.passed) for step in op.explain(*args).steps]

    label = X.view(Lettered)
    kernel = ("CPU", "kernel", "<ufunc sin>", ())
    assert rows(X) == [kernel]
    assert rows(label) == [("CPU", "dispatch rule", "Labelled", ("kernel <ufunc sin>: a dispatch rule stands around it",))]
    with Diaries():
        assert rows(X) == [
            ("MODE", "dispatch rule", "Diary", ("the layer's default: a dispatch rule stands around it",)),
            kernel,
        ]
    with IncludeDispatchKeyGuard("MODE"), Silent():
        assert [row[:3] for row in rows(X)] == [
            ("MODE", "dispatch rule", "Mode"),
            ("MODE", "the layer's default", ""),
            kernel[:3],
        ]
    assert [row[:3] for row in rows()[:3]] == [("around", "dispatch rule", name) for name in ("Mode", "Diary", "Labelled")]
