"""What other packages of Podium may use of `podium.callbacks` beyond its public API. Not for users."""

from podium.callbacks._console import write as write
from podium.callbacks._step_logs import running_values as running_values
