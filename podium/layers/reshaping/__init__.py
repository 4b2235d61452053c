"""Padding, cropping, upsampling and reshaping layers."""
