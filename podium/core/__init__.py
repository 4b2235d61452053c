"""The foundation of all packages: Tensor, Variable, GradientTape and function."""

from podium.core._backend_settings import epsilon as epsilon
from podium.core._backend_settings import floatx as floatx
from podium.core._backend_settings import image_data_format as image_data_format
from podium.core._backend_settings import set_epsilon as set_epsilon
from podium.core._backend_settings import set_floatx as set_floatx
from podium.core._backend_settings import set_image_data_format as set_image_data_format
from podium.core._dispatch import dispatch as dispatch
from podium.core._dispatch import lift as lift
from podium.core._errors import LeakedValueError as LeakedValueError
from podium.core._errors import TapedValueError as TapedValueError
from podium.core._errors import caller_location as caller_location
from podium.core._errors import closest_match as closest_match
from podium.core._errors import unknown_choice as unknown_choice
from podium.core._errors import warn_user as warn_user
from podium.core._name_registry import NameRegistry as NameRegistry
from podium.core._names import auto_name as auto_name
from podium.core._names import name_scope as name_scope
from podium.core._names import reset_names as reset_names
from podium.core._names import snake_case as snake_case
from podium.core._process_settings import disable_flash_attention as disable_flash_attention
from podium.core._process_settings import disable_interactive_logging as disable_interactive_logging
from podium.core._process_settings import disable_traceback_filtering as disable_traceback_filtering
from podium.core._process_settings import enable_flash_attention as enable_flash_attention
from podium.core._process_settings import enable_interactive_logging as enable_interactive_logging
from podium.core._process_settings import enable_traceback_filtering as enable_traceback_filtering
from podium.core._process_settings import (
    enable_unsafe_deserialization as enable_unsafe_deserialization,
)
from podium.core._process_settings import is_flash_attention_enabled as is_flash_attention_enabled
from podium.core._process_settings import (
    is_interactive_logging_enabled as is_interactive_logging_enabled,
)
from podium.core._process_settings import is_nnx_enabled as is_nnx_enabled
from podium.core._process_settings import (
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from podium.core._process_settings import max_epochs as max_epochs
from podium.core._process_settings import max_steps_per_epoch as max_steps_per_epoch
from podium.core._process_settings import set_backend as set_backend
from podium.core._process_settings import set_max_epochs as set_max_epochs
from podium.core._process_settings import set_max_steps_per_epoch as set_max_steps_per_epoch
from podium.core._random import SeedGenerator as SeedGenerator
from podium.core._random import draw_flat as draw_flat
from podium.core._random import draw_seed as draw_seed
from podium.core._random import global_seed_generator as global_seed_generator
from podium.core._random import random_state as random_state
from podium.core._random import seed_count as seed_count
from podium.core._random import set_random_seed as set_random_seed
from podium.core._random import set_random_state as set_random_state
from podium.core._registry import custom_object_scope as custom_object_scope
from podium.core._registry import get_custom_objects as get_custom_objects
from podium.core._registry import get_registered_name as get_registered_name
from podium.core._registry import get_registered_object as get_registered_object
from podium.core._registry import register_keras_serializable as register_keras_serializable
from podium.core._tree import map_structure as map_structure
from podium.core._tree import tree_leaves as tree_leaves
from podium.core._validation import as_number_array as as_number_array
from podium.core._validation import check_choice as check_choice
from podium.core._validation import check_numeric as check_numeric
from podium.core.autodiff._custom_gradient import custom_gradient as custom_gradient
from podium.core.autodiff._custom_gradient import stop_gradient as stop_gradient
from podium.core.autodiff._forward_accumulator import ForwardAccumulator as ForwardAccumulator
from podium.core.autodiff._remat import RematScope as RematScope
from podium.core.autodiff._remat import remat as remat
from podium.core.autodiff._stateful_call import call_with_tensors as call_with_tensors
from podium.core.autodiff._stateful_call import dispatch_closure as dispatch_closure
from podium.core.autodiff._stateful_call import record_call as record_call
from podium.core.autodiff._tape import GradientTape as GradientTape
from podium.core.compile._function import Function as Function
from podium.core.compile._function import function as function
from podium.core.compile._function import functions_run_eagerly as functions_run_eagerly
from podium.core.compile._function import run_functions_eagerly as run_functions_eagerly
from podium.core.compile._stateless_scope import StatelessScope as StatelessScope
from podium.core.compile._stateless_scope import SymbolicScope as SymbolicScope
from podium.core.compile._stream import OutOfRange as OutOfRange
from podium.core.compile._stream import Stream as Stream
from podium.core.compile._tensor_spec import TensorSpec as TensorSpec
from podium.core.tensor._convert import convert_to_numpy as convert_to_numpy
from podium.core.tensor._convert import convert_to_tensor as convert_to_tensor
from podium.core.tensor._convert import is_tensor as is_tensor
from podium.core.tensor._dtypes import DTypePolicy as DTypePolicy
from podium.core.tensor._dtypes import is_float_dtype as is_float_dtype
from podium.core.tensor._dtypes import is_int_dtype as is_int_dtype
from podium.core.tensor._dtypes import standardize_dtype as standardize_dtype
from podium.core.tensor._operators import promote_dtypes as promote_dtypes
from podium.core.tensor._placement import Placement as Placement
from podium.core.tensor._placement import colocate_with as colocate_with
from podium.core.tensor._policy_registry import DTypePolicyMap as DTypePolicyMap
from podium.core.tensor._policy_registry import deserialize_dtype_policy as deserialize_dtype_policy
from podium.core.tensor._policy_registry import dtype_policy as dtype_policy
from podium.core.tensor._policy_registry import get_dtype_policy as get_dtype_policy
from podium.core.tensor._policy_registry import serialize_dtype_policy as serialize_dtype_policy
from podium.core.tensor._policy_registry import set_dtype_policy as set_dtype_policy
from podium.core.tensor._quantized_policies import AWQDTypePolicy as AWQDTypePolicy
from podium.core.tensor._quantized_policies import GPTQDTypePolicy as GPTQDTypePolicy
from podium.core.tensor._quantized_policies import Int4DTypePolicy as Int4DTypePolicy
from podium.core.tensor._quantized_policies import QuantizedDTypePolicy as QuantizedDTypePolicy
from podium.core.tensor._quantized_policies import (
    QuantizedFloat8DTypePolicy as QuantizedFloat8DTypePolicy,
)
from podium.core.tensor._selection import Selection as Selection
from podium.core.tensor._selection import Table as Table
from podium.core.tensor._symbolic import KerasTensor as KerasTensor
from podium.core.tensor._symbolic import Node as Node
from podium.core.tensor._symbolic import get_source_inputs as get_source_inputs
from podium.core.tensor._symbolic import is_keras_tensor as is_keras_tensor
from podium.core.tensor._symbolic import is_symbolic as is_symbolic
from podium.core.tensor._tensor import Tensor as Tensor
from podium.core.tensor._variable import Variable as Variable
