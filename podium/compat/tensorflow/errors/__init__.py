"""`tf.errors`: exceptions that scripts catch."""

from podium.compat._missing_names import errors as __getattr__
from podium.core import OutOfRange as OutOfRangeError
