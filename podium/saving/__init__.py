"""Saving and loading of models, weights and checkpoints, and configs of objects."""

from podium.core import custom_object_scope as CustomObjectScope
from podium.core import custom_object_scope as custom_object_scope
from podium.core import get_custom_objects as get_custom_objects
from podium.core import get_registered_name as get_registered_name
from podium.core import get_registered_object as get_registered_object
from podium.core import register_keras_serializable as register_keras_serializable
from podium.core import register_keras_serializable as register_serializable
from podium.saving.checkpoints._checkpoint_manager import CheckpointManager as CheckpointManager
from podium.saving.checkpoints._checkpoint_manager import Restored as Restored
from podium.saving.checkpoints._newest import load_latest as load_latest
from podium.saving.formats._export import export_model as export_model
from podium.saving.formats._export import load_exported as load_exported
from podium.saving.formats._export_archive import ExportArchive as ExportArchive
from podium.saving.formats._file_editor import KerasFileEditor as KerasFileEditor
from podium.saving.formats._model_file import load_model as load_model
from podium.saving.formats._model_file import load_weights as load_weights
from podium.saving.formats._model_file import model_from_json as model_from_json
from podium.saving.formats._model_file import save_model as save_model
from podium.saving.formats._model_file import save_weights as save_weights
from podium.saving.io._load_plan import LoadReport as LoadReport
from podium.saving.serialization._deserialization import (
    deserialize_keras_object as deserialize_keras_object,
)
from podium.saving.serialization._serialization import (
    serialize_keras_object as serialize_keras_object,
)
from podium.saving.verification._report import VerifyReport as VerifyReport
from podium.saving.verification._verify import verify as verify
from podium.saving.verification._verify import write_digests as write_digests
