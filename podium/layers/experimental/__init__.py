"""`layers.experimental`: where Keras 2 had the preprocessing layers first."""

from podium.layers.experimental import preprocessing as preprocessing
