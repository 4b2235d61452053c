"""`keras.utils.legacy`: configs of the form that Keras 2 had."""

from podium.saving.internal import deserialize_legacy_object as deserialize_keras_object
from podium.saving.internal import serialize_legacy_object as serialize_keras_object
