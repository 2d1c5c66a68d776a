"""Blockwise: consecutive elementwise calls of a program, computed together, one block of numbers after the other.

NumPy runs a ufunc over all numbers, and then the next: of arrays that do not fit into the cache each call reads and writes
memory. Here all calls of a run go over a block of numbers before the next block, so that values which only the run reads lie in
a few blocks that stay in the cache, and memory is read and written for what enters and leaves.

Each number is computed as NumPy computes it, by the function in C that is registered in the ufunc for these dtypes, with the
same steps between numbers. Nothing here casts. What the floating-point unit reports
is gathered for each call, and NumPy is told in the order of the calls: one warning or exception for each, as of whole arrays.

Blocks begin at multiples of 256 numbers, or of rows, so vectors hold the same numbers as in a loop over the whole array.

A run that takes long shares its blocks among threads, as many as the program may have. No block reads what another makes, so
the numbers are the same, whoever computes them. The threads are begun by the run and have ended when it returns: there is no
pool that a fork would lose, or that keeps another rounding mode than the caller's. They run loops of NumPy's that need no
interpreter, have no Python in them, and what their floating-point units report is gathered with the rest.

It has more than 350 lines because what C relies on is checked here, beside the loop over the blocks.
"""
cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from .arrays cimport is_exact
from .layouts cimport goes_into, is_laid_out, is_sole
from .vectorcall cimport release

cnp.import_array()
cnp.import_ufunc()

import numpy as np

cdef extern from "numpy/ufuncobject.h":     # cnp.ufunc shows its fields to be written with some NumPys only
    ctypedef struct PyUFuncObject:
        int nin, nout, ntypes
        cnp.PyUFuncGenericFunction *functions
        void **data
        const char *types
        const char *name
        PyObject *obj

