"""What one thread has turned on: the stack of guards, the highest rank of its modes, one setting a key."""
from cpython.object cimport PyObject

from .keys cimport KEYS, rank_t

cdef extern from *:
    """
    typedef struct {
        unsigned long long rank;            /* highest rank among the thread's active modes; 0: none */
        PyObject *top;                      /* the newest guard (owned), or NULL */
        PyObject *settings[32];             /* by key: the value of the newest Setting (borrowed from it), or NULL */
        int ending;                         /* whether the guards that are on are left when the thread ends */
        unsigned long long conversions;     /* how many wrappers have given up their data as numbers */
        unsigned long long numbers;         /* how many of them in item() or tolist(), and not as a constant on purpose */
        unsigned long long requests;        /* how many were asked for their data as an array, and nobody has answered yet */
    } dispatch_thread_state;
    """
    ctypedef struct ThreadState "dispatch_thread_state":
        rank_t rank
        PyObject *top
        PyObject *settings[KEYS]
        bint ending
        rank_t conversions, numbers
        rank_t requests


cdef ThreadState *thread_state() noexcept nogil    # valid for the calling thread, as long as that thread lives

cdef struct Threads:
    Py_ssize_t with_modes                   # how many have a rank that is not 0, or more: of a dead one it may still count


cdef Threads threads


cdef inline rank_t rank_of_thread() noexcept nogil:
    """The highest rank of this thread's modes. Where no thread has one, the thread's own state is not looked for."""
    return thread_state().rank if threads.with_modes else 0


cdef class Guard:
    cdef readonly Guard below               # the guard that was newest when this one was entered
    cdef readonly bint active

    cdef rank_t rank_before                 # what stood in the thread's state when this was applied
    cdef PyObject *setting_before

    cdef int enter(self) except -1
    cdef int leave(self) except -1
    cdef int apply(self, ThreadState *thread) except -1
    cdef void undo(self, ThreadState *thread) noexcept
    cdef void left(self) noexcept


cdef class Level(Guard):
    cdef readonly rank_t number             # 0 for the ground level, which is always open
    cdef readonly str name                  # the transform, as messages name it
    cdef public object payload              # whatever the transform keeps with its level (vmap: the batch size)
    cdef readonly bint open
    cdef Py_ssize_t reopened                # how many Reopened are on, in all threads


cdef class Setting(Guard):
    cdef readonly int key
    cdef readonly object value


cdef class ModeGuard(Guard):
    cdef readonly int key
    cdef readonly object mode
    cdef readonly rank_t rank


cdef class Without(Guard):
    cdef readonly ModeGuard guard


cpdef ModeGuard active_mode(int key)
cdef rank_t highest_mode(rank_t without)
cdef Level GROUND
