"""Losses under the names of `keras.losses`: functions return one value per sample, classes reduce
them to one number.
"""

from podium.losses._binary import BinaryCrossentropy as BinaryCrossentropy
from podium.losses._binary import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from podium.losses._binary import binary_crossentropy as BCE
from podium.losses._binary import binary_crossentropy as bce
from podium.losses._binary import binary_crossentropy as binary_crossentropy
from podium.losses._binary import binary_focal_crossentropy as binary_focal_crossentropy
from podium.losses._categorical import CategoricalCrossentropy as CategoricalCrossentropy
from podium.losses._categorical import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from podium.losses._categorical import categorical_crossentropy as categorical_crossentropy
from podium.losses._categorical import (
    categorical_focal_crossentropy as categorical_focal_crossentropy,
)
from podium.losses._circle import Circle as Circle
from podium.losses._circle import circle as circle
from podium.losses._ctc import CTC as CTC
from podium.losses._ctc import ctc as ctc
from podium.losses._divergence import KLDivergence as KLDivergence
from podium.losses._divergence import Poisson as Poisson
from podium.losses._divergence import kl_divergence as KLD
from podium.losses._divergence import kl_divergence as kl_divergence
from podium.losses._divergence import kl_divergence as kld
from podium.losses._divergence import kl_divergence as kullback_leibler_divergence
from podium.losses._divergence import poisson as poisson
from podium.losses._function_wrapper import LossFunctionWrapper as LossFunctionWrapper
from podium.losses._hinge import CategoricalHinge as CategoricalHinge
from podium.losses._hinge import Hinge as Hinge
from podium.losses._hinge import SquaredHinge as SquaredHinge
from podium.losses._hinge import categorical_hinge as categorical_hinge
from podium.losses._hinge import hinge as hinge
from podium.losses._hinge import squared_hinge as squared_hinge
from podium.losses._loss import Loss as Loss
from podium.losses._mean_errors import MeanAbsoluteError as MeanAbsoluteError
from podium.losses._mean_errors import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from podium.losses._mean_errors import MeanSquaredError as MeanSquaredError
from podium.losses._mean_errors import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from podium.losses._mean_errors import mean_absolute_error as MAE
from podium.losses._mean_errors import mean_absolute_error as mae
from podium.losses._mean_errors import mean_absolute_error as mean_absolute_error
from podium.losses._mean_errors import mean_absolute_percentage_error as MAPE
from podium.losses._mean_errors import mean_absolute_percentage_error as mape
from podium.losses._mean_errors import (
    mean_absolute_percentage_error as mean_absolute_percentage_error,
)
from podium.losses._mean_errors import mean_squared_error as MSE
from podium.losses._mean_errors import mean_squared_error as mean_squared_error
from podium.losses._mean_errors import mean_squared_error as mse
from podium.losses._mean_errors import mean_squared_logarithmic_error as MSLE
from podium.losses._mean_errors import (
    mean_squared_logarithmic_error as mean_squared_logarithmic_error,
)
from podium.losses._mean_errors import mean_squared_logarithmic_error as msle
from podium.losses._overlap import Dice as Dice
from podium.losses._overlap import Tversky as Tversky
from podium.losses._overlap import dice as dice
from podium.losses._overlap import tversky as tversky
from podium.losses._reduction import Reduction as Reduction
from podium.losses._registry import deserialize as deserialize
from podium.losses._registry import get as get
from podium.losses._registry import serialize as serialize
from podium.losses._robust import CosineSimilarity as CosineSimilarity
from podium.losses._robust import Huber as Huber
from podium.losses._robust import LogCosh as LogCosh
from podium.losses._robust import cosine_similarity as cosine_similarity
from podium.losses._robust import huber as huber
from podium.losses._robust import log_cosh as log_cosh
from podium.losses._robust import log_cosh as logcosh
from podium.losses._sparse import (
    CategoricalGeneralizedCrossEntropy as CategoricalGeneralizedCrossEntropy,
)
from podium.losses._sparse import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from podium.losses._sparse import (
    categorical_generalized_cross_entropy as categorical_generalized_cross_entropy,
)
from podium.losses._sparse import sparse_categorical_crossentropy as sparse_categorical_crossentropy
