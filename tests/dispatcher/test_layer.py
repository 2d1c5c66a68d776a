"""Layer: the socket, and what is asked of a rule before it is let in."""

import functools

import numpy as np
import pytest

from dispatch import DispatchKey, custom_op, ops
from dispatch.core import Tensor, ground, split, wrap
from dispatch.dispatcher.layer import Layer, by_position, check_parameters, find_layer, keys_of, layers, parameter_names
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
    assert out.data == "add(sin(a), b)"
    assert np.array_equal(out.value, np.sin(A) + A)
    scale.register_naming(lambda x, factor, shift: f"scaled {x}", suffix="!")
    assert scale(named("a"), 3.0).data == "scaled a!"
    assert scale.register_naming.__name__ == "register_naming"
    assert "naming" in repr(scale)


def test_the_verb_is_a_decorator_and_gives_the_rule_back(naming):
    @custom_op("layertests::shifted", mutates_args=())
    def shifted(x: np.ndarray) -> np.ndarray:
        return x + 1

    def rule(x):
        return f"{x} + 1"

    assert shifted.register_naming(suffix="?")(rule) is rule
    assert shifted(named("a")).data == "a + 1?"


def test_the_newest_rule_counts_and_taking_it_away_brings_back_the_one_before(naming):
    @custom_op("layertests::stacked", mutates_args=())
    def stacked(x: np.ndarray) -> np.ndarray:
        return x + 1

    first = stacked.register(naming, lambda x: "first")
    second = stacked.register(naming, lambda x: "second")
    assert stacked(named("a")).data == "second"
    stacked.unregister(second)
    assert stacked(named("a")).data == "first"
    stacked.unregister(second)
    stacked.unregister(first)
    assert stacked(named("a")).data == "stacked(a)"


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


# -- rules bind by name ----------------------------------------------------------------------------------------------------


class Callable:
    def __call__(self, x, factor, shift):
        return x

    def method(self, x, factor, shift):
        return x


def plain(x, factor, shift):
    return x


def keyword_only(x, factor, *, shift):
    return x


@functools.wraps(plain)
def wrapped(*args, **keywords):
    return plain(*args, **keywords)


WELL_NAMED = {
    "function": plain,
    "keyword-only": keyword_only,
    "method": Callable().method,
    "object": Callable(),
    "wrapped": wrapped,
    "partial": functools.partial(lambda first, x, factor, shift: x, 0),
    "takes anything": lambda *args: args[0],
}


@pytest.mark.parametrize("rule", WELL_NAMED.values(), ids=WELL_NAMED)
def test_a_rule_with_the_operators_names(rule):
    check_parameters(scale, rule)


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        (lambda x: x, "x"),
        (lambda: None, ""),
        (lambda x, shift, factor: x, "x, shift, factor"),
        (lambda x, factor, *, offset: x, "x, factor, offset"),
        (functools.partial(plain, 0), "factor, shift"),
        (Callable.method, "self, x, factor, shift"),
    ],
)
def test_a_rule_with_others(rule, names):
    with pytest.raises(DefinitionError) as caught:
        check_parameters(scale, rule, what="shape rule")
    assert str(caught.value) == (
        f"layertests::scale: the shape rule takes ({names}), and the operator (x, factor, shift). "
        "Rules bind by parameter name: give the rule the operator's own names, in its order."
    )
    assert caught.value.operator == "layertests::scale"


def test_a_layers_own_parameters_come_first():
    check_parameters(scale, lambda info, in_dims, x, factor, shift: x, leading=2)
    with pytest.raises(DefinitionError, match=r"the rule takes \(shift\)"):
        check_parameters(scale, plain, leading=2)


def test_a_builtin_without_a_signature_takes_whatever_it_is_given():
    assert parameter_names(type) is None or parameter_names(type) == ()
    assert parameter_names(getattr) is None or "name" in parameter_names(getattr)


@pytest.mark.parametrize("rule", WELL_NAMED.values(), ids=WELL_NAMED)
def test_every_argument_goes_by_position_whatever_the_rule_says(rule):
    result = by_position(scale, rule)(1, 2, 3)
    assert result == 1


def test_keyword_only_parameters_behind_a_wrapper():
    @functools.wraps(keyword_only)
    def outer(*args, **keywords):
        return keyword_only(*args, **keywords)

    assert by_position(scale, outer)("x", 2.0, 0.0) == "x"


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
    assert str(caught.value).startswith("there is no device 'gpu'. Did you mean 'cpu' or 'ipu' or 'xpu'? Devices: cpu, cuda, dask")


def test_a_kernel_is_a_function():
    with pytest.raises(DefinitionError) as caught:
        scale.register_kernel("cpu", 3)
    assert str(caught.value) == "layertests::scale: a kernel is a function, and an int was given."
