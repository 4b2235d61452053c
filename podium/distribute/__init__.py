"""Where training runs: strategies that place values on devices and run steps there."""

from podium.distribute._cluster import Cluster as Cluster
from podium.distribute._cluster import find_cluster as find_cluster
from podium.distribute._devices import find_device as find_device
from podium.distribute._distributed_dataset import DistributedDataset as DistributedDataset
from podium.distribute._layout_map import LayoutMap as LayoutMap
from podium.distribute._mesh_strategy import MeshStrategy as MeshStrategy
from podium.distribute._mirrored import MirroredStrategy as MirroredStrategy
from podium.distribute._multi_worker import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from podium.distribute._one_device import OneDeviceStrategy as OneDeviceStrategy
from podium.distribute._reducing import reduce_per_replica as reduce_per_replica
from podium.distribute._reducing import spread_between_replicas as spread_between_replicas
from podium.distribute._replica import InputContext as InputContext
from podium.distribute._replica import ReplicaContext as ReplicaContext
from podium.distribute._scope import get_replica_context as get_replica_context
from podium.distribute._scope import get_strategy as get_strategy
from podium.distribute._scope import has_strategy as has_strategy
from podium.distribute._scope import in_cross_replica_context as in_cross_replica_context
from podium.distribute._scope import scale_loss_for_distribution as scale_loss_for_distribution
from podium.distribute._sharded import ShardedStrategy as ShardedStrategy
from podium.distribute._strategy import Strategy as Strategy
from podium.distribute._sync_check import check_in_sync as check_in_sync
from podium.distribute._values import PerReplica as PerReplica
from podium.distribute._values import ReduceOp as ReduceOp
from podium.distribute._values import VariableAggregation as VariableAggregation
