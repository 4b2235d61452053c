"""Dropout and noise layers."""
