"""The call: which key, which kernel, what reaches it and what comes back; and what an operator is besides."""

import copy
import functools
import gc
import inspect
import pickle
import random
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import leaf, made, shadow

import dispatch
from dispatch import OpOverload, Tag, custom_op
from dispatch.core import (
    DispatchKey,
    Level,
    ModeGuard,
    Without,
    active_mode,
    bound,
    ground,
    open_levels,
    rank_of_call,
    redispatched,
    run_at,
)
from dispatch.errors import ArgumentError, DefinitionError, GuardError, LayerNotFoundError
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.arange(6.0)
MODE, JVP = DispatchKey.MODE, DispatchKey.JVP


@custom_op("overloadtests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """Scale an array."""
    return x * factor


# -- arrays go through unchanged -------------------------------------------------------------------------------------------


def odd_arrays(folder):
    read_only = A.copy()
    read_only.flags.writeable = False
    mapped = np.memmap(folder / "a", np.float64, "w+", shape=(4,))
    unaligned = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
    return {
        "read-only": read_only,
        "Fortran": np.asfortranarray(A.reshape(2, 3)),
        "backwards": A[::-1],
        "strided": A[::2],
        "repeated": np.broadcast_to(A[:1], (1000,)),
        "0-d": np.array(3.0),
        "a scalar": np.float64(3.0),
        "empty": np.zeros((0, 3)),
        "byte-swapped": A.astype(">f8"),
        "unaligned": unaligned,
        "memory-mapped": mapped,
        "a view of a memory map": mapped[1:],
        "a subclass": A.view(np.recarray),
        "masked": np.ma.masked_less(A, 2),
        "structured": np.zeros(2, [("a", "f8"), ("b", "i4")]),
        "of objects": np.array([None, "a"], object),
        "of dates": np.zeros(2, "M8[s]"),
    }


def face(x):
    return type(x), x.dtype, x.shape, x.strides, x.flags.num, x.__array_interface__["data"]


@pytest.mark.parametrize("name", ["read-only", "Fortran", "backwards", "strided", "repeated", "0-d", "a scalar", "empty", "byte-swapped",
    "unaligned", "memory-mapped", "a view of a memory map", "a subclass", "masked", "structured", "of objects", "of dates"])  # fmt: skip
def test_an_odd_array_reaches_the_kernel_as_the_very_object_it_is(name, tmp_path):
    x = odd_arrays(tmp_path)[name]
    before = face(x) if name != "a scalar" else None
    seen = []
    one = made("(Tensor x, int n=1) -> ()", lambda x, n: seen.append(x))
    two = made("(Tensor[] x, *, Tensor? y=None) -> ()", lambda x, *, y: seen.extend([*x, y]))
    one(x)
    one(x, 2)
    one(n=3, x=x)
    one.whole(x, 1)
    two([x], y=x)
    assert len(seen) == 6
    assert all(got is x for got in seen)
    if before is not None:
        assert face(x) == before


def test_what_goes_in_comes_out_without_a_wrapper_anywhere():
    out = scale(A)
    assert (type(out), out.flags.writeable, out.base) == (np.ndarray, True, None)
    assert np.array_equal(out, A * 2)


@pytest.mark.parametrize("value", [(1, 2), [1, 2], 3, True, 2.5, "text", b"b", None, {"a": 1}, range(3)])
def test_plain_arguments_are_handed_on_as_they_are(value):
    seen = []
    made("(Any value) -> ()", seen.append)(value)
    assert seen[0] is value


# -- which key -------------------------------------------------------------------------------------------------------------


def layered(text="(Tensor x) -> str"):
    op = made(text, lambda *args, **keywords: "cpu")
    op.register_at(MODE, lambda *args, **keywords: "MODE")
    op.register_at(JVP, lambda *args, **keywords: "JVP")
    return op


def test_the_highest_rank_among_arguments_and_modes_decides():
    op = layered()
    with Level("t") as level:
        assert op(A) == "cpu"
        assert op(shadow(A, level)) == op(shadow(A, ground())) == "JVP"
        with ModeGuard(int(MODE), "mode") as mode:
            assert op(A) == "MODE"
            assert op(shadow(A, ground())) == "JVP"  # at level 0 the order of the keys decides
            with Without(mode):
                assert op(A) == "cpu"
        with ModeGuard(int(MODE), "mode", level):
            assert op(shadow(A, ground())) == "MODE"  # and otherwise the level
            assert op(shadow(A, level)) == "JVP"


def test_a_mode_catches_operators_without_array_arguments():
    op = layered("(int n) -> str")
    with ModeGuard(int(MODE), "mode"):
        assert op(3) == op(n=3) == "MODE"
    assert op(3) == "cpu"


@pytest.mark.parametrize("text", ["(Any a, Tensor x) -> str", "(Any a, *, Tensor x) -> str", "(Any a, Tensor[] x) -> str", "(Any a, Tensor?[] x) -> str",
    "(Any a, Dict(str, Tensor) x) -> str", "(Any a, (int, Tensor) x) -> str", "(Any a, Tensor[][] x) -> str"])  # fmt: skip
def test_a_wrapper_is_found_wherever_the_schema_has_an_array(text):
    x = shadow(A, ground())
    inside = {
        "Tensor[]": [A, x],
        "Tensor?[]": [None, x],
        "Dict(str, Tensor)": {"a": x},
        "(int, Tensor)": (1, x),
        "Tensor[][]": [[A], [x]],
    }
    given = inside.get(text[len("(Any a, ") : text.index(" x)")], x)
    assert layered(text)(None, x=given) == "JVP"


def test_what_a_layer_s_kernel_raises_leaves_nothing_on_and_gets_no_note():
    def kernel(x):
        with Level("inner"), ModeGuard(int(MODE), "m"):
            raise KeyError("rule")

    op = made("(Tensor x) -> Tensor", np.negative)
    op.register_at(JVP, kernel)
    with pytest.raises(KeyError) as caught:
        op(shadow(A, ground()))
    assert not hasattr(caught.value, "__notes__")
    assert (open_levels(), active_mode(int(MODE))) == ([], None)


# -- what a kernel raises --------------------------------------------------------------------------------------------------


class Odd(BaseException):
    def __init__(self, a, b):
        super().__init__(a)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("by zero"), KeyError("key"), Odd(1, 2), KeyboardInterrupt(), StopIteration(3), SystemExit(1)]
)
@pytest.mark.parametrize("call", [lambda op: op(A, 2), lambda op: op(n=2, x=A), lambda op: op(A), lambda op: op.whole(A, 1)])
def test_an_exception_of_a_kernel_keeps_its_type_and_traceback_and_gets_one_note(error, call):
    def kernel(x, n):
        raise error

    error.__notes__, error.__traceback__ = [], None
    op = made("(Tensor x, int n=1) -> Tensor", kernel)
    with pytest.raises(type(error)) as caught:
        call(op)
    assert caught.value is error
    assert traceback.extract_tb(error.__traceback__)[-1].name == "kernel"
    (note,) = error.__notes__
    assert note.startswith("in operator making::op(x: float64[6], n: int), kernel ")
    assert note.endswith(f"test_overload.py:{kernel.__code__.co_firstlineno}")


def test_an_exception_gets_its_note_from_the_lowest_operator_alone():
    inner = made("(Tensor y) -> Tensor", lambda y: y / [])
    middle = made("(Tensor[] x) -> Tensor", lambda x: inner(x[0]))
    outer = made("(Tensor x, str s) -> Tensor", lambda x, s: middle([x]))
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        outer(A, "s")
    (note,) = caught.value.__notes__
    assert note.startswith("in operator making::op(y: float64[6])")


def test_an_exception_arrives_even_where_no_note_can_be_made():
    class Speechless(np.ndarray):
        @property
        def dtype(self):
            raise RuntimeError("no dtype today")

    op = made("(Tensor x) -> Tensor", lambda x: {}["key"])
    with pytest.raises(KeyError, match="key") as caught:
        op(Speechless((2,)))
    assert not hasattr(caught.value, "__notes__")


def test_an_exception_knows_in_whose_handling_it_was_raised():
    op = made("(Tensor x) -> Tensor", lambda x: {}["key"])
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as outer:
        with pytest.raises(KeyError) as caught:
            op(A)
        assert caught.value.__context__ is outer
        with pytest.raises(ArgumentError) as refused:
            op(1)
        assert refused.value.__context__ is outer


# -- a call taken apart: each of its steps does what the call does ----------------------------------------------------------


SHADOWS, TAPE = 1 << DispatchKey.JVP, 1 << DispatchKey.AUTOGRAD


def test_a_call_is_bound_as_the_operator_binds_it():
    seen = []
    op = made("(int x, int y=2, *, int z=3) -> ()", lambda *args, **keywords: seen.append((*args, *keywords.values())))
    for args, keywords in (((1,), {}), ((1,), {"z": 5}), ((1, 4), {}), ((), {"y": 0, "x": 9})):
        op(*args, **keywords)
        assert bound(op, args, keywords) == seen.pop()


@pytest.mark.parametrize(("args", "keywords"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"w": 2})])
def test_what_cannot_be_bound_is_refused_in_the_same_words(args, keywords):
    op = made("(int x, int y=2) -> ()", lambda x, y: None)
    with pytest.raises(ArgumentError) as called:
        op(*args, **keywords)
    with pytest.raises(ArgumentError) as taken_apart:
        bound(op, args, keywords)
    assert str(taken_apart.value) == str(called.value)


def test_the_floor_is_the_highest_rank_of_arguments_and_modes():
    op = made("(Tensor x, Tensor y) -> Tensor", np.add)
    with Level("outer") as outer, Level("inner") as inner:
        low, high = shadow(A, outer), shadow(A, inner)
        assert rank_of_call(op, (A, A)) == 0
        assert rank_of_call(op, (low, high)) == rank_of_call(op, (high, A)) == high.rank
        with ModeGuard(DispatchKey.MODE, "a mode"):
            assert rank_of_call(op, (A, A)) == DispatchKey.MODE
            assert rank_of_call(op, (A, A), 1 << DispatchKey.MODE) == 0
            assert rank_of_call(op, (A, low)) == low.rank


def test_the_floor_of_what_does_not_fit_is_refused():
    op = made("(Tensor x, *, int n) -> Tensor", lambda x, n: x)
    with pytest.raises(ArgumentError, match="argument 'n' is int, and was given a str"):
        rank_of_call(op, (A, "no"))
    with pytest.raises(ArgumentError, match="'x', 'n' must be given"):
        rank_of_call(op, ())


def test_a_kernel_is_run_with_the_checks_of_a_call():
    op = made("(Tensor x) -> Tensor", np.sin)
    assert np.array_equal(run_at(op, 0, (A,)), np.sin(A))
    assert np.array_equal(run_at(op, 0, (A,), np.cos), np.cos(A))
    with pytest.raises(TypeError, match="returned a str, and its schema says Tensor"):
        run_at(op, 0, (A,), lambda x: "no")


def test_redispatch_below_a_key_takes_its_values_for_constants():
    x = leaf([1.0, 2.0])
    sin = dispatch.ops.np.sin
    assert type(sin.redispatch(DispatchKey.AUTOGRAD, x)) is np.ndarray
    assert np.array_equal(sin.redispatch(DispatchKey.AUTOGRAD, x), np.sin(x.value))
    assert isinstance(sin.redispatch(DispatchKey.VMAP, x), dispatch.Tensor)


def test_redispatch_sees_through_every_level_and_inside_lists_and_dicts():
    seen = []
    op = made("(Tensor[] xs, Dict(str, Tensor) d) -> ()", lambda xs, d: seen.append((xs, d)))
    with Level("outer") as outer, Level("inner") as inner:
        twice = shadow(shadow(A, outer), inner)
        redispatched(op, SHADOWS, ([twice, A], {"a": twice}))
    ((xs, d),) = seen
    assert [x is A for x in (*xs, d["a"])] == [True] * 3


def test_redispatch_leaves_the_layers_below_in_charge():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_at(DispatchKey.JVP, lambda x: ("jvp", x))
    with Level("tape") as level:
        below = shadow(A, level)
        assert redispatched(op, TAPE, (below,)) == ("jvp", below)


def test_what_is_no_constant_is_not_seen_through():
    sin = dispatch.ops.np.sin
    message = r"a call below VMAP was asked of a BatchedTensor of shape \(6,\), which is no constant"
    with pytest.raises(GuardError, match=message):
        dispatch.vmap(lambda x: sin.redispatch(DispatchKey.AUTOGRAD, x))(np.ones((3, 6)))
    with dispatch.FakeTensorMode() as mode, pytest.raises(GuardError, match="a call below FAKE was asked of a FakeTensor"):
        sin.redispatch(DispatchKey.CUDA, mode.from_array(A))


@pytest.mark.parametrize("key", [DispatchKey.CPU, DispatchKey.CompositeExplicit])
def test_nothing_is_below_the_ground(key):
    with pytest.raises(DefinitionError, match=f"np::sin: redispatch goes below a key, and nothing is below {key}"):
        dispatch.ops.np.sin.redispatch(key, A)


def test_redispatch_binds_keywords_and_leaves_the_residual_inside():
    op = made("(Tensor x, int n=2) -> (Tensor, Residual)", lambda x, n: (x * n, "kept"))
    assert np.array_equal(op.redispatch(DispatchKey.AUTOGRAD, A, n=3), A * 3)
    out, residual = redispatched(op.whole, TAPE, (A, 2))
    assert residual == "kept"
    assert np.array_equal(out, A * 2)


# -- an operator as an object ----------------------------------------------------------------------------------------------


def test_an_operator_is_found_again_by_its_name_and_copied_as_itself():
    for copied in (pickle.loads(pickle.dumps(scale)), copy.copy(scale), copy.deepcopy([scale])[0]):
        assert copied is scale


def test_an_operator_takes_weak_references_and_goes_with_its_last_name():
    op = made("(Tensor x) -> Tensor", np.negative)
    seen = weakref.ref(op)
    op(A)
    op.whole(A)
    del op
    gc.collect()
    assert seen() is None


def test_no_class_is_made_of_the_operator_s():
    with pytest.raises(TypeError, match="is not an acceptable base type"):
        type("Sub", (OpOverload,), {})


def test_an_operator_looks_like_its_function():
    assert (scale.__name__, scale.__doc__, scale.__module__) == ("scale", "Scale an array.", __name__)
    assert inspect.signature(scale) == inspect.signature(scale.__wrapped__)
    assert callable(scale)
    assert np.array_equal(scale.__wrapped__(A), scale(A))


def test_an_operator_without_a_function_has_its_schema_s_signature():
    op = made("(Tensor x, /, int n=3, *, float y) -> Tensor")
    assert str(inspect.signature(op)) == "(x, /, n=3, *, y)"


def test_an_operator_says_its_name_its_schema_and_its_tags():
    op = build(Schema.parse("making::op.two(Tensor x) -> Tensor"), (Tag.pointwise,) if hasattr(Tag, "pointwise") else ())
    assert op.name == "making::op.two"
    assert isinstance(op.tags, list)
    op.tags.clear()  # a list of the caller's
    assert op.tags == ([Tag.pointwise] if hasattr(Tag, "pointwise") else [])
    assert repr(op).startswith("making::op.two(Tensor x) -> Tensor")
    assert not hasattr(op, "default")
    assert scale.default is scale


@pytest.mark.parametrize("name", ["nothing", "regster_fake", "__wrapped__"])
def test_an_unknown_attribute_is_refused_with_the_operator_s_name(name):
    with pytest.raises(AttributeError, match=rf"making::op has no attribute '{name}'\."):
        getattr(made("() -> ()"), name)


def test_a_misspelt_layer_is_refused_with_close_matches():
    with pytest.raises(
        LayerNotFoundError, match=r"there is no layer named 'fakee', so no register_fakee\. Did you mean 'fake'\?"
    ):
        _ = scale.register_fakee
    assert not hasattr(scale, "register_nothing")


def test_the_class_may_be_subscripted_as_type_checkers_know_it():
    alias = OpOverload[[np.ndarray], np.ndarray]
    assert alias.__origin__ is OpOverload
    assert alias.__args__ == ([np.ndarray], np.ndarray)


def test_an_operator_is_called_however_python_calls():
    for out in (
        scale.__call__(A),
        OpOverload.__call__(scale, A),
        functools.partial(scale, factor=2.0)(A),
        next(map(scale, [A])),
        scale(*[A]),
    ):
        assert np.array_equal(out, A * 2)


def test_an_operator_that_was_not_made_is_no_crash():
    with pytest.raises(TypeError):
        OpOverload.__new__(OpOverload)()
    for parts in ({"definition": None, "hooks": scale.hooks}, {"definition": scale.definition, "hooks": None}):
        with pytest.raises(TypeError, match="an OpOverload is made by custom_op"):
            OpOverload(**parts)


def test_an_operator_is_made_whole_or_not_at_all():
    with pytest.raises(TypeError, match="an OpOverload is made by custom_op"):
        OpOverload.__new__(OpOverload)


# -- modes of other threads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_call_meets_the_modes_of_its_own_thread_whatever_others_enter_leave_and_end_with(seed):
    @custom_op(f"overloadtests::threaded_{seed}", mutates_args=())
    def op(x: np.ndarray) -> np.ndarray:
        return x + 1

    op.register_at(MODE, lambda x: "in a mode")
    rng = random.Random(seed)
    workers = [(ThreadPoolExecutor(1), []) for _ in range(3)]

    def leave(place):
        guard = guards.pop(place)
        if place == len(guards):
            guard.__exit__()
        else:
            with pytest.raises(GuardError, match="is left while"):
                guard.__exit__()

    for _ in range(150):
        number = rng.randrange(3)
        pool, guards = workers[number]
        step = rng.choice(["mode", "mode", "without", "leave", "leave", "end"])
        if step == "mode":
            guards.append(ModeGuard(MODE, "a mode"))
            pool.submit(guards[-1].__enter__).result()
        elif step == "without" and (modes := [guard for guard in guards if isinstance(guard, ModeGuard)]):
            guards.append(Without(rng.choice(modes)))
            pool.submit(guards[-1].__enter__).result()
        elif step == "leave" and guards:
            pool.submit(leave, rng.randrange(len(guards))).result()
        elif step == "end":  # with what is on
            pool.shutdown()
            workers[number] = (ThreadPoolExecutor(1), [])
        for pool, guards in workers:
            off = {id(guard.guard) for guard in guards if isinstance(guard, Without)}
            on = any(isinstance(guard, ModeGuard) and id(guard) not in off for guard in guards)
            seen = pool.submit(op, A).result()
            assert seen == "in a mode" if on else np.array_equal(seen, A + 1)
    for pool, _ in workers:
        pool.shutdown()


def test_an_operator_is_true_and_of_no_length():
    op = made("(Tensor x) -> Tensor")
    assert bool(op)
    assert (op or None) is op
    with pytest.raises(ArgumentError):
        len(op)
