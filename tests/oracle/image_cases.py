"""Image layers with fixed transformations, and bounding boxes: Keras runs these cases when fixtures
are recorded, Podium in the tests.

What a layer draws at random is given, so that the results are comparable. `record_images.py`
records them, `tests/layers/test_image_oracle.py` compares.
"""

import zlib
from typing import Any, NamedTuple

import numpy as np

KEYS = ("images", "labels", "bounding_boxes", "segmentation_masks")
OWN = "own"  # the layer computes its transformation itself, without random numbers
HEIGHT, WIDTH = 8, 10


class Case(NamedTuple):
    """A layer, the transformation that is applied, and the data.

    Attributes:
        name: The name of the case; it starts with the class of the layer.
        arguments: The arguments of the layer.
        transformation: What `get_random_transformation` would return, with NumPy arrays.
        keys: Which data are transformed.
        dtype: The dtype of the images.
        maximum: The highest value of the images.
    """

    name: str
    arguments: dict[str, Any]
    transformation: Any = None
    keys: tuple[str, ...] = ("images",)
    dtype: str = "float32"
    maximum: float = 255.0

    @property
    def layer(self):
        return self.name.split("/")[0]


def floats(*values, shape=None):
    array = np.array(values, "float32")
    return array if shape is None else array.reshape(shape)


FACTORS = {"factor": floats(0.2, 0.7)}
BOOLEANS = np.array([True, False])
FIRST = {"data_format": "channels_first"}
UNIT = {"value_range": (0, 1)}
MASK = np.zeros((2, HEIGHT, WIDTH, 1), bool)
MASK[0, 2:5, 3:9] = MASK[1, :4, :2] = True

