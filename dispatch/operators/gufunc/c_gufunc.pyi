import numpy as np
from typing_extensions import disjoint_base

@disjoint_base
class Held:
    @property
    def sources(self) -> object: ...

def gufunc(
    loops: list[tuple[int, int, list[int]]], nin: int, nout: int, name: str, doc: str, signature: str, sources: object
) -> np.ufunc: ...
def capsule_contents(capsule: object) -> tuple[str | None, int, int]: ...
