"""Reading and writing bytes: atomic replacement, arrays, digests and locks."""
