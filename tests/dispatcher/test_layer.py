"""Layer: the socket, and what is asked of a rule before it is let in."""

import numpy as np
import pytest

from dispatch import DispatchKey, custom_op, ops
from dispatch.core import Tensor, devices, ground, split, wrap
from dispatch.dispatcher.layer import Layer, find_layer, keys_of, layers
from dispatch.errors import DefinitionError, LayerNotFoundError

A = np.arange(3.0)


@custom_op("layertests::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0, *, shift: float = 0.0) -> np.ndarray:
    return x * factor + shift


class Named(Tensor):
    """The wrapper of a toy layer: a value and what it is called."""

    __slots__ = ()
    key = DispatchKey.LAYER


class Naming(Layer):
    """Keeps a sentence about how a value was made."""

    def rule(self, rule, /, suffix="", **options):
        return lambda *names: rule(*names) + suffix

    def lower(self, op, rule):
        def kernel(*args):
            like, values, names, *_ = split(args)
            return wrap(Named, op.whole(*values), like, rule(*names))

        return kernel

    def default(self, op):
        return self.lower(op, lambda *names: f"{op.schema.name}({', '.join(filter(None, names))})")


@pytest.fixture(scope="module")
def naming():
    layer = Naming("naming", DispatchKey.LAYER)
    layer.install()
    yield layer
    del layers["naming"]


def named(name):
    return wrap(Named, A.copy(), ground(), name)


def test_a_new_layer_brings_its_own_verb_and_answers_for_every_operator(naming):
    out = ops.np.add(ops.np.sin(named("a")), named("b"))
    assert out.kept == "add(sin(a), b)"
    assert np.array_equal(out.value, np.sin(A) + A)
    scale.register_naming(lambda x, factor, shift: f"scaled {x}", suffix="!")
    assert scale(named("a"), 3.0).kept == "scaled a!"
    assert scale.register_naming.__name__ == "register_naming"
    assert "naming" in repr(scale)


def test_the_verb_is_a_decorator_and_gives_the_rule_back(naming):
    @custom_op("layertests::shifted", mutates_args=())
    def shifted(x: np.ndarray) -> np.ndarray:
        return x + 1

    def rule(x):
        return f"{x} + 1"

    assert shifted.register_naming(suffix="?")(rule) is rule
    assert shifted(named("a")).kept == "a + 1?"


def test_the_newest_rule_counts_and_taking_it_away_brings_back_the_one_before(naming):
    @custom_op("layertests::stacked", mutates_args=())
    def stacked(x: np.ndarray) -> np.ndarray:
        return x + 1

    first = stacked.register(naming, lambda x: "first")
    second = stacked.register(naming, lambda x: "second")
    assert stacked(named("a")).kept == "second"
    stacked.unregister(second)
    assert stacked(named("a")).kept == "first"
    stacked.unregister(second)
    stacked.unregister(first)
    assert stacked(named("a")).kept == "stacked(a)"


def test_a_name_and_a_key_belong_to_one_layer(naming):
    with pytest.raises(DefinitionError) as caught:
        Naming("fake", DispatchKey.MODE).install()
    assert str(caught.value) == "there is a layer named 'fake' already, at FAKE. Take another name."
    with pytest.raises(ValueError, match="FAKE belongs to the fake layer already"):
        Naming("another", DispatchKey.FAKE).install()
    assert "another" not in layers


def test_a_layer_says_how_its_rules_become_kernels_and_what_stands_in_for_them():
    bare = Layer.__new__(Layer)
    with pytest.raises(NotImplementedError, match=r"Layer says how its rules become kernels by overriding `lower`."):
        bare.lower(scale, None)
    with pytest.raises(NotImplementedError, match=r"Layer says what an operator without a rule gets by overriding `default`."):
        bare.default(scale)
    assert bare.check(scale, None) is None
    assert bare.rule("as it is") == "as it is"


@pytest.mark.parametrize("name", ["kernel", "fake", "autograd", "vmap"])
def test_layers_are_found_by_name(name):
    assert find_layer(name) is layers[name]
    assert repr(find_layer(name)) == f"the {name} layer"


def test_a_misspelt_layer():
    listed = ", ".join(sorted(layers))
    with pytest.raises(LayerNotFoundError) as caught:
        scale.register_autgrad
    assert str(caught.value) == (
        f"there is no layer named 'autgrad', so no register_autgrad. Did you mean 'autograd'? Layers: {listed}."
    )
    assert not hasattr(scale, "register_quux")


# -- the layer of the backends ---------------------------------------------------------------------------------------------


def test_devices_and_their_keys():
    assert keys_of(None) == [DispatchKey.CompositeExplicit]
    assert keys_of("cpu") == [DispatchKey.CPU]
    assert keys_of(["cuda", "cpu"]) == [DispatchKey.CUDA, DispatchKey.CPU]
    with pytest.raises(DefinitionError) as caught:
        keys_of([])
    assert str(caught.value) == "device_types names no device. Leave it out for a kernel that computes on any."
    with pytest.raises(DefinitionError) as caught:
        keys_of(["cpu", "gpu"])
    assert str(caught.value).startswith("there is no device 'gpu'. Write 'cuda'. Devices: cpu, cuda, dask")


def test_a_kernel_is_a_function():
    with pytest.raises(DefinitionError) as caught:
        scale.register_kernel("cpu", 3)
    assert str(caught.value) == "layertests::scale: a kernel is a function, and an int was given."


@pytest.mark.parametrize("name", ["Autograd", "CompositeImplicitAutograd", "MODE"])
def test_a_kernel_for_a_device_that_is_a_key_is_sent_to_a_library(name):
    with pytest.raises(DefinitionError) as caught:
        keys_of(("cpu", name))
    assert str(caught.value) == (
        f"{name!r} is a dispatch key, and no device. Devices: {', '.join(sorted(devices()))}. A kernel at a key is registered by "
        f"a library: lib.impl(name, kernel, {name!r})."
    )
