"""Keeps the traces of compiled functions in files, for other processes, and reads them back.

    DIR/KEY/DIGEST.entry        KEY says which calls an entry is for, DIGEST is that of its text

An entry is text:

    npdispatch entry 1 DIGEST                              blake2b of all that follows
    {"call": "float64[3]", "decided": [], ...}             JSON: which inputs decide, and what they were
    graph(1)  # ...                                        a graph, as Graph.dumps writes it; see serialize.py

Reading runs no code. Whatever is wrong with a file, it is no entry: the function is traced, and the file is written again. It
is no use to warn: the result is right, and the cause, a disk that was full or a process that was killed, is gone by then. Of a
folder that cannot be made there is a warning, once: nothing would ever be kept. A
file is written beside its place and moved there, so that no process sees half of one.

The key is a digest of the walk's fingerprint, of what users have registered for operators, and of all whose version counts.
"""

import json
import os
import platform
import struct
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.source import Line, levels_out
from ..errors import DispatchError, PerformanceWarning
from ..graph import Graph, Metadata, Node, nodes_in
from ..operators.rule_operators import is_ours, owner_of
from .cache import LIMIT
from .capture import FunctionGraph, Options, Walked, bound
from .dynamic_shapes import fits
from .fingerprint import Fingerprint, Unkeyed, fingerprint
from .registered import operators_in
from .rule_texts import RuleTexts

FORMAT = 1
HEAD = f"npdispatch entry {FORMAT} "
MOST_BYTES = 1 << 28  # of one entry
MOST_ENTRIES = 4 * LIMIT  # for calls of one key, which differ in values that the graph holds


class Key(NamedTuple):
    """What an entry is found by: a text; the files of the code, and the operators of users whose rules are in the text."""

    text: str
    files: list[str]
    covered: set[str]

    @property
    def name(self) -> str:
        """The name of the folder, which says the versions too."""
        return digest(f"{FORMAT} {versions()} {self.text}")


def key_of(call: Walked, options: Options) -> Key:
    """Return the key of a call; raise `Unkeyed` where it rests on what another process cannot compare."""
    found = fingerprint(call, options)
    rules = RuleTexts(found, call.reached.names)
    return Key(digest(repr((found.parts, rules.parts))), found.files, rules.covered)


@cache
def versions() -> tuple[Any, ...]:
    """Return what decides what a trace gives, and is the same while a process lives.

    A checkout of this package changes without a new version: the sizes and times of its files count. Constants are computed
    by NumPy while tracing, whose last bits depend on the processor and on the library of linear algebra.
    """
    package = sys.modules[__name__.partition(".")[0]]
    folder = Path(str(package.__file__)).parent
    stamps = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".so", ".pyd")):
                stat = os.stat(os.path.join(place, name))
                stamps.append((os.path.relpath(place, folder), name, stat.st_size, stat.st_mtime_ns))
    numpy = np.__version__, repr(np.show_config(mode="dicts"))  # with the library of linear algebra, and what the processor has
    return package.__version__, stamps, numpy, sys.version, sys.platform, platform.machine()


# -- the text of an entry --------------------------------------------------------------------------------------------------


def head_of(call: Walked, key: Key, traced: FunctionGraph, said: str) -> str:
    """Return what an entry says beside its graph; raise `Unkeyed` where it cannot be kept."""
    for op in operators_in(traced.graph):
        if not is_ours(op) and owner_of(op).name not in key.covered:
            raise Unkeyed(f"it calls {op.name}, which its code does not name")
    head = {
        "call": said,
        "as_inputs": traced.as_inputs,
        "quiet": traced.quiet,
        "decided": list(traced.decided),
        "values": _values(call, traced.as_inputs, traced.decided),
        "files": key.files,
    }
    return json.dumps(head)


def entry_text(head: str, graph: Graph) -> str:
    """Return the text of an entry; raise `Unkeyed` where its graph has none."""
    try:
        text = f"{head}\n{graph.dumps()}"
    except DispatchError as error:
        raise Unkeyed(str(error)) from None
    if len(text) > MOST_BYTES:
        raise Unkeyed(f"its graph takes {len(text)} characters, more than {MOST_BYTES}")
    return f"{HEAD}{digest(text)}\n{text}"


