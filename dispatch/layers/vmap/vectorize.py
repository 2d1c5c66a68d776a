"""`vectorize`: makes a function of arrays from a function of one item, by `vmap` in place of the loop of `np.vectorize`.

    f = dispatch.vectorize(solve, signature="(n,n),(n)->(n)")

The axes named in the signature are those of one item. All axes before them are loop dimensions, which broadcast. Loop
dimensions that the same arguments have are mapped by one vmap: two arrays that share all of theirs are mapped once. An argument
that lacks a loop dimension, or has it with length 1, is passed whole and is never repeated. The function runs once for all
items, and takes tracked, dual and batched values.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from ...core import Tensor, check_data
from ...core.wrong_calls import check_takes, clear, named_dtype
from ...errors import ArgumentError, DefinitionError, OutputError, how_many, kind_of, were_given
from ...operators.gufunc.signature import Binding, Shape, Signature
from ...operators.prims import astype
from .axes import refuse_tables
from .transform import vmap

Function = Callable[..., Any]


@clear
def vectorize(
    f: Function | None = None, /, *, signature: str | None = None, excluded: Iterable[int | str] = (), otypes: Any = None
) -> Function:
    """Return a function that applies `f` to every item of arrays that broadcast, as `np.vectorize` does, in one call of `f`.

    Parameters
    ----------
    f : callable, optional
        Written for one item, with NumPy's functions and operators. Without it this is a decorator.
    signature : str, optional
        The axes of one item in each argument and result, as in `np.vectorize`: `"(m,n),(n)->(m)"`; `"n?"` is an axis that may
        be absent. By default an item is one number of each argument.
    excluded : iterable of int or str, optional
        The arguments that all items share as they are, by position or name.
    otypes : str or sequence of dtype, optional
        The dtypes of the outputs; by default those that `f` returns.

    Returns
    -------
    callable
        Takes arrays, by position or keyword. The axes in front of an item's are loop dimensions, which broadcast; the results
        have them in front.

    Raises
    ------
    ArgumentError
        From a call, if shapes do not fit the signature or each other.
    OutputError
        From a call, if `f` returns something else than the signature says.

    Notes
    -----
    `f` runs once for all items, so it cannot ask for the number that one item is: `if x > 0` and `math.sin(x)` raise. Write
    `np.where` and `np.sin`. Operators that draw random numbers draw for each item.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> f = dispatch.vectorize(lambda a, x: np.sin(a @ x), signature="(m,n),(n)->(m)")
    >>> f(np.ones((4, 1, 2, 3)), np.ones((5, 3))).shape
    (4, 5, 2)
    >>> @dispatch.vectorize
    ... def clipped(x, y):
    ...     return np.where(x > y, y, x)
    >>> clipped([[1.0], [3.0]], [2.0, 4.0])
    array([[1., 1.],
           [2., 3.]])
    """
    if f is None:
        return lambda f: vectorize(f, signature=signature, excluded=excluded, otypes=otypes)
    if not callable(f):
        raise DefinitionError(
            f"vectorize takes a function first, and was given {kind_of(f)}. Write vectorize(f, signature='(n)->()')."
        )
    given = None if signature is None else Signature.parse(signature)
    apart, dtypes = _apart(excluded), None if otypes is None else _dtypes(otypes)
    if given is not None and dtypes is not None and len(dtypes) != len(given.outputs):
        some = how_many(len(dtypes), "dtype")
        raise DefinitionError(f"vectorize: otypes has {some}, one for each output, and the signature is {given}.")
    name = f"vectorize({getattr(f, '__name__', type(f).__name__)})"
    parameters = _parameter_names(f)

    @wraps(f)
    def vectorized(*args: Any, **keywords: Any) -> Any:
        called = dict(enumerate(parameters[: len(args)]))
        places: list[Any] = [i for i in range(len(args)) if i not in apart and called.get(i) not in apart]
        places += [word for word in keywords if word not in apart]
        arrays = [_as_array(keywords[k] if isinstance(k, str) else args[k]) for k in places]
        said = given or Signature(((),) * len(arrays), ())
        names = [k if isinstance(k, str) else called.get(k, f"argument {k}") for k in places]
        for x, word in zip(arrays, names, strict=True):
            refuse_tables(name, x, word)
        if not arrays:
            raise ArgumentError(f"{name} was called without an argument to go over.")
        if len(arrays) != len(said.inputs):
            raise ArgumentError(
                f"{name}: the signature {said} has {how_many(len(said.inputs), 'input')}, and {were_given(len(arrays))} "
                f"({', '.join(names)}). Name those that every item gets as they are: excluded=."
            )
        binding = said.bind(tuple([getattr(x, "shape", ()) for x in arrays]), names, name)
        outputs = Outputs(name, given, binding)

        def item(*items: Any) -> tuple[Any, ...]:
            positional, options = list(args), dict(keywords)
            for k, x in zip(places, items, strict=True):
                (options if isinstance(k, str) else positional)[k] = x
            try:
                return outputs.of_item(f(*positional, **options))
            except (TypeError, AttributeError):
                check_takes("vectorize", f, positional, options)
                raise

        item.__wrapped__ = f  # type: ignore[attr-defined]  # where vmap looks for what draws
        results = _mapped(item, arrays, binding, outputs)
        if dtypes is not None:
            if len(dtypes) != len(results):
                raise OutputError(
                    f"{name}: otypes has {how_many(len(dtypes), 'dtype')}, one for each output, and the function returned "
                    f"{how_many(len(results), 'output')}."
                )
            results = [astype(x, dtype) for x, dtype in zip(results, dtypes, strict=True)]
        return results[0] if outputs.single else tuple(results)

    return vectorized


DTYPES = {"int", "float", "complex", *[np.dtype(char).name for char in np.typecodes["All"]]}


def _dtypes(otypes: Any) -> tuple[Any, ...]:
    """The dtypes of the outputs: of a text one for each letter, as NumPy reads it."""
    if not isinstance(otypes, (str, list, tuple)):
        given = kind_of(otypes)
        raise DefinitionError(f"vectorize: otypes is a list of dtypes, or a text of their letters, and was given {given}.")
    if isinstance(otypes, str) and otypes in DTYPES and not set(otypes) <= set(np.typecodes["All"]):
        said = "vectorize: otypes is a list of dtypes, or a text of their letters"
        raise DefinitionError(f"{said}, and was given {otypes!r}. Write otypes=[{otypes!r}].")
    return tuple(named_dtype("vectorize(otypes=)", t) for t in otypes)


def _apart(excluded: Any) -> frozenset[Any]:
    if isinstance(excluded, (bytes, Mapping)) or not isinstance(excluded, (str, int, Iterable)):
        given = kind_of(excluded)
        raise DefinitionError(f"vectorize: excluded names arguments by position or name, in a list, and was given {given}.")
    found = [excluded] if isinstance(excluded, (str, int)) else list(excluded)
    for place in found:
        if not isinstance(place, (str, int)):
            raise DefinitionError(f"vectorize: excluded names arguments by position or name, and has {kind_of(place)}.")
    return frozenset(found)


def _parameter_names(f: Function) -> list[str]:
    """Return the names of the arguments that are given by position, if they are known."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:  # some builtins
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _as_array(x: Any) -> Any:
    check_data(x)
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


