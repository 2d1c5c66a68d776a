"""Every parameter of the public face given every wrong value: each call is one that the documentation takes, or is refused in our words.

The calls are made by `wrong_arguments.py`. What is written here is what may be given; whatever else a call accepts in silence, or
refuses in Python's words, in NumPy's, by an inside name, or later than it could, is a fault.
"""

import pytest
import wrong_arguments as made

NUMBERS = "3 -1 2.5 True"
ANY = " ".join(made.VALUES)
ARRAYS = f"{NUMBERS} ndarray"
CALLABLE = "lambda:0 lambda5 class"

# What may be given beside the right value: by the parameter's name, or by that of the function and the parameter.
TAKEN = {
    # flags that are left to the default, and flags
    "has_aux": "True", "fullgraph": "True", "dynamic": "True", "requires_grad": "True", "reverse": "True", "batched": "True",
    "with_keyset": "True", "allow_override": "True", "beside_numpy": "True", "raise_exception": "True", "isolate": "True",
    "equal_nan": "True", "only_longer": "True", "retain_graph": "None True", "create_graph": "None True", "allow_unused": "None True",
    "materialize": "None True", "check_nan": "True", "enabled": "True", "allow_non_fake_inputs": "True", "static_shapes": "None True",
    "print_output": "True", "opaque": "None True", "ctx.set_materialize_grads value": "True", "condition": "True",
    # what is optional
    "chunk_size": "None 3 True", "workers": "None 3 True", "signature": "None", "otypes": "None", "mode": "None", "backend": "None",
    "cache_dir": "None text", "kwargs": "None {}", "dynamic_shapes": "None {}", "dtype": "None", "message": f"None text {CALLABLE}",
    "max_steps": "None 3", "length": "None 3", "device_types": "None text [] generator", "schema": "None", "op_name": "None text",
    "tags": "None [] {}", "lib": "None", "func": "None", "fn": "None", "claims": "None", "atol": "None 3 2.5 True", "rtol": "None 3 2.5 True",
    "eps": "None 3 2.5", "shape_env": "None", "grad_tensors": f"None {NUMBERS}", "grad_outputs": f"None {NUMBERS}",
    "gradient": f"None {NUMBERS}", "autograd.backward inputs": "None", "x.backward inputs": "None", "cfunc": "None", "file": "text",
    "log_calls file": "None", "failures_dict_path": "None text", "additional_decorators": "None {}", "path": "text", "device": "None text",
    "hint": "None 3 -1 True", "low": "3 -1 True", "high": "None 3 -1 True", "min": "3 -1 True", "max": "None 3 -1 True", "kind": "None",
    # names, numbers and functions that are right
    "argnums": "-1 text", "in_dims": "-1", "out_dims": "-1", "verify": "3", "scan checkpoint": "None 3 True", "seed": "3 True",
    "timeout": "3 2.5 True", "from_ufunc derivative": "None 3 -1 2.5 lambda:0 True", "elementwise": "3 -1 2.5 lambda:0 True",
    "finite_difference": "3 2.5 True", "linear": "text True", "cls": "class", "cls_or_mode": "class", "register_dispatch func": "None lambda5",
    "ns": "text", "dispatch_key": "text", "name": "text None", "register_backend name": "text", "op_name text": "text", "text": "text",
    "Library.impl op_name": "text", "what": "text", "Sample gradients": "text", "reason": "text", "*namespaces": "text",
    "testcase": "class", "level": "text", "find_nodes op": "None text", "graph.find_nodes op": "None text", "below": "3 True",
    "lower": "3 -1", "upper": "3 -1", "pred": "True", "Library.fallback fn": CALLABLE, "*keys": "text", "key": "text",
    # several, of which there may be none
    "excluded": "3 -1 [] True set generator", "static_argnames": "text [] {}", "mutates_args": "[] {}", "fixed": "text [] {}", "kept": "[] set generator",
    "args": "[] ragged", "outputs": "[] ragged", "profiles": "{}", "namespaces": "[]", "test_utils": "text []",
    # arrays, and what any function takes: values go to a function of the user's, or are asked about
    "*primals": ARRAYS, "primals": "", "*cotangents": f"None {ARRAYS}", "*args": ARRAYS, "*operands": ARRAYS, "init": ARRAYS, "xs": "ndarray",
    "x": ARRAYS, "data": "2.5 [] ndarray", "detach x": ARRAYS, "inputs": "ndarray", "actual": "ndarray", "expected": "ndarray",
    "op factor": "3 -1 2.5", "*tensors": "None [] {} ndarray", "a": "ndarray", "*values": ANY, "op.explain x": ANY, "compiled.explain x": ANY, "copy": "True", "cond false": "class",
    "graph.holds *args": ANY, "graph.replace_all_uses_with other": ANY,
}  # fmt: skip
# Parameters that NumPy reads: it takes them or says in its own words what it does not take.
NUMPYS = {
    ("numpy.asarray", "a"), ("numpy.astype", "device"), ("numpy.random.normal", "loc"), ("numpy.random.normal", "scale"),
    ("numpy.random.normal", "size"), ("numpy.random.uniform", "low"), ("numpy.random.uniform", "high"), ("numpy.random.uniform", "size"),
    ("numpy.random.gamma", "shape"), ("numpy.random.gamma", "scale"), ("numpy.random.gamma", "size"),
    ("numpy.random.multivariate_normal", "mean"), ("numpy.random.multivariate_normal", "cov"), ("numpy.random.multivariate_normal", "size"),
    ("numpy.random.multivariate_normal", "method"),
}  # fmt: skip
DTYPES = {"numpy.asarray dtype": "None [] {} class", "numpy.astype dtype": "None [] {} class", "tensor dtype": "None class"}
# What can be known only when the result is called: it depends on the arguments of that call, or the rule is of the user's.
LATER = {
    "f": CALLABLE + " None", "argnums": "3", "in_dims": "None 3", "out_dims": "None 3 [] {}", "has_aux": "True", "*primals": NUMBERS,
    "excluded": "text", "fn": "None", "func": "None", "rule": "None", "backward": "None", "setup_context": "None", "linear": "None []",
    "elementwise": "None {}", "jacobian": "None", "implicit": "None", "finite_difference": "None", "node": ANY, "fixed": "set generator",
    "profiles": ANY,
}  # fmt: skip
# Functions in C say of names and numbers of arguments what Cython or NumPy says, which names the function: their values are held to
# the law.
COMPILED = {"numpy.asarray", "op.set_kernel_enabled", "op.redispatch", "ctx.save_for_backward", "ctx.set_materialize_grads"}
# These take any arguments: what they say is about the call.
ANYTHING = {"op.explain", "compiled.explain", "graph.holds", "autograd.nbytes", "Mode", "compiled", "op.redispatch"}


