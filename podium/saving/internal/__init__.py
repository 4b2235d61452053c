"""What other packages of Podium may use of `podium.saving` beyond its public API. Not for users."""

from podium.saving.checkpoints._checkpoint_directory import Contents as Contents
from podium.saving.formats._model_file import FOREIGN as FOREIGN
from podium.saving.formats._model_file import check_suffix as check_suffix
from podium.saving.formats._weights_file import read_weights as read_weights
from podium.saving.formats._weights_file import write_weights as write_weights
from podium.saving.serialization._deserialization import build_from_config as build_from_config
from podium.saving.serialization._deserialization import find_class as find_class
from podium.saving.serialization._json_codec import encoded as encoded
from podium.saving.serialization._json_codec import is_plain as is_plain
from podium.saving.serialization._strict_json import dump as dump
