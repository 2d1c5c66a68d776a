"""The walk back: from results to leaves, each node once, when every gradient that flows into it has arrived.

A heap gives the newest node first, and a node is older than all that was made of its value. Nothing recurses, so a tape may
be a million calls long, and what a node saved is let go right after its rule has run.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from ...core.array_memory cimport has_layout, owned
from ...core.arrays cimport is_exact
from ...core.layouts cimport is_sole
from ...core.state cimport Level, Setting, rank_of_thread, thread_state
from ...core.tensor cimport Wrapped
from .backward_graph cimport Leaf, Node, Output, Pull

from heapq import heappop, heappush, heapreplace

from ...core import active_mode
from ...core import OBSERVE as _OBSERVE
from ...errors import DispatchError, GradientError, kind_of
from ...operators.prims import add as _add
from .anomaly import checked
from .cotangents import added, fitted
from .grad_mode import AUTOGRAD as _AUTOGRAD
from .grad_mode import GROUND_ONLY, quiet_with
from .backward_graph import released

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    int NPY_ARRAY_WRITEABLE
    int NPY_ARRAY_OWNDATA
    bint PyArray_CHKFLAGS(cnp.ndarray, int) noexcept

cdef extern from "Python.h":
    PyObject *PyTuple_GET_ITEM(tuple, Py_ssize_t) noexcept

cdef int AUTOGRAD = _AUTOGRAD


def run_backward(roots, seeds, Level level not None, bint keep, bint create_graph, only=None):
    """Carry gradients from the roots, which begin with `seeds`, to the leaves, and return the gradient of each.

    An array among these can be written to, and nobody else holds it. Unless `create_graph`, values of `level` count as
    constants meanwhile; those of other levels record on. With `keep` the nodes keep what they saved for another backward.
    `only` maps each node that is reached to the edges and the rule that count in place of its own; of the roots and these
    edges, those that are to get no gradient are None.
    """
    return walked(roots, seeds, level, keep, create_graph, only).gradients()


def add_to_leaves(roots, seeds, Level level not None, bint keep, bint create_graph):
    """Carry gradients from the roots to the leaves, and add them to the `.grad` of each; see `run_backward`."""
    cdef dict found = walked(roots, seeds, level, keep, create_graph, None).gradients()
    while found:
        leaf, grad = found.popitem()
        accumulate(leaf, grad)


def add_to_leaf(Leaf leaf not None, grad):
    """Add a gradient, of which nobody else holds a part, to the `.grad` of a leaf."""
    accumulate(leaf, grad)


cdef int accumulate(Leaf leaf, grad) except -1:
    leaf.set_gradient(grad if leaf.gradient is None else added(leaf.gradient, grad))
    if leaf.functions is not None:
        leaf.functions.accumulated()
    return 0


def grad_of(x):
    """The gradient that a tracked value keeps, or None."""
    edge = (<Wrapped?>x).kept
    if type(edge) is Leaf:
        return (<Leaf>edge).gradient
    return x.retained.grad if hasattr(x, "retained") else None


def set_grad(x, value):
    """Let a tracked value keep a gradient."""
    edge = (<Wrapped?>x).kept
    if value is not None and getattr(value, "shape", None) != x.shape:
        given = f"one of shape {value.shape}" if hasattr(value, "shape") else kind_of(value)
        raise GradientError(f"x.grad is an array of the shape of x, {x.shape}, or None, and was given {given}.")
    if type(edge) is Leaf:
        (<Leaf>edge).set_gradient(value)
    elif hasattr(x, "retained"):
        x.retained.grad = value
    else:
        raise GradientError(
            "a .grad was set of a value that is the result of an operator and keeps none. Ask it to: x.retain_grad()."
        )


cdef Walk walked(roots, seeds, Level level, bint keep, bint create_graph, only):
    cdef Walk walk = Walk.__new__(Walk)
    cdef bint usual = not create_graph and thread_state().settings[AUTOGRAD] == NULL and not level.number
    cdef Setting guard = Setting(
        AUTOGRAD, GROUND_ONLY if usual else quiet_with(level.number, recording=create_graph))
    if rank_of_thread() and active_mode(_OBSERVE) is not None:
        only = checked(only)
    guard.enter()
    try:
        walk.run(tuple(roots), tuple(seeds), keep, create_graph, only)
        if walk.leaves:
            walk.run_hooks()
    finally:
        guard.leave()
    return walk


cdef class Walk:
    """One backward: the nodes and leaves that a gradient has arrived for."""

    cdef dict leaves                        # the gradients of leaves
    cdef set fresh                          # the leaves whose gradient is an array that nobody else holds
    cdef list waiting                       # a heap of nodes, but the newest; None, as `grads` is, where there never were any
    cdef dict grads                         # their gradients
    cdef Node newest                        # kept out of both, which a chain of calls then never touches
    cdef object grad                        # its gradient

    def __cinit__(self):
        self.leaves = {}

    cdef int run(self, tuple edges, tuple results, bint keep, bint create_graph, only) except -1:
        cdef Node node = None
        cdef bint from_row = False
        given = None
        while True:
            self.hand_on(node, edges, results, given, from_row)
            results = given = None          # the rule runs with nothing alive that it does not need
            if self.newest is not None and (not self.waiting or <long long>self.waiting[0][0] > self.newest.order):
                node, given = self.newest, self.grad
            elif self.newest is not None:
                self.grads[self.newest] = self.grad
                node = heapreplace(self.waiting, (self.newest.order, self.newest))[1]
                given = self.grads.pop(node)
            elif self.waiting:
                node = heappop(self.waiting)[1]
                given = self.grads.pop(node)
            else:
                return 0
            self.newest = self.grad = None
            if only is None:
                edges, rule = node.edges_now(), node.rule
            else:
                edges, rule = only[node]
            from_row = type(rule) is Pull
            try:
                found = (<Pull>rule).function(node, given, create_graph) if from_row else rule(node, given, create_graph)
            except Exception as error:
                add_note(error, node)
                raise
            results = found if type(found) is tuple else tuple(found)
            rule = found = None
            if not keep and edges:
                node.release()
                node.rule = released

    cdef int hand_on(self, Node node, tuple edges, tuple results, given, bint from_row) except -1:
        """Add the gradients that a rule gave to those of what its node was made of."""
        cdef Py_ssize_t i, n = len(edges)
        cdef bint ours = Py_REFCNT(results) == 1, sole
        cdef Leaf leaf
        cdef Node target
        cdef Output output
        if len(results) < n:
            raise ValueError(f"the rule of {node!r} gave {len(results)} gradients for {n} edges.")
        for i in range(n):
            # Nobody but this tuple holds it: a rule has returned what it made, and kept nothing of that.
            sole = ours and is_exact(PyTuple_GET_ITEM(results, i)) and is_sole(PyTuple_GET_ITEM(results, i))
            edge, result = edges[i], results[i]
            if edge is None or result is None:
                continue
            if type(edge) is Leaf:
                leaf = <Leaf>edge
                if not has_layout(result, leaf.layout):
                    result = fitted(node, edges, edge, result)
                    sole = False
                if leaf in self.leaves:
                    result = _add(self.leaves[leaf], result)
                    self.add_fresh(leaf)
                elif sole or (from_row and result is not given):
                    self.add_fresh(leaf)
                self.leaves[leaf] = result
                continue
            if type(edge) is Output:
                output = <Output>edge
                target = output.node
                if not has_layout(result, output.layout):
                    result = fitted(node, edges, edge, result)
                found = self.grad if target is self.newest else None if self.grads is None else self.grads.get(target)
                if found is not None:
                    found[output.number] = _add(found[output.number], result) if output.number in found else result
                    continue
                result = {output.number: result}
            else:
                target = <Node?>edge
                if not has_layout(result, <tuple>target.layout):
                    result = fitted(node, edges, edge, result)
            if target is self.newest:
                self.grad = _add(self.grad, result)
            elif self.waiting and target in self.grads:
                self.grads[target] = _add(self.grads[target], result)
            elif self.newest is None:
                self.newest, self.grad = target, result
            elif target.order < self.newest.order:
                self.wait(self.newest, self.grad)
                self.newest, self.grad = target, result
            else:
                self.wait(target, result)
        return 0

    cdef int wait(self, Node node, grad) except -1:
        if self.waiting is None:
            self.waiting, self.grads = [], {}
        heappush(self.waiting, (node.order, node))
        self.grads[node] = grad
        return 0

    cdef int add_fresh(self, Leaf leaf) except -1:
        if self.fresh is None:
            self.fresh = set()
        self.fresh.add(leaf)
        return 0

    cdef int run_hooks(self) except -1:
        cdef Leaf leaf
        for leaf, grad in self.leaves.items():      # no leaf is added meanwhile
            if leaf.functions is not None:
                self.leaves[leaf] = leaf.functions(grad)
                if self.fresh is not None:
                    self.fresh.discard(leaf)
        return 0

    cdef dict gradients(self):
        """The gradients of leaves; arrays that somebody else may hold are copied."""
        cdef Leaf leaf
        for leaf, result in self.leaves.items():
            if self.fresh is not None and leaf in self.fresh and is_exact(<PyObject *>result) \
                    and PyArray_CHKFLAGS(<cnp.ndarray>result, NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE):
                continue
            self.leaves[leaf] = owned(result)
        return self.leaves


cdef int add_note(error, Node node) except -1:
    """Say in whose backward an exception was raised, where its own text does not; under anomaly mode, where that was called."""
    if node.place is not None:
        error.add_note(f"in the backward of {node.op.name}, which was called in {node.place}")
    elif not isinstance(error, DispatchError) or not error.operator:
        error.add_note(f"in the backward of {node.op.name}")
    return 0
