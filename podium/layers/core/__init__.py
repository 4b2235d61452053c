"""Core layers: Dense, EinsumDense, Embedding, Input, Lambda, Masking and wrappers."""
