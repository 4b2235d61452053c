"""Distributed training: strategies that place values on devices and run steps there."""

from podium.distribute._cluster import Cluster as Cluster
from podium.distribute._cluster import find_cluster as find_cluster
from podium.distribute._current_strategy import get_replica_context as get_replica_context
from podium.distribute._current_strategy import get_strategy as get_strategy
from podium.distribute._current_strategy import has_strategy as has_strategy
from podium.distribute._current_strategy import in_cross_replica_context as in_cross_replica_context
from podium.distribute._current_strategy import (
    scale_loss_for_distribution as scale_loss_for_distribution,
)
from podium.distribute._devices import device as device
from podium.distribute._devices import find_device as find_device
from podium.distribute._distributed_dataset import DistributedDataset as DistributedDataset
from podium.distribute._layout_map import LayoutMap as LayoutMap
from podium.distribute._mesh_strategy import MeshStrategy as MeshStrategy
from podium.distribute._mirrored_strategy import MirroredStrategy as MirroredStrategy
from podium.distribute._multi_worker_strategy import (
    MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from podium.distribute._per_replica import PerReplica as PerReplica
from podium.distribute._per_replica import ReduceOp as ReduceOp
from podium.distribute._per_replica import VariableAggregation as VariableAggregation
from podium.distribute._reduce_per_replica import reduce_per_replica as reduce_per_replica
from podium.distribute._reduce_per_replica import spread_between_replicas as spread_between_replicas
from podium.distribute._replica_context import InputContext as InputContext
from podium.distribute._replica_context import ReplicaContext as ReplicaContext
from podium.distribute._sharded_strategy import ShardedStrategy as ShardedStrategy
from podium.distribute._strategy import OneDeviceStrategy as OneDeviceStrategy
from podium.distribute._strategy import Strategy as Strategy
from podium.distribute._sync_check import check_in_sync as check_in_sync
from podium.distribute.parameter_server import FixedShardsPartitioner as FixedShardsPartitioner
from podium.distribute.parameter_server import MaxSizePartitioner as MaxSizePartitioner
from podium.distribute.parameter_server import MinSizePartitioner as MinSizePartitioner
from podium.distribute.parameter_server import ParameterServerStrategy as ParameterServerStrategy
