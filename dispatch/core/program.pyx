"""Program: a flat list of calls and slots, run again and again.

Every value has a slot. A call gets its arguments from slots and from what was known when the program was made, and what no
later call reads is let go of right after it. The calls are calls of operators, so that wrappers, modes and devices go
through a program as they go through the function that it was made of.

Where an operator's kernel for the CPU is a NumPy ufunc that goes element by element, and an array that dies there has the
shape, strides and dtype of the result, that array takes the result. It must be sure that nobody sees it: the slot alone
holds it, it owns its memory, no view or weak reference is left, and no mode of the thread wants to see the call. A replayed
chain needs two arrays at most, and writes to memory that is in the cache already.

It has more than 350 lines because what a program is made of is checked here, beside the loop in C that relies on it.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetObject
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject

from .arrays cimport is_exact
from .definition cimport Definition
from .flatten cimport items_of, mapped, walk
from .layouts cimport Layout, goes_into, is_elementwise, is_laid_out, is_sole
from .overload cimport OpOverload
from .raising cimport note
from .state cimport thread_state
from .vectorcall cimport ARGUMENTS_OFFSET, hold, release, vectorcall

cnp.import_array()

import numpy as np

cdef PyObject *UFUNC = <PyObject *>np.ufunc
cdef tuple OUT = ("out",)  # by its name: NumPy deprecates a third array by position for maximum and minimum

cdef enum:
    ON_STACK = 128                          # slots without an allocation
    MOST_ARGUMENTS = 24                     # the same for the arguments of a call; its result's place comes on top
    STATIC = -1                             # where an argument comes from that is no slot
    BUILT = -2
    ITEM = -1                               # the `count` of what takes one item of a value


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


cdef int check_filled(object x, tuple items, void *filled) except -1:
    if type(x) is Slot and (<Slot>x).number not in <set>filled:
        raise ValueError(f"slot {(<Slot>x).number} is read while it is empty.")
    return 0


cdef object value_of(object x, void *slots):
    return <object>(<PyObject **>slots)[(<Slot>x).number] if type(x) is Slot else x


cdef object built(object x, PyObject **slots):
    """A container with values in place of its slots."""
    return mapped(x, value_of, slots)


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
    calls : list of tuple
        `(op, args, out, layouts, result, written, dying)`: an operator as layers call it, or None for an item; its
        arguments, slots among them, or the slot and the number of the item; the slot of the result, or -1; the layouts that
        are planned for the arguments and for the result; which arguments may take the result; which slots die.
    outputs : object
        A container with slots.
    describe : callable
        Gives the note on an exception, of the number of the call that raised.
    """

    def __cinit__(self, Py_ssize_t slots, tuple inputs not None, list constants not None, list calls not None, outputs,
                  describe not None):
        cdef Py_ssize_t i
        cdef set filled = set(range(len(inputs)))       # the slots that hold a value while the program runs, call by call
        self.kept = []
        self.slots, self.given, self.outputs, self.describe = slots, len(inputs), outputs, describe
        if self.given > slots:
            raise ValueError(f"{self.given} inputs have no place in {slots} slots.")
        self.constants = [(self.fill(slot, filled), value, bool(copied)) for slot, value, copied in constants]
        self.inputs = self.layouts(inputs)
        self.calls = <Call *>self.memory(len(calls) * sizeof(Call))
        for i in range(len(calls)):
            op, args, out, layouts, result, written, dying = calls[i]
            self.take(&self.calls[i], op, args, out, layouts, result, written, dying, filled)
        walk(outputs, check_filled, <void *>filled)
        self.count = len(calls)

    cdef int fill(self, number, set filled) except -1:
        """Count a slot among those that hold a value."""
        if not 0 <= number < self.slots or number in filled:
            raise ValueError(f"slot {number} of {self.slots} is filled already, or there is none of that number.")
        filled.add(number)
        return number

    cdef void *memory(self, size_t size) except NULL:
        """Memory that lives as long as the program."""
        made = bytearray(size + 1)
        self.kept.append(made)
        return <void *><char *>made

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

    cdef int take(self, Call *call, OpOverload op, tuple args, int out, layouts, result, written, dying,
                  set filled) except -1:
        """Read one call into C."""
        cdef Py_ssize_t i
        if op is None and not (len(args) == 2 and type(args[0]) is Slot):
            raise ValueError(f"an item is taken of a slot, by a number: {args!r}.")
        if op is not None and written and (len(layouts) != len(args) or result is None
                                           or not all([0 <= i < len(args) for i in written])):
            raise ValueError(f"{op.name} may write to {written} only where the layouts of its arguments and result are known.")
        walk(args, check_filled, <void *>filled)
        self.kept.append((op, args))
        call.op = <PyObject *>op if op is not None else NULL
        call.count = len(args) if op is not None else ITEM
        call.dying, call.written = self.numbers(dying), self.numbers(written)
        for number in dying:
            if number not in filled:
                raise ValueError(f"slot {number} is empty, and cannot be emptied.")
            filled.remove(number)
        call.out = -1 if out < 0 else self.fill(out, filled)
        call.result = self.layout(result)
        call.layouts = self.layouts(layouts) if written else NULL
        call.values = <PyObject **>self.memory(len(args) * sizeof(PyObject *))
        call.sources = <int *>self.memory(len(args) * sizeof(int))
        for i in range(len(args)):
            call.values[i] = <PyObject *>args[i]
            if type(args[i]) is Slot:
                call.sources[i] = (<Slot>args[i]).number
            else:
                call.sources[i] = BUILT if walk(args[i], is_filled_or_mutable, NULL) else STATIC
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
        cdef Py_ssize_t i
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
            self.run(slots, self.as_planned(values))
            return built(self.outputs, slots)
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

    cdef int run(self, PyObject **slots, bint planned) except -1:
        cdef Py_ssize_t i
        cdef int *dying
        cdef Call *call
        cdef PyObject *result
        for i in range(self.count):
            call = &self.calls[i]
            if call.op == NULL:
                result = item_of(call, slots)
            else:
                result = one_call(call, slots, planned)
            if result == NULL:
                self.noted(i)
            dying = call.dying
            while dying[0] >= 0:
                release(slots[dying[0]])
                slots[dying[0]] = NULL
                dying += 1
            if call.out >= 0:
                slots[call.out] = result
            else:
                release(result)
            if i & 63 == 63:                # nothing else asks for Ctrl-C while no Python code runs
                PyErr_CheckSignals()
        return 0

    cdef int noted(self, Py_ssize_t i) except -1:
        """Raise what a call raised, with a note that says where in the program that was."""
        try:
            raise_again()
        except BaseException as error:
            error.add_note(self.describe(i))
            raise

    def __repr__(self):
        return f"Program(calls={self.count}, inputs={self.given})"


