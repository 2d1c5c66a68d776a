"""What holds arrays, taken apart and put together again."""

cpdef object items_of(object x)
cpdef object rebuilt(object x, list items)
