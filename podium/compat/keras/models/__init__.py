"""`keras.models`: the names of `podium.models`, and those that only Keras 2 has."""

from podium.compat._extended_packages import models_dir as __dir__
from podium.compat._extended_packages import models_getattr as __getattr__
from podium.compat.keras.models._model_from_config import model_from_config as model_from_config
from podium.compat.keras.models._model_from_config import model_from_yaml as model_from_yaml
