"""Validation finds what a kernel does that neither its schema nor its fake rule says, in the very call in which it does."""

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from making import define, leaf, made, said

import dispatch
from dispatch import custom_op, validate
from dispatch.core import active_modes
from dispatch.core.source import where
from dispatch.errors import AliasError, ArgumentError, OutputError
from dispatch.testing import opcheck
from dispatch.testing.validate import counted_strides

A = np.arange(6.0).reshape(2, 3)


def fully(op, *args, **keywords):
    """A call under full validation."""
    with validate("full"):
        return op(*args, **keywords)


def fault(op, *args):
    """What full validation says of a call that is not refused without it."""
    op(*[x.copy() if isinstance(x, np.ndarray) else x for x in args])
    message = said(lambda: fully(op, *args), OutputError)
    assert message.startswith(f"{op.name}: ")
    return message.removeprefix(f"{op.name}: ")


def behind(x):
    """Another array on the same memory, of which NumPy does not know whose it is."""
    return np.ctypeslib.as_array((ctypes.c_double * x.size).from_address(x.ctypes.data))


def test_a_sound_operator_gives_what_it_gives():
    op = define("(Tensor x, Tensor[] xs, float k=2.0) -> (Tensor, Tensor[])", lambda x, xs, k: (x * k, [y + 1 for y in xs]))
    op.register_fake(lambda x, xs, k: (np.empty_like(x), [np.empty_like(y) for y in xs]))
    expected, got = op(A, [A, A.T]), fully(op, A, [A, A.T])
    assert np.array_equal(got[0], expected[0])
    assert all(np.array_equal(x, y) for x, y in zip(got[1], expected[1], strict=True))


def test_gradients_and_batches_are_as_without():
    def f(x):
        return (np.sin(x) * x).sum()

    expected = dispatch.vmap(dispatch.grad(f))(A)
    with validate("full"):
        assert np.array_equal(dispatch.vmap(dispatch.grad(f))(A), expected)


# -- the fake rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        (lambda x: np.empty(x.shape[1:], x.dtype), "shape (3,) by {rule}, and (2, 3) by the {kernel}"),
        (lambda x: np.empty(x.shape, "f4"), "dtype float32 by {rule}, and float64 by the {kernel}"),
        (lambda x: np.empty(x.shape, order="F"), "strides (8, 16) by {rule}, and (24, 8) by the {kernel}"),
    ],
)
def test_a_fake_rule_that_is_wrong_for_this_call(rule, what):
    def kernel(x):
        return x * 2

    op = define("(Tensor x) -> Tensor", kernel, fake=rule)
    what = what.format(rule=f"the fake rule ({where(rule)})", kernel=f"kernel {where(kernel)}")
    assert fault(op, A) == (
        f"output 0 has {what}. Correct the rule: {op.schema.name}.register_fake.\nThe call was (x: float64[2, 3])."
    )


def test_a_fake_rule_that_raises():
    def rule(x):
        raise KeyError("mine")

    def kernel(x):
        return x * 2

    op = define("(Tensor x) -> Tensor", kernel, fake=rule)
    assert fault(op, A) == (
        f"the fake rule ({where(rule)}) raises KeyError, where the kernel {where(kernel)} does not: 'mine'\n"
        "The call was (x: float64[2, 3])."
    )


def test_a_fake_rule_that_gives_another_number_of_arrays():
    op = define("(Tensor x) -> Tensor[]", lambda x: [x * 2], fake=lambda x: [np.empty_like(x)] * 2)
    assert "output 0 holds 2 arrays by the fake rule" in fault(op, A)


