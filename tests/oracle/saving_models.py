"""Small models that are built alike by Keras 3 and by Podium, to be saved by one and loaded by
the other.
"""

import numpy as np


def dense_stack(K):
    layers = [
        K.layers.Dense(4, activation="relu", kernel_regularizer=K.regularizers.L2(0.01)),
        K.layers.Dropout(0.3),
    ]
    return K.Sequential(
        [K.Input((5,)), *layers, K.layers.Dense(3, activation="softmax")], name="dense_stack"
    ), [(2, 5)]


def convolutions(K):
    L = K.layers
    stack = [
        L.Conv2D(4, 3, padding="same", use_bias=False),
        L.BatchNormalization(),
        L.ReLU(),
        L.MaxPooling2D(),
    ]
    stack += [
        L.SeparableConv2D(5, 3),
        L.BatchNormalization(scale=False),
        L.GlobalAveragePooling2D(),
        L.Dense(2),
    ]
    return K.Sequential([K.Input((10, 10, 3)), *stack], name="convolutions"), [(2, 10, 10, 3)]


def two_ends(K):
    L = K.layers
    a, b = K.Input((4,), name="a"), K.Input((6,), name="b")
    joined = L.Concatenate(name="joined")([L.Dense(3, name="da")(a), L.Dense(3, name="db")(b)])
    out = {
        "first": L.Dense(2, name="first")(joined),
        "second": L.Dense(1, activation="tanh", name="second")(joined),
    }
    return K.Model([a, b], out, name="two_ends"), [(2, 4), (2, 6)]


def shared_and_nested(K):
    L = K.layers
    start = K.Input((4,), name="start")
    inner_start = K.Input((4,), name="inner_start")
    inner = K.Model(
        inner_start,
        [L.Dense(4, name="ia")(inner_start), L.Dense(2, name="ib")(inner_start)],
        name="inner",
    )
    stack = K.Sequential([K.Input((4,)), L.Dense(4, name="sa")], name="stack")
    shared = L.Dense(4, name="shared")
    x = shared(shared(start))
    first, _ = inner(x)
    _, second = inner(stack(x))
    return K.Model(
        start, [first, L.Add(name="sum")([x, first]), second], name="shared_and_nested"
    ), [(2, 4)]


def recurrent(K):
    L = K.layers
    layers = [
        L.Bidirectional(L.LSTM(3, return_sequences=True)),
        L.TimeDistributed(L.Dense(4)),
        L.GRU(3),
    ]
    return K.Sequential([K.Input((5, 2)), *layers], name="recurrent"), [(2, 5, 2)]


def cells(K):
    L = K.layers
    x = K.Input((4, 3), name="x")
    y = L.RNN([L.GRUCell(2), L.LSTMCell(3)], return_sequences=True, name="rnn")(x)
    return K.Model(x, L.SimpleRNN(2, name="simple")(y), name="cells"), [(2, 4, 3)]


def attention(K):
    L = K.layers
    x = K.Input((4, 6), name="x")
    y = L.MultiHeadAttention(2, 3, name="self")(x, x, use_causal_mask=True)
    y = L.LayerNormalization(name="norm")(L.Add(name="add")([x, y]))
    y = L.Attention(use_scale=True, name="dot")([y, x])
    return K.Model(x, L.Flatten(name="flat")(y), name="attention"), [(2, 4, 6)]


def embedded(K):
    L = K.layers
    x = K.Input((5,), dtype="int32", name="ids")
    y = L.Embedding(7, 4, mask_zero=True, name="table")(x)
    return K.Model(x, L.LSTM(3, name="lstm")(y), name="embedded"), [(2, 5)]


