"""Checkpoint directories: written atomically, verified, and restored."""
