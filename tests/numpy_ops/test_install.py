"""The package plugged together: what is imported when, and that nothing depends on what was imported or asked for first."""

import ast
import pickle
import sys
from pathlib import Path

import pytest
from children import ended, said_by_child

import dispatch
from dispatch import ops
from dispatch.core import Tensor
from dispatch.numpy_ops import install, protocols

ROOT = Path(__file__).parents[2]
ON_FIRST_USE = ["dispatch.numpy_ops.rows", "dispatch.numpy_ops.pointwise", "dispatch.testing", "dispatch.compiler", "dispatch.graph", "dispatch.autodiff"]
OF_GRAPHS = ["dispatch.core.program", "dispatch.graph.literals", "dispatch.graph.passes", "dispatch.numpy_ops.graph_syntax", "dispatch.numpy_ops.plain_forms"]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "dispatch" / "numpy_ops").rglob("*.py")
    if path.name != "__init__.py"
)
FACES = ["dispatch/__init__.py", "dispatch/library.py", "dispatch/autograd.py", "dispatch/layers/trace/__init__.py"]


def run(code):
    """What a process prints that has imported nothing but NumPy and the package."""
    done = ended(code)
    assert not done.returncode, done.stderr
    return done.stdout.strip()


BEGIN = "import sys, pickle, numpy as np, dispatch\nfrom dispatch import ops, tensor\nx = np.ones(3)\n"


@pytest.mark.parametrize("name", ON_FIRST_USE)
def test_what_is_not_used_is_not_imported(name):
    assert run(f"import sys, dispatch\nprint({name!r} in sys.modules)") == "False"


@pytest.mark.parametrize("name", OF_GRAPHS)
def test_the_first_wrapper_needs_nothing_of_graphs(name):
    assert run(f"{BEGIN}tensor(x, requires_grad=True)\nprint({name!r} in sys.modules)") == "False"


def test_a_plain_call_needs_no_rows():
    code = """
@dispatch.custom_op("installtests::double", mutates_args=())
def double(x: np.ndarray) -> np.ndarray: return 2 * x
double.register_fake(lambda x: np.empty_like(x))
double.register_autograd(lambda ctx, g: 2 * g)
double.register_vmap("broadcast_all")
double(x)
print("dispatch.numpy_ops.rows" in sys.modules)
"""
    assert run(BEGIN + code) == "False"


FIRST = [  # what a program may do first with rows that are not there yet
    ("ops.np.sin(x).sum()", str(3 * 0.8414709848078965)),
    ("ops.np.add(x, x).tolist()", "[2.0, 2.0, 2.0]"),
    ("len(dir(ops.np)) > 200, 'sin' in dir(ops.np)", "(True, True)"),
    ("len(list(ops.np)) > 200", "True"),
    ("'operators' in repr(ops.np)", "True"),
    ("ops.np.abs is ops.np.absolute", "True"),
    ("np.sin(tensor(x, requires_grad=True)).shape", "(3,)"),
    ("(tensor(x, requires_grad=True) + 1).shape", "(3,)"),
    ("tensor(x, requires_grad=True)[1:].T.sum().shape", "()"),
    ("dispatch.FakeTensorMode().from_array(x).reshape(3, 1).shape", "(3, 1)"),
    ("dispatch.vmap(np.negative)(x).tolist()", "[-1.0, -1.0, -1.0]"),
    ("dispatch.grad(lambda x: (x * x).sum())(x).tolist()", "[2.0, 2.0, 2.0]"),
    ("dispatch.jvp(np.square, (x,), (x,))[1].tolist()", "[2.0, 2.0, 2.0]"),
    ("dispatch.make_fx(np.exp)(x)(x).shape", "(3,)"),
    ("dispatch.functionalize(np.copy)(x).shape", "(3,)"),
    ("dispatch.detach(x).shape", "(3,)"),
    ("dispatch.Tensor.sum.__name__, dispatch.Tensor.__add__.__name__", "('sum', 'infix')"),
    ("{'sum', 'T', '__array_ufunc__', '__getitem__'} <= {*dir(dispatch.Tensor)}", "True"),
    ("dispatch.library.get_kernel('np::sin', 'cpu')(x).shape", "(3,)"),
    ("dispatch.library.impl('np::sin', 'cuda', lambda x: x) is not None, ops.np.sin(x).shape", "(True, (3,))"),
    ("dispatch.testing.opcheck(ops.np.sin, (x,))['test_schema']", "SUCCESS"),
    ("dispatch.library.opcheck is dispatch.testing.opcheck, dispatch.autograd.gradcheck is dispatch.testing.gradcheck", "(True, True)"),
    ("[name for name in dispatch.__all__ if name not in dir(dispatch)]", "[]"),
    ("[name for name in dispatch.library.__all__ if name not in dir(dispatch.library)]", "[]"),
]


