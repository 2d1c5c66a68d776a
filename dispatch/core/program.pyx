"""Program: a flat list of calls and slots, run again and again.

Every value has a slot. A call gets its arguments from slots and from what was known when the program was made, and what no
later call reads is let go of right after it. The calls are calls of operators, so that wrappers, modes and devices go
through a program as they go through the function that it was made of.

A call may have a plain form: a function of NumPy's and its arguments, which gives of plain arrays what the operator's
kernel gives, without the checks of a call and without the kernel's own look at its arguments. It is called where all
arguments from slots are arrays, or NumPy's numbers, of the planned dtypes, the operator still has that kernel, and no mode
is on. What it raises the operator is asked to say.

Where the plain form is a ufunc that goes element by element, and an array that dies there has the shape, strides and dtype of
the result, that array takes the result. It must be sure that nobody sees it: the slot alone holds it, it owns its memory,
and no view or weak reference is left. A replayed chain needs two arrays at most, and writes to memory that is in the cache
already.

It has more than 350 lines because what a program is made of is checked here, beside the loop in C that relies on it.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals, PyErr_Clear, PyErr_ExceptionMatches
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from .arrays cimport is_exact
from .blockwise cimport Blockwise
from .definition cimport Definition
from .flatten cimport items_of, mapped, walk
from .layouts cimport Layout, goes_into, is_laid_out, is_sole
from .overload cimport OpOverload
from .raising cimport note
from .state cimport ThreadState, thread_state
from .vectorcall cimport ARGUMENTS_OFFSET, hold, release, vectorcall

cnp.import_array()

from operator import getitem

import numpy as np

from .runs import Runs

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    /* An item of a tuple, or NULL where it is none or has none of that number. */
    static inline PyObject *dispatch_item(PyObject *x, PyObject *number) {
        if (!PyTuple_Check(x)) {
            return NULL;
        }
        Py_ssize_t i = PyLong_AsSsize_t(number);
        return i >= 0 && i < PyTuple_GET_SIZE(x) ? PyTuple_GET_ITEM(x, i) : NULL;
    }
    /* An array of a planned dtype, or one of NumPy's numbers of it, which are in the machine's byte order. */
    static inline int dispatch_is_of_dtype(PyObject *x, PyObject *dtype) {
        PyArray_Descr *planned = (PyArray_Descr *)dtype;
        if (PyArray_CheckExact(x)) {
            return PyArray_DESCR((PyArrayObject *)x) == planned;
        }
        return planned != NULL && Py_TYPE(x) == planned->typeobj && planned->type_num <= NPY_CLONGDOUBLE
            && PyArray_ISNBO(planned->byteorder);
    }
    static inline int dispatch_is_number(PyObject *x) {
        return PyArray_IsScalar(x, Number) || PyArray_IsScalar(x, Bool);
    }
    """
    PyObject *tuple_item "dispatch_item"(PyObject *, object) noexcept
    PyObject *subscript "PyObject_GetItem"(PyObject *, PyObject *) noexcept  # 10 ns less than operator.getitem
    bint is_of_dtype "dispatch_is_of_dtype"(PyObject *, PyObject *) noexcept
    bint is_number "dispatch_is_number"(PyObject *) noexcept

cdef object UFUNC = np.ufunc
cdef tuple OUT = ("out",)  # by its name: NumPy deprecates a third array by position for maximum and minimum

cdef enum:
    ON_STACK = 128                          # slots without an allocation
    MOST_ARGUMENTS = 24                     # the same for the arguments of a call; its result's place comes on top
    STATIC = -1                             # where an argument comes from that is no slot
    BUILT = -2
    FLAT = -3                               # a list or a tuple that is built of slots and of what is known
    BLOCK = 1 << 15                         # bytes of memory that are asked for at once


def itself(x, /):
    """Return the value: the plain form of an operator that gives its argument back."""
    return x


