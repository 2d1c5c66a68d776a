"""Which backend an object belongs to."""

from fractions import Fraction

import numpy as np
import pytest
from making import made

from dispatch.core import (
    DispatchKey,
    device_key,
    device_of,
    freeze,
)
from dispatch.errors import ArgumentError, DefinitionError


class Subclass(np.ndarray):
    pass


class Grandchild(Subclass):
    pass


class Lookalike:
    """Has every protocol of an array, and is none that is known here."""

    shape, dtype, ndim = (2,), np.dtype("f8"), 1
    __array_priority__ = 1e6

    def __array__(self, dtype=None, copy=None):
        return np.zeros(2)

    @property
    def __array_interface__(self):
        return np.zeros(2).__array_interface__


ARRAYS = [
    np.zeros(2),
    np.zeros(2).view(Subclass),
    np.zeros(2).view(Grandchild),
    np.zeros(2).view(np.recarray),
    np.ma.zeros(2),
    np.float64(1),
]
ARRAYS += [np.bool_(True), np.str_("a"), np.datetime64(0, "s"), np.zeros(2, [("a", "f8")])[0], np.array([object()])]
STRANGERS = [
    Lookalike(),
    [1.0],
    (1.0,),
    1.0,
    1,
    True,
    1j,
    None,
    "a",
    memoryview(b"ab"),
    np.dtype("f8"),
    np.ndarray,
    Fraction(1, 2),
]


# -- the table -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: type(x).__name__)
def test_numpy_s_arrays_subclasses_and_scalars_are_the_cpu_s(x):
    assert device_of(x) == "cpu"
    seen = []
    made("(Tensor x) -> ()", seen.append)(x)
    assert seen[0] is x


@pytest.mark.parametrize("x", STRANGERS, ids=lambda x: type(x).__name__)
def test_what_is_not_in_the_table_is_no_array_and_is_refused_by_the_name_of_its_type(x):
    assert device_of(x) is None
    with pytest.raises(
        ArgumentError, match=rf"argument 'x' is Tensor, and was given .*{type(x).__name__.removesuffix('Type')}"
    ):
        made("(Tensor x) -> ()", lambda x: None)(x)


def test_an_array_type_that_is_not_known_is_named_with_its_module():
    with pytest.raises(ArgumentError, match=rf"{__name__}\.Lookalike is no array type that is known here\."):
        made("(Tensor x) -> Tensor", lambda x: x)(Lookalike())


def test_a_memory_map_is_the_cpu_s(tmp_path):
    mapped = np.memmap(tmp_path / "a", np.float64, "w+", shape=(3,))
    assert device_of(mapped) == "cpu"


def test_a_class_with_a_metaclass_is_looked_up_too():
    class Meta(type):
        pass

    class Odd(np.ndarray, metaclass=Meta):
        pass

    class NoArray(metaclass=Meta):
        pass

    assert device_of(np.zeros(2).view(Odd)) == "cpu"
    assert device_of(NoArray()) is None


def test_devices_have_keys():
    assert [device_key(name) for name in ("cpu", "cuda", "dask")] == [DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.DASK]


@pytest.mark.parametrize("name", ["gpu", "", "CPU", "cuda:0"])
def test_an_unknown_device_is_refused_with_the_known_ones(name):
    with pytest.raises(DefinitionError, match=rf"there is no device '{name}'\. Devices: cpu, cuda, dask"):
        device_key(name)


def test_freeze_makes_an_array_read_only_and_leaves_the_rest():
    x = np.zeros(2)
    assert freeze(x) is x
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    for other in (1.0, "a", None, [x]):
        assert freeze(other) is other
