"""The kernels that record: of a row with pullbacks, and of an operator with a user's rule.

Both take the tracked values off, call the operator again, and wrap what comes back with a node that refers to the nodes of what
went in. They are compiled because every tracked call goes through one.

The file has more than 350 lines because both are made of the same steps.
"""
cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ...core.array_memory cimport held, shape_of, unwritable, unwritten
from ...core.arrays cimport is_exact
from ...core.flatten cimport enter, items_of, leave, mapped as replaced, rebuilt
from ...core.python cimport Py_None, is_plain, new_reference, tuple_of
from ...core.state cimport rank_of_thread, thread_state
from ...core.tensor cimport Taken, Wrapped, begin, descended, let_go, own_of
from ...core.vectorcall cimport count, hold, install_vectorcall, release, vectorcallfunc
from .context cimport Context, copied_attributes, number_of, shown
from .backward_graph cimport Output, Pull, edges_of
from .record cimport dispatch_made, fill, layout_of, record, record_several, wrapped

from ...core.array_memory import constant, inexact_layout, writable
from ...core.lazy import LazyFunction
from ...core.pytree import leaves, mapped
from ...schema.types import ANY, RESIDUAL
from ..opaque_rules import marks
from ..opaque_rules import stand_ins as _stand_ins
from .grad_mode import outside_rules
from .residuals import is_differentiated, levels_of, reading_residuals, secret_keys
from .saved_tensors import COPIED_BYTES as _COPIED_BYTES
from .saved_tensors import protect, protect_large
from .tensor import TrackedTensor as Tracked
from .user_rules import check_nothing, checked, in_setup, is_keyed, keeps_value_of, materialized, once_differentiable, setup_of

cnp.import_array()

# Of users' rules, and of these what is called once, or where a rule computes by other means than operators.
at_once = LazyFunction(__package__, ".batched_backward", "at_once")
as_one = LazyFunction(__package__, ".opaque_backward", "as_one")
asks = LazyFunction(__package__, ".opaque_backward", "asks")
explained = LazyFunction(__package__, ".opaque_backward", "explained")
kept_by = LazyFunction(__package__, ".opaque_backward", "kept_by")
taken_back = LazyFunction(__package__, ".opaque_backward", "taken_back")

cdef dict STAND_INS = _stand_ins

cdef tuple NOTHING = (), LISTS = (list, tuple)
cdef type TrackedTensor = Tracked
cdef Py_ssize_t COPIED_BYTES = _COPIED_BYTES


# -- rows ------------------------------------------------------------------------------------------------------------------

cdef enum:
    VALUE = 0                               # how one thing that a row's rule reads is saved: an argument as it is
    PROTECTED = 1                           # an argument that the caller could write to
    LIST = 2                                # a list of these
    LAYOUT = 3                              # an argument's shape and dtype
    OUT = 4                                 # the result; of several a tuple


cdef class Plan:
    """What to record where a certain set of arguments is tracked.

    `rule` is the node's, None where no tracked argument has a pullback; `saved` says what to save, the kind and which argument;
    `lists` whether a tracked argument is a list; `layout` gives the layout of an argument.
    """

    cdef Pull rule
    cdef object own                         # the set
    cdef bytes kinds
    cdef bytes places
    cdef bint everything                    # every argument is saved, as it is
    cdef bint lists
    cdef object layout

    def __init__(self, rule, saved, bint lists, Py_ssize_t number, layout):
        self.rule = None if rule is None else Pull(rule)
        self.kinds, self.places = bytes([kind for kind, _ in saved]), bytes([place for _, place in saved])
        self.everything = len(saved) > 1 and list(saved) == [(VALUE, i) for i in range(number)]
        self.lists, self.layout = lists, layout

    cdef object kept(self, Py_ssize_t i, PyObject **values, out):
        cdef int kind = PyBytes_AS_STRING(self.kinds)[i]
        if kind == OUT:
            return out
        x = <object>values[<unsigned char>PyBytes_AS_STRING(self.places)[i]]
        if kind == LAYOUT:
            return layout_or_layouts(x, self.layout)
        if kind == VALUE or x is None:
            return x
        if kind == LIST and type(x) in LISTS:        # an empty one is one object less for the collector to look at
            if not x:
                return NOTHING
            made = [protected(item) for item in x]
            return made if type(x) is list else tuple(made)
        return protected(x)

    cdef object save(self, PyObject **values, Py_ssize_t number, out):
        cdef Py_ssize_t i, n = len(self.kinds)
        cdef tuple found
        if self.everything:
            return tuple_of(values, number)
        if n < 2:
            return self.kept(0, values, out) if n else None
        found = PyTuple_New(n)
        for i in range(n):
            x = self.kept(i, values, out)
            Py_INCREF(x)
            PyTuple_SET_ITEM(found, i, x)
        return found


