# The prose between the code says what docstrings would; rows are named after NumPy's functions, and their kernels must
# have the rows' own signatures, not NumPy's longer ones:
# ruff: noqa: A001, D101, D204, PLW0108
# The page is set by hand, so that prose and code alternate without gaps and tables look like tables:
# fmt: off
"""The whole of `dispatch` in pure Python. Read it first: every file of the package will then look familiar.

It needs NumPy and nothing else, imports nothing of the package, and `python docs/miniature.py` checks what it claims.
`tests/test_miniature.py` runs random programs through this file and through the package and compares what comes out,
`tests/test_state_machine.py` libraries that come and go.
"""
import functools
import inspect
import itertools
import threading
import weakref
from collections import Counter, defaultdict
from contextlib import contextmanager
from enum import Enum, IntEnum
from types import SimpleNamespace

import numpy as np

# # 1. The idea
#
# An operator is a signature and a table of kernels. A kernel has the operator's own signature, so `np.sin` is one
# as it stands. Derivatives, batching and shape rules are further kernels of the same operator. Such a kernel takes
# the wrappers off its arguments, *calls the same operator again*, and wraps what comes back:
#
#     op(x, y)     1  which key?      that of the highest rank among the arguments and the modes that are on
#                  2  which kernel?   the one in the table for that key
#                  3  call it         np.multiply(x, y), and that is the end; or unwrap -> op(x', y') -> wrap
#
# A wrapper has a higher rank than what it wraps. So each inner call has a lower rank, and the last one is NumPy's.
#
# # 2. Keys and levels
#
# The order of the keys is the one global decision, and it is written here only. FAKE is low, because whatever
# transforms numbers should also work on bare shapes. A mode (ours counts calls) is below the transforms and sees
# the calls they make. TRACE and MODE have no layer on this page; what is registered there is yours.

class Key(IntEnum):
    CPU, FAKE, TRACE, COUNT, MODE, AUTOGRAD, VMAP = range(7)

BACKENDS = (Key.CPU,)  # the package has more: CUDA, Dask, your own array type

class Alias(Enum):  # keys to register at that stand for several others; section 4 says for which
    COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, AUTOGRAD = range(3)

# A fixed order is not enough: `grad(vmap(f))` needs the batch above the tape, `vmap(grad(f))` the tape above the
# batch. So each transform takes the next number when it is entered, its *level*, and levels count for more than
# keys: rank = level * 64 + key. The inner transform is entered later, so it ranks higher and is unwrapped first.
# That settles every nesting. A level is not the depth of nesting: no number is used twice, by any thread, so the use
# of a value after its transform is noticed.

numbers = itertools.count()

class Level:
    def __init__(self, name):
        self.number, self.name, self.open = next(numbers), name, True
    def __enter__(self):
        return self
    def __exit__(self, *exception):
        self.open = False

LEVEL_0 = Level("level 0")  # always open: plain arrays, fakes, and what `tensor` makes

class EscapedValueError(RuntimeError):
    """A value was used or wrapped outside the transform that made it."""

class Tensor:
    """A wrapper: one value, with one key at one level. It cannot be converted to data."""
    __array_ufunc__ = None  # so that ndarray * Tensor asks the Tensor
    shape = property(lambda self: shape_of(self.value))
    dtype = property(lambda self: self.value.dtype)
    def __init__(self, value, level):
        self.value, self.level, self.rank = value, level, level.number * 64 + self.key
        if rank_of(value) >= self.rank:  # a call would not go down, and so not end
            raise EscapedValueError(f"A {type(self).__name__} of {level.name} cannot hold one of {value.level.name}.")
    def __array__(self, *args, **kwargs):
        raise TypeError(f"A {type(self).__name__} of {self.level.name} is no array: converting would lose its meaning.")
    __bool__ = __float__ = __int__ = __array__

def rank_of(value):
    if not isinstance(value, Tensor):
        return Key.CPU
    if not value.level.open:
        raise EscapedValueError(f"A value of {value.level.name} was used after that had ended. Return it instead.")
    return value.rank

def shape_of(value):
    return value.shape if hasattr(value, "shape") else np.shape(value)

# The state of a thread is the modes that are on, and the level below which `no_grad` holds. One guard changes both.

