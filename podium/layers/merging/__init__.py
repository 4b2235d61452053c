"""Layers that merge several inputs."""
