"""Handwritten digits: a small network, written in plain NumPy, and trained by its gradient.

The network is two matrix products with a ramp between them. Nothing in it knows that it will be differentiated: it is
a function of a dict of arrays, and `value_and_grad` gives a dict of gradients of the same structure. What is tracked
are the parameters alone; the pictures stay plain arrays.

Run this page with `python docs/gallery/digits.py`; it needs scikit-learn, for the pictures.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import numpy as np
from sklearn.datasets import load_digits

import dispatch

# %% The pictures
#
# 1 797 pictures of 8 x 8 grey values, and which digit each shows, as a row with a one in it.

pictures, digits = load_digits(return_X_y=True)
pictures = pictures / 16.0
labels = np.eye(10)[digits]
order = np.random.default_rng(0).permutation(len(pictures))
train, test = order[:1437], order[1437:]

# %% The network


def initial(seed, hidden=64):
    """Parameters to begin with: weights as wide as keeps a signal its size (He et al., 2015, eq. 10), no bias."""
    rng = np.random.default_rng(seed)
    return {
        "inner": rng.normal(size=(64, hidden)) * np.sqrt(2 / 64),
        "shift": np.zeros(hidden),
        "outer": rng.normal(size=(hidden, 10)) * np.sqrt(2 / hidden),
        "bias": np.zeros(10),
    }


def scores(parameters, x):
    """How much each of the ten digits is in each picture: (n, 64) -> (n, 10)."""
    hidden = np.maximum(x @ parameters["inner"] + parameters["shift"], 0.0)
    return hidden @ parameters["outer"] + parameters["bias"]


def loss(parameters, x, y):
    """The mean of -log p(digit), with p the softmax of the scores."""
    s = scores(parameters, x)
    s = s - np.max(s, axis=1, keepdims=True)  # the same p, and no exponential too large
    return np.mean(np.log(np.sum(np.exp(s), axis=1)) - np.sum(s * y, axis=1))


# %% The training
#
# Stochastic gradient descent with momentum. A step needs one forward and one backward.

step = dispatch.value_and_grad(loss)


def trained(parameters, epochs=15, size=64, rate=0.1, momentum=0.9, seed=1):
    """Parameters after some passes over the training pictures, in batches of `size`."""
    rng = np.random.default_rng(seed)
    velocity = {name: np.zeros_like(p) for name, p in parameters.items()}
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(train), len(train) // size):
            _, gradient = step(parameters, pictures[rows], labels[rows])
            velocity = {name: momentum * velocity[name] - rate * gradient[name] for name in velocity}
            parameters = {name: p + velocity[name] for name, p in parameters.items()}
    return parameters


def accuracy(parameters, rows):
    """The part of the pictures whose highest score is the right digit's."""
    return np.mean(np.argmax(scores(parameters, pictures[rows]), axis=1) == digits[rows])


if __name__ == "__main__" or __name__.startswith("gallery"):
    start = initial(0)
    print(f"before: {accuracy(start, test):.1%} of {len(test)} pictures it was not trained on")
    parameters = trained(start)
    print(f"after:  {accuracy(parameters, test):.1%}")

    # %% Each picture's own gradient
    #
    # `vmap` of the gradient: which parameters would each picture alone move? The longest gradients belong to the
    # pictures that the network is least sure of.

    each = dispatch.vmap(dispatch.grad(loss), in_dims=(None, 0, 0))
    gradients = each(parameters, pictures[test][:, None, :], labels[test][:, None, :])
    length = np.sqrt(sum(np.sum(g * g, axis=tuple(range(1, g.ndim))) for g in gradients.values()))
    surest, least = np.argsort(length)[[0, -1]]
    print(f"gradients of single pictures are {length[surest]:.1e} to {length[least]:.1e} long")
