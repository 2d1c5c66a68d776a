"""The walk back: from results to leaves, each node once, when every gradient that flows into it has arrived.

A heap gives the newest node first, and a node is older than all that was made of its value. Nothing recurses, so a tape may
be a million calls long, and what a node saved is let go right after its rule has run. The file has more than 350 lines because
`x.backward()` and `.grad` stand beside the walk, whose steps in C they take.
"""
cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from ...core.array_memory cimport has_layout, owned
from ...core.arrays cimport is_exact, is_numpy
from ...core.layouts cimport is_sole
from ...core.python cimport PyTuple_GET_ITEM
from ...core.state cimport Level, Setting, rank_of_thread, thread_state
from ...core.tensor cimport Wrapped
from .backward_graph cimport Leaf, Node, Output, Pull

from functools import wraps
from heapq import heappop, heappush, heapreplace

import numpy as np

from ...core import active_mode, freeze
from ...core import OBSERVE as _OBSERVE
from ...errors import DispatchError, GradientError, kind_of
from ...operators.prims import add as _add
from .anomaly import checked
from .cotangents import added, complex_beginning, fitted, none_kept
from .grad_mode import AUTOGRAD as _AUTOGRAD
from .grad_mode import GROUND_ONLY, TRANSFORMS, quiet_with
from .backward_graph import released

cnp.import_array()

cdef int AUTOGRAD = _AUTOGRAD
cdef type FLOAT64 = np.float64              # what a reduction gives


cdef class _Ready:
    """What the next backward finds ready."""
    cdef Setting guard                      # on level 0; making one takes 40 ns
    cdef object one                         # what `one_of` gave

cdef _Ready READY = _Ready()


def run_backward(roots, seeds, Level level not None, bint keep, bint create_graph, only=None):
    """Carry gradients from the roots, which begin with `seeds`, to the leaves, and return the gradient of each.

    An array among these can be written to, and nobody else holds it. Unless `create_graph`, values of `level` count as
    constants meanwhile; those of other levels record on. With `keep` the nodes keep what they saved for another backward.
    `only` maps each node that is reached to the edges and the rule that count in place of its own; of the roots and these
    edges, those that are to get no gradient are None.
    """
    return walked(tuple(roots), tuple(seeds), level, keep, create_graph, only).gradients()


def add_to_leaves(roots, seeds, Level level not None, bint keep, bint create_graph):
    """Carry gradients from the roots to the leaves, and add them to the `.grad` of each; see `run_backward`."""
    walked(tuple(roots), tuple(seeds), level, keep, create_graph, None).accumulate()


cdef bint walk_from(Wrapped x, gradient) except -1:
    """`x.backward(gradient)`, where that is an array laid out as `x`, or None and x a number; else False, and do nothing."""
    cdef tuple layout
    edge = x.kept
    if type(edge) is Leaf:
        layout = (<Leaf>edge).layout
    elif type(edge) is Output:
        layout = (<Output>edge).layout
    else:
        layout = <tuple?>(<Node?>edge).layout
    if not x.level.open:
        return False
    if gradient is None:
        if len(<tuple>layout[0]) or not (type(x.value) is FLOAT64 or is_numpy(<PyObject *>x.value)):
            return False
        seed = one_of(layout[1])
    elif is_exact(<PyObject *>gradient) and has_layout(gradient, layout):
        seed = gradient
    else:
        return False
    if isinstance(edge, Node):
        walked(None, None, x.level, False, False, None, <Node>edge, seed).accumulate()
    else:
        walked((edge,), (seed,), x.level, False, False, None).accumulate()
    return True


cpdef object one_of(dtype):
    """A read-only 1 without axes, of a dtype."""
    found = READY.one
    if found is None or (<cnp.ndarray>found).descr is not dtype:
        if dtype.kind == "c":
            raise complex_beginning()
        found = READY.one = freeze(np.ones((), dtype))
    return found


