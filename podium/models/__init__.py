"""Models: layers put together."""

from podium.models._clone import clone_model as clone_model
from podium.models._model import Model as Model
from podium.models._sequential import Sequential as Sequential