def may(table, title, parameter):
    bare = title.partition("(")[0]
    for key in (f"{bare} {parameter}", parameter):
        if key in table:
            return table[key].split()
    return []


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("title", made.FACES)
def test_the_right_call_is_right(title):
    face = made.FACES[title]()
    assert made.outcome(face, *made.split(face.function, face.arguments)) == ("accepted", None)


@pytest.mark.parametrize("title", made.FACES)
def test_a_wrong_value_is_refused_in_our_words(title):
    faults = []
    for parameter in made.FACES[title]().arguments:
        if (title, parameter) in NUMPYS:
            continue
        taken = may({**TAKEN, **DTYPES}, title, parameter)
        for value in made.VALUES:
            what, error = made.with_value(title, parameter, value)
            if what == "accepted":
                if value not in taken:
                    faults.append(f"{parameter}={value} was accepted")
                continue
            if what == "late" and value not in may(LATER, title, parameter):
                faults.append(f"{parameter}={value} was refused late: {error}")
            if isinstance(error, AssertionError) and title == "assert_close":
                continue
            if isinstance(error, OSError) and value == "text":  # of a path that leads nowhere
                continue
            if title == "compile" and what == "late" and parameter == "f":  # it is called as it is
                continue
            if fault := made.fault(title, parameter, None if what == "late" else value, error):
                faults.append(f"{parameter}={value}: {fault}: {type(error).__name__}: {error}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("title", sorted(made.FACES.keys() - COMPILED - ANYTHING))
def test_a_wrong_number_or_name_of_arguments_is_refused_in_our_words(title):
    faults = []
    for wrong in made.wrong_shapes(title):
        found = made.with_shape(title, wrong)
        if found.error is None:
            if not wrong.startswith("without"):  # a parameter with a default
                faults.append(f"{wrong} was accepted")
            continue
        if found.what == "late" and not wrong.startswith("without"):
            faults.append(f"{wrong} was refused late: {found.error}")
        if isinstance(found.error, OSError):
            continue
        if (fault := made.fault(title, wrong.split()[-1], None, found.error)) and (wrong, fault) != ("one too many", "names neither"):
            faults.append(f"{wrong}: {fault}: {type(found.error).__name__}: {found.error}")
        elif " as " in wrong and "Did you mean" not in str(found.error) and "by position" not in str(found.error):
            faults.append(f"{wrong}: no close match: {found.error}")
    assert not faults, "\n".join(faults)
