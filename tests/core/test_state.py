"""The thread's guards: entered and left in order, found again as settings, modes and levels, one thread's alone."""

import contextlib
import gc
import threading
import weakref

import pytest
from children import said_by_child

from dispatch.core import (
    DispatchKey,
    Guard,
    Level,
    ModeGuard,
    Reopened,
    Setting,
    Without,
    active_mode,
    ground,
    newest_level,
    open_levels,
    setting,
    turned_on,
)
from dispatch.errors import GuardError

KEY = int(DispatchKey.MODE)  # no layer of the package stands there


def in_thread(function):
    """What `function` returns or raises in a thread of its own."""
    found = []

    def work():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


# -- settings --------------------------------------------------------------------------------------------------------------


def test_the_newest_setting_of_a_key_counts_and_leaving_brings_the_older_back():
    assert setting(KEY) is None
    with Setting(KEY, "outer"):
        with Setting(KEY, "inner"), Setting(KEY - 1, "another key"):
            assert (setting(KEY), setting(KEY - 1)) == ("inner", "another key")
        assert (setting(KEY), setting(KEY - 1)) == ("outer", None)
    assert setting(KEY) is None


def test_a_setting_lives_as_long_as_its_block():
    class Value:
        alive = 0

        def __init__(self):
            Value.alive += 1

        def __del__(self):
            Value.alive -= 1

    with Setting(KEY, Value()):
        assert Value.alive == 1
        assert isinstance(setting(KEY), Value)
    assert Value.alive == 0


@pytest.mark.parametrize("kind", [Setting, ModeGuard])
@pytest.mark.parametrize("key", [-1, 32, 64])
def test_a_key_without_a_slot_is_refused(kind, key):
    with pytest.raises(ValueError, match=rf"belongs to a key from 0 to 31, not to {key}\."):
        kind(key, "value")


@pytest.mark.parametrize(
    ("kind", "args"), [(Setting, (KEY, None)), (ModeGuard, (KEY, None)), (Without, (None,)), (Level, (None,))]
)
def test_none_is_no_value_of_a_guard(kind, args):
    with pytest.raises(TypeError, match=r"must not be None|got NoneType"):
        kind(*args)


# -- modes -----------------------------------------------------------------------------------------------------------------


def test_a_mode_is_found_by_its_key_and_the_newest_counts():
    assert active_mode(KEY) is None
    with ModeGuard(KEY, "outer") as outer:
        assert active_mode(KEY) is outer
        assert outer.mode == "outer"
        with ModeGuard(KEY, "inner") as inner:
            assert active_mode(KEY) is inner
            assert active_mode(KEY - 1) is None
        assert active_mode(KEY) is outer
    assert active_mode(KEY) is None


def test_without_takes_one_mode_off_and_leaves_the_others():
    with ModeGuard(KEY, "a") as a, ModeGuard(KEY, "b") as b, ModeGuard(KEY - 1, "c") as c:
        with Without(b):
            assert (active_mode(KEY), active_mode(KEY - 1)) == (a, c)
            with Without(a), Without(c):
                assert (active_mode(KEY), active_mode(KEY - 1)) == (None, None)
            with ModeGuard(KEY, "d") as d:
                assert active_mode(KEY) is d
        assert active_mode(KEY) is b


def test_a_mode_stands_at_its_level():
    assert ModeGuard(KEY, "m").rank == KEY
    with Level("outer") as level:
        assert ModeGuard(KEY, "m", level).rank == level.number * 64 + KEY


# -- levels ----------------------------------------------------------------------------------------------------------------


def test_levels_are_numbered_as_they_are_entered_and_none_twice():
    seen = []
    for _ in range(3):
        with Level("outer") as outer, Level("inner") as inner:
            assert open_levels()[-2:] == [outer, inner]
            assert outer.number < inner.number == newest_level()
            seen += [outer.number, inner.number]
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)


