"""How steps run: eagerly, compiled, or several fused into one call."""

from podium.core.internal import compilation_cache as compilation_cache
from podium.execution._execution import Execution as Execution
from podium.execution._recompilations import Recompilation as Recompilation
from podium.execution._recompilations import Recompilations as Recompilations
from podium.execution._step_values import Row as Row
from podium.execution._step_values import StepValues as StepValues