@cython.final
cdef class Slot:
    """Stands for a value in the arguments of a program's calls and in its outputs."""

    def __cinit__(self, int number):
        if number < 0:
            raise ValueError(f"a slot has a number from 0 up, not {number}.")
        self.number = number


cdef int is_filled_or_mutable(object x, tuple items, void *context) except -1:
    """Whether a run needs a container of its own: with its values, or because a kernel could write to a list or a dict."""
    return type(x) is Slot or (items is not None and not isinstance(x, tuple))


cdef int is_slot(object x, tuple items, void *context) except -1:
    return type(x) is Slot


cdef bint is_flat(object x) except -1:
    """Whether a value is a list or a tuple with a slot in it, and with no container."""
    cdef bint found = False
    if type(x) is not list and type(x) is not tuple:
        return False
    for item in x:
        if type(item) is Slot:
            found = True
        elif items_of(item) is not None:
            return False
    return found


cdef int check_filled(object x, tuple items, void *filled) except -1:
    if type(x) is Slot and (<Slot>x).number not in <set>filled:
        raise ValueError(f"slot {(<Slot>x).number} is read while it is empty.")
    return 0


cdef object value_of(object x, void *slots):
    return <object>(<PyObject **>slots)[(<Slot>x).number] if type(x) is Slot else x


cdef object built(object x, PyObject **slots):
    """A container with values in place of its slots."""
    return mapped(x, value_of, slots)


cdef list listed(object x, PyObject **slots):
    """The items of a flat container, with values in place of its slots."""
    return [<object>slots[(<Slot>item).number] if type(item) is Slot else item for item in x]


cdef bint is_elementwise(tuple plain, layouts, result) except -1:
    """Whether a plain form is a ufunc that goes element by element, whose arguments' and result's layouts are known."""
    if plain is None or result is None:
        return False
    function, args, names = plain[1:4]
    elementwise = type(function) is UFUNC and function.nout == 1 and function.nin == len(args) and function.signature is None
    if not elementwise or names or len(layouts) != len(args):
        return False
    return all([(type(x) is Slot) == (layout is not None) and not is_flat(x) for x, layout in zip(args, layouts)])


cdef int fill_slot(OpOverload op) except -1:
    """Find the operator's kernel for plain arrays now, so that the first run has the plain form."""
    cdef Definition definition = op.definition
    if definition.table.slots[0] == NULL:
        try:
            definition.table.resolve(op, 0)
        except Exception:                   # whatever it is, it is for the call to raise
            pass
    return 0