@pytest.mark.parametrize(("expression", "printed"), FIRST)
def test_whatever_comes_first_finds_the_rows(expression, printed):
    assert run(f"{BEGIN}print(({expression}))") == printed


def test_pickles_of_rows_load_in_a_process_that_has_none():
    row = pickle.dumps([ops.np.sin, ops.np.linalg_det])
    assert run(f"{BEGIN}print(pickle.loads({row!r})[1].name)") == "np::linalg_det"


def test_a_saved_graph_loads_in_a_process_that_has_no_rows(tmp_path):
    graph = dispatch.make_fx(lambda x: x[1:] * 2.0)(dispatch.ops.np.ones((3,)))
    path = tmp_path / "graph.txt"
    path.write_text(graph.dumps())
    assert run(f"{BEGIN}print(dispatch.Graph.loads(open({str(path)!r}).read())(x).tolist())") == "[2.0, 2.0]"


def test_the_star_brings_every_name():
    assert run("from dispatch import *\nimport dispatch\nprint([name for name in dispatch.__all__ if name not in globals()])") == "[]"


def test_two_threads_may_come_first():
    code = """
import threading
start, found = threading.Barrier(8), []
def come(first):
    start.wait()
    found.append(first())
firsts = [lambda: ops.np.sin(x), lambda: tensor(x, requires_grad=True) + 1, lambda: dispatch.vmap(np.cos)(x), lambda: len(dir(ops.np))] * 2
threads = [threading.Thread(target=come, args=(first,)) for first in firsts]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found))
"""
    assert run(BEGIN + code) == "8"


@pytest.mark.parametrize("module", MODULES)
def test_any_module_of_rows_may_be_imported_first(module):
    code = f"import importlib\nimportlib.import_module({module!r})\nimport dispatch, numpy as np\n"
    assert run(f"{code}print(len(dir(dispatch.ops.np)), (dispatch.tensor(np.ones(2), requires_grad=True) + 1).shape)") == f"{len(dir(ops.np))} (2,)"


def test_every_module_of_rows_is_loaded_with_the_rows():
    dir(ops.np)
    on_first_use = {f"dispatch.numpy_ops.{name}" for name in "from_ufunc array_protocols graph_syntax plain_forms special_ufuncs special_functions ufunc_keywords ufunc_methods draws handing_over inventory".split()}
    assert [name for name in MODULES if name not in on_first_use and name not in sys.modules] == []


def test_a_tensor_has_what_the_rows_give_it_and_knows_the_names_before():
    answering = {"_no_attribute", "_elsewhere"}  # for a name that there is not, once the rows say which there are
    assert {*install.ON_TENSORS.split(), *answering} == {*protocols.ON_TENSORS}
    dir(ops.np)
    assert {name: vars(Tensor)[name] for name in protocols.ON_TENSORS} == protocols.ON_TENSORS


@pytest.mark.parametrize("face", FACES)
def test_type_checkers_see_what_is_imported_on_first_use(face):
    tree = ast.parse((ROOT / face).read_text())
    (branch,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {(f".{'.' * (node.level - 1)}{node.module or ''}", name.name) for node in branch.body for name in node.names}
    (table,) = [node.value.args[1] for node in branch.orelse]
    lazy = {(module, name) for module, names in ast.literal_eval(table).items() for name in names.split()}
    modules = {(".", module[1:]) for module, names in ast.literal_eval(table).items() if not names}
    assert seen == lazy | modules


def test_the_first_wrapper_loads_nothing_that_takes_long_and_that_it_has_no_use_for():
    said = said_by_child(
        """
        import sys
        import numpy as np
        before = set(sys.modules)
        import dispatch
        x = dispatch.tensor([1.0, 2.0, 4.0], requires_grad=True)
        idle = "dataclasses base64 zlib numpy.fft numpy.polynomial dispatch.graph.graph dispatch.graph.visualize dispatch.autodiff.jacobian"
        print(sorted(set(idle.split()) & (sys.modules.keys() - before)))
        y = np.fft.rfft(x)
        z = np.polynomial.polynomial.polyval2d(x, x, np.ones((2, 2)))
        print(np.array_equal(dispatch.detach(y), np.fft.rfft([1.0, 2.0, 4.0])), dispatch.detach(z))
        """
    )
    assert said.splitlines() == ["[]", "True [ 4.  9. 25.]"]
