"""Datasets of WAV files, which tf_keras and Podium read alike: `run(utils, folder)`."""

import wave

import numpy as np

LENGTHS = {"bark": [7, 4], "meow": [5, 9], "purr": [3]}
CASES = {
    "padded": {"batch_size": 3},
    "truncated": {"output_sequence_length": 4, "label_mode": "categorical"},
    "extended": {"output_sequence_length": 10, "batch_size": None, "labels": None},
    "single": {"batch_size": None, "class_names": ["purr", "meow", "bark"]},
}


def write_files(folder, channels):
    """Writes random samples of 16 bits."""
    random = np.random.RandomState(channels)
    for name, lengths in LENGTHS.items():
        (folder / name).mkdir(parents=True)
        for number, length in enumerate(lengths):
            with wave.open(str(folder / name / f"{number}.wav"), "wb") as file:
                file.setparams((channels, 2, 8000, 0, "NONE", ""))
                samples = random.randint(-(2**15), 2**15, (length, channels))
                file.writeframes(samples.astype("<i2").tobytes())


def run(utils, folder):
    """The elements of each case as data of JSON; files are written to `folder`."""

    def as_list(tensor):
        return np.asarray(tensor).tolist()

    results = {}
    for channels in (1, 2):
        write_files(folder / str(channels), channels)
        for name, options in CASES.items():
            dataset = utils.audio_dataset_from_directory(
                folder / str(channels), shuffle=False, **options
            )
            elements = [
                [as_list(part) for part in (element if isinstance(element, tuple) else [element])]
                for element in dataset
            ]
            if options.get("batch_size", 1) is None:  # other files come first
                elements.sort()
            names = dataset.class_names if "labels" not in options else None
            results[f"{name}/{channels}"] = [names, elements]
    return results