@cython.final
cdef class Program:
    """A list of operator calls, made once and run often; it keeps no value from one run to the next.

    Parameters
    ----------
    slots : int
        How many values there are. The inputs have the first ones.
    inputs : tuple of (dtype, shape, strides) or None
        What is planned for each input. Where one differs, the program runs as well, and no array takes a result.
    constants : list of (int, object, bool)
        Slot and value of each constant, and whether a run gets a copy of it.
    calls : sequence of tuple
        Each is looked up once, in order, so that they may be made when they are asked for.
        `(op, args, out, layouts, result, written, dying, plain, promised)`: an operator as layers call it, or None for an
        item; its arguments, slots among them, or the slot and the number of the item; the slot of the result, or -1; of a
        plain form that is a ufunc, the layouts that are planned for its arguments and for the result, and which of the
        arguments may take the result; which slots die; the plain form, `(kernel, function, args, names, dtypes)`, or None;
        what a fake rule has promised of the result, as `keeps` takes it.
    outputs : object
        A container with slots.
    describe : callable
        Gives the note on an exception, of the number of the call that raised.
    broken : callable, optional
        Gives the exception of a call whose result is not what is promised, of its number and the result.
    """

    def __cinit__(self, Py_ssize_t slots, tuple inputs not None, list constants not None, calls not None, outputs,
                  describe not None, broken=None):
        cdef Py_ssize_t i
        cdef set filled = set(range(len(inputs)))       # the slots that hold a value while the program runs, call by call
        self.kept, self.workers = [], 1
        self.slots, self.given, self.outputs, self.describe, self.broken = slots, len(inputs), outputs, describe, broken
        if self.given > slots:
            raise ValueError(f"{self.given} inputs have no place in {slots} slots.")
        self.constants = [(self.fill(slot, filled), value, bool(copied)) for slot, value, copied in constants]
        self.inputs = self.layouts(inputs)
        self.calls = <Call *>self.memory(len(calls) * sizeof(Call))
        runs = Runs()
        for i in range(len(calls)):
            op, args, out, layouts, result, written, dying, plain, promised = calls[i]
            runs.take(self.take(&self.calls[i], op, args, out, layouts, result, written, dying, plain, filled))
            walk(promised, check_filled, <void *>filled)
            self.kept.append(promised)
            self.calls[i].promised = <PyObject *>promised if promised is not None else NULL
        runs.end()
        self.runs = runs.found
        for first, run in self.runs:
            self.calls[<Py_ssize_t>first].run = <PyObject *>run
        walk(outputs, check_filled, <void *>filled)
        self.count = len(calls)

    cdef int fill(self, number, set filled) except -1:
        """Count a slot among those that hold a value."""
        if not 0 <= number < self.slots or number in filled:
            raise ValueError(f"slot {number} of {self.slots} is filled already, or there is none of that number.")
        filled.add(number)
        return number

    cdef void *memory(self, size_t size) except NULL:
        """Memory that lives as long as the program, aligned for pointers."""
        cdef char *made
        size = (size + 8) & ~<size_t>7
        if size > self.left:
            block = bytearray(max(size, <size_t>BLOCK))
            self.kept.append(block)
            self.free, self.left = <char *>block, max(size, <size_t>BLOCK)
        made = self.free
        self.free += size
        self.left -= size
        return <void *>made

    cdef int *numbers(self, values) except NULL:
        cdef Py_ssize_t i
        cdef int *made = <int *>self.memory((len(values) + 1) * sizeof(int))
        for i in range(len(values)):
            made[i] = values[i]
        made[len(values)] = -1
        return made

    cdef Layout layout(self, planned) except *:
        cdef Layout made
        cdef Py_ssize_t i
        made.dtype, made.shape, made.ndim = NULL, NULL, 0
        if planned is not None:
            dtype, shape, strides = planned
            if len(shape) != len(strides):  # of an array that lies
                raise ValueError(f"an input of shape {shape} has as many strides, and not {strides}.")
            self.kept.append(dtype)
            made.dtype, made.ndim = <PyObject *>dtype, <int>len(shape)
            made.shape = <Py_ssize_t *>self.memory(2 * len(shape) * sizeof(Py_ssize_t))
            for i in range(len(shape)):
                made.shape[i], made.shape[len(shape) + i] = shape[i], strides[i]
        return made

    cdef Layout *layouts(self, planned) except NULL:
        cdef Py_ssize_t i
        cdef Layout *made = <Layout *>self.memory(len(planned) * sizeof(Layout))
        for i in range(len(planned)):
            made[i] = self.layout(planned[i])
        return made

    cdef tuple take(self, Call *call, OpOverload op, tuple args, int out, layouts, result, written, dying, tuple plain,
                    set filled):
        """Read one call into C; return it for `Runs`."""
        cdef bint elementwise = is_elementwise(plain, layouts, result)
        if op is None and not (len(args) == 2 and type(args[0]) is Slot):
            raise ValueError(f"an item is taken of a slot, by a number: {args!r}.")
        if op is not None and written and not (elementwise and all([0 <= i < len(plain[2]) for i in written])
                                               and all([type(plain[2][i]) is Slot for i in written])):
            raise ValueError(f"{op.name} may write to {written} only where it is a ufunc, and where the layouts are known.")
        walk(args, check_filled, <void *>filled)
        self.kept.append(args)
        call.op, call.run = NULL, NULL
        if op is not None:
            self.kept.append(op)
            call.op = <PyObject *>op
        call.plain.kernel, call.plain.subscripts = NULL, False
        if plain is not None:
            self.take_plain(&call.plain, plain, filled)
            fill_slot(op)
        call.dying, call.written = self.numbers(dying), self.numbers(written)
        for number in dying:
            if number not in filled:
                raise ValueError(f"slot {number} is empty, and cannot be emptied.")
            filled.remove(number)
        call.out = -1 if out < 0 else self.fill(out, filled)
        call.result = self.layout(result)
        call.layouts = self.layouts(layouts) if written else NULL
        self.take_arguments(&call.own, args, False)
        return (plain[1], plain[2], layouts, result, dying, out) if elementwise and op is not None else None

    cdef int take_arguments(self, Arguments *made, tuple args, bint shared) except -1:
        """Read arguments; a container without slots is one for all runs where it is `shared`."""
        cdef Py_ssize_t i
        made.count = len(args)
        made.values = <PyObject **>self.memory(len(args) * sizeof(PyObject *))
        made.sources = <int *>self.memory(len(args) * sizeof(int))
        for i in range(len(args)):
            x = args[i]
            made.values[i] = <PyObject *>x
            if type(x) is Slot:
                made.sources[i] = (<Slot>x).number
            elif is_flat(x):
                made.sources[i] = FLAT
            else:
                made.sources[i] = BUILT if walk(x, is_slot if shared else is_filled_or_mutable, NULL) else STATIC
        return 0

    cdef int take_plain(self, Plain *made, tuple plain, set filled) except -1:
        """Read the plain form of a call."""
        cdef Py_ssize_t i
        cdef tuple args, dtypes, names
        kernel, function, args, names, dtypes = plain
        if len(dtypes) != len(args) or len(names) > len(args):
            raise ValueError(f"{function!r} has {len(args)} arguments, {len(dtypes)} dtypes and {len(names)} names.")
        walk(args, check_filled, <void *>filled)
        self.kept.append(plain)
        self.take_arguments(&made.arguments, args, True)
        made.function, made.names = <PyObject *>function, <PyObject *>names if names else NULL
        made.dtypes = <PyObject **>self.memory(len(args) * sizeof(PyObject *))
        made.kernel, made.builds, made.of_numbers = <PyObject *>kernel, False, type(kernel) is UFUNC is not type(function)
        made.positions = (len(args) - len(names)) | ARGUMENTS_OFFSET
        made.subscripts = (function is getitem and len(args) == 2 and made.arguments.sources[0] >= 0
                           and made.arguments.sources[1] == STATIC)
        for i in range(len(args)):
            made.dtypes[i] = <PyObject *>dtypes[i]
            if made.arguments.sources[i] == BUILT:
                made.kernel = NULL
            made.builds = made.builds or made.arguments.sources[i] == FLAT
        return 0

    def __call__(self, *values):
        """Run it.

        Parameters
        ----------
        *values
            The inputs, one after the other.

        Returns
        -------
        object
            The outputs, in their containers.
        """
        cdef PyObject *on_stack[ON_STACK]
        cdef PyObject **slots = on_stack
        cdef Py_ssize_t i, at = -1
        if len(values) != self.given:
            raise TypeError(f"a program of {self.given} inputs was given {len(values)}.")
        if self.slots > ON_STACK:
            slots = <PyObject **>PyMem_Malloc(self.slots * sizeof(PyObject *))
            if slots == NULL:
                raise MemoryError
        for i in range(self.slots):
            slots[i] = NULL
        try:
            for i in range(self.given):
                slots[i] = <PyObject *>values[i]
                hold(slots[i])
            for slot, value, copied in self.constants:
                if copied:
                    value = value.copy("K") if is_exact(<PyObject *>value) else value.copy()
                slots[<int>slot] = <PyObject *>value
                hold(slots[<int>slot])
            self.run(slots, self.as_planned(values), &at)
            return built(self.outputs, slots)
        except BaseException as error:
            if at >= 0:
                error.add_note(self.describe(at))
            raise
        finally:
            for i in range(self.slots):
                if slots[i] != NULL:
                    release(slots[i])
            if self.slots > ON_STACK:
                PyMem_Free(slots)

    cdef bint as_planned(self, tuple values) noexcept:
        """Whether all inputs are laid out as those were of which the layouts of the results are known."""
        cdef Py_ssize_t i
        cdef PyObject *x
        cdef Layout *planned
        for i in range(self.given):
            x, planned = <PyObject *>values[i], &self.inputs[i]
            if planned.dtype == NULL:
                return False
            if is_exact(x):
                if not is_laid_out(x, planned.dtype, planned.ndim, planned.shape, planned.shape + planned.ndim):
                    return False
            elif planned.ndim > 0 or not goes_into(x, planned.dtype, 0, NULL):
                return False
        return True

    cdef int run(self, PyObject **slots, bint planned, Py_ssize_t *at) except -1:
        """Make the calls, one after the other; `at` has the number of the one that is made."""
        cdef Py_ssize_t i = 0
        cdef Call *call
        cdef PyObject *result
        cdef bint plainly
        cdef ThreadState *thread = thread_state()
        while i < self.count:
            call = &self.calls[i]
            at[0] = i
            if call.run != NULL and planned and thread.rank == 0 and self.run_blockwise(i, slots, at):
                at[0] = -1
                i += (<Blockwise>call.run).count
                PyErr_CheckSignals()
                continue
            if call.op == NULL:
                result = item_of(call, slots)
            else:                           # a mode may have been turned on by a call, and wants to see the next
                plainly = (planned or call.plain.of_numbers) and thread.rank == 0
                result = subscripted(call, slots) if plainly and call.plain.subscripts else NULL
                if result == NULL:
                    result = one_call(call, slots, plainly)
            if call.promised != NULL and not keeps(<object>result, <object>call.promised, slots):
                given = <object>result
                release(result)
                raise self.broken(i, given)
            let_go(call, slots)
            if call.out >= 0:
                slots[call.out] = result
            else:
                release(result)
            at[0] = -1
            if i & 63 == 63:                # nothing else asks for Ctrl-C while no Python code runs
                PyErr_CheckSignals()
            i += 1
        return 0

    cdef bint run_blockwise(self, Py_ssize_t first, PyObject **slots, Py_ssize_t *at) except -1:
        """Make the calls of a run together; False where they have to be made one by one."""
        cdef Blockwise run = <Blockwise>self.calls[first].run
        cdef Py_ssize_t i, raised = -1
        cdef Call *call
        for i in range(first, first + run.count):
            if not has_its_kernel(&self.calls[i]):
                return False
        try:
            if not run.run(slots, self.workers, &raised):
                return False
        except Exception as error:          # a floating-point error, of the call `raised`; or there is no memory
            if raised >= 0:
                at[0] = first + raised
                call = &self.calls[at[0]]
                given = [held_or_like(&call.own, i, slots, run) for i in range(call.own.count)]
                (<OpOverload>call.op).hooks.note((<OpOverload>call.op).definition, tuple(given), error)
            raise
        for i in range(first, first + run.count):
            let_go(&self.calls[i], slots)
        return True

    def __repr__(self):
        return f"Program(calls={self.count}, inputs={self.given})"


