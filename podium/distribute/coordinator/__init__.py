"""The coordinator of a ParameterServerStrategy: schedules calls of functions on its workers."""

from podium.distribute.parameter_server._coordinator import ClusterCoordinator as ClusterCoordinator
from podium.distribute.parameter_server._messages import ServerLostError as ServerLostError
from podium.distribute.parameter_server._remote_value import PerWorkerIterator as PerWorkerIterator
from podium.distribute.parameter_server._remote_value import PerWorkerValues as PerWorkerValues
from podium.distribute.parameter_server._remote_value import RemoteValue as RemoteValue
