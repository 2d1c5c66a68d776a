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
    """Define an operator by its schema, without a kernel.

    `define(library, "name(Tensor x) -> Tensor")` is a decorator: the function that it decorates becomes the kernel for every
    key, `CompositeImplicit`.

    Parameters
    ----------
    qualname : str or Library
        The name, `"ns::name"`; or a library, and then the schema begins with the name.
    schema : str
        `"(arguments) -> returns"`.
    alias_analysis : str
        As in `Library.define`.
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
    """Register a kernel of an operator, for devices or at keys.

    `impl(library, "name", key)` is a decorator too, as in torch.

    Parameters
    ----------
    qualname : str or Library
        The operator's name, `"ns::name"`; it may be defined later. Or a library, and then `types` is the name in that
        library's namespace, and `func` the key.
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
    """Register a fake rule: the old name of `register_fake`, which torch keeps too. It warns.

    Parameters
    ----------
    op, func, lib
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
    warnings.warn("impl_abstract is the old name of register_fake. Write register_fake.", FutureWarning, stacklevel=2)
    return register_fake(op, func, lib=lib)
