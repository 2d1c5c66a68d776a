"""Makes values that lie, raise, change what holds them and call back, for tests/fuzz_calls.py.

`Hostility` makes them from a random generator. Whatever one of its values raises is noted in `raised`, so that the caller
can tell whether it arrived; `actions` are what a value may do to its surroundings when one of its methods is called.
"""

import gc
import random
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import hint_table
import numpy as np

import dispatch
from dispatch.core import DispatchKey, Level, Tensor, wrap

ENDING = (KeyboardInterrupt, SystemExit)  # nothing may swallow these
KINDS = [*ENDING, MemoryError, ValueError, TypeError, AttributeError, RecursionError, StopIteration, IndexError, OverflowError]
CLASSES = [np.ndarray, np.generic, np.float64, np.integer, list, tuple, dict, int, float, str, type, Tensor, hint_table.State]
CLASSES += [hint_table.Factors, hint_table.Handle, Fraction, type(dispatch.ops.np.add), Level, np.dtype, None, 3]
DEPTH = 200_000


@cache
def deep(kind: int) -> Any:
    """A container in a container, deeper than any stack."""
    inner: Any = np.ones(2)
    for _ in range(DEPTH):
        inner = [inner] if kind == 0 else (inner,) if kind == 1 else {"x": inner} if kind == 2 else [(inner, 1)]
    gc.freeze()  # else each collection would walk it
    return inner


class Shadow(Tensor):
    """A wrapper of a layer that has no rules."""

    __slots__ = ()
    key = DispatchKey.JVP


class Behaviour:
    """What the methods of hostile classes do: act, then raise or answer."""

    def __init__(self, owner: "Hostility", rng: random.Random) -> None:
        self.owner = owner
        self.act = rng.choice(owner.actions) if owner.actions and rng.random() < 0.5 else None
        self.kind = rng.choice(KINDS) if rng.random() < 0.5 else None
        self.methods = frozenset(name for name in METHODS if rng.random() < 0.4)
        self.number = rng.choice([-1, 0, 1, 2, 3, 7, 10**6, 2**63, 2**70])
        self.left = 3  # how often it acts, so that what acts on itself comes to an end

    def __call__(self, name: str, plain: Callable[[], Any]) -> Any:
        if name not in self.methods or threading.get_ident() != self.owner.thread:
            return plain()
        if self.act is not None and self.left > 0:
            self.left -= 1
            before = len(self.owner.raised)
            try:
                self.act()
            finally:
                if name == "__del__":  # what is raised in there can arrive nowhere
                    del self.owner.raised[before:]
        if self.kind is not None:
            error = self.kind(f"hostile {name}")
            if name != "__del__":
                self.owner.raised.append(error)
            raise error
        return LIES[name](self, plain) if name in LIES else plain()


METHODS = """__len__ __iter__ __getitem__ __contains__ __eq__ __hash__ __bool__ __index__ __int__ __float__ __complex__ __class__
    __getattr__ __repr__ __str__ __del__ __array__ __array_finalize__ __array_ufunc__ __array_function__ items values keys get
    __reversed__ __call__ __instancecheck__ __subclasscheck__ flags dtype shape base __iadd__ __add__ _make __copy__ __deepcopy__
    __reduce_ex__ __format__ __dir__""".split()
LIES = {
    "__len__": lambda b, plain: b.number,
    "__iter__": lambda b, plain: iter(range(max(b.number, 0) % 50)),
    "items": lambda b, plain: [(1, 2, 3)],
    "values": lambda b, plain: iter([np.ones(2), None, 3]),
    "keys": lambda b, plain: "xyz",
    "__class__": lambda b, plain: b.owner.rng.choice(CLASSES),
    "__eq__": lambda b, plain: np.ones(2),
    "__hash__": lambda b, plain: b.number,
    "__bool__": lambda b, plain: b.number,
    "__index__": lambda b, plain: b.number,
    "__float__": lambda b, plain: "no float",
    "__repr__": lambda b, plain: 3,
    "dtype": lambda b, plain: b.owner.rng.choice(["f8", np.dtype("O"), None, 3]),
    "shape": lambda b, plain: b.owner.rng.choice([(), (-1,), (2**62, 2**62), None, [2], 3]),
    "flags": lambda b, plain: None,
    "base": lambda b, plain: b,
    "__instancecheck__": lambda b, plain: True,
}