def test_a_second_output_is_named():
    op = define("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 2, x + 1), fake=lambda x: (np.empty_like(x), np.empty(2)))
    assert fault(op, A).startswith("output 1 has shape (2,)")


def test_what_a_fake_rule_is_not_held_to():
    """Data it cannot have, no rule at all, strides that mean nothing, byte order, and the order of broadcast arrays."""
    op = define("(Tensor x) -> Tensor", lambda x: x[x > 0].copy(), fake=lambda x: np.empty(int(x.shape and x.sum()), x.dtype))
    assert fully(op, A).size == 5
    assert fully(made("(Tensor x) -> Tensor", lambda x: x * 2), A).shape == (2, 3)
    like = define("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.empty_like(x))
    for x in (A[:1].T, A.astype(">f8"), np.broadcast_to(A[0], (2, 3)), np.empty((0, 3)), np.float64(2)):
        assert np.array_equal(fully(like, x), x * 2)


def test_strides_that_mean_nothing_do_not_count():
    assert counted_strides(np.ones((2, 1, 3))) == (24, None, 8)
    assert counted_strides(np.ones((2, 0))) == (None, None)


def test_a_fake_rule_is_seen_by_no_other_observer():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.sin(x))
    with dispatch.profile() as seen, validate("full"):
        op(A)
    assert [row.operator for row in seen.rows] == [op.name]


# -- writes ----------------------------------------------------------------------------------------------------------------


def test_arguments_are_read_only_views_and_the_caller_s_flag_is_left_alone():
    seen = []
    op = define("(Tensor x, Tensor[] xs, Dict(str, Tensor) d) -> Tensor", lambda *args: seen.extend(args) or A + 1)
    x = A.copy()
    fully(op, x, [x], {"a": x})
    given = [seen[0], seen[1][0], seen[2]["a"]]
    assert not any(y.flags.writeable for y in given)
    assert all(np.shares_memory(y, x) for y in given)
    assert x.flags.writeable


def test_what_is_declared_or_read_only_already_is_handed_as_it_is():
    seen = []
    frozen = A.copy()
    frozen.flags.writeable = False
    op = define("(Tensor(a!) x, Tensor y, Tensor(b) z, int[] n) -> Tensor(b)", lambda *args: seen.extend(args) or args[2][:1])
    args = A.copy(), frozen, A.copy(), [1, 2]
    out = fully(op, *args)
    assert all(x is y for x, y in zip(seen, args, strict=True))
    assert out.flags.writeable


def test_a_write_is_refused_by_numpy_and_the_note_says_why():
    def kernel(x):
        x += 1
        return x * 2

    with pytest.raises(ValueError, match="read-only") as caught:
        fully(define("(Tensor x) -> Tensor", kernel), A.copy())
    assert caught.value.__notes__[1] == (
        "'x' came read-only, as the values of a gradient do, and nothing says that the kernel writes there. Compute on a copy, or "
        "declare it in mutates_args."
    )
    assert caught.value.__notes__[-1] == (
        "validate('full') hands arguments on as read-only views where nothing says that the kernel writes to them."
    )


def test_a_write_past_the_flag_is_found():
    def kernel(x, ys):
        behind(ys[0])[1] = 7
        return x * 2

    op = define("(Tensor x, Tensor[] ys) -> Tensor", kernel)
    message = said(lambda: fully(op, A, [np.zeros(3)]), OutputError)
    assert message == (
        f"{op.name}: the kernel {where(kernel)} writes to its argument 'ys'[0], and the schema does not say so. "
        "Compute on a copy of it, or declare it: mutates_args=('ys',).\nThe call was (x: float64[2, 3], ys: list[float64[3]])."
    )


def test_a_write_past_the_flag_is_found_though_the_kernel_raises():
    def kernel(x):
        behind(x)[0] += 1
        raise KeyError("mine")

    op = define("(Tensor x) -> Tensor", kernel)
    with pytest.raises(OutputError, match="writes to its argument 'x'") as caught:
        fully(op, np.zeros(3))
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_declared_write_is_none_even_through_another_argument():
    def kernel(x, out):
        out += 1

    x = A.copy()
    fully(define("(Tensor x, Tensor(a!) out) -> ()", kernel), x, x)
    assert np.array_equal(x, A + 1)


# -- memory ----------------------------------------------------------------------------------------------------------------


def test_an_output_on_the_memory_of_an_argument_is_found_whoever_owns_it():
    def kernel(x):
        return behind(x)[1:]

    op = define("(Tensor x) -> Tensor", kernel)
    with pytest.raises(AliasError, match=r"returned a view of its input 'x'\. Return a copy, or declare it in the schema"):
        op(np.zeros(3))  # the call itself sees it


def test_two_outputs_on_one_memory_are_found():
    def kernel(x):
        y = x * 2
        return [y[:2], y[1:]]

    op = define("(Tensor x) -> Tensor[]", kernel)
    with pytest.raises(AliasError, match=r"returned two outputs that share memory\. Return a copy for one of them\."):
        op(np.zeros(3))  # the call itself sees it


def test_interleaved_arrays_share_nothing():
    base = np.zeros(6)
    op = define("(Tensor x) -> Tensor", lambda x: behind(base)[1::2])
    assert fully(op, base[::2]).shape == (3,)


# -- where it applies ------------------------------------------------------------------------------------------------------


def wrong():
    """An operator whose fake rule is wrong."""
    return define("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.empty(7))


def test_the_innermost_level_counts():
    op = wrong()
    with validate("full"):
        with validate("default"):
            op(A)
            with validate("full"), pytest.raises(OutputError):
                op(A)
        with validate("off"):
            op(A)
        with pytest.raises(OutputError):
            op(A)
    op(A)


@pytest.mark.parametrize("level", ["off", "default"])
def test_without_anything_to_end_a_lower_level_watches_nothing(level):
    with validate(level) as guard:
        assert active_modes() == []
    assert repr(guard) == f"validate({level!r})"
    with validate("full"), guard:
        assert len(active_modes()) == 2
    assert active_modes() == []


def test_a_residual_is_no_output():
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, x), fake=lambda x: np.empty_like(x))
    assert np.array_equal(fully(op, A), A * 2)
    assert np.array_equal(fully(op.whole, A)[0], A * 2)
    several = define("(Tensor x) -> (Tensor, Tensor, Residual)", lambda x: (x * 2, x + 1, x))
    assert len(fully(several, A)) == 2
    none = define("(Tensor x) -> Residual", lambda x: x)
    assert fully(none, A) is None


