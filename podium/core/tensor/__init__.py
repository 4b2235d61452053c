"""Values and state: Tensor, Variable, symbolic values, dtypes and where arrays are stored."""
