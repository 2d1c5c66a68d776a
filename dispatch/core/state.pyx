"""Holds what is on in one thread: guards, levels, settings and modes. Over 350 lines, for all of it is one stack.

A guard is what a `with` block turns on. The guards of a thread form a stack, a linked list from the newest down, and what
the hot path reads, the highest rank of the active modes, is kept beside it in C. The stack belongs to the thread, not to
the coroutine: a guard that is held over an `await` or a `yield` may find another one on top of it when it exits, and then
it raises instead of popping a stranger.

A level is the next number of one counter for the whole process, taken when a transform is entered. It is not the depth:
the inner transform still has the larger number, no two threads share one, and none is used twice, so that a value which
outlived its transform can be told from the values of the next one.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.string cimport memset

from .keys cimport KEYS, rank_at, rank_t

from ..errors import GuardError

# C text in a .pxd is copied into every module that cimports it, so the variable itself stands here, once.
cdef extern from *:
    """
    static _Thread_local dispatch_thread_state dispatch_current_thread;
    static unsigned long long dispatch_last_level = 0;
    static unsigned long long dispatch_next_level(void) {
        return __atomic_add_fetch(&dispatch_last_level, 1, __ATOMIC_RELAXED);
    }
    """
    ThreadState dispatch_current_thread
    rank_t dispatch_last_level
    rank_t dispatch_next_level()
    PyObject *PyThreadState_GetDict() noexcept

cdef str THREAD_KEY = "dispatch: the guards that are on"


cdef ThreadState *thread_state() noexcept nogil:
    return &dispatch_current_thread


cdef void set_rank(ThreadState *thread, rank_t rank) noexcept:
    """Every change of a thread's rank, so that the threads with one are counted. The GIL is held."""
    threads.with_modes += <Py_ssize_t>(rank != 0) - <Py_ssize_t>(thread.rank != 0)
    thread.rank = rank


cdef class Ending:
    """Leaves the guards that a thread has not left when it ends; kept in the interpreter's own dict of the thread."""

    cdef ThreadState *thread

    def __dealloc__(self):
        cdef ThreadState *thread = self.thread
        cdef Guard guard, below
        if thread != thread_state() or thread.top == NULL:
            return                          # the interpreter ends and lets go of other threads, whose memory may be gone
        guard = <Guard>thread.top
        thread.top = NULL
        set_rank(thread, 0)
        memset(thread.settings, 0, sizeof(thread.settings))
        Py_DECREF(guard)
        while guard is not None:
            below = guard.below
            guard.below = None
            guard.active = False
            guard.left()
            guard = below


cdef int watch_the_end(ThreadState *thread) except -1:
    cdef Ending ending = Ending()
    ending.thread = thread
    (<dict>PyThreadState_GetDict())[THREAD_KEY] = ending
    thread.ending = True
    return 0


cdef int rebuild(ThreadState *thread) except -1:
    """Derive rank and settings from the guards, oldest first."""
    cdef list guards = []
    cdef Guard guard = <Guard>thread.top if thread.top != NULL else None
    while guard is not None:
        guards.append(guard)
        guard = guard.below
    set_rank(thread, 0)
    memset(thread.settings, 0, sizeof(thread.settings))
    for guard in reversed(guards):
        guard.apply(thread)
    return 0


@cython.binding(False)
cdef class Guard:
    """One entry of the thread's stack of guards; a context manager that is entered once at a time."""

    cdef int apply(self, ThreadState *thread) except -1:
        """Change the thread's rank or settings; the guards below have been applied. Raise before the change, or not at all."""
        return 0

    cdef void undo(self, ThreadState *thread) noexcept:
        """Take the change back; this guard was the newest."""

    cdef void left(self) noexcept:
        """Change what else depends on this guard: it is off, by `__exit__` or because its thread has ended."""

    def __enter__(self):
        self.enter()
        return self

    def __exit__(self, kind=None, error=None, traceback=None):
        self.leave()

    cdef int enter(self) except -1:
        """Turn it on: `__enter__`, for compiled code."""
        cdef ThreadState *thread = thread_state()
        if self.active:
            raise GuardError(
                f"{self!r} is entered already, and can be entered once at a time. Make a new one for the inner block.")
        if not thread.ending:
            watch_the_end(thread)
        self.below = <Guard>thread.top if thread.top != NULL else None
        self.apply(thread)
        self.active = True
        Py_INCREF(self)
        if thread.top != NULL:
            Py_DECREF(<object>thread.top)
        thread.top = <PyObject *>self
        return 0

    cdef int leave(self) except -1:
        """Turn it off: `__exit__`, for compiled code."""
        cdef ThreadState *thread = thread_state()
        cdef Guard above = None
        cdef Guard guard = <Guard>thread.top if thread.top != NULL else None
        cdef bint on_top = guard is self
        while guard is not None and guard is not self:
            above, guard = guard, guard.below
        if guard is None:
            raise GuardError(
                f"{self!r} is left in a thread in which it was not entered. Enter and leave it in one thread; "
                "a generator or coroutine that moves between threads must not hold it over a yield or an await.")
        self.active = False
        if on_top:
            thread.top = <PyObject *>self.below if self.below is not None else NULL
            if self.below is not None:
                Py_INCREF(self.below)
            Py_DECREF(self)
        else:
            above.below = self.below
        self.below = None
        self.left()
        if on_top:
            self.undo(thread)
        else:
            rebuild(thread)
            raise GuardError(
                f"{self!r} is left while {above!r}, entered after it, is still on. Guards are `with` blocks of one thread: "
                "do not hold one over an `await` or over the `yield` of a generator.")
        return 0

    def __repr__(self): return type(self).__name__


