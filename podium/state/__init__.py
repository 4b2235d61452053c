"""The variables of a model by path, and snapshots of them: what checkpoints and files store."""

from podium.state._owner import OwnState as OwnState
from podium.state._owner import StateOwner as StateOwner
from podium.state._owner import keras_order as keras_order
from podium.state._paths import StateNode as StateNode
from podium.state._paths import state_nodes as state_nodes
from podium.state._paths import variables_by_path as variables_by_path
from podium.state._snapshot import restore as restore
from podium.state._snapshot import sharding_by_path as sharding_by_path
from podium.state._snapshot import snapshot as snapshot
from podium.state._snapshot import summarize as summarize
