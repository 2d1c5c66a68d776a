"""The kernels of one operator.

Registrations at a key are a stack: the newest is live, and removing it brings back the one below. A slot is computed from
the stacks at the first call that needs it and remembered until the next registration. It holds the first of: the key's own
kernel; CompositeExplicit, at a backend's key; CompositeImplicit, at a backend's key, at FAKE, and at another layer's key
only where no backend has a kernel; Autograd, at the tape's key; the key's fallback, which is for every operator; the default
of the key's layer. A key that has neither is transparent.
"""
import threading

cimport cython
from cpython.object cimport PyObject

from functools import partial
from operator import attrgetter

from .keys cimport AROUND, AUTOGRAD, AUTOGRAD_ALIAS, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, FAKE, KEYS, OBSERVE
from .keys import DispatchKey
from ..errors import OperatorNotFoundError

changes_of_all = [0]                        # how often anything was defined, registered or removed: all that empties slots
cdef dict layers = {}                       # key -> its layer, which gives the default
cdef dict fallbacks = {}                    # key -> registrations for every operator, the newest last and live
cdef set divided = set()                    # backends whose arrays are in parts, of which a kernel for all knows nothing
# Registration is rare and calls into Python; readers never take the lock, they see the old slot or the new one.
registration_lock = threading.RLock()


def set_layer(key not None, layer not None):
    """Let `layer` answer for `key`: its `default(op)` is the kernel of an operator that has none."""
    if layers.setdefault(int(key), layer) is not layer:
        raise ValueError(f"{DispatchKey(key)} belongs to {layers[int(key)]!r} already.")


def slot_keys(int key):
    """The keys whose registrations may fill the slot of `key`, in the order in which they are asked."""
    if key == OBSERVE:
        return ()
    if key < FAKE:
        return key, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT
    if key == AUTOGRAD:
        return key, COMPOSITE_IMPLICIT, AUTOGRAD_ALIAS
    return key, COMPOSITE_IMPLICIT


def fallthrough_kernel(*args, **keywords):
    """A mark to register in place of a kernel: calls pass the key, and its values are constants to them.

    Raises
    ------
    NotImplementedError
        If it is called: it computes nothing.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import Library, fallthrough_kernel
    >>> x = dispatch.tensor([0.0, 1.0], requires_grad=True)
    >>> with Library("np", "IMPL") as lib:
    ...     lib.impl("floor", fallthrough_kernel, "Autograd")
    ...     dispatch.ops.np.floor(x)
    array([0., 1.])
    """
    raise NotImplementedError("fallthrough_kernel is registered as a kernel, to let calls through, and is never called.")


def add_fallback(Registration registration not None):
    """Make a registration the live one at its key for every operator that has none of its own; slots are not reset."""
    fallbacks.setdefault(int(registration.key), []).append(registration)


def set_divided(key not None):
    """Say that the arrays of a backend are in parts: its fallback counts before a kernel that is for every backend."""
    divided.add(int(key))


def remove_fallback(Registration registration not None):
    """Take it away again, wherever in its stack it is; twice is once."""
    if registration in fallbacks.get(int(registration.key), []):
        fallbacks[int(registration.key)].remove(registration)


def live_fallbacks():
    """The registrations for every operator that count, one a key."""
    return [stack[-1] for stack in fallbacks.values() if stack]


@cython.binding(False)
cdef class Registration:
    """One rule or kernel, as it was registered; the handle that removes it.

    With `keyed` the kernel takes, before everything else, the key at which it runs; a fallback takes the operator.
    """

    def __init__(self, key, rule, layer=None, *, keyed=False):
        self.key, self.rule, self.layer, self.keyed, self.number = key, rule, layer, keyed, key

    def lowered(self, op):
        """The kernel of `op` that this registration stands for."""
        if self.kernel is None:
            self.kernel = self.rule if self.layer is None else self.layer.lower(op, self.rule)
        return self.kernel

    def __repr__(self):
        return f"Registration({self.key}, {self.rule!r})"


def from_positions(kernel, tuple keywords not None):
    """A kernel that takes every argument by position, as those at a layer's key do, around one that has keyword-only ones."""
    def by_position(*args):
        return kernel(*args[:-len(keywords)], **dict(zip(keywords, args[-len(keywords):])))

    return by_position