class State(threading.local):
    modes, untracked_below = (), 0

state = State()

@contextmanager
def setting(**changes):
    before = {name: getattr(state, name) for name in changes}
    vars(state).update(changes)
    try:
        yield
    finally:
        vars(state).update(before)

# # 3. Layers
#
# A subsystem is a layer. It owns one key, makes a kernel of a *rule* about an operator (a derivative, a shape), and
# has a default for an operator without a rule. A backend is a layer whose rules are kernels already.

class NoRuleError(NotImplementedError):
    """An operator met a layer that it has no rule for."""

class Layer:
    named = {}  # noqa: RUF012 -- one for all layers
    def __init__(self, name, key):
        self.name, self.key = name, key
        Layer.named[name] = self
    def lower(self, op, rule):
        return rule
    def default(self, op):
        raise NoRuleError(f"{op.name} has no {self.name} rule. Add one: {op.name}.register_{self.name}(rule).")

cpu       = Layer("cpu",       Key.CPU)
default   = Layer("default",   Alias.COMPOSITE_EXPLICIT)
composite = Layer("composite", Alias.COMPOSITE_IMPLICIT)

# # 4. The operator
#
# There is one verb, `register`, and one table. Registrations at a key are a stack: the newest counts, and removing it
# brings back the one below. `at` gives the kernel for a key, and keeps it until something is registered.
#
# A *composite explicit* kernel, such as the body of a `custom_op`, computes on every backend. A *composite implicit*
# kernel is written with other operators and has their derivatives, so it serves the layers too, but not where a
# backend has its own kernel: then the layers must see this operator and not the others. Shapes are the same anyway.
#
# Where an operator has nothing, a *fallback* is used: one kernel at a key for all operators, which is told the
# operator. After it comes the layer's default. A key without a layer is skipped, and so is one where `fallthrough` is
# registered, which marks a key and is never called: its values count as constants, its modes as off, and the call
# goes to the next key below. `redispatch` skips every key from a given one upwards.

fallbacks = defaultdict(list)  # key -> a stack of (kernel, who brought it), as an operator has for each place

def fallthrough(*args):
    raise NotImplementedError("fallthrough is a sign, and is never called.")

class GoneError(AttributeError):
    """An operator that is not defined, or whose library was destroyed."""

class OpOverload:
    everyone = weakref.WeakSet()  # noqa: RUF012 -- one for all operators
    def __init__(self, name, signature):
        OpOverload.everyone.add(self)
        self.name, self.epoch, self.gone = name, 0, False
        self.redefine(signature)

    def redefine(self, signature):
        """Start again with an empty table; whoever holds this operator calls the new definition."""
        self.signature, self.names = signature, tuple(signature.parameters)
        self.stacks, self.slots = defaultdict(list), {}
        self.epoch += 1

    def register(self, layer, rule):
        return self.register_at(layer.key, layer.lower(self, rule))

    def register_at(self, place, kernel, library=None):
        self.stacks[place].append((kernel, library))
        self.slots.clear()
        return kernel

    def unregister(self, place, kernel, library=None):
        if (kernel, library) in self.stacks[place]:  # else it went already, with an older definition
            self.stacks[place].remove((kernel, library))
            self.slots.clear()

    def __getattr__(self, name):  # op.register_vmap(rule): a layer brings its own verb, this class knows none by name
        layer = Layer.named.get(name.removeprefix("register_"))
        if layer is None or not name.startswith("register_"):
            raise AttributeError(f"{self.name} has no {name!r}. Layers: {', '.join(Layer.named)}.")
        return functools.partial(self.register, layer)

    def at(self, key):
        if key not in self.slots:
            self.slots[key] = self.slot(key)
        return self.slots[key]

    def slot(self, key):
        kernel = self.found(key)
        return functools.partial(self.past, {key}) if kernel is fallthrough else kernel

    def found(self, key):
        backend = key in BACKENDS
        implicit = backend or key is Key.FAKE or not any(map(self.stacks.get, (*BACKENDS, Alias.COMPOSITE_EXPLICIT)))
        for place, applies in ((key, True), (Alias.COMPOSITE_EXPLICIT, backend), (Alias.COMPOSITE_IMPLICIT, implicit),
                               (Alias.AUTOGRAD, key is Key.AUTOGRAD)):
            if applies and self.stacks[place]:
                return self.stacks[place][-1][0]
        if fallbacks[key]:
            kernel, _ = fallbacks[key][-1]
            return kernel if kernel is fallthrough else functools.partial(kernel, self)
        layer = next((layer for layer in Layer.named.values() if layer.key is key), None)
        return layer.default(self) if layer else fallthrough

    def __call__(self, *args, **kwargs):
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()  # a kernel gets the full tuple of arguments, by position
        return self.past((), *bound.args)

    def past(self, keys, *args):
        if self.gone:
            raise GoneError(f"{self.name} went with its library.")
        args = [constant(a, keys) for a in args]
        rank = max([rank_of(a) for a in args] + [mode.rank for mode in state.modes if mode.rank & 63 not in keys])
        return self.at(Key(rank & 63))(*args)

    def redispatch(self, below, *args):
        return self.past([key for key in Key if key >= below], *args)

