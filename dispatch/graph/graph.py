"""Graph: the operator calls of a function, to run, print, save and change."""

import io
import os
from typing import Any, Never, Self, TextIO, TypeAlias

from ..core.wrong_calls import Text, clear, holding
from ..errors import GraphError, check_flag, kind_of
from .body import Body
from .codegen import Code
from .interpreter import holds, note_shapes, run
from .serialize import outline, read, written
from .visualize import dot, html, svg


class Graph(Body):
    """The operator calls of a function, as a list.

    Attributes
    ----------
    nodes : list of Node
        In the order in which they ran; a node comes after its arguments.
    inputs : tuple
        The arguments of the function, in their containers: a node for each array. Other values are kept, and a call of the
        graph must pass the same ones.
    outputs : object
        What the function returned, with a node for each array.
    constants : dict
        The arrays that belong to the graph, by the names of their nodes.
    notes : dict
        Values by name that users attach to the graph; passes and files keep them.
    symbols : dict
        For each symbol of a size, the node and the axis that it is read from; the axis is None where the node is the number.
    guards : list of Guard
        The conditions that the sizes of arguments must meet; each prints as Python and has the `line` it comes from.
    checks : list of Check
        The conditions on sizes that depend on data, which each run tests.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(x) + 1)(np.zeros(3))
    >>> graph(np.array([0.0, 1.0]))
    array([1.        , 1.84147098])
    >>> print(graph)
    def f(x):
        # ...
        sin = np.sin(x)  # float64[3]
        add = np.add(sin, 1)  # float64[3]
        return add
    """

    __slots__ = ()

    def __call__(self, *args: Any, **names: Never) -> Any:
        """Run the graph: call every operator again, with these arguments.

        A value is released after its last use. Each run copies the constants that it may write to or return.

        Parameters
        ----------
        *args
            As in a call of the function that was traced: arrays of any shapes that the guards allow, in the same containers.

        Returns
        -------
        object
            What the function would return.

        Raises
        ------
        GraphError
            If the arguments differ from those of the trace in structure or in a value that is no array, or if a guard does
            not hold; the message names it, with its line.
        CheckError
            If a check of a size that depends on data fails.
        """
        if names:
            raise GraphError(f"a graph takes its arguments by position, and {', '.join(names)} came by name.")
        try:
            return run(self, args)
        except Exception as error:
            note_shapes(self, args, error)
            raise

    @clear
    def holds(self, *args: Any) -> bool:
        """Return whether the graph can run with these arguments: their structure fits, and every guard holds.

        Parameters
        ----------
        *args
            As in a call of the graph.

        Returns
        -------
        bool

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> graph = dispatch.make_fx(lambda x: x * 2 if len(x) > 2 else x, "symbolic")(np.ones(3))
        >>> graph.holds(np.ones(2)), graph.holds(np.ones((3, 2)))
        (False, False)
        """
        return holds(self, args)

    # -- printing ------------------------------------------------------------------------------------------------------

    @property
    def code(self) -> str:
        """The text of a Python module that defines the graph as a function `f`: `exec(graph.code, scope := graph.scope)`."""
        return Text(Code(self).text, "the code of a graph is a text, and is not called. Write graph.code.")

    @property
    def scope(self) -> dict[str, Any]:
        """The values that the code looks up in `objects`: large arrays and handles. Empty for most graphs."""
        return Code(self).scope

    @clear
    def print_readable(self, print_output: bool = True) -> str:
        """Print the code and return it.

        Parameters
        ----------
        print_output : bool, optional
            If False, only return it.

        Returns
        -------
        str
            `code`.
        """
        code = self.code
        if check_flag(print_output, "print_readable: print_output"):
            print(code, end="")  # noqa: T201  it is what it is for
        return code

    def __str__(self) -> str:
        return self.code.split("\n\n\n", 1)[-1].rstrip("\n")

    def __repr__(self) -> str:
        return f"<graph of {len(self.nodes)} nodes: {', '.join(map(repr, self.nodes[:12]))}{', ...' * (len(self.nodes) > 12)}>"

    def _repr_html_(self) -> str:
        return f"<div>{svg(self)}{html(self)}</div>"

    def _repr_svg_(self) -> str:
        return svg(self)

    @clear
    def to_dot(self) -> str:
        """Return the graph as text in the DOT language; `dot -Tsvg`, of Graphviz, makes a picture of it."""
        return dot(self)

    @clear
    def to_svg(self) -> str:
        """Return the graph as an SVG picture for a browser or a notebook."""
        return svg(self)

    # -- saving --------------------------------------------------------------------------------------------------------

    @clear
    def dumps(self) -> str:
        """Return the graph as text, which `Graph.loads` reads; docs/graphs.md describes the format.

        Returns
        -------
        str

        Raises
        ------
        GraphError
            If an operator has no name that finds it, or a value cannot be written; the message names node and argument.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> graph = dispatch.make_fx(np.sin)(np.zeros(3))
        >>> dispatch.Graph.loads(graph.dumps()) == graph
        True
        """
        return written(self)

    @clear
    def save(self, file: "File") -> None:
        """Write the graph to a file, which `Graph.load` reads.

        Parameters
        ----------
        file : str, path, or file open for text
            A file at the path is replaced.

        Raises
        ------
        GraphError
            As from `dumps`. Nothing is written then.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> file = io.StringIO()
        >>> dispatch.make_fx(np.sin)(np.zeros(3)).save(file)
        >>> dispatch.Graph.load(io.StringIO(file.getvalue()))(np.zeros(3))
        array([0., 0., 0.])
        """
        _check_file(file, "write")
        text = written(self)
        if isinstance(file, (str, os.PathLike)):
            with open(file, "w", encoding="utf-8", newline="\n") as opened:
                opened.write(text)
        else:
            file.write(text)

    @classmethod
    @holding("text", "name")
    def loads(cls, text: str, name: str = "") -> Self:
        """Return the graph that a text describes. Reading never runs code from the text.

        Parameters
        ----------
        text : str
            What `dumps` returned.
        name : str, optional
            The name of the file, for messages.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If the text is damaged or of another version, with the number of the line; if operators are missing, with all
            their names; if the schema of an operator has changed.

        Examples
        --------
        >>> import dispatch
        >>> dispatch.Graph.loads("import os")
        Traceback (most recent call last):
        dispatch.errors.GraphError: line 1: ...
        """
        made = cls()
        read(text, made, name)
        return made

    @classmethod
    @clear
    def load(cls, file: "File") -> Self:
        """Return the graph in a file.

        Parameters
        ----------
        file : str, path, or file open for text or bytes
            What `save` wrote.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            As from `loads`.
        """
        _check_file(file, "read")
        if isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as opened:
                text: Any = opened.read()
            name = os.path.basename(os.fspath(file))
        else:
            text, name = file.read(), str(getattr(file, "name", ""))
        return cls.loads(text if isinstance(text, str) else text.decode("utf-8", "replace").replace("\r\n", "\n"), name)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Return whether two graphs make the same calls in the same order; names and lines may differ."""
        return self is other or (isinstance(other, Graph) and outline(self) == outline(other))

    __hash__ = object.__hash__


def _check_file(file: Any, verb: str) -> None:
    """Refuse what is no path and no open file."""
    if not isinstance(file, (str, os.PathLike)) and not hasattr(file, verb):
        raise GraphError(f"a file is a path or is open to {verb}, and {kind_of(file)} was given.")


File: TypeAlias = str | os.PathLike[str] | io.TextIOBase | TextIO
dumps, loads = Graph.dumps, Graph.loads
