"""`keras.wrappers`: models as estimators of scikit-learn."""

from podium.compat.keras._sklearn_wrappers import SKLearnClassifier as SKLearnClassifier
from podium.compat.keras._sklearn_wrappers import SKLearnRegressor as SKLearnRegressor
from podium.compat.keras._sklearn_wrappers import SKLearnTransformer as SKLearnTransformer
