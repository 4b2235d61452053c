"""The three counters of a model: how many steps the running fit, evaluate or predict has
completed.
"""

from __future__ import annotations

from podium.core import Variable


class Counters:
    """Counters made when first asked for: most layers inside a model are never trained on their
    own.
    """

    def __init__(self) -> None:
        self._made: dict[str, Variable] = {}

    def get(self, kind: str) -> Variable:
        """Return the counter of "train", "test" or "predict" steps."""
        if kind not in self._made:
            self._made[kind] = Variable(
                0,
                dtype="int32",
                trainable=False,
                aggregation="only_first_replica",
                name=f"{kind}_counter",
            )
        return self._made[kind]
