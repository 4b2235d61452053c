"""Preprocessing layers."""