cdef object layout_or_layouts(x, layout):
    """The layout of an array; of a list a tuple of them, which the collector need not look at."""
    if isinstance(x, cnp.ndarray):
        return shape_of(<cnp.ndarray>x), (<cnp.ndarray>x).descr
    if type(x) is not list and type(x) is not tuple:
        return layout(x)
    cdef Py_ssize_t i, n = len(x)
    cdef tuple found = PyTuple_New(n)
    enter(b" while layouts were listed")
    try:
        for i in range(n):
            item = layout_or_layouts(x[i], layout)
            Py_INCREF(item)
            PyTuple_SET_ITEM(found, i, item)
    finally:
        leave()
    return found


cdef object protected(x):
    """What to save for a value that the caller could write to."""
    if is_plain(<PyObject *>x):
        return x
    made = unwritten(x, COPIED_BYTES) if is_exact(<PyObject *>x) else protect(x)
    if made is None:
        made = held(x)
        return protect_large(x) if made is None else made
    return made


@cython.final
cdef class RowKernel:
    """The kernel that records an operator of the tables; `whole` runs the operator one step down.

    `plan_for` makes the Plan for a set of tracked arguments, an int with bit i for argument i.
    """

    cdef vectorcallfunc slot
    cdef object op, whole, plan_for
    cdef dict plans
    cdef Plan newest
    cdef bint several                       # results


cdef inline PyObject *given(x) noexcept:
    """What a slot returns: a reference of its own."""
    hold(<PyObject *>x)
    return <PyObject *>x


cdef PyObject *call_row(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) except NULL:
    cdef RowKernel kernel = <RowKernel>self
    cdef Plan plan
    cdef Wrapped like
    cdef tuple edges, layouts
    cdef Taken taken
    begin(&taken)
    try:
        out = new_reference(descended(<PyObject *>kernel.whole, args, count(nargsf), &taken))
        if taken.like == NULL or (taken.setting != NULL and (<object>taken.setting).covers((<Wrapped>taken.like).level.number)):
            return given(out)       # nothing is tracked: the kernel itself was asked for
        like = <Wrapped>taken.like
        own, plan = own_of(&taken), kernel.newest
        if plan is None or plan.own is not own:     # a small number is one object
            plan = kernel.plans.get(own)
            if plan is None:
                plan = kernel.plans.setdefault(own, kernel.plan_for(own))
            plan.own, kernel.newest = own, plan
        if plan.rule is None:
            return given(out)
        edges = edges_of(tuple_of(taken.data, taken.count)) if plan.lists else None
        if not kernel.several:
            out = record(TrackedTensor, kernel.op, plan.rule, out, like, taken.data, taken.count, edges,
                         plan.save(taken.values, taken.count, out))
            return given(out)
        layouts = tuple([inexact_layout(x) for x in out])
        if not all(layouts):
            for x in out:
                constant(kernel.op, x)
        if any(layouts):
            saved = plan.save(taken.values, taken.count,
                              tuple([protected(x) if layout is None else x for x, layout in zip(out, layouts)]))
            out = record_several(TrackedTensor, kernel.op, plan.rule, tuple(out), layouts, like, taken.data, taken.count, edges,
                                 saved)
        return given(out)
    finally:
        let_go(&taken)


def row_kernel(plan_for not None, op not None, whole not None):
    """The kernel that records an operator of the tables; `whole` runs the operator one step down.

    `plan_for` makes the Plan for a set of tracked arguments, an int with bit i for argument i.
    """
    cdef RowKernel kernel = RowKernel.__new__(RowKernel)
    kernel.slot, kernel.op, kernel.whole, kernel.plan_for, kernel.plans = call_row, op, whole, plan_for, {}
    kernel.several = len(op.schema.returns) > 1
    return kernel


# -- users' rules ----------------------------------------------------------------------------------------------------------


