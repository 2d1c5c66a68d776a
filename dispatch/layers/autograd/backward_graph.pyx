"""The graph that a backward walks: a node for each recorded call, an edge for each value that went in.

An edge points at what made the value: the node itself where the operator has one output, an `Output` of it where it has
several, a `Leaf` where the value was given. All three know the `layout`, shape and dtype, that a gradient must have.
A node never refers to the wrapper of its own output: the wrapper refers to the node, and a cycle would keep both alive.

A program of a million calls makes a million nodes, and Python's garbage collector would look at all of them again and again.
So a node is hidden from it while all that it refers to is older than itself: such a node is in no cycle. Hidden nodes stand
in a list, oldest first. Once an older object may come to refer to a newer one, by a hook or by a gradient that is tracked, it
and every hidden node newer than it are shown to the collector, and what is made of them later is never hidden. Each node is
shown once at most, so a hook costs no more than the nodes recorded since. What hides a node stands beside what frees it, and
so the file has more than 350 lines.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ...core.arrays cimport is_exact
from ...core.python cimport Py_None, PyObject_GC_Track, PyObject_GC_UnTrack, PyObject_IS_GC, is_plain

from ...core.wrong_attributes import no_attribute
from ...errors import GradientError
from .gradient_hooks import Handle, check_hook, hooked
from .visualize import dot, kept_bytes, layouts_of

cdef extern from *:
    """
    typedef struct {
        PyObject *newest;                   /* of the hidden nodes, borrowed: a node that dies leaves the list */
        int depth;                          /* how many nodes are being released, one inside the other */
    } dispatch_graph;
    static dispatch_graph dispatch_the_graph = {NULL, 0};
    static long long dispatch_last_order = 0;
    /* Counts down, for all threads. */
    static inline long long dispatch_next_order(void) {
        return __atomic_sub_fetch(&dispatch_last_order, 1, __ATOMIC_RELAXED);
    }
    """
    ctypedef struct Graph "dispatch_graph":
        PyObject *newest
        int depth
    Graph the_graph "dispatch_the_graph"
    long long dispatch_next_order() noexcept

cdef enum:
    DEEPEST = 50                            # nodes that release each other by recursion; the rest waits its turn

cdef tuple NOTHING = ()
cdef list waiting = []                      # what nodes beyond DEEPEST referred to


def next_order():
    """A number smaller than that of every node there is."""
    return dispatch_next_order()


# -- hidden from the collector ---------------------------------------------------------------------------------------------


cdef void hide(Node node) noexcept:
    PyObject_GC_UnTrack(<PyObject *>node)
    node.hidden = True
    node.older, node.newer = the_graph.newest, NULL
    if node.older != NULL:
        (<Node>node.older).newer = <PyObject *>node
    the_graph.newest = <PyObject *>node


cdef void unlink(Node node) noexcept:
    node.hidden = False
    if node.newer != NULL:
        (<Node>node.newer).older = node.older
    else:
        the_graph.newest = node.older
    if node.older != NULL:
        (<Node>node.older).newer = node.newer
    node.older = node.newer = NULL


cdef void show_since(long long order) noexcept:
    """Let the collector see the nodes made since, the one of this order too."""
    cdef PyObject *node
    while the_graph.newest != NULL and (<Node>the_graph.newest).order <= order:
        node = the_graph.newest
        unlink(<Node>node)
        PyObject_GC_Track(node)


cdef bint is_inert(x) noexcept:
    """Whether nothing that the collector looks at can be reached from `x`."""
    if is_plain(<PyObject *>x) or is_exact(<PyObject *>x) or not PyObject_IS_GC(<PyObject *>x):
        return True
    if type(x) is tuple:
        for item in <tuple>x:
            if not is_inert(item):
                return False
        return True
    return type(x) is slice and is_inert(x.start) and is_inert(x.stop) and is_inert(x.step)


cdef bint are_hidden(PyObject **edges, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        if edges[i] == Py_None:
            continue
        edge = <object>edges[i]
        if not (type(edge) is Node and (<Node>edge).hidden) and not (type(edge) is Leaf and not (<Leaf>edge).shown):
            return False
    return True


# -- the graph -------------------------------------------------------------------------------------------------------------


@cython.binding(False)
cdef class Leaf:
    """The end of the graph: a value that was given, and the gradient that arrives for it."""

    def __cinit__(self):
        self.order = dispatch_next_order()

    def __init__(self, tuple layout not None):
        self.layout = layout

    @property
    def grad(self):
        """What backwards added up, or None."""
        return self.gradient

    @grad.setter
    def grad(self, value):
        self.set_gradient(value)

    cdef int set_gradient(self, value) except -1:
        if not is_inert(value):             # a gradient that is tracked leads back here
            self.show()
        self.gradient = value
        return 0

    @property
    def hooks(self):
        """A function of the whole gradient, or None; see hooks.py."""
        return self.functions

    @hooks.setter
    def hooks(self, value):
        self.show()                         # a hook may lead back here
        self.functions = value

    cdef void show(self):
        self.shown = True
        show_since(self.order)

    @property
    def next_functions(self):
        """None: a leaf is made of nothing."""
        return ()

    def name(self):
        """What torch calls what stands at a leaf."""
        return "AccumulateGrad"

    def label(self):
        """What a picture says of it."""
        return f"leaf\n{layouts_of(self)}"

    def __repr__(self):
        return f"<{self.name()}>"


@cython.binding(False)
@cython.freelist(64)
cdef class Node:
    """One recorded call.

    `rule(node, grad, create_graph)` gives a gradient, or None, for each of `edges`; `grad` is a dict by number where the
    operator has several outputs. Kernels of this layer make nodes; `inputs` has for each argument its edge, None where it is
    not tracked, a list for a list, and `edges` is the same tuple, or where an argument is a list, the edges alone.

    `order` counts down: a node's is smaller than that of every node it was made of, whichever thread made them, so a heap
    that gives the smallest first walks back in an order in which every gradient that flows into a node has arrived before
    it runs.
    """

    def __cinit__(self):
        self.order = dispatch_next_order()
        self.all_inputs = self.all_edges = NOTHING

    def __dealloc__(self):
        if self.hidden:
            unlink(self)
        if self.first is None and self.second is None and self.all_inputs is NOTHING:
            return
        # A chain of a million nodes goes away without a million calls inside each other.
        if the_graph.depth >= DEEPEST:
            waiting.append((self.first, self.second, self.all_inputs, self.all_edges, self.saved))
            return
        the_graph.depth += 1
        Node.release(self)
        if the_graph.depth == 1:
            while waiting:
                waiting.pop()
        the_graph.depth -= 1

    @property
    def inputs(self):
        return self.inputs_now()

    cdef object inputs_now(self):
        if self.few == 0:
            return self.all_inputs
        cdef tuple made = PyTuple_New(self.few)
        cdef int i
        for i in range(self.few):
            found = self.first if i == 0 else self.second if i == 1 else None
            Py_INCREF(found)
            PyTuple_SET_ITEM(made, i, found)
        return made

    @property
    def edges(self):
        return self.edges_now()

    cdef tuple edges_now(self):
        return self.inputs_now() if self.few else self.all_edges

    def layout_at(self, Py_ssize_t i):
        """The layout of a tracked input, by its argument's number; it is no list."""
        edge = self.first if i == 0 and self.few else self.second if i == 1 and self.few else self.inputs_now()[i]
        kind = type(edge)
        return (<Leaf>edge).layout if kind is Leaf else (<Output>edge).layout if kind is Output else (<Node?>edge).layout

    cdef void release(self):
        """Forget what went in and what was saved."""
        self.first = self.second = self.saved = None
        self.all_inputs = self.all_edges = NOTHING
        self.few = 0

    def replace_rule(self, rule):
        """Go by another rule from here on, which may refer to anything."""
        if self.hidden:
            show_since(self.order)
        self.rule = rule

    def name(self):
        """The operator's name and `Backward`."""
        return f"{self.op.schema.name}Backward"

    @property
    def next_functions(self):
        """For each argument, items of lists one by one, what made it, and which output of that it is; None of a constant."""
        return tuple([(edge.node, edge.number) if isinstance(edge, Output) else (edge, 0) for edge in flat(self.inputs)])

    cpdef tuple all_kept(self):
        """What it keeps for its backward."""
        return (self.saved,)

    @property
    def nbytes(self):
        """How many bytes of arrays the node keeps for its backward; see `dispatch.autograd.nbytes` for a whole tape."""
        return kept_bytes([self])

    def register_hook(self, hook):
        """Call `hook(grad_inputs, grad_outputs)` each time after the node's backward has run.

        Parameters
        ----------
        hook : callable
            Gets two tuples: the gradients of the inputs that the backward gave, None where there is none, and those of the
            outputs that it was given. Returns other gradients of the inputs, or None.

        Returns
        -------
        Handle

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * x
        >>> handle = y.grad_fn.register_hook(lambda grads, given: print(grads, given))
        >>> y.backward(np.array([1.0, 10.0]))
        (array([ 1., 20.]), array([ 1., 20.])) (array([ 1., 10.]),)
        """
        check_hook(hook)
        return Handle(hooked(self).after, hook)

    def register_prehook(self, hook):
        """Call `hook(grad_outputs)` each time before the node's backward runs.

        Parameters
        ----------
        hook : callable
            Gets a tuple of the gradients of the node's outputs. Returns others in their place, or None.

        Returns
        -------
        Handle
        """
        check_hook(hook)
        return Handle(hooked(self).before, hook)

    def to_dot(self):
        r"""The graph that leads to this node, as text in the DOT language; of a picture `dot -Tsvg` makes an image.

        Examples
        --------
        >>> import dispatch
        >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
        >>> print((2 * x).grad_fn.to_dot())
        digraph {
            node [shape=box, fontname=monospace]
            n0 [label="np::multiply\n(2,) float64"]
            n1 [label="leaf\n(2,) float64"]
            n1 -> n0
        }
        """
        return dot(self)

    def __getattr__(self, str name):
        raise no_attribute(self, name, {"variable": "x: a leaf is an input itself"})

    def label(self):
        """What a picture says of it."""
        return f"{self.op.name}\n{layouts_of(self)}"

    def __repr__(self):
        return f"<{self.name()}>"


