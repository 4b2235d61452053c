"""What other packages may use of `podium.metrics` beyond its public API. Not for users."""

# What metrics returned in a step, with the values of its batch alone.
from podium.metrics._batch_values import StepResults as StepResults

# The names of the reductions of logs, and what `log_reductions` of `compile` is parsed to.
from podium.metrics._log_value import OVER_REPLICAS as OVER_REPLICAS
from podium.metrics._log_value import LogReduction as LogReduction
from podium.metrics._log_value import to_log_reductions as to_log_reductions
