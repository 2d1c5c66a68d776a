"""Whatever libraries define, register and take away, the same kernels run in the package and in `docs/miniature.py`.

Kernels of both write their names down. After each step every operator, and every handle to one that was there before, is
called with arrays and wrappers, and below keys, with and without an included mode: both have written the same, or failed with
the same kind of error. `pytest --hypothesis-profile=nightly tests/test_state_machine.py` takes longer.
"""

import itertools
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from test_miniature import miniature

from dispatch.core import DispatchKey, Level, Tensor, ground, wrap
from dispatch.dispatcher.key_guards import IncludeDispatchKeyGuard
from dispatch.layers.autograd import track
from dispatch.library import Library, fallthrough_kernel
from dispatch.operators.namespaces import find, known, waiting_for

A = np.ones(2)
NAMESPACE, NAMES = "state_machine", ("f", "g")  # one for all examples, for nothing may be left of one
SMALL_KEYS, SMALL_PLACES = miniature.Key, miniature.Alias
TWINS = {"TRACE": "LAYER", "MODE": "MODE", "AUTOGRAD": "AUTOGRAD"}  # the miniature's key that no layer owns, and ours
LAYERS = {small: (SMALL_KEYS[small], DispatchKey[large]) for small, large in TWINS.items()}
KEYS = {"CPU": (SMALL_KEYS.CPU, DispatchKey.CPU), **LAYERS}
PLACES = {
    **KEYS,
    "CompositeExplicit": (SMALL_PLACES.COMPOSITE_EXPLICIT, DispatchKey.CompositeExplicit),
    "CompositeImplicit": (SMALL_PLACES.COMPOSITE_IMPLICIT, DispatchKey.CompositeImplicit),
    "Autograd": (SMALL_PLACES.AUTOGRAD, DispatchKey.Autograd),
}
KINDS = (NotImplementedError, AttributeError, ValueError, RuntimeError)  # what the errors of both are


class Shadow(miniature.Tensor):
    """A wrapper of a layer that nothing else uses, as the miniature has them."""

    key = SMALL_KEYS.TRACE


class LargeShadow(Tensor):
    """Its twin."""

    __slots__ = ()
    key = DispatchKey.LAYER


def shadow(value, like):
    return wrap(LargeShadow, value, like)


def included():
    """The miniature's twin of IncludeDispatchKeyGuard("MODE")."""
    return miniature.setting(modes=(*miniature.state.modes, SimpleNamespace(rank=SMALL_KEYS.MODE)))


ARGUMENTS = {  # made at the level of a transform that is running
    "an array": (lambda level: A, lambda level: A),
    "a shadow": (lambda level: Shadow(A, miniature.LEVEL_0), lambda level: shadow(A, ground())),
    "a tracked value": (lambda level: miniature.tensor(A), lambda level: track(A, ground())),
    "a tracked shadow": (
        lambda level: miniature.TrackedTensor(Shadow(A, miniature.LEVEL_0), miniature.LEVEL_0),
        lambda level: track(shadow(A, ground()), ground()),
    ),
    "a shadow over the tape": (
        lambda level: Shadow(miniature.tensor(A), level),
        lambda level: shadow(track(A, ground()), level),
    ),
}


def kind_of_error(call):
    """Run a call: None, or which kind of error it raises."""
    try:
        call()
    except KINDS as error:
        return next(kind.__name__ for kind in KINDS if isinstance(error, kind))
    return None


