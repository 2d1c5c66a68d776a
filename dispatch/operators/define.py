"""`define`, `impl` and `impl_abstract`: define and register by name, as in torch.library."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core import DispatchKey, OpOverload
from ..core.source import caller
from ..dispatcher.layer import key_of_name
from ..errors import DefinitionError, kind_of
from ..schema.tags import Tag
from ..schema.types import split_name
from .libraries import Library, definition
from .register import register_fake
from .registry import add

Function = Callable[..., Any]


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Tag | Sequence[Tag] = (),
) -> Any:
    """Define an operator without kernels; with a library, decorate a function as its composite kernel.

    Parameters
    ----------
    qualname : str or Library
        `"ns::name"`; or a library, and then the schema begins with the name.
    schema : str
        `"(arguments) -> returns"`.
    alias_analysis : str
        See `Library.define`.
    lib : Library, optional
        The library that the definition is removed with; without one it stays.
    tags : Tag or sequence of Tag

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
    if isinstance(qualname, Library):
        library = qualname
        name = library.define(schema, alias_analysis, tags=tags)

        def decorate(fn: Function) -> Function:
            library.impl(name, fn, "CompositeImplicit")
            return fn

        return decorate
    if not isinstance(qualname, str):
        raise DefinitionError(f"define asks for the name 'ns::name' or a Library, and {kind_of(qualname)} was given.")
    split_name(qualname)
    if lib is None:
        add(definition(schema, qualname, alias_analysis, tags), *caller())
    else:
        if "(" not in schema or schema.partition("(")[0].strip():
            raise DefinitionError(f"{qualname}: the schema begins with '(': the name is given already.", operator=qualname)
        lib.define(qualname + schema, alias_analysis, tags=tags)
    return None


def impl(
    qualname: str | Library,
    types: str | DispatchKey | Sequence[str | DispatchKey],
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for devices or keys; without the function this is a decorator.

    Parameters
    ----------
    qualname : str or Library
        `"ns::name"`, of an operator that is defined or will be; or a library, and then `types` is the operator's name and
        `func` the key.
    types : str, DispatchKey, or sequence of these
        Devices (`"cpu"`), keys, or `"default"` for every device.
    func : callable, optional
        The kernel.
    lib : Library, optional
        The library that the kernel is removed with; without one it stays.
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, str(types), "" if func is None else func

        def decorate(fn: Function) -> Function:
            library.impl(name, fn, key)
            return fn

        return decorate
    if not isinstance(qualname, str):
        raise DefinitionError(f"impl asks for the name 'ns::name' or a Library, and {kind_of(qualname)} was given.")
    keys = [key_of_name(t) for t in ([types] if isinstance(types, (str, DispatchKey)) else list(types))]
    if not keys:
        raise DefinitionError(f"{qualname}: impl names no device. Write 'default' for a kernel that computes on any.")
    if func is None:
        return lambda fn: impl(qualname, keys, fn, lib=lib)
    library = lib or Library(split_name(qualname)[0], "IMPL")
    for key in keys:
        library.impl(qualname, func, key)
    return func


def impl_abstract(op: OpOverload | str, func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Register a fake rule: the old name of `register_fake`.

    Parameters
    ----------
    op, func, lib
        See `register_fake`.
    """
    warnings.warn("impl_abstract is the old name of register_fake. Write register_fake.", FutureWarning, stacklevel=2)
    return register_fake(op, func, lib=lib)
