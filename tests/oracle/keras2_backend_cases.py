"""Expressions of `keras.backend`: tf_keras computes them when fixtures are recorded, Podium in the
tests. `record_keras2_names.py` records them, `test_recorded_keras2_names.py` compares.
"""

import numpy as np


def _random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


# The values in the expressions, before `K.constant` makes tensors of them.
ARRAYS = {
    "x": _random(3, 4),
    "y": _random(4, 5, seed=1),
    "u": _random(3, 4, seed=2),
    "p": np.abs(_random(3, 4, seed=3)) % 1,
    "q": np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1], [0, 1, 0, 0]], "float32"),
    "onehot": np.eye(4, dtype="float32")[[3, 0, 2]],
    "labels": np.array([3, 0, 2], "int32"),
    "binary": (_random(3, 4, seed=4) > 0).astype("float32"),
    "cube": _random(2, 3, 4, seed=5),
    "cube2": _random(2, 4, 3, seed=6),
    "hyper": _random(2, 3, 4, 5, seed=7),
    "sequences": _random(2, 8, 3, seed=8),
    "kernel1": _random(3, 3, 5, seed=9),
    "images": _random(1, 6, 7, 3, seed=10),
    "kernel2": _random(3, 2, 3, 4, seed=11),
    "depthwise": _random(3, 2, 3, 2, seed=12),
    "pointwise": _random(1, 1, 6, 4, seed=13),
    "volumes": _random(1, 4, 5, 4, 2, seed=14),
    "kernel3": _random(2, 2, 2, 2, 3, seed=15),
    "transposed": _random(3, 3, 4, 3, seed=16),
    "local1": _random(3, 9, 5, seed=17),
    "local2": _random(6, 18, 4, seed=18),
    "vector": _random(3, seed=19),
    "positive": np.abs(_random(3, seed=20)) + 0.5,
    "mask": np.array([[1, 1, 0, 1, 1, 0, 0, 1], [0, 1, 1, 1, 1, 1, 0, 0]], "bool"),
    "lengths": np.array([8, 5], "int32"),
    "state": _random(2, 3, seed=21),
    "matrix": _random(3, 3, seed=22),
}

STEP = "lambda x, s: (K.tanh(K.dot(x, matrix) + s[0]), [K.tanh(K.dot(x, matrix) + s[0])])"

