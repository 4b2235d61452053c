"""SavedModels written by tf_keras and rebuilt by Podium, and the reverse run by TensorFlow.

    python tests/oracle/check_saved_models.py --tf-keras path/to/python/with/tf_keras

Run with a Python that has Podium and tensorflow. For all models of `tensorflow_weight_cases.py` it
prints the greatest difference between the predictions, relative if they are above 1; it fails if
one is above 1e-5.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from check_tensorflow_files import greatest_difference
from tensorflow_weight_cases import CASES, optimizer_values, predictions, randomize


def write(K, folder, seed):
    for make in CASES:
        model, x = make(K)
        if model.optimizer is None:
            randomize(model, seed)
        model.save(str(folder / make.__name__), save_format="tf")
        state = optimizer_values(model)
        np.savez(folder / f"{make.__name__}.npz", outputs=predictions(model, x), optimizer=state)


def rebuild(folder):
    """Return the differences after `load_model` of Podium."""
    import podium

    for make in CASES:
        expected = np.load(folder / f"{make.__name__}.npz")
        model, x = make(podium)
        classes = [type(model), *(type(layer) for layer in getattr(model, "blocks", ()))]
        custom_objects = {cls.__name__: cls for cls in classes if cls.__module__ == make.__module__}
        loaded = podium.models.load_model(folder / make.__name__, custom_objects=custom_objects)
        pairs = [(predictions(loaded, x), expected["outputs"])]
        pairs.append((optimizer_values(loaded), expected["optimizer"]))
        yield make.__name__, max(greatest_difference(a, b) for a, b in pairs)


def serve(folder):
    """Print the differences of what TensorFlow computes, and of tf_keras's `load_weights`."""
    import tensorflow as tf
    import tf_keras

    for make in CASES:
        expected = np.load(folder / f"{make.__name__}.npz")["outputs"]
        model, x = make(tf_keras)
        loaded = tf.saved_model.load(str(folder / make.__name__))
        signature = loaded.signatures["serving_default"]
        # TensorFlow sorts names as texts: input_10 comes before input_9.
        specs = signature.structured_input_signature[1].items()
        specs = sorted(specs, key=lambda item: (len(item[0]), item[0]))
        values = x if isinstance(x, list) else [x]
        served = signature(
            **{
                name: tf.constant(value, spec.dtype)
                for (name, spec), value in zip(specs, values, strict=True)
            }
        )
        (output,) = served.values()
        randomize(model, 99)
        model.load_weights(str(folder / make.__name__)).assert_existing_objects_matched()
        results = [output.numpy(), loaded(x).numpy(), predictions(model, x)]
        print(make.__name__, max(greatest_difference(result, expected) for result in results))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tf-keras", default=sys.executable)
    parser.add_argument("--side", nargs=2, metavar=("ACTION", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.side:
        action, folder = arguments.side[0], pathlib.Path(arguments.side[1])
        if action == "serve":
            serve(folder)
        else:
            import tf_keras

            write(tf_keras, folder, 1)
        return 0
    import podium

    with tempfile.TemporaryDirectory() as temporary:
        theirs, ours = pathlib.Path(temporary, "theirs"), pathlib.Path(temporary, "ours")
        theirs.mkdir()
        ours.mkdir()
        run = [arguments.tf_keras, __file__, "--side"]
        subprocess.run([*run, "write", str(theirs)], check=True)
        rebuilt = dict(rebuild(theirs))
        write(podium, ours, 2)
        again = dict(rebuild(ours))
        done = subprocess.run(
            [*run, "serve", str(ours)], check=True, capture_output=True, text=True
        )
        served = dict(line.split() for line in done.stdout.splitlines())
    print(f"{'model':20} {'tf_keras to Podium':>20} {'Podium to Podium':>20} {'to TensorFlow':>20}")
    for name in rebuilt:
        print(f"{name:20} {rebuilt[name]:20.1e} {again[name]:20.1e} {float(served[name]):20.1e}")
    worst = max(*rebuilt.values(), *again.values(), *map(float, served.values()))
    print(f"{len(CASES)} SavedModels both ways, greatest difference {worst:.1e}")
    return int(not worst <= 1e-5 or len(served) != len(CASES))


if __name__ == "__main__":
    sys.exit(main())
