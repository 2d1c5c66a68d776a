"""The kernel that runs a batching rule: values off, the rule, values on; and the way of arguments into a batch.

Each call on a batched value makes one of these steps, half a microsecond beside the rule. Written in Python it would be two.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from ...core.arrays cimport is_exact
from ...core.keys cimport VMAP, rank_at, rank_t
from ...core.state cimport Level, rank_of_thread, thread_state
from ...core.tensor cimport Wrapped, allocated

from ...core import items_of, rebuilt, split, wrap
from ..opaque_rules import asks_stand_ins, marks, take_back
from ..opaque_rules import stand_ins as _stand_ins

cnp.import_array()


def item_shape(Wrapped x not None):
    """The shape of one item: that of the batch without the axis `x.kept`."""
    cdef tuple shape = x.value.shape
    cdef Py_ssize_t axis = x.kept
    return shape[:axis] + shape[axis + 1:]


def common_length(args, dims):
    """The length of the mapped axes where they are simply equal, and None where they have to be looked at one by one."""
    cdef Py_ssize_t axis, ndim
    found = None
    for x, dim in zip(args, dims):
        if dim is None:
            continue
        if is_exact(<PyObject *>x) and type(dim) is int:
            ndim, axis = cnp.PyArray_NDIM(<cnp.ndarray>x), dim
            if not -ndim <= axis < ndim:
                return None
            length = cnp.PyArray_DIM(<cnp.ndarray>x, <int>(axis if axis >= 0 else axis + ndim))
            if found is not None and length != found:
                return None
            found = length
            continue
        shape = getattr(x, "shape", None)
        if type(shape) is not tuple or type(dim) is not int:
            return None
        ndim, axis = len(<tuple>shape), dim
        if not -ndim <= axis < ndim:
            return None
        length = (<tuple>shape)[axis if axis >= 0 else axis + ndim]
        if found is not None and length != found:
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


def batched(type cls not None, args, dims, Level level not None):
    """The arguments of a mapped function as values of its level, each in a wrapper `cls`.

    `dims` has for each the axis of its items, None where every item gets it whole, a list of these for a container.
    """
    cdef rank_t rank = rank_at(level.number, VMAP)
    return [batch_of(cls, x, dim, level, rank) for x, dim in zip(args, dims)]


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

    def __init__(self, type cls not None, rule not None, bint single, returned not None, opacity=None, as_one=None, apart=None):
        self.cls, self.rule, self.single, self.returned, self.apart = cls, rule, single, returned, apart
        self.opacity, self.as_one = opacity, as_one

    def __call__(self, *args):
        cdef Wrapped like, made
        cdef Py_ssize_t axis, size
        like, values, dims, _, _ = split(args)
        if like is None:
            raise TypeError("the kernel of a batching rule takes a batched value, and no argument is one or holds one.")
        result = self.rule(like.level.payload, dims, *values) if self.opacity is None else self.attempted(like, dims, values)
        if self.single and type(result) is tuple and len(<tuple>result) == 2:
            out, dim = <tuple>result
            if is_exact(<PyObject *>out) and type(dim) is int:
                axis = dim
                size = cnp.PyArray_DIM(<cnp.ndarray>out, <int>axis) if 0 <= axis < cnp.PyArray_NDIM(<cnp.ndarray>out) else -1
                if size == like.level.payload.batch_size:
                    if self.apart is None or is_apart(<cnp.ndarray>out, axis):
                        made = allocated(self.cls, like.level, like.rank)
                        made.value, made.kept = out, dim
                        return made
                    return wrap(self.cls, self.apart(out, axis, values), like, dim)
        return self.returned(like, result, args)

    cdef attempted(self, Wrapped like, tuple dims, tuple values):
        """What a user's rule returns, or its operator."""
        info = like.level.payload
        if _stand_ins and asks_stand_ins(self.opacity, values, self.rule, info, dims):
            return self.as_one(info, dims, *values)
        if self.opacity.is_open or not self.opacity.holds(values):
            before, undo = thread_state().requests, marks() if rank_of_thread() else ()
            try:
                result = self.rule(like.level.payload, dims, *values)
            except Exception:
                if thread_state().requests == before or not self.opacity.learns(values):
                    raise
            else:
                if thread_state().requests == before or not self.opacity.learns(values):
                    return result
            take_back(undo, before)
        return self.as_one(like.level.payload, dims, *values)