def user_kernel(op not None, rule not None, whole not None):
    """The kernel that records an operator with a user's functions, a Rule; `whole` runs the operator one step down."""
    cdef bint residual = op.outputs.residual
    cdef bint batched = rule.batched
    setup_context = setup_of(op, rule.setup_context)
    backward = at_once(op, rule.backward) if batched else rule.backward
    opacity, one = rule.opacity, as_one(op, rule)
    if residual:
        backward = reading_residuals(backward)
    cdef tuple arguments = op.schema.arguments
    cdef list handed = [i for i, a in enumerate(arguments) if a.type == RESIDUAL]    # from another operator: no value here
    cdef Py_ssize_t returns = len(op.schema.returns), number = op.arguments.count
    cdef bint single = returns == 1 and not op.schema.returns[0].type.parts
    cdef list others = [i for i, a in enumerate(arguments) if not a.type.has_tensor]
    cdef bint lists = any([a.type is ANY or (a.type.parts and a.type.has_tensor) for a in arguments])
    cdef bint keyed = lists and any([is_keyed(a.type) for a in arguments])

    def pull(Context node not None, grad, bint create_graph):
        cdef dict attributes = None
        cdef tuple given = NOTHING if single else tuple(materialized(node, grad, node.structure, node.materialize))
        node.recording = create_graph
        try:
            if node.aside is not None:
                attributes = shown(node)
                vars(node).update(attributes)
            if not opacity.is_open and opacity.holds((grad, given, kept_by(node)), secret_keys(node)):
                return one(node, grad) if single else one(node, *given)
            if STAND_INS and asks(op, rule, node, (grad,) if single else given, secret_keys(node)):
                return one(node, grad) if single else one(node, *given)
            before, undo = thread_state().requests, marks() if rank_of_thread() else NOTHING
            were = copied_attributes(node)
            try:
                grads = backward(node, unwritable(grad)) if single else backward(node, *given)
            except Exception as error:
                if thread_state().requests == before or not opacity.learns((grad, given, kept_by(node)), secret_keys(node)):
                    told = explained(op, error, node, (grad, given), batched)
                    if told is error:
                        raise
                    raise told from error
                asked = True
            else:
                asked = thread_state().requests != before and opacity.learns((grad, given, kept_by(node)), secret_keys(node))
            if asked:                       # what it computed is let go of, and it is called as one operator
                grads = taken_back(node, undo, before, were)
                return one(node, grad) if single else one(node, *given)
        finally:
            node.recording = False
            if attributes is not None:
                for name in attributes:
                    vars(node).pop(name, None)
        if not (single and isinstance(grad, cnp.ndarray)):
            grads = mapped(writable, grads)  # where it gave back what it was given
        if type(grads) is tuple and len(<tuple>grads) == number and not lists:
            for i in others:
                if (<tuple>grads)[<Py_ssize_t>i] is not None:
                    break
            else:
                return grads
        elif number == 1 and not lists and not others and isinstance(grads, cnp.ndarray):
            return (grads,)
        return checked(op, node, grads, node.skeletons, lists=lists)

    cdef UserKernel kernel = UserKernel.__new__(UserKernel)
    kernel.slot, kernel.op, kernel.whole, kernel.pull, kernel.setup_context = call_user, op, whole, pull, setup_context
    kernel.handed, kernel.returns, kernel.single, kernel.residual = handed, returns, single, residual
    kernel.lists, kernel.keyed = lists, keyed
    return kernel


@cython.final
cdef class UserKernel:
    """The kernel that records an operator with a user's functions; `whole` runs the operator one step down."""

    cdef vectorcallfunc slot
    cdef object op, whole, pull, setup_context
    cdef list handed                        # the arguments from another operator, which are no values here
    cdef Py_ssize_t returns
    cdef bint single                        # whether the result is one array
    cdef bint residual
    cdef bint lists                         # whether an argument may hold several arrays
    cdef bint keyed                         # and these stand under keys