class Outputs:
    """Checks what the function returns for one item against the signature."""

    def __init__(self, name: str, signature: Signature | None, binding: Binding) -> None:
        self.name, self.signature = name, signature
        self.cores = None if signature is None else signature.without(binding.missing).outputs
        self.sizes = dict(binding.sizes)
        self.single = self.cores is not None and len(self.cores) == 1
        self.shapes: list[Shape] = []

    def of_item(self, out: Any) -> tuple[Any, ...]:
        """Return the outputs of an item as a tuple, or raise if they do not fit the signature."""
        if self.cores is None:
            self.single = not isinstance(out, (tuple, list))
        found = (out,) if self.single else tuple(out) if isinstance(out, (tuple, list)) else None
        cores = ((),) * len(found or ()) if self.cores is None else self.cores
        if found is None or len(found) != len(cores):
            what = kind_of(out) if found is None else how_many(len(found), "output")
            raise OutputError(
                f"{self.name}: the function returned {what}, and the signature {self.signature} has "
                f"{how_many(len(cores), 'output')}."
            )
        self.shapes = [np.shape(x) for x in found]
        for i, (core, shape) in enumerate(zip(cores, self.shapes, strict=True)):
            same = [n == (int(c) if c.isdigit() else self.sizes.setdefault(c, n)) for c, n in zip(core, shape, strict=False)]
            if len(core) != len(shape) or not all(same):
                raise self._unlike(i, core, shape)
        return found

    def _unlike(self, i: int, core: tuple[str, ...], shape: Shape) -> OutputError:
        which = "the output" if self.single else f"output {i}"
        if self.signature is None:
            return OutputError(
                f"{self.name}: {which} of an item has shape {shape}, and without a signature an item is one number. Name the "
                "axes: signature='()->(n)' for a number in and an array out."
            )
        known = ", ".join(f"{word}={self.sizes[word]}" for word in dict.fromkeys(core) if word in self.sizes)
        return OutputError(
            f"{self.name}: {which} of an item has shape {shape}, and the signature {self.signature} says ({','.join(core)})"
            f"{f' with {known}' if known else ''}."
        )


def _mapped(item: Function, arrays: list[Any], binding: Binding, outputs: Outputs) -> list[Any]:
    """Return the outputs for all items: one vmap for each run of loop dimensions that the same arguments have."""
    loop = binding.loop
    shapes = [(1,) * (len(loop) - n) + getattr(x, "shape", ())[:n] for x, n in zip(arrays, binding.ndims, strict=True)]
    owners = {k: tuple([shape[k] != 1 for shape in shapes]) for k in range(len(loop)) if loop[k] != 1}
    runs = [(who, prod([loop[k] for k in axes])) for who, axes in groupby(owners, owners.__getitem__)]
    values = []
    for i, x in enumerate(arrays):
        n = binding.ndims[i]
        wanted = (*[size for who, size in runs if who[i]], *x.shape[n:]) if n else ()
        values.append(x.reshape(wanted) if n and wanted != x.shape else x)
    f = item
    for who, _ in reversed(runs):
        f = vmap(f, in_dims=tuple([0 if own else None for own in who]), randomness="different")
    results = []
    for x, core in zip(f(*values), outputs.shapes, strict=True):
        whole = x if isinstance(x, Tensor) else np.asarray(x)
        results.append(whole if len(owners) == len(runs) == len(loop) else whole.reshape((*loop, *core)))
    return results
