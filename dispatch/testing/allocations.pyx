"""What NumPy allocates while a kernel runs: filled with a byte, and with guards on either side.

A kernel that gives back memory which it has not written gives other results for another byte, and one that writes beside an
array that it made changes a guard. NumPy asks the handler of the current context for the memory of every array.
"""
cimport cython, numpy as cnp

cnp.import_array()

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    #include <stdlib.h>
    #include <string.h>
    enum { GUARD = 64 };                    /* bytes; a cache line, so that blocks are aligned as the allocator's are */
    typedef struct block { struct block *before, *next; size_t size; } block;
    static block made = {&made, &made, 0};  /* a ring of the blocks that are alive */
    static size_t broken = 0;
    static unsigned char filling = 0;
    static char lock = 0;
    static void take_lock(void) { while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {} }
    static void release_lock(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }
    static unsigned char *memory_of(block *b) { return (unsigned char *)b + 2 * GUARD; }
    static block *block_of(void *p) { return (block *)((unsigned char *)p - 2 * GUARD); }
    static void set_guards(block *b) {
        memset(memory_of(b) - GUARD, 0xA5, GUARD);
        memset(memory_of(b) + b->size, 0xA5, GUARD);
    }
    static int is_broken(block *b) {
        unsigned char *ahead = memory_of(b) - GUARD, *behind = memory_of(b) + b->size;
        for (int i = 0; i < GUARD; i++) {
            if (ahead[i] != 0xA5 || behind[i] != 0xA5) { return 1; }
        }
        return 0;
    }
    static void *make(size_t size, unsigned char byte) {
        block *b = malloc(size + 3 * GUARD);
        if (b == NULL) { return NULL; }
        b->size = size;
        set_guards(b);
        memset(memory_of(b), byte, size);
        take_lock();
        b->before = &made;
        b->next = made.next;
        b->next->before = b->before->next = b;
        release_lock();
        return memory_of(b);
    }
    static void *guarded_malloc(void *context, size_t size) { (void)context; return make(size, filling); }
    static void *guarded_calloc(void *context, size_t count, size_t size) { (void)context; return make(count * size, 0); }
    static void guarded_free(void *context, void *p, size_t size) {
        (void)context; (void)size;
        if (p == NULL) { return; }
        block *b = block_of(p);
        take_lock();
        broken += is_broken(b);
        b->before->next = b->next;
        b->next->before = b->before;
        release_lock();
        free(b);
    }
    static void *guarded_realloc(void *context, void *p, size_t size) {
        void *other = make(size, filling);
        if (p == NULL || other == NULL) { return other; }
        memcpy(other, p, size < block_of(p)->size ? size : block_of(p)->size);
        guarded_free(context, p, 0);
        return other;
    }
    static size_t count_broken(void) {      /* since the last time, of those alive and those freed */
        take_lock();
        size_t found = broken;
        broken = 0;
        for (block *b = made.next; b != &made; b = b->next) {
            if (is_broken(b)) { found++; set_guards(b); }
        }
        release_lock();
        return found;
    }
    static PyDataMem_Handler guarded = {
        "dispatch_guarded", 1, {NULL, guarded_malloc, guarded_calloc, guarded_realloc, guarded_free}
    };
    static unsigned char fill_with(unsigned char byte) {
        unsigned char before = filling;
        filling = byte;
        return before;
    }
    static PyObject *take_over(void) {
        PyObject *handler = PyCapsule_New(&guarded, "mem_handler", NULL);
        PyObject *before = handler == NULL ? NULL : PyDataMem_SetHandler(handler);
        Py_XDECREF(handler);
        return before;
    }
    """
    object take_over()
    object PyDataMem_SetHandler(object handler)
    unsigned char fill_with(unsigned char byte)
    size_t count_broken()


@cython.binding(False)
cdef class Allocations:
    """A `with` block in which the arrays that are made are filled with a byte, and have guards.

    Attributes
    ----------
    broken : int
        After the block, how many arrays were made in one such block and have been written beside.
    """

    def __cinit__(self, unsigned char byte):
        self.byte = byte

    def __enter__(self):
        count_broken()
        self.outer = fill_with(self.byte)
        self.before = take_over()
        return self

    def __exit__(self, kind=None, error=None, traceback=None):
        fill_with(self.outer)
        PyDataMem_SetHandler(self.before)
        self.broken = count_broken()
