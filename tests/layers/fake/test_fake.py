"""The fake layer: shapes without data."""

import copy
import itertools
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensor, FakeTensorMode, ops
from dispatch.core import DispatchKey
from dispatch.core.array_memory import unwritable
from dispatch.errors import DataDependentError, DefinitionError, FakeTensorError, GuardError
from dispatch.layers.fake import fake_tensor, get_ctx
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema
from dispatch.symbolic import contiguous

A = np.arange(6.0).reshape(2, 3)
_numbers = itertools.count()


def define(schema, rule=None):
    """An operator whose kernel must not run, and its fake rule."""

    def no_kernel(*args):
        raise AssertionError("a kernel ran where there is no data")

    op = build(Schema.parse(schema, name=f"faketests::op{next(_numbers)}"))
    op.register_at(DispatchKey.CompositeExplicit, no_kernel)
    if rule is not None:
        op.register_fake(rule)
    return op


def said(error, call):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


scale = define("(Tensor x, float factor=2.0) -> Tensor", lambda x, factor: np.empty_like(x))
AS_IT_IS = define("(Tensor x) -> Tensor", lambda x: x)


# -- fakes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a", [A, A.T, A[::-1, ::2], np.asfortranarray(A), A.astype(">i2"), np.float32(3), np.array(3), np.zeros((0, 4)), A > 2]
)
def test_a_fake_has_the_metadata_of_its_array(a):
    mode = FakeTensorMode()
    fake = mode.from_array(a)
    assert (fake.shape, fake.dtype, fake.strides, fake.ndim, fake.size) == (a.shape, a.dtype, a.strides, a.ndim, a.size)
    assert fake.nbytes == a.nbytes
    assert (fake.device, fake.mode) == ("cpu", mode)
    assert mode.from_array(fake) is fake
    assert repr(fake) == f"FakeTensor(shape={a.shape}, dtype={a.dtype})"


def test_the_strides_of_a_new_fake_are_numpys():
    for shape in [(), (3,), (2, 3, 4), (1, 5), (2, 1, 3)]:
        assert contiguous(shape, 8) == np.empty(shape).strides
        assert fake_tensor(shape, np.dtype("f4")).strides == np.empty(shape, "f4").strides
    assert "device='cuda'" in repr(fake_tensor((2,), np.dtype("f4"), device="cuda"))


def test_a_fake_is_made_of_an_array():
    mode = FakeTensorMode()
    write = " Write np.asarray(a)."
    for value, kind in ((3.0, f"a float.{write}"), ([1.0], f"a list.{write}"), (None, "None.")):
        assert said(FakeTensorError, lambda: mode.from_array(value)) == (  # noqa: B023
            f"from_array makes a fake of an array, and was given {kind}"
        )
    other = FakeTensorMode().from_array(A)
    assert said(FakeTensorError, lambda: mode.from_array(other)) == (
        "a fake tensor belongs to the mode that made it, and this one was made by another."
    )


BY_SHAPE = "What is called with fake tensors decides by shapes, dtypes and plain arguments only"
NUMBER = f"{BY_SHAPE}; keep it an array, or pass the number as a plain argument."
CHOICE = f"{BY_SHAPE}; for a choice by data write np.where(condition, x, y)."
INDEX = f"{BY_SHAPE}; index with the tensor itself, x[i], or with a plain int."
ARRAY = (
    "Call an operator on it, or a NumPy function that has a row in dispatch.ops.np: dispatch.numpy.array([x, y]) for np.array([x, y]), "
    "and so for np.full and np.r_; np.dot(a, x) for a.dot(x) of an array. To write it into an array, make that of a fake one: np.zeros_like(x, shape=...). For its metadata alone write np.empty(x.shape, x.dtype)."
)


@pytest.mark.parametrize(
    ("read", "what", "instead"),
    [
        (bool, "the truth", CHOICE), (lambda x: 1 if x > 0 else 2, "the truth", CHOICE), (float, "a float", NUMBER),
        (int, "an int", NUMBER), (complex, "a complex", NUMBER), (lambda x: x.item(), "one number", NUMBER),
        (lambda x: x.tolist(), "a list", f"{BY_SHAPE}; keep it an array."), (lambda x: [1, 2][x], "an index", INDEX),
        (range, "an index", INDEX), (np.asarray, "a NumPy array", ARRAY), (lambda x: np.zeros(3) + np.asarray(x), "a NumPy array", ARRAY),
        (lambda x: np.allclose(x, x) or 1, "the truth", CHOICE),
    ],
)  # fmt: skip
def test_data_is_refused_by_its_own_exception(read, what, instead):
    with FakeTensorMode() as mode:
        x = mode.from_array(np.array(1.0))
        assert said(DataDependentError, lambda: read(x)) == (
            f"{what} was asked of a fake tensor of shape (), which has no data. {instead}"
        )