def test_levels_of_threads_have_numbers_of_their_own():
    start = threading.Barrier(4)
    found = [[] for _ in range(4)]

    def work(numbers):
        start.wait()
        for _ in range(500):
            with Level("worker") as level:
                numbers.append(level.number)

    threads = [threading.Thread(target=work, args=(numbers,)) for numbers in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({number for numbers in found for number in numbers}) == 2000
    assert all(numbers == sorted(numbers) for numbers in found)


def test_a_level_is_open_from_entry_to_exit_and_says_its_name():
    level = Level("vmap", payload=3)
    assert (level.open, level.active, level.payload) == (False, False, 3)
    with level:
        assert (level.open, level.active) == (True, True)
        assert repr(level) == f"vmap (level {level.number})"
    assert (level.open, level.active) == (False, False)


def test_a_level_lives_once_so_that_nothing_of_its_first_life_opens_again():
    level = Level("vmap")
    with level:
        pass
    with (
        pytest.raises(GuardError, match=r"vmap \(level \d+\) has been entered before, and what it left would be open again"),
        level,
    ):
        pass
    assert not level.open


# -- the order of guards ---------------------------------------------------------------------------------------------------

GUARDS = [lambda: Setting(KEY, "s"), lambda: ModeGuard(KEY, "m"), lambda: Level("l"), Guard]


@pytest.mark.parametrize("make", GUARDS)
def test_an_exception_leaves_nothing_on(make):
    with pytest.raises(ZeroDivisionError), make(), Setting(KEY, "inner"):
        raise ZeroDivisionError
    assert (setting(KEY), active_mode(KEY), open_levels()) == (None, None, [])


@pytest.mark.parametrize("make", GUARDS)
def test_a_guard_is_entered_once_at_a_time(make):
    guard = make()
    with guard, pytest.raises(GuardError, match=r"entered"), guard:
        pass


def test_a_guard_may_be_used_again_after_it_was_left():
    guard = Setting(KEY, "again")
    for _ in range(2):
        with guard:
            assert setting(KEY) == "again"


@pytest.mark.parametrize("make", GUARDS)
def test_a_guard_that_is_left_under_another_raises_and_pops_no_stranger(make):
    lower, upper = make(), Setting(KEY, "stranger")
    lower.__enter__()
    upper.__enter__()
    with pytest.raises(GuardError, match=r"is left while 'stranger', entered after it, is still on.*`await`.*`yield`"):
        lower.__exit__()
    assert setting(KEY) == "stranger"
    assert (active_mode(KEY), open_levels()) == (None, [])
    upper.__exit__()
    assert setting(KEY) is None


def test_what_was_derived_from_the_guards_is_derived_again_when_one_is_left_out_of_order():
    with Setting(KEY, "bottom"):
        guards = [Setting(KEY, "low"), ModeGuard(KEY, "mode"), Setting(KEY - 1, "other"), ModeGuard(KEY - 1, "top")]
        for guard in guards:
            guard.__enter__()
        for guard in guards[:2]:
            with pytest.raises(GuardError, match="is still on"):
                guard.__exit__()
        assert (setting(KEY), setting(KEY - 1)) == ("bottom", "other")
        assert (active_mode(KEY), active_mode(KEY - 1)) == (None, guards[3])
        for guard in reversed(guards[2:]):
            guard.__exit__()
        assert active_mode(KEY - 1) is None


def test_a_guard_held_over_a_yield_raises_when_it_is_not_on_top():
    def generator():
        with Setting(KEY, "generator"):
            yield setting(KEY)

    held = generator()
    assert next(held) == "generator"
    with Setting(KEY, "caller"):
        with pytest.raises(GuardError, match="do not hold one over an `await` or over the `yield` of a generator"):
            next(held, None)
        assert setting(KEY) == "caller"
    assert setting(KEY) is None


def test_guards_of_coroutines_that_interleave_raise():
    async def coroutine(name):
        with Setting(KEY, name):
            await Pause()

    class Pause:
        def __await__(self):
            yield

    first, second = coroutine("first"), coroutine("second")
    first.send(None)
    second.send(None)
    with pytest.raises(GuardError, match=r"'first' is left while 'second'.*do not hold one over an `await`"):
        first.send(None)
    assert setting(KEY) == "second"
    with pytest.raises(StopIteration):
        second.send(None)


def test_leaving_what_was_never_entered_raises():
    with pytest.raises(GuardError, match="is left in a thread in which it was not entered"):
        Setting(KEY, "never").__exit__()


# -- threads ---------------------------------------------------------------------------------------------------------------


def test_a_thread_sees_nothing_of_another_s_guards():
    with Setting(KEY, "here"), ModeGuard(KEY, "here"), Level("here"):
        assert in_thread(lambda: (setting(KEY), active_mode(KEY), open_levels())) == (None, None, [])
        assert in_thread(lambda: Setting(KEY, "there").__enter__()).value == "there"
        assert setting(KEY) == "here"


def test_a_guard_that_is_left_in_another_thread_raises_and_stays_on_in_its_own():
    def generator():
        with Setting(KEY, "generator"):
            yield

    held = generator()
    next(held)
    error = in_thread(lambda: next(held, None))
    assert isinstance(error, GuardError)
    assert "is left in a thread in which it was not entered. Enter and leave it in one thread; a generator" in str(error)
    assert setting(KEY) == "generator"
    assert held_setting().active
    # what the other thread could not take off is taken off by whoever finds it here
    with contextlib.ExitStack() as stack:
        stack.push(held_setting())
    assert setting(KEY) is None


def held_setting():
    """The guard on top of this thread's stack."""
    probe = Guard()
    with probe:
        return probe.below


def test_a_thread_that_ends_with_a_guard_on_takes_it_along():
    assert in_thread(lambda: Setting(KEY, "left on").__enter__()).value == "left on"
    gc.collect()
    assert in_thread(lambda: setting(KEY)) is None
    assert setting(KEY) is None


class Value:
    """Can be referred to weakly."""


def test_what_a_thread_leaves_on_is_let_go_of_when_it_ends():
    guards, values = [], []

    def work():
        for make in (lambda v: Setting(KEY, v), lambda v: ModeGuard(KEY, v), lambda v: Level("level", v)):
            value = Value()
            values.append(weakref.ref(value))
            guards.append(make(value))
            guards[-1].__enter__()
        guards.append(Without(guards[1]))
        guards[-1].__enter__()
        assert [guard.active for guard in guards] == [True] * 4
        assert guards[2].open

    in_thread(work)
    assert [(guard.active, guard.below) for guard in guards] == [(False, None)] * 4
    assert not guards[2].open
    guards.clear()
    assert [value() for value in values] == [None] * 3


def test_a_pullback_in_a_thread_that_ends_leaves_its_level_closed():
    with Level("vjp") as level:
        pass
    in_thread(lambda: Reopened(level).__enter__())
    assert not level.open
    with Reopened(level):
        in_thread(lambda: Reopened(level).__enter__())
        assert level.open
    assert not level.open


def test_a_value_that_dies_with_its_thread_may_use_guards_itself():
    seen = []

    class Late:
        def __del__(self):
            with Setting(KEY, "late"):
                seen.append(setting(KEY))
            seen.append(setting(KEY))

    in_thread(lambda: Setting(KEY, Late()).__enter__() and None)
    assert seen == ["late", None]


# -- nothing half made -----------------------------------------------------------------------------------------------------


def test_a_level_that_is_left_where_it_was_not_entered_stays_as_it_is():
    with Level("here") as level:
        assert isinstance(in_thread(level.__exit__), GuardError)
        assert (level.open, level.active) == (True, True)
    with pytest.raises(GuardError, match="ground level"):
        ground().__exit__()
    assert ground().open
    with pytest.raises(GuardError):
        Reopened(level).__exit__()
    assert not level.open
    with Reopened(ground()):
        pass
    assert ground().open


def test_a_guard_is_made_once():
    assert said_by_child("""
        import gc
        for guard in (Setting(3, "a"), Level("level"), Without(ModeGuard(3, "a")), Reopened(ground())):
            with guard:
                try:
                    guard.__init__(3, "b" * 10)
                except TypeError:
                    pass
                gc.collect()
                assert setting(3) in ("a", None), setting(3)
        mode = ModeGuard(3, "a")
        try:
            mode.__init__(3, "b")
        except TypeError as error:
            print(error)
    """) == "'a' has been made, and __init__ makes it once."


@pytest.mark.parametrize("kind", ["Reopened", "Setting", "Without", "Level", "ModeGuard", "Guard"])
def test_a_guard_without_its_arguments_is_none_or_harmless(kind):
    said_by_child(f"""
        try:
            with {kind}.__new__({kind}):
                repr(active_modes())
        except TypeError as error:
            assert "argument" in str(error), error
        assert (open_levels(), active_modes()) == ([], [])
    """)


def test_equality_of_a_guard_s_subclass_decides_nothing():
    class Odd(ModeGuard):
        def __init__(self):
            super().__init__(KEY, "odd")

        def __hash__(self):
            raise KeyboardInterrupt

        def __eq__(self, other):
            raise KeyboardInterrupt

    with Odd() as odd, Setting(KEY, "s") as other:
        with Without(odd):
            assert active_mode(KEY) is None
            assert turned_on() == [other]
        assert [guard is odd for guard in turned_on()] == [True, False]
