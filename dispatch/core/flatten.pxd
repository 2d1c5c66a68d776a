"""What holds arrays, taken apart and put together again."""
from cpython.object cimport PyObject

cdef extern from *:
    """
    static inline int dispatch_enter(const char *where) { return Py_EnterRecursiveCall(where) ? -1 : 0; }  /* which gives 1 */
    """
    # around the items of a container, by what walks one itself
    int enter "dispatch_enter"(const char *where) except -1
    void leave "Py_LeaveRecursiveCall"()

# Looks at a value, or at a container with its items before these are looked at: 0 to go on, 1 to end the walk.
ctypedef int (*visit_t)(object x, tuple items, void *context) except -1
# Gives what stands in place of a value.
ctypedef object (*replace_t)(object x, void *context)
# Makes of a container and of what stands in place of its items what stands in its own place.
ctypedef object (*join_t)(object x, list items)

cdef tuple held(object x)
cpdef tuple items_of(object x)
cpdef object rebuilt(object x, list items)
cdef int walk(object x, visit_t visit, void *context, int depth=*) except -1
cdef object mapped(object x, replace_t replace, void *context, join_t join=*)
