"""The version of TensorFlow whose names these are, and the constant for a new axis."""

__version__ = "2.15.0"
newaxis = None
