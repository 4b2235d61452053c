"""Validation of images, shared by the image operations."""

from __future__ import annotations

from jax import Array


def check_images(images: Array, name: str = "images") -> None:
    """Raise unless `images` is one image or a batch of images."""
    if images.ndim not in (3, 4):
        raise ValueError(
            f"`{name}` must be one image (3D) or a batch of images (4D), and the shape is "
            f"{images.shape}."
        )