cdef class Level(Guard):
    """The life of one transform: open from entry to exit, with a number no other level has had.

    Parameters
    ----------
    name : str
        The transform, as messages name it.
    payload : object, optional
        What the transform wants to find again in its kernels.
    """

    def __cinit__(self, str name not None, payload=None):
        self.name = name
        self.payload = payload

    cdef int enter(self) except -1:
        if self.number or self.open:
            raise GuardError(f"{self!r} has been entered before, and what it left would be open again. Make a new Level.")
        Guard.enter(self)
        self.number = dispatch_next_level()
        self.open = True
        return 0

    cdef void left(self) noexcept:
        self.open = self.reopened > 0

    def __repr__(self): return f"{self.name} (level {self.number})"


cdef class Reopened(Guard):
    """Lets the values of a level that has ended be used while the block lasts, in any thread: a pullback reads its tape."""

    cdef Level level

    def __cinit__(self, Level level not None):
        self.level = level

    cdef int enter(self) except -1:
        Guard.enter(self)
        self.level.reopened += 1
        self.level.open = True
        return 0

    cdef void left(self) noexcept:
        self.level.reopened -= 1
        self.level.open = self.level.active or self.level.reopened > 0

    def __repr__(self): return f"{self.level!r}, opened again"


@cython.binding(False)
cdef class Setting(Guard):
    """A value that the layer of `key` finds again with `setting(key)` while the block lasts; the newest counts."""

    def __cinit__(self, int key, value not None):
        if not 0 <= key < KEYS:
            raise ValueError(f"a setting belongs to a key from 0 to {KEYS - 1}, not to {key}.")
        self.key = key
        self.value = value

    cdef int apply(self, ThreadState *thread) except -1:
        self.setting_before = thread.settings[self.key]
        thread.settings[self.key] = <PyObject *>self.value
        return 0

    cdef void undo(self, ThreadState *thread) noexcept:
        thread.settings[self.key] = self.setting_before

    def twin(self):
        """A new guard that turns on the same, in another thread say."""
        return Setting(self.key, self.value)

    def __repr__(self): return f"{self.value!r}"


@cython.binding(False)
cdef class ModeGuard(Guard):
    """A layer without a wrapper: while the block lasts every call goes through the layer of `key`.

    Parameters
    ----------
    key : int
        The layer's key.
    mode : object
        What the layer finds again with `active_mode(key)`.
    level : Level, optional
        The transform that turned the mode on; without one the mode stands at level 0.
    """

    def __init__(self, int key, mode not None, Level level=None):
        if not 0 <= key < KEYS:
            raise ValueError(f"a mode belongs to a key from 0 to {KEYS - 1}, not to {key}.")
        if self.mode is not None:           # not __cinit__: a subclass has parameters of its own
            raise TypeError(f"{self!r} has been made, and __init__ makes it once.")
        self.key = key
        self.mode = mode
        self.rank = rank_at(level.number if level is not None else 0, key)

    cdef int apply(self, ThreadState *thread) except -1:
        self.rank_before = thread.rank
        if self.rank > thread.rank:
            set_rank(thread, self.rank)
        return 0

    cdef void undo(self, ThreadState *thread) noexcept:
        set_rank(thread, self.rank_before)

    def twin(self):
        """A new guard that turns on the same, in another thread say, at the rank of this one."""
        cdef ModeGuard guard = ModeGuard(self.key, self.mode)
        guard.rank = self.rank
        return guard

    def __repr__(self): return f"{self.mode!r}"


