"""Functions that read and write Variables, compiled to pure XLA programs."""