PIXEL_CASES = [
    Case(
        "RandomBrightness/bytes",
        {"factor": 0.3},
        {"rgb_delta": floats(60, -60, shape=(2, 1, 1, 1))},
    ),
    Case(
        "RandomBrightness/range",
        {"factor": 0.3, "value_range": (20, 200), "seed": 3},
        {"rgb_delta": floats(60, -60, shape=(2, 1, 1, 1))},
    ),
    Case(
        "RandomContrast/last",
        {"factor": (0.3, 0.5)},
        {"contrast_factor": floats(0.5, 1.7, shape=(2, 1, 1, 1))},
    ),
    Case(
        "RandomContrast/first",
        {"factor": (0.3, 0.5), **FIRST},
        {"contrast_factor": floats(0.5, 1.7, shape=(2, 1, 1, 1))},
    ),
    Case(
        "RandomContrast/bytes",
        {"factor": (0.3, 0.5)},
        {"contrast_factor": floats(0.5, 1.7, shape=(2, 1, 1, 1))},
        dtype="uint8",
    ),
    Case("RandomHue/last", {"factor": 0.3}, {"factor": floats(0.4, -0.3)}),
    Case(
        "RandomHue/first",
        {"factor": 0.3, **FIRST, **UNIT},
        {"factor": floats(0.4, -0.3)},
        maximum=1,
    ),
    Case("RandomSaturation/last", {"factor": 0.3, **UNIT}, {"factor": floats(0.4, 1.9)}, maximum=1),
    Case(
        "RandomSaturation/first",
        {"factor": 0.3, **UNIT, **FIRST},
        {"factor": floats(0.4, 1.9)},
        maximum=1,
    ),
    Case("RandomSaturation/bytes", {"factor": 0.3}, {"factor": floats(0.4, 1.9)}),
    Case("RandomGrayscale/last", {"factor": 0.3}, BOOLEANS.reshape(2, 1, 1, 1)),
    Case("RandomGrayscale/first", {**FIRST}, BOOLEANS.reshape(2, 1, 1, 1)),
    Case(
        "RandomColorDegeneration/last",
        {"factor": 0.3},
        {"factor": floats(0.3, 0.8, shape=(2, 1, 1, 1))},
    ),
    Case(
        "RandomColorDegeneration/first",
        {"factor": 0.3, **FIRST},
        {"factor": floats(0.3, 0.8, shape=(2, 1, 1, 1))},
    ),
    Case("RandomInvert/bytes", {}, {"apply_inversion": BOOLEANS}),
    Case(
        "RandomInvert/unit",
        {"factor": (0.1, 0.2), **UNIT},
        {"apply_inversion": BOOLEANS},
        maximum=1,
    ),
    Case("RandomPosterization/bytes", {"factor": 4}, {"shift_factor": np.array([5, 2], "uint8")}),
    Case(
        "RandomPosterization/unit",
        {"factor": (3, 6), **UNIT},
        {"shift_factor": np.array([5, 2], "uint8")},
        maximum=1,
    ),
    Case(
        "Solarization/bytes",
        {"addition_factor": 0.2, "threshold_factor": 0.4},
        {
            "additions": floats(10, 50, shape=(2, 1, 1, 1)),
            "thresholds": floats(100, 160, shape=(2, 1, 1, 1)),
        },
    ),
    Case(
        "Solarization/unit",
        {"addition_factor": (0.1, 0.2), "threshold_factor": 0.4, **UNIT},
        {
            "additions": floats(10, 50, shape=(2, 1, 1, 1)),
            "thresholds": floats(100, 160, shape=(2, 1, 1, 1)),
        },
        maximum=1,
    ),
    Case("RandomSharpness/last", {"factor": 0.3}, FACTORS),
    Case("RandomSharpness/first", {"factor": 0.3, **FIRST}, FACTORS),
    Case(
        "RandomGaussianBlur/last",
        {"kernel_size": 5},
        {"should_apply_blur": BOOLEANS, "blur_factor": floats(0.8, 0.3)},
    ),
    Case(
        "RandomGaussianBlur/first",
        {"kernel_size": (3, 5), "sigma": (0.2, 0.5), **FIRST},
        {"should_apply_blur": BOOLEANS, "blur_factor": floats(0.8, 0.3)},
    ),
    Case("AutoContrast/bytes", {}),
    Case("AutoContrast/unit", {**UNIT}, maximum=0.6),
    Case("AutoContrast/integers", {}, dtype="uint8", maximum=100),
    Case("Equalization/bytes", {}, dtype="uint8", maximum=60),
    Case("Equalization/bins", {"bins": 16}),
    Case("Equalization/first", {"value_range": (0, 1), **FIRST}, maximum=0.3),
    Case(
        "ContrastLimitedAdaptiveHistogramEqualization/tiles",
        {"tile_grid_size": (2, 3)},
        maximum=100,
    ),
    Case(
        "ContrastLimitedAdaptiveHistogramEqualization/first",
        {"tile_grid_size": (3, 2), "clip_limit": 0.0, **FIRST, **UNIT},
        maximum=0.4,
    ),
    Case(
        "RandomErasing/constant",
        {"fill_value": 9.0},
        {
            "apply_erasing": BOOLEANS,
            "batch_masks": MASK.repeat(3, -1),
            "fill_value": np.full((2, HEIGHT, WIDTH, 3), 9, "float32"),
        },
    ),
]
ALL = KEYS
BOXES_AND_IMAGES = ("images", "bounding_boxes")
SIZE_CASES = [
    Case(f"{name}/{label}", arguments, OWN, keys)
    for name, label, arguments, keys in [
        ("Resizing", "smaller", {"height": 4, "width": 6, "bounding_box_format": "xyxy"}, ALL),
        (
            "Resizing",
            "larger",
            {"height": 12, "width": 13, "interpolation": "bicubic"},
            ("images", "segmentation_masks"),
        ),
        ("Resizing", "nearest", {"height": 4, "width": 6, "interpolation": "nearest"}, ("images",)),
        ("Resizing", "antialias", {"height": 4, "width": 5, "antialias": True}, ("images",)),
        ("Resizing", "first", {"height": 4, "width": 6, **FIRST}, ("images",)),
        (
            "Resizing",
            "crop",
            {"height": 6, "width": 4, "crop_to_aspect_ratio": True, "bounding_box_format": "xywh"},
            ALL,
        ),
        (
            "Resizing",
            "crop_wide",
            {
                "height": 5,
                "width": 11,
                "crop_to_aspect_ratio": True,
                "bounding_box_format": "rel_xyxy",
            },
            ALL,
        ),
        (
            "Resizing",
            "pad",
            {
                "height": 6,
                "width": 4,
                "pad_to_aspect_ratio": True,
                "fill_value": 7.0,
                "bounding_box_format": "center_xywh",
            },
            ALL,
        ),
        (
            "Resizing",
            "pad_wide",
            {"height": 5, "width": 11, "pad_to_aspect_ratio": True, "bounding_box_format": "xyxy"},
            ALL,
        ),
        ("CenterCrop", "odd", {"height": 5, "width": 3, "bounding_box_format": "xyxy"}, ALL),
        ("CenterCrop", "even", {"height": 4, "width": 4, "bounding_box_format": "rel_xyxy"}, ALL),
        (
            "CenterCrop",
            "larger",
            {"height": 9, "width": 7, "bounding_box_format": "xywh"},
            BOXES_AND_IMAGES,
        ),
        ("CenterCrop", "first", {"height": 4, "width": 4, **FIRST}, ("images",)),
        (
            "MaxNumBoundingBoxes",
            "fewer",
            {"max_number": 2, "bounding_box_format": "xyxy"},
            BOXES_AND_IMAGES,
        ),
        ("MaxNumBoundingBoxes", "more", {"max_number": 5, "fill_value": -2}, BOXES_AND_IMAGES),
    ]
]
SIZE_CASES += [
    Case("Resizing/integers", {"height": 5, "width": 7}, OWN, dtype="uint8"),
]

