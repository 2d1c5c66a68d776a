"""Programs of autograd's users, as texts: a test runs each with autograd's imports and with ours, and compares what they compute.

Each begins with its imports and leaves what counts in `results`.
"""

PROGRAMS = {
    "derivatives of tanh": """
import autograd.numpy as np
from autograd import elementwise_grad as egrad, grad, deriv

def tanh(x):
    y = np.exp(-2.0 * x)
    return (1.0 - y) / (1.0 + y)

x = np.linspace(-3, 3, 15)
order, curves = tanh, []
for _ in range(5):
    order = egrad(order)
    curves.append(order(x))
results = [curves, grad(tanh)(1.0), (tanh(1.0001) - tanh(0.9999)) / 0.0002, deriv(tanh)(x), grad(grad(tanh))(0.5)]
""",
    "logistic regression": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, multigrad_dict, value_and_grad
from autograd.test_util import check_grads

def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.0) + 1)

inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = np.array([True, True, False, True])

def loss(weights, bias=0.1):
    p = sigmoid(np.dot(inputs, weights) + bias)
    return -np.sum(np.log(p * targets + (1 - p) * (1 - targets)))

check_grads(loss, modes=["rev"])(np.array([0.1, -0.2, 0.3]), 0.2)
w = np.zeros(3)
for _ in range(50):
    w -= grad(loss)(w) * 0.05
