"""The NumPy operators: `dispatch.ops.np`, one row each. All are defined on first use; `rows` has them together.

Names of `np.linalg` begin with `linalg_`, as in torch, because some stand in both namespaces (`trace`, `cross`).
"""
