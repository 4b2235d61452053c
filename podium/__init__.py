"""Podium: write Keras, train at the speed of hand-written JAX."""

from podium import activations as activations
from podium import constraints as constraints
from podium import core as core
from podium import initializers as initializers
from podium import layers as layers
from podium import metrics as metrics
from podium import models as models
from podium import ops as ops
from podium import random as random
from podium import regularizers as regularizers
from podium import saving as saving
from podium import utils as utils
from podium.core import DTypePolicy as DTypePolicy
from podium.core import ForwardAccumulator as ForwardAccumulator
from podium.core import Function as Function
from podium.core import GradientTape as GradientTape
from podium.core import KerasTensor as KerasTensor
from podium.core import Tensor as Tensor
from podium.core import TensorSpec as TensorSpec
from podium.core import Variable as Variable
from podium.core import convert_to_tensor as convert_to_tensor
from podium.core import custom_gradient as custom_gradient
from podium.core import function as function
from podium.core import functions_run_eagerly as functions_run_eagerly
from podium.core import is_tensor as is_tensor
from podium.core import lift as lift
from podium.core import name_scope as name_scope
from podium.core import run_functions_eagerly as run_functions_eagerly
from podium.core import stop_gradient as stop_gradient
from podium.layers import Input as Input
from podium.layers import Layer as Layer
from podium.models import Model as Model
from podium.models import Sequential as Sequential

__version__ = "0.1.0"
