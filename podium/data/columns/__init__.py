"""Columns: where the numbers of arrays lie (memory, a file, a sparse matrix), read by batches of
rows.
"""
