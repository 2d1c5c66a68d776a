"""The package keeps the laws of floors.py, and each law can tell a package that does not."""

from pathlib import Path

import pytest
from floors import (
    APART,
    BESIDE,
    FOLDERS,
    LAWS,
    MODULES,
    MOST_COMPILED_LINES,
    MOST_LINES,
    PLACES,
    SHARED_STEMS,
    WRAPPERS,
    files_of,
    pictures_in,
)

from dispatch.core.collector import collector_paused

ROOT = Path(__file__).parents[1]

# law, the files of a small package that breaks it, what the law must say

BROKEN = [
    ("every_file_has_its_folder", {"attic.py": ""}, "dispatch/attic.py is none of"),
    ("every_file_has_its_folder", {"attic/keys.pyx": ""}, "dispatch/attic is none of"),
    ("every_file_has_its_folder", {"errors.py": "", "notes.txt": ""}, "dispatch/notes.txt is none of"),
    ("imports_go_down", {"schema/types.py": "from ..attic import x", "attic/__init__.py": ""}, "attic, which is in no folder of the rule"),
    ("imports_go_down", {"errors.py": "from .core import keys", "core/keys.pyx": ""}, "errors imports core.keys, which is not in a lower"),
    ("imports_go_down", {"compiler/export.py": "from ..autodiff.vjp import vjp"}, "compiler.export imports autodiff.vjp, which is not"),
    ("imports_go_down", {"schema/types.py": "from ..graph.node import Node"}, "schema/types.py:1: schema.types imports graph.node"),
    ("imports_go_down", {"schema/types.py": "from ..graph import node", "graph/node.py": ""}, "schema.types imports graph.node"),
    ("imports_go_down", {"schema/types.py": "from .. import ops"}, "schema.types imports __init__"),
    ("imports_go_down", {"autodiff/vjp.py": "x = 1\nfrom ..compiler import compile"}, "autodiff/vjp.py:2: autodiff.vjp imports compiler"),
    ("imports_go_down", {"core/keys.pyx": "\nfrom ..schema import Schema"}, "core/keys.pyx:2: core.keys imports schema"),
    ("imports_go_down", {"core/keys.pxd": "from ..operators.gufunc.items cimport Output"}, "core.keys imports operators.gufunc.items"),
    ("imports_go_down", {"layers/vmap/axes.py": "from ..fake.tensor import FakeTensor"}, "layers.vmap.axes imports layers.fake.tensor"),
    ("imports_go_down", {"layers/vmap/axes.py": "from .. import fake", "layers/fake/__init__.py": ""}, "layers.vmap.axes imports layers.fake, which"),
    ("imports_go_down", {"layers/inplace.py": "from .fake import FakeTensor"}, "layers.inplace imports layers.fake, which is another layer's"),
    ("imports_go_down", {"layers/vmap/axes.py": "from ..mode import Mode"}, "layers.vmap.axes imports layers.mode"),
    ("imports_go_down", {"layers/fake/mode.py": "if TYPE_CHECKING:\n    from ..vmap import vmap"}, "layers.fake.mode imports layers.vmap"),
    ("no_imports_in_a_circle", {"numpy_ops/shape.py": "from . import sort", "numpy_ops/sort.py": "from .shape import a"}, "numpy_ops.s"),
    ("no_imports_in_a_circle", {"core/state.pyx": "from .table cimport call", "core/table.pxd": "from .state cimport Guard"}, "core.state imports itself"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "def f():\n    import json"}, "an import of json inside a function"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "class A:\n  def f(self): from . import prims"}, "inside a function"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "f = lambda: import_module('json')"}, "inside a function"),
    ("no_import_is_hidden_in_a_function", {"core/keys.pyx": "def f():\n    import enum"}, "an import of enum inside"),
    ("nothing_goes_through_the_root", {"fake.py": "import dispatch"}, "write a relative import"),
    ("nothing_goes_through_the_root", {"interop/torch.py": "from dispatch.schema import Schema"}, "write a relative import"),
    ("nothing_goes_through_the_root", {"core/keys.pyx": "from dispatch.core cimport state"}, "write a relative import"),
    ("numpy_is_the_only_dependency", {"fake.py": "import scipy.linalg"}, "scipy is no dependency"),
    ("numpy_is_the_only_dependency", {"testing/cases.py": "import hypothesis"}, "hypothesis is no dependency"),
    ("a_long_file_says_why", {"fake.py": "\n" * (MOST_LINES + 1)}, f"{MOST_LINES + 1} lines"),
    ("a_long_file_says_why", {"fake.py": '"""All of it."""\n' + "x = 1  # 350 lines\n" * MOST_LINES}, "write at its top why"),
    ("a_long_file_says_why", {f"{folder}/walk.pyx": "\n" * MOST_COMPILED_LINES for folder in ("core", "graph")}, "the compiled part has"),
    ("a_long_file_says_why", {"core/walk.pyx": 'cdef extern from *:\n    """' + "\n" * MOST_COMPILED_LINES + '"""\n'}, "the compiled part has"),
    ("a_stem_names_one_thing", {"graph/literals.py": "", "schema/literals.pyx": ""}, "the name literals stands in graph, schema"),
    ("a_stem_names_one_thing", {"graph/layer.py": "", "dispatcher/layer.py": ""}, "the name layer stands in dispatcher, graph"),
    ("a_stem_names_one_thing", {"layers/vmap/axes.py": "", "layers/fake/axes.py": ""}, "the name axes stands in layers/fake, layers/vmap"),
    ("a_stem_names_one_thing", {"numpy/fft.py": "", "numpy_ops/fft.py": ""}, "the name fft is that of numpy.fft"),
    ("no_module_is_hidden_by_a_name_of_its_own", {"autodiff/__init__.py": "from .vjp import vjp", "autodiff/vjp.py": ""}, "vjp hides the module"),
    ("no_module_is_hidden_by_a_name_of_its_own", {"graph/__init__.py": "from .run import x as run", "graph/run.pyx": ""}, "run hides"),
    ("the_words_of_the_page_stay_there", {"schema/types.py": '"""The ground floor."""'}, 'schema/types.py:1: the word "floor"'),
    ("the_words_of_the_page_stay_there", {"core/keys.pyx": "\n# another room, another house"}, 'core/keys.pyx:2: the word "room"'),
    ("no_word_that_says_nothing", {"util.py": ""}, "the name util does not say"),
    ("no_word_that_says_nothing", {"fake.py": "class CallInfo: ..."}, "the name CallInfo does not say"),
    ("no_word_that_says_nothing", {"fake.py": "class A:\n  def _shape_helper(self): ..."}, "the name _shape_helper"),
    ("no_word_that_says_nothing", {"core/keys.pyx": "cdef class KeyManager:\n    pass"}, "the name KeyManager"),
    ("a_layer_knows_its_own_wrapper_only", {"layers/vmap/axes.py": "isinstance(x, FakeTensor)"}, "FakeTensor belongs to another layer"),
    ("a_layer_knows_its_own_wrapper_only", {"layers/autograd/engine.py": "type(x) is fake.FakeTensor"}, "belongs to another layer"),
    ("a_layer_knows_its_own_wrapper_only", {"layers/inplace.py": "from ..core import BatchedTensor as B"}, "BatchedTensor belongs"),
    ("no_operator_by_name", {"layers/vmap/axes.py": "x = op.name == 'np::add'"}, "the operator np::add by name"),
    ("no_operator_by_name", {"core/keys.pyx": "\nsum = ops['np::sum']"}, "core/keys.pyx:2: the operator np::sum by name"),
    ("frames_are_read_in_one_place", {"infer.py": "import sys\nsys._getframe(1)"}, "infer.py:2: a frame is read"),
    ("frames_are_read_in_one_place", {"infer.py": "inspect.currentframe()"}, "a frame is read"),
    ("no_global_statement", {"fake.py": "def f():\n    global x\n    x = 1"}, "fake.py:2: a `global` statement"),
    ("no_global_statement", {"core/keys.pyx": "cdef f():\n    global x"}, "core/keys.pyx:2: a `global` statement"),
    ("every_file_has_its_tests", {"fake.py": ""}, "has no tests/test_fake.py"),
    ("every_file_has_its_tests", {"core/keys.pyx": ""}, "has no tests/core/test_keys.py"),
    ("every_file_has_its_tests", {"schema/types.py": ""}, "has no tests/schema/test_types.py"),
    ("every_file_has_its_tests", {"layers/vmap/axes.py": ""}, "has no tests/layers/vmap/test_axes.py or tests/layers/vmap/test_vmap.py"),
    ("every_file_has_its_tests", {"numpy_ops/linalg/solve.py": ""}, "has no tests/numpy_ops/test_table.py"),
    ("every_file_has_its_tests", {"__main__.py": ""}, "has no tests/test_main.py"),
]

