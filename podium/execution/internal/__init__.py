"""What other packages of Podium may use of `podium.execution` beyond its public API. Not for users."""

from podium.execution._execution import direct as direct
from podium.execution._execution import steps_in as steps_in
from podium.execution._steps_autotuner import Pace as Pace