def test_what_may_do_anything_is_let_be():
    @custom_op("validatingtests::loose", mutates_args=(), tags=dispatch.Tag.maybe_aliasing_or_mutating)
    def loose(x: np.ndarray) -> None:
        x += 1

    fully(loose, x := A.copy())
    assert np.array_equal(x, A + 1)


def test_a_tracked_call_is_looked_at_where_it_computes():
    with pytest.raises(OutputError):
        fully(wrong(), leaf())


def test_opcheck_looks_closer_and_says_what_it_finds():
    with validate("full"):
        report = opcheck(wrong(), (A,), raise_exception=False)
    assert "has shape (7,) by the fake rule" in str(report["test_faketensor"])


def test_a_level_that_there_is_not():
    assert said(lambda: validate("ful"), ArgumentError) == (
        "validate: there is no level 'ful'. Did you mean 'full'? Levels: off, default, full."
    )
    assert (
        said(lambda: validate(2), ArgumentError)
        == "validate: a level is text, and an int was given. Levels: off, default, full."
    )


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        ("full", 0, "Validation"),
        ("default", 0, "[]"),
        ("", 0, "[]"),
        ("ful", 1, "DISPATCH_VALIDATE: there is no level 'ful'. Did you mean 'full'? Levels: off, default, full."),
    ],
)
def test_the_environment_turns_it_on(value, code, text):
    run = "import dispatch, dispatch.core; print([type(g).__name__ for g in dispatch.core.active_modes()])"
    done = subprocess.run(
        [sys.executable, "-c", run], env={**os.environ, "DISPATCH_VALIDATE": value}, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert text in done.stdout + done.stderr


def test_carried_into_a_thread_it_looks_there_too():
    with ThreadPoolExecutor(1) as pool, validate("full"):
        assert pool.submit(wrong(), A).result().shape == (2, 3)
        with pytest.raises(OutputError):
            pool.submit(dispatch.carry(wrong()), A).result()