cdef class Without(Guard):
    """Takes one mode off while the block lasts, so that its kernel can call the operator again."""

    def __cinit__(self, ModeGuard guard not None):
        self.guard = guard

    cdef int apply(self, ThreadState *thread) except -1:
        cdef ModeGuard mode
        cdef rank_t rank = 0
        for mode in active_guards(self):
            rank = max(rank, mode.rank)
        self.rank_before = thread.rank
        set_rank(thread, rank)
        return 0

    cdef void undo(self, ThreadState *thread) noexcept:
        set_rank(thread, self.rank_before)

    def __repr__(self): return f"{self.guard!r}, taken off"


cdef bint holds(list guards, Guard guard) noexcept:
    """Whether a guard is in a list: the object itself, whatever a subclass says of equality."""
    cdef Guard other
    for other in guards:
        if other is guard:
            return True
    return False


cdef list active_guards(Guard guard):
    """The mode guards from `guard` down that no Without above them has taken off."""
    cdef list found = [], off = []
    while guard is not None:
        if isinstance(guard, Without):
            off.append((<Without>guard).guard)
        elif isinstance(guard, ModeGuard) and not holds(off, guard):
            found.append(guard)
        guard = guard.below
    return found


cpdef ModeGuard active_mode(int key):
    """The guard of the newest active mode of `key` in this thread, or None."""
    cdef ThreadState *thread = thread_state()
    cdef Guard guard = <Guard>thread.top if thread.rank else None
    cdef ModeGuard mode
    while guard is not None and not isinstance(guard, Without):
        if isinstance(guard, ModeGuard) and (<ModeGuard>guard).key == key:
            return <ModeGuard>guard
        guard = guard.below
    for mode in active_guards(guard) if guard is not None else ():
        if mode.key == key:
            return mode
    return None


def active_modes():
    """The guards of all active modes in this thread, newest first."""
    cdef ThreadState *thread = thread_state()
    return active_guards(<Guard>thread.top) if thread.rank else []


cdef rank_t highest_mode(rank_t without):
    """The highest rank among the thread's modes, those at the keys of the bits in `without` left out."""
    cdef ModeGuard guard
    cdef rank_t rank = 0
    if rank_of_thread():
        for guard in active_modes():
            if not without >> guard.key & 1 and guard.rank > rank:
                rank = guard.rank
    return rank


def turned_on():
    """The settings and the modes, but those taken off, that are on in this thread, oldest first."""
    cdef ThreadState *thread = thread_state()
    cdef Guard guard = <Guard>thread.top if thread.top != NULL else None
    cdef list modes = active_guards(guard), found = []
    while guard is not None:
        if isinstance(guard, Setting) or holds(modes, guard):
            found.append(guard)
        guard = guard.below
    return found[::-1]


def setting(int key):
    """The value of the newest Setting of `key` in this thread, or None."""
    cdef PyObject *value = thread_state().settings[key & (KEYS - 1)]
    return None if value == NULL else <object>value


def conversions():
    """How many wrappers have been turned into numbers in this thread; what changes it meanwhile, has cut a derivative."""
    return thread_state().conversions


def numbers_taken():
    """How many of the conversions were `x.item()` or `x.tolist()`, and no constants on purpose."""
    return thread_state().numbers


def count_conversion(bint number=False):
    """Note that a wrapper gives up its data as a number; `number` where that is a number of Python's, or a list of them."""
    thread_state().conversions += 1
    thread_state().numbers += number


def requests():
    """How many wrappers have refused their data as an array in this thread, those aside that `answered` took back."""
    return thread_state().requests


def note_request():
    """Note that a wrapper was asked for its data as an array, or as a number, and refuses it."""
    thread_state().requests += 1


def answered(rank_t before):
    """Take back all requests but the first `before`: what asked gets arrays in another way."""
    thread_state().requests = before


def open_levels():
    """The levels that are open in this thread, outermost first."""
    cdef ThreadState *thread = thread_state()
    cdef Guard guard = <Guard>thread.top if thread.top != NULL else None
    cdef list found = []
    while guard is not None:
        if isinstance(guard, Level):
            found.append(guard)
        guard = guard.below
    return found[::-1]


def newest_level():
    """The number of the newest level any thread has opened: what is opened from now on has a larger one."""
    return dispatch_last_level


GROUND = Level("ground level")
GROUND.open, GROUND.reopened = True, 1      # it is never left
# Observers are modes of a level above all others: they see each call first, and cost nothing when none is on.
cdef Level above = Level("observers")
above.number, above.open, above.reopened = <rank_t>1 << 57, True, 1
ABOVE = above
