"""`export` and `load`: a function as a program that another process can run, if it has the same operators.

It has more than 350 lines because `export`, the program and its methods have whole docstrings.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np

from ..core import check_data, device_of
from ..core.pytree import items_of, rebuilt, steps
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import check_takes, clear
from ..dispatcher.printing import describe_value
from ..errors import GraphError, check_function, did_you_mean, how_many, kind_of
from ..graph import Graph, Metadata, Node, apply, common_subexpressions, dead_code, nodes_in, reinplace
from ..graph.graph import File
from ..graph.interpreter import bind
from ..layers.fake import FakeTensorMode, fake_tensor
from ..layers.functionalize import functionalize
from ..symbolic import ShapeEnv
from .dynamic_shapes import dynamic_program
from .lowering import program
from .trace_function import make_fx

NOTE = "exported"  # of a graph: what makes a program of it


class ExportedProgram(Fields):
    """A function that was traced once, with everything that another process needs to run it; `dispatch.export` makes it.

    It is called like the function. Arrays must have the shapes and dtypes of the example, and other arguments its values. An
    axis that was exported as dynamic may have any length that the guards allow.

    Parameters
    ----------
    graph : Graph
        A graph that `dispatch.export` made, read from a file say.

    Attributes
    ----------
    graph : Graph
        The operator calls.
    parameters : tuple of str
        The names of the arguments, in the order in which the graph takes them.
    versions : dict
        The versions of dispatch, NumPy and Python that exported it.

    Examples
    --------
    >>> import io
    >>> import numpy as np, dispatch
    >>> exported = dispatch.export(lambda x, y: np.sin(x) * y, (np.zeros(2), np.ones(2)))
    >>> exported.operators
    ['np::multiply', 'np::sin']
    >>> file = io.StringIO()
    >>> exported.save(file)
    >>> dispatch.load(io.StringIO(file.getvalue()))(np.array([0.5, 1.0]), y=np.full(2, 2.0))
    array([0.95885108, 1.68294197])
    """

    __slots__ = ("_run", "graph", "parameters", "versions")

    _elsewhere: ClassVar[dict[str, str]] = {
        "call": "program(x)", "code": "program.graph.code", "graph_module": "program.graph",
        "mlir_module": "print(program.graph)", "module": "program(x)", "run": "program(x)", "serialize": "program.save(file)",
    }  # fmt: skip
    _no_block = "a call, program(x)"

    @clear
    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise GraphError(f"an ExportedProgram is made by export(f, args) or load(file), and {kind_of(graph)} was given.")
        note = graph.notes.get(NOTE)
        if not isinstance(note, dict) or note.keys() != {"parameters", "versions"}:
            raise GraphError(
                "the graph is no exported program, which dispatch.export makes. Run it as a graph: Graph.load(file)."
            )
        self.graph = graph
        self.parameters = tuple(note["parameters"])
        self.versions: dict[str, str] = dict(note["versions"])
        self._run = dynamic_program(graph) if graph.symbols else program(graph)

    @property
    def operators(self) -> list[str]:
        """The names of the operators that the program calls. A process that loads it must have them."""
        return sorted({node.op.name for node in self.graph.nodes if node.op is not None})

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the program.

        Parameters
        ----------
        *args, **keywords
            As in a call of the function that was exported.

        Returns
        -------
        object
            What the function would return.

        Raises
        ------
        GraphError
            If the arguments do not fit the example.
        """
        if keywords:
            args = self._placed(args, keywords)
        values: dict[Node, Any] = {}
        bind(self.graph.inputs, args, values)
        for node, x in values.items():
            _check(node, x)
        return self._run(*[values[node] for node in nodes_in(self.graph.inputs)])

    def _placed(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        rest = self.parameters[len(args) :]
        unknown = [name for name in keywords if name not in rest]
        missing = [name for name in rest if name not in keywords]
        if unknown or missing:
            raise GraphError(
                f"the program takes ({', '.join(self.parameters)}), and was given {len(args)} by position and "
                f"{', '.join(map(repr, keywords))} by name. Give each once."
            )
        return (*args, *[keywords[name] for name in rest])

    @clear
    def save(self, file: File) -> None:
        """Write the program to a file, which `dispatch.load` reads; docs/graphs.md describes the format.

        Parameters
        ----------
        file : str, path, or file open for text
            A file at the path is replaced.

        Raises
        ------
        GraphError
            If an operator has no name that finds it, or a value cannot be written; the message names node and argument.
        """
        self.graph.save(file)

    @classmethod
    @clear
    def load(cls, file: File) -> Self:
        """Return the program in a file. Reading never runs code from the file.

        Parameters
        ----------
        file : str, path, or file open for text or bytes
            What `save` wrote.

        Returns
        -------
        ExportedProgram

        Raises
        ------
        GraphError
            If the file is damaged, with the line at fault; if operators are missing, with all their names.
        """
        return cls(Graph.load(file))

    def __repr__(self) -> str:
        return f"ExportedProgram({', '.join(self.parameters)}) of {how_many(len(self.graph.nodes), 'node')}"

    def __str__(self) -> str:
        return str(self.graph)


@clear
def export(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Mapping[str, Any] | None = None,
) -> ExportedProgram:
    """Trace a function into a program that can be saved, and run by a process without the function.

    No kernel runs. Arrays that the function captures become constants of the program.

    Parameters
    ----------
    f : callable
    args : tuple
        Examples of the arguments. Only the shapes and dtypes of arrays count.
    kwargs : dict, optional
        Examples of keyword arguments.
    dynamic_shapes : dict, optional
        The axes that may have any length from 2 on, by argument: `{"x": {0: "batch"}}`; for a container, a container of the
        same structure. Axes of the same name have the same length; `True` is a name of its own. It may need the extra
        `symbolic`.

    Returns
    -------
    ExportedProgram

    Raises
    ------
    TracingError
        If the function reads the data of a value.
    GraphError
        If an operator returns a number that depends on data, or `dynamic_shapes` does not fit the arguments.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> print(dispatch.export(lambda x: x + 1, (np.zeros(2),)))
    def f(x):
        # ...
        add = np.add(x, 1)  # float64[2]
        return add
    """
    check_function(f, "export", GraphError, "(f, (x,))")
    if not isinstance(args, tuple):
        raise GraphError(
            f"export: args is a tuple of the arguments, and {kind_of(args)} was given. Write (x,) for one, (x, y) for two."
        )
    if not (kwargs is None or isinstance(kwargs, Mapping)):
        raise GraphError(f"export: kwargs is a dict of the arguments by keyword, and {kind_of(kwargs)} was given.")
    values = (*args, *(kwargs or {}).values())
    names = _names(f, len(args), tuple(kwargs or {}))
    count = len(args)

    def positional(*given: Any) -> Any:
        named = dict(zip(names[count:], given[count:], strict=True))
        try:
            return f(*given[:count], **named)
        except TypeError:
            check_takes("export", f, given[:count], named)
            raise

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    vars(positional)["__signature__"] = inspect.Signature(parameters)  # by which the nodes of the arguments are named
    open_axes: Any = dynamic_shapes
    if open_axes is not None and not (isinstance(open_axes, Mapping) and not open_axes):
        values = opened(names, values, open_axes)
    graph = traced(positional, values, "symbolic" if dynamic_shapes else "fake")
    graph.notes[NOTE] = {"parameters": list(names), "versions": _versions()}
    return ExportedProgram(graph)


def opened(names: tuple[str, ...], values: tuple[Any, ...], dynamic_shapes: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the examples as fakes, with a symbol for each dynamic axis."""
    if not isinstance(dynamic_shapes, Mapping):
        raise GraphError(
            f"export: dynamic_shapes is {kind_of(dynamic_shapes)}. It says by name which axes are open: "
            f"{{{names[0] if names else 'x'!r}: {{0: 'n'}}}}."
        )
    unknown = [name for name in dynamic_shapes if name not in names]
    if unknown:
        raise GraphError(
            f"export: dynamic_shapes names {unknown[0]!r}, and the arguments are {', '.join(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
    env = ShapeEnv()
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=env)
    lengths: dict[Any, Any] = {}

    def fake(x: Any, axes: Any, path: str) -> Any:
        if (items := items_of(x)) is not None:
            parts = _parts(axes, x, path)
            return rebuilt(x, [fake(item, part, path + step) for item, part, step in zip(items, parts, steps(x), strict=True)])
        if device_of(x) is None:
            if axes is not None:
                raise GraphError(f"export: dynamic_shapes says {axes!r} for {path}, which is {kind_of(x)}. Leave it out.")
            return x
        check_data(x)
        made = mode.from_array(np.asarray(x), static_shapes=True)
        shape = list(made.shape)
        for axis, name in _named_axes(axes, len(shape), path):
            n = shape[axis]
            key = (path, axis) if name is None else name
            if n < 2:
                raise GraphError(
                    f"export: axis {axis} of {path} is to have any length, and is {n} in the example. Give an example of 2 or "
                    "more: 0 and 1 are sizes of their own to NumPy."
                )
            if key not in lengths:
                lengths[key] = n, env.new_symbol(f"s{len(lengths)}", hint=n, low=2)
            was, shape[axis] = lengths[key]
            if was != n:
                raise GraphError(
                    f"export: the axes named {name!r} are to have one length, and have {was} and {n} in the example. Give them "
                    "two names, or one length."
                )
        return fake_tensor(tuple(shape), made.dtype, None, made.device, mode)

    return tuple([fake(x, dynamic_shapes.get(name), name) for name, x in zip(names, values, strict=True)])


def _parts(axes: Any, x: Any, path: str) -> list[Any]:
    """Return the parts of `dynamic_shapes` for the items of a container."""
    keys = list(x) if isinstance(x, dict) else list(range(len(items_of(x) or ())))
    if axes is None:
        return [None] * len(keys)
    if isinstance(axes, (list, tuple)):
        axes = dict(enumerate(axes))
    if not isinstance(axes, dict) or any(key not in keys for key in axes):
        raise GraphError(
            f"export: dynamic_shapes says {axes!r} for {path}, a container of {keys}. Give it one with such items."
        )
    return [axes.get(key) for key in keys]


def _named_axes(axes: Any, ndim: int, path: str) -> list[tuple[int, str | None]]:
    """Return the dynamic axes of an array, each with the name of its length or None."""
    if axes is None:
        return []
    found = axes.items() if isinstance(axes, dict) else enumerate(axes) if isinstance(axes, (list, tuple)) else ()
    said = [(axis, name) for axis, name in found if name is not None and name is not False]
    fits = isinstance(axes, (dict, list, tuple)) and all(isinstance(axis, int) and -ndim <= axis < ndim for axis, _ in said)
    if not fits or not all((isinstance(name, str) and name.isidentifier()) or name is True for _, name in said):
        raise GraphError(
            f"export: dynamic_shapes says {axes!r} for {path}, an array of {how_many(ndim, 'axis')}. Write {{axis: name}}, or "
            "{axis: True} for a length of its own."
        )
    return [(axis % ndim, name if isinstance(name, str) else None) for axis, name in said]


def traced(f: Callable[..., Any], values: tuple[Any, ...], mode: str) -> Graph:
    """Return the graph of a function, without superfluous nodes and without writes except to arguments."""
    graph = make_fx(functionalize(f), mode)(*values)
    for node in graph.held:
        assert node.op is not None
        raise GraphError(
            f"export: {node.op.name} returned a number that was computed of arrays, and the program would hold what it was. "
            "Let the operator return it as an array without axes.",
            operator=node.op.name,
        )
    return apply(graph, dead_code, common_subexpressions, reinplace)


@clear
def load(file: File) -> ExportedProgram:
    """Return the program that `ExportedProgram.save` wrote to a file. Reading never runs code from the file.

    Parameters
    ----------
    file : str, path, or file open for text or bytes

    Returns
    -------
    ExportedProgram

    Raises
    ------
    GraphError
        If the file is damaged, with the line at fault; if operators are missing, with all their names.

    Examples
    --------
    >>> import io
    >>> import numpy as np, dispatch
    >>> file = io.StringIO()
    >>> dispatch.export(np.sin, (np.zeros(2),)).save(file)
    >>> dispatch.load(io.StringIO(file.getvalue()))(np.zeros(2))
    array([0., 0.])
    """
    return ExportedProgram.load(file)


def _names(f: Callable[..., Any], count: int, keywords: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the arguments: those of the parameters, as far as the function has a signature."""
    found: list[str] = []
    with suppress(TypeError, ValueError):
        for p in inspect.signature(f).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                found += [f"{p.name}_{i}" for i in range(count - len(found))]
            elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                found.append(p.name)
    found = found[:count] + [f"x{i}" for i in range(len(found), count)]
    return (*found, *keywords)


def _check(node: Node, x: Any) -> None:
    """Raise if an array has another shape or dtype than the example. A dynamic axis may have any length."""
    expected = node.value
    if not isinstance(expected, Metadata):
        return
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    if shape is None and type(x) in (float, complex):
        shape, dtype = (), np.dtype(type(x))
    fits = shape is not None and len(shape) == len(expected.shape) and dtype == expected.dtype
    if not fits or any(type(n) is int and n != m for n, m in zip(expected.shape, shape or (), strict=True)):
        wanted = f"{expected.dtype}[{', '.join(map(str, expected.shape))}]"
        said = f"the program was exported with {wanted} for {node.name}, and {describe_value(x)} was given"
        if shape is not None and dtype is not None and dtype != expected.dtype:
            raise GraphError(f"{said}. Cast it, {node.name}.astype({str(expected.dtype)!r}); or export it for that dtype.")
        raise GraphError(f"{said}. Export it for that shape, or with dynamic_shapes.")


def _versions() -> dict[str, str]:
    ours = sys.modules[__name__.partition(".")[0]].__version__
    return {"dispatch": ours, "numpy": np.__version__, "python": ".".join(map(str, sys.version_info[:3]))}