SHAPES = {"input_shape": (2, HEIGHT, WIDTH, 3)}
FIRST_SHAPES = {"input_shape": (2, 3, HEIGHT, WIDTH)}


def rotation(*angles):
    """The transformation of RandomRotation, with the matrices that Keras reads."""
    angle = floats(*angles)
    cos, sin = np.cos(angle * np.pi / 180), np.sin(angle * np.pi / 180)
    x, y = (WIDTH - 1) / 2, (HEIGHT - 1) / 2
    rows = [cos, -sin, x - x * cos + y * sin, sin, cos, y - x * sin - y * cos, 0 * x * cos, 0 * cos]
    return {
        "angle": angle,
        "rotation_matrix": np.stack(rows, -1).astype("float32"),
        "image_height": HEIGHT,
        "image_width": WIDTH,
        "batch_size": 2,
        **SHAPES,
    }


def zoom(height, width):
    return {
        "height_zoom": floats(*height, shape=(2, 1)),
        "width_zoom": floats(*width, shape=(2, 1)),
        **SHAPES,
    }


def perspective(**shapes):
    start = np.array(
        [[[0, 0], [WIDTH - 1, 0], [0, HEIGHT - 1], [WIDTH - 1, HEIGHT - 1]]] * 2, "float32"
    )
    end = start + random_of("perspective").uniform(-3, 3, start.shape).astype("float32")
    return {"apply_perspective": BOOLEANS, "start_points": start, "end_points": end, **shapes}


def random_of(name):
    return np.random.RandomState(zlib.crc32(name.encode()))


