"""Pipelines: the inside of a Dataset, one file for each family of steps."""
