"""Gradient tapes and forward accumulation, built on `jax.vjp` and `jax.jvp`."""
