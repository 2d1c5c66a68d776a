"""The kernels of a shape rule: one runs it on fakes; one remembers its answers, by the fakes' layouts and the plain arguments.

Under a FakeTensorMode and in a trace every call goes this way. Written in Python the way would cost more than many rules.
"""
from cpython.object cimport PyObject, PyTypeObject

from ...core.flatten cimport enter, leave
from ...core.keys cimport FAKE
from ...core.python cimport Py_TYPE
from ...core.state cimport ModeGuard, Setting, active_mode
from .fields cimport Fields, new_fake

import numpy as np

from ...core.pytree import arrays
from ...errors import DispatchError
from ...symbolic import SymInt
from .rule_cache import Single, answer_of, sizes_in
from .rule_inputs import device_for, faked, mode_of, refuse_guessed_sizes
from .tensor import FakeTensor, fake_tensor, forget

cdef PyTypeObject *FAKES = <PyTypeObject *><PyObject *>FakeTensor
cdef frozenset PASSING = frozenset({int, float, bool, str, type(None), complex, SymInt})    # a fake rule gets these as they are
cdef object DTYPE = np.dtype
cdef frozenset PLAIN = frozenset({int, float, bool, complex, str, type(None), type})    # an answer may be remembered by them
cdef Py_ssize_t MOST = 1024                 # answers for one operator, which are forgotten all together


cdef tuple identities(tuple sizes):
    """Sizes to be looked up by, without asking which numbers they are; a symbolic one lives as long as its answers."""
    return tuple([n if type(n) is int else (id(n),) for n in sizes])


cdef object key_of(object x, object mode, bint symbolic):
    """What an answer depends on in an argument; LookupError for all but fakes without elements and plain values."""
    cdef Fields fake
    cls = type(x)
    if cls is FakeTensor:
        fake = x
        if fake.mode is not mode or (fake.kept is not None and fake.kept.constant is not None):
            raise LookupError
        if symbolic:
            return identities(fake.shape), identities(fake.strides), fake.dtype, type(fake.dtype), fake.device, fake.number
        return fake.shape, fake.strides, fake.dtype, type(fake.dtype), fake.device, fake.number  # long equals long long
    if cls in PLAIN:
        return cls, x                       # the type counts too, for 1, 1.0 and True are equal
    if cls is tuple or cls is list:
        enter(b" while layouts were compared")          # a list may hold itself
        try:
            return cls, *[key_of(item, mode, symbolic) for item in x]
        finally:
            leave()
    if cls is SymInt:
        return id(x),
    if cls is slice:
        return slice, key_of(x.start, mode, symbolic), key_of(x.stop, mode, symbolic), key_of(x.step, mode, symbolic)
    if isinstance(x, DTYPE) or (cls.__basicsize__ == object.__basicsize__ and not cls.__dictoffset__):  # without state
        return cls, x
    raise LookupError


cdef bint has_symbol(object x):
    """Whether a size in an argument is a symbol."""
    parts = ((<Fields>x).shape, (<Fields>x).strides) if Py_TYPE(<PyObject *>x) == FAKES else (
        (x.start, x.stop, x.step) if type(x) is slice else x if type(x) is tuple or type(x) is list else ())
    enter(b" while sizes were looked for")
    try:
        for part in parts:
            if type(part) is not int and has_symbol(part):
                return True
    finally:
        leave()
    return type(x) is SymInt


cdef object outputs_of(object answer, tuple args, object mode):
    """Outputs as they are remembered, each a fake of its own."""
    if type(answer) is not Single:
        return answer[0]([outputs_of(item, args, mode) for item in answer[1]])    # a class, and the answers of its items
    shape, dtype, strides, device, seen, number = answer
    if seen is None:
        return new_fake(FakeTensor, shape, dtype, strides, device, mode, number)
    base = args[seen] if isinstance(seen, int) else args[seen[0]][seen[1]]
    return fake_tensor(shape, dtype, strides, device, mode, base)


cdef bint fits(object x, object mode) except -1:
    """Whether a fake rule gets an argument as it is: a fake on the CPU, a list of these, a plain argument of a common type."""
    if Py_TYPE(<PyObject *>x) == FAKES:
        return (<Fields>x).mode is mode and (<Fields>x).device == "cpu"
    if type(x) is not list:
        return type(x) in PASSING
    for item in <list>x:
        if type(item) is list or not fits(item, mode) or Py_TYPE(<PyObject *>item) != FAKES:
            return False
    return True


