"""Examples with SciPy are run where it is installed (extra `test`)."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("scipy") else ["ufuncs.md"]
