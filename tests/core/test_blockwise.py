"""Calls that are made together, block by block, give what NumPy gives of whole arrays: the bits, the warnings, the errors."""

import threading
import warnings
from functools import cache
from io import StringIO

import numpy as np
import pytest

import dispatch
from dispatch.compiler import program
from dispatch.compiler.trace_function import make_fx
from dispatch.core.blockwise import Blockwise, selected

UFUNCS = [f for f in vars(np).values() if type(f) is np.ufunc and f.nout == 1 and f.signature is None]
UFUNCS = sorted(set(UFUNCS), key=lambda f: f.__name__)
LENGTHS = (2, 257, 4096 + 1)  # below a block, in the tail of one, in the second
CHARS = "?bBhHiIlLqQefdgFDG"
rng = np.random.default_rng(0)


@cache
def known_numbers(char, n, place):
    """Numbers for one argument of a loop."""
    found = numbers(char, n)
    found.flags.writeable = False
    return found


@np.errstate(all="ignore")
def numbers(dtype, shape):
    """Small and large ones, and those at the ends."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        ends = np.array([0, 1, 2, 63, info.min, info.max], dtype)
        return np.where(rng.random(shape) < 0.2, rng.choice(ends, shape), rng.integers(0, 7, shape).astype(dtype))
    if dtype.kind == "c":
        found = np.empty(shape, dtype)
        found.real, found.imag = numbers(dtype.char.lower(), shape), numbers(dtype.char.lower(), shape)
        return found
    info = np.finfo(dtype)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny, -1.0, 0.5, 1e4, 3e9 if dtype.itemsize > 2 else 9], dtype)
    scale = np.exp(rng.normal(size=shape, scale=3)).astype(dtype)
    return np.where(rng.random(shape) < 0.1, rng.choice(ends, shape), rng.normal(size=shape).astype(dtype) * scale)


def made(f, *args):
    """The program of a function, and how many of its calls are made in runs."""
    with np.errstate(all="ignore"):
        run = program(make_fx(f)(*args))
    return run, sum(found.count for _, found in run.runs)


def bits(x):
    """What an array holds, without the bytes between long doubles, which nobody sets."""
    if x.dtype.char not in "gG" or np.finfo(x.dtype).bits != 128 or np.finfo(x.dtype).nmant != 63:
        return x.tobytes()
    return np.frombuffer(x.tobytes(), np.uint8).reshape(-1, 16)[:, :10].tobytes()


def outcome(f, *args):
    """What a call returns or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = f(*args)
        except (FloatingPointError, RuntimeWarning) as error:
            found = type(error), str(error)
        else:
            found = [(type(x), x.dtype, x.shape, x.strides, bits(x)) for x in (found if isinstance(found, tuple) else (found,))]
    return found, [(x.category, str(x.message)) for x in seen]


def check(f, *args, calls):
    """Hold a program to its function; so many of its calls are made in runs."""
    run, count = made(f, *args)
    assert count == calls
    before = [x.tobytes() for x in args if isinstance(x, np.ndarray)]
    assert outcome(run, *args) == outcome(f, *args)
    assert [x.tobytes() for x in args if isinstance(x, np.ndarray)] == before


def loops(ufunc):
    """The dtypes of the arguments of each loop of a ufunc's own that a run may take."""
    found = {types[: ufunc.nin] for types in ufunc.types if set(types) <= {*CHARS, "-", ">"}}
    return sorted(found)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_every_loop_gives_the_bits_and_the_warnings_of_whole_arrays(ufunc):
    reached = 0
    for types in loops(ufunc):
        for n in LENGTHS:
            args = [known_numbers(char, n, i) for i, char in enumerate(types)]
            other = slice(None, None, -1) if len(set(types)) == 1 else slice(None)

            def f(*x, other=other):
                return ufunc(*x), ufunc(*x[other])

            try:
                with np.errstate(all="ignore"):
                    f(*args)
            except (TypeError, ValueError):  # integers to negative powers
                continue
            run, count = made(f, *args)
            reached += count
            assert outcome(run, *args) == outcome(f, *args), (types, n)
    assert reached or not loops(ufunc)


# -- layouts ---------------------------------------------------------------------------------------------------------------


