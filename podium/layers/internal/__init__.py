"""What other packages of Podium may use of `podium.layers` beyond its public API. Not for users."""

# Raises for indices outside the table of an Embedding.
from podium.layers._building import build_for_arguments as build_for_arguments

# The `training` flag of the running layers, and their depth.
from podium.layers._call_context import calls as calls

# Returns whether a value is a shape, and not a structure of shapes.
from podium.layers._call_context import is_shape as is_shape

# Applies a function to every shape in a structure of shapes.
from podium.layers._call_context import map_shapes as map_shapes

# Lets tensors carry other masks in a `with` block.
from podium.layers._masks import override_masks as override_masks

# Modes of quantization that need data, and the error for them.
from podium.layers._quantize_method import CALIBRATED_MODES as CALIBRATED_MODES
from podium.layers._quantize_method import calibration_error as calibration_error

# Adds the number of a layer to its config, inside of `number_shared_layers`.
from podium.layers._shared_layers import add_number as add_number

# Builds a layer, or returns the one that was built for the number in a config.
from podium.layers._shared_layers import build_layer_once as build_layer_once

# Calls a function that makes configs, and numbers the layers that they describe several times.
from podium.layers._shared_layers import number_shared_layers as number_shared_layers

# Makes layers of one number one layer in a `with` block.
from podium.layers._shared_layers import share_layers as share_layers

# Keras's decorator of methods whose attributes are not searched for Variables.
from podium.layers._variable_tracker import (
    no_automatic_dependency_tracking as no_automatic_dependency_tracking,
)

# Counts the layers of this process that got other weights after they were built.
from podium.layers._weight_changes import count_weight_changes as count_weight_changes

# Returns whether a layer, or one inside it, got other weights since a count.
from podium.layers._weight_changes import has_changed_since as has_changed_since
from podium.layers.core._embedding import check_indices as check_indices

# Layers that run as one program where nothing else compiles them.
from podium.layers.preprocessing.image._compiled_layer import CompiledLayer as CompiledLayer

# Returns whether the call of such a layer is compiled.
from podium.layers.preprocessing.image._compiled_layer import can_compile_call as can_compile_call
