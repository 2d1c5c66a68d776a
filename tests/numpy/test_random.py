"""Draws with Tensors as parameters: the numbers of the Generator, and derivatives of the formula by which NumPy draws."""

import inspect
from typing import Any

import numpy as np
import pytest

import dispatch
import dispatch.numpy as dnp
from dispatch.errors import BatchingError, ConversionError, UnsupportedError
from dispatch.numpy.random import HERE, REASONS

PARAMETERS: dict[str, tuple[float, ...]] = {
    "normal": (0.3, 1.7), "uniform": (0.3, 1.7), "exponential": (1.7,), "laplace": (0.3, 1.7), "logistic": (0.3, 1.7), "gumbel": (0.3, 1.7),
    "lognormal": (0.3, 0.7), "rayleigh": (1.7,), "weibull": (1.7,), "pareto": (1.7,), "power": (1.7,), "triangular": (-1.0, 0.3, 1.7),
}  # fmt: skip
every = pytest.mark.parametrize("name", PARAMETERS)
COV = np.array([[2.0, 0.5], [0.5, 1.0]])


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def leaf(x: Any) -> Any:
    return dispatch.tensor(np.asarray(x, float), requires_grad=True)


@every
def test_a_draw_is_that_of_the_generator(name: str) -> None:
    function, given = getattr(dnp.random, name), PARAMETERS[name]
    wanted = getattr(rng(), name)(*given, size=(4, 5))
    assert np.array_equal(function(rng(), *given, size=(4, 5)), wanted)
    np.testing.assert_array_max_ulp(dispatch.detach(function(rng(), *map(leaf, given), size=(4, 5))), wanted, 16)
    one = getattr(rng(), name)(*given)
    assert np.isclose(dispatch.detach(function(rng(), *map(leaf, given))), one, rtol=1e-14)
    spread = [np.full((3, 1), given[0]), *given[1:]]
    assert np.allclose(dispatch.detach(function(rng(), leaf(spread[0]), *given[1:])), getattr(rng(), name)(*spread), rtol=1e-14)
    assert list(inspect.signature(function).parameters) == ["rng", *inspect.signature(function).parameters.keys() - {"rng", "size"}, "size"] or len(given) > 1
    assert function.__doc__.startswith(f"Draw as `rng.{name}(")


@every
def test_its_derivatives_are_those_of_differences(name: str) -> None:
    draw = lambda *given: np.sum(np.sin(getattr(dnp.random, name)(rng(), *given, size=6)))
    assert dispatch.testing.gradcheck(draw, tuple(map(leaf, PARAMETERS[name])))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_draws_of_vectors(method: str) -> None:
    draw = lambda mean, cov, size=5: dnp.random.multivariate_normal(rng(), mean, cov, size, method=method)
    mean = np.array([0.5, -1.0])
    for size in (None, 5, (2, 3)):
        wanted = rng().multivariate_normal(mean, COV, size, method=method)
        assert np.array_equal(draw(mean, COV, size), wanted)
        assert np.allclose(dispatch.detach(draw(leaf(mean), leaf(COV), size)), wanted, rtol=1e-13)
    symmetric = lambda c: np.stack([np.stack([c[0], c[1]]), np.stack([c[1], c[2]])])
    assert dispatch.testing.gradcheck(lambda m, c: np.sum(np.sin(draw(m, symmetric(c)))), (leaf(mean), leaf([2.0, 0.5, 1.0])))


def test_a_gamma_draw_follows_its_scale() -> None:
    wanted = rng().gamma(2.5, 1.5, 4)
    assert np.array_equal(dnp.random.gamma(rng(), 2.5, 1.5, 4), wanted)
    assert np.allclose(dispatch.detach(dnp.random.gamma(rng(), 2.5, leaf(1.5), 4)), wanted, rtol=1e-15)
    assert np.isclose(dispatch.grad(lambda s: np.sum(dnp.random.gamma(rng(), 2.5, s, 4)))(1.5), np.sum(wanted) / 1.5)


def test_vmap_asks_whose_a_draw_is() -> None:
    f = lambda x, rng: dnp.random.normal(rng, x, size=2)
    x = np.zeros(3)
    with pytest.raises(BatchingError, match="vmap was not told whether for all items or for each"):
        dispatch.vmap(f, in_dims=(0, None))(x, rng())
    same = dispatch.vmap(lambda x: f(x, rng()), randomness="same")(x)
    assert np.array_equal(same, np.broadcast_to(rng().normal(size=2), (3, 2)))
    different = dispatch.vmap(f, in_dims=(0, None), randomness="different")(x, rng())
    assert np.array_equal(different, rng().normal(size=(3, 2)))


def test_other_layers_draw() -> None:
    x = np.array([0.5, 1.5])
    value, tangent = dispatch.jvp(lambda x: dnp.random.normal(rng(), 1.0, x), (x,), (np.ones(2),))
    assert np.allclose(value, rng().normal(1.0, x))
    assert np.allclose(tangent, rng().normal(0.0, 1.0, 2))
    assert dispatch.eval_shape(lambda x: dnp.random.uniform(rng(), x, 2.0, (3, 2)), x).shape == (3, 2)


