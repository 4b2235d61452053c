"""Preprocessing and augmentation of images."""