cdef bint keeps(object x, object promised, PyObject **slots) except -1:
    """Whether a result is what a fake rule has promised: dtype and shape of an array, with a slot for a size that is an input
    and None for one that data decide; a list of these for a container; None for what is not looked at, as layers' values are.
    """
    if promised is None or not (type(promised) is list or is_exact(<PyObject *>x) or is_number(<PyObject *>x)):
        return True
    if type(promised) is list:
        items = items_of(x)
        return (items is not None and len(items) == len(promised)
                and all([keeps(item, of_item, slots) for item, of_item in zip(items, promised)]))
    dtype, shape = promised
    # in any byte order: np.empty_like, the rule most write, keeps a foreign one, which no kernel gives back
    if x.ndim != len(shape) or not (x.dtype is dtype or np.can_cast(x.dtype, dtype, "equiv")):
        return False
    sizes = [value_of(n, slots) for n in shape]
    return all([n is None or n == given for n, given in zip(sizes, x.shape)])


cdef object held_or_like(Arguments *given, Py_ssize_t i, PyObject **slots, Blockwise run):
    """An argument, for a note; of a value that the run has computed in blocks, an array of its layout."""
    cdef int source = given.sources[i]
    if source < 0:
        return <object>given.values[i]
    return <object>slots[source] if slots[source] != NULL else run.stand_in(source)


