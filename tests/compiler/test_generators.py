"""Draws in compiled functions: the oracle is the function itself with a Generator of the same seed."""

import functools

import numpy as np
import pytest

import dispatch
from dispatch.errors import PerformanceWarning, TracingError

compiled = functools.partial(dispatch.compile, fullgraph=True)
x = np.arange(1.0, 4.0)

METHODS = [
    "random(3)", "normal(size=3)", "normal(1.0, 2.0, (2, 3))", "standard_normal(3, dtype=np.float32)", "uniform(-1, 1, size=3)", "integers(0, 9, size=3)",
    "permutation(3)", "choice(5, size=3, replace=False)", "choice([1.0, 2.0], size=3)", "exponential(size=3)", "poisson(3.0, 3)",
    "multivariate_normal([0, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])", "dirichlet([1, 2, 3])", "standard_normal(x.shape)",
]  # fmt: skip


@pytest.mark.parametrize("text", METHODS)
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
def test_each_run_draws_as_the_function_does(text, bits):
    found = []
    for wrap in (lambda f: f, compiled):
        rng = np.random.Generator(bits(3))
        f = wrap(eval(f"lambda x: (x + rng.{text}, rng.random(2))", {"rng": rng, "np": np}))
        found.append([[y.tobytes() for y in f(x * k)] for k in range(3)] + [rng.random(2).tobytes()])
    assert found[0] == found[1]


class Dropout:
    def __init__(self):
        self.rng, self.keep = np.random.default_rng(0), 0.5

    def __call__(self, a):
        self.mask = self.rng.random(a.shape) < self.keep
        return a * self.mask

    def solve(self, a):
        self.noise = self.rng.normal(size=a.shape)
        return np.linalg.inv(a) + self.noise

    def caught(self, a):
        try:
            return np.linalg.inv(a) + self.rng.normal(size=a.shape)
        except np.linalg.LinAlgError:
            return self.rng.normal(size=a.shape)


def test_a_draw_that_is_stored():
    layer, plain = Dropout(), Dropout()
    f = compiled(layer)
    for k in range(4):
        assert np.array_equal(f(x * k), plain(x * k))
        assert np.array_equal(layer.mask, plain.mask)
    assert len(f.entries) == 2  # without and with the attribute


def test_where_a_run_raises_its_draws_are_put_back():
    layer, plain = Dropout(), Dropout()
    f = dispatch.compile(layer.solve)
    for a in (np.eye(2), np.zeros((2, 2)), np.eye(2)):
        outcomes = []
        for g in (f, plain.solve):
            try:
                outcomes.append(g(a).tobytes())
            except np.linalg.LinAlgError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert np.array_equal(layer.noise, plain.noise)
    assert f.entries[0].run is not None


@pytest.mark.parametrize("options", [{}, {"verify": 2}])
def test_what_is_held_against_the_function_draws_once(options):
    layer, plain = Dropout(), Dropout()
    f = dispatch.compile(layer.caught, **options)
    for a in (np.eye(2), np.eye(2), np.zeros((2, 2)), np.eye(2)):
        assert np.array_equal(f(a), plain.caught(a))
    assert f.entries[0].run is not None
    assert layer.rng.random() == plain.rng.random()


def test_a_generator_of_a_seed_is_a_function_of_it():
    def f(a, seed):
        rng = np.random.default_rng(np.random.default_rng(seed))
        return a + rng.normal(size=a.shape) * rng.random()

    g = compiled(f)
    for seed in (0, 1, 0):
        assert np.array_equal(g(x * seed, seed), f(x * seed, seed))
    assert len(g.entries) == 2


@pytest.mark.parametrize("seed", [3, None])
def test_it_is_a_generator(seed):
    rng = np.random.default_rng(3)

    def f(a, seed):
        own = np.random.default_rng(seed) if isinstance(seed, int) else rng
        return a * isinstance(own, np.random.Generator) + (type(own) is np.random.Generator) + own.random(3)

    found = compiled(f)(x, seed)
    rng = np.random.default_rng(3)
    assert np.array_equal(found, f(x, seed))