FLIPS = {"flips": BOOLEANS.reshape(2, 1, 1, 1)}
SHIFTS = {"translations": floats(2.5, -3, -4, 1.25, shape=(2, 2)), **SHAPES}
SHEARS = {"shear_factor": floats(0.3, 0.0, -0.2, 0.4, shape=(2, 2)), **SHAPES}
XYXY = {"bounding_box_format": "xyxy"}
GEOMETRIC_CASES = [
    *(
        Case(
            f"RandomFlip/{mode}_{box_format}",
            {"mode": mode, "bounding_box_format": box_format},
            {**FLIPS, **SHAPES},
            ALL,
        )
        for mode, box_format in [
            ("horizontal", "xyxy"),
            ("vertical", "rel_xyxy"),
            ("horizontal_and_vertical", "xywh"),
        ]
    ),
    Case("RandomFlip/first", {"mode": "horizontal", **FIRST}, {**FLIPS, **FIRST_SHAPES}),
    *(
        Case(
            f"RandomRotation/{mode}",
            {"factor": 0.3, "fill_mode": mode, "fill_value": 5.0, **XYXY},
            rotation(40, -100),
            ALL,
        )
        for mode in ("reflect", "wrap", "constant", "nearest")
    ),
    Case(
        "RandomRotation/nearest_pixel",
        {"factor": (0.1, 0.3), "interpolation": "nearest"},
        rotation(40, -100),
    ),
    Case("RandomRotation/first", {"factor": 0.1, **FIRST}, rotation(40, -100) | FIRST_SHAPES),
    Case(
        "RandomTranslation/reflect",
        {"height_factor": 0.3, "width_factor": 0.2, **XYXY},
        SHIFTS,
        ALL,
    ),
    Case(
        "RandomTranslation/constant",
        {
            "height_factor": (-0.2, 0.3),
            "width_factor": 0.2,
            "fill_mode": "constant",
            "fill_value": 9.0,
            "bounding_box_format": "center_xywh",
        },
        SHIFTS,
        ALL,
    ),
    Case(
        "RandomTranslation/first",
        {"height_factor": 0.1, "width_factor": 0.2, **FIRST},
        SHIFTS | FIRST_SHAPES,
    ),
    Case("RandomZoom/in", {"height_factor": 0.3, **XYXY}, zoom((0.6, 0.8), (0.6, 0.8)), ALL),
    Case(
        "RandomZoom/out",
        {
            "height_factor": (0.1, 0.5),
            "width_factor": 0.2,
            "fill_mode": "constant",
            "bounding_box_format": "rel_xyxy",
        },
        zoom((1.5, 1.2), (0.7, 1.3)),
        ALL,
    ),
    Case(
        "RandomZoom/first",
        {"height_factor": 0.3, **FIRST},
        zoom((0.6, 1.3), (0.8, 1.1)) | FIRST_SHAPES,
    ),
    Case(
        "RandomShear/reflect",
        {"x_factor": (0.1, 0.3), "y_factor": (0.0, 0.4)},
        SHEARS,
        ("images", "segmentation_masks"),
    ),
    Case(
        "RandomShear/constant",
        {"x_factor": 0.3, "fill_mode": "constant", "interpolation": "nearest"},
        SHEARS,
    ),
    Case("RandomShear/first", {"x_factor": 0.3, **FIRST}, SHEARS | FIRST_SHAPES),
    Case("RandomPerspective/bilinear", {**XYXY}, perspective(**SHAPES), ALL),
    Case(
        "RandomPerspective/nearest",
        {"factor": (0.2, 0.3), "scale": 0.4, "interpolation": "nearest", "fill_value": 3.0},
        perspective(**SHAPES),
    ),
    Case("RandomPerspective/first", {**FIRST}, perspective(**FIRST_SHAPES)),
    Case(
        "RandomCrop/last",
        {"height": 3, "width": 5, "seed": 2},
        (4, 1),
        ("images", "segmentation_masks", "labels"),
    ),
    Case("RandomCrop/first", {"height": 3, "width": 5, "seed": 2, **FIRST}, (4, 1)),
    Case("RandomCrop/higher", {"height": 10, "width": 8, "seed": 2}, (0, 2)),
]

MIX = {"mix_weight": floats(0.3, 0.8), "permutation_order": np.array([1, 0])}
CUT = {
    "permutation_order": np.array([1, 0]),
    "batch_masks": MASK.repeat(3, -1),
    "mix_weight": floats(0.4, 0.9, shape=(2, 1, 1, 1)),
}
ONES = (2, 1, 1, 1)
TRANSFORMS = {  # of the augmentations of RandAugment, in its order
    "random_shear": SHEARS,
    "random_translation": SHIFTS,
    "random_rotation": rotation(40, -100),
    "random_brightness": {"rgb_delta": floats(60, -60, shape=ONES)},
    "random_color_degeneration": {"factor": floats(0.3, 0.8, shape=ONES)},
    "random_contrast": {"contrast_factor": floats(0.5, 1.7, shape=ONES)},
    "random_sharpness": FACTORS,
    "random_posterization": {"shift_factor": np.array([5, 2], "uint8")},
    "solarization": {
        "additions": floats(10, 50, shape=ONES),
        "thresholds": floats(100, 160, shape=ONES),
    },
    "auto_contrast": None,
    "equalization": None,
}


