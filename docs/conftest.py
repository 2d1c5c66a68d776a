"""Examples that need an optional library run where it is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("jaxtyping") else ["dimensions.md"]
