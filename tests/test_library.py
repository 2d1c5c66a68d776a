"""The face with torch.library's names."""

import inspect

import numpy as np
import pytest

import dispatch
from dispatch import library, testing
from dispatch.core import DispatchKey, Residual, fallthrough_kernel
from dispatch.dispatcher import array_types, key_guards
from dispatch.errors import ArgumentError, DefinitionError, DispatchError
from dispatch.layers import fake
from dispatch.layers.fake.rule_context import FakeContext
from dispatch.numpy_ops import from_ufunc
from dispatch.operators import custom_op, define, kernel_handle, libraries, register
from dispatch.schema import infer, opaque_types, tags

HOMES = [array_types, custom_op, define, key_guards, kernel_handle, libraries, register, fake, infer, opaque_types, tags, testing, from_ufunc]


def test_it_gathers_and_defines_nothing():
    for name in library.__all__:
        found = getattr(library, name)
        assert found in (DispatchKey, Residual, fallthrough_kernel) or any(getattr(home, name, None) is found for home in HOMES), name


def test_most_of_it_is_on_top_too():
    for name in set(library.__all__) & set(dispatch.__all__):
        assert getattr(dispatch, name) is getattr(library, name)
    assert {"custom_op", "register_kernel", "register_fake", "register_autograd", "register_vmap", "Tag"} <= set(dispatch.__all__)


# -- every entry beside torch's own -------------------------------------------------------------------------------------------

pytestmark = pytest.mark.filterwarnings("ignore:impl_abstract is the old name")

OF_LIBRARY = ("define", "impl")  # of which torch has an older form, which begins with a library
# What stands here is what differs, each for a reason.
OURS = {"register_dispatch": "register_torch_dispatch", "FakeContext": "FakeImplCtx"}  # names without torch in them
WITHOUT = {
    "CustomOpDef": "the operator itself, OpOverload",
    "register_autocast": "there is no autocast",
    "triton_op": "a composite kernel is registered by impl(name, 'CompositeImplicit')",
    "wrap_triton": "there is no Triton",
    "EffectType": "Tag.effect",
    "register_symm_mem_args": "there are no distributed buffers",
    "create_unbacked_symint": "new_dynamic_size, whose old name it is",
}
PRIVATE = {"_stacklevel"}  # torch's way of finding the caller; here it is the frame outside the package
DEFAULTS = {
    ("opcheck", "test_utils"): "the checks have their own names",
    ("register_autograd", "backward"): "without it register_autograd is a decorator",
}
NAMES = {("infer_schema", "prototype_function"), ("register_torch_dispatch", "torch_dispatch_class")}  # by position only


def entries():
    """Every public function of torch.library and method of what it hands out, with ours: a name, torch's, ours."""
    import torch.library as theirs
    from torch._library.fake_impl import FakeImplCtx

    of_torch = {v: k for k, v in OURS.items()}
    public = {*theirs.__all__, "opcheck", "register_autograd", "register_kernel"} - {"Library"}
    for name in sorted(public - set(WITHOUT)):
        mine = getattr(library, of_torch.get(name, name))
        yield name, getattr(theirs, name), mine
        if name in OF_LIBRARY:
            yield f"{name}(lib)", getattr(theirs, name).dispatch(theirs.Library), {"define": define.define_in, "impl": define.impl_in}[name]
    for cls, own in ((theirs.Library, library.Library), (FakeImplCtx, FakeContext)):
        if cls is theirs.Library:
            yield cls.__name__, cls, own
        for name, method in vars(cls).items():
            if callable(method) and not name.startswith("_") and name not in WITHOUT:
                yield f"{cls.__name__}.{name}", method, getattr(own, name)


@pytest.mark.torch
def test_every_entry_of_torch_library_has_its_parameters():
    seen = 0
    for name, theirs, ours in entries():
        if name == "fallthrough_kernel":
            continue  # nobody calls it
        theirs, ours = ([*inspect.signature(f).parameters.values()] for f in (theirs, ours))
        theirs = [p for p in theirs if p.name not in PRIVATE]
        assert len(ours) >= len(theirs), name
        mine = {p.name: p for p in ours}
        for i, p in enumerate(theirs):
            by_position = p.kind is not inspect.Parameter.KEYWORD_ONLY
            q = ours[i] if by_position else mine.get(p.name)
            assert q is not None, (name, p.name)
            assert q.kind is p.kind, (name, p)
            assert q.name == p.name or (name, p.name) in NAMES, (name, p.name, q.name)
            assert q.default == p.default or (name, p.name) in DEFAULTS, (name, p.name, q.default, p.default)
            seen += 1
        for p in ours[len(theirs) :]:  # what is ours alone changes no call that torch takes
            assert p.kind is inspect.Parameter.KEYWORD_ONLY or p.default is not inspect.Parameter.empty, (name, p.name)
    assert seen > 50