cdef int raise_again() except -1:
    """The exception that is set already, as one of this function's."""
    return -1


cdef PyObject *item_of(Call *call, PyObject **slots) noexcept:
    try:
        items = items_of(<object>slots[call.sources[0]])
        made = items[<object>call.values[1]]
    except BaseException as error:
        PyErr_SetObject(type(error), error)
        return NULL
    hold(<PyObject *>made)
    return <PyObject *>made


cdef PyObject *one_call(Call *call, PyObject **slots, bint planned) noexcept:
    """Call an operator, or its ufunc with an array that dies here for the result."""
    cdef PyObject *on_stack[MOST_ARGUMENTS + 2]
    cdef PyObject **full = on_stack
    cdef PyObject *result
    cdef Py_ssize_t i
    cdef list containers = None
    if call.count > MOST_ARGUMENTS:
        full = <PyObject **>PyMem_Malloc((call.count + 2) * sizeof(PyObject *))
        if full == NULL:
            PyErr_SetObject(MemoryError, None)
            return NULL
    full += 1                               # one place before the first argument is the callee's to use
    full[-1] = NULL
    result = NULL
    for i in range(call.count):
        if call.sources[i] >= 0:
            full[i] = slots[call.sources[i]]
        elif call.sources[i] == STATIC:
            full[i] = call.values[i]
        else:
            try:
                made = built(<object>call.values[i], slots)
            except BaseException as error:
                PyErr_SetObject(type(error), error)
                break
            if containers is None:
                containers = []
            containers.append(made)
            full[i] = <PyObject *>made
    else:
        if planned and call.written[0] >= 0 and thread_state().rank == 0:
            result = into_dying(call, full)
        if result == NULL:
            result = vectorcall(call.op, <PyObject *const *>full, call.count | ARGUMENTS_OFFSET, NULL)
        elif result == call.op:             # into_dying's sign for an exception
            result = NULL
    if call.count > MOST_ARGUMENTS:
        PyMem_Free(full - 1)
    return result


cdef PyObject *into_dying(Call *call, PyObject **full) noexcept:
    """The result, written to an argument; NULL where none can take it, and the operator itself where the ufunc raised."""
    cdef Definition definition = (<OpOverload>call.op).definition
    cdef PyObject *kernel = definition.table.slots[0]
    cdef PyObject *result
    cdef int *written = call.written
    cdef Layout *planned = &call.result
    cdef Py_ssize_t i
    if kernel == NULL or not is_elementwise(kernel, UFUNC, call.count):
        return NULL
    while not (is_exact(full[written[0]]) and is_sole(full[written[0]])
               and is_laid_out(full[written[0]], planned.dtype, planned.ndim, planned.shape,
                               planned.shape + planned.ndim)):
        written += 1
        if written[0] < 0:
            return NULL
    for i in range(call.count):
        if call.sources[i] >= 0 and i != written[0] and (
                call.layouts[i].dtype == NULL
                or not goes_into(full[i], call.layouts[i].dtype, planned.ndim, planned.shape)):
            return NULL
    full[call.count] = full[written[0]]
    hold(kernel)
    result = vectorcall(kernel, <PyObject *const *>full, call.count | ARGUMENTS_OFFSET, <PyObject *>OUT)
    release(kernel)
    if result == NULL:
        note(call.op, definition, <PyObject *const *>full, call.count)
        return call.op
    return result
