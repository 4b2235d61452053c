"""`keras.engine.training`: the model, and the helpers of Keras 2's training loop."""

from podium.compat._summary import write_scalar_summaries as write_scalar_summaries
from podium.compat.keras.engine._model_helpers import (
    disallow_inside_tf_function as _disallow_inside_tf_function,
)
from podium.compat.keras.engine._model_helpers import (
    flatten_metrics_in_order as flatten_metrics_in_order,
)
from podium.compat.keras.engine._replica_outputs import (
    collective_all_reduce_multi_worker as _collective_all_reduce_multi_worker,
)
from podium.compat.keras.engine._replica_outputs import concat as concat
from podium.compat.keras.engine._replica_outputs import (
    is_per_replica_instance as _is_per_replica_instance,
)
from podium.compat.keras.engine._replica_outputs import is_scalar as _is_scalar
from podium.compat.keras.engine._replica_outputs import is_tpu_multi_host as _is_tpu_multi_host
from podium.compat.keras.engine._replica_outputs import (
    minimum_control_deps as _minimum_control_deps,
)
from podium.compat.keras.engine._replica_outputs import multi_worker_concat as _multi_worker_concat
from podium.compat.keras.engine._replica_outputs import (
    tpu_multi_host_concat as _tpu_multi_host_concat,
)
from podium.distribute import reduce_per_replica as reduce_per_replica
from podium.models import Model as Model
from podium.saving.internal import detect_save_format as _detect_save_format
from podium.saving.internal import is_readable_tf_checkpoint as _is_readable_tf_checkpoint
