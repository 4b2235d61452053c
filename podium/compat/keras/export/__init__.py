"""`keras.export`: functions of models as SavedModels."""

from podium.saving import ExportArchive as ExportArchive
