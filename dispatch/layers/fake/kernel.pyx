"""The kernel that remembers the answers of a shape rule: looked up by the layouts of the fakes and the plain arguments.

Under a FakeTensorMode and in a trace every call goes this way. Written in Python the lookup would cost more than many rules.
"""
import numpy as np

from ...core import DispatchKey, active_mode
from ...symbolic import SymInt
from .rule_cache import Single, answer_of, sizes_in
from .rule_inputs import mode_of
from .tensor import FakeTensor, fake_tensor

cdef object FAKE = DispatchKey.FAKE
cdef object DTYPE = np.dtype
cdef frozenset PLAIN = frozenset({int, float, bool, complex, str, type(None), type})    # an answer may be remembered by them
cdef Py_ssize_t MOST = 1024                 # answers for one operator, which are forgotten all together


cdef tuple identities(tuple sizes):
    """Sizes to be looked up by, without asking which numbers they are; a symbolic one lives as long as its answers."""
    return tuple([n if type(n) is int else (id(n),) for n in sizes])


cdef object key_of(object x, object mode, bint symbolic):
    """What an answer depends on in an argument; LookupError for all but fakes without elements and plain values."""
    cls = type(x)
    if cls is FakeTensor:
        if x.mode is not mode or (x.data is not None and x.data.constant is not None):
            raise LookupError
        if symbolic:
            return identities(x.shape), identities(x.strides), x.dtype, x.device, x.number
        return x.shape, x.strides, x.dtype, x.device, x.number
    if cls in PLAIN:
        return cls, x                       # the type counts too, for 1, 1.0 and True are equal
    if cls is tuple or cls is list:
        return cls, *[key_of(item, mode, symbolic) for item in x]
    if cls is SymInt:
        return id(x),
    if cls is slice:
        return slice, key_of(x.start, mode, symbolic), key_of(x.stop, mode, symbolic), key_of(x.step, mode, symbolic)
    if isinstance(x, DTYPE) or (cls.__basicsize__ == object.__basicsize__ and not cls.__dictoffset__):  # without state
        return x
    raise LookupError


cdef bint has_symbol(object x):
    """Whether a size in an argument is a symbol."""
    if type(x) is slice:
        return has_symbol((x.start, x.stop, x.step))
    parts = x.shape if type(x) is FakeTensor else x if type(x) in (tuple, list) else ()
    return type(x) is SymInt or any([has_symbol(part) for part in parts])


cdef object outputs_of(object answer, tuple args, object mode):
    """Outputs as they are remembered, each a fake of its own."""
    if type(answer) is not Single:
        cls, items = answer
        return cls([outputs_of(item, args, mode) for item in items])
    shape, dtype, strides, device, seen, number = answer
    if seen is None:
        return fake_tensor(shape, dtype, strides, device, mode, None, number)
    base = args[seen] if isinstance(seen, int) else args[seen[0]][seen[1]]
    return fake_tensor(shape, dtype, strides, device, mode, base)


cdef class Remembering:
    """A kernel that runs another, whose answer depends on layouts and plain arguments, once for each of these."""

    def __init__(self, kernel not None):
        self.kernel, self.answers = kernel, {}

    def __call__(self, *args):
        cdef dict answers = self.answers
        guard = active_mode(FAKE)
        mode = guard.mode if guard is not None else mode_of(args)
        if mode is None:
            return self.kernel(*args)
        env = mode.shape_env
        if env is not None and (not mode.static_shapes or has_symbol(args)):    # such an answer holds where its guards do
            answers = env.answers.setdefault(self.kernel, {})
        try:
            key = tuple([key_of(x, mode, env is not None) for x in args])
        except LookupError:
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
