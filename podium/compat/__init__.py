"""TensorFlow's and Keras's APIs on Podium, and the import hook that scripts find them with."""

from podium.compat._import_hook import install as install
from podium.compat._import_hook import real_imports as real_imports
from podium.compat._import_hook import uninstall as uninstall
