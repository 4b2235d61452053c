"""`keras.callbacks.experimental`."""

from podium.callbacks import BackupAndRestore as BackupAndRestore
