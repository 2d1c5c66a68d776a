from typing import Any, Self, final

from .arguments import Arguments
from .outputs import Outputs
from .table import KernelTable

@final
class Definition:
    def __new__(cls, schema: object, arguments: Arguments, outputs: Outputs, tags: tuple[Any, ...] = ()) -> Self: ...
    @property
    def schema(self) -> Any: ...  # a Schema, which the core does not know
    @property
    def arguments(self) -> Arguments: ...
    @property
    def outputs(self) -> Outputs: ...
    @property
    def tags(self) -> tuple[Any, ...]: ...
    @property
    def table(self) -> KernelTable: ...
    @property
    def name(self) -> str: ...
