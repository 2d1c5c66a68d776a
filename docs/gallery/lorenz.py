"""An ordinary differential equation: the parameters of Lorenz's equations, from a trajectory.

The trajectory is computed by the classical Runge-Kutta method, a thousand steps of it in plain NumPy. The gradient of
the misfit goes back through every step, on a tape of some 60 000 nodes.

Run this page with `python docs/gallery/lorenz.py`; it needs SciPy.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import numpy as np
from scipy.optimize import minimize

import dispatch

STEPS, DT = 1000, 0.002

# %% The equations


def flow(state, parameters):
    """The velocity of a state (Lorenz, 1963, eq. 25-27)."""
    x, y, z = state
    sigma, rho, beta = parameters
    return np.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def stepped(state, parameters, dt):
    """The state a time dt later, by the classical Runge-Kutta method: an error of order dt**5."""
    k1 = flow(state, parameters)
    k2 = flow(state + dt / 2 * k1, parameters)
    k3 = flow(state + dt / 2 * k2, parameters)
    k4 = flow(state + dt * k3, parameters)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def trajectory(parameters, state, steps=STEPS, dt=DT):
    """The states after each step: (3,), (3,) -> (steps, 3)."""
    states = []
    for _ in range(steps):
        state = stepped(state, parameters, dt)
        states.append(state)
    return np.stack(states)


# %% The misfit


def misfit(parameters, start, observed):
    """The mean squared distance of a trajectory from an observed one."""
    distance = trajectory(parameters, start) - observed
    return np.mean(distance**2)


start = np.array([1.0, 1.0, 1.0])
true = np.array([10.0, 28.0, 8 / 3])
guess = np.array([9.0, 26.0, 2.5])
observed = trajectory(true, start)

# %% The fit

value_and_gradient = dispatch.value_and_grad(misfit)


def fitted(guess, start, observed):
    """The parameters whose trajectory is nearest to the observed one."""
    return minimize(value_and_gradient, guess, args=(start, observed), jac=True, method="BFGS", tol=1e-8)


if __name__ == "__main__" or __name__.startswith("gallery"):
    value, gradient = value_and_gradient(guess, start, observed)
    print(f"at the guess: misfit {value:.3f}, gradient {np.array2string(gradient, precision=3)}")
    found = fitted(guess, start, observed)
    print(f"sigma, rho, beta = {np.array2string(found.x, precision=6)}, after {found.nfev} evaluations")

    # %% The same derivative forward
    #
    # Three parameters and 3 000 results: here forward mode is the cheaper way to the whole Jacobian.

    _, moved = dispatch.jvp(lambda p: trajectory(p, start), (found.x,), (np.array([0.0, 1.0, 0.0]),))
    print(f"rho moves the last state by {np.array2string(moved[-1], precision=3)}")
