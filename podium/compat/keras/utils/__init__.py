"""`keras.utils`: the names of `podium.utils`, and those that only Keras 2 has."""

from podium.compat._extended_packages import utils_dir as __dir__
from podium.compat._extended_packages import utils_getattr as __getattr__
from podium.compat.keras._enqueuers import GeneratorEnqueuer as GeneratorEnqueuer
from podium.compat.keras._enqueuers import OrderedEnqueuer as OrderedEnqueuer
from podium.compat.keras._enqueuers import SequenceEnqueuer as SequenceEnqueuer
from podium.compat.keras._utils import load_img as load_img
from podium.compat.keras._utils import to_ordinal as to_ordinal
from podium.compat.keras._utils import warmstart_embedding_matrix as warmstart_embedding_matrix
