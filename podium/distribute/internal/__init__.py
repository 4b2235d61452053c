"""What other packages may use of `podium.distribute` beyond its public API. Not for users."""

# The number of replicas whose step is being traced; 1 outside of `Strategy.run`.
from podium.distribute._current_strategy import num_traced_replicas as num_traced_replicas

# How Variables and batches are placed on a mesh.
from podium.distribute._layout import Layout as Layout

# Returns devices as a mesh.
from podium.distribute._layout import make_mesh as make_mesh

# Measures the seconds that summing arrays over the replicas of a layout takes.
from podium.distribute._measure_collectives import measure_all_reduce as measure_all_reduce

# Reduces a value of several replicas to one; other values are returned as they are.
from podium.distribute._reduce_per_replica import reduce_replicas as reduce_replicas

# Reports a checkpoint to `podium launch --ray`, if that has started this process.
from podium.distribute.elastic._member import report_checkpoint as report_checkpoint

# Whether `podium launch --ray` wants to form the group of workers again at this checkpoint.
from podium.distribute.elastic._member import (
    should_grow_at_checkpoint as should_grow_at_checkpoint,
)

# The command `podium launch`.
from podium.distribute.launcher._command_line import main as main

# The class of that connection, for annotations.
from podium.distribute.launcher._launcher_connection import LauncherConnection as LauncherConnection

# The connection to `podium launch --ray`, if that has started this process.
from podium.distribute.launcher._launcher_connection import (
    launcher_connection as launcher_connection,
)
