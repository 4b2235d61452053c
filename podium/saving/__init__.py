"""Names that files may use for your own classes."""

from podium.core import custom_object_scope as custom_object_scope
from podium.core import get_custom_objects as get_custom_objects
from podium.core import get_registered_name as get_registered_name
from podium.core import get_registered_object as get_registered_object
from podium.core import register_keras_serializable as register_keras_serializable