@pytest.mark.torch
def test_what_torch_library_offers_is_here_or_named():
    import torch.library as theirs

    names = {*theirs.__all__, *(n for n in vars(theirs) if getattr(vars(theirs)[n], "__module__", "") == theirs.__name__)}
    public = {n for n in names if not n.startswith("_")}
    here = {OURS.get(n, n) for n in library.__all__}
    assert public - here - set(WITHOUT) == set()


# -- an operator, its overload and its name are one to every entry --------------------------------------------------------------


def spellings(name):
    namespace, _, word = name.partition("::")
    op = getattr(getattr(dispatch.ops, namespace), word)
    return {"overload": op.default, "operator": op, "name": name}


REGISTERING = {
    "impl": lambda op, lib: library.impl(op, "CPU", lambda x: x * 3),
    "impl, decorator": lambda op, lib: library.impl(op, "cpu")(lambda x: x * 3),
    "impl, lib=": lambda op, lib: library.impl(op, "CPU", lambda x: x * 3, lib=lib),
    "impl(lib)": lambda op, lib: library.impl(lib, op, "CPU")(lambda x: x * 3),
    "impl(lib), keyword": lambda op, lib: library.impl(lib, name=op, dispatch_key="CPU")(lambda x: x * 3),
    "lib.impl": lambda op, lib: lib.impl(op, lambda x: x * 3, "CPU"),
    "lib.impl, keyword": lambda op, lib: lib.impl(op_name=op, fn=lambda x: x * 3, dispatch_key=DispatchKey.CPU),
    "register_kernel": lambda op, lib: library.register_kernel(op, "cpu", lambda x: x * 3, lib=lib),
}
RULES = {
    "register_fake": lambda op, lib: library.register_fake(op, lambda x: x, lib=lib),
    "impl_abstract": lambda op, lib: library.impl_abstract(op, func=lambda x: x, lib=lib),
    "register_autograd": lambda op, lib: library.register_autograd(op, lambda ctx, g: g, lib=lib),
    "register_jvp": lambda op, lib: library.register_jvp(op, lambda tangents, output, x: None, lib=lib),
    "register_vmap": lambda op, lib: library.register_vmap(op, lambda info, in_dims, x: (x, 0), lib=lib),
    "register_dispatch": lambda op, lib: library.register_dispatch(op, dispatch.Mode, lambda *args: None, lib=lib),
    "get_kernel": lambda op, lib: library.get_kernel(op, "CPU"),
    "opcheck": lambda op, lib: library.opcheck(op, (np.ones(2),), test_utils="test_schema"),
}


@pytest.mark.parametrize("how", ["overload", "operator", "name"])
@pytest.mark.parametrize("entry", [*REGISTERING, *RULES])
def test_every_entry_takes_an_overload_an_operator_and_a_name(entry, how):
    with library.Library("entries", "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 2, "CPU")
        op = spellings("entries::f")[how]
        (REGISTERING | RULES)[entry](op, lib)
        assert dispatch.ops.entries.f(np.ones(1))[0] == (3 if entry in REGISTERING else 2)


@pytest.mark.parametrize("entry", [*REGISTERING, *RULES])
def test_what_is_no_operator_is_refused_by_every_entry(entry):
    with library.Library("entries", "FRAGMENT") as lib, pytest.raises(DispatchError, match=r"an operator.* given an int|an operator.*an int was given"):
        (REGISTERING | RULES)[entry](5, lib)


@pytest.mark.parametrize("entry", [entry for entry in RULES if entry != "opcheck"])
def test_a_name_of_several_overloads_is_refused_with_their_names(entry):
    with library.Library("entries", "FRAGMENT") as lib:
        lib.define("g(Tensor x) -> Tensor")
        lib.define("g.more(Tensor x, Tensor y) -> Tensor")
        with pytest.raises(ArgumentError) as caught:
            RULES[entry](dispatch.ops.entries.g, lib)
        assert str(caught.value) == (
            "entries::g has several overloads, and one is asked for. Write dispatch.ops.entries.g.default, entries.g.more."
        )


def test_a_key_by_keyword_is_the_librarys_default_for_none():
    with library.Library("entries", "IMPL", "CPU") as lib, library.Library("entries", "FRAGMENT") as own:
        own.define("h(Tensor x) -> Tensor")
        library.impl(lib, "h")(lambda x: x * 5)
        assert dispatch.ops.entries.h(np.ones(1))[0] == 5
        with pytest.raises(DefinitionError, match="there is no dispatch key 'CPUU'"):
            library.impl(lib, "h", dispatch_key="CPUU")(lambda x: x)
