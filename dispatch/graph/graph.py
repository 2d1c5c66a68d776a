"""Graph: what a function did, that can be run, printed, saved and changed."""

import io
import os
from collections.abc import Callable
from typing import Any, Self, TextIO, TypeAlias

from .body import Body
from .codegen import Code
from .interpreter import holds, run
from .serialize import outline, read, written
from .visualize import dot, html, svg


class Graph(Body):
    """What a function did, as a list of operator calls.

    Attributes
    ----------
    nodes : list of Node
        In the order in which they ran; a node comes after those it is made of.
    inputs : tuple
        The arguments that the function was called with: nodes for arrays, in containers as they came; what is no array as
        it was, and a call of the graph has to give the same.
    outputs : object
        What the function returned, nodes for arrays.
    constants : dict
        The arrays of the graph's own, by the names of their nodes.
    notes : dict
        What somebody wrote on the graph, values that have text by names; passes and files keep it.
    symbols : dict
        Where each symbol of its sizes is read: a node and an axis; None for a node that is the number itself.
    guards : list of Guard
        What has to hold for the sizes of other arguments, each a condition that prints as Python, with its `line`.
    checks : list of Check
        What was promised of sizes that depend on data, and is tested in each run.

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

    def __call__(self, *args: Any) -> Any:
        """Run the graph: every operator is called again, with these arguments.

        A value is let go after its last use. Of a constant that may be written to, or returned, every run has a copy.

        Raises
        ------
        GraphError
            If the arguments have another structure than those the graph was made of, differ in what is no array, or have
            sizes that a guard is against; it is named, with the line that it comes from.
        CheckError
            If what was promised of a size that depends on data does not hold.
        """
        return run(self, args)

    def holds(self, *args: Any) -> bool:
        """Whether the graph is one for these arguments: they have its structure, and every guard holds.

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
        """A function in Python, `f`, that does the same: `exec(graph.code, scope := graph.scope)` makes it."""
        return Code(self).text

    @property
    def scope(self) -> dict[str, Any]:
        """What the code names and has no text: large arrays and objects, in a dict `objects`; nothing, for most graphs."""
        return Code(self).scope

    def print_readable(self, print_output: bool = True) -> str:
        """Print the code, and return it.

        Parameters
        ----------
        print_output : bool, optional
            Whether to print at all.
        """
        code = self.code
        if print_output:
            print(code, end="")  # noqa: T201  it is what it is for
        return code

    def __str__(self) -> str:
        return self.code.split("\n\n\n", 1)[-1].rstrip("\n")

    def __repr__(self) -> str:
        return f"<graph of {len(self.nodes)} nodes: {', '.join(map(repr, self.nodes[:12]))}{', ...' * (len(self.nodes) > 12)}>"

    def _repr_html_(self) -> str:
        return html(self)

    def to_dot(self) -> str:
        """The graph as DOT text, which Graphviz draws."""
        return dot(self)

    def to_svg(self) -> str:
        """The graph as a picture, which a browser or a notebook shows."""
        return svg(self)

    # -- saving --------------------------------------------------------------------------------------------------------

    def dumps(self) -> str:
        """The graph as text: see docs/graphs.md.

        Raises
        ------
        GraphError
            If an operator is known to nobody by its name, or a value has no text: the node and the argument are named.
        """
        return written(self)

    def save(self, file: "File") -> None:
        """Write the graph to a file, which is a path, or open for text.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> file = io.StringIO()
        >>> dispatch.make_fx(np.sin)(np.zeros(3)).save(file)
        >>> dispatch.Graph.load(io.StringIO(file.getvalue()))(np.zeros(3))
        array([0., 0., 0.])
        """
        text = written(self)
        if isinstance(file, (str, os.PathLike)):
            with open(file, "w", encoding="utf-8", newline="\n") as opened:
                opened.write(text)
        else:
            file.write(text)

    @classmethod
    def loads(cls, text: str, name: str = "") -> Self:
        """The graph of a text. Nothing of the text is run.

        Raises
        ------
        GraphError
            With the number of the line at fault, if the text is damaged or of another version, if operators are not there,
            which are all named, or have another schema than when the graph was saved.
        """
        made = cls()
        read(text, made, name)
        return made

    @classmethod
    def load(cls, file: "File") -> Self:
        """The graph of a file, which is a path, or open for text or bytes. Raises what `loads` does."""
        if isinstance(file, (str, os.PathLike)):
            with open(file, "rb") as opened:
                text: Any = opened.read()
            name = os.path.basename(os.fspath(file))
        else:
            text, name = file.read(), str(getattr(file, "name", ""))
        return cls.loads(text if isinstance(text, str) else text.decode("utf-8", "replace").replace("\r\n", "\n"), name)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Whether two graphs do the same in the same order; names and lines may differ."""
        return self is other or (isinstance(other, Graph) and outline(self) == outline(other))

    __hash__ = object.__hash__


File: TypeAlias = str | os.PathLike[str] | io.TextIOBase | TextIO
Pass: TypeAlias = Callable[[Graph], Graph]
dumps, loads = Graph.dumps, Graph.loads
