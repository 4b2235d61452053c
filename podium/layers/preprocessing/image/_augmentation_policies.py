"""RandAugment and AugMix: sequences of augmentations that are drawn at random.

Which augmentations are applied is a number that is computed, and a loop of `ops.switch` runs the
chosen ones only: a program holds each augmentation once, however many are applied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import jax

from podium import ops
from podium import random as podium_random
from podium._typing import TensorLike, Tree
from podium.core import SeedGenerator, Tensor, dispatch, draw_seed
from podium.core.internal import check_int, check_number, unwrap_result
from podium.layers.preprocessing.bounding_boxes._formats import LabeledBoxes
from podium.layers.preprocessing.image._affine_layers import (
    RandomRotation,
    RandomShear,
    RandomTranslation,
)
from podium.layers.preprocessing.image._brightness import RandomBrightness, RandomContrast
from podium.layers.preprocessing.image._grayscale import RandomColorDegeneration
from podium.layers.preprocessing.image._histograms import AutoContrast, Equalization
from podium.layers.preprocessing.image._image_layer import (
    ImageData,
    ImageLayer,
    Seed,
    Transformation,
)
from podium.layers.preprocessing.image._pixel_values import RandomPosterization, Solarization
from podium.layers.preprocessing.image._sharpness import RandomSharpness
from podium.layers.preprocessing.image._value_ranges import Factor, check_factor, check_value_range

# A function of a layer, a transformation and values that returns the transformed values.
_Apply: TypeAlias = Callable[[ImageLayer, Transformation, Tree], Tree]


class _PolicyLayer(ImageLayer):
    """A layer that applies augmentations, `self.augmentations`, by their names."""

    def __init__(
        self,
        value_range: tuple[float, float],
        factor: Factor,
        interpolation: str,
        seed: int | None,
        data_format: str | None,
        **kwargs: Any,
    ):
        super().__init__(data_format=data_format, **kwargs)
        self.value_range = check_value_range(self, value_range)
        self.factor = check_factor(self, factor, 0, 1)
        self.interpolation = interpolation
        self.seed = seed
        self.generator = SeedGenerator(seed)
        self.augmentations: dict[str, ImageLayer] = {}

    def _add_augmentations(self) -> None:
        """Create the augmentations, in Keras's order for RandAugment."""
        factor = self.factor
        common: dict[str, Any] = {
            "data_format": self.data_format,
            "bounding_box_format": self.bounding_box_format,
            "dtype": self.dtype_policy,
        }
        geometric = {**common, "interpolation": self.interpolation, "seed": self.seed}
        stretched = {**common, "value_range": self.value_range}
        color = {**stretched, "seed": self.seed}
        num_bits = max(1, int(8 * factor[1]))
        self.augmentations = {
            "random_shear": RandomShear(factor, factor, **geometric),
            "random_translation": RandomTranslation(factor, factor, **geometric),
            "random_rotation": RandomRotation(factor, **geometric),
            "random_brightness": RandomBrightness(factor, **color),
            "random_color_degeneration": RandomColorDegeneration(factor, **color),
            "random_contrast": RandomContrast(factor, **color),
            "random_sharpness": RandomSharpness(factor, **color),
            "random_posterization": RandomPosterization(num_bits, **color),
            "solarization": Solarization(factor, factor, **color),
            "auto_contrast": AutoContrast(**stretched),
            "equalization": Equalization(**stretched),
        }


