"""Loads code on first use: the names of a face, and modules that have to be installed.

This is the one place that imports by name while the program runs, but for pickles and optional libraries. Python's own import
locks make it safe when two threads come first: nothing here holds a lock while a module is imported.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import Lock, get_ident
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import did_you_mean
from .collector import collector_paused
from .source import not_there

# What others call what a face has under another name; "what.it.is" by their word.
ELSEWHERE = {
    "DispatchMode": "Mode",
    "Dual": "jvp",
    "Function": "library.custom_op with op.register_autograd",
    "TorchDispatchMode": "Mode",
    "TorchFunctionMode": "Mode",
    "Variable": "tensor",
    "as_tensor": "tensor",
    "associative_scan": "scan",
    "check": "opcheck",
    "custom_gradient": "library.custom_op with op.register_autograd",
    "assert_allclose": "testing.assert_close",
    "assert_close": "testing.assert_close",
    "assert_equal": "testing.assert_close",
    "check_grads": "testing.gradcheck",
    "custom_function": "library.custom_op",
    "custom_jvp": "library.custom_op with op.register_jvp",
    "custom_vjp": "library.custom_op with op.register_autograd",
    "defvjp": "register_autograd",
    "from_numpy": "tensor",
    "fx": "make_fx",
    "gradgradcheck": "testing.gradgradcheck",
    "guvectorize": "library.custom_op with signature=",
    "inference_mode": "no_grad",
    "jacobian": "jacrev",
    "jit": "compile",
    "lax": "control_flow",
    "linearize": "jvp",
    "make_jaxpr": "make_fx",
    "map": "control_flow.map",
    "njit": "compile",
    "pmap": "vmap",
    "primitive": "library.custom_op",
    "profiler": "profile",
    "pure_callback": "library.custom_op",
    "register_grad": "register_autograd",
    "register_gradient": "register_autograd",
    "impl_abstract": "register_fake",
    "register_abstract": "register_fake",
    "register_meta": "register_fake",
    "register_op": "library.custom_op",
    "register_shape": "register_fake",
    "register_torch_dispatch": "library.register_dispatch",
    "register_vjp": "register_autograd",
    "remat": "checkpoint",
    "_scoped_library": "library.Library",
    "script": "compile",
    "stop_gradient": "detach",
    "switch": "cond",
    "symbolic_trace": "make_fx",
    "trace": "make_fx",
    "value_and_jacobian": "jacrev",
}
DEVICES = "An array has the device that it was made on; a kernel for one is op.register_kernel('cuda', kernel)."
DRAWS = "Write np.random.default_rng(0), and rng.normal(size=shape) of it."
CONTAINERS = "Transforms take lists, dicts and dataclasses as they are; go over one by {key: f(x) for key, x in xs.items()}."
AS_IT_IS = "An operator takes the arrays of this library as they are: op(x)."
# What others have and this package has not, and how it is done here.
_DTYPES = "A dtype is changed where it is meant: x.astype(np.float32)."
NOT_HERE = {
    "Parameter": "Write dispatch.tensor(a, requires_grad=True).",
    "ShapeDtypeStruct": "Write np.empty(shape, dtype): dispatch.eval_shape reads its shape and dtype alone.",
    "Dim": "Write the name of the size itself: dynamic_shapes={'x': {0: 'n'}}.",
    "autocast": _DTYPES,
    "config": "There is nothing to turn on: an array has the dtype that NumPy gives it, float64 too.",
    "cuda": DEVICES,
    "device": DEVICES,
    "device_put": DEVICES,
    "disable": "What compile shall not take is called outside of it; or make it an operator, custom_op.",
    "elementwise_grad": "Write dispatch.grad(lambda x: f(x).sum()), which is that for a function of each element.",
    "grad_and_value": "Write dispatch.value_and_grad, which returns (value, gradient).",
    "explain": "Write op.explain(x), of an operator and what it would be called with.",
    "export": AS_IT_IS,
    "interop.export": "Write dispatch.interop.torch.export(op), or dispatch.interop.jax.export(op).",
    "interop.wrap": "Write dispatch.interop.torch.wrap(f), or dispatch.interop.jax.wrap(f).",
    "func": "Its functions are here: dispatch.grad, dispatch.vmap, dispatch.jacrev.",
    "functional": "Its functions are here: dispatch.jacrev, dispatch.hessian, dispatch.vjp, dispatch.jvp.",
    "hvp": "Write dispatch.jvp(dispatch.grad(f), (x,), (v,))[1].",
    "is_grad_enabled": "Ask a result: isinstance(y, dispatch.Tensor), of a tracked x.",
    "is_tensor": "Write isinstance(x, dispatch.Tensor).",
    "manual_seed": "There is no generator of all: write rng = np.random.default_rng(0), and give it to who draws.",
    "nn": "It holds no layers of networks: write functions of arrays, and dispatch.grad of them.",
    "numerical_jacobian": "Write dispatch.testing.gradcheck(f, (x,)), which takes the differences; or dispatch.jacrev(f)(x).",
    "optim": "An optimizer writes to its parameters: with dispatch.no_grad(): x -= rate * x.grad.",
    "pytree": CONTAINERS,
    "rand": DRAWS,
    "randint": DRAWS,
    "randn": DRAWS,
    "random": "There is no generator of all: write rng = np.random.default_rng(0), and give it to who draws.",
    "reset": "What compile keeps goes with the compiled function: make another, dispatch.compile(f).",
    "save": "Write dispatch.export(f, (x,)).save(path) for a function, np.save for an array.",
    "register_autocast": _DTYPES,
    "register_dataclass": CONTAINERS,
    "register_pytree_node": CONTAINERS,
    "register_pytree_node_class": CONTAINERS,
    "special": "SciPy's own take the values of this package, scipy.special.expit(x); or write dispatch.numpy.special.",
    "set_default_dtype": "An array has the dtype that it was made with: np.zeros(3, np.float32).",
    "tree": CONTAINERS,
    "tree_map": CONTAINERS,
    "tree_util": CONTAINERS,
    "wrap": AS_IT_IS,
    "utils": "Write dispatch.checkpoint for torch.utils.checkpoint.",
}
FEW = 30  # names that are all listed


def names_of(module: dict[str, Any], lazy: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a module that imports some of its names when they are first asked for.

    Parameters
    ----------
    module : dict
        Its `globals()`. A name that was found is kept there, so that the next look-up costs nothing.
    lazy : mapping of str to str
        By module, relative to the package of this one, the names that it has, separated by spaces. A module without names is
        itself what is asked for.

    Returns
    -------
    tuple of callable
        The two functions of PEP 562.

    Examples
    --------
    >>> of_module = {"__name__": "json", "__package__": "json"}
    >>> getattr_, dir_ = names_of(of_module, {".decoder": "JSONDecodeError"})
    >>> getattr_("JSONDecodeError") is of_module["JSONDecodeError"]
    True
    >>> getattr_("nothing")
    Traceback (most recent call last):
    AttributeError: module 'json' has no attribute 'nothing'
    """
    homes = {name: home for home, names in lazy.items() for name in names.split() or [home.rpartition(".")[2]]}

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            said = _instead(module, name, homes)
            raise not_there(module["__name__"], name, said)
        found = import_module(home, module["__package__"])
        value = module[name] = getattr(found, name) if lazy[home] else found
        return value

    def listed() -> list[str]:
        return sorted({*module, *homes})

    return find, listed


