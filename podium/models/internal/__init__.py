"""What other packages of Podium may use of `podium.models` beyond its public API. Not for users."""

# The loss of all outputs, which `compile` makes: Keras 2's `LossesContainer`.
from podium.models.compile._compiled_loss import CompiledLoss as CompiledLoss

# The metrics of all outputs, which `compile` makes: Keras 2's `MetricsContainer`.
from podium.models.compile._compiled_metrics import CompiledMetrics as CompiledMetrics

# Returns the values of `evaluate` as a list in the order of the metrics.
from podium.models.training._input_checks import logs_to_list as logs_to_list

# Raises if a method that loops over data is called inside a trace.
from podium.models.training._run_guard import check_outside_trace as check_outside_trace