def operations(K):
    x = K.Input((4, 6), name="x")
    y = (2.0 * x[:, 1:3] + 1.0) / 3.0
    y = K.ops.concatenate([K.ops.relu(y), K.ops.reshape(y, (-1, 2, 6)), -y], axis=-1)
    y = K.ops.mean(y, axis=1) ** 2 - K.ops.softmax(K.ops.sum(y, axis=1, keepdims=False))
    y = K.layers.Dense(2, name="dense")(K.ops.where(y > 0.5, y, 0.0))
    return K.Model(x, [y, K.ops.expand_dims(K.ops.cast(y, "float32"), -1)], name="operations"), [
        (2, 4, 6)
    ]


def branches(K):
    """Branches of different lengths: Keras's order of layers is by depth."""
    L = K.layers
    x = K.Input((4,), name="x")
    short = L.Dense(3, name="short")(x)
    long = L.Dense(3, name="third")(L.Dense(3, name="second")(L.Dense(3, name="first")(x)))
    return K.Model(
        x, L.Dense(2, name="last")(L.Multiply(name="product")([short, long])), name="branches"
    ), [(2, 4)]


def adapted(K):
    """LoRA, whose matrices files hold merged into the weights."""
    L = K.layers
    x = K.Input((5,), dtype="int32", name="ids")
    y = L.Embedding(7, 4, lora_rank=2, name="table")(x)
    y = L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de", name="heads")(y)
    y = L.Dense(3, activation="tanh", name="dense")(L.Reshape((5, 6), name="flat")(y))
    model = K.Model(x, y, name="adapted")
    model.get_layer("heads").enable_lora(1)
    model.get_layer("dense").enable_lora(2)
    return model, [(2, 5)]


def _quantized(K, name, mode, lora=True):
    """Layers with weights from a fixed seed, which are then quantized."""
    L = K.layers
    x = K.Input((5,), dtype="int32", name="ids")
    y = L.Embedding(7, 4, name="table")(x)
    y = L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de", name="heads")(y)
    y = L.EinsumDense("abde,dec->abc", (None, 4), name="output")(y)
    y = L.Dense(5, activation="tanh", name="hidden")(y)
    model = K.Model(x, L.Dense(3, use_bias=False, name="last")(y), name=name)
    set_weights(model)
    if lora:
        model.get_layer("hidden").enable_lora(2)
        model.get_layer("table").enable_lora(1)
    model.quantize(
        mode, filters="hidden|last|heads|output" + ("|table" if mode != "float8" else "")
    )
    return model, [(2, 5)]


def int8(K):
    return _quantized(K, "int8", "int8")


def int4(K):
    return _quantized(K, "int4", "int4", lora=False)


def float8(K):
    return _quantized(K, "float8", "float8", lora=False)


MODELS = (
    dense_stack,
    convolutions,
    two_ends,
    shared_and_nested,
    recurrent,
    cells,
    attention,
    embedded,
    operations,
    branches,
    adapted,
    int8,
    int4,
    float8,
)
QUANTIZED = (int8, int4, float8)  # their weights have values already
TAKE_IDS = (embedded, adapted, *QUANTIZED)
RECORDED = (
    convolutions,
    two_ends,
    shared_and_nested,
    recurrent,
    attention,
    operations,
    branches,
    adapted,
    int8,
    int4,
    float8,
)


def set_weights(model):
    """Assign weights from a fixed seed."""
    rng = np.random.default_rng(7)
    model.set_weights(
        [rng.uniform(0.1, 0.6, np.shape(w)).astype("float32") for w in model.get_weights()]
    )


def build(K, make):
    """Return a model with weights from a fixed seed, and inputs for it."""
    model, shapes = make(K)
    if make not in QUANTIZED:
        set_weights(model)
    rng = np.random.default_rng(8)
    inputs = [
        rng.integers(0, 7, s).astype("int32")
        if make in TAKE_IDS
        else rng.normal(size=s).astype("float32")
        for s in shapes
    ]
    return model, inputs


def predict_as_list(model, inputs):
    """Return predictions as a flat list of arrays, dictionaries by key."""
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in sorted(outputs)]
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    return [np.asarray(output) for output in outputs]