# what a law may not mistake for a breach
KEPT = {
    "__init__.py": '"""The face."""\nfrom . import autograd\nfrom .library import custom_op\nfrom .layers.vmap import vmap',
    "__main__.py": "def main():\n    from .layers import vmap\n    import argparse",
    "autograd.py": "from .layers.autograd import grad",
    "operators/pickling.py": "from importlib import import_module\ndef load(name): import_module(name)",
    "library.py": "from .operators.register import custom_op",
    "operators/register.py": "from ..schema.schema import Schema\n# from ..layers.vmap import vmap",
    "schema/schema.py": '"""Read `mylib::scale`.\n\n>>> import dispatch\n"""\nfrom ..errors import SchemaError\nimport numpy as np',
    "errors.py": "class InformationError(Exception): ...\ndef info_of(x): ...",
    "core/optional.py": "import importlib\ndef require(name): return importlib.import_module(name)",
    "core/source.py": "import sys\nsys._getframe(1)",
    "layers/inplace.py": "from ..core import Tensor",
    "layers/vmap/tensor.py": "from ...core import Tensor\nfrom ..inplace import targets\nclass BatchedTensor(Tensor): ...\nraise TypeError('as in mylib::scale: no')",
    "layers/autograd/__init__.py": "from .engine import grad",
    "layers/autograd/engine.py": "from ...core.overload import OpOverload\nfrom .tensor import TrackedTensor",
    "layers/autograd/tensor.py": "from ...core import Tensor\nclass TrackedTensor(Tensor): ...",
    "numpy_ops/linalg/solve.py": "import numpy as np\nfrom ..families import pointwise\nsolve = pointwise('np::solve')",
    "numpy_ops/rounding.py": "floor = comparison(np.floor)\nx = floor(y)",
    "numpy_ops/families.py": "from ..operators.register import custom_op",
    "interop/torch.py": "def export(op):\n    import torch",
    "testing/plugin.py": "import pytest",
    "core/__init__.py": "from .keys import DispatchKey\nfrom .overload import OpOverload",
    "core/__init__.pxd": "# what other files cimport",
    "py.typed": "",
    "graph/long.py": '"""One thought.\n\nAbove 350 lines: the table is one.\n"""\n' + "x = 1\n" * 400,
    "core/keys.pyx": '"""Keys.\n\n>>> from dispatch import DispatchKey\n"""\nimport enum\nfrom ..errors import SchemaError',
    "core/overload.pyx": "from .keys cimport rank_t\ncimport numpy as cnp\nfrom libc.stdint cimport uint64_t",
}
TESTS_OF_KEPT = """
    main autograd library errors core/optional core/source core/keys core/overload schema/schema operators/register operators/pickling
    layers/inplace graph/long layers/vmap/tensor layers/autograd/autograd numpy_ops/table interop/torch testing/testing
"""


