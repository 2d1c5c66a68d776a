"""HIPS autograd's own tests, run on `dispatch.interop.autograd`: its sources are needed, the package is not.

    pip download autograd==1.9.1 --no-binary :all: --no-deps && tar xzf autograd-1.9.1.tar.gz
    python -m tests.hips_autograd autograd-1.9.1/tests            # with pytest's options behind the path

`import autograd` and the imports of its modules find this package's modules of the same names, for the process that runs the tests.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

OURS = "dispatch.interop.autograd"


class AsAutograd(MetaPathFinder, Loader):
    """Finds the modules of autograd in this package."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.partition(".")[0] == "autograd" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None  # an empty one, whose place ours takes

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(OURS + module.__name__.removeprefix("autograd"))


def main(words: Sequence[str]) -> int:
    """Run the tests at a path, with options of pytest."""
    sys.meta_path.insert(0, AsAutograd())
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "--assert=plain", "--rootdir", words[0], "-c", "/dev/null", *words]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or ["."]))