def policy(*indices):
    return {"layer_idxes": np.array(indices), "transforms": TRANSFORMS}


def chains(*chains):
    return {
        "chain_mixing_weights": floats(0.3, 0.7),
        "weight_sample": floats(0.4)[0],
        "chain_transforms": [
            [{"layer_name": name, "transformation": TRANSFORMS[name]} for name in chain]
            for chain in chains
        ],
    }


COLORS = ["random_sharpness", "random_contrast"]
MIXING_CASES = [
    Case("MixUp/last", {}, MIX, ("images", "labels")),
    Case("MixUp/first", {"alpha": 0.5, **FIRST}, MIX),
    Case("CutMix/last", {}, CUT, ("images", "labels")),
    Case("CutMix/range", {"factor": (0.3, 0.4)}, CUT),
    Case("RandAugment/shear", {**XYXY}, policy(0, 3), ("images", "segmentation_masks")),
    Case("RandAugment/translation", {"num_ops": 3, **XYXY}, policy(4, 1, 8), ALL),
    Case("RandAugment/rotation", {"factor": (0.2, 0.7), **XYXY}, policy(2, 6), ALL),
    Case("RandAugment/color", {"num_ops": 4}, policy(5, 9, 7, 10)),
    Case("AugMix/all", {"num_chains": 2}, chains(["random_shear", *COLORS], ["random_rotation"])),
    Case(
        "AugMix/some",
        {"num_chains": 2, "all_ops": False, "factor": 0.2},
        chains([], ["equalization", "random_translation"]),
        ("images", "labels"),
    ),
]

CASES = {case.name: case for case in [*PIXEL_CASES, *SIZE_CASES, *GEOMETRIC_CASES, *MIXING_CASES]}


def corners(random, num=3):
    """Boxes "xyxy" of two images."""
    x, y = (np.sort(random.uniform(0, size, (2, num, 2)), axis=-1) for size in (WIDTH, HEIGHT))
    return np.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], -1).astype("float32")


def from_corners(boxes, box_format):
    x1, y1, x2, y2 = np.moveaxis(boxes, -1, 0)
    formats = {
        "xyxy": (x1, y1, x2, y2),
        "xywh": (x1, y1, x2 - x1, y2 - y1),
        "center_xywh": ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1),
        "rel_xyxy": (x1 / WIDTH, y1 / HEIGHT, x2 / WIDTH, y2 / HEIGHT),
    }
    return np.stack(formats[box_format], -1)


def inputs(case):
    """The data of a case, as NumPy arrays."""
    random = random_of(case.name)
    images = (random.uniform(0, 1, (2, HEIGHT, WIDTH, 3)) * case.maximum).astype(case.dtype)
    boxes = corners(random)
    boxes[1, 2] = 0  # padding
    box_format = case.arguments.get("bounding_box_format", "xyxy")
    data = {
        "images": images,
        "labels": random.uniform(0, 1, (2, 4)).astype("float32"),
        "bounding_boxes": {
            "boxes": from_corners(boxes, box_format),
            "labels": np.array([[1, 2, 3], [4, 5, -1]], "int32"),
        },
        "segmentation_masks": random.randint(0, 5, (2, HEIGHT, WIDTH, 1)).astype("uint8"),
    }
    if case.arguments.get("data_format") == "channels_first":
        data = {
            key: np.moveaxis(value, -1, 1) if np.ndim(value) == 4 else value
            for key, value in data.items()
        }
    return {key: data[key] for key in case.keys}


def convert(value, as_tensor):
    """Data or a transformation with tensors for arrays."""
    if isinstance(value, dict):
        return {key: convert(item, as_tensor) for key, item in value.items()}
    if isinstance(value, list):
        return [convert(item, as_tensor) for item in value]
    return as_tensor(value) if isinstance(value, np.ndarray) else value


def make_layer(case, layers):
    """The layer of a case, from the layers of a library."""
    return getattr(layers, case.layer)(**case.arguments)


