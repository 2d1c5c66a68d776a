"""The laws of the house, read off the syntax trees of everything under dispatch/: who may import whom, what a layer
may know, how large a room may grow, which words are not used. docs/floors.md gives the reasons.

A law is a function from the rooms of a package to its complaints. test_floors.py holds each against the package, and
against small packages that break it.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Lowest first; a room imports only from lower floors, so that what stands on one floor never imports each other. A name that
# ends in "/" is a whole folder: its files may import each other, without a cycle. Every file must be found here.
FLOORS = [
    {"errors"},  # the slab: imports nothing, everybody may raise
    {"core/"},  # what is called, compiled; knows no operator and no layer
    {"symbolic/"},
    {"schema/"},
    {"dispatcher/"},
    {"operators/"},
    {"graph/"},
    {"layers/"},  # its folders never import each other: see APART
    {"autodiff/", "compiler/"},  # what combines layers
    {"control_flow/"},
    {"testing/"},
    {"numpy_ops/"},
    {"numpy/", "scipy/", "interop/"},  # doors: the public namespaces, other frameworks
    {"library", "autograd"},  # the faces
    {"__init__"},
    {"__main__"},
]
APART = "layers/"  # what stands in it is a layer or below them all
WRAPPERS = {  # and the layer that owns each
    "FakeTensor": "layers/fake/",
    "TrackedTensor": "layers/autograd/",
    "DualTensor": "layers/jvp/",
    "BatchedTensor": "layers/vmap/",
    "TracedTensor": "layers/trace/",
    "FunctionalTensor": "layers/functionalize/",
}
LAYERS = {*WRAPPERS.values(), "layers.mode"}  # none is imported by anything else in the same folder
LATE_IMPORTS = {"core.optional", "interop/", "__main__"}  # what is optional, or what a command needs, is imported when used
# An unpickled operator imports the module that defines it, as pickle does for a class; the other is the one lazy door.
LOADERS = {"operators.pickling", "core.lazy"}
OUTSIDE = {"numpy", "cython", "cpython", "libc"}  # NumPy is the only dependency; the others exist at compile time
OUTSIDE_OF = {"testing/": {"pytest"}}  # the pytest plugin is loaded by pytest
FORBIDDEN_WORDS = {"util", "utils", "misc", "common", "helper", "helpers", "manager", "info"}
FRAME_READERS = {"_getframe", "currentframe"}
READER_OF_FRAMES = "core.source"
HELD_BY_ONE_TEST = {"numpy_ops": "test_table"}  # every row by the same laws, so that a new row costs no test
OWN_TESTS_ONLY = {"", "core", "schema", "graph"}  # folders that no one test speaks for
MOST_LINES, MOST_CORE_LINES = 350, 2750
OPERATOR_NAME = re.compile(r"\w+::\w+(\.\w+)?")


@dataclass(frozen=True)
class Import:
    line: int
    target: str  # a module of ours, or the name of a library
    ours: bool
    absolute: bool = False  # ours, but through the name of the package
    hidden: bool = False  # inside a function


@dataclass(frozen=True)
class Room:
    """One file of the package."""

    package: Path
    path: Path

    @property
    def name(self) -> str:
        parts = self.path.relative_to(self.package).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    @property
    def floor_name(self) -> str:
        return floor_name(self.name)

    @property
    def layer(self) -> str:
        return layer_of(self.name)

    @property
    def names(self) -> set[str]:
        return {self.name, self.floor_name}

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def code(self) -> str:
        """The text of a Cython file without docstrings and comments, line for line."""
        blank = re.sub(r'"""(.*?)"""', lambda text: "\n" * text[0].count("\n"), self.text, flags=re.DOTALL)
        return re.sub(r"#.*", "", blank)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def compiled(self) -> bool:
        return self.path.suffix in {".pyx", ".pxd"}

    def says(self, line: int, words: str) -> str:
        return f"{self.path.relative_to(self.package.parent)}:{line}: {words}"

    def imports(self) -> Iterator[Import]:
        for line, level, module, names, hidden in self.lines_of_cython() if self.compiled else self.lines_of_python():
            if level:
                here = self.path.relative_to(self.package).parent.parts
                base = [*here[: len(here) - level + 1], *filter(None, module.split("."))]
                inner = {name: ".".join([*base, name]) for name in names}
                if is_package(self.package.joinpath(*base)):
                    targets = {inner[name] if exists(self.package, inner[name]) else ".".join(base) for name in names}
                else:
                    targets = {".".join(base)}
                for target in sorted(targets):
                    yield Import(line, target or "__init__", ours=True, hidden=hidden)
            elif module.partition(".")[0] == self.package.name:
                yield Import(line, module.partition(".")[2] or "__init__", ours=True, absolute=True, hidden=hidden)
            else:
                yield Import(line, module.partition(".")[0], ours=False, hidden=hidden)

    def lines_of_python(self) -> Iterator[tuple[int, int, str, list[str], bool]]:
        hidden = {id(node) for function in functions(self.tree) for node in ast.walk(function)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names]
                yield node.lineno, node.level, node.module or "", names, id(node) in hidden
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, 0, alias.name, [], id(node) in hidden
            elif isinstance(node, ast.Attribute | ast.Name) and spelled(node) in {"import_module", "__import__"}:
                yield node.lineno, 0, "importlib", [], id(node) in hidden

    def lines_of_cython(self) -> Iterator[tuple[int, int, str, list[str], bool]]:
        for number, line in enumerate(self.code.splitlines(), 1):
            if found := re.match(r"(\s*)from\s+(\.*)([\w.]*)\s+c?import\s+(.*)", line):
                indent, dots, module, names = found.groups()
                yield number, len(dots), module, re.findall(r"\w+", names.split(" as ")[0]), bool(indent)
            elif found := re.match(r"(\s*)c?import\s+([\w.]+)", line):
                yield number, 0, found[2], [], bool(found[1])


def functions(tree: ast.AST) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]


def spelled(node: ast.expr) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def exists(package: Path, name: str) -> bool:
    path = package.joinpath(*name.split("."))
    return is_package(path) or any(path.with_suffix(suffix).exists() for suffix in (".py", ".pyx", ".pxd"))


def floor_name(name: str) -> str:
    listed = set().union(*FLOORS)
    folder = name.partition(".")[0] + "/"
    return name if name in listed else folder if folder in listed else ""


def layer_of(name: str) -> str:
    """The folder, or the file, of the layer that a room belongs to; nothing where it belongs to none."""
    parts = name.split(".")
    folder = f"{APART}{parts[1]}/" if len(parts) > 1 else ""
    return (folder if folder in LAYERS else name) if name.startswith(APART.replace("/", ".")) else ""


def floor(name: str) -> int:
    return next((number for number, rooms in enumerate(FLOORS) if floor_name(name) in rooms), -1)


def rooms_of(package: Path) -> list[Room]:
    return [Room(package, path) for path in sorted(package.rglob("*")) if path.suffix in {".py", ".pyx", ".pxd"}]


def every_room_has_its_floor(rooms):
    for room in rooms:
        if not room.floor_name and room.path.name != "__init__.pxd":
            yield room.says(1, f"{room.name} is on no floor; give it its place in FLOORS")


def imports_go_down(rooms):
    for room in rooms:
        for found in room.imports():
            inside = room.floor_name == floor_name(found.target) and room.floor_name.endswith("/")
            own = inside or room.name == found.target  # a .pyx and its .pxd are one room
            if found.ours and not own and floor(found.target) >= floor(room.name):
                yield room.says(found.line, f"{room.name} imports {found.target}, which is not on a lower floor")
            elif found.ours and inside and layer_of(found.target) in LAYERS - {room.layer}:
                yield room.says(found.line, f"{room.name} imports {found.target}, which is another layer's")


def no_imports_in_a_circle(rooms):
    graph: dict[str, set[str]] = {}
    for room in rooms:
        graph.setdefault(room.name, set()).update(found.target for found in room.imports() if found.ours)
    for name in sorted(graph):
        seen: set[str] = set()
        ahead = graph[name] - {name}
        while ahead:
            seen |= ahead
            ahead = set().union(*(graph.get(step, set()) for step in ahead)) - seen
        if name in seen:
            yield f"{name} imports itself by way of {', '.join(sorted(seen - {name}))}"


def no_import_is_hidden_in_a_function(rooms):
    for room in rooms:
        for found in room.imports():
            load = found.target == "importlib" and room.name in LOADERS
            if found.hidden and not load and not room.names & LATE_IMPORTS:
                yield room.says(found.line, f"an import of {found.target} inside a function; move it to the top")


def nothing_goes_through_the_root(rooms):
    for room in rooms:
        for found in room.imports():
            if found.absolute:
                yield room.says(found.line, "the package is imported by its own name; write a relative import")


def numpy_is_the_only_dependency(rooms):
    for room in rooms:
        allowed = sys.stdlib_module_names | OUTSIDE | OUTSIDE_OF.get(room.floor_name, set())
        for found in room.imports():
            if not found.ours and found.target not in allowed and not room.names & LATE_IMPORTS:
                yield room.says(found.line, f"{found.target} is no dependency; ask extras.require for it")


def files_stay_small(rooms):
    for room in rooms:
        if (lines := len(room.text.splitlines())) > MOST_LINES:
            yield room.says(lines, f"{lines} lines; {MOST_LINES} are allowed, so give it two rooms")
    compiled = [room for room in rooms if room.name.startswith("core.") and room.path.suffix == ".pyx"]
    if (core := sum(len(room.text.splitlines()) for room in compiled)) >= MOST_CORE_LINES:
        yield f"core/ has {core} lines; it must stay under {MOST_CORE_LINES}"


def no_word_that_says_nothing(rooms):
    for room in rooms:
        names = [(1, part) for part in room.name.split(".")]
        if room.compiled:
            defined = re.finditer(r"^\s*(?:cdef |cpdef )?(?:class|def)\s+(\w+)", room.code, re.MULTILINE)
            names += [(room.code[: found.start()].count("\n") + 1, found[1]) for found in defined]
        else:
            kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            names += [(node.lineno, node.name) for node in ast.walk(room.tree) if isinstance(node, kinds)]
        for line, name in names:
            words = re.findall(r"[A-Z]?[a-z]+", name)
            if words and words[-1].lower() in FORBIDDEN_WORDS:
                yield room.says(line, f"the name {name} does not say what it is")


def a_layer_knows_its_own_wrapper_only(rooms):
    for room in rooms:
        if room.layer:
            for line, name in words_of(room):
                if WRAPPERS.get(name, room.layer) != room.layer:
                    yield room.says(line, f"{name} belongs to another layer; ask the operator instead")


def words_of(room: Room) -> Iterator[tuple[int, str]]:
    """The names that a room speaks of."""
    if room.compiled:
        for number, line in enumerate(room.code.splitlines(), 1):
            yield from ((number, word) for word in re.findall(r"[A-Za-z_]\w*", line))
        return
    for node in ast.walk(room.tree):
        named = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else [spelled(node)]
        yield from ((getattr(node, "lineno", 0), name) for name in named)


def no_operator_by_name(rooms):
    """In a layer or in the core. A literal inside a sentence is an example, not an operator."""
    for room in rooms:
        if room.compiled:
            literals = re.finditer(r"([\"'])(.*?)\1", room.code)
            found = [(room.code[: text.start()].count("\n") + 1, text[2]) for text in literals]
        elif room.layer:
            constants = [node for node in ast.walk(room.tree) if isinstance(node, ast.Constant)]
            found = [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]
        else:
            continue
        for line, text in found:
            if OPERATOR_NAME.fullmatch(text):
                yield room.says(line, f"the operator {text} by name; a prim is an object, and so is a key")


def frames_are_read_in_one_place(rooms):
    for room in rooms:
        if room.name != READER_OF_FRAMES and not room.compiled:
            for node in ast.walk(room.tree):
                if isinstance(node, ast.expr) and spelled(node) in FRAME_READERS:
                    yield room.says(node.lineno, "a frame is read; core/source.py does that, for messages only")


def no_global_statement(rooms):
    for room in rooms:
        if room.compiled:
            lines = [number for number, line in enumerate(room.code.splitlines(), 1) if re.match(r"\s+global\s", line)]
        else:
            lines = [node.lineno for node in ast.walk(room.tree) if isinstance(node, ast.Global)]
        for line in lines:
            yield room.says(line, "a `global` statement; give the value an owner")


def every_room_has_its_tests(rooms):
    for room in rooms:
        tests = room.package.parent / "tests"
        folder, _, name = room.name.rpartition(".")
        top = folder.partition(".")[0]
        if room.path.suffix == ".pxd" or room.path.name == "__init__.py":
            continue  # promises and faces: what they gather is tested where it is made
        if top in HELD_BY_ONE_TEST:
            wanted = [tests / top / f"{HELD_BY_ONE_TEST[top]}.py"]
        else:
            beside = tests.joinpath(*folder.split("."))
            wanted = [beside / f"test_{name.strip('_')}.py"]
            wanted += [beside / f"test_{beside.name}.py"] * (folder not in OWN_TESTS_ONLY)  # or by the folder's face
        if not any(path.exists() for path in wanted):
            yield room.says(1, f"has no {' or '.join(str(path.relative_to(tests.parent)) for path in wanted)}")


LAWS: list[Callable[[list[Room]], Iterator[str]]] = [
    every_room_has_its_floor,
    imports_go_down,
    no_imports_in_a_circle,
    no_import_is_hidden_in_a_function,
    nothing_goes_through_the_root,
    numpy_is_the_only_dependency,
    files_stay_small,
    no_word_that_says_nothing,
    a_layer_knows_its_own_wrapper_only,
    no_operator_by_name,
    frames_are_read_in_one_place,
    no_global_statement,
    every_room_has_its_tests,
]
