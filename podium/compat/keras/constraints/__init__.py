"""`keras.constraints`: the names of `podium.constraints`, and those that only Keras 2 has."""

from podium.compat._extended_packages import constraints_dir as __dir__
from podium.compat._extended_packages import constraints_getattr as __getattr__
from podium.compat.keras.constraints._radial_constraint import RadialConstraint as RadialConstraint
from podium.compat.keras.constraints._radial_constraint import RadialConstraint as radial_constraint