def digest(text: str) -> str:
    """Return the digest of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()


def _values(call: Walked, as_inputs: bool, decided: Iterable[int]) -> str:
    """Return a digest of the values that a graph holds: floats that decide, and what is captured where it is no input."""
    values, _ = call.inputs(as_inputs)
    floats = [values[i] for i in decided]
    arrays = []
    if not as_inputs:
        floats += call.reached.floats.values()
        arrays = call.captured()
    made = blake2b(struct.pack(f"<{len(floats)}d", *floats), digest_size=24)
    for x in arrays:
        made.update(repr((Fingerprint.dtype(x.dtype), x.shape, x.strides)).encode())
        made.update(x.tobytes())
    return made.hexdigest()


def read_entry(text: str, call: Walked, key: Key, options: Options) -> tuple[FunctionGraph, str] | None:
    """Return the trace in a text, and what calls it is for; None where it is for other values, or is no entry."""
    try:
        first, head, graph = text.split("\n", 2)
        if first != HEAD + digest(f"{head}\n{graph}"):
            return None
        known = json.loads(head)
        decided, as_inputs, quiet, said, files = [known[name] for name in ("decided", "as_inputs", "quiet", "call", "files")]
        if [type(x) for x in (decided, as_inputs, quiet, said, files)] != [list, bool, bool, str, list]:
            return None
        values, _ = call.inputs(as_inputs)
        if any(type(file) is not str for file in files) or any(
            type(i) is not int or i < 0 or type(values[i]) is not float for i in decided
        ):
            return None
        if known["values"] != _values(call, as_inputs, decided):
            return None
        found = Graph.loads(graph)
        nodes = list(nodes_in(found.inputs))
        if options.dynamic and not fits(found, values):
            return None
        if len(nodes) != len(values) or not all(_takes(node, x) for node, x in zip(nodes, values, strict=True)):
            return None
        _move(found, dict(zip(files, key.files, strict=True)))
        return bound(call, found, tuple(decided), as_inputs, quiet, options), said
    except Exception:  # whatever it is, the function is traced
        return None


def _takes(node: Node, x: Any) -> bool:
    """Whether an input may be this one."""
    if type(x) is float:
        return type(node.value) is Metadata and node.value.shape == () and node.value.dtype == np.dtype(float)
    if type(node.value) is not Metadata or node.value.dtype != x.dtype or len(node.value.shape) != x.ndim:
        return False
    return all(type(n) is not int or n == m for n, m in zip(node.value.shape, x.shape, strict=True))


def _move(graph: Graph, files: dict[str, str]) -> None:
    """Let the lines of a graph be in the files where the code is now."""
    if all(was == now for was, now in files.items()):
        return
    moved: dict[int, Line] = {}
    for node in graph.nodes:
        if node.source is not None:
            line = moved.get(id(node.source))
            if line is None:
                line = moved[id(node.source)] = node.source._replace(file=files.get(node.source.file, node.source.file))
            node.source = line


# -- files -----------------------------------------------------------------------------------------------------------------


def entries_in(folder: Path) -> list[str]:
    """Return the files of entries in a folder, in the order of their names."""
    with os.scandir(folder) as found:
        return sorted([entry.path for entry in found if entry.name.endswith(".entry")])


class EntryFiles:
    """The entries in a folder; or, with no folder, those that a pickle has brought along.

    Parameters
    ----------
    folder : path or None
    """

    def __init__(self, folder: Any) -> None:
        self.folder = None if folder is None else Path(folder)
        self.brought: dict[str, list[str]] = {}
        self._warned = False

    def __bool__(self) -> bool:
        return self.folder is not None or bool(self.brought)

    def find(self, call: Walked, key: Key, options: Options) -> tuple[FunctionGraph, str, str] | None:
        """Return a trace for a call, what calls it is for, and where it was found; None where there is none."""
        for place, text in self._texts(key.name):
            found = read_entry(text, call, key, options)
            if found is not None:
                return *found, place
        return None

    def _texts(self, key: str) -> Iterator[tuple[str, str]]:
        yield from [("a pickle", text) for text in self.brought.get(key, ())]
        if self.folder is None:
            return
        try:
            places = entries_in(self.folder / key)
        except OSError:
            return
        for place in places[:MOST_ENTRIES]:
            try:
                with open(place, "rb") as file:
                    text = file.read(MOST_BYTES + 1).decode("utf-8", "surrogatepass")
            except (OSError, ValueError):
                continue
            yield place, text

    def keep(self, key: Key, text: str) -> str:
        """Write an entry, and return why it could not be; "" where it was."""
        if self.folder is None:
            return ""
        place = self.folder / key.name
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            if not self._warned:
                self._warned = True
                said = f"compile: nothing is kept in cache_dir={str(self.folder)!r}: {error.strerror}. Name one to write to."
                warnings.warn(said, PerformanceWarning, stacklevel=levels_out())
            return f"it could not be written: {error}"
        try:
            name = f"{digest(text)}.entry"
            if len(known := entries_in(place)) >= MOST_ENTRIES and str(place / name) not in known:
                return f"there are {MOST_ENTRIES} entries for such calls, in {place}"
            handle, temporary = tempfile.mkstemp(dir=place, prefix="writing-")
            try:
                with open(handle, "wb") as file:
                    file.write(text.encode("utf-8", "surrogatepass"))
                os.replace(temporary, place / name)
            except BaseException:
                with suppress(OSError):
                    os.remove(temporary)
                raise
        except OSError as error:
            return f"it could not be written: {error}"
        return ""