def walking(method not None):
    """`backward` as a method in C, so that the usual call, of a number or with an array laid out as it is, enters no frame."""
    def backward(self, *args, **keywords):
        cdef bint usual = isinstance(self, Wrapped) and len(args) < 2 and not keywords
        if not (usual and self.level.name not in TRANSFORMS and walk_from(<Wrapped>self, args[0] if args else None)):
            method(self, *args, **keywords)
    return wraps(method)(backward)


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
    return x.retained.grad if hasattr(x, "retained") else none_kept()


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
        raise GradientError("a .grad was set of a value that is the result of an operator and keeps none. Ask it to: "
                            "x.retain_grad().")


cdef Walk walked(tuple roots, tuple seeds, Level level, bint keep, bint create_graph, only, Node node=None, grad=None):
    """Walk back from the roots, or from one node with a gradient that fits it."""
    cdef Walk walk = Walk.__new__(Walk)
    cdef bint usual = not create_graph and thread_state().settings[AUTOGRAD] == NULL and not level.number
    cdef Setting guard
    if usual and READY.guard is not None:
        guard, READY.guard = READY.guard, None
    else:
        guard = Setting(AUTOGRAD, GROUND_ONLY if usual else quiet_with(level.number, recording=create_graph))
    if rank_of_thread() and active_mode(_OBSERVE) is not None:
        only = checked(only)
    walk.newest, walk.grad = node, grad
    guard.enter()
    try:
        walk.run(roots, seeds, keep, create_graph, only)
        walk.run_hooks()
    finally:
        guard.leave()
    if usual:
        READY.guard = guard
    return walk