cdef void let_go(Call *call, PyObject **slots) noexcept:
    """Empty the slots that nobody reads after a call."""
    cdef PyObject *x
    cdef int *dying = call.dying
    while dying[0] >= 0:
        x = slots[dying[0]]
        slots[dying[0]] = NULL
        if x != NULL:                       # what only a run reads has no array
            release(x)
        dying += 1


cdef PyObject *item_of(Call *call, PyObject **slots) except NULL:
    cdef PyObject *of = slots[call.own.sources[0]]
    cdef PyObject *found = tuple_item(of, <object>call.own.values[1])
    if found == NULL:
        items = items_of(<object>of)
        found = <PyObject *>items[<object>call.own.values[1]]
    hold(found)
    return found


cdef PyObject *subscripted(Call *call, PyObject **slots) noexcept:
    """`x[i]` of a known index, without the places for arguments that take as long; NULL where it is a call as all are."""
    cdef PyObject *result
    cdef PyObject *x = slots[call.plain.arguments.sources[0]]
    if not (has_its_kernel(call) and is_of_dtype(x, call.plain.dtypes[0])):
        return NULL
    result = subscript(x, call.plain.arguments.values[1])
    if result == NULL:
        PyErr_Clear()                       # the operator raises its own
    return result


cdef PyObject *one_call(Call *call, PyObject **slots, bint planned) except NULL:
    """Make a call, with a place for its arguments; one more before the first is the callee's to use."""
    cdef PyObject *on_stack[MOST_ARGUMENTS + 2]
    cdef PyObject **full
    cdef Py_ssize_t most = max(call.own.count, call.plain.arguments.count)
    on_stack[0] = NULL
    if most <= MOST_ARGUMENTS:
        return called(call, slots, on_stack + 1, planned)
    full = <PyObject **>PyMem_Malloc((most + 2) * sizeof(PyObject *))
    if full == NULL:
        raise MemoryError
    full[0] = NULL
    try:
        return called(call, slots, full + 1, planned)
    finally:
        PyMem_Free(full)


