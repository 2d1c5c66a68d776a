"""The kernel that runs a batching rule: values off, the rule, values on; and the way of arguments into a batch.

Each call on a batched value makes one of these steps, half a microsecond beside the rule. Written in Python it would be two.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ...core.arrays cimport is_exact
from ...core.keys cimport VMAP, rank_at, rank_t
from ...core.python cimport items_of_tuple, new_reference, tuple_of
from ...core.state cimport Level, rank_of_thread, thread_state
from ...core.tensor cimport AHEAD, Taken, Wrapped, allocated, begin, let_go, take_off
from ...core.vectorcall cimport vectorcall

from ...core import is_array, items_of, rebuilt, wrap
from ...core.wrong_calls import check_takes
from ..opaque_rules import asks_stand_ins, marks, note_rule, take_back
from ..opaque_rules import stand_ins as _stand_ins

cnp.import_array()


def item_shape(Wrapped x not None):
    """The shape of one item: that of the batch without the axis `x.kept`."""
    cdef tuple shape = tuple(x.value.shape)      # torch's is of a class of its own
    cdef Py_ssize_t axis = x.kept
    return shape[:axis] + shape[axis + 1:]


cdef object length_of(x, dim):
    """The length of an axis, None where that is not simply read."""
    cdef Py_ssize_t axis, ndim
    if type(dim) is not int:
        return None
    axis = dim
    if is_exact(<PyObject *>x):
        ndim = cnp.PyArray_NDIM(<cnp.ndarray>x)
        return cnp.PyArray_DIM(<cnp.ndarray>x, <int>(axis % ndim)) if -ndim <= axis < ndim else None
    shape = x.shape if is_array(x) else None
    return shape[dim] if type(shape) is tuple and -len(<tuple>shape) <= axis < len(<tuple>shape) else None


def common_length(tuple args not None, tuple dims not None):
    """The length of the mapped axes where they are simply equal, and None where they have to be looked at one by one."""
    cdef Py_ssize_t i
    found = None
    for i in range(len(args)):
        if dims[i] is None:
            continue
        length = length_of(args[i], dims[i])
        if length is None or (found is not None and length != found):
            return None
        found = length
    return found


cdef object batch_of(type cls, object x, object dim, Level level, rank_t rank):
    cdef Wrapped made
    cdef Py_ssize_t axis
    if dim is None:
        return x
    if is_exact(<PyObject *>x) and type(dim) is int and cnp.PyArray_NDIM(<cnp.ndarray>x):
        made = allocated(cls, level, rank)
        axis = dim
        made.value, made.kept = x, axis % cnp.PyArray_NDIM(<cnp.ndarray>x)
        return made
    if type(dim) is list:
        return rebuilt(x, [batch_of(cls, item, d, level, rank) for item, d in zip(items_of(x), dim)])
    return wrap(cls, x, level, dim % len(x.shape))


def in_batch(type cls not None, f, tuple args not None, dict keywords not None, dims, info, out_dims, placed not None):
    """Call a function on a level of its own, its arguments as values of that, each in a wrapper `cls`.

    `dims` has for each the axis of its items, None where every item gets it whole, a list of these for a container. A result
    that is one value, with the batch where `out_dims` says, is given back without its wrapper; of any other
    `placed(out, level)` makes the result.
    """
    cdef Level level = Level.__new__(Level, "vmap", info)
    cdef Py_ssize_t i
    cdef tuple values = PyTuple_New(len(args))
    level.enter()
    try:
        try:
            for i in range(len(args)):
                x = batch_of(cls, args[i], dims[i], level, rank_at(level.number, VMAP))
                Py_INCREF(x)
                PyTuple_SET_ITEM(values, i, x)
            out = f(*values, **keywords) if keywords else f(*values)
        except (TypeError, AttributeError):
            check_takes("vmap", f, args, keywords)
            raise
        if type(out) is cls and (<Wrapped>out).level is level and (<Wrapped>out).kept == out_dims:
            return (<Wrapped>out).value
        return placed(out, level)
    finally:
        level.leave()


cdef bint is_apart(cnp.ndarray x, Py_ssize_t dim) noexcept:
    """Whether no item of a batch lies between others in memory: no axis has larger steps than that of the batch."""
    cdef Py_ssize_t i, step, most = abs(cnp.PyArray_STRIDE(x, <int>dim))
    if dim == 0 and cnp.PyArray_IS_C_CONTIGUOUS(x) or most == 0 or cnp.PyArray_DIM(x, <int>dim) < 2 or cnp.PyArray_SIZE(x) == 0:
        return True
    for i in range(cnp.PyArray_NDIM(x)):
        step = abs(cnp.PyArray_STRIDE(x, <int>i))
        if step > most and cnp.PyArray_DIM(x, <int>i) > 1:
            return False
    return True


def are_apart(in_dims, xs):
    """Whether all operands are plain, those with a batch arrays with the batch in front, and no item lies between others."""
    for x, dim in zip(xs, in_dims):
        if isinstance(x, Wrapped) or (dim is not None and not (is_exact(<PyObject *>x) and is_apart(<cnp.ndarray>x, 0))):
            return False
    return True


cdef class Ruled:
    """The kernel of an operator in a batch, by `rule(info, in_dims, *args)`, which returns the output and where the batch is.

    `single` says whether the operator returns one array, which is no argument. In any other case `returned(like, result, args)`
    makes the call's result of what the rule returned, or raises. `opacity` is that of a user's rule, and `as_one` is called
    in its place where that is opaque. `apart(out, axis, args)` copies an output whose items lie between each other; it is None
    of an operator whose output has the strides of its argument.
    """

    def __init__(self, op, type cls not None, rule not None, bint single, returned, opacity=None, as_one=None, apart=None):
        self.op, self.cls, self.rule, self.single, self.returned, self.apart = op, cls, rule, single, returned, apart
        self.opacity, self.as_one = opacity, as_one

    def __call__(self, *args):
        cdef Wrapped like, made
        cdef Py_ssize_t axis, size
        cdef Taken taken
        begin(&taken)
        try:
            take_off(items_of_tuple(args), len(args), &taken)
            if taken.like == NULL:
                raise TypeError("the kernel of a batching rule takes a batched value, and no argument is one or holds one.")
            like = <Wrapped>taken.like
            result = self.attempted(like.level.payload, tuple_of(taken.data, taken.count), &taken)
            if self.single and type(result) is tuple and len(<tuple>result) == 2:
                out, dim = <tuple>result
                if is_exact(<PyObject *>out) and type(dim) is int:
                    axis = dim
                    size = cnp.PyArray_DIM(<cnp.ndarray>out, axis) if 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>out) else -1
                    if size == like.level.payload.batch_size:
                        if self.apart is not None and not is_apart(<cnp.ndarray>out, axis):
                            return wrap(self.cls, self.apart(out, axis, tuple_of(taken.values, taken.count)), like, dim)
                        made = allocated(self.cls, like.level, like.rank)
                        made.value, made.kept = out, dim
                        return made
            return self.returned(like, result, args)
        finally:
            let_go(&taken)

    cdef object attempted(self, info, tuple dims, Taken *taken):
        """What the rule returns, or its operator."""
        cdef tuple values
        taken.values[-2], taken.values[-1] = <PyObject *>info, <PyObject *>dims
        if self.opacity is None:
            return new_reference(vectorcall(<PyObject *>self.rule, taken.values - AHEAD, taken.count + AHEAD, NULL))
        values = tuple_of(taken.values, taken.count)
        if _stand_ins and asks_stand_ins(self.opacity, values, self.rule, info, dims):
            return self.as_one(info, dims, *values)
        if self.opacity.is_open or not self.opacity.holds(values):
            before, undo = thread_state().requests, marks() if rank_of_thread() else ()
            try:
                result = new_reference(vectorcall(<PyObject *>self.rule, taken.values - AHEAD, taken.count + AHEAD, NULL))
            except Exception as error:
                if thread_state().requests == before or not self.opacity.learns(values):
                    note_rule(error, self.op, "vmap rule", values)
                    raise
            else:
                if thread_state().requests == before or not self.opacity.learns(values):
                    return result
            take_back(undo, before)
        return self.as_one(info, dims, *values)
