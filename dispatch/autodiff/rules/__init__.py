"""The forms of a derivative other than a backward. Each makes a rule for the tape and one for forward mode.

    elementwise         from partial derivatives, for operators that work element by element
    linear              for operators that are their own derivative
    full_jacobian       from the whole Jacobian, as an array
    implicit            from an equation that the output solves
    finite_differences  by central differences

    transpose           makes the rule for one direction of the rule for the other
    forms               gives forward mode what a form made for it
    partials, by_columns, argument_selection   what the forms share

These modules need two layers each, and so stand above the layers. `numpy_ops.install` makes them known: the tape finds the
forms in `derivative_sources.makers`, and a layer finds what can be made of another's rule in `Layer.derivations`.
"""