cdef PyObject *called(Call *call, PyObject **slots, PyObject **full, bint planned) except NULL:
    """Call the plain form, with an array that dies here for the result where one can take it; or else the operator."""
    cdef PyObject *result
    if planned and call.plain.kernel != NULL and has_its_kernel(call):
        if call.written[0] >= 0:
            result = into_dying(call, slots, full)
            if result != NULL:
                return result if result != call.op else NULL    # its sign for an exception
        if put_plainly(&call.plain, slots, full):
            if call.plain.builds:
                held = put(&call.plain.arguments, slots, full)
            result = vectorcall(call.plain.function, <PyObject *const *>full, call.plain.positions, call.plain.names)
            if result != NULL or not PyErr_ExceptionMatches(Exception) or (    # no ufunc raises what NumPy's integers do
                    call.plain.of_numbers and PyErr_ExceptionMatches((FloatingPointError, Warning))):
                return result
            PyErr_Clear()                   # the operator raises its own
    held = put(&call.own, slots, full)
    return vectorcall(call.op, <PyObject *const *>full, call.own.count | ARGUMENTS_OFFSET, NULL)


cdef bint has_its_kernel(Call *call) noexcept:
    """Whether the operator still has the kernel that the plain form stands for."""
    cdef Definition definition = (<OpOverload>call.op).definition
    return definition.table.slots[0] == call.plain.kernel


