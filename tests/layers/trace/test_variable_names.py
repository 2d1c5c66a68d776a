"""Constants of a graph are named after the variables that hold them."""

from dispatch.layers.trace.variable_names import name_of

OF_THE_MODULE = object()


def test_an_object_is_named_as_its_variable():
    local, of_the_function = object(), object()

    def inner():
        return name_of(of_the_function)

    assert name_of(local) == "local"
    assert inner() == "of_the_function"
    assert name_of(OF_THE_MODULE) == "OF_THE_MODULE"
    assert name_of(object()) == ""
