"""One call of a kernel written for one item: item after item, in C.

Point the views at the item, call the kernel, copy its result into its place. The outputs are made when the results of the
first item are there; those of every later item must be like them. A result is copied at once, so that the kernel may return
its input, or the same workspace each time.

Yes or no is decided here; the words for a no come from `words`, as for a call that is refused.
"""
cimport cython, numpy as cnp
from cpython.list cimport PyList_Check
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check

import numpy as np

from ...core.vectorcall cimport ARGUMENTS_OFFSET, hold, release, vectorcall
from .items cimport (
    MAX_AXES, Operand, Output, PyArray_CheckExact, dispatch_copy, dispatch_drop_descr, dispatch_fields, dispatch_from_scalar,
    dispatch_is_scalar, dispatch_is_tuple, dispatch_member, dispatch_point, dispatch_put, dispatch_raised, dispatch_signalled,
    dispatch_tuple_of, dispatch_view,
)

cnp.import_array()

cdef enum:
    RAISED = -1
    DONE = 0
    LOOK = 1                                # a result that is not simply copied
    SIGNALS = 1024                          # a power of 2: items between two looks for a signal, Ctrl-C say


cdef struct Cursor:
    PyObject **vector                       # the kernel's arguments, behind one place that is the callee's to use
    char **data                             # of the item of each array
    cnp.npy_intp *at                        # the item, counted along each loop dimension
    Py_ssize_t item
    PyObject *result                        # of the item that takes a longer look


cdef int step(Walk walk, Cursor *cursor, Py_ssize_t stop) noexcept:
    """Item after item up to `stop`, or to the first that raises or takes a longer look."""
    cdef Py_ssize_t i, n = walk.nin
    cdef PyObject *kernel = <PyObject *>walk.kernel
    cdef Operand *x
    while cursor.item < stop and cursor.item < walk.limit:
        for i in range(n):
            x = &walk.operands[i]
            if x.array != NULL and dispatch_point(&cursor.vector[x.place], x, cursor.data[i]) < 0:
                return RAISED
        cursor.result = vectorcall(kernel, cursor.vector, walk.positional | ARGUMENTS_OFFSET, walk.names)
        if cursor.result == NULL:
            return RAISED
        if not walk.made or not stored(walk, cursor):
            return LOOK
        release(cursor.result)
        advance(walk, cursor)
        if cursor.item & (SIGNALS - 1) == 0 and dispatch_signalled():
            return RAISED
    return DONE


cdef bint stored(Walk walk, Cursor *cursor) noexcept:
    """Whether the item's results were simply copied."""
    cdef Py_ssize_t i
    cdef Output *out = walk.outputs
    if walk.nout == 1:
        return dispatch_put(out, cursor.result, out.array.data + cursor.item * out.nbytes)
    if not dispatch_is_tuple(cursor.result, walk.nout):
        return False
    for i in range(walk.nout):
        out = &walk.outputs[i]
        if not dispatch_put(out, dispatch_member(cursor.result, i), out.array.data + cursor.item * out.nbytes):
            return False
    return True


cdef void advance(Walk walk, Cursor *cursor) noexcept:
    """On to the next item; the last axis moves fastest."""
    cdef int axis = walk.ndim - 1
    cdef Py_ssize_t i
    cursor.item += 1
    while axis >= 0:
        cursor.at[axis] += 1
        if cursor.at[axis] < walk.shape[axis]:
            for i in range(walk.nin):
                cursor.data[i] += walk.operands[i].steps[axis]
            return
        cursor.at[axis] = 0
        for i in range(walk.nin):
            cursor.data[i] -= walk.operands[i].steps[axis] * (walk.shape[axis] - 1)
        axis -= 1


cdef noted(error, str note):
    """Add a note to a kernel's exception; what arrives is that exception, whatever its class makes of notes."""
    try:
        error.add_note(note)
    except Exception:
        pass