class OpenSize:
    """A size that nobody knows: to count by it is to ask for it."""

    def __index__(self):
        raise DataDependentError("the number of a size that depends on data was asked for.")


@pytest.mark.parametrize("read", [len, list, lambda x: [*x], lambda x: list(reversed(x))])
def test_what_has_an_unknown_number_of_items_is_not_walked(read):
    x = fake_tensor((OpenSize(), 3), np.dtype(float), (24, 8))
    assert said(DataDependentError, lambda: read(x)) == "the number of a size that depends on data was asked for."


def test_copies_are_fakes_of_their_own_and_views_stay_views():
    mode = FakeTensorMode()
    x = mode.from_array(A.copy())
    made, seen = copy.deepcopy([x, x.T])
    assert (made is not x, made.mode, seen.base is made, seen.strides) == (True, mode, True, x.T.strides)
    assert (copy.copy(x) is not x, copy.copy(x).shape) == (True, (2, 3))
    assert copy.deepcopy(mode) is mode
    assert int(copy.deepcopy(mode.constant(3))) == 3


def test_a_fake_is_read_and_not_written_to():
    x = FakeTensorMode().from_array(A)
    for name in ("shape", "dtype", "strides", "device", "mode"):
        with pytest.raises(AttributeError):
            setattr(x, name, getattr(x, name))
    assert (x.shape, x.dtype, x.strides, x.device) == (A.shape, A.dtype, A.strides, "cpu")
    with pytest.raises(TypeError, match=r"^a FakeTensor is not made by calling its class"):
        FakeTensor()


def test_a_fake_does_not_travel():
    x = FakeTensorMode().from_array(A)
    assert said(TypeError, lambda: pickle.dumps(x)) == (
        "a FakeTensor of shape (2, 3) and dtype float64 has no data and belongs to a mode of this process, so it cannot be "
        "pickled. Send its shape and dtype, and make a fake of np.empty(shape, dtype) there."
    )


def test_a_fake_that_is_kept_has_all_of_another():
    x = FakeTensorMode().from_array(np.float32(2))
    kept = unwritable(x)
    fields = ("shape", "dtype", "strides", "device", "mode", "number")
    assert [getattr(kept, name) for name in fields] == [getattr(x, name) for name in fields]
    assert (kept is not x, x.number, kept.read_only) == (True, True, True)


# -- rules -----------------------------------------------------------------------------------------------------------------


def test_no_kernel_runs_and_the_result_is_a_fake_of_the_mode():
    with FakeTensorMode() as mode:
        out = scale(mode.from_array(A), 3.0)
        deferred = np.sum(np.sin(out) @ np.ones_like(out).T, axis=0)
    assert (out.shape, out.dtype, out.mode) == ((2, 3), A.dtype, mode)
    assert (type(deferred), deferred.shape) == (FakeTensor, (2,))


def test_of_a_plain_array_that_a_rule_returns_only_the_metadata_is_read():
    returned = np.asfortranarray(A.astype("f4"))
    op = define("(Tensor x) -> Tensor", lambda x: returned)
    with FakeTensorMode() as mode:
        out = op(mode.from_array(A))
    assert (type(out), out.shape, out.dtype, out.strides) == (FakeTensor, (2, 3), np.dtype("f4"), returned.strides)
    number = define("(Tensor x) -> Tensor", lambda x: np.float32(1))
    with FakeTensorMode() as mode:
        assert number(mode.from_array(A)).shape == ()


def test_an_output_is_never_the_input_itself():
    with FakeTensorMode() as mode:
        x = mode.from_array(A.T)
        out = AS_IT_IS(x)
    assert out is not x
    assert (out.shape, out.strides) == (x.shape, x.strides)


def test_several_outputs_lists_and_plain_values():
    two = define("(Tensor x, int n) -> (Tensor, float)", lambda x, n: (np.empty(n), 1.5))
    listed = define("(Tensor[] xs) -> Tensor[]", lambda xs: [np.empty_like(x) for x in xs])
    none = define("(Tensor x) -> ()")
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        first, second = two(x, 5)
        assert (first.shape, second) == ((5,), 1.5)
        assert [out.shape for out in listed([x, x[0]])] == [(2, 3), (3,)]
        assert none(x) is None


def test_keyword_only_arguments_reach_the_rule_by_name():
    op = define("(Tensor x, *, int n=2) -> Tensor", lambda x, *, n: np.empty((n, *x.shape)))
    with FakeTensorMode() as mode:
        assert op(mode.from_array(A)).shape == (2, 2, 3)
        assert op(mode.from_array(A), n=5).shape == (5, 2, 3)