cdef class Running:
    """A kernel that runs a rule on fakes, with their mode on.

    `results` makes the call's outputs of what the rule returned, and `noted(out, args)` says of those without axes whether they
    are numbers. `taking` has the arguments that take arrays, `devices` those that name a device, `written` those written to.
    `single` says whether the operator returns one array, which is no view of an argument.
    """

    def __init__(self, op, rule not None, context, results, noted, tuple taking, list devices, tuple written, bint single):
        self.op, self.rule, self.context, self.results, self.noted = op, rule, context, results, noted
        self.taking, self.devices, self.written, self.single = taking, devices, written, single
        self.fewest = 1 + max((*taking, *devices, *written), default=-1)

    def __call__(self, *args):
        cdef ModeGuard guard = active_mode(FAKE)
        cdef Fields fake
        cdef bint plain = not self.devices
        if len(args) < self.fewest:         # from who asks for the kernel itself: the core hands on all of them
            raise TypeError(f"the fake kernel of {self.op.name} takes its arguments by position, at least {self.fewest}; "
                            f"{len(args)} were given.")
        mode, device = guard.mode if guard is not None else mode_of(args), "cpu"
        for i in self.taking:
            if not fits(args[<Py_ssize_t>i], mode):
                plain = False
                break
        if not plain:
            args = faked(self.op, args, mode)
            device = device_for(self.op, args, self.devices)
        try:
            out = self.run(mode if guard is None else None, args)
        except DispatchError:
            raise
        except Exception as error:
            refuse_guessed_sizes(self.op, error, args)
            error.add_note(f"in the fake rule of {self.op.name}")
            raise
        for i in self.written:
            for x in arrays(args[i]):
                if type(x) is FakeTensor:
                    forget(x)
        if plain and self.single and Py_TYPE(<PyObject *>out) == FAKES:
            fake = out
            if fake.mode is mode and fake.kept is None and fake.device == "cpu" and self.is_new(fake, args):
                return fake if fake.shape else self.noted(fake, args)
        return self.noted(self.results.outputs(out, args, mode, device), args)

    cdef object run(self, mode, tuple args):
        """What the rule returns, with a mode turned on unless it is None."""
        cdef Setting setting
        if mode is not None:
            with ModeGuard(FAKE, mode):
                return self.run(None, args)
        setting = Setting.__new__(Setting, FAKE, self.context)
        setting.enter()
        try:
            return self.rule(*args)
        finally:
            setting.leave()

    cdef bint is_new(self, Fields out, tuple args):
        """Whether an output surely is none of the arguments."""
        for i in self.taking:
            x = args[<Py_ssize_t>i]
            if x is out or type(x) is list:
                return False
        return True


cdef class Remembering:
    """A kernel that runs another, whose answer depends on layouts and plain arguments, once for each of these."""

    def __init__(self, kernel not None):
        self.kernel, self.answers, self.strict = kernel, {}, {}

    def __call__(self, *args):
        cdef dict answers
        cdef ModeGuard guard = active_mode(FAKE)
        mode = guard.mode if guard is not None else mode_of(args)
        if mode is None:
            return self.kernel(*args)
        env = mode.shape_env
        symbolic = env is not None and (not mode.static_shapes or has_symbol(args))
        if symbolic:                        # such hold where their guards do
            answers = env.answers.setdefault(self.kernel, {})
        else:                               # a rule that makes a real array runs in a mode that takes these alone
            answers = self.answers if mode.allow_non_fake_inputs else self.strict
        try:
            key = tuple([key_of(x, mode, symbolic) for x in args])
        except LookupError:
            key = None
        if key is None:                     # outside of the except, so that no message has that error as its context
            return self.kernel(*args)
        answer = answers.get(key)
        if answer is None:
            out = self.kernel(*args)
            try:
                answer = answer_of(out, args)
            except LookupError:
                return out
            if env is not None and sizes_in(out) - sizes_in(args):
                return out                  # as many elements as the data of these arrays say
            if len(answers) >= MOST:
                answers.clear()
            answers[key] = answer
        return outputs_of(answer, args, mode)