def run(case, layer, as_tensor):
    """The results of a case by name."""
    data = convert(inputs(case), as_tensor)
    transformation = convert(case.transformation, as_tensor)
    if transformation is OWN:
        transformation = layer.get_random_transformation(data)
    results = {}
    for key in case.keys:
        result = getattr(layer, f"transform_{key}")(data[key], transformation)
        if isinstance(result, dict):
            results |= {f"{key}.{name}": item for name, item in result.items()}
        else:
            results[key] = result
    return results


# --- bounding boxes

FORMATS = [
    "xyxy",
    "yxyx",
    "xywh",
    "center_xywh",
    "center_yxhw",
    "rel_xyxy",
    "rel_yxyx",
    "rel_xywh",
    "rel_center_xywh",
]
IMAGE_SHAPE = (HEIGHT, WIDTH, 3)
PARAMETERS = {  # of affine transforms
    "angle": floats(30, -70),
    "translate_x": floats(0.1, -0.2),
    "translate_y": floats(0.0, 0.3),
    "scale": floats(1.2, 0.7),
    "shear_x": floats(10, 0),
    "shear_y": floats(0, 20),
}
VARIANCE = [0.1, 0.1, 0.2, 0.2]


def run_box_functions(functions):
    """The results of `utils.bounding_boxes`, by name."""
    boxes = corners(random_of("boxes"))
    others = corners(random_of("others"), 4)
    labels = np.array([[1, 2, 3], [4, 5, 6]], "int32")
    shifted = {"boxes": boxes + np.float32(4), "labels": labels}
    results = {
        f"convert_format/{source}-{target}": functions.convert_format(
            boxes, source, target, HEIGHT, WIDTH
        )
        for source in FORMATS
        for target in FORMATS
    }
    clipped = functions.clip_to_image_size(dict(shifted), HEIGHT, WIDTH)
    relative = functions.clip_to_image_size(
        {"boxes": boxes / 5, "labels": labels}, bounding_box_format="rel_xyxy"
    )
    for name, value in (("pixels", clipped), ("relative", relative)):
        results |= {f"clip_to_image_size/{name}.{key}": value[key] for key in value}
    padding = np.concatenate([others, np.full((2, 1, 4), -1, "float32")], 1)
    anchors = boxes[0]
    for name, arguments in {"plain": {}, "options": {"variance": VARIANCE}}.items():
        deltas = functions.encode_box_to_deltas(anchors, boxes, "xyxy", "xyxy", **arguments)
        decoded = functions.decode_deltas_to_boxes(anchors, deltas, "xyxy", "xywh", **arguments)
        results |= {f"encode/{name}": deltas, f"decode/{name}": decoded}
    encoded = functions.encode_box_to_deltas(
        anchors, boxes / 10, "xyxy", "rel_xyxy", "center_xywh", image_shape=IMAGE_SHAPE
    )
    levels = functions.decode_deltas_to_boxes({1: anchors}, {1: boxes[1] / 10}, "xyxy", "yxyx")
    return results | {
        "affine_transform": functions.affine_transform(
            boxes, **PARAMETERS, height=HEIGHT, width=WIDTH
        ),
        "affine_transform/center": functions.affine_transform(
            boxes, **PARAMETERS, height=HEIGHT, width=WIDTH, center_x=0.2, center_y=0.9
        ),
        "crop": functions.crop(boxes, 2, 3, 4, 5),
        "pad": functions.pad(boxes, 2, 3),
        "encode/relative": encoded,
        "decode/levels": levels[1],
        "compute_iou": functions.compute_iou(boxes, others, "xyxy"),
        "compute_iou/unbatched": functions.compute_iou(boxes[0], others[0], "xywh"),
        "compute_iou/mixed": functions.compute_iou(boxes[0], others, "xyxy"),
        "compute_iou/masking": functions.compute_iou(boxes, padding, "xyxy", True, -1),
        "compute_iou/relative": functions.compute_iou(
            boxes / 9, others / 9, "rel_yxyx", image_shape=IMAGE_SHAPE
        ),
        "compute_ciou": functions.compute_ciou(boxes, others[:, :3], "xyxy"),
        "compute_ciou/center": functions.compute_ciou(boxes, others[:, :3], "center_xywh"),
    }