def _method(name: str, base: type) -> Any:
    inherited = getattr(base, name, None)

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        def plain() -> Any:
            if inherited is None:
                if name == "__del__":
                    return None
                raise AttributeError(name)
            return inherited(self, *args, **keywords)

        behaviour = _behaviour(self)
        return plain() if behaviour is None else behaviour(name, plain)

    return method


def _behaviour(x: Any) -> Behaviour | None:
    try:
        found = object.__getattribute__(x, "behaviour")
    except (AttributeError, TypeError):
        return None
    return found if type(found) is Behaviour else None


def _property(name: str, base: type) -> property:
    inherited = getattr(base, name, None)

    def get(self: Any) -> Any:
        def plain() -> Any:
            if name == "__class__":
                return type(self)
            if inherited is None:
                raise AttributeError(name)
            return inherited.__get__(self)

        behaviour = _behaviour(self)
        return plain() if behaviour is None else behaviour(name, plain)

    return property(get)


PROPERTIES = {"__class__", "flags", "dtype", "shape", "base"}
OWN = {
    list: "__len__ __iter__ __getitem__ __contains__ __eq__ __class__ __repr__ __del__ __reversed__ __iadd__ __add__ __bool__",
    tuple: "__len__ __iter__ __getitem__ __contains__ __eq__ __hash__ __class__ __repr__ __del__ __bool__ _make",
    dict: "__len__ __iter__ __getitem__ __contains__ __eq__ __class__ __repr__ __del__ items values keys get __bool__",
    str: "__len__ __iter__ __getitem__ __eq__ __hash__ __class__ __repr__ __str__ __del__ __bool__ __format__",
    int: "__eq__ __hash__ __class__ __repr__ __index__ __int__ __float__ __bool__ __del__ __format__",
    float: "__eq__ __hash__ __class__ __repr__ __int__ __float__ __bool__ __del__ __format__",
    complex: "__eq__ __hash__ __class__ __repr__ __complex__ __bool__ __del__",
    bytes: "__eq__ __hash__ __class__ __repr__ __len__ __iter__ __bool__ __del__",
    object: " ".join(METHODS),
    np.ndarray: "__len__ __iter__ __getitem__ __eq__ __class__ __repr__ __del__ __array_finalize__ __array_ufunc__ "
    "__array_function__ flags dtype shape base __bool__ __float__ __index__ __iadd__ __add__ __format__ __copy__ __reduce_ex__",
    np.float64: "__eq__ __hash__ __class__ __repr__ shape __float__ __bool__ __index__",  # NumPy itself falls over a `dtype`
    hint_table.State: "__eq__ __hash__ __class__ __repr__ __getattr__ __del__",
    hint_table.Factors: "__len__ __iter__ __getitem__ __eq__ __hash__ __class__ __repr__ _make",
    hint_table.Handle: "__eq__ __hash__ __class__ __repr__ __getattr__ __bool__ __del__",
}


class Meta(type):
    """A metaclass whose classes act and raise when they are hashed, compared or asked for instances."""

    __hash__ = _method("__hash__", type)
    __eq__ = _method("__eq__", type)
    __instancecheck__ = _method("__instancecheck__", type)
    __subclasscheck__ = _method("__subclasscheck__", type)
    __repr__ = _method("__repr__", type)


def _class(base: type, meta: type) -> type:
    names = OWN[base].split()
    members = {name: _property(name, base) if name in PROPERTIES else _method(name, base) for name in names}
    if "__eq__" in members and "__hash__" not in members:
        members["__hash__"] = base.__hash__
    return meta(f"Hostile{base.__name__}", (base,), members)