def constant(value, keys):
    while isinstance(value, Tensor) and value.key in keys:
        if value.key in (Key.FAKE, Key.VMAP):
            raise RuntimeError(f"A {type(value).__name__} is no constant: a fake has no data, a batch no one item.")
        value = value.value
    return value

def define(name, signature, **row):
    """Make an operator from a row of the table. Columns are named after layers, so a new layer has its column."""
    op = OpOverload(name, signature)
    for column, rule in row.items():
        op.register(Layer.named[column], rule)
    return op

def custom_op(name):
    return lambda function: define(name, inspect.signature(function), default=function)

# Every layer's kernel first asks which arguments are its own: the wrappers of its class at the highest level. All
# others, of another class or a lower level, are constants for it and are passed on as they are.

def split(cls, args):
    level = max((a for a in args if isinstance(a, Tensor)), key=rank_of).level
    own = [isinstance(a, cls) and a.level is level for a in args]
    return level, own, [a.value if mine else a for a, mine in zip(args, own, strict=True)]

# # 5. Libraries
#
# A library is a set of definitions and kernels that are removed together. Its kernels are taken out of the stacks, so
# those below count again; its operators are gone, unless somebody has defined them again since. A new definition of
# a name starts with an empty table in the same object. A kernel may come before its operator: it waits until an
# operator of that name is defined.

operators, waiting = {}, defaultdict(list)

def find(name):
    if name not in operators:
        raise GoneError(f"There is no operator {name}.")
    return operators[name]

class Library:
    def __init__(self):
        self.defined, self.registered, self.destroyed = [], [], False

    def define(self, name, signature):
        self.check()
        again = name in operators
        if again:
            operators[name].redefine(signature)
        else:
            operators[name] = OpOverload(name, signature)
        op = operators[name]
        self.defined.append((op, op.epoch))
        for library, place, kernel in [] if again else waiting[name]:  # who defines anew registers anew
            library.keep(op, place, kernel)
        return op

    def impl(self, name, place, kernel):
        self.check(place, kernel)
        waiting[name].append((self, place, kernel))
        if name in operators:
            self.keep(operators[name], place, kernel)

    def fallback(self, key, kernel):
        self.check(key, kernel)
        self.keep(Everyone(), key, kernel)

    def keep(self, op, place, kernel):
        self.registered.append((op, place, op.register_at(place, kernel, self)))

    def check(self, place=None, kernel=None):
        if self.destroyed:
            raise ValueError("A library that was destroyed registers nothing.")
        below = (*BACKENDS, Alias.COMPOSITE_EXPLICIT, Alias.COMPOSITE_IMPLICIT)
        if kernel is fallthrough and place in (*below, Key.FAKE, Key.VMAP):
            raise ValueError("Nothing is below a backend, and neither fakes nor batches are constants.")

    def destroy(self):
        if self.destroyed:
            return
        self.destroyed = True
        for kernels in waiting.values():
            kernels[:] = [each for each in kernels if each[0] is not self]
        for op, place, kernel in self.registered:
            op.unregister(place, kernel, self)
        for op, epoch in self.defined:
            if op.epoch == epoch and operators.pop(op.name, None):
                op.gone = True

    def __enter__(self):
        return self
    def __exit__(self, *exception):
        self.destroy()

