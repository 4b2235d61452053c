"""What other packages of Podium may use of `podium.core` beyond its public API. Not for users."""

# Returns how many bytes the host can allocate without swapping.
# The thread's context: open scopes and tapes, the compute dtype, the strategy's layout.
from podium.core._context import context as context

# Sets fields of the context, or of another thread-local, for a `with` block.
from podium.core._context import override as override

# Returns whether raw JAX traces a structure of bare arrays.
from podium.core._dispatch import is_raw_trace as is_raw_trace

# Replaces Tensors and Variables in a structure by bare arrays.
from podium.core._dispatch import unwrap_result as unwrap_result

# The message for a Tensor that was passed to a function of `jax.lax`.
from podium.core._errors import TENSOR_IN_LAX as TENSOR_IN_LAX

# What reading a file may cost, in proportion to its size.
from podium.core._file_budget import FileBudget as FileBudget

# The error for a file that costs more.
from podium.core._file_budget import FileBudgetError as FileBudgetError

# Charges the budget of the file that is being read.
from podium.core._file_budget import charge_file_budget as charge_file_budget

# Returns the budget of the file that is being read.
from podium.core._file_budget import current_file_budget as current_file_budget

# Limits what is charged in a `with` block to what a file may cost.
from podium.core._file_budget import file_budget as file_budget

# `jax.config`, of which type checkers know no option.
from podium.core._jax_config import jax_config as jax_config

# Which values of a trace the `result()` of a metric returned.
from podium.core._metric_marks import MetricMarks as MetricMarks

# A value that a metric returned in a step: of the epoch so far, and of the batch alone.
from podium.core._metric_marks import StepResult as StepResult

# Opens the name scope of a layer, unless it is the innermost one already.
from podium.core._names import layer_name_scope as layer_name_scope

# Builds an object from a config that `get_config` returned.
from podium.core._object_config import build_object as build_object

# Returns the public layer, or the model class, of a name.
from podium.core._object_config import find_layer_class as find_layer_class

# Returns the class that `register_class_loader` was called for.
from podium.core._object_config import load_class as load_class

# Registers a class that configs may name and whose package is imported lazily.
from podium.core._object_config import register_class_loader as register_class_loader

# Registers the function that finds the initializer of a name for Variables.
from podium.core._object_config import (
    register_initializer_finder as register_initializer_finder,
)

# Registers the function that finds the class of a layer for packages below the layers.
from podium.core._object_config import register_layer_finder as register_layer_finder

# Returns the class that a config names.
from podium.core._object_config import resolve_class as resolve_class

# A base class whose text has the public package of the class.
from podium.core._public_repr import PublicRepr as PublicRepr

# The global random generators that differ between two results of `random_state`.
from podium.core._random import drawn_generators as drawn_generators

# Draws the seed of an object that was created without one.
from podium.core._random import make_default_seed as make_default_seed

# Marks dictionaries so that JAX keeps the order of their keys.
from podium.core._tree import preserve_key_order as preserve_key_order

# Validates an argument that is True or False.
from podium.core._validation import check_bool as check_bool

# Validates an argument that is a number from 0 to 1.
from podium.core._validation import check_fraction as check_fraction

# Validates an int argument.
from podium.core._validation import check_int as check_int

# Raises if integers of an array do not fit the 32 bits that JAX keeps.
from podium.core._validation import check_int_range as check_int_range

# Validates a number argument.
from podium.core._validation import check_number as check_number

# Returns the array of a Tensor or Variable as the running trace sees it.
from podium.core.autodiff._entries import read_array as read_array

# Returns the innermost open RematScope.
from podium.core.autodiff._remat import current_remat_scope as current_remat_scope

# Returns how many times tapes have computed gradients.
from podium.core.autodiff._tape import count_gradients as count_gradients

# Sets or returns the folder of the persistent compilation cache.
from podium.core.compile._compilation_cache import compilation_cache as compilation_cache

# Warns, once, if the default compilation cache cannot be used.
from podium.core.compile._compilation_cache import (
    warn_if_cache_unavailable as warn_if_cache_unavailable,
)
from podium.core.compile._first_step import available_memory as available_memory

# Whether compiled functions run as plain Python: `eager_mode.enabled`.
from podium.core.compile._function import eager_mode as eager_mode

# Whether the running code is traced, by `function`, `jax.jit` or the like.
from podium.core.compile._function import is_tracing as is_tracing