class RandAugment(_PolicyLayer):
    """Applies `num_ops` random augmentations to the images of a batch in training (RandAugment).

    They are drawn from shears, translations, rotations, and changes of brightness, color, contrast,
    sharpness and the histogram, and are the same for a batch; their parameters differ between
    images.

    References:
        https://arxiv.org/abs/1909.13719

    Args:
        value_range: The lowest and the highest value of pixels.
        num_ops: How many augmentations are applied, one after another.
        factor: The strength of the augmentations: a number x from 0 to 1, for values from 0 to x,
            or a pair of bounds.
        interpolation: "bilinear" or "nearest", for those that move pixels.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.RandAugment(num_ops=3, factor=0.3, seed=1)
        >>> layer(np.full((2, 8, 8, 3), 100, "uint8")).shape
        (2, 8, 8, 3)
    """

    _config_names = ("value_range", "num_ops", "factor", "interpolation", "seed")

    def __init__(
        self,
        value_range: tuple[float, float] = (0, 255),
        num_ops: int = 2,
        factor: Factor = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(value_range, factor, interpolation, seed, data_format, **kwargs)
        self.num_ops = check_int("num_ops", num_ops, 0, owner=self, type_error=ValueError)
        self._add_augmentations()

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `layer_idxes`, the positions of the augmentations that are applied, and
        `transforms`, the transformations of all of them by name.
        """
        if not training:
            return None
        seed = self.generator if seed is None else seed
        num = len(self.augmentations)
        return {
            "layer_idxes": podium_random.randint((self.num_ops,), 0, num, seed=seed),
            "transforms": {
                name: layer.get_random_transformation(data, seed=seed)
                for name, layer in self.augmentations.items()
            },
        }

    def _apply_chosen(self, apply: _Apply, values: Tree, transformation: Transformation) -> Tree:
        """Apply the chosen augmentations, one after another, to images, masks or boxes."""

        def run(name: str, layer: ImageLayer) -> Callable[[Tree], Tree]:
            return lambda values: apply(layer, transformation["transforms"][name], values)

        branches = [run(name, layer) for name, layer in self.augmentations.items()]
        indices = ops.convert_to_tensor(transformation["layer_idxes"])
        outputs, _ = ops.scan(
            lambda values, index: (ops.switch(index, branches, values), None), values, indices
        )
        return outputs

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Augment a batch of images."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        augmented: Tensor = self._apply_chosen(_transform_images, images, transformation)
        return augmented

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Augment a batch of segmentation masks like the images."""
        if not training or transformation is None:
            return segmentation_masks
        masks = ops.convert_to_tensor(segmentation_masks)
        moved: Tensor = self._apply_chosen(_transform_masks, masks, transformation)
        return moved

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Move the bounding boxes of a batch like the images."""
        if not training or transformation is None:
            return bounding_boxes
        moved: LabeledBoxes = self._apply_chosen(_transform_boxes, bounding_boxes, transformation)
        return moved


def _transform_images(layer: ImageLayer, transformation: Transformation, values: Tree) -> Tree:
    return layer.transform_images(values, transformation)


def _transform_masks(layer: ImageLayer, transformation: Transformation, values: Tree) -> Tree:
    return layer.transform_segmentation_masks(values, transformation)


def _transform_boxes(layer: ImageLayer, transformation: Transformation, values: Tree) -> Tree:
    return layer.transform_bounding_boxes(values, transformation)


def _split_key(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return new keys as numbers, two for each element of the shape."""
    key_data: jax.Array = jax.random.key_data(jax.random.split(key, shape))
    return key_data


class _KeySequence(SeedGenerator):
    """A stream of keys from one key, for draws inside of a loop: without a state that is kept."""

    def __init__(self, key_data: jax.Array):
        self._key_data = key_data
        self._count = 0

    def next(self, ordered: bool = True) -> jax.Array:
        """Return the next key as two numbers."""
        self._count += 1
        key = jax.random.wrap_key_data(self._key_data, impl="threefry2x32")
        key_data: jax.Array = jax.random.key_data(jax.random.fold_in(key, self._count))
        return key_data


class AugMix(_PolicyLayer):
    """Mixes images with several chains of random augmentations of them in training (AugMix).

    The augmentations are those of `RandAugment`, or none, and are the same for a batch; their
    parameters differ between images. Bounding boxes stay as they are.

    References:
        https://arxiv.org/abs/1912.02781

    Args:
        value_range: The lowest and the highest value of pixels.
        num_chains: The number of chains.
        chain_depth: The number of augmentations in a chain.
        factor: The strength of the augmentations: a number x from 0 to 1, for values from 0 to x,
            or a pair of bounds.
        alpha: The parameter of the distributions from which weights are drawn: of the chains
            (Dirichlet) and of the original images (beta).
        all_ops: Whether brightness, color, contrast and sharpness are changed too.
        interpolation: "bilinear" or "nearest", for augmentations that move pixels.
        seed: An int that makes the random values deterministic.
        data_format: "channels_last" (the default) or "channels_first".
        **kwargs: `name`, `dtype`, `bounding_box_format`.

    Example:
        >>> layer = podium.layers.AugMix(seed=1)
        >>> layer(np.full((2, 8, 8, 3), 100, "uint8")).shape
        (2, 8, 8, 3)
    """

    _config_names = (
        "value_range",
        "num_chains",
        "chain_depth",
        "factor",
        "alpha",
        "all_ops",
        "interpolation",
        "seed",
    )
    _COLORS = (
        "random_brightness",
        "random_color_degeneration",
        "random_contrast",
        "random_sharpness",
    )

    def __init__(
        self,
        value_range: tuple[float, float] = (0, 255),
        num_chains: int = 3,
        chain_depth: int = 3,
        factor: Factor = 0.3,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Any,
    ):
        super().__init__(value_range, factor, interpolation, seed, data_format, **kwargs)
        self.num_chains = check_int("num_chains", num_chains, owner=self, type_error=ValueError)
        self.chain_depth = check_int("chain_depth", chain_depth, owner=self, type_error=ValueError)
        self.alpha = check_number("alpha", alpha, 0, owner=self, type_error=ValueError)
        self.all_ops = bool(all_ops)
        self._add_augmentations()
        if not self.all_ops:
            for name in self._COLORS:
                del self.augmentations[name]

    def get_random_transformation(
        self, data: ImageData, training: bool = True, seed: Seed = None
    ) -> Transformation:
        """Draw `chain_mixing_weights`, the weights of the chains, `weight_sample`, that of the
        original images, and for each augmentation `layer_idxes`, which one it is, and `keys`, from
        which its transformation is drawn.
        """
        if not training:
            return None
        seed = self.generator if seed is None else seed
        shape = (self.num_chains, self.chain_depth)
        # Ratios of gamma variables follow the Dirichlet and the beta distribution. One draw for
        # both: XLA takes seconds to compile each.
        amounts = podium_random.gamma((self.num_chains + 2,), self.alpha, seed=seed)
        amounts = ops.maximum(amounts, 1e-30)
        weights, pair = amounts[: self.num_chains], amounts[self.num_chains :]
        num = len(self.augmentations) + 1  # the last one changes nothing
        keys = dispatch(
            lambda key: jax.random.key_data(jax.random.split(key, shape)), draw_seed(seed)
        )
        return {
            "chain_mixing_weights": weights / ops.sum(weights),
            "weight_sample": pair[0] / ops.sum(pair),
            "layer_idxes": podium_random.randint(shape, 0, num, seed=seed),
            "keys": keys,
        }

    def _mix_chains(self, apply: _Apply, values: Tensor, transformation: Transformation) -> Tensor:
        """Return the weighted sum of the images, or masks, and the chains of their augmentations.

        Instead of `layer_idxes` and `keys`, a transformation may hold `chain_transforms` as Keras
        draws them: lists of dictionaries with "layer_name" and "transformation".
        """
        weights = ops.cast(transformation["chain_mixing_weights"], values.dtype)
        mixed = ops.zeros_like(values)
        if "chain_transforms" in transformation:
            for i, chain in enumerate(transformation["chain_transforms"]):
                outputs = values
                for step in chain:
                    layer = self.augmentations[step["layer_name"]]
                    outputs = apply(layer, step["transformation"], outputs)
                mixed = mixed + outputs * weights[i]
        else:
            mixed = self._apply_chains(apply, values, transformation, weights)
        weight = ops.cast(transformation["weight_sample"], values.dtype)
        return weight * values + (1 - weight) * mixed

    def _apply_chains(
        self, apply: _Apply, values: Tensor, transformation: Transformation, weights: Tensor
    ) -> Tensor:
        def run(layer: ImageLayer) -> Callable[[Tensor, Tensor], Tree]:
            def augment(values: Tensor, key: Tensor) -> Tree:
                seed = _KeySequence(unwrap_result(key))
                return apply(layer, layer.get_random_transformation(values, seed=seed), values)

            return augment

        branches = [run(layer) for layer in self.augmentations.values()]
        branches.append(lambda values, key: values)

        def add_step(values: Tensor, step: tuple[Tensor, Tensor]) -> tuple[Tensor, None]:
            index, key = step
            return ops.switch(index, branches, values, key), None

        def add_chain(mixed: Tensor, chain: tuple[Tensor, ...]) -> tuple[Tensor, None]:
            indices, keys, weight = chain
            outputs, _ = ops.scan(add_step, values, (indices, keys))
            return mixed + outputs * weight, None

        chains = transformation["layer_idxes"], transformation["keys"], weights
        mixed, _ = ops.scan(add_chain, ops.zeros_like(values), chains)
        result: Tensor = mixed
        return result

    def transform_images(
        self, images: TensorLike, transformation: Transformation = None, training: bool = True
    ) -> Tensor:
        """Augment a batch of images."""
        images = self._as_images(images)
        if not training or transformation is None:
            return images
        mixed = self._mix_chains(_transform_images, images, transformation)
        return ops.clip(mixed, *self.value_range)

    def transform_segmentation_masks(
        self,
        segmentation_masks: TensorLike,
        transformation: Transformation = None,
        training: bool = True,
    ) -> TensorLike:
        """Mix a batch of segmentation masks like the images; they become floats."""
        masks = self._as_images(segmentation_masks)
        if not training or transformation is None:
            return masks
        return self._mix_chains(_transform_masks, masks, transformation)

    def transform_bounding_boxes(
        self,
        bounding_boxes: LabeledBoxes,
        transformation: Transformation = None,
        training: bool = True,
    ) -> LabeledBoxes:
        """Return the bounding boxes as they are."""
        return bounding_boxes