class Everyone:
    """All operators as one: what a fallback is registered with."""
    def register_at(self, place, *registration):
        return self.change(fallbacks[place].append, registration)
    def unregister(self, place, *registration):
        return self.change(fallbacks[place].remove, registration)
    def change(self, change, registration):
        change(registration)
        for op in OpOverload.everyone:
            op.slots.clear()
        return registration[0]

# # 6. Fakes: shapes without data
#
# A fake holds one number, with zero strides so that it looks like an array of any shape: all the metadata without the
# memory. A kernel that only makes views, such as `np.reshape`, is then its own shape rule. Of a rule's result only
# shape and dtype are read.

def hollow(shape, dtype):
    return np.broadcast_to(np.ones((), dtype), shape)

class FakeTensor(Tensor):
    key = Key.FAKE
    def __init__(self, shape, dtype):
        super().__init__(hollow(shape, dtype), LEVEL_0)

class FakeLayer(Layer):
    def lower(self, op, rule):
        def kernel(*args):
            out = rule(*[hollow(a.shape, a.dtype) if hasattr(a, "dtype") else a for a in args])
            return FakeTensor(out.shape, out.dtype)
        return kernel

fakes = FakeLayer("fake", Key.FAKE)

# # 7. The tape: gradients
#
# A tracked value has a node, and a node one edge for each tracked input: that input's node, its rule, and what the
# rule reads. A rule says what it reads by its parameters' names: arguments, the result `out`, the incoming gradient
# `g`, or `x_shape` if the shape of x will do. What it does not name is not kept alive.
#
# What is kept comes from *below* the wrapper. So there are no cycles, and higher orders need no thought: in
# `grad(grad(f))` the inner tape keeps values of the outer one, and the inner rules, being written with operators,
# are recorded on the outer tape.

class Rule:
    def __init__(self, function, names=None):
        self.function, self.names = function, names or tuple(inspect.signature(function).parameters)
    def keep(self, scope):
        names = [n for n in self.names if n != "g"]
        return {n: scope[n] if n in scope else shape_of(scope[n.removesuffix("_shape")]) for n in names}
    def __call__(self, g, kept):
        return self.function(*[g if n == "g" else kept[n] for n in self.names])

class Node:
    def __init__(self, value, edges=()):
        self.number, self.shape, self.dtype, self.edges = next(numbers), value.shape, value.dtype, edges

class TrackedTensor(Tensor):
    key = Key.AUTOGRAD
    def __init__(self, value, level, edges=()):
        super().__init__(value, level)
        self.node = Node(value, edges)

class TapeLayer(Layer):
    def lower(self, op, rules):  # one for each argument; None is a zero
        rules = [Rule(rule) if inspect.isfunction(rule) else rule for rule in rules]
        def kernel(*args):
            level, own, plain = split(TrackedTensor, args)
            out = op(*plain)
            if level.number < state.untracked_below:
                return out
            scope = dict(zip(op.names, plain, strict=True), out=out)
            tracked = [(a.node, rule) for a, mine, rule in zip(args, own, rules, strict=False) if mine and rule]
            edges = [(node, rule, rule.keep(scope)) for node, rule in tracked]
            return TrackedTensor(out, level, edges) if edges else out
        return kernel
    def default(self, op):  # no rule is not a zero: the error waits in the node until somebody asks for the gradient
        return self.lower(op, [lambda: Layer.default(self, op)] * len(op.names))

tape = TapeLayer("autograd", Key.AUTOGRAD)

# Backward visits the nodes from the newest to the oldest. A node is newer than all it was made from, so when its
# turn comes its gradient is complete. It is a loop and no recursion: tapes have a million nodes, Python's stack a
# thousand frames. A gradient is brought to its input's shape and dtype here, once for all, so that no rule has to
# think of broadcasting.

