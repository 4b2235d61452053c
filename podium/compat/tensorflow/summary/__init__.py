"""`tf.summary`: values per step, and the writer that receives them."""

from podium.compat._missing_names import summary as __getattr__
from podium.compat._summary import SummaryWriter as SummaryWriter
from podium.compat._summary import scalar as scalar
