"""Training with parameter servers: Variables on servers, steps on workers."""

from podium.distribute.parameter_server._partitioners import (
    FixedShardsPartitioner as FixedShardsPartitioner,
)
from podium.distribute.parameter_server._partitioners import (
    MaxSizePartitioner as MaxSizePartitioner,
)
from podium.distribute.parameter_server._partitioners import (
    MinSizePartitioner as MinSizePartitioner,
)
from podium.distribute.parameter_server._strategy import (
    ParameterServerStrategy as ParameterServerStrategy,
)
