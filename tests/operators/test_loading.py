"""Modules and files are imported by what a user typed, and what they define is found, once and again."""

import re
import sys

import pytest

from dispatch.errors import OperatorNotFoundError
from dispatch.operators.loading import defined_by, is_file, load
from dispatch.operators.namespaces import defined_now

DEFINES = """
import numpy as np
from dispatch import custom_op
np.sin(np.ones(2))
@custom_op("{namespace}::twice", mutates_args=())
def twice(x: np.ndarray) -> np.ndarray:
    return x * 2.0
"""
MAKES = """
import numpy as np
from dispatch import custom_op
def make(name):
    return custom_op(name, lambda x: x * 2.0, mutates_args=(), schema="(Tensor x) -> Tensor")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def names(module):
    return [op.name for op in defined_by(module)]


def test_what_a_package_and_its_modules_define_is_found_once_and_again(folder):
    (folder / "loaded_pack").mkdir()
    (folder / "loaded_pack" / "__init__.py").write_text("from . import inner\n")
    (folder / "loaded_pack" / "inner.py").write_text(DEFINES.format(namespace="loaded_pack"))
    assert names("loaded_pack") == ["loaded_pack::twice"]
    assert names("loaded_pack") == ["loaded_pack::twice"]
    assert str(folder) not in sys.path


def test_the_folder_of_a_package_names_it(folder):
    (folder / "src" / "loaded_below").mkdir(parents=True)
    (folder / "src" / "loaded_below" / "__init__.py").write_text(DEFINES.format(namespace="loaded_below"))
    assert names("src/loaded_below/") == ["loaded_below::twice"]
    assert load("src/loaded_below") == "loaded_below"
    assert str(folder / "src") not in sys.path


def test_a_file_runs_once(folder):
    (folder / "loaded_file.py").write_text(DEFINES.format(namespace="loaded_file") + "print('ran')\n")
    first = defined_by("./loaded_file.py")
    assert defined_by("loaded_file.py") == first
    assert load("./loaded_file.py") == "loaded_file"


def test_what_another_module_makes_for_it_is_found(folder):
    (folder / "loaded_maker.py").write_text(MAKES)
    (folder / "loaded_user.py").write_text("from loaded_maker import make\nx = make('loaded_user::made')\n")
    assert names("loaded_user") == ["loaded_user::made"]


def test_nothing_is_defined_for_being_listed():
    assert names("dispatch") == sorted(op.name for op in defined_now() if op.defined_in[0].startswith("dispatch."))


@pytest.mark.parametrize(
    ("module", "text", "said"),
    [
        ("./loaded_none.py", None, "there is no file loaded_none.py."),
        ("loaded_here", "", "there is no module 'loaded_here'. For the file write ./loaded_here.py."),
        ("./loaded_bad.py", "x = 1\nraise ValueError('no luck')\n", "importing ./loaded_bad.py raised ValueError: no luck"),
        ("./loaded_exit.py", "import sys\nsys.exit(3)\n", "importing ./loaded_exit.py raised SystemExit: 3"),
        ("./loaded_folder", None, "./loaded_folder is a folder without an __init__.py, so no package. Name a file in it: loaded_folder/f.py."),
        (".", None, ". is a folder without an __init__.py, so no package. Name a file in it: f.py."),
        ("./loaded_notes.txt", "", "loaded_notes.txt is no file of Python, whose name ends in .py."),
        ("loaded_nowhere", None, "there is no module 'loaded_nowhere'. Write a name that can be imported here, or a file: ./loaded_nowhere.py."),
        ("loaded_nowhere.part", None, "there is no module 'loaded_nowhere'. Write a name that can be imported here, or a file: ./loaded_nowhere.py."),
        ("./loaded_needy.py", "import loaded_nowhere\n", "importing ./loaded_needy.py raised ModuleNotFoundError: No module named 'loaded_nowhere'"),
        ("./loaded_odd.py", "class Odd(BaseException): pass\nraise Odd('odd')\n", "importing ./loaded_odd.py raised Odd: odd\n"),
        (
            "./loaded_mute.py",
            "class Mute(Exception):\n    def __str__(self): return 1 / 0\nraise Mute\n",
            "importing ./loaded_mute.py raised Mute, whose __str__ raises ZeroDivisionError\n",
        ),
        ("./loaded_suffix", "", "there is no file loaded_suffix. Did you mean ./loaded_suffix.py?"),
        ("", None, "'' names no module: the name of a module is asked for, mylib.kernels, or a file, ./kernels.py."),
        (".loaded", None, "'.loaded' names no module: the name of a module is asked for, mylib.kernels, or a file, ./kernels.py."),
        ("./k.py::f", None, "'./k.py::f' names an operator, and the name of a module is asked for, mylib.kernels, or a file, ./kernels.py."),
    ],
)
def test_what_cannot_be_imported_says_why(folder, monkeypatch, module, text, said):
    if text is not None:
        name = module.removeprefix("./")
        (folder / (name if "." in name else f"{name}.py")).write_text(text)
    (folder / "loaded_folder").mkdir()
    if module == "loaded_here":  # a working directory that a module is not found in
        monkeypatch.setattr("dispatch.operators.loading.os.getcwd", lambda: str(folder / "nothing"))
        monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    with pytest.raises(ImportError, match=re.escape(said)):
        load(module)
    assert "loaded_bad" not in sys.modules


def test_an_interrupt_while_a_module_is_imported_is_one(folder):
    (folder / "loaded_interrupt.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load("./loaded_interrupt.py")


def test_a_working_directory_that_was_removed_is_told(folder, monkeypatch):
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ImportError, match=r"^the working directory is there no more\. Change to one that is\.$"):
        load("json")


def test_a_module_without_operators_is_refused():
    with pytest.raises(OperatorNotFoundError, match=r"^importing json defines no operator\. Name the module or file where @custom_op, or a Library, stands\.$"):
        defined_by("json")


def test_what_names_a_file():
    assert [is_file(word) for word in ("a.py", "./a", "a.b")] == [True, True, False]
