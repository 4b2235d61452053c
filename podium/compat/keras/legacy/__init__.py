"""`keras.legacy`."""

from podium.compat.keras.legacy import saving as saving
