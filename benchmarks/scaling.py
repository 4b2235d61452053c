"""What a train step costs on 8, 64 and 512 devices, read from its compiled program; nothing is run.

    python benchmarks/scaling.py --write docs/scaling.md      the whole page, a few minutes
    python benchmarks/scaling.py --devices 64 --preset fsdp   rows as JSON

Each row is made in a process of its own that has that many virtual CPU devices. The step is lowered
with its state and its batch as shapes alone, so no device holds anything. Counted are the
collectives that XLA put into the program; bytes are of one device, for a ring: an all-reduce of b
bytes sends 2 b (n-1)/n, an all-gather or reduce-scatter b (n-1)/n.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys

DEVICES = (8, 64, 512)
PRESETS = ("data", "fsdp", "tensor")
SAMPLES = 2  # of each device in a step
TOKENS = 64  # in a sample
MODEL_AXIS = 4  # devices along "model" of the preset "tensor"
_WIDTHS = {
    "pred": 1,
    "s8": 1,
    "u8": 1,
    "bf16": 2,
    "f16": 2,
    "s32": 4,
    "u32": 4,
    "f32": 4,
    "s64": 8,
    "u64": 8,
    "f64": 8,
}
_COLLECTIVE = re.compile(
    r"= (?P<type>\(.*?\)|\S+) "
    r"(?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)


HEAD = """\
Made by `python benchmarks/scaling.py --write docs/scaling.md`, which lowers the train step of a small transformer
({count:.1f}M parameters in float32, Adam, {samples} samples of {tokens} tokens for each device) for 8, 64 and 512 virtual
devices and reads the compiled program. Nothing is run. `tensor` has a mesh of n/4 x 4."""
READING = """\
What to read from it:

- `data`: the number of collectives does not grow with the devices, and neither does what each sends: XLA joins the gradients
  into one all-reduce. Every device holds all state.
- `fsdp`: state falls as 1/n. Weights are gathered for the step, gradients come back as one all-reduce on CPU, of which each
  device keeps its part; where XLA makes reduce-scatters of those, as it can on GPU and TPU (not measured here), gradients
  cost half of that.
- `tensor`: state falls with the length of the axis "model", here to a quarter. Activations travel too, so what is sent also
  grows with the tokens of a device, and each layer waits for it: keep that axis inside one machine.
- Temporary memory is that of XLA's schedule for CPU, which in `fsdp` holds all gathered weights at once: the 1/n is of the
  state between steps (weights, slots), not of the step's peak."""
CLOSING = """\
in both directions, whatever the number of devices, and half of that if gradients and weights travel in bfloat16. Twice the
tokens for each device halve it too. `tensor` is left out: what it sends is mostly activations, in proportion to the tokens
and not to the parameters."""


