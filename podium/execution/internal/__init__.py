"""What other packages of Podium may use of `podium.execution` beyond its public API.

Not for users.
"""

from podium.execution._custom_execution import CustomExecution as CustomExecution
from podium.execution._custom_execution import run_once as run_once
from podium.execution._custom_execution import to_execution as to_execution
from podium.execution._execution import IteratorStream as IteratorStream
from podium.execution._execution import count_steps as count_steps
from podium.execution._steps_autotuner import StepsAutotuner as StepsAutotuner
