"""The programs of the gallery, with their gradients, as graphs: traced, compiled, exported, they give the same bits."""

import numpy as np
import pytest

import dispatch
from bench.whole import page
from dispatch.core.pytree import leaves

RNG = np.random.default_rng(0)


def network():
    pytest.importorskip("sklearn")
    own = page("digits")
    return own.loss, (own.initial(0), own.pictures[:64], own.labels[:64])


def likelihood():
    own = page("gaussian_process")
    return own.negative_log_likelihood, (np.log([1.0, 1.0, 0.5]), own.x, own.y)


def orbit():
    """Twenty of its thousand steps: each is the same 42 calls, and a graph has a node for each."""
    own = page("lorenz")
    own.trajectory.__defaults__ = (20, *own.trajectory.__defaults__[1:])
    observed = own.trajectory(own.guess, own.start) + 0.1
    return own.misfit, (own.guess, own.start, observed)


PROGRAMS = {"digits": network, "gaussian_process": likelihood, "lorenz": orbit}

every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


def same(found, expected):
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_array_equal(x, y)


@every_program
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_the_graph_of_a_program_gives_what_it_gives(program, mode):
    f, args = program()
    same(dispatch.make_fx(f, mode)(*args)(*args), f(*args))
    step = dispatch.value_and_grad(f)
    same(dispatch.make_fx(step, mode)(*args)(*args), step(*args))


@every_program
def test_a_compiled_program_gives_what_it_gives(program):
    f, args = program()
    step = dispatch.value_and_grad(f)
    compiled = dispatch.compile(step, fullgraph=True)
    for _ in range(2):
        same(compiled(*args), step(*args))


@every_program
def test_an_exported_program_gives_what_it_gives(program):
    f, args = program()
    step = dispatch.value_and_grad(f)
    exported = dispatch.export(step, args)
    text = exported.graph.dumps()
    same(dispatch.ExportedProgram(dispatch.Graph.loads(text))(*args), step(*args))
