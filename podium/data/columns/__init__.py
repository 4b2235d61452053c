"""Columns: arrays of samples in memory, files, sparse matrices and tables, read batch by batch."""