def pull(y, x):
    """The gradient of a 0-d y in x, both on one tape."""
    zero = np.zeros((), x.dtype)
    if not (isinstance(y, TrackedTensor) and y.level is x.level):
        return broadcast_to(zero, x.shape)
    if y.shape != ():
        raise ValueError(f"grad needs a result of shape (), and this one has {y.shape}. Sum it.")
    reached, todo = {y.node}, [y.node]
    while todo:
        new = {parent for parent, _, _ in todo.pop().edges} - reached
        reached |= new
        todo += new
    grads = {y.node: np.ones((), y.dtype)}
    for node in sorted(reached - {x.node}, key=lambda node: -node.number):
        g = grads.pop(node)
        for parent, rule, kept in node.edges:
            piece = fit(rule(g, kept), parent.shape, parent.dtype)
            grads[parent] = add(grads[parent], piece) if parent in grads else piece
    return grads[x.node] if x.node in grads else broadcast_to(zero, x.shape)

def fit(g, shape, dtype):
    extra = len(shape_of(g)) - len(shape)
    axes = tuple(i for i, n in enumerate(shape_of(g)) if i < extra or shape[i - extra] != n)
    g = reshape(sum(g, axes), shape) if axes else g
    return g if g.dtype == dtype else astype(g, dtype)

def grad(f, argnums=0):
    def gradient(*args):
        with Level("grad") as level:
            x = TrackedTensor(as_array(args[argnums]), level)
            return pull(f(*args[:argnums], x, *args[argnums + 1:]), x)
    return gradient

def as_array(x):
    return x if hasattr(x, "dtype") else np.asarray(x)

def tensor(array):
    """A tracked value without any transform: y = f(x), then pull(y, x). A copy, since the tape outlives this line."""
    return TrackedTensor(np.array(array), LEVEL_0)

# `no_grad` takes a number like everyone else. It covers the levels that were open when it was entered, 0 among
# them: they are those with a smaller number. A transform that is opened inside has a larger one, and records.

@contextmanager
def no_grad():
    with setting(untracked_below=next(numbers)):
        yield

# # 8. Batches
#
# A batched value is a pile of values of one shape, along a first axis that `shape` does not show. (In the package it
# can be any axis.) A rule computes the whole pile in one call: rule(info, in_dims, *args) -> out, out_dim, where
# in_dims has 0 or None for each argument, batched or not. An operator without a rule is called slice by slice; the
# results are put together by operators too, because the values inside the batch may be tracked.

class BatchedTensor(Tensor):
    key = Key.VMAP
    shape = property(lambda self: shape_of(self.value)[1:])

class BatchLayer(Layer):
    def lower(self, op, rule):
        def kernel(*args):
            level, own, plain = split(BatchedTensor, args)
            info = SimpleNamespace(batch_size=shape_of(plain[own.index(True)])[0])
            out, out_dim = rule(info, tuple(0 if mine else None for mine in own), *plain)
            return out if out_dim is None else BatchedTensor(out, level)
        return kernel
    def default(self, op):
        def loop(info, in_dims, *args):
            n, dims = info.batch_size, list(zip(args, in_dims, strict=True))
            slices = [op(*[a if d is None else getitem(a, i) for a, d in dims]) for i in range(n)]
            return functools.reduce(add, [put(y, i, (n, *shape_of(y))) for i, y in enumerate(slices)]), 0
        return self.lower(op, loop)

batches = BatchLayer("vmap", Key.VMAP)

def vmap(f, in_dims=0):
    def mapped(*args):
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = {shape_of(a)[d] for a, d in zip(args, dims, strict=True) if d is not None}
        if len(sizes) != 1:
            raise ValueError(f"The mapped axes must have one size, and these have {sorted(sizes)}.")
        with Level("vmap") as level:
            y = f(*[a if d is None else BatchedTensor(to_front(a, d), level) for a, d in zip(args, dims, strict=True)])
            if isinstance(y, BatchedTensor) and y.level is level:
                return y.value
            return broadcast_to(y, (*sizes, *shape_of(y)))  # a result that does not depend on the batch is still one
    return mapped

def to_front(x, axis):
    axes = list(range(len(shape_of(x))))
    return transpose(x, (axes.pop(axis), *axes)) if axis else x

# # 9. A mode: a layer without a wrapper
#
# A mode is on for a thread. Its rank counts in every call as if it were an argument, and its kernel turns it off for
# the inner call. This one has no rules: its `default` is what it does to all operators. A layer costs these eight
# lines; no row of the table changes, and it works under every transform.

