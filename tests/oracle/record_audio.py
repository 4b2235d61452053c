"""Records the datasets of WAV files of `audio_cases.py` that tf_keras reads.

python tests/oracle/record_audio.py --out tests/oracle/fixtures
"""

import argparse
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import audio_cases
import tf_keras

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    with tempfile.TemporaryDirectory() as folder:
        results = audio_cases.run(tf_keras.utils, pathlib.Path(folder))
    lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in results.items()]
    path = parser.parse_args().out / "audio.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