cdef class NodeOfSeveral(Node):
    """A recorded call of a row with several outputs; `layouts` has the layout of each, None where that has no gradient."""


cdef class Output:
    """One output of a node that has several."""

    def __init__(self, Node node not None, Py_ssize_t number, tuple layout):
        self.node = node
        self.number = number
        self.layout = layout


Edge = Leaf | Node | Output


cdef class Pull:
    """The rule of a row: a function of the node, what it saved, the gradient and `create_graph`; each gradient is a new array.

    New, but for the gradient that came in, and for views: so a leaf may have one without a copy.
    """

    def __init__(self, function not None):
        self.function = function

    def __call__(self, Node node not None, grad, create_graph):
        return self.function(node, node.saved, grad, create_graph)


def released(Node node not None, grad, create_graph):
    """Refuse a second backward: the rule of a node that has let go of what it saved."""
    raise GradientError(
        f"backward reaches {node.op.name} a second time, and what it saved was let go after the first. "
        "Pass retain_graph=True to the first backward.",
        operator=node.op.name,
    )


cdef list flat(data):
    """The edges of each argument, lists opened, None for constants."""
    cdef list found = []
    for item in data:
        if type(item) is list:
            found += flat(item)
        else:
            found.append(item)
    return found


cdef Py_ssize_t put_edges(data, tuple found, Py_ssize_t n) except -1:
    """Put the edges in `data` into a tuple from place n on, or into none, and return the place after the last."""
    for item in data:
        if type(item) is list:
            n = put_edges(item, found, n)
        elif item is not None:
            if found is not None:
                Py_INCREF(item)
                PyTuple_SET_ITEM(found, n, item)
            n += 1
    return n


cpdef tuple edges_of(data):
    """The edges among what was kept beside the arguments, lists flattened."""
    cdef tuple found = PyTuple_New(put_edges(data, None, 0))
    put_edges(data, found, 0)
    return found