class CountLayer(Layer):
    def default(self, op):
        def kernel(*args):
            *others, mode = state.modes
            mode.counts[op.name] += 1
            with setting(modes=tuple(others)):
                return op(*args)
        return kernel

counting = CountLayer("count", Key.COUNT)

def count(f, *args):
    mode = SimpleNamespace(rank=Key.COUNT, counts=Counter())
    with setting(modes=(*state.modes, mode)):
        f(*args)
    return mode.counts

# # 10. Families: what many rows share
#
# Most rules need not be written. The partial derivatives of an elementwise operator are enough: the tape multiplies g
# by them, and shape, dtype and batch follow from broadcasting. Partials are written with operators and never with
# `np.`, because the layers below must see them.

def pointwise(name, kernel, *partials, names=("x", "y")):
    def fake(*args):
        one = kernel(*[hollow((), a.dtype) if hasattr(a, "dtype") else a for a in args])  # NumPy finds the dtype
        return hollow(np.broadcast_shapes(*map(shape_of, args)), one.dtype)
    def chained(partial):
        rule = Rule(partial)
        return Rule(lambda g, *kept: multiply(g, rule.function(*kept)), ("g", *rule.names))
    rules = [partial and chained(partial) for partial in partials]
    op = define(name, parameters(*names[:len(partials)]), cpu=kernel, fake=fake, autograd=rules)
    op.register_vmap(aligned(op))
    return op

def parameters(*names):
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])

def aligned(op):
    """Broadcasting aligns axes on the right and the pile is on the left: insert axes of length 1 between them."""
    def rule(info, in_dims, *args):
        ndim = max(len(shape_of(a)) - (d == 0) for a, d in zip(args, in_dims, strict=True))
        return op(*[a if d is None else padded(a, ndim) for a, d in zip(args, in_dims, strict=True)]), 0
    return rule

def padded(pile, ndim):
    n, *rest = shape_of(pile)
    return reshape(pile, (n, *[1] * (ndim - len(rest)), *rest)) if len(rest) < ndim else pile

def linear(name, kernel, vjp, batched, fake=None):
    """Linear in x, and the rest is plain data: shapes, axes, indices. Its vjp is again a linear operator."""
    return define(name, inspect.signature(kernel), cpu=kernel, fake=fake or kernel, autograd=[vjp],
                  vmap=lambda info, in_dims, *args: (batched(info.batch_size, *args), 0))

# # 11. The table
#
#                     name        kernel        partial derivative in each argument
add      = pointwise("add",      np.add,      lambda: 1.0,       lambda: 1.0)
cos      = pointwise("cos",      np.cos,      lambda x: negative(sin(x)))
divide   = pointwise("divide",   np.divide,   lambda y: divide(1.0, y), lambda out, y: negative(divide(out, y)))
exp      = pointwise("exp",      np.exp,      lambda out: out)
greater  = pointwise("greater",  np.greater,  None,              None)
multiply = pointwise("multiply", np.multiply, lambda y: y,       lambda x: x)
negative = pointwise("negative", np.negative, lambda: -1.0)
sin      = pointwise("sin",      np.sin,      lambda x: cos(x))
sqrt     = pointwise("sqrt",     np.sqrt,     lambda out: divide(0.5, out))
subtract = pointwise("subtract", np.subtract, lambda: 1.0,       lambda: -1.0)
tanh     = pointwise("tanh",     np.tanh,     lambda out: subtract(1.0, multiply(out, out)))
where    = pointwise("where",    np.where,    None, lambda condition: where(condition, 1.0, 0.0),
                     lambda condition: where(condition, 0.0, 1.0), names=("condition", "x", "y"))

# Linear rows come in pairs, each the derivative of the other: sum and broadcast_to, getitem and put. reshape and
# transpose are their own partners. broadcast_to and astype pass g on, since the tape makes it fit x.

def axes_of(axis, ndim):
    return tuple(i % ndim for i in (range(ndim) if axis is None else np.atleast_1d(axis).tolist()))

def shifted(axis, pile):
    return tuple(i + 1 for i in axes_of(axis, len(shape_of(pile)) - 1))

