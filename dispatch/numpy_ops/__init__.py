"""The NumPy operators: `dispatch.ops.np`, one row each. All are defined on first use; `rows` has them together.

Those of `np.linalg` begin with `linalg_` there, as in torch, for it has functions with the names of others (`trace`, `cross`).
"""