@cython.binding(False)
cdef class KernelTable:
    """Registrations and slots of one definition of an operator.

    Parameters
    ----------
    keyword_names : tuple of str, optional
        The keyword-only arguments, in schema order: kernels at a layer's key are called with them by position.
    """

    def __cinit__(self, tuple keyword_names not None=()):
        self.registrations = []
        self.keyword_names = keyword_names

    def add(self, Registration registration not None):
        """Make a registration the live one at its key."""
        with registration_lock:
            if self.gone is not None:
                raise OperatorNotFoundError(self.gone)
            self.registrations.append(registration)
            self.reset()

    def remove(self, Registration registration not None):
        """Take a registration away again, wherever in its stack it is; twice is once."""
        with registration_lock:
            if registration in self.registrations:
                # another list, for readers that are in the middle of this one
                self.registrations = [other for other in self.registrations if other is not registration]
                self.reset()

    def reset(self):
        """Forget every kernel that was made; each is made anew at the next call that needs it."""
        cdef int key
        self.changes += 1
        self.looks = 0
        changes_of_all[0] += 1
        _owned = self.owned                 # let go of at the end, when no slot points to a kernel; running calls hold theirs
        for key in range(KEYS):
            self.slots[key] = NULL
        self.owned = None

    def retire(self, str message not None):
        """Forget every kernel: the operator is gone, and calls raise with `message` from here on."""
        with registration_lock:
            self.gone = message
            self.registrations = []
            self.reset()

    def live(self, int key, passed=()):
        """The registration that counts at `key`, an alias included, or None; those in `passed` are passed over."""
        cdef list registrations = self.registrations
        cdef Registration registration
        for registration in reversed(registrations):
            if registration.number == key and registration not in passed:
                return registration
        return None

    def holds(self, Registration registration not None):
        """Whether a registration is still here, live or covered."""
        return registration in self.registrations

    def all(self):
        """Every registration, by key, in each stack the live one last."""
        return sorted(self.registrations, key=attrgetter("key"))

    def has_backend(self):
        """Whether some backend has a kernel that was registered for it or for all of them."""
        numbers = [(<Registration>r).number for r in self.registrations]
        return any([number < FAKE or number == COMPOSITE_EXPLICIT for number in numbers])

    def source(self, int key, passed=()):
        """The registration that fills the slot of `key`, or None where the layer's default does."""
        for at in slot_keys(key):
            if at == COMPOSITE_IMPLICIT and key > FAKE and self.has_backend() or at == COMPOSITE_EXPLICIT and key in divided:
                continue
            found = self.live(at, passed)
            if found is not None:
                return found
        return fallbacks[key][-1] if fallbacks.get(key) else None

    def lowered(self, op, int key, passed=()):
        """The kernel for the slot of `key`, the registrations in `passed` passed over.

        A rule at AROUND takes it from `covered`, and may put another one before it; no registration at the key covers that.
        """
        around = self.live(AROUND)
        if around is None:
            return self.covered(op, key, passed)
        return around.rule(op, key, partial(self.covered, op, key, passed))

    def covered(self, op, int key, passed=()):
        """`lowered`, as it is where nothing stands around it."""
        cdef Registration found
        if self.gone is not None:
            raise OperatorNotFoundError(self.gone)
        found = self.source(key, passed)
        if found is None:
            kernel = layers[key].default(op) if key in layers else op.fallthrough(1 << key)
        elif found.rule is fallthrough_kernel:
            kernel = op.fallthrough(1 << key)
        else:
            kernel = found.lowered(op)
            if found.keyed:
                kernel = partial(kernel, DispatchKey(key))
            if not self.holds(found):           # a fallback: it is told which operator it stands in for
                kernel = partial(kernel, op)
            if found.layer is None and key >= FAKE and self.keyword_names:
                kernel = from_positions(kernel, self.keyword_names)
        return kernel

    cdef object resolve(self, object op, int key):
        """The kernel in the slot of `key`, which is filled where it is empty."""
        cdef size_t before
        with registration_lock:
            before = self.changes
            if self.slots[key] == NULL:
                kernel = self.lowered(op, key)
                if self.changes != before:      # lowering is Python, and has registered something else
                    return kernel
                if self.slots[key] == NULL:     # nor has it called the operator
                    if self.owned is None:
                        self.owned = []
                    self.owned.append(kernel)
                    self.slots[key] = <PyObject *>kernel
            return <object>self.slots[key]