def reduced(shape, axis, keepdims=True):
    gone = axes_of(axis, len(shape))
    return tuple(1 if i in gone else n for i, n in enumerate(shape) if keepdims or i not in gone)

def behind(index):
    return (slice(None), *(index if isinstance(index, tuple) else (index,)))

def placed(x, index, shape):
    out = np.zeros(shape, x.dtype)
    out[index] = x
    return out

astype       = linear("astype", lambda x, dtype: np.asarray(x, dtype),
                      vjp=lambda g: g,
                      batched=lambda n, x, dtype: astype(x, dtype),
                      fake=lambda x, dtype: hollow(x.shape, dtype))
broadcast_to = linear("broadcast_to", lambda x, shape: np.broadcast_to(x, shape),
                      vjp=lambda g: g,
                      batched=lambda n, x, shape: broadcast_to(padded(x, len(shape)), (n, *shape)))
getitem      = linear("getitem", lambda x, index: x[index],
                      vjp=lambda g, x_shape, index: put(g, index, x_shape),
                      batched=lambda n, x, index: getitem(x, behind(index)))
put          = linear("put", placed,
                      vjp=lambda g, index: getitem(g, index),
                      batched=lambda n, x, index, shape: put(x, behind(index), (n, *shape)),
                      fake=lambda x, index, shape: hollow(shape, x.dtype))
reshape      = linear("reshape", lambda x, shape: np.reshape(x, shape),
                      vjp=lambda g, x_shape: reshape(g, x_shape),
                      batched=lambda n, x, shape: reshape(x, (n, *shape)))
sum          = linear("sum", lambda x, axis=None, keepdims=False: np.sum(x, axis, keepdims=keepdims),
                      vjp=lambda g, x_shape, axis: broadcast_to(reshape(g, reduced(x_shape, axis)), x_shape),
                      batched=lambda n, x, axis, keepdims: sum(x, shifted(axis, x), keepdims),
                      fake=lambda x, axis, keepdims: hollow(reduced(x.shape, axis, keepdims), np.sum(x.flat[:1]).dtype))
transpose    = linear("transpose", lambda x, axes: np.transpose(x, axes),
                      vjp=lambda g, axes: transpose(g, tuple(np.argsort(axes).tolist())),
                      batched=lambda n, x, axes: transpose(x, (0, *shifted(axes, x))))

# A row without a family. It broadcasts over all axes but two, so it needs no batching rule of its own.

def flip(x):
    *front, i, j = range(len(shape_of(x)))
    return transpose(x, (*front, j, i))

def product(x, y):
    front = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return hollow((*front, x.shape[-2], y.shape[-1]), np.result_type(x, y))

matmul = define("matmul", parameters("x", "y"), cpu=np.matmul, fake=product,
                autograd=[lambda g, y: matmul(g, flip(y)), lambda g, x: matmul(flip(x), g)])
matmul.register_vmap(aligned(matmul))

# And composites, which need no rule at all.

def composite_op(function):
    return define(function.__name__, inspect.signature(function), composite=function)

@composite_op
def mean(x, axis=None, keepdims=False):
    total = sum(x, axis, keepdims)
    return divide(total, np.prod(shape_of(x)) / np.prod(shape_of(total)))

@composite_op
def expand_dims(x, axis):
    shape = list(shape_of(x))
    shape.insert(axis % (len(shape) + 1), 1)
    return reshape(x, tuple(shape))

# The table gives the wrapper its infix operators, so that the code above knows no operator by name.

for infix, op in {"add": add, "sub": subtract, "mul": multiply, "truediv": divide, "matmul": matmul}.items():
    setattr(Tensor, f"__{infix}__", lambda self, other, op=op: op(self, other))
    setattr(Tensor, f"__r{infix}__", lambda self, other, op=op: op(other, self))

# # 12. Claims

