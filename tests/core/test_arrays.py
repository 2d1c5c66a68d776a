"""Which backend an object belongs to."""

import gc
import threading
import weakref
from fractions import Fraction

import numpy as np
import pytest
from making import made

from dispatch.core import (
    DispatchKey,
    device_key,
    device_of,
    freeze,
    is_array_type,
    register_when_seen,
    registers_now,
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
    class Stranger:
        pass

    with pytest.raises(ArgumentError, match=rf"{__name__}\..*Stranger is no array type that is known here; hint the parameter `x: typing.Any` where it is meant\."):
        made("(Tensor x) -> Tensor", lambda x: x)(Stranger())
    with pytest.raises(ArgumentError, match=r"was given a Lookalike\. Write np\.asarray\(x\)\."):
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
    names = ("cpu", "cuda", "dask", "xla", "mps", "ipu", "xpu")
    assert [device_key(name) for name in names] == [DispatchKey[name.upper()] for name in names]


@pytest.mark.parametrize(
    ("name", "near"),
    [("", ""), ("CPU", " Did you mean 'cpu' or 'ipu' or 'xpu'?"), ("cdua", " Did you mean 'cuda'?"), ("nowhere at all", "")],
)
def test_an_unknown_device_is_refused_with_the_close_match_the_known_ones_and_the_line_to_write(name, near):
    with pytest.raises(DefinitionError) as caught:
        device_key(name)
    message = str(caught.value)
    assert message.startswith(f"there is no device '{name}'.{near} Devices: cpu, cuda, dask")
    assert message.endswith(f" For arrays of your own write register_array_type(TheirClass, device='{name}').") is not bool(near)


def test_freeze_makes_an_array_read_only_and_leaves_the_rest():
    x = np.zeros(2)
    assert freeze(x) is x
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    for other in (1.0, "a", None, [x]):
        assert freeze(other) is other


# -- classes of users ------------------------------------------------------------------------------------------------------


class Unhashable(type):
    """A metaclass whose classes can be asked nothing."""

    def __hash__(cls):
        raise KeyboardInterrupt

    def __eq__(cls, other):
        raise KeyboardInterrupt

    def __instancecheck__(cls, x):
        raise KeyboardInterrupt


class Said:
    """Says that it is something else."""

    def __init__(self, cls):
        self.cls = cls

    @property
    def __class__(self):
        return self.cls


def test_a_subclass_that_was_met_is_kept_by_nobody():
    op = made("(Tensor x) -> ()", lambda x: None)

    def met():
        class Passing(np.ndarray):
            pass

        class Stranger:
            pass

        x = np.zeros(2).view(Passing)
        op(x)
        assert (device_of(x), is_array_type(Passing), is_array_type(Stranger)) == ("cpu", True, False)
        return weakref.ref(Passing), weakref.ref(Stranger)

    references = met()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_look_up_runs_no_code_of_a_metaclass():
    class Odd(np.ndarray, metaclass=Unhashable):
        pass

    class NoArray(metaclass=Unhashable):
        pass

    assert device_of(np.zeros(2).view(Odd)) == "cpu"
    assert device_of(NoArray()) is None
    assert is_array_type(Odd)
    assert not is_array_type(NoArray)
    seen = []
    with pytest.raises((ArgumentError, KeyboardInterrupt)):  # its own, where the search for words meets it
        made("(Tensor x) -> ()", seen.append)(NoArray())
    assert seen == []


def test_what_an_object_says_of_its_class_does_not_make_it_an_array():
    for cls in (np.ndarray, np.generic, np.float64):
        assert device_of(Said(cls)) is None
        with pytest.raises(ArgumentError, match="argument 'x' is Tensor"):
            made("(Tensor x) -> ()", lambda x: None)(Said(cls))


def test_a_device_is_the_text_of_a_string_whatever_its_class_says():
    class Text(str):
        __slots__ = ()

        def __hash__(self):
            raise KeyboardInterrupt

        def __eq__(self, other):
            raise KeyboardInterrupt

    op = made("(*, Device device='cpu') -> str", lambda device: "kernel")
    assert op(device=Text("cpu")) == "kernel"


def test_an_array_type_is_a_class():
    with pytest.raises(TypeError, match=r"an array type is a class, and this is 3\."):
        is_array_type(3)


def test_a_thread_that_comes_second_waits_until_a_package_is_registered():
    x = type("Late", (), {"__module__": "late.arrays"})()
    asking, answers, done = threading.Event(), [], []

    def ask():
        asking.set()
        answers.append((registers_now(x), list(done)))

    other = threading.Thread(target=ask)

    def register():
        other.start()
        asking.wait(10)
        assert not registers_now(x)  # of what it makes itself it is not asked again
        done.append("registered")

    register_when_seen("late", register)
    assert registers_now(x)
    other.join(10)
    assert answers in ([(True, ["registered"])], [(False, ["registered"])])  # the second came before or after the end
    assert not registers_now(x)


def test_a_package_that_could_not_be_registered_is_asked_again():
    x = type("Failing", (), {"__module__": "failing"})()
    calls = []

    def register():
        calls.append(1)
        if len(calls) == 1:
            raise ImportError("not yet")

    register_when_seen("failing", register)
    with pytest.raises(ImportError, match="not yet"):
        registers_now(x)
    assert registers_now(x)
    assert calls == [1, 1]
