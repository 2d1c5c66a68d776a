"""One operator in every framework: each module here takes and gives the arrays of one, which it imports when it is imported.

    dask                Dask: operators on arrays in chunks, lazily

`import dispatch` imports none of them.
"""