class Libraries(RuleBasedStateMachine):
    """At most four libraries at a time, and two names for operators."""

    def __init__(self):
        super().__init__()
        self.libraries = []
        self.handles = []
        self.ran = []
        self.tags = itertools.count()

    # -- steps: each done to both -------------------------------------------------------------------------------------------

    def both(self, small, large):
        assert kind_of_error(small) == kind_of_error(large)

    def any_library(self, i):
        return self.libraries[i % len(self.libraries)]

    def kernels(self, place, behaviour, name=None):
        """A kernel for each of the two, which writes its name down; of a fallback where no name is given."""
        if behaviour == "falls through":
            return miniature.fallthrough, fallthrough_kernel
        tag = (next(self.tags), name, place)
        below = LAYERS.get("AUTOGRAD" if place == "Autograd" else place) if behaviour == "goes on" else None

        def small(*args):
            self.ran.append(tag)
            op, args = (args[0], args[1:]) if name is None else (miniature.find(f"{NAMESPACE}::{name}"), args)
            return op.redispatch(below[0], *args) if below else A + 1

        def large(*args):
            self.ran.append(tag)
            op, args = (args[0], args[1:]) if name is None else (find(f"{NAMESPACE}::{name}"), args)
            return op.redispatch(below[1], *args) if below else A + 1

        return small, large

    @precondition(lambda self: len(self.libraries) < 4)
    @rule()
    def make(self):
        self.libraries.append((miniature.Library(), Library(NAMESPACE, "FRAGMENT"), Library("_", "IMPL")))

    @precondition(lambda self: self.libraries)
    @rule(i=st.integers(0, 3), name=st.sampled_from(NAMES))
    def define(self, i, name):
        small, large, _ = self.any_library(i)
        parameters = miniature.parameters("x")
        self.both(lambda: small.define(f"{NAMESPACE}::{name}", parameters), lambda: large.define(f"{name}(Tensor x) -> Tensor"))

    @precondition(lambda self: self.libraries)
    @rule(
        i=st.integers(0, 3),
        name=st.sampled_from(NAMES),
        place=st.sampled_from(sorted(PLACES)),
        behaviour=st.sampled_from(["stops", "goes on", "falls through"]),
    )
    def impl(self, i, name, place, behaviour):
        small, large, _ = self.any_library(i)
        mine, theirs = self.kernels(place, behaviour, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a kernel that waits where its library defines another operator
            self.both(
                lambda: small.impl(f"{NAMESPACE}::{name}", PLACES[place][0], mine),
                lambda: large.impl(name, theirs, PLACES[place][1]),
            )

    @precondition(lambda self: self.libraries)
    @rule(
        i=st.integers(0, 3),
        key=st.sampled_from(sorted(KEYS)),
        behaviour=st.sampled_from(["stops", "goes on", "falls through"]),
    )
    def fallback(self, i, key, behaviour):
        small, _, large = self.any_library(i)
        mine, theirs = self.kernels(key, behaviour)
        self.both(lambda: small.fallback(KEYS[key][0], mine), lambda: large.fallback(theirs, KEYS[key][1]))

    @precondition(lambda self: self.libraries)
    @rule(i=st.integers(0, 3), again=st.booleans())
    def destroy(self, i, again):
        """Destroy a library; its place is free for a new one, or it stays and is asked for more."""
        small, *large = self.any_library(i)
        small.destroy()
        for library in large:
            library.destroy()
        if not again:
            self.libraries.pop(i % len(self.libraries))

    # -- laws ---------------------------------------------------------------------------------------------------------------

    def seen(self, op, argument, below, include):
        """What a call writes down, and how it fails."""
        self.ran.clear()
        with include:
            error = kind_of_error(lambda: op(argument) if below is None else op.redispatch(below, argument))
        return [*self.ran], error

    def agree(self, small, large):
        with miniature.Level("a transform") as inner, Level("a transform") as level:
            self.agree_inside(small, large, inner, level)

    def agree_inside(self, small, large, inner, level):
        calls = [(name, None) for name in ARGUMENTS] + [("a tracked shadow", key) for key in LAYERS]
        for (name, below), include in itertools.product(calls, (False, True)):
            (mine, theirs), keys = ARGUMENTS[name], (None, None) if below is None else LAYERS[below]
            expected = self.seen(small, mine(inner), keys[0], included() if include else nullcontext())
            guard = IncludeDispatchKeyGuard("MODE") if include else nullcontext()
            assert self.seen(large, theirs(level), keys[1], guard) == expected, (name, below, include)

    @invariant()
    def the_same_kernels_run(self):
        for name in NAMES:
            small = miniature.operators.get(f"{NAMESPACE}::{name}")
            large = known(f"{NAMESPACE}::{name}")
            assert (small is None) == (large is None)
            if small is not None:
                if (small, large) not in self.handles:
                    self.handles.append((small, large))
                self.agree(small, large)

    @invariant()
    def handles_lead_to_the_same_definitions(self):
        assert len({id(small) for small, _ in self.handles}) == len({id(large) for _, large in self.handles})
        for small, large in self.handles:
            if small.gone:
                expected = self.seen(small, A, None, nullcontext())
                assert self.seen(large, A, None, nullcontext()) == expected == ([], "AttributeError")

    def teardown(self):
        """When the last library is gone, nothing is left: no operator, no kernel that waits, no fallback."""
        for small, *large in self.libraries:
            small.destroy()
            for library in large:
                library.destroy()
        for name in (f"{NAMESPACE}::{name}" for name in NAMES):
            assert known(name) is miniature.operators.get(name) is None
            assert waiting_for(name) == miniature.waiting[name] == []
        assert not any(miniature.fallbacks.values())


Libraries.TestCase.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=30)
TestLibraries = Libraries.TestCase
