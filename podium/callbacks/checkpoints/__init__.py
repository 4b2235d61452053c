"""Callbacks that save the model, its state, or the whole run."""
