"""What other packages of Podium may use of `podium.saving` beyond its public API. Not for users."""

from podium.saving.checkpoints._checkpoint_directory import CheckpointContents as CheckpointContents
from podium.saving.checkpoints._newest import newest_files as newest_files
from podium.saving.checkpoints._orbax import contain_shards as contain_shards
from podium.saving.formats._keras_layout import weights_by_path as weights_by_path
from podium.saving.formats._model_file import UNSUPPORTED_SUFFIXES as UNSUPPORTED_SUFFIXES
from podium.saving.formats._model_file import check_suffix as check_suffix
from podium.saving.formats._weights_file import read_weights as read_weights
from podium.saving.formats._weights_file import write_weights as write_weights
from podium.saving.serialization._deserialization import build_from_config as build_from_config
from podium.saving.serialization._deserialization import find_class as find_class
from podium.saving.serialization._json_codec import encode as encode
from podium.saving.serialization._json_codec import is_encodable as is_encodable
from podium.saving.serialization._legacy_serialization import (
    deserialize_keras_object as deserialize_legacy_object,
)
from podium.saving.serialization._legacy_serialization import (
    serialize_keras_object as serialize_legacy_object,
)
from podium.saving.serialization._strict_json import dump_json as dump_json
from podium.saving.tensorflow_files._detect import contains_saved_model as contains_saved_model
from podium.saving.tensorflow_files._detect import detect_save_format as detect_save_format
from podium.saving.tensorflow_files._detect import is_hdf5_filepath as is_hdf5_filepath
from podium.saving.tensorflow_files._detect import (
    is_readable_tf_checkpoint as is_readable_tf_checkpoint,
)
from podium.saving.tensorflow_files._tensor_bundle_writer import delete_bundle as delete_bundle
