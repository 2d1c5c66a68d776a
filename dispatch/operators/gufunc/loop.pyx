"""A kernel written for one item, as a kernel of arrays of items.

`Loop` is what is known when the operator is defined: the kernel, the core dimensions of its arrays and where they stand. A
call works out the loop's shape in C. Without loop dimensions the kernel is called as it stands; else a `Walk` goes over the
items.
"""
cimport numpy as cnp
from cpython.list cimport PyList_Check
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_Check

import numpy as np

from .items cimport (
    MAX_AXES, NPY_ARRAY_ALIGNED, Fields, Operand, Output, PyArray_CheckExact, dispatch_fields, dispatch_hollow,
    dispatch_from_scalar, dispatch_is_number, dispatch_is_scalar, dispatch_keep_descr, dispatch_tuple_of, dispatch_type_of,
)
from .walk cimport Walk, sized

cnp.import_array()

cdef extern from *:
    PyObject **PySequence_Fast_ITEMS(PyObject *) noexcept
    object PyObject_Vectorcall(object, PyObject **, size_t, PyObject *)
    Py_ssize_t PY_SSIZE_T_MAX
    void *PyMem_Calloc(size_t, size_t) noexcept

cdef enum:
    FOREIGN = -2                            # an array whose items are not ours to make
    REFUSED = -3                            # shapes that do not fit
    DIMENSIONS = 128                        # twice the axes of an array: what a call keeps on the stack

cdef PyObject *MEMMAP = <PyObject *>np.memmap       # an ndarray in all that matters here


