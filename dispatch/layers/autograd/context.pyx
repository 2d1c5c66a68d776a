"""Context: the node of an operator whose rule is a user's, `ctx` in `setup_context` and `backward`."""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyObject_GenericSetAttr
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ...core.array_memory cimport settled, unwritten
from ...core.arrays cimport is_exact
from ...core.flatten cimport mapped
from ...core.keys cimport AUTOGRAD, rank_at
from ...core.tensor cimport Wrapped, unwrapped
from .backward_graph cimport Node, Output

import numpy as np

from ...core import Tensor, is_array, wrap
from ...core.array_memory import inexact_layout
from ...core.pytree import leaves
from ...errors import GradientError, check_flag, kind_of
from .backward_graph import released
from .saved_tensors import COPIED_BYTES as _COPIED_BYTES
from .saved_tensors import Kept, protect
from .wrong_contexts import OWN as _OWN
from .wrong_contexts import check_saved, in_backward, no_items, own_attribute, saved_twice
from .tensor import TrackedTensor

cnp.import_array()

cdef extern from *:
    """
    /* The attributes that a user set, borrowed; NULL where there are none. */
    static inline PyObject *dispatch_attributes(PyObject *x) {
        PyObject **place = _PyObject_GetDictPtr(x);
        return place != NULL && *place != NULL && PyDict_GET_SIZE(*place) > 0 ? *place : NULL;
    }
    """
    PyObject *dispatch_attributes(PyObject *) noexcept

cdef enum:
    NOTHING_SAVED = 0
    PLAIN = 1                               # wrappers and arrays, no output and no list
    ANY = 2

cdef Py_ssize_t COPIED_BYTES = _COPIED_BYTES
cdef type TRACKED = TrackedTensor
cdef frozenset FIELDS = frozenset(("inputs", "edges", "order", "op", "level", "saved", "layout", "layouts", "rule"))
# Attributes of these types hold no array; most contexts have no other, and are spared the search.
cdef frozenset INERT = frozenset((bool, int, float, complex, str, type(None)))


