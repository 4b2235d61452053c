"""Pooling layers."""