@cython.freelist(4)
cdef class Walk:
    """One backward: the nodes and leaves that a gradient has arrived for."""

    cdef Leaf leaf                          # the first leaf, which is most often the only one, and its gradient
    cdef object leaf_grad
    cdef bint leaf_fresh                    # whether that is an array that nobody else holds
    cdef dict leaves                        # the gradients of the other leaves; None where there are none
    cdef set fresh                          # those of these whose gradient is an array that nobody else holds
    cdef list waiting                       # a heap of nodes, but the newest; None, as `grads` is, where there never were any
    cdef dict grads                         # their gradients
    cdef Node newest                        # kept out of both, which a chain of calls then never touches
    cdef object grad                        # its gradient

    cdef int run(self, tuple edges, tuple results, bint keep, bint create_graph, only) except -1:
        cdef Node node = None
        cdef bint from_row = False
        cdef int few = 0
        first = second = given = None
        while True:
            if results is not None:
                self.hand_on(node, edges, first, second, few, results, given, from_row)
            first = second = results = given = None         # the rule runs with nothing alive that it does not need
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
            few = 0
            if only is not None:
                edges, rule = only[node]
            elif node.few:                  # spared the tuple
                edges, rule, few, first, second = None, node.rule, node.few, node.first, node.second
            else:
                edges, rule = node.all_edges, node.rule
            from_row = type(rule) is Pull
            try:
                if from_row:
                    found = (<Pull>rule).function(node, node.saved, given, create_graph)
                else:
                    found = rule(node, given, create_graph)
            except Exception as error:
                add_note(error, node)
                raise
            results = found if type(found) is tuple else tuple(found)
            rule = found = None
            if not keep and (few or edges):
                node.release()
                node.rule = released

    cdef int hand_on(self, Node node, tuple edges, first, second, int few, tuple results, given, bint from_row) except -1:
        """Add the gradients that a rule gave to those of what its node was made of.

        Without `edges` these are `few`: `first`, `second` and None.
        """
        cdef Py_ssize_t i, n = few if edges is None else len(edges)
        cdef bint ours = Py_REFCNT(results) == 1, sole
        cdef Leaf leaf
        cdef Node target
        cdef Output output
        if len(results) < n:
            raise ValueError(f"the rule of {node!r} gave {len(results)} gradients for {n} edges.")
        for i in range(n if edges is not None or n < 2 else 2):
            # Nobody but this tuple holds it: a rule has returned what it made, and kept nothing of that.
            sole = (ours and is_exact(PyTuple_GET_ITEM(<PyObject *>results, i))
                    and is_sole(PyTuple_GET_ITEM(<PyObject *>results, i)))
            edge, result = edges[i] if edges is not None else first if i == 0 else second, results[i]
            if edge is None or result is None:
                continue
            if type(edge) is Leaf:
                leaf = <Leaf>edge
                if not has_layout(result, leaf.layout):
                    result = fitted(node, all_of(edges, first, second, few), edge, result)
                    sole = False
                self.arrive(leaf, result, sole or (from_row and result is not given))
                continue
            if type(edge) is Output:
                output = <Output>edge
                target = output.node
                if not has_layout(result, output.layout):
                    result = fitted(node, all_of(edges, first, second, few), edge, result)
                found = self.grad if target is self.newest else None if self.grads is None else self.grads.get(target)
                if found is not None:
                    found[output.number] = _add(found[output.number], result) if output.number in found else result
                    continue
                result = {output.number: result}
            else:
                target = <Node?>edge
                if not has_layout(result, <tuple>target.layout):
                    result = fitted(node, all_of(edges, first, second, few), edge, result)
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

    cdef int arrive(self, Leaf leaf, grad, bint fresh) except -1:
        """Add to the gradient of a leaf; `fresh` says whether nobody else holds this."""
        if self.leaf is None:
            self.leaf, self.leaf_grad, self.leaf_fresh = leaf, grad, fresh
        elif leaf is self.leaf:
            self.leaf_grad, self.leaf_fresh = _add(self.leaf_grad, grad), True
        else:
            if self.leaves is None:
                self.leaves, self.fresh = {}, set()
            if leaf in self.leaves:
                grad, fresh = _add(self.leaves[leaf], grad), True
            self.leaves[leaf] = grad
            if fresh:
                self.fresh.add(leaf)
        return 0

    cdef int run_hooks(self) except -1:
        cdef Leaf leaf
        if self.leaf is not None and self.leaf.functions is not None:
            self.leaf_grad, self.leaf_fresh = self.leaf.functions(self.leaf_grad), False
        if self.leaves is None:
            return 0
        for leaf, grad in self.leaves.items():      # no leaf is added meanwhile
            if leaf.functions is not None:
                self.leaves[leaf] = leaf.functions(grad)
                self.fresh.discard(leaf)
        return 0

    cdef int own(self) except -1:
        """Copy the gradients of leaves that are arrays which somebody else may hold."""
        cdef Leaf leaf
        if self.leaf is not None and not (self.leaf_fresh and is_owner(self.leaf_grad)):
            self.leaf_grad = owned(self.leaf_grad)
        if self.leaves is not None:
            for leaf, result in self.leaves.items():
                if not (leaf in self.fresh and is_owner(result)):
                    self.leaves[leaf] = owned(result)
        return 0

    cdef dict gradients(self):
        """The gradients of leaves, which nobody else holds."""
        self.own()
        if self.leaf is None:
            return {}
        found = {self.leaf: self.leaf_grad}
        if self.leaves is not None:
            found.update(self.leaves)
        return found

    cdef int accumulate(self) except -1:
        """Add the gradients of leaves to their `.grad`, the newest first."""
        cdef Leaf leaf
        self.own()
        while self.leaves:
            leaf, grad = self.leaves.popitem()
            accumulate(leaf, grad)
        if self.leaf is not None:
            leaf, grad = self.leaf, self.leaf_grad
            self.leaf = self.leaf_grad = None
            accumulate(leaf, grad)
        return 0


cdef bint is_owner(x) noexcept:
    return is_exact(<PyObject *>x) and cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)


cdef tuple all_of(tuple edges, first, second, int few):
    """The edges of a node, for a message."""
    return edges if edges is not None else (first, second)[:few] + (None,) * (few - 2)


cdef int add_note(error, Node node) except -1:
    """Say in whose backward an exception was raised, where its own text does not; under anomaly mode, where that was called."""
    if node.place is not None:
        error.add_note(f"in the backward of {node.op.name}, which was called in {node.place}")
    elif not isinstance(error, DispatchError) or not error.operator:
        error.add_note(f"in the backward of {node.op.name}")
    return 0
