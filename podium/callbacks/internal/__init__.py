"""What other packages may use of `podium.callbacks` beyond its public API. Not for users."""

from podium.callbacks._console import write_stdout as write_stdout
from podium.callbacks._step_logs import EpochNames as EpochNames
from podium.callbacks._step_logs import running_logs as running_logs
