"""Opaque types: classes that the schema language knows by name."""

import enum
import fractions
import gc
import types

import numpy as np
import pytest

from dispatch.core import Tensor
from dispatch.errors import DefinitionError, SchemaError
from dispatch.schema.opaque_types import find_class, opaque_type, register_opaque_type
from dispatch.schema.types import ClassType


class Handle:
    """What a C library might give out."""


class Mode(enum.Enum):
    FULL = 1


def test_a_class_is_opaque_once_registered_and_an_enumeration_always():
    assert opaque_type(fractions.Fraction) is None
    assert register_opaque_type(Handle) is Handle
    assert opaque_type(Handle) == ClassType(f"{__name__}.Handle")
    assert opaque_type(Mode) == ClassType(f"{__name__}.Mode")


def test_a_registered_class_is_found_by_its_name():
    register_opaque_type(Handle)
    assert find_class(opaque_type(Handle)) is Handle


def test_a_class_of_an_imported_module_is_found_too():
    assert find_class(ClassType("fractions.Fraction")) is fractions.Fraction
    assert find_class(ClassType("numpy.ndarray")) is np.ndarray


@pytest.mark.parametrize("name", ["fractions.Nobody", "no_such_module.C", "fractions.gcd.C", "math.pi"])
def test_an_unknown_class_is_refused(name):
    with pytest.raises(
        SchemaError, match=f"the class {name} is not known. Import its module, or register_opaque_type it"
    ):
        find_class(ClassType(name))


@pytest.mark.parametrize("cls", [int, list, np.ndarray, np.float64, Tensor])
def test_what_has_a_schema_type_already_cannot_be_opaque(cls):
    with pytest.raises(DefinitionError, match=f"^{cls.__name__} cannot be an opaque type: it has a schema type already. Hint it as it is.$"):
        register_opaque_type(cls)


def test_an_opaque_type_is_a_class():
    with pytest.raises(DefinitionError, match=r"^an opaque type is a class, and an int was given.$"):
        register_opaque_type(3)


def test_a_class_inside_a_function_has_no_name_to_print():
    class Local:
        pass

    with pytest.raises(DefinitionError, match=r"does not name a class: write module\.Class, for a class at the top"):
        register_opaque_type(Local)


def test_registering_keeps_no_class_alive():
    name = ClassType("gone.C")
    cls = types.new_class("C", exec_body=lambda scope: scope.update(__module__="gone"))
    register_opaque_type(cls)
    assert find_class(name) is cls
    del cls
    gc.collect()
    with pytest.raises(SchemaError, match="is not known"):
        find_class(name)
