"""Drawings that Keras and Podium make alike: boxes, masks, and graphs of models.

`run(case, keras)` calls a case with either library. Recording needs OpenCV and pydot, which Keras
draws with.
"""

import re

import numpy as np

XYXY = np.array([[[2, 3, 20, 12], [10, 8, 29, 23]], [[-4, 5, 9, 30], [0, 0, 3, 3]]], "float32")
RELATIVE = np.array([[[0.2, 0.3, 0.25, 0.5]], [[0.5, 0.6, 0.4, 0.2]]], "float32")


def _images(channels=3, dtype="uint8"):
    values = np.random.RandomState(0).randint(0, 256, (2, 24, 32, channels))
    return (values / 255).astype(dtype) if dtype == "float32" else values.astype(dtype)


def _boxes(boxes):
    labels = np.array([[0, 1], [1, -1]])[:, : boxes.shape[1]]
    return {"boxes": boxes.copy(), "labels": labels}


def boxes_by_thickness(keras):
    """Outlines of up to 6 pixels, also outside of the image, and boxes without a label."""
    draw = keras.visualization.draw_bounding_boxes
    images = np.zeros((2, 24, 32, 3), "uint8")
    return [
        draw(images, _boxes(XYXY), "xyxy", color=(1, 0, 0), line_thickness=t)[..., 0].sum((1, 2))
        for t in range(1, 7)
    ] + [draw(_images(), _boxes(XYXY), "xyxy", color=(255, 3, 90), line_thickness=3)[:, ::5]]


def boxes_by_format(keras):
    """Every format of boxes, on images of floats."""
    draw = keras.visualization.draw_bounding_boxes
    formats = ["xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw"]
    relative = ["rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"]
    sizes = np.abs(XYXY)
    absolute = [draw(_images(3, "float32"), _boxes(sizes), name)[0, ::6] for name in formats]
    return absolute + [
        draw(_images(1, "float32"), _boxes(RELATIVE), name)[1, ::6] for name in relative
    ]


def masks(keras):
    """Blended and replaced masks, with generated and with chosen colors."""
    draw = keras.visualization.draw_segmentation_masks
    images = _images()
    numbers = np.random.RandomState(1).randint(-1, 4, (2, 24, 32, 1))
    colors = {0: (9, 8, 7), 1: (255, 0, 0), 2: (0, 255, 0), 3: (0, 0, 255)}
    return [
        draw(images, numbers, 4)[:, ::6],
        draw(images, numbers, 4, colors, alpha=0.3, ignore_index=2)[:, ::6],
        np.asarray(draw(images, numbers, 3, colors, blend=False))[:, ::6],
    ]


def _model(keras):
    inputs = keras.Input((4,), name="start")
    inner = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(3, activation="relu", name="one"),
            keras.layers.Dense(2, name="two"),
        ],
        name="chain",
    )
    nested_input = keras.Input((2,), name="nested_start")
    nested_output = keras.layers.Dense(5, name="deep", trainable=False)(nested_input)
    nested = keras.Model(nested_input, nested_output, name="nested")
    shared = keras.layers.Dense(3, name="shared")
    left = keras.layers.Dense(4, name="left")(inputs)
    merged = keras.layers.Add(name="sum")([shared(inputs), shared(left)])
    return keras.Model(inputs, nested(inner(merged)))


def _read_dot(dot):
    """The boxes and edges of a graph, by the texts in the boxes."""
    source = dot.to_string() if hasattr(dot, "to_string") else dot.source
    labels = {
        key: re.sub(r"\s+", " ", " | ".join(re.findall(r"(?:^|>)([^<>]+?)(?=<)", label))).strip()
        for key, label in re.findall(
            r'"?(\d{6,})"?\s*\[[^\[]*?label=<(<table.*?</table>)>', source, re.S
        )
    }
    edges = re.findall(r'"?(\d{6,})"? -> "?(\d{6,})"?', source)
    named = sorted(" -> ".join(labels[key] for key in edge) for edge in edges)
    clusters = sorted(re.findall(r"subgraph \"?cluster_(\w+)", source))
    return [sorted(labels.values()), named, clusters]


def graphs(keras):
    """A model with a shared layer and nested models, plain and expanded."""
    dot = keras.utils.model_to_dot
    details = {
        "show_shapes": True,
        "show_dtype": True,
        "show_layer_activations": True,
        "show_trainable": True,
    }
    model = _model(keras)
    return [
        _read_dot(dot(model)),
        _read_dot(dot(model, expand_nested=True)),
        _read_dot(dot(model, show_layer_names=False, **details)),
        _read_dot(dot(model.get_layer("chain"))),
    ]


CASES = [boxes_by_thickness, boxes_by_format, masks, graphs]


def run(case, keras):
    """The results of a case as data of JSON."""

    def convert(value):
        if isinstance(value, list):
            return [convert(item) for item in value]
        return value if isinstance(value, str) else np.asarray(value).tolist()

    return convert(case(keras))
