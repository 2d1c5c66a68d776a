"""The kernels of one operator.

Registrations at a key are a stack: the newest is live, and removing it brings back the one below. A slot is computed from
the stacks at the first call that needs it and remembered until the next registration. It holds the first of: the key's own
kernel; CompositeExplicit, at a backend's key; CompositeImplicit, at a backend's key, at FAKE, and at another layer's key
only where no backend has a kernel; Autograd, at the tape's key; the default of the key's layer.
"""
import threading

from cpython.object cimport PyObject

from .keys cimport AUTOGRAD, AUTOGRAD_ALIAS, COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, FAKE, KEYS
from .keys import DispatchKey

cdef dict layers = {}                       # key -> its layer, which gives the default
# Registration is rare and calls into Python; readers never take the lock, they see the old slot or the new one.
registration_lock = threading.RLock()


def set_layer(key not None, layer not None):
    """Let `layer` answer for `key`: its `default(op)` is the kernel of an operator that has none."""
    if layers.setdefault(int(key), layer) is not layer:
        raise ValueError(f"{DispatchKey(key)} belongs to {layers[int(key)]!r} already.")


cdef class Registration:
    """One rule or kernel, as it was registered; the handle that removes it."""

    def __init__(self, key, rule, layer=None):
        self.key, self.rule, self.layer = key, rule, layer

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


def from_operator(kernel):
    """A kernel around an operator that is registered as one: it counts how deep calls are.

    The way from one operator to the next is C and does not count, so that two operators which are each other's kernels
    would run until the stack ends.
    """
    def through(*args, **keywords):
        return kernel(*args, **keywords)

    return through


cdef class KernelTable:
    """Registrations and slots of one operator."""

    def __cinit__(self):
        self.owned = {}
        self.stacks = {}

    def add(self, Registration registration not None):
        """Make a registration the live one at its key."""
        with registration_lock:
            self.stacks.setdefault(int(registration.key), []).append(registration)
            self.reset()

    def remove(self, Registration registration not None):
        """Take a registration away again, wherever in its stack it is; twice is once."""
        with registration_lock:
            stack = self.stacks.get(int(registration.key), [])
            if registration in stack:
                stack.remove(registration)
                self.reset()

    def reset(self):
        cdef int key
        for key in range(KEYS):
            self.slots[key] = NULL
        self.owned = {}                     # a running call holds its own reference to its kernel

    def live(self, key):
        """The registration that counts at `key`, an alias included, or None."""
        stack = self.stacks.get(int(key))
        return stack[-1] if stack else None

    def all(self):
        """Every registration, by key, in each stack the live one last."""
        return [registration for key in sorted(self.stacks) for registration in self.stacks[key]]

    def has_backend(self):
        """Whether some backend has a kernel that was registered for it or for all of them."""
        return any(stack and (key < FAKE or key == COMPOSITE_EXPLICIT) for key, stack in self.stacks.items())

    def source(self, int key):
        """The registration that fills the slot of `key`, or None where the layer's default does."""
        found = self.live(key)
        if found is None and key < FAKE:
            found = self.live(COMPOSITE_EXPLICIT)
        if found is None and (key <= FAKE or not self.has_backend()):
            found = self.live(COMPOSITE_IMPLICIT)
        if found is None and key == AUTOGRAD:
            found = self.live(AUTOGRAD_ALIAS)
        return found

    cdef object resolve(self, object op, int key):
        with registration_lock:
            found = self.source(key)
            if found is not None:
                kernel = found.lowered(op)
                if found.layer is None and key >= FAKE and op.arguments.keyword_names:
                    kernel = from_positions(kernel, op.arguments.keyword_names)
            else:
                kernel = layers[key].default(op)
            if type(kernel) is type(op):
                kernel = from_operator(kernel)
            self.owned[key] = kernel
            self.slots[key] = <PyObject *>kernel
            return kernel
