"""JAX's options, which are attributes that it adds to `jax.config` when it is imported.

Read them here, so that type checkers do not have to know them; `jax.config.update` sets them.
"""

from typing import Any

import jax

jax_config: Any = jax.config