def test_another_generator_is_another_trace(monkeypatch):
    layer, plain = Dropout(), Dropout()
    f = compiled(layer)
    f(x), plain(x)
    layer.rng, plain.rng = np.random.default_rng(7), np.random.default_rng(7)
    assert np.array_equal(f(x), plain(x))
    seeded = compiled(lambda a: a * np.random.default_rng(0).random(3))
    seeded(x)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: np.random.Generator(np.random.PCG64(seed + 1)))
    with pytest.warns(PerformanceWarning):
        found = dispatch.compile(lambda a: a * np.random.default_rng(0).random(3))(x)
    assert np.array_equal(found, x * np.random.default_rng(0).random(3))
    with pytest.raises(TracingError):
        seeded(x)


def test_explain_draws_nothing():
    layer, plain = Dropout(), Dropout()
    f = compiled(layer)
    assert "'random', ([3],), {}, '|f8'" in repr(f.explain(x)).replace("(3,)", "[3]").replace("<f8", "|f8")
    assert layer.rng.random() == plain.rng.random()


REFUSED = [
    ("rng.random() * a", "it draws by rng.random what is no array but float, by which Python may decide. Pass size=."),
    ("rng.normal(a)", "it draws by rng.normal with an array for an argument. Draw numbers that depend on nothing"),
    ("rng.permutation(held)", "it draws by rng.permutation with an array for an argument"),
    ("rng.choice(np.arange(3), 2) + a[:2]", "it draws by rng.choice from an array or an object. Draw indices"),
    ("rng.shuffle(a)", "it draws by rng.shuffle with an array for an argument"),
    ("rng.bit_generator", "it asks a Generator for 'bit_generator' while it is traced, of which it can only draw."),
    ("a * np.random.default_rng().random(3)", "it makes a Generator without a seed, or of one that is no int. Pass an int"),
    ("np.random.default_rng(0).spawn(1)", "it asks a Generator for 'spawn' while it is traced, of which it can only draw."),
    ("{}[rng]", "KeyError"),
    ("a + np.random.Generator(np.random.PCG64(0)).random(3)", "it uses numpy.random.PCG64, whose result depends on more than its arguments."),
    ("a + len(str(rng))", "the text of a Generator was asked for while it was traced, in which there is an address."),
    ("a + np.random.normal(size=3)", "it uses numpy.random.normal, whose result depends on more than its arguments."),
    ("dispatch.fori_loop(0, 2, lambda i, c: c + rng.random(3), a)", "it draws in the body of a loop or branch, a graph of its own. Draw before"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_refused(text, said):
    rng = np.random.default_rng(0)
    f = eval(f"lambda a: {text}", {"rng": rng, "np": np, "held": np.ones(3), "dispatch": dispatch})
    with pytest.raises((TracingError, KeyError)) as raised:
        compiled(f)(x)
    assert said in (type(raised.value).__name__ if raised.type is KeyError else str(raised.value))
    assert rng.random() == np.random.default_rng(0).random()


def test_an_error_that_cannot_be_written_while_it_is_traced_is_the_functions_own():
    rng = np.random.default_rng(0)
    with pytest.raises(KeyError) as raised:
        dispatch.compile(lambda a: {}[rng])(x)
    assert raised.value.args[0] is rng


def test_a_refused_draw_is_the_functions_own():
    rng = np.random.default_rng(0)
    f = dispatch.compile(lambda a: a * rng.random())
    with pytest.warns(PerformanceWarning, match="it draws by rng.random what is no array"):
        out = f(x)
    assert np.array_equal(out, x * np.random.default_rng(0).random())


def test_no_file_has_a_trace_that_draws(tmp_path):
    rng = np.random.default_rng(0)
    held, given = compiled(lambda a: a + rng.normal(size=3), cache_dir=tmp_path), compiled(lambda a, g: g.random(3), cache_dir=tmp_path)
    held(x), given(x, rng)
    for f in (held, given):
        assert "not kept for other processes: it refers to a Generator, which has no text" in repr(f.explain())
    assert not list(tmp_path.rglob("*.entry"))
