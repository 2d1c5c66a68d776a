"""The rows of `np.linalg`, and of matrix products and `einsum`."""