def _instead(module: dict[str, Any], name: str, lazy: Mapping[str, str]) -> str:
    """What to write for a name that a face has not; nothing for names that only programs ask for.

    What is imported later is not looked into: the words would hang on what has been.
    """
    if name.startswith("_") and name not in ELSEWHERE:
        return ""
    known = [*module.get("__all__", ())]
    face, package = module["__name__"].rpartition(".")[2], module["__package__"].partition(".")[0]
    if name in ELSEWHERE and ELSEWHERE[name].partition(".")[0] in known:
        return f" Write {face}.{ELSEWHERE[name]}."
    if said := NOT_HERE.get(f"{face}.{name}"):
        return f" {said}"
    for word in known if module["__name__"] == module["__package__"] else ():  # another face of this package has it
        if word not in lazy and isinstance(module[word], ModuleType) and name in getattr(module[word], "__all__", ()):
            return f" Write {face}.{word}.{name}."
    if module["__name__"].count(".") == 1 and (said := of_package(package, name, module["__name__"])):
        return said
    ours = "custom_op" in getattr(sys.modules.get(package), "__all__", ())  # whichever of its faces was asked
    if name in NOT_HERE and ours:
        return f" {NOT_HERE[name]}"
    if ours and name in (words := import_module(".others_words", __package__).ELSEWHERE):
        return f" Write {words[name]}."
    if near := did_you_mean(name, known):
        return near
    if module["__name__"] == module["__package__"] and "." not in face and hasattr(np, name):
        return f" Write np.{name}: NumPy's functions take the values of this package."
    if not known:
        return ""
    own = f"; {face}.custom_op makes an operator of a function of your own" if "custom_op" in known else ""
    return f" It has {', '.join(known)}." if len(known) < FEW else f" dir({module['__name__']}) lists what it has{own}."


def of_package(package: str, name: str, face: str) -> str:
    """What to write for a name that one face of a package has not, and the package itself has, under this or another name."""
    known = () if face == package else getattr(sys.modules.get(package), "__all__", ())
    other = name if name in known else ELSEWHERE.get(name, "")
    return f" Write {package}.{other}." if other.partition(".")[0] in known else ""


class LazyFunction:
    """A function that is imported when it is called first, for those that are called rarely.

    Parameters
    ----------
    package, module, name : str
        Where it is: `module` is relative to the package.

    Examples
    --------
    >>> LazyFunction("json", ".decoder", "JSONDecoder")().decode("[1]")
    [1]
    """

    def __init__(self, package: str, module: str, name: str) -> None:
        self.package = package
        self.module = module
        self.name = name
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._function is None:
            self._function = getattr(import_module(self.module, self.package), self.name)
        return self._function(*args, **keywords)

    def __repr__(self) -> str:
        return f"<{self.name} of {self.module}>"


class Loader:
    """Imports a module when it is called first, and then calls its function `install`.

    It returns when both are done, whichever thread began. A call from the thread that is about it returns at once.

    Parameters
    ----------
    package, module : str
        `module` is relative to the package.
    """

    def __init__(self, package: str, module: str) -> None:
        self.package = package
        self.module = module
        self._done = False
        self._inside: set[int] = set()
        self._installing = Lock()

    def __call__(self) -> None:
        """Load, unless that has been done."""
        me = get_ident()
        if self._done or me in self._inside:
            return
        self._inside.add(me)
        try:
            with collector_paused():  # what is made here stays; to look through it again and again was a tenth of the time
                module = import_module(self.module, self.package)
                with self._installing:
                    if not self._done:
                        module.install()
                        self._done = True
        finally:
            self._inside.discard(me)


class LazyAttribute:
    """An attribute of a class that is put there by a loader, until it is: asked for, it loads.

    Parameters
    ----------
    name : str
    load : callable
        Puts the attribute in this one's place.
    """

    def __init__(self, name: str, load: Callable[[], object]) -> None:
        self.name = name
        self.load = load

    def __get__(self, instance: object, cls: type) -> Any:
        self.load()
        return getattr(cls if instance is None else instance, self.name)
