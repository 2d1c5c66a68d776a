# The compiled modules, lowest first; each may cimport those before it.
#   keys      the numbers of the keys
#   state     the thread's guards, levels, modes
#   arrays    which backend an object belongs to
#   tensor    the wrapper
#   arguments what a call may pass
#   outputs   what a kernel may give back
#   table     registrations and slots
#   overload  the operator
#   layouts   which array may take a result
#   blockwise calls of ufuncs, in blocks
#   program   a list of operator calls, run again and again
