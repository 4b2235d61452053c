"""Keras RS: a layer of feature crosses in a model that is trained."""

import keras
import keras_rs
import numpy as np

X = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
inputs = keras.layers.Input((8,))
crossed = keras_rs.layers.FeatureCross()(inputs, inputs)
model = keras.Model(inputs, keras.layers.Dense(1)(crossed))
model.compile(keras.optimizers.Adam(0.01), "mse")
losses = model.fit(X, X[:, :1] * X[:, 1:2], epochs=20, verbose=0).history["loss"]
assert losses[-1] < losses[0], losses
print(f"FeatureCross: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
