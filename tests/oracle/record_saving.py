"""Record small `.keras` files that Keras 3 wrote, with inputs and what Keras predicts for them.

    KERAS_BACKEND=jax python tests/oracle/record_saving.py --out tests/oracle/fixtures

Each model is compiled and trained for one step before it is saved, so that the files hold an
optimizer's state.
"""

import argparse
import pathlib

import numpy as np
from saving_models import RECORDED, build, predict_as_list


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    folder = parser.parse_args().out / "saving"
    folder.mkdir(parents=True, exist_ok=True)
    import keras

    arrays = {}
    for make in RECORDED:
        model, inputs = build(keras, make)
        model.compile(keras.optimizers.SGD(0.01, momentum=0.5), "mse", metrics=None)
        before = [output + 1.0 for output in predict_as_list(model, inputs)]
        targets = (
            dict(zip(("first", "second"), before, strict=True))
            if make.__name__ == "two_ends"
            else before
        )
        model.train_on_batch(
            inputs if len(inputs) > 1 else inputs[0], targets if len(before) > 1 else targets[0]
        )
        model.save(folder / f"{make.__name__}.keras")
        for kind, values in (("input", inputs), ("output", predict_as_list(model, inputs))):
            arrays |= {
                f"{make.__name__}/{kind}/{place}": value for place, value in enumerate(values)
            }
    np.savez_compressed(folder / "values.npz", **arrays)


if __name__ == "__main__":
    main()