HOSTILE = {base: _class(base, type) for base in OWN}


class Hostility:
    """Makes hostile values.

    Attributes
    ----------
    rng : random.Random
    actions : list of callable
        What a value may do when a method of it is called.
    raised : list of BaseException
        What values have raised in this thread, `__del__` aside.
    ignored : list of str
        What compiled code raised where nobody could catch it.
    """

    def __init__(self) -> None:
        self.rng = random.Random(0)
        self.actions: list[Callable[[], Any]] = [gc.collect]
        self.raised: list[BaseException] = []
        self.ignored: list[str] = []
        self.thread = threading.get_ident()
        closed = Level("closed")
        with closed:
            self.closed = wrap(Shadow, np.ones(2), closed)
        self.elsewhere = self._elsewhere()
        self.leaf = dispatch.tensor(np.ones(2), requires_grad=True)
        self.fake = dispatch.FakeTensorMode().from_array(np.ones(2))

    def unraisable(self, found: Any) -> None:
        """Note an exception that was ignored, `__del__` aside: what is compiled has no place where it may."""
        if isinstance(found.object, str):
            self.ignored.append(f"{found.exc_value!r} in {found.object}")

    @staticmethod
    def _elsewhere() -> Any:
        """A wrapper of a level that is open in a thread which has ended."""
        found = []

        def work() -> None:
            level = Level("elsewhere")
            level.__enter__()
            found.append(wrap(Shadow, np.ones(2), level))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return found[0]

    def behaviour(self) -> Behaviour:
        """How one value behaves."""
        return Behaviour(self, self.rng)

    def of(self, base: type, *args: Any) -> Any:
        """An instance of a hostile subclass."""
        cls = HOSTILE[base]
        if self.rng.random() < 0.2 and base is not np.float64:  # whose class NumPy looks up by its hash, ignoring what that raises
            cls = _class(base, Meta)
            if self.rng.random() < 0.7:
                type.__setattr__(cls, "behaviour", self.behaviour())
        if base is np.ndarray:
            made = np.ndarray.view(args[0], cls)
        else:
            made = base.__new__(cls, *args) if base in {tuple, str, int, float, complex, bytes, np.float64} else object()
            if base in {list, dict}:
                made = base.__new__(cls)
                base.__init__(made, *args)
            elif base in {object, hint_table.Handle}:
                made = object.__new__(cls)
            elif base is hint_table.State:
                made = object.__new__(cls)
                made.__dict__.update(position=np.ones(2), velocity=None, steps=1, note=set())
            elif base is hint_table.Factors:
                made = tuple.__new__(cls, args)
        made.__dict__["behaviour"] = self.behaviour()
        return made

    def like(self, x: Any) -> Any:
        """A hostile value in place of `x`, of its own kind where there is one."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.30:
            return self.any()
        if isinstance(x, (list, tuple)) and choice < 0.8:
            return self.container(list(x))
        if isinstance(x, dict) and choice < 0.8:
            return self.mapping(dict(x))
        if type(x) is np.ndarray:
            return self.array(x)
        if isinstance(x, np.float64) or type(x) in {str, int, float, complex, bytes}:
            return self.of(np.float64 if isinstance(x, np.float64) else type(x), x)
        if isinstance(x, hint_table.State):
            made = hint_table.State(self.like(x.position), self.like(x.velocity), rng.choice([x.steps, self.any()]))
            if rng.random() < 0.3:
                made.velocity = made
            return made
        return self.any()

    def container(self, items: list[Any]) -> Any:
        """A hostile list or tuple."""
        rng = self.rng
        items = [self.like(item) if rng.random() < 0.3 else item for item in items]
        choice = rng.random()
        if choice < 0.3:
            return self.of(rng.choice([list, tuple]), items)
        if choice < 0.45:
            items.insert(rng.randrange(len(items) + 1), items)
            return rng.choice([items, (items,), {"x": items}])
        if choice < 0.8:
            trigger = self.of(object)
            held = trigger.__dict__["behaviour"]
            held.methods |= {"__class__", "__getattr__", "__eq__", "__hash__", "shape"}
            target = [*items, trigger, *items, *[np.ones(1)] * rng.randrange(3)]
            held.act = rng.choice([target.clear, lambda: target.extend([None] * 1000), target.pop, lambda: target.__setitem__(slice(None), [1.5])])
            return target if rng.random() < 0.7 else tuple(target)
        return rng.choice([items * 40, tuple(items) * 3, range(3), iter(items)])

    def mapping(self, items: dict[Any, Any]) -> Any:
        """A hostile dict."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.4:
            return self.of(dict, items)
        if choice < 0.6:
            items["self"] = items
            return items
        trigger = self.of(object)
        trigger.__dict__["behaviour"].act = rng.choice([items.clear, lambda: items.update({f"k{i}": i for i in range(99)})])
        trigger.__dict__["behaviour"].methods |= {"__class__", "__getattr__", "shape"}
        items[rng.choice(["x", "z", 3])] = trigger
        return items

    def array(self, x: np.ndarray) -> Any:
        """An odd or hostile array."""
        rng = self.rng
        wide = np.arange(6.0).reshape(2, 3)
        choices: list[Callable[[], Any]] = [
            lambda: self.of(np.ndarray, x),
            lambda: self.of(np.ndarray, x),
            lambda: x.astype(">f8"),
            lambda: np.array(2.0),
            lambda: np.asfortranarray(wide),
            lambda: wide[:, ::-1],
            lambda: np.frombuffer(b"12345678" * 2),
            lambda: np.broadcast_to(1.0, (3, 4)),
            self.objects,
            lambda: np.zeros(2, [("a", "f8"), ("b", "i4")]),
            lambda: np.zeros((0, 3)),
            lambda: np.ma.masked_array(x, mask=True),
            lambda: np.zeros(3, "M8[s]"),
            lambda: np.frombuffer(bytearray(17), np.uint8)[1:].view("f8"),
            lambda: self.of(np.float64, 2.0),
            lambda: x[:0],
            lambda: np.ones((1,) * 40),
        ]
        return rng.choice(choices)()

    def objects(self) -> np.ndarray:
        """An array of objects, filled by item: NumPy's own search for a shape does not survive hostile lists."""
        made = np.empty(2, dtype=object)
        made[0] = self.any()
        return made

    def any(self) -> Any:
        """Any hostile value."""
        rng = self.rng
        choices: list[Callable[[], Any]] = [
            lambda: self.of(object),
            lambda: self.of(object),
            lambda: self.of(np.ndarray, np.ones(2)),
            lambda: self.of(list, [np.ones(2), 1.0]),
            lambda: self.of(tuple, (np.ones(2), 1.0)),
            lambda: self.of(dict, {"x": np.ones(2)}),
            lambda: self.of(str, rng.choice(["cpu", "x", "float64", "same"])),
            lambda: self.of(int, rng.choice([0, 2, 2**70])),
            lambda: self.of(float, 1.5),
            lambda: self.of(hint_table.State),
            lambda: self.of(hint_table.Factors, np.ones(2), np.ones(2), 2),
            lambda: self.of(hint_table.Handle),
            lambda: deep(rng.randrange(4)) if rng.random() < 0.4 else [[[1.0]]],
            lambda: self.closed,
            lambda: self.elsewhere,
            lambda: self.leaf,
            lambda: self.leaf * 2.0,
            lambda: self.fake,
            lambda: [self.closed, self.leaf],
            lambda: HOSTILE[rng.choice(list(HOSTILE))],
            lambda: _class(object, Meta),
            lambda: rng.choice([None, True, 1e300, -0.0, float("nan"), 2**80, "x" * 1000, b"", ..., NotImplemented, print, object]),
            lambda: self.container([1.0, np.ones(2)]),
            lambda: self.mapping({"x": np.ones(2)}),
            lambda: self.array(np.ones(2)),
        ]
        return rng.choice(choices)()
