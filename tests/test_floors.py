"""The package keeps the laws of floors.py, and each law can tell a package that does not."""

from pathlib import Path

import pytest
from floors import FLOORS, LAWS, MOST_CORE_LINES, MOST_LINES, WRAPPERS, floor_name, rooms_of

ROOT = Path(__file__).parents[1]

# law, the files of a small package that breaks it, what the law must say

BROKEN = [
    ("every_room_has_its_floor", {"attic.py": ""}, "attic is on no floor"),
    ("every_room_has_its_floor", {"core/attic.pyx": ""}, "core.attic is on no floor"),
    ("imports_go_down", {"schema.py": "from .vmap import BatchedTensor"}, "schema.py:1: schema imports vmap"),
    ("imports_go_down", {"schema.py": "from . import vmap", "vmap.py": ""}, "schema imports vmap"),
    ("imports_go_down", {"schema.py": "from . import ops"}, "schema imports __init__"),
    ("imports_go_down", {"fake.py": "", "vmap.py": "x = 1\nfrom .fake import FakeTensor"}, "vmap.py:2: vmap imports fake"),
    ("imports_go_down", {"vmap.py": "", "tape/node.py": "from ..vmap import vmap"}, "tape.node imports vmap"),
    ("imports_go_down", {"vmap.py": "from .tape import grad", "tape/__init__.py": ""}, "vmap imports tape"),
    ("imports_go_down", {"core/state.pyx": "from .overload cimport call"}, "core.state imports core.overload"),
    ("imports_go_down", {"core/state.pxd": "from .overload cimport call"}, "core.state imports core.overload"),
    ("imports_go_down", {"core/keys.pyx": "\nfrom ..schema import Schema"}, "core/keys.pyx:2: core.keys imports schema"),
    ("imports_go_down", {"fake.py": "if TYPE_CHECKING:\n    from .vmap import vmap"}, "fake imports vmap"),
    ("no_imports_in_a_circle", {"tables/shape.py": "from . import sort", "tables/sort.py": "from .shape import a"}, "tables.s"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "def f():\n    import json"}, "an import of json inside a function"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "class A:\n  def f(self): from . import prims"}, "inside a function"),
    ("no_import_is_hidden_in_a_function", {"fake.py": "f = lambda: import_module('json')"}, "inside a function"),
    ("no_import_is_hidden_in_a_function", {"core/keys.pyx": "def f():\n    import enum"}, "an import of enum inside"),
    ("nothing_goes_through_the_root", {"fake.py": "import dispatch"}, "write a relative import"),
    ("nothing_goes_through_the_root", {"interop/torch.py": "from dispatch.schema import Schema"}, "write a relative import"),
    ("nothing_goes_through_the_root", {"core/keys.pyx": "from dispatch.core cimport state"}, "write a relative import"),
    ("numpy_is_the_only_dependency", {"fake.py": "import scipy.linalg"}, "scipy is no dependency"),
    ("numpy_is_the_only_dependency", {"testing/cases.py": "import hypothesis"}, "hypothesis is no dependency"),
    ("files_stay_small", {"fake.py": "\n" * (MOST_LINES + 1)}, f"{MOST_LINES + 1} lines"),
    ("files_stay_small", {f"core/{name}.pyx": "\n" * (MOST_CORE_LINES // 10) for name in "abcdefghij"}, f"core/ has {MOST_CORE_LINES} lines"),
    ("no_word_that_says_nothing", {"util.py": ""}, "the name util does not say"),
    ("no_word_that_says_nothing", {"fake.py": "class CallInfo: ..."}, "the name CallInfo does not say"),
    ("no_word_that_says_nothing", {"fake.py": "class A:\n  def _shape_helper(self): ..."}, "the name _shape_helper"),
    ("no_word_that_says_nothing", {"core/keys.pyx": "cdef class KeyManager:\n    pass"}, "the name KeyManager"),
    ("a_layer_knows_its_own_wrapper_only", {"vmap.py": "isinstance(x, FakeTensor)"}, "FakeTensor belongs to another layer"),
    ("a_layer_knows_its_own_wrapper_only", {"tape/node.py": "type(x) is fake.FakeTensor"}, "belongs to another layer"),
    ("a_layer_knows_its_own_wrapper_only", {"fake.py": "from .core import BatchedTensor as B"}, "BatchedTensor belongs"),
    ("no_operator_by_name", {"vmap.py": "x = op.name == 'np::add'"}, "the operator np::add by name"),
    ("no_operator_by_name", {"core/keys.pyx": "\nsum = ops['np::sum']"}, "core/keys.pyx:2: the operator np::sum by name"),
    ("frames_are_read_in_one_place", {"infer.py": "import sys\nsys._getframe(1)"}, "infer.py:2: a frame is read"),
    ("frames_are_read_in_one_place", {"infer.py": "inspect.currentframe()"}, "a frame is read"),
    ("no_global_statement", {"fake.py": "def f():\n    global x\n    x = 1"}, "fake.py:2: a `global` statement"),
    ("no_global_statement", {"core/keys.pyx": "cdef f():\n    global x"}, "core/keys.pyx:2: a `global` statement"),
    ("every_room_has_its_tests", {"fake.py": ""}, "has no tests/test_fake.py"),
    ("every_room_has_its_tests", {"core/keys.pyx": ""}, "has no tests/core/test_keys.py"),
    ("every_room_has_its_tests", {"tape/node.py": ""}, "has no tests/tape/test_node.py or tests/test_tape.py"),
    ("every_room_has_its_tests", {"tables/shape.py": ""}, "has no tests/test_table.py"),
    ("every_room_has_its_tests", {"__main__.py": ""}, "has no tests/test_main.py"),
]

# what a law may not mistake for a breach
KEPT = {
    "__init__.py": '"""The face."""\nfrom . import autograd\nfrom .library import custom_op\nfrom .vmap import vmap',
    "__main__.py": "def main():\n    from . import vmap\n    import argparse",
    "autograd.py": "from .tape import grad",
    "pickling.py": "from importlib import import_module\ndef load(name): import_module(name)",
    "library.py": "from .registration import custom_op",
    "registration.py": "from .schema import Schema\n# from .vmap import vmap",
    "schema.py": '"""Read `mylib::scale`.\n\n>>> import dispatch\n"""\nfrom .errors import SchemaError\nimport numpy as np',
    "errors.py": "class InformationError(Exception): ...\ndef info_of(x): ...",
    "extras.py": "import importlib\ndef require(name): return importlib.import_module(name)",
    "where.py": "import sys\nsys._getframe(1)",
    "vmap.py": "from .core import Tensor\nclass BatchedTensor(Tensor): ...\nraise TypeError('as in mylib::scale: no')",
    "tape/__init__.py": "from .engine import grad",
    "tape/engine.py": "from ..core.overload import OpOverload\nfrom .tensor import TrackedTensor",
    "tape/tensor.py": "from ..core import Tensor\nclass TrackedTensor(Tensor): ...",
    "tables/pointwise.py": "from .families import pointwise\nadd = pointwise('np::add')",
    "tables/families.py": "from ..registration import custom_op",
    "interop/torch.py": "def export(op):\n    import torch",
    "testing/plugin.py": "import pytest",
    "core/__init__.py": "from .keys import DispatchKey\nfrom .overload import OpOverload",
    "core/__init__.pxd": "# the floors of C",
    "core/keys.pyx": '"""Keys.\n\n>>> from dispatch import DispatchKey\n"""\nimport enum\nfrom ..errors import SchemaError',
    "core/overload.pyx": "from .keys cimport rank_t\ncimport numpy as cnp\nfrom libc.stdint cimport uint64_t",
}
TESTS_OF_KEPT = """
    main autograd library pickling registration schema errors extras where vmap tape table interop/torch testing core/keys core/overload
"""


def build(tmp_path, files):
    package = tmp_path / "dispatch"
    for name, text in files.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in {path.parent for path in package.rglob("*.py*")} | {package}:
        (folder / "__init__.py").touch()
    return rooms_of(package)


def law_named(name):
    return next(law for law in LAWS if law.__name__ == name)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_house_keeps_its_laws(law):
    complaints = list(law(rooms_of(ROOT / "dispatch")))
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


def test_every_law_is_broken_by_some_example():
    assert {law for law, _, _ in BROKEN} == {law.__name__ for law in LAWS}


def test_every_name_has_one_floor():
    names = [name for floor in FLOORS for name in floor]
    assert len(names) == len(set(names))
    assert all(floor_name(owner.strip("/")) or owner.endswith("/") for owner in WRAPPERS.values())
