"""The forms, other than a backward, in which a derivative is given: each makes a rule for the tape and one for forward mode.

    elementwise         the partial derivatives of an operator that works element by element
    linear              where an operator is linear its derivative is itself
    full_jacobian       the whole Jacobian, as an array
    implicit            the equation that the output solves
    finite_differences  central differences, on request
    by_columns          a gradient, one column of the Jacobian at a time

    transpose           a derivative in one direction, made of the rule for the other
    forms               forward mode by the form that a derivative was given in

They stand above the layers, of which each needs two. `numpy_ops.install` tells the layers of them: the tape finds the forms in
`derivative_sources.makers`, and `Layer.derivations` are what is made of another layer's rule.
"""
