"""Metrics under the names of `keras.metrics`: classes that accumulate over batches, and functions
of one batch.
"""

from podium.losses import binary_crossentropy as BCE
from podium.losses import binary_crossentropy as bce
from podium.losses import binary_crossentropy as binary_crossentropy
from podium.losses import binary_focal_crossentropy as binary_focal_crossentropy
from podium.losses import categorical_crossentropy as categorical_crossentropy
from podium.losses import categorical_focal_crossentropy as categorical_focal_crossentropy
from podium.losses import categorical_hinge as categorical_hinge
from podium.losses import hinge as hinge
from podium.losses import huber as huber
from podium.losses import kl_divergence as KLD
from podium.losses import kl_divergence as kl_divergence
from podium.losses import kl_divergence as kld
from podium.losses import kl_divergence as kullback_leibler_divergence
from podium.losses import log_cosh as log_cosh
from podium.losses import log_cosh as logcosh
from podium.losses import mean_absolute_error as MAE
from podium.losses import mean_absolute_error as mae
from podium.losses import mean_absolute_error as mean_absolute_error
from podium.losses import mean_absolute_percentage_error as MAPE
from podium.losses import mean_absolute_percentage_error as mape
from podium.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from podium.losses import mean_squared_error as MSE
from podium.losses import mean_squared_error as mean_squared_error
from podium.losses import mean_squared_error as mse
from podium.losses import mean_squared_logarithmic_error as MSLE
from podium.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from podium.losses import mean_squared_logarithmic_error as msle
from podium.losses import poisson as poisson
from podium.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from podium.losses import squared_hinge as squared_hinge
from podium.metrics._accuracy import Accuracy as Accuracy
from podium.metrics._accuracy import BinaryAccuracy as BinaryAccuracy
from podium.metrics._accuracy import CategoricalAccuracy as CategoricalAccuracy
from podium.metrics._accuracy import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from podium.metrics._accuracy import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from podium.metrics._accuracy import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from podium.metrics._accuracy_functions import accuracy as accuracy
from podium.metrics._accuracy_functions import binary_accuracy as binary_accuracy
from podium.metrics._accuracy_functions import categorical_accuracy as categorical_accuracy
from podium.metrics._accuracy_functions import (
    sparse_categorical_accuracy as sparse_categorical_accuracy,
)
from podium.metrics._accuracy_functions import (
    sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy,
)
from podium.metrics._accuracy_functions import (
    top_k_categorical_accuracy as top_k_categorical_accuracy,
)
from podium.metrics._at_value import PrecisionAtRecall as PrecisionAtRecall
from podium.metrics._at_value import RecallAtPrecision as RecallAtPrecision
from podium.metrics._at_value import SensitivityAtSpecificity as SensitivityAtSpecificity
from podium.metrics._at_value import SpecificityAtSensitivity as SpecificityAtSensitivity
from podium.metrics._auc import AUC as AUC
from podium.metrics._batch_values import mark_results as mark_results
from podium.metrics._confusion_counts import FalseNegatives as FalseNegatives
from podium.metrics._confusion_counts import FalsePositives as FalsePositives
from podium.metrics._confusion_counts import TrueNegatives as TrueNegatives
from podium.metrics._confusion_counts import TruePositives as TruePositives
from podium.metrics._correlation import ConcordanceCorrelation as ConcordanceCorrelation
from podium.metrics._correlation import PearsonCorrelation as PearsonCorrelation
from podium.metrics._correlation import concordance_correlation as concordance_correlation
from podium.metrics._correlation import pearson_correlation as pearson_correlation
from podium.metrics._f_score import F1Score as F1Score
from podium.metrics._f_score import FBetaScore as FBetaScore
from podium.metrics._hinge import CategoricalHinge as CategoricalHinge
from podium.metrics._hinge import Hinge as Hinge
from podium.metrics._hinge import SquaredHinge as SquaredHinge
from podium.metrics._iou import BinaryIoU as BinaryIoU
from podium.metrics._iou import IoU as IoU
from podium.metrics._iou import MeanIoU as MeanIoU
from podium.metrics._iou import OneHotIoU as OneHotIoU
from podium.metrics._iou import OneHotMeanIoU as OneHotMeanIoU
from podium.metrics._log_value import LogValue as LogValue
from podium.metrics._mean import Mean as Mean
from podium.metrics._mean import MeanMetricWrapper as MeanMetricWrapper
from podium.metrics._mean import MeanTensor as MeanTensor
from podium.metrics._mean import Sum as Sum
from podium.metrics._metric import Metric as Metric
from podium.metrics._precision_recall import Precision as Precision
from podium.metrics._precision_recall import Recall as Recall
from podium.metrics._probabilistic import BinaryCrossentropy as BinaryCrossentropy
from podium.metrics._probabilistic import CategoricalCrossentropy as CategoricalCrossentropy
from podium.metrics._probabilistic import KLDivergence as KLDivergence
from podium.metrics._probabilistic import Poisson as Poisson
from podium.metrics._probabilistic import (
    SparseCategoricalCrossentropy as SparseCategoricalCrossentropy,
)
from podium.metrics._r2_score import R2Score as R2Score
from podium.metrics._registry import deserialize as deserialize
from podium.metrics._registry import get as get
from podium.metrics._registry import resolve_accuracy as resolve_accuracy
from podium.metrics._registry import serialize as serialize
from podium.metrics._regression import CosineSimilarity as CosineSimilarity
from podium.metrics._regression import LogCoshError as LogCoshError
from podium.metrics._regression import MeanAbsoluteError as MeanAbsoluteError
from podium.metrics._regression import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from podium.metrics._regression import MeanRelativeError as MeanRelativeError
from podium.metrics._regression import MeanSquaredError as MeanSquaredError
from podium.metrics._regression import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from podium.metrics._regression import RootMeanSquaredError as RootMeanSquaredError
