"""Layers that wrap functions and modules of JAX's libraries, and programs of TensorFlow."""