cdef bint put_plainly(Plain *plain, PyObject **slots, PyObject **full) noexcept:
    """Put the arguments of a plain form where it reads them; False where one is not as planned."""
    cdef Py_ssize_t i
    cdef int source
    cdef PyObject *x
    for i in range(plain.arguments.count):
        source = plain.arguments.sources[i]
        if source >= 0:
            x = slots[source]
            if not is_of_dtype(x, plain.dtypes[i]):
                return False
            full[i] = x
        elif source == STATIC:
            full[i] = plain.arguments.values[i]
        else:
            for item in <object>plain.arguments.values[i]:
                if type(item) is Slot:
                    x = slots[(<Slot>item).number]
                    if not (is_exact(x) or is_number(x)):
                        return False
    return True


cdef object put(Arguments *arguments, PyObject **slots, PyObject **full):
    """Put arguments where a callee reads them. What is built for it comes back, to be held meanwhile."""
    cdef Py_ssize_t i
    cdef list containers = None
    for i in range(arguments.count):
        if arguments.sources[i] >= 0:
            full[i] = slots[arguments.sources[i]]
        elif arguments.sources[i] == STATIC:
            full[i] = arguments.values[i]
        else:
            x = <object>arguments.values[i]
            if arguments.sources[i] == FLAT:
                made = listed(x, slots) if type(x) is list else tuple(listed(x, slots))
            else:
                made = built(x, slots)
            if containers is None:
                containers = []
            containers.append(made)
            full[i] = <PyObject *>made
    return containers


cdef PyObject *into_dying(Call *call, PyObject **slots, PyObject **full) except? NULL:
    """The result, written to an argument; NULL where none can take it, and the operator itself where the ufunc raised."""
    cdef PyObject *result
    cdef int *written = call.written
    cdef Layout *planned = &call.result
    cdef Arguments *given = &call.plain.arguments
    cdef Py_ssize_t i
    while True:
        result = slots[given.sources[written[0]]]
        if is_exact(result) and is_sole(result) and is_laid_out(result, planned.dtype, planned.ndim, planned.shape,
                                                                planned.shape + planned.ndim):
            break
        written += 1
        if written[0] < 0:
            return NULL
    for i in range(given.count):
        full[i] = slots[given.sources[i]] if given.sources[i] >= 0 else given.values[i]
        if given.sources[i] >= 0 and i != written[0] and (
                call.layouts[i].dtype == NULL
                or not goes_into(full[i], call.layouts[i].dtype, planned.ndim, planned.shape)):
            return NULL
    full[given.count] = result
    result = vectorcall(call.plain.function, <PyObject *const *>full, given.count | ARGUMENTS_OFFSET, <PyObject *>OUT)
    if result == NULL:
        noted(call, slots, full)
        return call.op
    return result


cdef int noted(Call *call, PyObject **slots, PyObject **full) except -1:
    """Give the exception that is set the operator's note."""
    cdef Definition definition = (<OpOverload>call.op).definition
    cdef Py_ssize_t i
    for i in range(call.own.count):
        full[i] = slots[call.own.sources[i]] if call.own.sources[i] >= 0 else call.own.values[i]
    note(call.op, definition, <PyObject *const *>full, call.own.count)
    return 0
