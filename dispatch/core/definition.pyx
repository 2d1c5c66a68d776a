"""Definition: everything that one definition of an operator says, and never changes."""
cimport cython

from .arguments cimport Arguments
from .outputs cimport Outputs
from .table cimport KernelTable


@cython.final
cdef class Definition:
    """What an operator is until it is defined again: its schema, its checks, its tags and the table of its kernels.

    An operator points to one definition, and redefining it exchanges the pointer. A call reads the pointer once and holds
    the definition until it ends, so that another thread, or the kernel itself, may redefine the operator meanwhile.

    Parameters
    ----------
    schema : Schema
    arguments : core.Arguments
    outputs : core.Outputs
    tags : tuple of Tag, optional

    Attributes
    ----------
    table : core.KernelTable
        What is registered; it is filled while the definition lasts.

    Examples
    --------
    >>> import dispatch
    >>> dispatch.ops.np.add.definition.arguments.names
    ('x', 'y')
    """

    def __cinit__(self, schema not None, Arguments arguments not None, Outputs outputs not None, tuple tags not None=()):
        self.schema, self.arguments, self.outputs, self.tags = schema, arguments, outputs, tags
        self.table = KernelTable(arguments.keyword_names)

    @property
    def name(self):
        """`"ns::name"`, with `".overload"` where it has one."""
        return self.schema.full_name
