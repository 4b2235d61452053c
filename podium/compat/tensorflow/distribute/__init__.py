"""`tf.distribute`."""

from podium.compat._missing_names import distribute as __getattr__
from podium.compat.tensorflow.distribute import experimental as experimental
from podium.distribute import InputContext as InputContext
from podium.distribute import MirroredStrategy as MirroredStrategy
from podium.distribute import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from podium.distribute import OneDeviceStrategy as OneDeviceStrategy
from podium.distribute import ParameterServerStrategy as ParameterServerStrategy
from podium.distribute import ReduceOp as ReduceOp
from podium.distribute import ReplicaContext as ReplicaContext
from podium.distribute import Strategy as Strategy
from podium.distribute import cluster_resolver as cluster_resolver
from podium.distribute import coordinator as coordinator
from podium.distribute import get_replica_context as get_replica_context
from podium.distribute import get_strategy as get_strategy
from podium.distribute import has_strategy as has_strategy
from podium.distribute import in_cross_replica_context as in_cross_replica_context
