"""What loads on first use: each name once, whoever comes first, and nothing half-made where it fails."""

import importlib
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dispatch.core.lazy import LazyAttribute, LazyFunction, Loader, names_of

ROOT = Path(__file__).parents[2]


def face(**lazy):
    module = {"__name__": "json", "__package__": "json"}
    return (module, *names_of(module, lazy.get("lazy", {".decoder": "JSONDecodeError JSONDecoder", ".encoder": ""})))


def test_a_name_is_imported_when_it_is_asked_for_and_kept():
    module, find, _ = face()
    assert "JSONDecoder" not in module
    assert find("JSONDecoder") is json.JSONDecoder
    assert module["JSONDecoder"] is json.JSONDecoder
    assert find("encoder") is json.encoder


def test_all_names_are_listed_before_they_are_imported():
    _, _, listed = face()
    assert listed() == ["JSONDecodeError", "JSONDecoder", "__name__", "__package__", "encoder"]


def test_another_name_is_no_attribute():
    _, find, _ = face()
    with pytest.raises(AttributeError) as caught:
        find("loads")
    assert str(caught.value) == "module 'json' has no attribute 'loads'"
    assert caught.value.name == "loads"


def test_a_function_is_imported_when_it_is_called():
    loads = LazyFunction("json", ".decoder", "JSONDecoder")
    assert loads().decode("[1]") == [1]
    assert repr(loads) == "<JSONDecoder of .decoder>"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Write a module that is not imported yet, and return what loads it."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "lazytests").mkdir()

    def plant(text):
        (tmp_path / "lazytests" / "rows.py").write_text(text)
        monkeypatch.delitem(sys.modules, "lazytests.rows", raising=False)
        return Loader("lazytests", ".rows")

    yield plant
    for name in [name for name in sys.modules if name.startswith("lazytests")]:
        del sys.modules[name]


def test_a_module_is_imported_and_installed_once(planted):
    load = planted("done = []\ndef install(): done.append(1)")
    assert "lazytests.rows" not in sys.modules
    load()
    load()
    assert sys.modules["lazytests.rows"].done == [1]


def test_a_second_thread_waits_until_it_is_installed(planted):
    load = planted("import threading\nentered, go, done = threading.Event(), threading.Event(), []\ndef install(): entered.set(); go.wait(); done.append(1)")
    found = []

    def come():
        load()
        found.append(list(sys.modules["lazytests.rows"].done))

    first = threading.Thread(target=come)
    first.start()
    while "lazytests.rows" not in sys.modules or not hasattr(sys.modules["lazytests.rows"], "install"):
        first.join(0.001)
    rows = sys.modules["lazytests.rows"]
    rows.entered.wait()
    second = threading.Thread(target=come)
    second.start()
    assert found == []
    rows.go.set()
    first.join()
    second.join()
    assert found == [[1], [1]]


def test_a_call_from_inside_returns_at_once(planted):
    load = planted("calls = []\ndef install(): calls.append(1); load()")
    sys.modules.pop("lazytests.rows", None)
    __import__("lazytests.rows")
    sys.modules["lazytests.rows"].load = load
    load()
    assert sys.modules["lazytests.rows"].calls == [1]


def test_where_it_fails_the_next_call_tries_again(planted):
    load = planted("raise KeyError('broken')")
    for _ in range(2):
        with pytest.raises(KeyError, match="broken"):
            load()
    planted("def install(): global done; done = True")
    load()
    assert sys.modules["lazytests.rows"].done


def test_an_attribute_of_a_class_is_there_before_it_is_loaded():
    class Value:
        pass

    Value.double = LazyAttribute("double", lambda: setattr(Value, "double", lambda self: 2))
    assert "double" in dir(Value)
    assert Value().double() == 2
    Value.half = LazyAttribute("half", lambda: setattr(Value, "half", staticmethod(lambda: 0.5)))
    assert Value.half() == 0.5


IMPORTS = [
    ("dispatch", "custom_opp", "Did you mean 'custom_op'?"),
    ("dispatch", "Tensors", "Did you mean 'Tensor'?"),
    ("dispatch", "Library", "Write dispatch.library.Library."),
    ("dispatch", "nn", "It holds no layers of networks: write functions of arrays, and dispatch.grad of them."),
    ("dispatch.library", "registerautograd", "Did you mean 'register_autograd'?"),
    ("dispatch.testing", "opchek", "Did you mean 'opcheck'?"),
    ("dispatch.control_flow", "whileloop", "Did you mean 'while_loop'?"),
    ("dispatch.graph", "Grph", "Did you mean 'Graph'?"),
    ("dispatch.numpy", "conjj", "Did you mean 'conj'?"),
]


@pytest.mark.parametrize(("module", "name", "words"), IMPORTS, ids=[f"{module} {name}" for module, name, _ in IMPORTS])
def test_an_import_of_a_misspelt_name_says_which_it_may_have_been(module, name, words):
    with pytest.raises(ImportError) as caught:
        exec(f"from {module} import {name}", {})
    first = words.partition(" or ")[0].rstrip("?")
    assert str(caught.value).startswith(f"cannot import name {name!r} from {module!r}. {first}")
    assert caught.value.name == module
    assert not isinstance(caught.value, ModuleNotFoundError)
    with pytest.raises(AttributeError, match="has no attribute"):  # as before: hasattr() asks so
        getattr(importlib.import_module(module), name)


def test_an_import_of_what_is_there_goes_on():
    found = {}
    exec("from dispatch import vmap, library\nfrom dispatch.numpy import sin\nfrom dispatch import numpy", found)
    assert found["numpy"].sin is found["sin"]


FACES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "dispatch").rglob("*.py")
    if re.search(r"^(def )?__getattr__\b", path.read_text(), re.MULTILINE) or " __getattr__, __dir__ = names_of(" in path.read_text()
)


def test_a_name_that_no_module_has_is_refused_at_the_top_of_a_script_as_anywhere():
    """No frame lies above such a line: what looks for one there finds none."""
    lines = ["import importlib, sys", "wrong = []"]
    for face in FACES:
        lines += [
            "try:", f"    module = importlib.import_module({face!r})", "except ImportError:", "    module = None",
            "if module is not None:", "    try:", "        module.no_such_name", "    except AttributeError as error:",
            f"        wrong += [] if 'no_such_name' in str(error) else [({face!r}, str(error))]", "    except Exception as error:",
            f"        wrong += [({face!r}, repr(error))]", "    try:", f"        from {face} import no_such_name",
            "    except ImportError:", "        pass", "    except Exception as error:", f"        wrong += [({face!r}, repr(error))]",
        ]  # fmt: skip
    done = subprocess.run([sys.executable, "-c", "\n".join([*lines, "print(wrong)"])], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
    assert {"dispatch", "dispatch.numpy.random", "dispatch.library", "dispatch.interop.autograd.numpy"} <= set(FACES)