pair = grad(loss, (0, 1))(w, 0.3)
results = [w, loss(w), value_and_grad(loss)(w), type(pair) is tuple, pair]
""",
    "neural net": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad
from autograd.misc import flatten
from autograd.misc.flatten import flatten_func
from autograd.misc.optimizers import adam, rmsprop, sgd

rs = npr.RandomState(0)
sizes = [2, 5, 4, 1]
params = [(0.5 * rs.randn(m, n), 0.1 * rs.randn(n)) for m, n in zip(sizes[:-1], sizes[1:])]
X = rs.randn(20, 2)
Y = np.sin(X[:, :1]) * X[:, 1:]

def predict(params, x):
    for W, b in params:
        out = np.dot(x, W) + b
        x = np.where(out > 0, out, 0.1 * out)
    return out

def log_prior(params):
    flat, _ = flatten(params)
    return -0.01 * np.dot(flat, flat)

def objective(params, i):
    return np.mean((predict(params, X) - Y) ** 2) - log_prior(params)

seen = []
def report(params, i, g):
    seen.append((objective(params, i), flatten(g)[0]))

results = [flatten(f(grad(objective), params, callback=report, num_iters=20, step_size=0.05))[0] for f in (adam, rmsprop, sgd)]
func, unflatten, start = flatten_func(lambda p: {"b": p["b"] * 2.0, "a": [p["a"], 1.0]}, {"b": np.ones(2), "a": 3.0})
results += [seen, start, func(start), unflatten(start), grad(lambda v: np.sum(func(v) ** 2))(start)]
""",
    "a primitive of one's own": """
import autograd.numpy as np
from autograd import grad, hessian, jacobian, make_jvp
from autograd.extend import primitive, defvjp, defjvp, defvjp_argnum, defjvp_argnum, def_linear
from autograd.test_util import check_grads, combo_check

@primitive
def logsumexp(x):
    \"\"\"Numerically stable log(sum(exp(x)))\"\"\"
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))

def logsumexp_vjp(ans, x):
    shape = x.shape
    return lambda g: np.full(shape, g) * np.exp(x - np.full(shape, ans))

defvjp(logsumexp, logsumexp_vjp)
defjvp(logsumexp, lambda g, ans, x: np.sum(g * np.exp(x - ans)))

@primitive
def scaled(x, power, y=2.0, *, offset=0.0):
    return y * x**power + offset

defvjp(scaled, lambda ans, x, power, y=2.0, offset=0.0: lambda g: g * y * power * x ** (power - 1.0), None)
defvjp_argnum_of = []

@primitive
def product(x, y):
    return x * y

def product_vjp(argnum, ans, args, kwargs):
    defvjp_argnum_of.append(argnum)
    return lambda g: g * args[1 - argnum]

defvjp_argnum(product, product_vjp)
defjvp(product, "same", lambda g, ans, x, y: g * x)

@primitive
def total(x, y):
    return 3.0 * x * y

def_linear(total)
defvjp(total, lambda ans, x, y: lambda g: 3.0 * g * y, lambda ans, x, y: lambda g: 3.0 * g * x)

@primitive
def only_second(x, y):
    return x * np.sin(y)

defvjp(only_second, lambda ans, x, y: lambda g: g * x * np.cos(y), argnums=(1,))

x = np.array([1.5, 6.7, 1e-10])
f = lambda y: y[0] * logsumexp(y**2) + np.sum(scaled(y, 3.0, offset=1.0))
check_grads(logsumexp)(x)
check_grads(product, (0, 1))(x, x + 1.0)
combo_check(total, (0, 1), order=1)([x], [2.0 * x, 3.0 * x])
results = [grad(f)(x), hessian(f)(x), jacobian(lambda y: product(y, np.sin(y)))(x), sorted(set(defvjp_argnum_of))]
results += [make_jvp(product)(x, x)(np.ones(3)), make_jvp(total, 1)(x, x)(x), logsumexp(x), logsumexp.__name__, logsumexp.__doc__]
results += [grad(lambda p: scaled(2.0, p))(3.0), grad(lambda y: np.sum(only_second(x, y)))(x)]
""",
    "containers and several results": """
import autograd.numpy as np
from autograd import grad, grad_and_aux, jacobian, make_vjp
from autograd.extend import primitive, defvjp, defvjp_argnums, vspace, notrace_primitive
from autograd.misc import flatten
from autograd.builtins import tuple as atuple, dict as adict, isinstance as aisinstance

@primitive
def solve2(params, x):
    return params["a"] * x + params["b"][0]

defvjp(
    solve2,
    lambda ans, params, x: lambda g: {"a": np.sum(g * x), "b": [np.sum(g), np.zeros(2)]},
    lambda ans, params, x: lambda g: g * params["a"],
)

@primitive
def both(x, y):
    return x * y, x + y

defvjp_argnums(both, lambda argnums, ans, args, kwargs: lambda g: [g[0] * args[1 - i] + g[1] for i in argnums])

@notrace_primitive
def sign(x):
    assert type(x) in (np.ndarray, np.float64, float)
    return np.sign(x)

params = {"a": 2.0, "b": [1.0, np.ones(2)]}
x = np.array([0.5, -1.0])
def loss(params, x):
    return np.sum(solve2(params, x) ** 3)

def pair(x, y):
    a, b = both(x, y)
    return np.sum(a * b * sign(x))

def aux(x):
    return np.sum(x**2), adict(half=0.5 * x)

vs = vspace(params)
pull, value = make_vjp(loss, 0)(params, x)
results = [grad(loss)(params, x), grad(loss, 1)(params, x), pull(2.0), value, grad(pair, [0, 1])(x, x + 1.0), grad_and_aux(aux)(x)]
results += [flatten(vs.zeros())[0], flatten(vs.ones())[0], vs.size == 4, vspace(x).shape, jacobian(lambda x: np.stack([x, x**2]))(x)]
""",
    "curvature": """
import autograd.numpy as np
from autograd import (grad, hessian, hessian_vector_product, hessian_tensor_product, jacobian, make_ggnvp, make_hvp, make_jvp,
                      make_vjp, tensor_jacobian_product, vector_jacobian_product, value_and_grad, grad_named, checkpoint)
from scipy.optimize import minimize

def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2

x0 = np.array([-1.2, 1.0])
found = minimize(value_and_grad(rosenbrock), x0, jac=True, method="BFGS", options={"maxiter": 15})
newton = minimize(rosenbrock, x0, jac=grad(rosenbrock), hessp=hessian_vector_product(rosenbrock), method="Newton-CG", options={"maxiter": 8})
v = np.array([0.3, -2.0])
hvp, gradient = make_hvp(rosenbrock)(x0)
f = lambda x: np.array([x[0] * x[1], np.sin(x[0]), x[1] ** 3])
results = [found.x, newton.x, hessian(rosenbrock)(x0), hvp(v), gradient, hessian_tensor_product(rosenbrock)(x0, v)]
results += [jacobian(f)(x0), tensor_jacobian_product(f)(x0, np.ones(3)), vector_jacobian_product(f)(x0, np.arange(3.0))]
results += [make_ggnvp(f)(x0)(v), make_jvp(f)(x0)(v), make_vjp(f)(x0)[0](np.ones(3)), grad_named(lambda a, b: a * b**2, "b")(2.0, 3.0)]
results += [grad(checkpoint(rosenbrock))(x0), grad(lambda x: np.array([[np.sum(x**2)]]))(x0), value_and_grad(lambda x: x[:1])(x0)]
""",
    "gaussian process": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd.numpy.linalg import solve
