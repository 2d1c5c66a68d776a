"""`define`, `impl` and `impl_abstract`: define and register by name, as in torch.library."""

import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, overload

from ..core import DispatchKey, OpOverload
from ..core.source import caller, levels_out
from ..core.wrong_calls import clear, holding
from ..dispatcher.layer import key_of_name
from ..dispatcher.own_rules import check_not_own
from ..errors import DefinitionError, kind_of
from ..schema.tags import Tag
from ..schema.types import split_name
from .libraries import Library, definition
from .register import register_fake
from .registry import add, known

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
Types = str | DispatchKey | Sequence[str | DispatchKey]


def or_of_library(form: Function) -> Callable[[Function], Function]:
    """Make a function go by another form where its first argument is a library.

    A frame of `functools.singledispatch` would count as the user's, who defines.
    """

    def around(fn: Function) -> Function:
        @wraps(fn)
        def chosen(*args: Any, **keywords: Any) -> Any:
            return (form if args and isinstance(args[0], Library) else fn)(*args, **keywords)

        return chosen

    return around


def define_in(lib: Library, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> Callable[[F], F]:
    """Define an operator by a schema that begins with its name, and decorate its composite kernel."""
    name = lib.define(schema, alias_analysis, tags=tags)
    return lambda fn: _implemented(lib, name, fn, "CompositeImplicit")


def impl_in(lib: Library, name: str | OpOverload, dispatch_key: str | DispatchKey = "") -> Callable[[F], F]:
    """Decorate a kernel of an operator of a library."""
    return lambda fn: _implemented(lib, name, fn, dispatch_key)


def _implemented(lib: Library, name: str | OpOverload, fn: F, key: str | DispatchKey) -> F:
    lib.impl(name, fn, key)
    return fn


@overload
def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Tag | Sequence[Tag] = ()) -> None: ...
@overload
def define(qualname: Library, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> Callable[[F], F]: ...
@or_of_library(define_in)
@holding("lib")
def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Tag | Sequence[Tag] = ()) -> Any:
    """Define an operator by its schema, without a kernel.

    `define(library, "name(Tensor x) -> Tensor", alias_analysis="")` is a decorator: the function that it decorates becomes the
    kernel for every key, `CompositeImplicit`.

    Parameters
    ----------
    qualname : str
        The name, `"ns::name"` or `"ns::name.overload"`.
    schema : str
        `"(arguments) -> returns"`.
    lib : Library, optional
        The definition is removed when this library is destroyed. Without it the definition stays.
    tags : Tag or sequence of Tag
        What the operator promises; see `Tag`.

    Returns
    -------
    callable or None
        The decorator, if a library is given in place of the name.

    Raises
    ------
    SchemaError
        If the schema cannot be read, or the name is no name.
    DefinitionError
        If another module has defined the name, or the schema contradicts a tag.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import define, impl
    >>> define("docs_define::third", "(Tensor x) -> Tensor")
    >>> @impl("docs_define::third", "cpu")
    ... def third(x):
    ...     return x / 3
    >>> dispatch.ops.docs_define.third(np.array([3.0]))
    array([1.])
    """
    if not isinstance(qualname, str):
        raise DefinitionError(f"define asks for the name 'ns::name' or a Library, and {kind_of(qualname)} was given.")
    split_name(qualname)
    if lib is None:
        add(definition(schema, qualname, "", tags), *caller())
    else:
        if "(" not in schema or schema.partition("(")[0].strip():
            raise DefinitionError(f"{qualname}: the schema begins with '(': the name is given already.", operator=qualname)
        lib.define(qualname + schema, tags=tags)
    return None


@overload
def impl(qualname: str | OpOverload, types: Types, func: None = None, *, lib: Library | None = None) -> Callable[[F], F]: ...
@overload
def impl(qualname: str | OpOverload, types: Types, func: F, *, lib: Library | None = None) -> F: ...
@overload
def impl(qualname: Library, name: str | OpOverload, dispatch_key: str | DispatchKey = "") -> Callable[[F], F]: ...
@or_of_library(impl_in)
@holding("lib")
def impl(qualname: Any, types: Types, func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an operator, for devices or at keys.

    `impl(library, "name", dispatch_key="")` is a decorator too, as in torch: of a kernel at one key, by default the library's.

    Parameters
    ----------
    qualname : str or OpOverload
        An operator, or its name: of one that is defined or will be.
    types : str, DispatchKey, or sequence of these
        Devices, as `"cpu"`; keys, as `"Autograd"`; or `"default"` for every device.
    func : callable, optional
        The kernel. Without it this is a decorator.
    lib : Library, optional
        The kernel is removed when this library is destroyed. Without it the kernel stays.

    Returns
    -------
    callable
        `func`, unchanged.

    Raises
    ------
    DefinitionError
        If `func` is no function, or there is no such device or key.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import define, impl
    >>> define("docs_impl::twice", "(Tensor x) -> Tensor")
    >>> @impl("docs_impl::twice", "default")
    ... def twice(x):
    ...     return 2 * x
    >>> dispatch.ops.docs_impl.twice(np.array([3.0]))
    array([6.])
    """
    if not isinstance(qualname, (str, OpOverload)):
        given = kind_of(qualname)
        raise DefinitionError(f"impl asks for an operator, its name 'ns::name' or a Library, and {given} was given.")
    name = qualname if isinstance(qualname, str) else qualname.name
    if callable(types):
        raise DefinitionError(
            f"{name}: impl takes the devices before the kernel, and was given {kind_of(types)}. "
            f"Write impl({name!r}, 'cpu', kernel)."
        )
    one = not isinstance(types, (list, tuple, set, frozenset))
    keys = [key_of_name(t) for t in ([types] if one else list(types))]  # type: ignore[arg-type]
    if not keys:
        raise DefinitionError(f"{name}: impl names no device. Write 'default' for a kernel that computes on any.")
    if func is None:
        return lambda fn: impl(qualname, keys, fn, lib=lib)
    if lib is None and (op := known(name)) is not None:
        check_not_own(op, keys, f"lib.impl({op.schema.name!r}, kernel, ...)")
    library = Library(split_name(name)[0], "IMPL") if lib is None else lib
    for key in keys:
        library.impl(qualname, func, key)
    return func


@overload
def impl_abstract(qualname: OpOverload | str, func: F, *, lib: Library | None = None) -> F: ...
@overload
def impl_abstract(qualname: OpOverload | str, func: None = None, *, lib: Library | None = None) -> Callable[[F], F]: ...
@clear
def impl_abstract(qualname: OpOverload | str, func: Function | None = None, *, lib: Library | None = None) -> Any:
    """Register a fake rule: the old name of `register_fake`, which torch keeps too. It warns.

    Parameters
    ----------
    qualname, func, lib
        As in `register_fake`.

    Returns
    -------
    callable
        `func`, unchanged.

    Examples
    --------
    >>> import numpy as np, dispatch, warnings
    >>> from dispatch.library import define, impl_abstract
    >>> define("docs_impl::copied", "(Tensor x) -> Tensor")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     _ = impl_abstract("docs_impl::copied", lambda x: np.empty_like(x))
    >>> dispatch.eval_shape(dispatch.ops.docs_impl.copied, np.ones(3))
    FakeTensor(shape=(3,), dtype=float64)
    """
    said = "impl_abstract is the old name of register_fake. Write register_fake."
    warnings.warn(said, FutureWarning, stacklevel=levels_out())
    return register_fake(qualname, func, lib=lib)