@cython.binding(False)
cdef class Walk:
    """One call of a loop; made by `Loop`, and given to what spreads it over threads."""

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.nin if self.operands != NULL else 0):
            dispatch_drop_descr(&self.operands[i])
        PyMem_Free(self.operands)
        PyMem_Free(self.outputs)
        PyMem_Free(self.shape)

    def stop_before(self, Py_ssize_t item):
        """Let no item from this one on be started."""
        self.limit = min(self.limit, item)

    def run(self, Py_ssize_t start, Py_ssize_t stop):
        """Run the kernel on the items from `start` to `stop`, without the last."""
        if not 0 <= start <= stop <= self.count:
            raise IndexError(f"a walk over {self.count} items has none from {start} to {stop}.")
        if self.args is None:
            return                              # one that no loop has made
        cdef Py_ssize_t i, rest = start, n = len(self.args)
        cdef int axis, state
        cdef Cursor cursor
        cdef PyObject **vector = <PyObject **>PyMem_Malloc((n + 1 + self.nin) * sizeof(PyObject *)
                                                           + (self.ndim + 1) * sizeof(cnp.npy_intp))
        if vector == NULL:
            raise MemoryError
        vector[0] = NULL
        cursor.vector = vector + 1
        cursor.data = <char **>(cursor.vector + n)
        cursor.at = <cnp.npy_intp *>(cursor.data + self.nin)
        cursor.item = start
        for i in range(n):
            cursor.vector[i] = <PyObject *>self.args[i]
            hold(cursor.vector[i])
        for axis in range(self.ndim - 1, -1, -1):
            cursor.at[axis] = rest % self.shape[axis]
            rest //= self.shape[axis]
        for i in range(self.nin):
            cursor.data[i] = NULL
            if self.operands[i].array == NULL:               # a Python number, the same for every item
                continue
            release(cursor.vector[self.operands[i].place])      # the items are views; the arrays are the walk's
            cursor.vector[self.operands[i].place] = NULL
            cursor.data[i] = self.operands[i].array.data
            for axis in range(self.ndim):
                cursor.data[i] += self.operands[i].steps[axis] * cursor.at[axis]
        try:
            while True:
                state = step(self, &cursor, stop)
                if state == DONE:
                    break
                if state == RAISED:
                    dispatch_raised()
                result = <object>cursor.result
                release(cursor.result)
                self.keep(result, cursor.item)
                advance(self, &cursor)
        except Exception as error:
            at = ", ".join([str(cursor.at[axis]) for axis in range(self.ndim)])
            noted(error, f"at item [{at}] of the loop")
            raise
        finally:
            for i in range(n):
                if cursor.vector[i] != NULL:
                    release(cursor.vector[i])
            PyMem_Free(vector)

    cdef keep(self, result, Py_ssize_t item):
        """Store the results of an item, the first of which say what the outputs are."""
        cdef Py_ssize_t i
        cdef PyObject *one
        cdef char *to
        if self.nout == 1:
            results = (result,)
        else:
            results = dispatch_tuple_of(result) if PyTuple_Check(result) or PyList_Check(result) else ()
            if len(results) != self.nout:
                raise self.words.count(result)
        if not self.made:
            self.make(results)
        for i in range(self.nout):
            one = <PyObject *>results[i]
            to = self.outputs[i].array.data + item * self.outputs[i].nbytes
            if not dispatch_put(&self.outputs[i], one, to):
                self.put(i, results[i], to)

    cdef make(self, tuple results):
        """Make the outputs like the results of the first item."""
        cdef Py_ssize_t i
        cdef int k, dim
        cdef cnp.npy_intp lengths[128]
        cdef Output *out
        found = []
        for i in range(self.nout):
            value = self.value(i, results[i])
            core = <tuple>self.cores[i]
            out = &self.outputs[i]
            if cnp.PyArray_NDIM(value) != out.core:
                raise self.words.shape(i, (<object>value).shape, sized(core, self.sizes))
            for k in range(out.core):
                dim = core[k]
                if self.sizes[dim] < 0:
                    self.sizes[dim] = cnp.PyArray_DIM(value, k)
                elif self.sizes[dim] != cnp.PyArray_DIM(value, k):
                    raise self.words.shape(i, (<object>value).shape, sized(core, self.sizes))
                out.lengths[k] = cnp.PyArray_DIM(value, k)
            if self.ndim + out.core > MAX_AXES:
                raise self.words.axes(i, self.ndim + out.core)
            for k in range(self.ndim):
                lengths[k] = self.shape[k]
            for k in range(out.core):
                lengths[self.ndim + k] = out.lengths[k]
            dtype = value.dtype
            made = np.empty([lengths[k] for k in range(self.ndim + out.core)], dtype)
            out.array = dispatch_fields(<PyObject *>made)
            out.nbytes = cnp.PyArray_NBYTES(value)
            out.plain = dtype.kind in "biufcmM"
            out.scalar = NULL
            if out.core == 0 and dtype.kind in "biufc" and dtype.isnative:
                out.scalar = <PyObject *>dtype.type
            found.append(made)
        self.results = found
        self.made = True

    cdef cnp.ndarray value(self, Py_ssize_t i, result):
        """A result as an array."""
        if PyArray_CheckExact(<PyObject *>result):
            return result
        if dispatch_is_scalar(<PyObject *>result):
            return dispatch_from_scalar(result)
        raise self.words.kind(i, result)

    cdef put(self, Py_ssize_t i, result, char *to):
        """Store a result that is not simply copied: strided, of objects, or wrong."""
        cdef Output *out = &self.outputs[i]
        cdef cnp.ndarray value = self.value(i, result)
        cdef cnp.ndarray made = self.results[i]
        cdef int k
        cdef bint fits = cnp.PyArray_NDIM(value) == out.core
        for k in range(out.core):
            fits = fits and cnp.PyArray_DIM(value, k) == out.lengths[k]
        if not fits:
            raise self.words.shape(i, (<object>value).shape, sized(self.cores[i], self.sizes))
        if not cnp.PyArray_EquivArrTypes(value, made):
            raise self.words.dtype(i, value.descr, made.descr)
        dispatch_copy(dispatch_view(out.array, out.core, out.lengths, to), value)


cdef tuple sized(tuple core, cnp.npy_intp *sizes):
    """The sizes of an output's core dimensions, None for one that is not known."""
    return tuple([None if sizes[<int>dim] < 0 else sizes[<int>dim] for dim in core])