CASES = [
    # elements
    "K.clip(x, min_value=-0.5, max_value=0.7)",
    "K.clip(x, 0.5, -1.0)",
    "K.clip(labels, 1, 2)",
    "K.sqrt(x)",
    "K.pow(x, a=2)",
    "K.maximum(x=x, y=u)",
    "K.minimum(x=x, y=u)",
    "K.equal(x=labels, y=labels)",
    "K.not_equal(x=x, y=u)",
    "K.greater(x=x, y=u)",
    "K.greater_equal(x=x, y=u)",
    "K.less(x=x, y=u)",
    "K.less_equal(x=x, y=u)",
    "K.relu(x)",
    "K.relu(x, alpha=0.2)",
    "K.relu(x, alpha=0.2, max_value=0.5)",
    "K.relu(x, alpha=0.2, max_value=0.5, threshold=0.3)",
    "K.relu(x, threshold=0.3)",
    "K.relu(x * 9, max_value=6)",
    "K.elu(x, alpha=1.0)",
    "K.elu(x, alpha=0.3)",
    "K.hard_sigmoid(x * 4)",
    "K.softmax(x)",
    "K.softmax(cube, axis=1)",
    "K.softmax(cube, axis=(1, 2))",
    "K.round(x * 3)",
    "K.l2_normalize(x, axis=1)",
    "K.bias_add(images, vector)",
    "K.bias_add(K.permute_dimensions(images, (0, 3, 1, 2)), vector, 'channels_first')",
    "K.bias_add(cube, x)",
    "K.bias_add(K.permute_dimensions(cube, (0, 2, 1)), x, 'channels_first')",
    # shapes
    "K.concatenate(tensors=[x, u])",
    "K.concatenate([x, u], axis=0)",
    "K.reshape(x, shape=(2, 6))",
    "K.permute_dimensions(cube, pattern=(2, 0, 1))",
    "K.transpose(cube)",
    "K.expand_dims(x)",
    "K.gather(reference=x, indices=[2, 0])",
    "K.one_hot(indices=labels, num_classes=5)",
    "K.repeat(x, n=2)",
    "K.repeat_elements(x, rep=3, axis=1)",
    "K.tile(x, n=[2, 1])",
    "K.tile(vector, n=2)",
    "K.reverse(cube, axes=1)",
    "K.reverse(cube, axes=[0, 2])",
    "K.squeeze(K.expand_dims(x, 1), axis=1)",
    "K.stack([x, u])",
    "K.arange(5)",
    "K.arange(-3)",
    "K.arange(1, 8, 2)",
    "K.arange(1, 8, step=2, dtype='float32')",
    "K.resize_images(images[:, :3, :3], 2, 3, 'channels_last')",
    "K.resize_images(images[:, :3, :3], 2, 1, 'channels_first')",
    "K.resize_images(images[:, :3, :3], 2, 3, 'channels_last', interpolation='bilinear')",
    "K.resize_images(images[:, :3, :3], 2, 2, 'channels_last', interpolation='bicubic')",
    "K.resize_images(images[:, :3, :3], 2, 2, 'channels_last', interpolation='area')",
    "K.resize_images(images[:, :3, :3], 2, 2, 'channels_last', interpolation='lanczos3')",
    "K.resize_volumes(volumes[:, :2, :2], 2, 1, 3, 'channels_last')",
    "K.resize_volumes(volumes[:, :2, :2], 2, 1, 3, 'channels_first')",
    "K.temporal_padding(sequences, padding=(2, 0))",
    "K.spatial_2d_padding(images, padding=((1, 0), (0, 2)))",
    "K.spatial_2d_padding(images, data_format='channels_first')",
    "K.spatial_3d_padding(volumes, ((1, 0), (0, 2), (1, 1)))",
    "K.spatial_3d_padding(volumes, data_format='channels_first')",
    # products and reductions
    "K.dot(x=x, y=y)",
    "K.dot(cube, y)",
    "K.dot(cube, cube2)",
    "K.batch_dot(x, u)",
    "K.batch_dot(x, u, axes=1)",
    "K.batch_dot(cube, cube2)",
    "K.batch_dot(cube, cube2, axes=(1, 2))",
    "K.batch_dot(cube, cube, axes=-1)",
    "K.batch_dot(hyper, cube, axes=(2, 2))",
    "K.batch_dot(cube, hyper, axes=(2, 2))",
    "K.batch_dot(hyper, hyper, axes=(3, 3))",
    "K.batch_dot(cube[:, 0], cube, axes=(1, 2))",
    "K.argmax(x)",
    "K.argmin(x)",
    "K.argmax(cube, axis=1)",
    "K.cumsum(x)",
    "K.cumsum(x, axis=1)",
    "K.cumprod(x)",
    "K.in_top_k(predictions=x, targets=labels, k=2)",
    "K.all(x > -1, axis=1)",
    "K.any(x > 1, axis=1, keepdims=True)",
    "K.mean(x, axis=[0, 1])",
    "K.std(x, axis=0)",
    "K.var(x, axis=0, keepdims=True)",
    "K.count_params(x)",
    "K.cast_to_floatx([1, 2])",
    # Variables and values
    "K.zeros(shape=(2, 3))",
    "K.ones(shape=(2,), dtype='float16', name='scale')",
    "K.eye(size=3)",
    "K.zeros_like(x, name='zeros')",
    "K.ones_like(labels, dtype='float32')",
    "K.update(K.variable(vector), positive)",
    "K.update_add(K.variable(vector), increment=positive)",
    "K.update_sub(K.variable(vector), decrement=positive)",
    "K.moving_average_update(K.variable(vector), value=positive, momentum=0.9)",
    "K.eval(K.variable(vector))",
    "K.is_sparse(x)",
    "K.to_dense(x)",
    "K.random_bernoulli((4,), p=1.0)",
    "K.random_bernoulli((4,))",
    "K.dropout(x, level=0.0)",
    # losses
    "K.binary_crossentropy(target=binary, output=p)",
    "K.binary_crossentropy(binary, K.constant([[0.0, 1.0, 0.0, 1.0]] * 3))",
    "K.binary_crossentropy(binary, x, from_logits=True)",
    "K.categorical_crossentropy(onehot, q)",
    "K.categorical_crossentropy(onehot, p * 3)",
    "K.categorical_crossentropy(onehot, x, from_logits=True)",
    "K.categorical_crossentropy(K.transpose(onehot), K.transpose(q), axis=0)",
    "K.sparse_categorical_crossentropy(labels, p)",
    "K.sparse_categorical_crossentropy(K.expand_dims(labels), q)",
    "K.sparse_categorical_crossentropy(labels, x, from_logits=True)",
    "K.sparse_categorical_crossentropy(labels, x, from_logits=True, ignore_class=2)",
    "K.sparse_categorical_crossentropy(labels, q, ignore_class=0)",
    "K.sparse_categorical_crossentropy(labels, K.transpose(q), axis=0)",
    "K.binary_focal_crossentropy(binary, p)",
    "K.binary_focal_crossentropy(binary, x, True, 0.3, 1.5, from_logits=True)",
    "K.categorical_focal_crossentropy(onehot, p, alpha=0.5, gamma=1.0)",
    "K.categorical_focal_crossentropy(onehot, x, [0.1, 0.2, 0.3, 0.4], from_logits=True)",
    # convolutions
    "K.conv1d(sequences, kernel1)",
    "K.conv1d(sequences, kernel1, strides=2, padding='same')",
    "K.conv1d(sequences, kernel1, padding='causal', dilation_rate=2)",
    "K.conv2d(images, kernel2, strides=(2, 1), padding='same')",
    "K.conv2d(images, kernel2, dilation_rate=(2, 2))",
    "K.conv2d(K.permute_dimensions(images, (0, 3, 1, 2)), kernel2, data_format='channels_first')",
    "K.conv3d(volumes, kernel3)",
    "K.depthwise_conv2d(images, depthwise, padding='same')",
    "K.separable_conv2d(images, depthwise, pointwise, strides=(2, 2))",
    "K.conv2d_transpose(images, transposed, (1, 8, 9, 4))",
    "K.conv2d_transpose(images, transposed, (1, 12, 14, 4), strides=(2, 2), padding='same')",
    "K.conv2d_transpose(images, transposed, (None, 11, 13, 4), strides=(2, 2), padding='same')",
    "K.conv2d_transpose(images, transposed, (1, 14, 15, 4), strides=(2, 2))",
    "K.conv2d_transpose(images, transposed, (1, 22, 25, 4), strides=(4, 4), padding='same')",
    "K.pool2d(images, (2, 2))",
    "K.pool2d(images, (3, 2), strides=(2, 2), padding='same', pool_mode='avg')",
    "K.pool2d(K.permute_dimensions(images, (0, 3, 1, 2)), (2, 2), data_format='channels_first')",
    "K.pool3d(volumes, (2, 2, 2), pool_mode='avg')",
    "K.pool3d(volumes, (2, 2, 2), strides=(2, 2, 2), padding='same')",
    "K.local_conv1d(sequences, local1, (3,), (2,))",
    "K.local_conv1d(K.permute_dimensions(sequences, (0, 2, 1)), local1, (3,), (2,),"
    " 'channels_first')",
    "K.local_conv2d(images, local2, (3, 2), (3, 2), (2, 3))",
    "K.local_conv2d(K.permute_dimensions(images, (0, 3, 1, 2)), local2, (3, 2), (3, 2), (2, 3),"
    " 'channels_first')",
    # normalization
    "K.batch_normalization(images, vector, positive, vector, positive, axis=3)",
    "K.batch_normalization(x, vector[0], positive[0], None, None)",
    "K.batch_normalization(cube2, vector, positive, vector, positive, epsilon=0.1)",
    "K.normalize_batch_in_training(x, None, None, [0])",
    "K.normalize_batch_in_training(images, positive, vector, [0, 1, 2])",
    "K.normalize_batch_in_training(images, None, None, [1, 2])",
    "K.normalize_batch_in_training(K.permute_dimensions(images, (0, 3, 1, 2)), positive, vector,"
    " [0, 2, 3])",
    # control flow
    "K.switch(K.constant(1) > 0, then_expression=x, else_expression=u)",
    "K.switch(K.constant(1) < 0, lambda: x, lambda: u)",
    "K.switch(x > 0, x, u)",
    "K.switch(x > 0, K.stack([x, u], axis=2), K.stack([u, x], axis=2))",
    "K.in_train_phase(x, u)",
    "K.in_train_phase(lambda: x, u, training=True)",
    "K.in_test_phase(x, u, training=1)",
    "K.map_fn(lambda row: row * 2, x)",
    "K.foldl(lambda total, row: total * 0.5 + row, x)",
    "K.foldr(lambda total, row: total * 0.5 + row, x)",
    "K.foldl(lambda total, row: total * 0.5 + row, x, initializer=u[0])",
    "K.stop_gradient(variables=x)",
    f"K.rnn({STEP}, sequences, [state])",
    f"K.rnn({STEP}, sequences, [state], go_backwards=True, unroll=True)",
    f"K.rnn({STEP}, sequences, [state], mask=mask)",
    f"K.rnn({STEP}, sequences, [state], mask=mask, go_backwards=True)",
    f"K.rnn({STEP}, sequences, [state], mask=mask, zero_output_for_mask=True)",
    f"K.rnn({STEP}, sequences, [state], mask=mask, return_all_outputs=False)",
    f"K.rnn({STEP}, sequences, [state], input_length=lengths)",
    "K.rnn(lambda x, s: (x + s[0] * s[1], [x + s[0] * s[1]]), sequences, [state],"
    " constants=[K.constant(0.5)])",
    # functions
    "(lambda a: K.function([a], [a * 2, K.sum(a)])([x]))(K.placeholder(shape=(None, 4)))",
    "(lambda a: K.function(a, K.exp(a))(x))(K.placeholder(ndim=2))",
    "(lambda a: K.function([a], [K.concatenate([a, K.relu(a)])])(x))(K.placeholder((None, 4)))",
]


def run(keras):
    """Return the results of all expressions as nested lists, by expression."""
    K = keras.backend
    names = {name: K.constant(value, dtype=value.dtype.name) for name, value in ARRAYS.items()}
    results = {}
    for case in CASES:
        try:
            results[case] = _plain(eval(case, {"K": K, "np": np, **names}))
        except Exception as error:
            raise RuntimeError(case) from error
    return results


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    array = np.asarray(value)
    return array.astype("float64").round(6).tolist() if array.dtype.kind == "f" else array.tolist()
