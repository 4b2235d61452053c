"""Pipelines: the implementation of Dataset, one file for each family of transformations."""