def mixed(x, y):
    z = np.exp(np.sin(x) * 0.5 + y)
    return z, np.where(z > y, 1.0 - z, z) * y


POINTS = {
    "whole": lambda shape: numbers("d", shape),
    "row": lambda shape: numbers("d", shape[-1:]),
    "rows": lambda shape: numbers("d", shape[1:]),
    "column": lambda shape: numbers("d", (*shape[:-1], 1)),
    "columns": lambda shape: numbers("d", (shape[0], *[1] * (len(shape) - 1))),
    "point": lambda shape: numbers("d", (1,) * len(shape)),
    "array without axes": lambda shape: numbers("d", ()),
}
SHAPES = [(3, 5), (700, 10), (10, 700), (3, 5000), (2, 257), (4099, 3), (1, 300), (300, 1), (5, 7, 300), (1, 6, 1, 41)]


@pytest.mark.parametrize("spread", POINTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operands_are_repeated_as_numpy_repeats_them(shape, spread):
    """One number for each row ends a run: with it NumPy computes otherwise than with a copy, and it may do either."""
    other = POINTS[spread](shape)
    own = 1 < other.size < np.prod(shape) and other.shape[-1] == 1
    check(mixed, numbers("d", shape), other, calls=4 if own else 8)


@pytest.mark.parametrize("length", [4096 * 8, 4096 * 9 + 1, 70_001])
def test_blocks_grow_where_calls_are_slow(length):
    def f(x):
        for _ in range(3):
            x = np.arcsinh(np.sin(np.exp(x)))
        return x

    check(f, rng.random(length), calls=9)
    check(f, rng.random((length // 100, 100)), calls=9)


@pytest.mark.parametrize(
    "laid_out",
    [
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1],
        lambda x: x.astype(">f8"),
        lambda x: np.frombuffer(b" " + x.tobytes(), np.uint8)[1:].view("f8").reshape(x.shape),
        lambda x: x[:0],
        lambda x: x[:1, :1],
    ],
    ids=["F", "steps", "backwards", "order of bytes", "not aligned", "empty", "one"],
)
def test_other_layouts_give_what_numpy_gives(laid_out):
    x = laid_out(numbers("d", (6, 50)))
    run, _ = made(lambda x: np.exp(np.sin(x)) * x, x)
    assert outcome(run, x) == outcome(lambda x: np.exp(np.sin(x)) * x, x)


def test_arrays_that_are_not_as_planned_go_call_by_call():
    x = numbers("d", (6, 50))
    run, _ = made(mixed, x, x)
    for other in (np.asfortranarray(x), numbers("f", (6, 50)), numbers("d", (7, 50)), x.astype(">f8")):
        assert outcome(run, other, other) == outcome(mixed, other, other)


def test_numbers_of_numpys_and_pythons_are_points():
    def f(x, y):
        return np.sin(x * np.sum(y)) + np.float64(2.0), x * True

    check(f, numbers("d", 50), numbers("d", 3), calls=4)
    run, _ = made(lambda x, y: np.sin(x * y) + y, numbers("d", 50), np.float64(2.0))
    for y in (np.float64(3.0), 3.0, np.array(3.0)):
        x = numbers("d", 50)
        assert outcome(run, x, y) == outcome(lambda x, y: np.sin(x * y) + y, x, y)


@pytest.mark.parametrize("char", CHARS)
def test_a_choice_is_that_of_where(char):
    mask, x, y = numbers("?", (40, 30)), numbers(char, (40, 30)), numbers(char, 30)
    with np.errstate(all="ignore"):
        found = selected(mask, x, y)
    assert bits(np.where(mask, x, y)) == bits(found)
    check(lambda mask, x, y: (np.where(mask, x, y), np.where(mask, y, x), np.where(mask, x, True)), mask, x, y, calls=3)


# -- memory ----------------------------------------------------------------------------------------------------------------


def test_a_result_goes_into_an_array_that_dies():
    """The product is read by nobody else; its memory takes the result, whose pages are there already."""
    x, y = numbers("d", (60, 60)), rng.random((60, 60))

    def f(x, y):
        return np.tanh(np.matmul(x, y) + 1.0)

    check(f, x, y, calls=2)
    check(lambda x, y: (lambda z: (np.tanh(z + 1.0), z.T))(np.matmul(x, y)), x, y, calls=2)
    check(lambda x, y: (lambda z: (np.tanh(z + 1.0) * z, np.exp(z) - z))(np.matmul(x, y)), x, y, calls=5)
    check(lambda x, y: (lambda z: (z[1:] * 2.0 + 1.0, np.exp(z) - z))(np.matmul(x, y)), x, y, calls=4)


def test_two_runs_at_once_have_blocks_of_their_own():
    x = rng.random((8, 40_000))
    run, _ = made(mixed, x[0], x[1])
    expected = [outcome(mixed, row, row) for row in x]
    found = [None] * len(x)

    def work(i):
        for _ in range(5):
            found[i] = outcome(run, x[i], x[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(x))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [x[0] for x in found] == [x[0] for x in expected]


# -- what NumPy has to say -------------------------------------------------------------------------------------------------


def troubled(x):
    y = np.log(x)  # divides by zero; and is invalid
    return np.sqrt(y) * 1e300 * 1e300 > y  # invalid; overflows; a comparison clears what was reported


@pytest.mark.parametrize("state", ["ignore", "warn", "raise", "call", "print", "log"])
@pytest.mark.parametrize("length", [9, 20_000])
def test_errors_are_reported_once_for_each_call_and_as_the_user_asked(state, length, capsys):
    x = np.resize([1.0, 0.0, -1.0, 3.0], length)
    run, count = made(troubled, x)
    assert count == 5

    class Log:
        def __init__(self):
            self.seen = []

        def write(self, text):
            self.seen.append(text)

        def __call__(self, text, number):
            self.seen.append((text, number))

    found = []
    for f in (run, troubled):
        log = Log()
        with np.errstate(all=state, call=log if state in ("call", "log") else None):
            found.append((outcome(f, x), log.seen, capsys.readouterr().out))
    assert found[0] == found[1]
    assert bool(found[0][1]) == (state in ("call", "log"))


def test_an_error_says_which_call_raised_it():
    x = np.array([[1.0, 0.0, 2.0]])
    run, _ = made(lambda x: np.exp(np.log(np.negative(x) + 1.0)) * 2.0, x)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log") as raised:
        run(x)
    notes = "\n".join(raised.value.__notes__)
    assert "in operator np::log(x: float64[1, 3])" in notes
    assert "in node log of the graph, of" in notes


def test_what_was_reported_before_is_not_this_runs():
    x = np.ones(3)
    run, _ = made(lambda x: np.sqrt(x) + 1.0, x)
    with np.errstate(all="ignore"):
        np.log(np.zeros(3))
    assert outcome(run, x)[1] == []


# -- what stands in the way ------------------------------------------------------------------------------------------------


def test_a_mode_sees_each_call():
    x = rng.random(40)
    run, _ = made(lambda x: np.exp(np.sin(x)) * 2.0, x)
    with dispatch.log_calls(file=(told := StringIO())):
        run(x)
    assert [line.split()[0] for line in told.getvalue().splitlines()] == ["np::sin", "np::exp", "np::multiply"]


# -- threads ---------------------------------------------------------------------------------------------------------------


def slow(x, y):
    """Calls that take a thread milliseconds, whose values are used in different orders."""
    z = np.sin(x) * y + np.exp(np.cos(x))
    return np.where(z > 0.5, np.sin(z) * x, np.log(np.abs(z) + 1.0)), np.arctan(z - y), np.sqrt(z * z)


def share(run):
    """Let four threads compute a program, however fast this machine is."""
    run.workers = 4
    for _, found in run.runs:
        found.least_share = 0.0


FEW_NUMBERS = 2 * 4096 + 1
SHAPES = [((60_001,), (60_001,)), ((60_001,), ()), ((401, 150), (150,)), ((3, 20_001), (20_001,)), ((2, 5, 6000), (2, 5, 6000))]


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize(("shape", "other"), SHAPES)
def test_several_threads_give_the_bits_of_one(shape, other, dtype):
    x, y = rng.normal(size=shape).astype(dtype), rng.normal(size=other).astype(dtype)
    run, count = made(slow, x, y)
    assert run.workers == 1
    assert count > 10
    expected = run(x, y)
    assert [bits(found) for found in expected] == [bits(found) for found in slow(x, y)]
    assert sum(found.helped for _, found in run.runs) == 0
    share(run)
    for _ in range(3):
        assert [bits(found) for found in run(x, y)] == [bits(found) for found in expected]
    assert sum(found.helped for _, found in run.runs) > 0


def test_a_run_of_few_numbers_is_not_shared():
    x = rng.normal(size=FEW_NUMBERS - 1)
    run, _ = made(slow, x, x)
    share(run)
    run(x, x)
    assert [found.helped for _, found in run.runs] == [0]


@pytest.mark.parametrize("place", [0, 30_000, 59_999])
def test_what_another_thread_reports_is_told_by_the_caller(place):
    x = np.full(60_000, 0.5)
    x[place] = 0.0
    f = lambda x: 1.0 / np.log(np.exp(np.sin(np.sin(np.sin(x)))) - 1.0) + np.log(x)
    run, _ = made(f, x)
    share(run)
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        f(x)
    found = outcome(run, x)[1]
    assert len(found) == len(expected) == 2
    assert sum(each.helped for _, each in run.runs) > 0
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
        run(x)
    x[place] = 0.5
    assert outcome(run, x)[1] == []


def test_many_callers_share_the_processors():
    x, y = rng.normal(size=30_000), rng.normal(size=30_000)
    run, _ = made(slow, x, y)
    share(run)
    expected, wrong = [bits(found) for found in slow(x, y)], []

    def call():
        wrong.extend([1 for _ in range(3) if [bits(found) for found in run(x, y)] != expected])

    callers = [threading.Thread(target=call) for _ in range(6)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong
    before = sum(found.helped for _, found in run.runs)
    run(x, y)
    assert sum(found.helped for _, found in run.runs) > before  # those that have helped are free again


def test_integers_to_negative_powers_raise_in_each_call():
    x, y = np.arange(1, 40), np.full(39, 2)
    f = dispatch.compile(lambda x, y: (x + 1) ** y * 2, fullgraph=True)
    assert np.array_equal(f(x, y), (x + 1) ** y * 2)
    for _ in range(2):
        with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
            f(x, -y)


F8 = np.dtype("f8")
LINE = F8, (5,), (8,)
PLACES = [("given", 0, LINE, 1, 0, ()), ("known", -1, np.array(2.0), 0, 0, ()), ("made", 1, LINE, 1, 0, (0,))]
STEPS = [(np.add, np.add.types.index("dd->d"), (0, 1, 2))]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0}, "0 numbers are no rows of 0"),
        ({"row": 2}, "5 numbers are no rows of 2"),
        ({"places": [("given", 0, (F8, (4,), (8,)), 1, 0, ())]}, r"given 0 of shape \(4,\) does not go into 5 numbers"),
        ({"places": [("given", -2, LINE, 1, 0, ())]}, "given -2 of shape"),
        ({"places": [("given", 0, LINE, 1, 3, ())]}, "given 0 of shape"),
        ({"places": [("known", 0, np.ones(2), 0, 0, ())]}, "a number is an array of one item"),
        ({"places": [("known", 0, 2.0, 0, 0, ())]}, "a number is an array of one item"),
        ({"places": [("made", 0, LINE, 1, 0, (0,))]}, "what is made takes one of"),
        ({"steps": [(np.sum, 0, (0, 1, 2))]}, "is no ufunc of 2 arguments"),
        ({"steps": [(np.sin, 0, (0, 1, 2))]}, "is no ufunc of 2 arguments"),
        ({"steps": [(np.add, 99, (0, 1, 2))]}, "has no loop 99"),
        ({"steps": [(np.add, 0, (0, 1, 2))]}, "another dtype than float64"),
        ({"steps": [(*STEPS[0][:2], (0, 1, 3))]}, "there is no place 3 of 3"),
        ({"steps": [(*STEPS[0][:2], (0, 1, 0))]}, "writes to what is given"),
    ],
)
def test_a_run_that_reads_what_is_not_there_is_not_made(wrong, message):
    assert Blockwise(5, 0, PLACES, STEPS, {}).count == 1
    with pytest.raises(ValueError, match=message):
        Blockwise(**{"size": 5, "row": 0, "places": PLACES, "steps": STEPS, "layouts": {}} | wrong)