def test_a_factory_under_the_mode_runs_its_rule():
    op = define("(int n) -> Tensor", lambda n: np.empty(n))
    with FakeTensorMode() as mode:
        assert (op(4).shape, op(4).mode) == ((4,), mode)


def test_a_residual_stays_inside_and_is_none():
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: np.empty_like(x))
    two = define("(Tensor x) -> (Tensor, Tensor, Residual)", lambda x: (np.empty_like(x), np.empty(4)))
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        assert op(x).shape == (2, 3)
        assert op.whole(x)[1] is None
        first, second = two(x)
        assert (first.shape, second.shape) == ((2, 3), (4,))


@pytest.mark.parametrize(
    ("schema", "result", "message"),
    [
        ("(Tensor x) -> Tensor", None, "None as output 0, and the schema says Tensor."),
        ("(Tensor x) -> Tensor", 3.0, "float as output 0, and the schema says Tensor."),
        ("(Tensor x) -> Tensor", (2, 3), "tuple as output 0, and the schema says Tensor."),
        ("(Tensor x) -> (Tensor, float)", A, "an ndarray, and the schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, float)", (A,), "1 output, and the schema says 2: return a tuple of 2."),
        ("(Tensor x) -> (Tensor, float)", (A, "a"), "str as output 1, and the schema says float."),
    ],
)
def test_a_result_that_is_not_what_the_schema_says(schema, result, message):
    op = define(schema, lambda x: result)
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        assert said(FakeTensorError, lambda: op(x)).startswith(f"{op.name}: its fake rule returned {message}")


def test_an_error_in_a_rule_gets_a_note_and_leaves_nothing_on():
    def rule(x):
        raise IndexError("as it was")

    op = define("(Tensor x) -> Tensor", rule)
    mode = FakeTensorMode()
    x = mode.from_array(A)
    for inside in (False, True):
        with pytest.raises(IndexError, match="as it was") as caught:
            if inside:
                with mode:
                    op(x)
            else:
                op(x)
        assert caught.value.__notes__ == [f"in the fake rule of {op.name}"]
    assert said(FakeTensorError, get_ctx).startswith("get_ctx() is for fake rules")


def test_a_rule_is_a_function_with_the_operators_parameter_names():
    assert said(FakeTensorError, lambda: scale.register_fake(3)) == f"{scale.name}: a fake rule is a function, and an int was given."
    assert said(DefinitionError, lambda: scale.register_fake(lambda x, f: x)) == (
        f"{scale.name}: the fake rule takes (x, f), and the operator (x, factor). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order."
    )
    scale.register_fake(lambda *args: np.empty_like(args[0]))


# -- modes -----------------------------------------------------------------------------------------------------------------


BESIDE = "beside fake tensors"


def real(a, where):
    return (
        f"was given a real array of shape {a.shape} and dtype {a.dtype} {where}. Make a fake of it first, mode.from_array(a), "
        "or let the mode do that: FakeTensorMode(allow_non_fake_inputs=True)."
    )


def test_fakes_meet_no_real_array():
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        calls = (lambda: np.add(x, A), lambda: ops.np.sum(A), lambda: ops.np.stack([x, A]))
        for call in calls:
            assert said(FakeTensorError, call).endswith(real(A, "under a FakeTensorMode" if call is calls[1] else BESIDE))
    for call in calls:
        if call is not calls[1]:
            assert said(FakeTensorError, call).endswith(real(A, BESIDE))


def test_numbers_are_no_arrays():
    with FakeTensorMode() as mode:
        out = np.multiply(mode.from_array(A.astype("f4")), 2.0)
    assert out.dtype == "f4"


def test_fakes_of_two_modes_do_not_meet():
    first, second = FakeTensorMode(), FakeTensorMode()
    x, y = first.from_array(A), second.from_array(A)
    for call in (lambda: np.add(x, y), lambda: ops.np.stack([x, y])):
        assert said(FakeTensorError, call).endswith("was given fake tensors of two modes. Make both in one.")
    with second:
        assert said(FakeTensorError, lambda: np.sin(x)) == (
            "np::sin was given a fake tensor of another FakeTensorMode than the one that is on. Make it in the inner mode, or "
            "leave that one first: outside of it an operator goes back into the mode of its arguments."
        )


def test_the_inner_mode_counts():
    with FakeTensorMode() as outer, FakeTensorMode() as inner:
        assert ops.np.zeros((2,)).mode is inner
        assert ops.np.sin(inner.from_array(A)).mode is inner
    with outer, outer:
        assert ops.np.sin(outer.from_array(A)).mode is outer
    assert repr(outer) == "FakeTensorMode()"


