"""SciKeras: cross-validation of a classifier, and pickling of a fitted one."""

import pickle

import keras
import numpy as np
from scikeras.wrappers import KerasClassifier, KerasRegressor
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, Y = make_classification(200, 8, n_informative=5, random_state=0)
X = X.astype("float32")


def make_classifier(hidden, meta):
    """A classifier for as many features and classes as the data have."""
    return keras.Sequential(
        [
            keras.layers.Input((meta["n_features_in_"],)),
            keras.layers.Dense(hidden, activation="relu"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


classifier = KerasClassifier(
    make_classifier,
    hidden=16,
    loss="binary_crossentropy",
    optimizer="adam",
    optimizer__learning_rate=0.02,
    epochs=20,
    verbose=0,
    random_state=0,
)
scores = cross_val_score(make_pipeline(StandardScaler(), classifier), X, Y, cv=3)
assert scores.mean() > 0.75, scores
print(f"cross_val_score: {scores.mean():.3f}")
classifier.fit(X, Y)
copy = pickle.loads(pickle.dumps(classifier))
np.testing.assert_array_equal(classifier.predict_proba(X), copy.predict_proba(X))
print("pickle: same probabilities")


def make_regressor(meta):
    """A linear model."""
    return keras.Sequential([keras.layers.Input((meta["n_features_in_"],)), keras.layers.Dense(1)])


regressor = KerasRegressor(make_regressor, loss="mse", optimizer="adam", epochs=2, verbose=0)
print(f"regressor: {regressor.fit(X, X[:, 0]).predict(X).shape}")