def build(tmp_path, files):
    package = tmp_path / "dispatch"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in [*package.rglob("*.py*"), *package.rglob("*.pxd")]:
        for folder in path.relative_to(tmp_path).parents[:-1]:
            (tmp_path / folder / "__init__.py").touch()
    return files_of(package)


def law_named(name):
    return next(law for law in LAWS if law.__name__ == name)


@pytest.fixture(scope="module")
def files():
    """The files of the package: each is parsed once for all laws, by the first that reads it."""
    return files_of(ROOT / "dispatch")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_package_keeps_its_laws(files, law):
    with collector_paused():
        complaints = list(law(files))
    assert not complaints, "\n".join(complaints)


def test_setup_stays_small():
    assert len((ROOT / "setup.py").read_text().splitlines()) < 60


def test_benchmarks_stay_small():
    files = sorted((ROOT / "bench").rglob("*.py"))
    assert [path.name for path in files if len(path.read_text().splitlines()) > MOST_LINES] == []


@pytest.mark.parametrize(("law", "files", "complaint"), BROKEN)
def test_a_broken_law_is_seen(tmp_path, law, files, complaint):
    assert any(complaint in line for line in law_named(law)(build(tmp_path, files)))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_a_kept_law_is_silent(tmp_path, law):
    for name in TESTS_OF_KEPT.split():
        path = tmp_path / "tests" / f"{name}.py"
        path = path.with_name(f"test_{path.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert list(law(build(tmp_path, KEPT))) == []


ELSEWHERE = [
    path
    for folder in ("tests", "bench", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md"} and path.stem not in {"floors", "test_floors"}
]


@pytest.mark.parametrize("path", [*ELSEWHERE, ROOT / "README.md", ROOT / "setup.py"], ids=lambda path: path.stem)
def test_the_words_of_the_page_stand_in_no_test_and_no_other_page(path):
    assert list(pictures_in(path.read_text())) == []


def test_every_law_is_broken_by_some_example():
    assert {law for law, _, _ in BROKEN} == {law.__name__ for law in LAWS}


def test_every_folder_of_the_rule_stands_once_in_it():
    assert len(PLACES) == 17
    assert {owner.partition("/")[0] + "/" for owner in WRAPPERS.values()} == {APART}


def test_the_package_is_five_modules_and_fourteen_folders():
    listed = {path.name for path in (ROOT / "dispatch").iterdir() if not path.name.startswith((".", "__pycache__"))}
    assert (len(MODULES), len(FOLDERS)) == (5, 14)
    assert listed == {f"{name}.py" for name in MODULES} | FOLDERS | BESIDE


def test_few_stems_stand_more_than_once():
    stems = [file.path.stem for file in files_of(ROOT / "dispatch") if file.path.suffix != ".pxd"]
    assert len(SHARED_STEMS) <= 8
    assert {stem for stem in SHARED_STEMS if stems.count(stem) < 2} == set()