def test_outside_the_mode_an_operator_on_a_fake_goes_back_into_it():
    mode = FakeTensorMode()
    x = mode.from_array(A)
    seen = []

    def rule(x):
        seen.append(ops.np.zeros((2,)).mode)  # a factory in the rule belongs to the mode too
        return np.empty_like(x)

    out = define("(Tensor x) -> Tensor", rule)(x)
    assert out.mode is mode
    assert seen == [mode]
    assert np.sin(x).mode is mode
    assert isinstance(ops.np.zeros((2,)), np.ndarray)


def test_leaving_a_mode_that_is_not_on():
    mode = FakeTensorMode()
    with pytest.raises(GuardError) as caught:
        mode.__exit__(None, None, None)
    assert str(caught.value) == "FakeTensorMode() is left in a thread in which it was not entered. Enter and leave it in one thread."


def test_threads_share_a_mode():
    mode = FakeTensorMode()
    x = mode.from_array(A)
    start = threading.Barrier(4)

    def work(_):
        start.wait()
        for _ in range(300):
            assert scale(x).mode is mode
            with mode:
                assert ops.np.zeros((2,)).mode is mode
            assert isinstance(ops.np.zeros((2,)), np.ndarray)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))


def test_a_mode_of_one_thread_is_off_in_another():
    with FakeTensorMode(), ThreadPoolExecutor(1) as pool:
        assert np.array_equal(pool.submit(ops.np.sin, A).result(), np.sin(A))


# -- what a rule can ask for -----------------------------------------------------------------------------------------------


def test_the_context_belongs_to_the_rule_that_runs():
    seen = []

    def rule(x):
        seen.append(get_ctx().op)
        return x

    def outer_rule(x):
        x = inner(x)
        seen.append(get_ctx().op)
        return x

    inner = define("(Tensor x) -> Tensor", rule)
    outer = define("(Tensor x) -> Tensor", outer_rule)
    with FakeTensorMode() as mode:
        outer(mode.from_array(A))
    assert seen == [inner, outer]
    assert said(FakeTensorError, get_ctx) == "get_ctx() is for fake rules, and none is running in this thread. Call it in the function of register_fake."


def test_a_size_that_depends_on_data_is_refused_by_name():
    op = define("(Tensor x) -> Tensor", lambda x: np.empty(get_ctx().new_dynamic_size(min=1)))
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        assert said(DataDependentError, lambda: op(x)) == (
            f"{op.name}: its fake rule asks for a size that depends on data, and sizes are numbers here. Give the mode "
            "symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode."
        )


class Shapes:
    """A shape_env: its symbols are strings, and it remembers what was asked."""

    def __init__(self):
        self.asked = []

    def sizes_of(self, array):
        return tuple(f"s{n}" for n in array.shape), array.strides

    def new_dynamic_size(self, *, min, max):
        self.asked.append((min, max))
        return 7


def test_a_shape_env_gives_the_sizes_of_arrays_and_those_that_depend_on_data():
    mode = FakeTensorMode(shape_env=Shapes())
    assert mode.from_array(A).shape == ("s2", "s3")
    assert mode.from_array(A.copy(), static_shapes=True).shape == (2, 3)
    assert FakeTensorMode(shape_env=Shapes(), static_shapes=True).from_array(A).shape == (2, 3)
    op = define("(Tensor x) -> Tensor", lambda x: np.empty(get_ctx().new_dynamic_size(min=1, max=9)))
    x = mode.from_array(A, static_shapes=True)
    assert op(x).shape == (7,)
    assert mode.shape_env.asked == [(1, 9)]


def test_the_answer_can_be_asked_for_without_a_mode():
    out = scale.at(DispatchKey.FAKE)(A.T, 2.0)
    assert (out.shape, out.dtype, out.mode) == ((3, 2), A.dtype, None)
    listed = define("(Tensor[] xs) -> Tensor", lambda xs: np.empty((len(xs), *xs[0].shape)))
    assert listed.at(DispatchKey.FAKE)([A, A]).shape == (2, 2, 3)


# -- under the other layers ------------------------------------------------------------------------------------------------


def test_the_tape_and_vmap_stand_above():
    with FakeTensorMode() as mode:
        x = mode.from_array(A)
        gradient = dispatch.grad(lambda x: np.sum(np.sin(x) * 2))(x)
        mapped = dispatch.vmap(lambda row: np.sum(row))(x)
        looped = dispatch.vmap(scale)(x)
    assert (type(gradient), gradient.shape, gradient.dtype) == (FakeTensor, (2, 3), A.dtype)
    assert (type(mapped), mapped.shape, looped.shape) == (FakeTensor, (2,), (2, 3))


def test_the_kernel_itself_refuses_too_few_arguments() -> None:
    with FakeTensorMode() as mode:
        x = mode.from_array(np.ones(2))
        with pytest.raises(TypeError) as refused:
            dispatch.ops.np.add.at(DispatchKey.FAKE)(x)
    assert str(refused.value) == "the fake kernel of np::add takes its arguments by position, at least 2; 1 were given."
