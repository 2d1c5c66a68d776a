"""autograd's derivatives of functions: `grad(f, argnum)` and its kin, each a few lines over this package's transforms.

Three things differ from `dispatch.grad`, and are translated here. A function may return one number in an array of any shape; a
result is a scalar where the argument was one; and cotangents of complex numbers are conjugated, since autograd's transposed
Jacobian is the plain transpose.
More than 350 lines: autograd has all of them in one module.
"""

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ...autodiff.forward_mode import jvp
from ...autodiff.jacobian import hessian as _hessian
from ...autodiff.jacobian import jacrev
from ...autodiff.reverse_mode import grad as _grad
from ...autodiff.reverse_mode import vjp
from ...core import Tensor, is_array
from ...core.pytree import leaves, mapped
from ...core.wrong_calls import clear
from ...errors import GradientError, kind_of

Function = Callable[..., Any]
Argnum = int | tuple[int, ...] | list[int]


def conjugated(x: Any) -> Any:
    """A container with the conjugates of its complex arrays: from a cotangent of autograd's to one of ours, and back."""
    return mapped(lambda y: np.conj(y) if getattr(y, "dtype", None) is not None and y.dtype.kind == "c" else y, x)


def plain(x: Any) -> Any:
    """A container with scalars in place of arrays without axes, as autograd returns them."""
    return mapped(lambda y: y[()] if type(y) is np.ndarray and not y.ndim else y, x)


def check_argnum(argnum: Any) -> None:
    """Raise where the argument of a function stands in the place of its number."""
    if not isinstance(argnum, (int, tuple, list)):
        raise GradientError(
            f"argnum is {kind_of(argnum)}. It is the position of an argument, or a tuple of these. The arguments themselves go "
            "into the second call: grad(f)(x)."
        )


def unary(fun: Function, argnum: Argnum, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Function, Any]:
    """A function of the arguments that are asked for alone, and their values."""
    check_argnum(argnum)
    places = [argnum] if isinstance(argnum, int) else list(argnum)
    for place in places:
        if type(place) is not int:
            raise GradientError(f"argnum has {kind_of(place)} in it. It is the position of an argument, or a tuple of these.")
        if not -len(args) <= place < len(args):
            given = "1 argument was" if len(args) == 1 else f"{len(args)} arguments were"
            said = f"the derivative by argument {place} was asked for, and {given} given by position. The first is 0."
            raise GradientError(said)

    def of_these(x: Any) -> Any:
        given = list(args)
        for place, value in zip(places, [x] if isinstance(argnum, int) else x, strict=True):
            given[place] = value
        return fun(*given, **keywords)

    return of_these, args[argnum] if isinstance(argnum, int) else tuple([args[i] for i in argnum])


def _number(y: Any) -> Any:
    """The one real number that a function returned, without axes."""
    if is_array(y) or isinstance(y, Tensor):
        if y.size != 1:
            raise GradientError(
                f"grad is of a function that returns one number, and this one returned shape {y.shape}. Try jacobian, "
                "elementwise_grad or holomorphic_grad."
            )
        y = np.reshape(y, ()) if y.shape else y
    if isinstance(y, complex) or (hasattr(y, "dtype") and y.dtype.kind == "c"):
        raise GradientError(
            "grad is of a function that returns a real number, and this one returned a complex one. Take np.real of it, or "
            "holomorphic_grad."
        )
    return y


def _gradient(fun: Function, x: Any, *, aux: bool = False) -> Any:
    found = _grad(fun, has_aux=aux)(x)
    return (plain(conjugated(found[0])), plain(found[1])) if aux else plain(conjugated(found))


@clear
def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of `fun` by its argument number `argnum`.

    Parameters
    ----------
    fun : callable
        Returns one number, in an array of any shape.
    argnum : int or tuple of int

    Returns
    -------
    callable
        Takes the arguments of `fun`, and returns a gradient of the structure of the argument; of a tuple, a tuple.

    Examples
    --------
    >>> grad(lambda x: x**2)(3.0)
    np.float64(6.0)
    """
    check_argnum(argnum)

    @wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return _gradient(lambda x: _number(f(x)), x)

    return gradient


@clear
def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the value of `fun` and its gradient, as `scipy.optimize` takes them."""
    check_argnum(argnum)

    @wraps(fun)
    def both(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)

        def twice(x: Any) -> Any:
            y = f(x)
            return _number(y), y

        gradient, value = _gradient(twice, x, aux=True)
        return value, gradient

    return both


@clear
def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of the first of two results of `fun`, and returns the second beside it."""
    check_argnum(argnum)

    @wraps(fun)
    def both(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)

        def summed(x: Any) -> Any:
            y, aux = f(x)
            return np.real(np.sum(y)), aux

        return _gradient(summed, x, aux=True)

    return both


@clear
def grad_named(fun: Function, argname: str) -> Function:
    """Return the gradient of `fun` by an argument that is given by its name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