@cython.binding(False)
cdef class Context(Node):
    """The `ctx` of an operator's backward: `setup_context` puts on it what the backward needs.

    Any attribute may be set on it. It is freed when the backward has run.

    Attributes
    ----------
    residual : object
        The object that the operator returned as its `Residual`, if it has one.
    """

    def __cinit__(self):
        self.materialize = True
        self.layouts = ()

    def __setattr__(self, name, value):
        if name in FIELDS:
            raise GradientError(
                f"{self.op.name}: its setup_context set ctx.{name}, which is a field of the tape. Take another name.",
                operator=self.op.name,
            )
        if name in _OWN:
            raise own_attribute(self.op, name)
        PyObject_GenericSetAttr(self, name, value)

    def __getitem__(self, key): raise no_items(self.op, key, "was asked for")
    def __setitem__(self, key, value): raise no_items(self.op, key, "was set")

    @property
    def needs_input_grad(self):
        """For each argument of the operator, whether a gradient is wanted: a bool, or a list of them for a container."""
        if self.few == 2:
            return self.first is not None, self.second is not None
        return needed(self.inputs)

    def save_for_backward(self, *tensors):
        """Keep arrays for the backward, which reads them as `ctx.saved_tensors`. It is called once, with all of them.

        A later write would change the gradient, so a small writeable array is copied, and a large one is read-only until the
        backward has run.

        Parameters
        ----------
        *tensors : array, None, or a dict or record of these; a list where the operator itself has one
        """
        if self.closed:
            raise in_backward(self.op, "save_for_backward")
        if self.form != NOTHING_SAVED:
            raise saved_twice(self.op)
        # The common case, inputs and small arrays, is settled in C; an output, a list or a large array takes the long way.
        kept = None if self.multiple else of_inputs(self, tensors)
        if kept is None and not self.multiple:
            kept = settled(tensors, self, COPIED_BYTES)
        self.form = ANY if kept is None else PLAIN
        self.saved = tuple([to_keep(self, x) for x in tensors]) if kept is None else kept

    @property
    def saved_tensors(self):
        """What `save_for_backward` was given, a tuple: plain arrays, or tracked ones under `create_graph=True`."""
        cdef tuple saved
        if self.rule is released:
            released(self, None, False)
        if self.form == NOTHING_SAVED:
            raise nothing_saved(self.op)
        saved = self.saved
        if self.form == ANY or self.recording:
            if self.own:
                return with_edges(self, saved)
            return tuple([from_kept(self, x) for x in saved])
        if self.own:
            return saved
        return unwrapped(saved, rank_at(self.level.number, AUTOGRAD))

    def mark_non_differentiable(self, *outputs):
        """Say which outputs have no gradient: they are returned untracked.

        Parameters
        ----------
        *outputs : Tensor
            Outputs, as `setup_context` got them. Integers and bools need not be named: they have no gradient anyway.
        """
        if self.closed:
            raise in_backward(self.op, "mark_non_differentiable")
        numbers = [number_of(self, x) for x in outputs if not hasattr(x, "dtype") or inexact_layout(x) is not None]
        if -1 in numbers:
            raise GradientError(
                f"{self.op.name}: mark_non_differentiable was given a value that is no output of the operator. "
                "Pass outputs as setup_context was given them.",
                operator=self.op.name,
            )
        self.undifferentiable = tuple(numbers)

    def set_materialize_grads(self, value=None):
        """Say what the backward gets for an output that has no gradient: zeros, or None.

        Parameters
        ----------
        value : bool
            True for zeros, the default.
        """
        if self.closed:
            raise in_backward(self.op, "set_materialize_grads")
        self.materialize = check_flag(value, "ctx.set_materialize_grads(value): value")

    cdef dict attributes(self):
        """What the user set on it; None where that holds nothing but numbers and text."""
        cdef PyObject *found = dispatch_attributes(<PyObject *>self)
        if found == NULL or INERT.issuperset([type(value) for value in (<dict><object>found).values()]):
            return None
        return <dict><object>found

    cdef int settle(self, dict attributes) except -1:
        """Keep outputs and plain arrays that were set as attributes in a form without a cycle and safe from writes."""
        found = {
            name: hidden(self, value)
            for name, value in attributes.items()
            if any([isinstance(x, (Tensor, np.ndarray)) for x in leaves(value)])
        }
        if found:
            for name in found:
                del attributes[name]
            self.aside = found
        return 0

    cpdef tuple all_kept(self):
        """Return what it keeps for the backward: saved arrays, the residual and attributes."""
        cdef PyObject *attributes = dispatch_attributes(<PyObject *>self)
        return self.saved, self.residual, self.aside, None if attributes == NULL else <object>attributes

    cdef void release(self):
        cdef PyObject *attributes = dispatch_attributes(<PyObject *>self)
        Node.release(self)
        self.residual = self.aside = None
        if attributes != NULL:
            (<dict><object>attributes).clear()


cdef tuple of_inputs(Context node, tuple tensors):
    """What to save where every value is a plain array, or one of the two inputs of this level: its array; else None.

    `node.own` notes which it is, and a wrapper for it, which 50 ns are spent on, is made only by a backward that records.
    """
    cdef Py_ssize_t i, n = len(tensors)
    cdef unsigned long long own = 0
    cdef tuple found
    if node.few == 0 or n > 32:
        return None
    found = PyTuple_New(n)
    for i in range(n):
        x = tensors[i]
        if type(x) is TRACKED:
            made = (<Wrapped>x).value
            if (<Wrapped>x).level is not node.level or not is_exact(<PyObject *>made):
                return None
            if (<Wrapped>x).kept is node.first:
                own |= 1ULL << 2 * i
            elif (<Wrapped>x).kept is node.second:
                own |= 2ULL << 2 * i
            else:
                return None
        elif is_exact(<PyObject *>x):
            made = unwritten(x, COPIED_BYTES)
            if made is None:
                return None
        else:
            return None
        Py_INCREF(made)
        PyTuple_SET_ITEM(found, i, made)
    node.own = own
    return found


