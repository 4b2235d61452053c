"""What tests import as Keras's trainers: the training half of a model, to be mixed with a layer."""

from __future__ import annotations

from typing import Any

import podium


class Trainer(podium.Model):
    """The base of classes such as `class Example(Trainer, layers.Dense)`.

    Podium's `Model` is a Layer itself, so what the layer's class defines is put before it.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Put the methods of the layer's class before those of `Model`."""
        super().__init_subclass__(**kwargs)
        classes = list(cls.__mro__)
        trainer = classes.index(Trainer)
        defined_before = {name for base in classes[:trainer] for name in vars(base)}
        for base in classes[trainer + 2 :]:
            if base is podium.layers.Layer:
                break
            for name in set(vars(base)) - defined_before:
                if not name.startswith("__"):
                    setattr(cls, name, vars(base)[name])

    def __init__(self) -> None:
        """Add the attributes of a model; the layer has those of a layer already."""
        for name, value in vars(podium.Model(name=self.name)).items():
            if name not in vars(self):
                object.__setattr__(self, name, value)


JAXTrainer = Trainer