@clear
def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that sums the rows of the Jacobian of `fun`: its diagonal, where it is diagonal.

    Examples
    --------
    >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    check_argnum(argnum)

    @wraps(fun)
    def gradient(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)

        def summed(x: Any) -> Any:
            y = f(x)
            if getattr(y, "dtype", np.dtype(float)).kind == "c":
                raise GradientError("elementwise_grad is of a function that returns real numbers. Take .real or .imag.")
            return np.sum(y)

        return _gradient(summed, x)

    return gradient


@clear
def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative of `fun` in forward mode, along ones."""
    check_argnum(argnum)

    @wraps(fun)
    def derivative(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return plain(jvp(f, (x,), (mapped(np.ones_like, x),))[1])

    return derivative


@clear
def jacobian(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the Jacobian of `fun`, of shape `result.shape + argument.shape`; both are real."""
    check_argnum(argnum)

    @wraps(fun)
    def matrix(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return plain(jacrev(f)(x))

    return matrix


@clear
def holomorphic_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the complex derivative of a holomorphic `fun`.

    Examples
    --------
    >>> holomorphic_grad(lambda z: z**2)(1 + 2j)
    np.complex128(2+4j)
    """
    check_argnum(argnum)
    return grad(lambda *args, **keywords: np.real(fun(*args, **keywords)), argnum)


@clear
def hessian(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the second derivatives of `fun`."""
    check_argnum(argnum)

    @wraps(fun)
    def matrix(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return plain(_hessian(f)(x))

    return matrix


@clear
def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function of the arguments of `fun` that returns a function from cotangents to gradients, and the value.

    Examples
    --------
    >>> pull, value = make_vjp(lambda x: x**2)(np.array([1.0, 2.0]))
    >>> pull(np.array([1.0, 10.0])), value
    (array([ 2., 40.]), array([1., 4.]))
    """
    check_argnum(argnum)

    @wraps(fun)
    def made(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)

        def with_value(x: Any) -> Any:
            y = f(x)
            return (y if any(map(_is_float, leaves(y))) else np.zeros(())), y

        _, pull, value = vjp(with_value, x, has_aux=True)
        if not any(map(_is_float, leaves(value))):
            warnings.warn("Output seems independent of input.", stacklevel=2)
            return lambda g: mapped(np.zeros_like, x), plain(value)
        return lambda g: plain(conjugated(pull(conjugated(g))[0])), plain(value)

    return made


def _is_float(y: Any) -> bool:
    """Whether a value is of numbers that have a derivative; autograd's is 0 where none is."""
    return isinstance(y, (float, complex)) or getattr(y, "dtype", np.dtype(bool)).kind in "fc"


@clear
def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function of the arguments of `fun` that returns a function from a tangent to the value and its tangent."""
    check_argnum(argnum)

    @wraps(fun)
    def made(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return lambda v: plain(jvp(f, (x,), (v,)))

    return made


@clear
def make_hvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function of the arguments of `fun` that returns the product with the Hessian, a function, and the gradient."""
    check_argnum(argnum)

    @wraps(fun)
    def made(*args: Any, **keywords: Any) -> Any:
        f, x = unary(fun, argnum, args, keywords)
        return make_vjp(grad(f))(x)

    return made


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of the arguments of `fun` and a tensor, which computes the Hessian times the tensor.

    Examples
    --------
    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    @wraps(fun)
    def product(*args: Any, **keywords: Any) -> Any:
        *given, tensor = args
        return make_hvp(fun, argnum)(*given, **keywords)[0](tensor)

    return product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of the arguments of `fun` and a tensor, which computes the tensor times the Jacobian."""

    def contracted(*args: Any, **keywords: Any) -> Any:
        *given, tensor = args
        return np.tensordot(tensor, fun(*given, **keywords), axes=np.ndim(tensor))

    return jacobian(contracted, argnum)


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


def _half_square(y: Any) -> Any:
    return 0.5 * np.sum(y**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: Argnum = 0) -> Function:
    """Return a function of the arguments of `f` that returns the product with the Gauss-Newton matrix of `g(f(x))`."""

    @wraps(f)
    def made(*args: Any, **keywords: Any) -> Any:
        inner, x = unary(f, f_argnum, args, keywords)
        pull, y = make_vjp(inner)(x)
        bend, _ = make_hvp(g)(y)
        return lambda v: pull(bend(jvp(inner, (x,), (v,))[1]))

    return made


def multigrad_dict(fun: Function) -> Function:
    """Return a function that computes the gradients by all arguments at once, as a dict by their names."""
    signature = inspect.signature(fun)

    @wraps(fun)
    def gradients(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()

        def of_dict(arguments: dict[str, Any]) -> Any:
            bound.arguments = arguments
            return fun(*bound.args, **bound.kwargs)

        found = grad(of_dict)(dict(bound.arguments))
        return OrderedDict((name, found[name]) for name in signature.parameters)

    return gradients
