"""`tf.distribute.experimental`."""

from podium.compat._missing_names import distribute_experimental as __getattr__
from podium.distribute import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from podium.distribute import ParameterServerStrategy as ParameterServerStrategy
from podium.distribute import coordinator as coordinator
from podium.distribute import parameter_server as partitioners
