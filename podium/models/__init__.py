"""Models: layers put together, and their way to files and back."""

from podium.models._clone import clone_model as clone_model
from podium.models._distillation_losses import DistillationLoss as DistillationLoss
from podium.models._distillation_losses import FeatureDistillation as FeatureDistillation
from podium.models._distillation_losses import LogitsDistillation as LogitsDistillation
from podium.models._distiller import Distiller as Distiller
from podium.models._model import Model as Model
from podium.models._sequential import Sequential as Sequential
from podium.saving import load_model as load_model
from podium.saving import model_from_json as model_from_json
from podium.saving import save_model as save_model