def transformer(width, layers_count):
    """Return a small language model, and a batch of shapes."""
    from podium import Input, Model, layers

    tokens = Input((TOKENS,), dtype="int32")
    x = layers.Embedding(width, width)(tokens)
    for _ in range(layers_count):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(8, width // 8)(x, x))
        x = layers.LayerNormalization()(
            x + layers.Dense(width)(layers.Dense(4 * width, activation="relu")(x))
        )
    return (
        Model(tokens, layers.Dense(width)(x)),
        ((TOKENS,), "int32"),
        ((TOKENS,), "int32"),
        "sparse_categorical_crossentropy",
    )


def mlp(width, layers_count):
    """Return dense layers, and a batch of shapes."""
    from podium import Input, Sequential, layers

    stack = [layers.Dense(width, activation="relu") for _ in range(layers_count)]
    return (
        Sequential([Input((width,)), *stack, layers.Dense(width)]),
        ((width,), "float32"),
        ((width,), "float32"),
        "mse",
    )


def cnn(width, layers_count):
    """Return convolutions, and a batch of shapes."""
    from podium import Input, Sequential, layers

    stack = [
        layers.Conv2D(width, 3, padding="same", strides=1 + place % 2)
        for place in range(layers_count)
    ]
    model = Sequential(
        [Input((8, 8, 4)), *stack, layers.GlobalAveragePooling2D(), layers.Dense(width)]
    )
    return model, ((8, 8, 4), "float32"), ((width,), "float32"), "mse"


MODELS = {"transformer": transformer, "mlp": mlp, "cnn": cnn}


def measure(devices, preset, model="transformer", width=512, layers_count=2):
    """Return what the program of a train step says, for that many devices."""
    import jax
    import numpy as np

    import podium
    from podium.core.compile._program import Program

    mesh = (
        {"data": devices // MODEL_AXIS, "model": MODEL_AXIS}
        if preset == "tensor"
        else {"data": devices}
    )
    layout = podium.distribute.ShardedStrategy(preset, mesh=mesh, smallest=1)._layout
    network, x, y, loss = MODELS[model](width, layers_count)
    network.compile(
        podium.optimizers.Adam(),
        podium.losses.SparseCategoricalCrossentropy(True) if loss.startswith("sp") else loss,
    )
    network.optimizer.build(network.trainable_variables)
    batch = tuple(np.zeros((SAMPLES * devices, *shape), dtype) for shape, dtype in (x, y))
    leaves, treedef = jax.tree.flatten(((batch,), {}))
    body = network.make_train_function()._body

    program = Program(body, leaves, treedef)
    program.discover(leaves)  # everything is made now, on one device
    weights = {id(weight): weight for weight in network.weights}
    for variable in [*program._written, *program._read]:
        variable.placement = layout.placement_of(variable, variable.stored)
    for weight in network.trainable_variables:
        for slot in network.optimizer._slots_of(weight).values():
            slot.placement = weight.placement.for_shape(weight.shape, slot.shape)
    program = Program(body, leaves, treedef)
    program.discover(leaves)

    def shape_of(variable):
        return jax.ShapeDtypeStruct(
            variable.shape, variable.stored.dtype, sharding=variable.placement.sharding
        )

    state = [
        [shape_of(variable) for variable in some] for some in (program._written, program._read)
    ]
    split = [
        jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=layout.sharding_for(leaf.shape))
        for leaf in leaves
    ]
    compiled = program._jitted.lower(*state, split).compile()
    memory = compiled.memory_analysis()
    counts, sent = collectives(compiled.as_text(), devices)
    return {
        "devices": devices,
        "preset": preset,
        "model": model,
        "parameters": sum(math.prod(weight.shape) for weight in weights.values()),
        "collectives": counts,
        "bytes_sent": sent,
        "state_bytes": sum(
            _bytes(v.placement.sharding.shard_shape(v.shape), v.stored.dtype.itemsize)
            for v in program._written
        ),
        "temporary_bytes": memory.temp_size_in_bytes,
    }


def collectives(text, devices):
    """Return how many collectives of each kind a program has, and the bytes that a device sends for
    them.
    """
    counts, sent = {}, 0.0
    for line in text.splitlines():
        found = _COLLECTIVE.search(line)
        if found is None:
            continue
        size = sum(
            _WIDTHS[kind] * math.prod(int(length) for length in lengths.split(",") if length)
            for kind, lengths in re.findall(r"([a-z]\w*)\[([\d,]*)\]", found["type"])
        )
        group = _group_size(line, devices)
        kind = found["kind"]
        share = (group - 1) / group
        sent += size * {
            "all-reduce": 2 * share,
            "reduce-scatter": share * group,
            "collective-permute": 1.0,
        }.get(kind, share)
        counts[kind] = counts.get(kind, 0) + 1
    return counts, int(sent)


def _group_size(line, devices):
    """Return how many devices meet in a collective."""
    found = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    if found:
        return int(found[2])
    found = re.search(r"replica_groups=mesh\[(.*?)\] ?\{(.*?)\}", line)
    if found:
        lengths = dict(re.findall(r"'(\w+)'=(\d+)", found[1]))
        return math.prod(int(lengths[name]) for name in re.findall(r"'(\w+)'", found[2]))
    found = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    return len(found[1].split(",")) if found else devices


def _bytes(shape, itemsize):
    return math.prod(shape) * itemsize


def in_own_process(devices, preset, *options):
    """Return a row, made by a process with that many virtual devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    command = [
        sys.executable,
        __file__,
        "--devices",
        str(devices),
        "--preset",
        preset,
        *map(str, options),
    ]
    done = subprocess.run(
        command, env={**os.environ, "XLA_FLAGS": flags}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def page(rows):
    """Return docs/scaling.md for these rows."""
    by = {(row["preset"], row["devices"]): row for row in rows}
    count = rows[0]["parameters"]
    lines = [
        "# Scale, on paper and in simulation",
        "",
        *HEAD.format(count=count / 1e6, samples=SAMPLES, tokens=TOKENS).splitlines(),
        "",
        "| preset | devices | collectives in a step | sent by a device, MB | state on a "
        "device, MB | temporary, MB |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for preset in PRESETS:
        for devices in sorted({row["devices"] for row in rows}):
            row = by[preset, devices]
            kinds = ", ".join(
                f"{number} {kind}" for kind, number in sorted(row["collectives"].items())
            )
            sizes = " | ".join(
                f"{row[key] / 1e6:.2f}" for key in ("bytes_sent", "state_bytes", "temporary_bytes")
            )
            lines.append(f"| {preset} | {devices} | {kinds} | {sizes} |")
    last = max(row["devices"] for row in rows)
    per = {preset: by[preset, last]["bytes_sent"] / count for preset in PRESETS}
    state = {preset: by[preset, last]["state_bytes"] / count for preset in PRESETS}
    lines += [
        "",
        *READING.splitlines(),
        "",
        "## A model of 1B parameters",
        "",
        f"From the row of {last} devices, bytes for each parameter and step:",
        "",
        "| preset | sent by a device | state on a device | sent, 1B parameters | state, 1B "
        "parameters |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for preset in PRESETS:
        ours = preset != "tensor"  # what that sends is mostly activations
        sent = (f"{per[preset]:.1f} B", f"{per[preset]:.1f} GB") if ours else ("-", "-")
        lines.append(
            f"| {preset} | {sent[0]} | {state[preset]:.2f} B | {sent[1]} | {state[preset]:.2f} GB |"
        )
    seconds = 6 * 1e9 * 8192 / 125e12
    lines += [
        "",
        "A device that computes 125 TFLOP/s and takes 8,192 tokens a step is busy for 6 x 1e9 x "
        f"8192 / 125e12 = {seconds:.2f} s.",
        "To hide the exchange behind that, each device's network must sustain",
        "",
        "| preset | GB/s | Gbit/s |",
        "| --- | ---: | ---: |",
    ]
    for preset in ("data", "fsdp"):
        lines.append(
            f"| {preset} | {per[preset] / seconds:.0f} | {8 * per[preset] / seconds:.0f} |"
        )
    lines += [
        "",
        *CLOSING.splitlines(),
        "",
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int)
    parser.add_argument("--preset", choices=PRESETS, nargs="+")
    parser.add_argument("--model", choices=list(MODELS), nargs="+", default=["transformer"])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    if options.devices is not None:
        for model in options.model:
            for preset in options.preset:
                print(
                    json.dumps(
                        measure(options.devices, preset, model, options.width, options.layers)
                    ),
                    flush=True,
                )
        return
    rows = []
    for preset in PRESETS:
        for devices in DEVICES:
            rows.append(
                in_own_process(
                    devices,
                    preset,
                    "--model",
                    *options.model,
                    "--width",
                    options.width,
                    "--layers",
                    options.layers,
                )
            )
            print(json.dumps(rows[-1]), flush=True)
    if options.write:
        with open(options.write, "w") as file:
            file.write(page(rows))


if __name__ == "__main__":
    main()