# One compiled form of a function, for fixed shapes and static arguments.
from podium.core.compile._program import Program as Program

# The view of Variables that one of several replicas has.
from podium.core.compile._replica_scope import ReplicaScope as ReplicaScope

# Aggregates the replicas' values of a Variable to one.
from podium.core.compile._replica_scope import aggregate_replicas as aggregate_replicas

# Inside the block, Variables are read with the values of all replicas aggregated.
from podium.core.compile._replica_scope import read_aggregated as read_aggregated

# Sums the gradients of the replicas inside `Strategy.run`.
from podium.core.compile._replica_scope import sum_gradients as sum_gradients

# Adds a thread-local to those that `restore_on_error` restores.
from podium.core.compile._restore_on_error import register_thread_local as register_thread_local

# Restores the thread's context and JAX's open trace if an exception leaves the block.
from podium.core.compile._restore_on_error import restore_on_error as restore_on_error

# Returns the key by which a static argument of a compiled function is compared.
from podium.core.compile._static_arguments import static_key as static_key

# A number that functions may read while they are traced.
from podium.core.compile._stream import TraceSetting as TraceSetting

# The symbolic shape of a TensorSpec, for exports.
from podium.core.compile._tensor_spec import symbolic_spec as symbolic_spec

# Restores all Variables that were written in the block if an exception leaves it.
from podium.core.compile._undo_on_error import undo_on_error as undo_on_error

# A value of the running trace that does not outlive it.
from podium.core.compile._variable_scope import TraceLocal as TraceLocal

# A private view of all Variables while a function is traced.
from podium.core.compile._variable_scope import VariableScope as VariableScope

# The values of Variables that a compiled step takes and returns, or that are stored elsewhere.
from podium.core.compile._variable_store import VariableStore as VariableStore

# Held while a compiled step takes and returns state.
from podium.core.compile._variable_store import state_lock as state_lock

# The functions that Python's operators on Tensors run, such as `_add`; files name them.
from podium.core.tensor import _operators as _operators

# Returns an empty array to fill and pass to XLA: aligned if it is large.
from podium.core.tensor._aligned_memory import array_for_device as array_for_device

# Returns an empty array in aligned memory.
from podium.core.tensor._aligned_memory import empty_array as empty_array

# What a softmax or a sigmoid was computed from.
from podium.core.tensor._logits import Logits as Logits

# Returns the logits behind a value, unless a gradient would be lost.
from podium.core.tensor._logits import find_logits as find_logits

# Arithmetic operators as calls of `_dispatch`.
from podium.core.tensor._operators import Operators as Operators

# Returns a value as an array with a sharding, which may span processes.
from podium.core.tensor._placement import place_value as place_value

# Returns the class of dtype policies of a name.
from podium.core.tensor._policy_registry import find_policy_class as find_policy_class

# The quantization modes that dtype policies have.
from podium.core.tensor._quantized_policies import QUANTIZATION_MODES as QUANTIZATION_MODES

# Returns the number of samples of a batch.
from podium.core.tensor._selection import num_rows as num_rows

# Raises the error for text that is passed to a layer for numbers.
from podium.core.tensor._symbolic import refuse_text as refuse_text

# Computes the shapes and dtypes that a function returns for symbolic arguments.
from podium.core.tensor._symbolic import symbolic_outputs as symbolic_outputs

# The Tensor class.
from podium.core.tensor._tensor import Tensor as Tensor

# Returns whether an iterator returned a Tensor as a batch, which `Strategy.run` splits.
from podium.core.tensor._tensor import is_batch as is_batch

# Wraps a jax.Array in a Tensor without any check.
from podium.core.tensor._tensor import wrap as wrap

# Returns whether a program written for TensorFlow is running.
from podium.core.tensor._text import in_tensorflow_mode as in_tensorflow_mode

# Turns on TensorFlow's text of values, and its soft placement.
from podium.core.tensor._text import set_tensorflow_mode as set_tensorflow_mode

# Returns text of any form as an array of Python strings.
from podium.core.tensor._text_arrays import as_text_array as as_text_array

# Returns whether a dtype is that of text.
from podium.core.tensor._text_arrays import is_string_dtype as is_string_dtype

# Returns whether a value is text, or an array or list of it.
from podium.core.tensor._text_arrays import is_text as is_text
