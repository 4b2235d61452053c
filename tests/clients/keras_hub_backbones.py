"""KerasHub: a BERT-like and a GPT-like backbone, made from configs and trained for 20 steps."""

import keras
import keras_hub
import numpy as np

rng = np.random.default_rng(0)
TOKENS = rng.integers(0, 50, size=(16, 12))


def train(backbone, inputs, name):
    """Train a classifier on a backbone, and check that the loss falls."""
    features = backbone(backbone.input)
    if isinstance(features, dict):
        features = features["sequence_output"]
    outputs = keras.layers.Dense(2)(keras.layers.GlobalAveragePooling1D()(features))
    model = keras.Model(backbone.input, outputs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3), loss)
    labels = (TOKENS[:, 0] > 25).astype("int32")
    history = model.fit(inputs, labels, epochs=20, batch_size=16, verbose=0)
    losses = history.history["loss"]
    assert len(losses) == 20 and losses[-1] < losses[0] / 2, losses
    copy = type(backbone).from_config(backbone.get_config())
    assert copy.count_params() == backbone.count_params()
    print(f"{name}: loss {losses[0]:.3f} -> {losses[-1]:.3f}, {backbone.count_params()} parameters")


SIZES = {"vocabulary_size": 50, "num_layers": 2, "num_heads": 2, "hidden_dim": 16}
bert = keras_hub.models.BertBackbone(**SIZES, intermediate_dim=32, max_sequence_length=12)
mask = np.ones_like(TOKENS)
train(
    bert,
    {"token_ids": TOKENS, "padding_mask": mask, "segment_ids": np.zeros_like(TOKENS)},
    "BertBackbone",
)
gpt = keras_hub.models.GPT2Backbone(**SIZES, intermediate_dim=32, max_sequence_length=12)
train(gpt, {"token_ids": TOKENS, "padding_mask": mask}, "GPT2Backbone")