from autograd import value_and_grad
from scipy.optimize import minimize

rs = npr.RandomState(0)
X = np.expand_dims(np.hstack([np.linspace(0, 3, num=8), np.linspace(6, 8, num=8)]), 1)
y = (np.cos(X[:, 0]) + rs.randn(16) * 0.1) / 2.0

def kernel(params, a, b):
    scale, lengths = np.exp(params[0]), np.exp(params[1:])
    diffs = np.expand_dims(a / lengths, 1) - np.expand_dims(b / lengths, 0)
    return scale * np.exp(-0.5 * np.sum(diffs**2, axis=2))

def objective(params):
    mean, noise = params[0], np.exp(params[1]) + 0.001
    cov = kernel(params[2:], X, X) + noise * np.eye(len(y))
    low = np.linalg.cholesky(cov)
    alpha = solve(cov, y - mean)
    return 0.5 * np.dot(y - mean, alpha) + np.sum(np.log(np.diag(low))) + 0.5 * len(y) * np.log(2 * np.pi)

start = 0.1 * rs.randn(4)
fitted = minimize(value_and_grad(objective), start, jac=True, method="CG", options={"maxiter": 10})
results = [value_and_grad(objective)(start), fitted.fun]
""",
    "complex numbers": """
import autograd.numpy as np
from autograd import grad, holomorphic_grad, make_vjp, make_jvp, elementwise_grad
from autograd.extend import primitive, defvjp
from autograd.test_util import check_grads

@primitive
def power(z):
    return np.abs(z) ** 2

defvjp(power, lambda ans, z: lambda g: 2 * g * np.conj(z))

@primitive
def cube(z):
    return z**3

defvjp(cube, lambda ans, z: lambda g: 3 * z**2 * g)

z, v = np.array([1.0 + 2.0j, -0.5 + 0.25j]), np.array([2.0 - 1.0j, 0.5j])
f = lambda z: np.sum(np.sin(z) * np.exp(1j * z))
g = lambda z: np.sum(power(z) * np.real(z)) + np.imag(np.sum(cube(z)))
check_grads(g, modes=["rev"], order=1)(z)
results = [holomorphic_grad(f)(z), grad(lambda z: np.abs(f(z)))(z), grad(g)(z), make_vjp(lambda z: z**2)(z)[0](v), make_jvp(lambda z: z**2)(z)(v)]
results += [holomorphic_grad(lambda z: np.sum(cube(z)))(z), holomorphic_grad(lambda z: z**2)(1.0 + 2.0j), grad(lambda x: np.abs(np.exp(1j * x) + 1.0))(0.3)]
results += [elementwise_grad(lambda z: np.real(z) ** 2 + np.imag(z))(z)]
""",
    "recurrent net": """
import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import value_and_grad, grad

rs = npr.RandomState(1)
params = {"init": 0.1 * rs.randn(1, 4), "change": 0.3 * rs.randn(9, 4), "predict": 0.3 * rs.randn(5, 4)}
words = rs.randint(0, 4, size=(7, 3))
onehot = 1.0 * (words[:, :, None] == np.arange(4)[None, None, :])

def concat_and_multiply(weights, *args):
    cat = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
    return np.dot(cat, weights)

def rnn(params, inputs):
    hiddens = np.repeat(params["init"], inputs.shape[1], axis=0)
    def output(hiddens):
        out = concat_and_multiply(params["predict"], hiddens)
        top = np.max(out, axis=1, keepdims=True)
        return out - top - np.log(np.sum(np.exp(out - top), axis=1, keepdims=True))
    outputs = [output(hiddens)]
    for row in inputs:
        hiddens = np.tanh(concat_and_multiply(params["change"], row, hiddens))
        outputs.append(output(hiddens))
    return outputs

def loss(params, inputs, targets):
    logprobs = rnn(params, inputs)
    total = 0.0
    for t in range(inputs.shape[0]):
        total = total + np.sum(logprobs[t] * targets[t])
    return -total / inputs.shape[0]

results = [value_and_grad(loss)(params, onehot, onehot)]
for _ in range(5):
    found = grad(loss)(params, onehot, onehot)
    params = {key: params[key] - 0.2 * found[key] for key in params}
results.append(params)
""",
}
