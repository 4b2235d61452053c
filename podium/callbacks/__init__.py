"""Callbacks: code that runs during `fit`, `evaluate` and `predict`."""

from podium.callbacks._callback import Callback as Callback
from podium.callbacks._callback_list import CallbackList as CallbackList
from podium.callbacks._csv_logger import CSVLogger as CSVLogger
from podium.callbacks._early_stopping import EarlyStopping as EarlyStopping
from podium.callbacks._every_n_steps import EveryNSteps as EveryNSteps
from podium.callbacks._history import History as History
from podium.callbacks._lambda_callback import LambdaCallback as LambdaCallback
from podium.callbacks._learning_rate_scheduler import LearningRateScheduler as LearningRateScheduler
from podium.callbacks._logs import Logs as Logs
from podium.callbacks._monitor import MonitorCallback as MonitorCallback
from podium.callbacks._progbar import Progbar as Progbar
from podium.callbacks._progbar_logger import ProgbarLogger as ProgbarLogger
from podium.callbacks._reduce_lr_on_plateau import ReduceLROnPlateau as ReduceLROnPlateau
from podium.callbacks._remote_monitor import RemoteMonitor as RemoteMonitor
from podium.callbacks._step_logs import StepLogs as StepLogs
from podium.callbacks._step_timer import StepTimer as StepTimer
from podium.callbacks._swap_ema_weights import SwapEMAWeights as SwapEMAWeights
from podium.callbacks._terminate_on_nan import TerminateOnNaN as TerminateOnNaN
from podium.callbacks.checkpoints._backup_and_restore import BackupAndRestore as BackupAndRestore
from podium.callbacks.checkpoints._model_checkpoint import ModelCheckpoint as ModelCheckpoint
from podium.callbacks.checkpoints._orbax_checkpoint import OrbaxCheckpoint as OrbaxCheckpoint
from podium.callbacks.checkpoints._sidecar_model_export import (
    SidecarEvaluatorModelExport as SidecarEvaluatorModelExport,
)