def claims():
    close, raises = np.testing.assert_allclose, np.testing.assert_raises
    x = np.linspace(0.1, 1.0, 4)
    f = lambda x: sin(x) * x
    df = lambda x: np.cos(x) * x + np.sin(x)
    d2f = lambda x: 2 * np.cos(x) - np.sin(x) * x

    # Transforms nest in any order, and agree with calculus.
    close(grad(grad(f))(0.3), d2f(0.3))
    close(vmap(grad(grad(f)))(x), d2f(x))
    close(grad(lambda x: sum(vmap(grad(f))(x)))(x), d2f(x))
    close(vmap(lambda a: vmap(lambda b: a * b)(x))(x), np.outer(x, x))

    # What belongs to an outer level is a constant to the inner one, and what does not depend on x has the gradient 0.
    close(grad(lambda x: x * grad(lambda y: x)(0.0))(2.0), 0.0)
    close(vmap(grad(lambda a: 5.0))(x), 0 * x)

    # Type in, type out: no wrapper is left when the transforms are over, and float32 stays float32.
    assert type(vmap(grad(f))(x)) is np.ndarray
    assert grad(f)(np.float32(0.3)).dtype == np.float32

    # A value that escapes from its transform raises; a tape at level 0 cannot hold what a transform made.
    escaped = []
    grad(lambda x: escaped.append(x) or sin(x))(0.3)
    raises(EscapedValueError, lambda: sin(escaped[0]))
    raises(EscapedValueError, lambda: vmap(lambda a: TrackedTensor(a, LEVEL_0))(x))

    # no_grad covers what is open around it, and not what is opened inside.
    def half(x):
        with no_grad():
            return sin(x) * grad(sin)(0.3)
    close(grad(lambda x: x * half(x))(0.7), half(0.7))

    # Threads share the operators and the counter, nothing else: inside this no_grad, another thread records.
    t, results = tensor(x), []
    with no_grad():
        thread = threading.Thread(target=lambda: results.append(pull(sum(f(t)), t)))
        thread.start()
        thread.join()
    close(results, [df(x)])

    # A tape of twenty thousand nodes needs no deep stack, neither to run nor to be freed.
    close(grad(lambda x: functools.reduce(lambda x, _: negative(x), range(20_000), x))(1.0), 1.0)

    # Fakes go through the transforms as well, and the mode sees what is left of them.
    fake = grad(lambda x: sum(f(x)))(FakeTensor((2, 3), np.float32))
    assert (type(fake), fake.shape, fake.dtype) == (FakeTensor, (2, 3), np.float32)
    assert count(vmap(grad(f)), x)["cos"] == count(vmap(f), x)["sin"] == 1

    # Your own operator: NumPy, C or anything inside. Without rules it is looped over and has no gradient.
    cube = custom_op("mylib::cube")(lambda x: np.asarray(x) ** 3)
    close(vmap(cube)(x), x**3)
    raises(NoRuleError, lambda: grad(cube)(2.0))
    cube.register_autograd([lambda g, x: g * 3.0 * x * x])
    close(vmap(grad(cube))(x), 3 * x**2)
    close(grad(lambda x: sum(vmap(cube)(x)))(x), 3 * x**2)

    # The newest registration holds; removing it brings back the one below.
    faster = cube.register_cpu(lambda x: x * x * x)
    assert cube.at(Key.CPU) is faster
    cube.unregister(Key.CPU, faster)
    assert cube.at(Key.CPU) is not faster

    # Kernels go with their library, and those they covered count again; what it defined is gone.
    with Library() as lib:
        lib.impl("mylib::half", Key.CPU, lambda x: x / 2)  # it waits for the definition
        half = lib.define("mylib::half", parameters("x"))
        with Library() as other:
            other.impl("mylib::half", Key.CPU, lambda x: x * 0.25)
            close(half(x), x / 4)
        close(half(x), x / 2)
        # A fallback serves all operators without a kernel there and calls on below; a fallthrough hides it.
        seen = []
        lib.fallback(Key.AUTOGRAD, lambda op, *args: seen.append(op) or op.redispatch(Key.AUTOGRAD, *args))
        assert type(half(tensor(x))) is np.ndarray
        lib.impl("mylib::half", Key.AUTOGRAD, fallthrough)
        assert type(half(tensor(x))) is np.ndarray
        assert seen == [half]
    raises(GoneError, lambda: half(x))
    raises(GoneError, lambda: find("mylib::half"))

if __name__ == "__main__":
    claims()
    print("miniature: all claims hold")