cdef tuple with_edges(Context node, tuple saved):
    """What `of_inputs` has kept, those that are inputs tracked again."""
    cdef int place
    found = []
    for i, x in enumerate(saved):
        place = node.own >> 2 * i & 3
        found.append(wrap(TrackedTensor, x, node.level, node.first if place == 1 else node.second) if place else x)
    return tuple(found)


cdef tuple needed(inputs):
    return tuple([list(needed(edge)) if isinstance(edge, list) else edge is not None for edge in inputs])


cdef Py_ssize_t number_of(Context node, x):
    """Which output of a node a value is, or -1."""
    edge = x.kept if isinstance(x, TrackedTensor) else None
    if edge is node:
        return 0
    return (<Output>edge).number if isinstance(edge, Output) and (<Output>edge).node is node else -1


cdef object hidden(Context node, x):
    return hidden_leaf(x, <void *>node) if isinstance(x, TrackedTensor) else mapped(x, hidden_leaf, <void *>node)


cdef object hidden_leaf(x, void *owner):
    cdef Context node = <Context>owner
    cdef Py_ssize_t number
    if isinstance(x, TrackedTensor):
        number = number_of(node, x)
        if number >= 0:
            return Kept((<Wrapped>x).value, number)
        made = unwritten(x, COPIED_BYTES)
        return protect(x) if made is None else made
    return protect(x) if isinstance(x, np.ndarray) else x


cdef object to_keep(Context node, x):
    if type(x) is list or type(x) is tuple:
        check_saved(node.op, x)
    return hidden_leaf(x, <void *>node) if isinstance(x, TrackedTensor) else mapped(x, leaf_to_keep, <void *>node)


cdef object leaf_to_keep(x, void *owner):
    if x is not None and not is_array(x):
        node = <Context>owner
        raise GradientError(
            f"{node.op.name}: save_for_backward keeps arrays, and was given {kind_of(x)}. "
            "Set anything else as an attribute: ctx.name = value.",
            operator=node.op.name,
        )
    return hidden_leaf(x, owner) if isinstance(x, TrackedTensor) else protect(x)


cdef object from_kept(Context node, x):
    """A kept value as the rule may use it: tracked only where this level records."""
    return mapped(x, leaf_from_kept, <void *>node)


cdef object leaf_from_kept(x, void *owner):
    cdef Context node = <Context>owner
    if type(x) is TrackedTensor:
        return x if node.recording or (<Wrapped>x).level is not node.level else (<Wrapped>x).value
    if type(x) is Kept:
        if not node.recording:
            return x.value
        edge = Output(node, x.number, node.layouts[x.number]) if node.multiple else node
        return wrap(TrackedTensor, x.value, node.level, edge)
    return x


cdef dict shown(Context node):
    """The attributes that were kept in another form, as a rule may use them."""
    return {name: from_kept(node, x) for name, x in node.aside.items()}


cdef dict copied_attributes(Context node):
    """A copy of the attributes that were set, None where there are none."""
    cdef PyObject *found = dispatch_attributes(<PyObject *>node)
    return None if found == NULL else (<dict><object>found).copy()


def secret_levels(Context node not None):
    """The levels that the residual of a context depends on without a record of it."""
    return () if node.levels is None else node.levels


def skeletons_of(Context node not None):
    """The arguments without their values, where gradients come in dicts or records; else None."""
    return node.skeletons


def nothing_saved(op):
    """What to raise where a rule has read what its setup_context never saved."""
    return GradientError(
        f"{op.name}: ctx.saved_tensors was read, and its setup_context saved nothing. Write "
        "ctx.save_for_backward(...) there, and hand it to register_autograd(backward, setup_context=...).",
        operator=op.name,
    )


def saved_of(Context node not None):
    """What `saved_tensors` gives; None where nothing was saved."""
    return None if node.form == NOTHING_SAVED and node.rule is not released else node.saved_tensors
