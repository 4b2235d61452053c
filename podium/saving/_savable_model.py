"""SavableModel: what saving uses of a model. Models are defined above this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from podium._typing import Config
from podium.core import Variable
from podium.layers import Layer
from podium.state import OwnState


class SavableModel(Protocol):
    """The part of a model's interface that files and checkpoints need."""

    optimizer: Any
    built: bool
    built_shape: Any

    @property
    def name(self) -> str:
        """The name, for messages."""
        ...

    @property
    def layers(self) -> list[Layer]:
        """The layers directly inside."""
        ...

    @property
    def weights(self) -> Sequence[Variable]:
        """All weights, trainable ones first."""
        ...

    @property
    def trainable_variables(self) -> Sequence[Variable]:
        """The weights that are trained."""
        ...

    @property
    def non_trainable_variables(self) -> Sequence[Variable]:
        """All other weights."""
        ...

    @property
    def compute_dtype(self) -> str:
        """The dtype of inputs."""
        ...

    def compile_from_config(self, config: Config) -> None:
        """Compile with the arguments in a config."""
        ...

    def load_weights(self, filepath: Any) -> object:
        """Load weights from a file."""
        ...

    def _own_weights(self) -> list[Variable]: ...

    def _own_layers(self) -> list[Any]: ...

    def _flatten_layers(self, include_self: bool = True) -> list[Any]: ...

    def _own_state(self) -> OwnState: ...

    def _training_variables(self) -> dict[str, Variable]: ...