cdef PyObject *call_user(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords) except NULL:
    cdef UserKernel kernel = <UserKernel>self
    cdef Context node
    cdef Wrapped like
    cdef dict attributes
    cdef tuple inputs
    cdef PyObject *quiet
    cdef Taken taken
    begin(&taken)
    try:
        out = output = result = new_reference(descended(<PyObject *>kernel.whole, args, count(nargsf), &taken))
        quiet = taken.setting
        if taken.like == NULL or (quiet != NULL and (<object>quiet).covers((<Wrapped>taken.like).level.number)):
            return given(result)
        like = <Wrapped>taken.like
        for i in kernel.handed:
            clear(&taken, i)
        layout = layout_of(result, taken.data, taken.count) if kernel.single else None
        if kernel.single and layout is None:
            constant(kernel.op, result)
            return given(result)
        node = dispatch_made(Context, NOTHING)
        fill(node, kernel.op, like.level, kernel.pull, taken.data, taken.count,
             edges_of(tuple_of(taken.data, taken.count)) if kernel.lists else None, None, layout)
        if kernel.single:
            out = output = wrapped(TrackedTensor, result, like, node)
        else:
            outputs = list(result) if type(result) in LISTS and kernel.returns > 1 else [result]
            if kernel.residual:
                node.residual = outputs.pop()
                node.levels = levels_of(tuple_of(taken.values, taken.count), like.level)
            made = wrap_outputs(node, like, outputs)
            output = made[0] if len(made) == 1 else tuple(made)
            if not any(node.layouts):
                for x in leaves(outputs):
                    constant(kernel.op, x)
                return given(result)
            out = (*made, node.residual) if kernel.residual else output
        if kernel.keyed:
            node.skeletons = tuple([mapped(_no_value, x) for x in tuple_of(taken.values, taken.count)])
        if kernel.setup_context is None:
            node.closed = True
            return given(out)
        inputs = tuple_of(args, count(nargsf))
        conversions = thread_state().conversions
        try:
            if quiet == NULL:
                returned = kernel.setup_context(node, inputs, output)
            else:                           # perhaps in a backward: what this is called in is a rule, and this is none
                with outside_rules():
                    returned = kernel.setup_context(node, inputs, output)
        except Exception as error:
            told = in_setup(kernel.op, error, node)
            if told is error:
                raise
            raise told from error
        node.closed = True
        if returned is not None:
            check_nothing(kernel.op, returned)
        attributes = node.attributes()
        if thread_state().conversions != conversions or (attributes is not None and keeps_value_of(attributes, inputs, out)):
            node.rule = once_differentiable(kernel.pull, inside=is_differentiated(tuple_of(taken.values, taken.count)))
        if attributes is not None:
            node.settle(attributes)
        if node.undifferentiable is not None:
            out = untracked(node, out)
        return given(out)
    finally:
        let_go(&taken)


cdef void clear(Taken *taken, Py_ssize_t i) noexcept:
    """Keep nothing beside an argument."""
    release(taken.data[i])
    hold(Py_None)
    taken.data[i] = Py_None


cdef RowKernel _row = RowKernel.__new__(RowKernel)
install_vectorcall(RowKernel, <char *>&_row.slot - <char *><PyObject *>_row)
cdef UserKernel _user = UserKernel.__new__(UserKernel)
install_vectorcall(UserKernel, <char *>&_user.slot - <char *><PyObject *>_user)


def _no_value(x):
    """Stands for a value that is not kept."""


cdef list wrap_outputs(Context node, Wrapped like, list outputs):
    """Wrap the outputs that can carry a gradient, numbered across lists."""
    cdef list layouts = []
    cdef list numbers = [replaced(x, number_of_output, <void *>layouts) for x in outputs]
    node.multiple, node.layouts, node.structure = True, tuple(layouts), tuple(numbers)
    return [wrap_output(node, like, x, number) for x, number in zip(outputs, numbers)]


cdef object number_of_output(x, void *layouts):
    (<list>layouts).append(inexact_layout(x))
    return len(<list>layouts) - 1


cdef object wrap_output(Context node, Wrapped like, x, number):
    items = items_of(x)
    if items is not None:
        return rebuilt(x, [wrap_output(node, like, item, n) for item, n in zip(items, items_of(number))])
    layout = node.layouts[number]
    return x if layout is None else wrapped(TrackedTensor, x, like, Output(node, number, layout))


cdef object untracked(Context node, x):
    """The outputs, those marked as without a gradient taken off the tape."""
    items = items_of(x)
    if items is not None:
        return rebuilt(x, [untracked(node, item) for item in items])
    return (<Wrapped>x).value if number_of(node, x) in node.undifferentiable else x
