"""The rows of `np.linalg`, and of the functions of matrices beside it."""