def test_what_is_refused_says_why() -> None:
    x = leaf(0.5)
    accepted = (
        "a parameter is a Tensor, and the draw is accepted or thrown away by it, and the derivative of the distribution function by it has "
        "no closed form. Write dispatch.detach(x) where a constant is meant."
    )
    texts = {
        "beta": accepted,
        "poisson": "a parameter is a Tensor, and the draw is a whole number, which has no derivative. Write dispatch.detach(x) where a constant is meant.",
        "permutation": "a parameter is a Tensor, and what is chosen is a place, which has no derivative; of the things themselves write "
        "x[rng.permutation(len(x))]. Write dispatch.detach(x) where a constant is meant.",
    }
    for name, text in texts.items():
        with pytest.raises(UnsupportedError) as said:
            getattr(dnp.random, name)(rng(), x)
        assert str(said.value) == f"dispatch.numpy.random.{name}: {text}"
    with pytest.raises(UnsupportedError) as said:
        dnp.random.gamma(rng(), x)
    assert str(said.value) == f"dispatch.numpy.random.gamma: {accepted.replace('a parameter', 'shape')}"
    assert dnp.random.poisson(rng(), 3.0) == rng().poisson(3.0)
    with pytest.raises(TypeError) as wrong:
        dnp.random.normal(x)
    assert str(wrong.value) == (
        "dispatch.numpy.random.normal draws from a Generator, its first argument, and was given a TrackedTensor. Write "
        "rng = np.random.default_rng(seed), and pass rng."
    )
    with pytest.raises(ValueError, match="scale < 0"):
        dnp.random.normal(rng(), 0.0, -x)
    with pytest.raises(ValueError, match="scale < 0"):
        dnp.random.gamma(rng(), 1.0, -x)
    with pytest.raises(ValueError, match=r"Output size \(3,\) is not compatible with broadcast dimensions of inputs \(2,\)"):
        dnp.random.normal(rng(), leaf([1.0, 2.0]), size=3)
    with pytest.raises(ValueError, match="mean and cov must have same length"):
        dnp.random.multivariate_normal(rng(), leaf([1.0, 2.0, 3.0]), COV)
    with pytest.raises(AttributeError, match="has no 'seed': it would draw from a state of the whole process"):
        dnp.random.seed


def test_the_error_of_a_generator_names_it() -> None:
    with pytest.raises(ConversionError, match=r"dispatch\.numpy\.random for draws of a Generator"):
        rng().normal(leaf(0.5))


def test_every_draw_of_a_generator_is_here() -> None:
    draws = {name for name in dir(np.random.Generator) if not name.startswith("_")}
    plain = {"bit_generator", "bytes", "random", "spawn", "standard_cauchy", "standard_exponential", "standard_normal"}  # without parameters
    assert draws - plain == set(HERE)
    assert HERE[-len(REASONS) :] == [*REASONS]
    assert set(HERE) <= set(dir(dnp.random))
    assert dnp.random.default_rng is np.random.default_rng


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **PARAMETERS, "multivariate_normal": (np.zeros(2), COV), "gamma": (2.0, 1.5), "beta": (2.0, 3.0), "chisquare": (2.0,),
    "dirichlet": ([1.0, 2.0],), "f": (2.0, 3.0), "noncentral_chisquare": (2.0, 1.0), "noncentral_f": (2.0, 3.0, 1.0), "standard_gamma": (2.0,),
    "standard_t": (3.0,), "vonmises": (0.0, 1.0), "wald": (1.0, 2.0), "binomial": (50, 0.5), "geometric": (0.1,), "integers": (1000,),
    "hypergeometric": (50, 40, 30), "logseries": (0.9,), "multinomial": (30, [0.2, 0.8]), "multivariate_hypergeometric": ([40, 50], 30),
    "negative_binomial": (30, 0.5), "poisson": (100.0,), "zipf": (1.3,), "choice": (1000,), "permutation": (9,), "permuted": (np.arange(9),),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(HERE) - {"shuffle"}))
def test_draws_with_plain_parameters_ask_vmap_whose_they_are(name: str) -> None:
    function, given = getattr(dnp.random, name), ARGUMENTS[name]
    random, plain = rng(), rng()

    def drawn(x: Any) -> Any:
        return x * 0 + function(random, *given)

    drawn_for_each = dispatch.vmap(drawn, randomness="different")(np.zeros(4))
    np.testing.assert_allclose(drawn_for_each, [getattr(plain, name)(*given) for _ in range(4)], rtol=1e-13)
    one = dispatch.vmap(drawn, randomness="same")(np.zeros(4))
    np.testing.assert_allclose(one, np.stack([getattr(plain, name)(*given)] * 4), rtol=1e-13)
    with pytest.raises(BatchingError, match=rf"^dispatch\.numpy\.random\.{name} draws from a random generator, and vmap was not told"):
        dispatch.vmap(drawn)(np.zeros(4))


def test_a_shuffle_in_a_batch_shuffles_as_often_as_it_is_asked_to() -> None:
    x = np.arange(9)
    dispatch.vmap(lambda a: (dnp.random.shuffle(rng(), x), a)[1], randomness="same")(np.zeros(2))
    assert sorted(x) == list(range(9))
    assert list(x) != list(range(9))


def test_a_graph_draws_anew_with_plain_parameters_too() -> None:
    random = rng()
    graph = dispatch.make_fx(lambda x: x + dnp.random.uniform(random, 2.0, 3.0, size=3))(np.zeros(3))
    first, second = graph(np.zeros(3)), graph(np.zeros(3))
    assert (first != second).all()
    assert ((first >= 2) & (first < 3)).all()
