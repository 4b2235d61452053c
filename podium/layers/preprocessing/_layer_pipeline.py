"""Pipeline: preprocessing layers in a row, as one layer and one program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from podium._typing import Config, Tree
from podium.layers._layer import Layer
from podium.layers._layer_serialization import deserialize, serialize
from podium.layers.preprocessing.image._compiled_layer import CompiledLayer
from podium.layers.preprocessing.image._image_layer import prepare_data


class Pipeline(CompiledLayer):
    """Applies layers one after another: an augmentation that can be mapped over a Dataset.

    A call on numbers is one XLA program for the shapes of its inputs. Unlike a Sequential model it
    takes dictionaries of images, labels, bounding boxes and segmentation masks.

    Args:
        layers: The layers, each of which takes one input.
        name: The name of the pipeline.

    Example:
        >>> pipeline = podium.layers.Pipeline([
        ...     podium.layers.Rescaling(1 / 255),
        ...     podium.layers.RandomFlip("horizontal"),
        ...     podium.layers.RandomCrop(2, 2),
        ... ])
        >>> pipeline(np.ones((4, 3, 3, 3), "uint8")).shape
        (4, 2, 2, 3)
    """

    def __init__(self, layers: Sequence[Layer], name: str | None = None):
        super().__init__(name=name)
        if not isinstance(layers, (list, tuple)) or not all(
            isinstance(layer, Layer) for layer in layers
        ):
            raise TypeError(
                f"Pipeline was given layers={layers!r}; a list of layers was expected, such as "
                "[podium.layers.RandomFlip(), podium.layers.RandomRotation(0.1)]."
            )
        self._pipeline_layers = list(layers)

    @property
    def layers(self) -> list[Layer]:
        """The layers, in order."""
        return list(self._pipeline_layers)

    def __call__(self, data: Tree, *args: Any, **kwargs: Any) -> Tree:
        """Apply the layers in order."""
        if not isinstance(data, Mapping) or "images" not in data:
            return super().__call__(data, *args, **kwargs)
        arguments = prepare_data("Pipeline", data)
        return {**data, **super().__call__(arguments, *args, **kwargs)}

    def call(self, inputs: Tree, training: bool = True, mask: Tree = None) -> Tree:
        """Apply the layers in order; the mask is passed to the first one that takes it."""
        for layer in self._pipeline_layers:
            options: dict[str, Any] = {}
            if layer._call_signature.has_training and training is not None:
                options["training"] = training
            if layer._call_signature.has_mask and mask is not None:
                options["mask"], mask = mask, None
            inputs = layer(inputs, **options)
        return inputs

    def compute_output_shape(self, input_shape: Tree) -> Tree:
        """Return the shape of the outputs for a shape, or a dictionary of shapes, of the inputs."""
        for layer in self._pipeline_layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_output_spec(self, inputs: Tree, training: bool = True, mask: Tree = None) -> Tree:
        """Return KerasTensors with the shapes and dtypes of the outputs for symbolic inputs."""
        for layer in self._pipeline_layers:
            inputs = layer.compute_output_spec(inputs)
        return inputs

    def get_config(self) -> Config:
        """Return the arguments that recreate this layer."""
        return {
            "name": self.name,
            "layers": [serialize(layer) for layer in self._pipeline_layers],
        }

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None
    ) -> Self:
        """Create a layer from the result of `get_config`."""
        arguments = dict(config)
        if not isinstance(arguments.get("layers"), (list, tuple)):
            raise ValueError(
                f"Pipeline.from_config was given a config with the keys {sorted(config)}; a list "
                "of the configs of layers was expected as 'layers'."
            )
        layers = [deserialize(layer, custom_objects) for layer in arguments.pop("layers")]
        return cls(layers, **arguments)
