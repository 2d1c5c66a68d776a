"""The laws of the package, read off the syntax trees of everything under dispatch/: who may import whom, what a layer may
know, what a file is called and how long it may be, which words are not used. docs/floors.md shows the tree.

A law is a function from the files of a package to its complaints. test_floors.py holds each against the package, and against
small packages that break it.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# The import rule, whole. A file imports only from folders further up in this list; folders in braces do not import each other, and
# inside a folder there is no circle. "faces" are the modules in dispatch/ itself, save errors.
RULE = (
    "errors",
    "core",
    "symbolic",
    "schema",
    "dispatcher",
    "operators",
    "graph",
    "layers",
    {"autodiff", "compiler"},
    "control_flow",
    "testing",
    "numpy_ops",
    "numpy",
    {"scipy", "interop"},
    "faces",
)
PLACES: dict[str, int] = {
    folder: number for number, place in enumerate(RULE) for folder in ({place} if isinstance(place, str) else place)
}
PLANNED = {"scipy"}  # in the rule, and not there yet
FOLDERS = set(PLACES) - PLANNED - {"errors", "faces"}
MODULES = {"__init__", "library", "autograd", "errors", "__main__"}
BESIDE = {"py.typed", "__init__.pxd"}  # what type checkers and what `cimport dispatch` look for
APART = "layers/"  # what stands in it does not import each other
WRAPPERS = {  # and the layer that owns each
    "FakeTensor": "layers/fake/",
    "TrackedTensor": "layers/autograd/",
    "DualTensor": "layers/jvp/",
    "BatchedTensor": "layers/vmap/",
    "TracedTensor": "layers/trace/",
    "FunctionalTensor": "layers/functionalize/",
}
LAYERS = {*WRAPPERS.values(), "layers.mode"}  # none is imported by anything else in layers/
# What is optional, what a command needs, and what is loaded when it is first used.
LATE_IMPORTS = {"core.optional", "core.lazy", "interop/", "__main__"}
# An unpickled operator or compiled function imports the module that defines it, as pickle does for a class; commands are given
# a module's name.
LOADERS = {"operators.pickling", "operators.loading", "compiler.pickled"}
OUTSIDE = {"numpy", "cython", "cpython", "libc"}  # NumPy is the only dependency; the others exist at compile time
OUTSIDE_OF = {"testing/": {"pytest"}}  # the pytest plugin is loaded by pytest
FORBIDDEN_WORDS = {"util", "utils", "misc", "common", "helper", "helpers", "manager", "info"}
FRAME_READERS = {"_getframe", "currentframe"}
READERS_OF_FRAMES = {"core.source", "schema.hint_scopes"}  # where code is; the variables around a function, for its hints
# The stems that stand more than once, each for the same thing: in folders of layers/, and once beside them what they share.
SHARED_STEMS = {"layer", "tensor", "kernel", "inplace", "transform", "visualize", "user_rules"}
# Their modules have the names of another package's, so that a program changes its imports at their beginning only.
MIRRORED = ("interop.autograd.", "numpy.")
MIRRORED_STEMS = {"flatten"}  # of these names a module of ours has but one, which takes containers apart, as autograd's does
HELD_BY_ONE_TEST = {"numpy_ops": "test_table"}  # every row by the same laws, so that a new row costs no test
OWN_TESTS_ONLY = {"", "core", "schema", "graph"}  # folders that no one test speaks for
MOST_LINES = 350  # above it a file says at its top why
# Of all .pyx beside their docstrings, a ninth of the package: who changes the core reads C. 70 are NumPy's gufunc of functions in C,
# which its C API alone makes; 430 are what stands between np.transpose(x), x[1:] or a product of large arrays and the row itself:
# torch has these in C++, and in Python each took a microsecond of the 0.3 that NumPy takes; 330 are the
# loops of control_flow/; 150 are the plain forms of a program's calls, by which a replayed node costs no more than NumPy's call;
# 330 are the nodes of a graph and what passes ask of each of 200 000;
# 400 are the guards of a compiled function, all of which every call of it compares;
# 300 are the blocks in which a program makes elementwise calls, a third of NumPy's time for large arrays and an eighth for small;
# 130 are the threads that share these blocks where they take long: half the time on two cores, and no Python runs in them;
# 200 are the table of arrays that a tape holds, 170 ns less for each, and shapes set in C, 100 ns less, without which np.reshape and
# np.concatenate of a tracked value cost more than torch's;
# 320 are what a kernel takes off its arguments on the stack, called without tuples, inputs saved as arrays and a walk whose first
# leaf is in no dict: a quarter of a tracked call's instructions, and of forward and backward, whose bounds a slower machine missed;
# 50 are what compiled objects say of an attribute that they do not have, of a ctx used as a dict, and of an operator that stands
# where its result was meant: Python asks the class itself for `+` and `with`;
# 50 are what keeps hostile values from the process: a list that holds itself ends where it is walked, methods ask what they are of;
# 30 are the first call of a kernel, whose undeclared writes are looked for, and of which no later call pays a nanosecond; and how
# often a number was taken out of a value, which tells a result that lost its derivative from a constant.
MOST_COMPILED_LINES = 8080
DOCSTRING = re.compile(r'(\A|^(?!cdef extern)[^\n]*:\n) *"""(?:[^"]|"(?!""))*"""\n', re.MULTILINE)
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
PICTURES = re.compile(r"(?i)\b(floor|rooms?|houses?|doors?|mezzanine|riddles?)\b")  # of docs/floors.md, and of nothing else
OPERATOR_NAME = re.compile(r"\w+::\w+(\.\w+)?")


@dataclass(frozen=True)
class Import:
    line: int
    target: str  # a module of ours, or the name of a library
    ours: bool
    absolute: bool = False  # ours, but through the name of the package
    hidden: bool = False  # inside a function


@dataclass(frozen=True)
class File:
    """One file of the package."""

    package: Path
    path: Path

    @property
    def name(self) -> str:
        parts = self.path.relative_to(self.package).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    @property
    def folder(self) -> str:
        return folder_of(self.name)

    @property
    def layer(self) -> str:
        return layer_of(self.name)

    @property
    def names(self) -> set[str]:
        return {self.name, f"{self.folder}/"}

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def code(self) -> str:
        """The text of a Cython file without docstrings and comments, line for line."""
        blank = re.sub(r'"""(.*?)"""', lambda text: "\n" * text[0].count("\n"), self.text, flags=re.DOTALL)
        return re.sub(r"#.*", "", blank)

    @property
    def opening(self) -> str:
        """What stands at the top: comments and the docstring."""
        found = re.match(r'(\s*(#.*\n|"""(.|\n)*?"""))*', self.text)
        return found[0] if found else ""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def compiled(self) -> bool:
        return self.path.suffix in {".pyx", ".pxd"}

    def says(self, line: int, words: str) -> str:
        return f"{self.path.relative_to(self.package.parent)}:{line}: {words}"

    @cached_property
    def imports(self) -> list[Import]:
        return list(self._imports())

    def _imports(self) -> Iterator[Import]:
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
        hidden: set[int] = set()
        for node in self.nodes:  # outer functions come before those inside them
            if isinstance(node, FUNCTIONS) and id(node) not in hidden:
                hidden.update(map(id, ast.walk(node)))
        for node in self.nodes:
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


def spelled(node: ast.expr) -> str:
    return getattr(node, "id", "") or getattr(node, "attr", "")


def is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def exists(package: Path, name: str) -> bool:
    path = package.joinpath(*name.split("."))
    return is_package(path) or any(path.with_suffix(suffix).exists() for suffix in (".py", ".pyx", ".pxd"))


def folder_of(name: str) -> str:
    """The folder of the rule that a module stands in."""
    return "faces" if name in MODULES - {"errors"} else name.partition(".")[0]


def layer_of(name: str) -> str:
    """The folder, or the file, of the layer that a file belongs to; nothing where it belongs to none."""
    parts = name.split(".")
    folder = f"{APART}{parts[1]}/" if len(parts) > 1 else ""
    return (folder if folder in LAYERS else name) if name.startswith(APART.replace("/", ".")) else ""


def files_of(package: Path) -> list[File]:
    return [File(package, path) for path in sorted(package.rglob("*")) if path.suffix in {".py", ".pyx", ".pxd"}]


def every_file_has_its_folder(files):
    package = files[0].package
    for path in sorted(package.iterdir()):
        ours = path.name in FOLDERS | PLANNED if path.is_dir() else path.name in {f"{name}.py" for name in MODULES} | BESIDE
        if not ours and not path.name.startswith((".", "__pycache__")):
            yield f"{package.name}/{path.name} is none of the modules and folders of the rule; put it into one of them"


def imports_go_down(files):
    for file in files:
        for found in (found for found in file.imports if found.ours):
            folder = folder_of(found.target)
            if folder not in PLACES:
                yield file.says(found.line, f"{file.name} imports {found.target}, which is in no folder of the rule")
            elif folder != file.folder and PLACES[folder] >= PLACES.get(file.folder, -1):
                yield file.says(found.line, f"{file.name} imports {found.target}, which is not in a lower folder")
            elif folder == file.folder and layer_of(found.target) in LAYERS - {file.layer}:
                yield file.says(found.line, f"{file.name} imports {found.target}, which is another layer's")


def no_imports_in_a_circle(files):
    graph: dict[str, set[str]] = {}
    for file in files:
        graph.setdefault(file.name, set()).update(found.target for found in file.imports if found.ours)
    for name in sorted(graph):
        seen: set[str] = set()
        ahead = graph[name] - {name}
        while ahead:
            seen |= ahead
            ahead = set().union(*(graph.get(step, set()) for step in ahead)) - seen
        if name in seen:
            yield f"{name} imports itself by way of {', '.join(sorted(seen - {name}))}"


def no_import_is_hidden_in_a_function(files):
    for file in files:
        for found in file.imports:
            load = found.target == "importlib" and file.name in LOADERS
            if found.hidden and not load and not file.names & LATE_IMPORTS:
                yield file.says(found.line, f"an import of {found.target} inside a function; move it to the top")


def nothing_goes_through_the_root(files):
    for file in files:
        for found in file.imports:
            if found.absolute:
                yield file.says(found.line, "the package is imported by its own name; write a relative import")


def numpy_is_the_only_dependency(files):
    for file in files:
        allowed = sys.stdlib_module_names | OUTSIDE | OUTSIDE_OF.get(f"{file.folder}/", set())
        for found in file.imports:
            if not found.ours and found.target not in allowed and not file.names & LATE_IMPORTS:
                yield file.says(found.line, f"{found.target} is no dependency; ask extras.require for it")


def a_long_file_says_why(files):
    for file in files:
        if (lines := len(file.text.splitlines())) > MOST_LINES and f"{MOST_LINES} lines" not in file.opening:
            yield file.says(lines, f"{lines} lines; write at its top why it has more than {MOST_LINES} lines, or split it")
    compiled = sum(len(DOCSTRING.sub(r"\1", file.text).splitlines()) for file in files if file.path.suffix == ".pyx")
    if compiled > MOST_COMPILED_LINES:
        yield f"the compiled part has {compiled} lines; it must stay under {MOST_COMPILED_LINES}"


def a_stem_names_one_thing(files):
    places: dict[str, set[Path]] = {}
    mirrored: dict[str, str] = {}
    for file in files:
        if file.name.startswith(MIRRORED):
            mirrored[file.path.stem] = file.name
        elif file.path.name.partition(".")[0] != "__init__":
            places.setdefault(file.path.stem, set()).add(file.path.relative_to(file.package).parent)
    for stem in sorted(mirrored.keys() & places.keys() - MIRRORED_STEMS):
        yield f"the name {stem} is that of {mirrored[stem]}, where another package's is meant; call the other otherwise"
    for stem, folders in sorted(places.items()):
        beside = [folder for folder in folders if len(folder.parts) != 2 or f"{folder.parts[0]}/" != APART]
        if len(folders) > 1 and (stem not in SHARED_STEMS or len(beside) > 1):
            listed = ", ".join(sorted(map(str, folders)))
            yield f"the name {stem} stands in {listed}; a name means one thing"


def no_module_is_hidden_by_a_name_of_its_own(files):
    """A face that takes a name from elsewhere hides the module of that name: `compiler.compile` is then the function."""
    for file in files:
        if file.path.name == "__init__.py" and file.name != "__init__" and not file.name.startswith(MIRRORED):
            for node in file.nodes:
                if isinstance(node, ast.ImportFrom) and node.module:
                    for name in (alias.asname or alias.name for alias in node.names):
                        if exists(file.package, f"{file.name}.{name}"):
                            yield file.says(node.lineno, f"{name} hides the module {file.name}.{name}; call the module otherwise")


def the_words_of_the_page_stay_there(files):
    for file in files:
        for number, word in pictures_in(file.text):
            yield file.says(number, f'the word "{word}"; say key, rank, module or folder')


def pictures_in(text):
    """The words that belong to docs/floors.md, with their lines; `floor` as the name of the function aside."""
    for number, line in enumerate(text.splitlines(), 1):
        is_name = re.search(r"(np|sympy)\.floor|^\s*floor[ ,]|[\"`]floor[\"`]|\bfloor\(|\bfloors\b", line)
        if not is_name and (found := PICTURES.search(line)):
            yield number, found[0]


def no_word_that_says_nothing(files):
    for file in files:
        names = [] if file.name.startswith(MIRRORED) else [(1, part) for part in file.name.split(".")]
        if file.compiled:
            defined = re.finditer(r"^\s*(?:cdef |cpdef )?(?:class|def)\s+(\w+)", file.code, re.MULTILINE)
            names += [(file.code[: found.start()].count("\n") + 1, found[1]) for found in defined]
        else:
            kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            names += [(node.lineno, node.name) for node in file.nodes if isinstance(node, kinds)]
        for line, name in names:
            words = re.findall(r"[A-Z]?[a-z]+", name)
            if words and words[-1].lower() in FORBIDDEN_WORDS:
                yield file.says(line, f"the name {name} does not say what it is")


def a_layer_knows_its_own_wrapper_only(files):
    for file in files:
        if file.layer:
            for line, name in words_of(file):
                if WRAPPERS.get(name, file.layer) != file.layer:
                    yield file.says(line, f"{name} belongs to another layer; ask the operator instead")


def words_of(file: File) -> Iterator[tuple[int, str]]:
    """The names that a file speaks of."""
    if file.compiled:
        for number, line in enumerate(file.code.splitlines(), 1):
            yield from ((number, word) for word in re.findall(r"[A-Za-z_]\w*", line))
        return
    for node in file.nodes:
        named = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else [spelled(node)]
        yield from ((getattr(node, "lineno", 0), name) for name in named)


def no_operator_by_name(files):
    """In a layer or in the core. A literal inside a sentence is an example, not an operator."""
    for file in files:
        if file.compiled:
            literals = re.finditer(r"([\"'])(.*?)\1", file.code)
            found = [(file.code[: text.start()].count("\n") + 1, text[2]) for text in literals]
        elif file.layer:
            constants = [node for node in file.nodes if isinstance(node, ast.Constant)]
            found = [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]
        else:
            continue
        for line, text in found:
            if OPERATOR_NAME.fullmatch(text):
                yield file.says(line, f"the operator {text} by name; a prim is an object, and so is a key")


def frames_are_read_in_one_place(files):
    for file in files:
        if file.name not in READERS_OF_FRAMES and not file.compiled:
            for node in file.nodes:
                if isinstance(node, ast.expr) and spelled(node) in FRAME_READERS:
                    yield file.says(node.lineno, "a frame is read; core/source.py does that for messages, schema/hint_scopes.py for hints")


def no_global_statement(files):
    for file in files:
        if file.compiled:
            lines = [number for number, line in enumerate(file.code.splitlines(), 1) if re.match(r"\s+global\s", line)]
        else:
            lines = [node.lineno for node in file.nodes if isinstance(node, ast.Global)]
        for line in lines:
            yield file.says(line, "a `global` statement; give the value an owner")


def every_file_has_its_tests(files):
    for file in files:
        tests = file.package.parent / "tests"
        folder, _, name = file.name.rpartition(".")
        top = folder.partition(".")[0]
        if file.path.suffix == ".pxd" or file.path.name == "__init__.py":
            continue  # promises and faces: what they gather is tested where it is made
        mirrored = next((place for place in MIRRORED if file.name.startswith(place)), "")
        if mirrored:
            wanted = [tests.joinpath(*mirrored.split("."), f"test_{mirrored.split('.')[-2]}.py")]
        elif top in HELD_BY_ONE_TEST:
            wanted = [tests / top / f"{HELD_BY_ONE_TEST[top]}.py"]
        else:
            beside = tests.joinpath(*folder.split("."))
            wanted = [beside / f"test_{name.strip('_')}.py"]
            wanted += [beside / f"test_{beside.name}.py"] * (folder not in OWN_TESTS_ONLY)  # or by the folder's face
        if not any(path.exists() for path in wanted):
            yield file.says(1, f"has no {' or '.join(str(path.relative_to(tests.parent)) for path in wanted)}")


LAWS: list[Callable[[list[File]], Iterator[str]]] = [
    every_file_has_its_folder,
    imports_go_down,
    no_imports_in_a_circle,
    no_import_is_hidden_in_a_function,
    nothing_goes_through_the_root,
    numpy_is_the_only_dependency,
    a_long_file_says_why,
    a_stem_names_one_thing,
    no_module_is_hidden_by_a_name_of_its_own,
    the_words_of_the_page_stay_there,
    no_word_that_says_nothing,
    a_layer_knows_its_own_wrapper_only,
    no_operator_by_name,
    frames_are_read_in_one_place,
    no_global_statement,
    every_file_has_its_tests,
]