cdef class Loop:
    """A kernel of one item, as a kernel of all.

    `inputs` and `outputs` are the core dimensions of each array, as numbers of dimensions, whose `sizes` are -1 where the
    arrays say them. The inputs stand at `places` among the arguments, `positional` of which are given by position; `keywords`
    stand behind them. `words` has `bound`, `refused`, `elsewhere`, `empty`, `endless`, and what is wrong with a result:
    `count`, `kind`, `shape`, `dtype`. `spread` runs a walk from its second item on.
    """

    cdef object kernel
    cdef object words
    cdef object spread
    cdef tuple inputs
    cdef tuple outputs
    cdef tuple places
    cdef tuple fixed
    cdef tuple keywords
    cdef PyObject *names
    cdef Py_ssize_t nin, nout
    cdef Py_ssize_t positional              # arguments given by position
    cdef int axes                           # of all arrays' items together
    cdef int *dims                          # of each array, one behind the other: how many, and which

    def __cinit__(self, kernel, tuple inputs not None, tuple outputs not None, tuple sizes not None, tuple places not None,
                  Py_ssize_t positional, tuple keywords not None, words, spread=None):
        cdef Py_ssize_t i = 0, count = positional + len(keywords)
        if len(sizes) > DIMENSIONS:
            raise ValueError(f"a signature has at most {DIMENSIONS} dimensions, and this one {len(sizes)}")
        if len(places) != len(inputs) or list(places) != sorted({place for place in places if 0 <= place < count}):
            raise ValueError(f"{len(inputs)} inputs stand at as many of {count} places, each behind the last, not at {places}")
        self.kernel, self.words, self.spread = kernel, words, spread
        self.inputs, self.outputs, self.places, self.fixed, self.keywords = inputs, outputs, places, sizes, keywords
        self.names = <PyObject *>self.keywords if keywords else NULL
        self.positional = positional
        self.nin, self.nout = len(inputs), len(outputs)
        self.axes = sum(map(len, inputs + outputs))
        self.dims = <int *>PyMem_Malloc((self.axes + self.nin + self.nout) * sizeof(int))
        if self.dims == NULL:
            raise MemoryError
        for core in inputs + outputs:
            for number in (len(core), *core):
                self.dims[i] = number
                i += 1
            if not all([0 <= dim < len(sizes) for dim in core]):
                raise ValueError(f"{core} are no numbers of {len(sizes)} dimensions")

    def __dealloc__(self):
        PyMem_Free(self.dims)

    @property
    def __wrapped__(self):
        """The kernel of one item."""
        return self.kernel

    def __call__(self, *args, **keywords):
        cdef Py_ssize_t i, items = 1
        cdef int axis, ndim
        cdef cnp.npy_intp shape[DIMENSIONS]
        cdef cnp.npy_intp sizes[DIMENSIONS]
        cdef Walk walk
        if keywords or self.keywords or len(args) != self.positional:
            args = self.words.bound(args, keywords)
        ndim = self.bind(args, shape, sizes)
        if ndim == FOREIGN:
            return self.words.elsewhere(self.kernel, args)
        if ndim == REFUSED:
            raise self.words.refused(args)
        if ndim == 0:
            return self.once(args, sizes)
        for i in range(ndim):
            if shape[i] == 0:
                return self.words.empty(args)
        for i in range(ndim):
            if items > PY_SSIZE_T_MAX // shape[i]:
                raise self.words.endless(tuple([shape[axis] for axis in range(ndim)]))
            items *= shape[i]
        walk = self.begin(args, ndim, shape, sizes)
        walk.count = walk.limit = items
        if self.spread is None or items == 1:
            walk.run(0, items)
        else:
            walk.run(0, 1)
            self.spread(walk)
        return walk.results[0] if self.nout == 1 else tuple(walk.results)

    cdef int bind(self, tuple args, cnp.npy_intp *shape, cnp.npy_intp *sizes) except -1:
        """The sizes of the core dimensions and the shape of the loop; how many axes that has, or why there is none."""
        cdef Fields *array
        cdef int *core
        cdef int axis, k, start, ndim = 0
        cdef Py_ssize_t i
        cdef cnp.npy_intp n
        for i in range(len(self.fixed)):
            sizes[i] = self.fixed[i]
        core = self.dims
        for i in range(self.nin):
            array = fields_of(<PyObject *>args[self.places[i]])
            if array == NULL:
                if not dispatch_is_number(<PyObject *>args[self.places[i]]):
                    return FOREIGN
                if core[0]:
                    return REFUSED
            else:
                start = array.nd - core[0]
                if start < 0:
                    return REFUSED
                ndim = max(ndim, start)
                for k in range(core[0]):
                    n = array.dimensions[start + k]
                    if sizes[core[1 + k]] < 0:
                        sizes[core[1 + k]] = n
                    elif sizes[core[1 + k]] != n:
                        return REFUSED
            core += 1 + core[0]
        for axis in range(ndim):
            shape[axis] = 1
        core = self.dims
        for i in range(self.nin):
            array = fields_of(<PyObject *>args[self.places[i]])
            if array != NULL:
                start = array.nd - core[0]
                for axis in range(start):
                    n = array.dimensions[axis]
                    if shape[ndim - start + axis] == 1:
                        shape[ndim - start + axis] = n
                    elif n != 1 and shape[ndim - start + axis] != n:
                        return REFUSED
            core += 1 + core[0]
        return ndim

    cdef once(self, tuple args, cnp.npy_intp *sizes):
        """Without loop dimensions the kernel is called as it stands; its result is held to the core dimensions."""
        cdef Py_ssize_t i
        cdef int k
        cdef Fields *array
        cdef bint fits
        result = PyObject_Vectorcall(self.kernel, PySequence_Fast_ITEMS(<PyObject *>args), self.positional,
                                     self.names)
        if self.nout == 1:
            results = (result,)
        elif PyTuple_Check(result) or PyList_Check(result):
            results = dispatch_tuple_of(result)
        else:
            results = ()
        if len(results) == self.nout:       # else the operator's own look at its outputs says so
            for i in range(self.nout):
                core = <tuple>self.outputs[i]
                array = fields_of(<PyObject *>results[i])
                if array == NULL and not cnp.PyArray_CheckScalar(results[i]):  # a number of NumPy's has the shape ()
                    continue
                fits = (0 if array == NULL else array.nd) == len(core)
                for k in range(len(core) if fits else 0):
                    if sizes[<int>core[k]] < 0:
                        sizes[<int>core[k]] = array.dimensions[k]
                    fits = fits and sizes[<int>core[k]] == array.dimensions[k]
                if not fits:
                    raise self.words.shape(i, results[i].shape, sized(core, sizes))
        return result

    cdef Walk begin(self, tuple args, int ndim, cnp.npy_intp *shape, cnp.npy_intp *sizes):
        """The walk of a call, before its first item."""
        cdef Walk walk = Walk.__new__(Walk)
        cdef Operand *x
        cdef cnp.npy_intp *axes
        cdef int *core = self.dims
        cdef int axis, start
        cdef Py_ssize_t i, dims = len(self.fixed)
        walk.kernel, walk.words, walk.names, walk.positional = self.kernel, self.words, self.names, self.positional
        walk.args, walk.cores, walk.nin, walk.nout, walk.ndim = args, self.outputs, self.nin, self.nout, ndim
        walk.operands = <Operand *>PyMem_Calloc(self.nin, sizeof(Operand))
        walk.outputs = <Output *>PyMem_Calloc(self.nout, sizeof(Output))
        walk.shape = <cnp.npy_intp *>PyMem_Calloc(ndim + dims + 2 * self.axes + self.nin * ndim + 1, sizeof(cnp.npy_intp))
        if walk.operands == NULL or walk.outputs == NULL or walk.shape == NULL:
            raise MemoryError
        for axis in range(ndim):
            walk.shape[axis] = shape[axis]
        walk.sizes = walk.shape + ndim
        for i in range(dims):
            walk.sizes[i] = sizes[i]
        axes = walk.sizes + dims
        arrays = []
        for i in range(self.nin):
            x = &walk.operands[i]
            x.place, x.core = self.places[i], core[0]
            x.lengths, x.strides, x.steps = axes, axes + core[0], axes + 2 * core[0]
            axes += 2 * core[0] + ndim
            value = args[self.places[i]]
            if dispatch_is_scalar(<PyObject *>value):
                value = dispatch_from_scalar(value)
            x.array = fields_of(<PyObject *>value)
            if x.array != NULL:
                arrays.append(value)
                dispatch_keep_descr(x)
                x.steady = x.array.flags & NPY_ARRAY_ALIGNED
                start = x.array.nd - x.core
                for axis in range(x.core):
                    x.lengths[axis] = x.array.dimensions[start + axis]
                    x.strides[axis] = x.array.strides[start + axis]
                for axis in range(start):
                    if x.array.dimensions[axis] != 1:
                        x.steps[ndim - start + axis] = x.array.strides[axis]
            core += 1 + core[0]
        walk.arrays = tuple(arrays)
        for i in range(self.nout):
            walk.outputs[i].core, walk.outputs[i].lengths = core[0], axes
            axes += core[0]
            core += 1 + core[0]
        return walk


cdef Fields *fields_of(PyObject *x) noexcept:
    """What an array is made of; NULL where it is no plain one."""
    return dispatch_fields(x) if PyArray_CheckExact(x) or dispatch_type_of(x) == MEMMAP else NULL


def hollow(tuple shape not None, dtype not None):
    """An array of one element under this shape in C order: to be looked at, never to be read."""
    cdef cnp.npy_intp lengths[DIMENSIONS]
    cdef cnp.npy_intp strides[DIMENSIONS]
    cdef int axis, ndim = <int>len(shape)
    cdef cnp.npy_intp step = dtype.itemsize
    cdef cnp.ndarray one = np.zeros((), dtype)
    if ndim > MAX_AXES:
        raise ValueError(f"an array has at most {MAX_AXES} axes, and {ndim} were asked for")
    for axis in range(ndim - 1, -1, -1):
        lengths[axis], strides[axis] = shape[axis], step
        step = <cnp.npy_intp>(<size_t>step * <size_t>max(lengths[axis], 1))     # NumPy refuses what is too large
    view = dispatch_hollow(one.descr, ndim, lengths, strides, cnp.PyArray_DATA(one))
    cnp.set_array_base(view, one)
    return view