cdef extern from *:
    """
    #include <fenv.h>
    #include <time.h>
    #include <numpy/arrayobject.h>
    #include <numpy/ufuncobject.h>
    /* What the floating-point unit has to report since it was asked last, in NumPy's bits. */
    static inline int dispatch_raised(void) {
        const int found = fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
        if (!found) {
            return 0;
        }
        feclearexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID);
        return (found & FE_DIVBYZERO ? NPY_FPE_DIVIDEBYZERO : 0) | (found & FE_OVERFLOW ? NPY_FPE_OVERFLOW : 0)
               | (found & FE_UNDERFLOW ? NPY_FPE_UNDERFLOW : 0) | (found & FE_INVALID ? NPY_FPE_INVALID : 0);
    }
    static inline double dispatch_nanoseconds(void) {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
    }
    /* The floating-point environment of a thread, so that another computes as it does, and reports for itself. */
    static inline void dispatch_enter(const fenv_t *like) { fesetenv(like); feclearexcept(FE_ALL_EXCEPT); }
    static inline int dispatch_is_dense(PyObject *x) {
        const int wanted = NPY_ARRAY_ALIGNED | NPY_ARRAY_C_CONTIGUOUS;
        return (PyArray_FLAGS((PyArrayObject *)x) & wanted) == wanted;
    }
    static inline char *dispatch_data(PyObject *x) { return PyArray_BYTES((PyArrayObject *)x); }
    static PyObject *dispatch_new(PyObject *dtype, int ndim, Py_ssize_t *shape) {
        Py_INCREF(dtype);
        return PyArray_Empty(ndim, (npy_intp *)shape, (PyArray_Descr *)dtype, 0);
    }
    /* mask, x, y -> x where the mask is set, y elsewhere: the bits of numbers of one width. */
    #define DISPATCH_SELECT(NAME, T)                                                                                      \\
    static void NAME(char **args, npy_intp const *n, npy_intp const *steps, void *unused) {                             \\
        const npy_intp size = sizeof(T);                                                                                  \\
        (void)unused;                                                                                                     \\
        if (steps[0] == 1 && steps[1] == size && steps[2] == size && steps[3] == size) {                                  \\
            const npy_bool *mask = (const npy_bool *)args[0];                                                             \\
            const T *x = (const T *)args[1], *y = (const T *)args[2];                                                     \\
            T *out = (T *)args[3];                                                                                        \\
            for (npy_intp i = 0; i < *n; i++) {                                                                           \\
                out[i] = mask[i] ? x[i] : y[i];                                                                           \\
            }                                                                                                             \\
            return;                                                                                                       \\
        }                                                                                                                 \\
        char *mask = args[0], *x = args[1], *y = args[2], *out = args[3];                                                 \\
        for (npy_intp i = 0; i < *n; i++) {                                                                               \\
            *(T *)out = *(npy_bool *)mask ? *(T *)x : *(T *)y;                                                            \\
            mask += steps[0], x += steps[1], y += steps[2], out += steps[3];                                              \\
        }                                                                                                                 \\
    }
    typedef struct { npy_uint64 parts[2]; } dispatch_two;
    typedef struct { npy_uint64 parts[4]; } dispatch_four;
    DISPATCH_SELECT(dispatch_select_1, npy_uint8)
    DISPATCH_SELECT(dispatch_select_2, npy_uint16)
    DISPATCH_SELECT(dispatch_select_4, npy_uint32)
    DISPATCH_SELECT(dispatch_select_8, npy_uint64)
    DISPATCH_SELECT(dispatch_select_16, dispatch_two)
    DISPATCH_SELECT(dispatch_select_32, dispatch_four)
    """
    int new_reports "dispatch_raised"() noexcept nogil
    double nanoseconds "dispatch_nanoseconds"() noexcept nogil
    ctypedef struct fenv_t:
        pass
    # what cpython.pythread has is declared there to need the interpreter's lock, which it does not
    ctypedef void *PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock() noexcept nogil
    void PyThread_free_lock(PyThread_type_lock) noexcept nogil
    int PyThread_acquire_lock(PyThread_type_lock, int) noexcept nogil
    void PyThread_release_lock(PyThread_type_lock) noexcept nogil
    unsigned long PyThread_start_new_thread(void (*)(void *) noexcept nogil, void *) noexcept nogil
    int WAIT_LOCK
    int fegetenv(fenv_t *) noexcept nogil
    void enter_environment "dispatch_enter"(const fenv_t *) noexcept nogil
    bint is_dense "dispatch_is_dense"(PyObject *) noexcept
    char *data_of "dispatch_data"(PyObject *) noexcept
    PyObject *new_array "dispatch_new"(PyObject *, int, Py_ssize_t *) except NULL
    int give_reports "PyUFunc_GiveFloatingpointErrors"(const char *, int) except -1
    void select_1 "dispatch_select_1"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    void select_2 "dispatch_select_2"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    void select_4 "dispatch_select_4"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    void select_8 "dispatch_select_8"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    void select_16 "dispatch_select_16"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    void select_32 "dispatch_select_32"(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil

cdef enum:
    GIVEN = 0                               # kinds of places: an array from outside of the run
    MADE = 1                                # an array that is read after it
    KEPT = 2                                # a block that is written in the run and read in it alone
    KNOWN = 3                               # a number
    UNIT = 256                              # a block has a multiple of so many numbers
    LARGEST = 4096
    CACHE = 1 << 15                         # bytes of all blocks together: what a first-level cache holds
    GROWTH = 8                              # by which blocks grow where memory is not what takes the time
    SLOW = 1                                # nanoseconds for a number of one call: five times what arithmetic takes
    UNLOCKED = 500                          # from so many numbers on NumPy lets other threads run
    SELECTS = 18                            # dtypes of `selected`, at most
    MOST_HELPERS = 15                       # threads of one run beside the caller's
    SHARED = 200000                         # nanoseconds of work that are worth another thread, which takes 20000 to begin

cdef struct Job:
    # What the threads of one run have in common.
    PyThread_type_lock lock                 # held while `next_block` is read
    Py_ssize_t next_block, blocks, rows, columns
    void *run                               # the Blockwise
    char **bases
    const fenv_t *environment

cdef struct Helper:
    # A thread beside the caller's.
    PyThread_type_lock ended                # held until it has ended
    Job *job
    char **now
    unsigned char *raised


cdef int helping[1]                         # helpers of all runs together: read and written with the interpreter's lock
helping[0] = 0

cdef object UFUNC = np.ufunc
cdef int NO_PLACE = -1
cdef tuple NAMES = ("given", "made", "kept", "known")

cdef cnp.PyUFuncGenericFunction select_loops[SELECTS]
cdef void *select_data[SELECTS]
cdef char select_types[MOST_PLACES * SELECTS]


cdef object ufunc_of_selection():
    """`np.where` of three arguments as a ufunc, which NumPy has not got."""
    cdef int i = 0
    cdef dict loops = {1: <size_t>&select_1, 2: <size_t>&select_2, 4: <size_t>&select_4, 8: <size_t>&select_8,
                       16: <size_t>&select_16, 32: <size_t>&select_32}
    for char in "?bBhHiIlLqQefdgFDG":
        dtype = np.dtype(char)
        if dtype.itemsize not in loops:     # long doubles of 12 bytes
            continue
        select_loops[i] = <cnp.PyUFuncGenericFunction><size_t>loops[dtype.itemsize]
        select_data[i] = NULL
        select_types[MOST_PLACES * i] = 0
        for place in range(1, MOST_PLACES):
            select_types[MOST_PLACES * i + place] = dtype.num
        i += 1
    return cnp.PyUFunc_FromFuncAndData(select_loops, select_data, select_types, i, 3, 1, cnp.PyUFunc_None, b"selected",
                                       b"selected(mask, x, y): x where the mask is set, y elsewhere.", 0)


selected = ufunc_of_selection()

cdef Py_ssize_t size_of(shape) except -1:
    cdef Py_ssize_t found = 1
    for n in shape:
        found *= n
    return found


@cython.binding(False)
@cython.final
cdef class Blockwise:
    """A run: what each call reads and writes, and in which blocks.

    Parameters
    ----------
    size, row : int
        How many numbers a result has; how many are in a row, or 0 where no operand is a row.
    places : list of tuple
        `(kind, number, layout, along, own, taken)`. What is "given" or "made" has a slot of that number, "kept" a block;
        of what is "known" the layout is an array. `along` is 1 for an operand of all numbers, or of `own` ones that are
        repeated for each row, and 0 for one number. `taken` has the places of arrays that may take what is made.
    steps : list of tuple
        `(ufunc, number of its loop, places)`, the place of the result last.
    layouts : dict
        By slot, of all that is read and made.
    """

    def __cinit__(self, Py_ssize_t size, Py_ssize_t row, list places not None, list steps not None, dict layouts not None):
        cdef Py_ssize_t s, width = 1
        cdef dict numbers = {}              # by layout; there are few
        if size < 1 or row < 0 or (row and size % row):
            raise ValueError(f"{size} numbers are no rows of {row}.")
        self.held, self.ufuncs, self.count, self.layouts, self.size = [], set(), len(steps), layouts, size
        self.least_share = SHARED
        self.steps = <Step *>PyMem_Malloc((len(steps) + 1) * sizeof(Step))
        self.places = <Place *>PyMem_Malloc((len(places) + 1) * sizeof(Place))
        if self.steps == NULL or self.places == NULL:
            raise MemoryError
        for kind, number, layout, along, own, taken in places:
            width = max(width, self.take_place(kind, number, layout, along, own, taken, row, numbers))
            self.places_count += 1
        for s in range(self.count):
            ufunc, number, operands = steps[s]
            self.take_step(&self.steps[s], ufunc, number, operands, row)
        self.divide(row, width)

    cdef Py_ssize_t take_place(self, str kind, int number, layout, bint along, Py_ssize_t own, tuple taken, Py_ssize_t row,
                               dict known) except -1:
        """Read a place into C; return the bytes of one of its numbers."""
        cdef Place *place = &self.places[self.places_count]
        place.kind, place.slot, place.known, place.taken = NAMES.index(kind), number, NULL, &NO_PLACE
        place.layout.shape, place.layout.ndim = NULL, 0
        if place.kind == KNOWN:
            if not is_exact(<PyObject *>layout) or layout.size != 1 or along:
                raise ValueError(f"a number is an array of one item, not {layout!r}.")
            dtype, place.known = layout.dtype, data_of(<PyObject *>layout)
            self.held += [layout, dtype]
        else:
            dtype, shape, strides = layout
            if size_of(shape) != (own or self.size if along else 1) or own not in (0, row) or number < 0:
                raise ValueError(f"{kind} {number} of shape {shape} does not go into {self.size} numbers, in rows of {row}.")
            numbers = known.get(layout)
            if numbers is None:
                numbers = known[layout] = np.array((*shape, *strides), np.intp)
                self.held += [dtype, numbers]
            if taken and any([not 0 <= i < self.places_count or self.places[<int>i].kind != GIVEN for i in taken]):
                raise ValueError(f"what is made takes one of {taken}, which are not given before.")
            place.layout.ndim, place.layout.shape = <int>len(shape), <Py_ssize_t *>data_of(<PyObject *>numbers)
            if taken:
                others = np.array((*taken, -1), np.intc)
                self.held.append(others)
                place.taken = <int *>data_of(<PyObject *>others)
        if place.kind == KEPT:
            self.kept_count = max(self.kept_count, number + 1)
        place.layout.dtype = <PyObject *>dtype
        place.inner = dtype.itemsize if along else 0
        place.outer = 0 if own else row * place.inner
        return dtype.itemsize

    cdef int take_step(self, Step *step, ufunc, int loop, tuple operands, Py_ssize_t row) except -1:
        """Read a call into C: the function is taken out of the ufunc."""
        cdef PyUFuncObject *of = <PyUFuncObject *><PyObject *>ufunc
        cdef Place *place = self.places
        cdef int i
        step.count, step.flat = <int>len(operands), True
        if type(ufunc) is not UFUNC or step.count > MOST_PLACES or step.count != of.nin + 1 or of.nout != 1:
            raise ValueError(f"{ufunc!r} is no ufunc of {len(operands) - 1} arguments.")
        if not 0 <= loop < of.ntypes or of.functions[loop] == NULL:
            raise ValueError(f"{ufunc!r} has no loop {loop}.")
        for i in range(step.count):
            if not 0 <= operands[i] < self.places_count:
                raise ValueError(f"there is no place {operands[i]} of {self.places_count}.")
            place = &self.places[<int>operands[i]]
            if (<object>place.layout.dtype).num != of.types[loop * step.count + i]:
                raise ValueError(f"{ufunc!r} has another dtype than {<object>place.layout.dtype} in loop {loop}, for {i}.")
            step.places[i], step.steps[i] = operands[i], place.inner
            step.flat = step.flat and place.outer == row * place.inner
        if place.kind not in (MADE, KEPT):
            raise ValueError(f"{ufunc!r} writes to what is {NAMES[place.kind]}.")
        self.ufuncs.add(ufunc)
        step.function, step.data, step.name = <Function><void *>of.functions[loop], of.data[loop], of.name
        return 0

    cdef int divide(self, Py_ssize_t row, Py_ssize_t width) except -1:
        """Choose the blocks: as many numbers as fit into the cache; whole rows, or parts of one."""
        cdef Py_ssize_t most = CACHE // (width * max(1, self.kept_count)) // UNIT * UNIT
        most = min(max(most, UNIT), LARGEST)
        self.inner = row or self.size
        self.columns = min(most, self.inner)
        self.rows = max(1, most // self.inner) if row else 1
        self.grown_rows, self.grown_columns = self.rows, self.columns
        if self.columns < self.inner:
            self.grown_columns = min(GROWTH * self.columns, self.inner)
        elif self.rows < self.size // self.inner:
            self.grown_rows = min(GROWTH * self.rows, self.size // self.inner)
        self.block_bytes = (self.grown_rows * self.grown_columns * width + 63) // 64 * 64
        return 0

    def __dealloc__(self):
        PyMem_Free(self.steps)
        PyMem_Free(self.places)

    def stand_in(self, int slot):
        """An array like the one that a slot would have had; its numbers are none."""
        dtype, shape, _ = self.layouts[slot]
        return np.empty(shape, dtype)

    cdef int run(self, PyObject **slots, int workers, Py_ssize_t *at) except -1:
        """Compute all, with so many threads at most; 0 if an array is not what was planned, and nothing is done.

        `at` has the call that raised.
        """
        cdef Py_ssize_t i, s, pointers = self.places_count * sizeof(void *)
        cdef int helped, helpers = 0
        cdef char *memory = <char *>PyMem_Malloc(3 * pointers + self.count + 64 + self.kept_count * self.block_bytes)
        cdef char **bases = <char **>memory
        cdef char **now = <char **>(memory + pointers)
        cdef PyObject **made = <PyObject **>(memory + 2 * pointers)
        cdef unsigned char *raised = <unsigned char *>(memory + 3 * pointers)
        cdef char *scratch = <char *>((<size_t>raised + self.count + 63) & ~<size_t>63)
        cdef list scalars = []
        if memory == NULL:
            raise MemoryError
        memset(made, 0, pointers + self.count)
        try:
            if not self.look(slots, bases, scalars):
                return 0
            self.make(slots, bases, made)
            new_reports()                   # of what was computed before
            if self.size > UNLOCKED:
                if workers > 1 and self.size > 2 * LARGEST:
                    helpers = max(0, min(workers - 1 - helping[0], MOST_HELPERS))
                    helping[0] += helpers
                with nogil:
                    helped = self.compute(bases, now, scratch, raised, helpers)
                self.helped += helped
            else:
                self.compute(bases, now, scratch, raised, 0)
            for s in range(self.count):
                if raised[s]:
                    at[0] = s
                    give_reports(self.steps[s].name, raised[s])
            for i in range(self.places_count):
                if made[i] != NULL:
                    slots[self.places[i].slot], made[i] = made[i], NULL
            return 1
        finally:
            helping[0] -= helpers
            for i in range(self.places_count):
                if made[i] != NULL:
                    release(made[i])
            PyMem_Free(memory)

    cdef bint look(self, PyObject **slots, char **bases, list scalars) except -1:
        """Find where the arrays from outside lie; False where one is not laid out as planned."""
        cdef Py_ssize_t i
        cdef Place *place
        cdef PyObject *x
        for i in range(self.places_count):
            place = &self.places[i]
            bases[i] = place.known
            if place.kind != GIVEN:
                continue
            x = slots[place.slot]
            if x == NULL:
                return False
            if not is_exact(x):             # a number that is an input, or one that a reduction gave
                if place.layout.ndim > 0 or not goes_into(x, place.layout.dtype, 0, NULL):
                    return False
                number = np.asarray(<object>x, <object>place.layout.dtype)
                scalars.append(number)
                x = <PyObject *>number
            elif not is_dense(x) or not is_laid_out(x, place.layout.dtype, place.layout.ndim, place.layout.shape,
                                                    place.layout.shape + place.layout.ndim):
                return False
            bases[i] = data_of(x)
        return True

    cdef int make(self, PyObject **slots, char **bases, PyObject **made) except -1:
        """Find or make the arrays for what is read after the run: where one from outside dies here and nobody sees it, that."""
        cdef Py_ssize_t i
        cdef int *taken
        cdef Place *place
        cdef PyObject **slot
        for i in range(self.places_count):
            place = &self.places[i]
            if place.kind != MADE:
                continue
            taken = place.taken
            while taken[0] >= 0:
                slot = &slots[self.places[taken[0]].slot]
                if slot[0] != NULL and is_exact(slot[0]) and is_sole(slot[0]) and is_laid_out(
                        slot[0], place.layout.dtype, place.layout.ndim, place.layout.shape,
                        place.layout.shape + place.layout.ndim):
                    made[i], slot[0] = slot[0], NULL
                    break
                taken += 1
            else:
                made[i] = new_array(place.layout.dtype, place.layout.ndim, place.layout.shape)
            bases[i] = data_of(made[i])
        return 0

    cdef int compute(self, char **bases, char **now, char *scratch, unsigned char *raised, int helpers) noexcept nogil:
        """Go over the blocks, and in each over the calls; return how many threads helped, of `helpers` at most.

        The first block is timed, which tells how long the rest will take, and how many threads are to share it. A sine takes
        ten times what memory takes, and its branches are foreseen from one number to the next: where calls are slow, and one
        thread computes all, larger blocks save up to a tenth.
        """
        cdef Py_ssize_t count = self.size // self.inner
        cdef Py_ssize_t rows = min(self.rows, count), columns = min(self.columns, self.inner)
        cdef double start = nanoseconds(), took
        cdef fenv_t environment
        cdef Job job
        job.rows, job.columns, job.next_block, job.run, job.bases = rows, columns, 1, <void *>self, bases
        self.place_kept(now, scratch)
        self.block(bases, now, raised, 0, 0, rows, columns)
        took = (nanoseconds() - start) / <double>(rows * columns)
        while helpers > 0 and (helpers + 1) * self.least_share > took * <double>self.size:
            helpers -= 1
        job.lock = PyThread_allocate_lock() if helpers > 0 else NULL
        if job.lock == NULL and took > SLOW * self.count and self.grown_rows * self.grown_columns > rows * columns:
            job.rows, job.columns = min(self.grown_rows, count), min(self.grown_columns, self.inner)
            if job.columns > columns:       # the rest of the first large block
                self.block(bases, now, raised, 0, columns, 1, job.columns - columns)
            else:
                self.block(bases, now, raised, rows, 0, job.rows - rows, self.inner)
        job.blocks = ((count + job.rows - 1) // job.rows) * ((self.inner + job.columns - 1) // job.columns)
        if job.lock == NULL:
            while self.next_block(&job, bases, now, raised):
                pass
            return 0
        fegetenv(&environment)
        job.environment = &environment
        helpers = self.share(&job, now, raised, helpers)
        PyThread_free_lock(job.lock)
        return helpers

    cdef int share(self, void *given, char **now, unsigned char *raised, int helpers) noexcept nogil:
        """Compute what is left of a job with other threads; return how many there were, when they have ended."""
        cdef Job *job = <Job *>given
        cdef Helper others[MOST_HELPERS]
        cdef Py_ssize_t pointers = self.places_count * sizeof(void *)
        cdef Py_ssize_t each = pointers + self.count + 64 + self.kept_count * self.block_bytes
        cdef char *memory
        cdef int i, s, begun = 0
        for i in range(helpers):
            memory = <char *>malloc(each)
            if memory == NULL:
                break
            memset(memory, 0, pointers + self.count)
            others[i].job, others[i].now, others[i].raised = job, <char **>memory, <unsigned char *>memory + pointers
            self.place_kept(others[i].now, <char *>((<size_t>others[i].raised + self.count + 63) & ~<size_t>63))
            others[i].ended = PyThread_allocate_lock()
            if others[i].ended == NULL:
                free(memory)
                break
            PyThread_acquire_lock(others[i].ended, WAIT_LOCK)
            if PyThread_start_new_thread(help_with, &others[i]) == <unsigned long>-1:
                PyThread_release_lock(others[i].ended)
                PyThread_free_lock(others[i].ended)
                free(memory)
                break
            begun += 1
        while self.next_block(job, job.bases, now, raised):
            pass
        for i in range(begun):
            PyThread_acquire_lock(others[i].ended, WAIT_LOCK)
            PyThread_release_lock(others[i].ended)
            PyThread_free_lock(others[i].ended)
            for s in range(self.count):
                raised[s] |= others[i].raised[s]
            free(others[i].now)
        return begun

    cdef bint next_block(self, void *given, char **bases, char **now, unsigned char *raised) noexcept nogil:
        """Compute the next block that nobody has; False where there is none."""
        cdef Job *job = <Job *>given
        cdef Py_ssize_t b, across = (self.inner + job.columns - 1) // job.columns, row, column
        if job.lock != NULL:
            PyThread_acquire_lock(job.lock, WAIT_LOCK)
        b = job.next_block
        job.next_block = b + 1
        if job.lock != NULL:
            PyThread_release_lock(job.lock)
        if b >= job.blocks:
            return False
        row, column = b // across * job.rows, b % across * job.columns
        self.block(bases, now, raised, row, column, min(job.rows, self.size // self.inner - row),
                   min(job.columns, self.inner - column))
        return True

    cdef void place_kept(self, char **now, char *scratch) noexcept nogil:
        """Say where values lie that are in no array from outside: one number, or a block of the thread's own."""
        cdef Py_ssize_t i
        for i in range(self.places_count):
            now[i] = scratch + self.places[i].slot * self.block_bytes if self.places[i].kind == KEPT else NULL

    cdef void block(self, char **bases, char **now, unsigned char *raised, Py_ssize_t row, Py_ssize_t column, Py_ssize_t rows,
                    Py_ssize_t columns) noexcept nogil:
        """Compute all calls for one block."""
        cdef Py_ssize_t i, s
        cdef Place *place
        for i in range(self.places_count):
            place = &self.places[i]
            if place.kind != KEPT:
                now[i] = bases[i] + row * place.outer + column * place.inner
        for s in range(self.count):
            self.step(&self.steps[s], now, rows, columns)
            raised[s] |= new_reports()

    cdef void step(self, Step *step, char **now, Py_ssize_t rows, Py_ssize_t columns) noexcept nogil:
        """Compute one call for one block: in one go, or row by row where an operand is repeated for each."""
        cdef char *args[MOST_PLACES]
        cdef cnp.npy_intp many = columns
        cdef Py_ssize_t _row
        cdef int i
        for i in range(step.count):
            args[i] = now[step.places[i]]
        if step.flat:
            many = rows * columns
            step.function(args, &many, step.steps, step.data)
            return
        for _row in range(rows):
            step.function(args, &many, step.steps, step.data)
            for i in range(step.count):
                args[i] += self.places[step.places[i]].outer


cdef void help_with(void *given) noexcept nogil:
    """What a helper's thread runs."""
    cdef Helper *helper = <Helper *>given
    cdef Job *job = helper.job
    enter_environment(job.environment)
    while (<Blockwise>job.run).next_block(job, job.bases, helper.now, helper.raised):
        pass
    PyThread_release_lock(helper.ended)
