"""Records what Keras's operations answer, for `test_against_keras.py`. Run with an interpreter that
has Keras 3 on JAX:

    KERAS_BACKEND=jax python tests/ops/record_keras_ops.py

A case is an expression. The same text is evaluated here with `keras.ops` and in the test with
`podium.ops`.
"""

import inspect
import json
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "fixtures"
DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
    "int",
    "float",
)

# Dtype rules only: every operation over every pair, or every single dtype, of DTYPES ("int" and
# "float" are Python scalars).
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "mod",
    "floor_divide",
    "power",
    "arctan2",
    "logaddexp",
    "equal",
    "less",
    "logical_and",
]
REAL = [
    "sin",
    "cos",
    "exp",
    "log",
    "sqrt",
    "floor",
    "ceil",
    "tanh",
    "arcsin",
    "log1p",
    "expm1",
    "erf",
    "rsqrt",
    "reciprocal",
    "cbrt",
    "sinc",
    "deg2rad",
    "sigmoid",
]
UNARY = [
    *REAL,
    *[
        "abs",
        "negative",
        "sign",
        "square",
        "mean",
        "sum",
        "max",
        "var",
        "std",
        "prod",
        "argmax",
        "cumsum",
        "median",
        "any",
        "isnan",
        "round",
        "trunc",
    ],
]


def inputs():
    """Arrays that the cases may name."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3)).astype("float32")
    spd = (lambda a: a @ a.T + 3 * np.eye(3))(rng.normal(size=(3, 3))).astype("float32")
    return {
        "x": x,
        "y": rng.normal(size=(2, 3)).astype("float32"),
        "p": rng.uniform(0.1, 0.9, size=(2, 3)).astype("float32"),
        "big": (rng.uniform(1.1, 3.0, size=(2, 3))).astype("float32"),
        "v": np.array([3.0, -1.0, 2.5, 0.0], "float32"),
        "i": np.array([[3, 1, 2], [0, 5, 4]], "int32"),
        "j": np.array([[1, 2, 3], [4, 2, 1]], "int32"),
        "bit": np.array([[1, 0, 2], [3, 1, 1]], "int32"),
        "flag": np.array([[True, False, True], [False, False, True]]),
        "nan": np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]], "float32"),
        "inf": np.array([1.0, np.inf, -np.inf, np.nan], "float32"),
        "half": x.astype("float16"),
        "z": (x[0] + 1j * x[1]).astype("complex64"),
        "m": rng.normal(size=(3, 4)).astype("float32"),
        "spd": spd,
        "low": np.linalg.cholesky(spd).astype("float32"),
        "batch": rng.normal(size=(2, 4, 3)).astype("float32"),
        "seq": rng.normal(size=(2, 7, 4)).astype("float32"),
        "img": rng.uniform(size=(2, 6, 5, 3)).astype("float32"),
        "imgf": rng.uniform(size=(2, 3, 6, 5)).astype("float32"),
        "byte": rng.integers(0, 255, size=(2, 6, 5, 3)).astype("uint8"),
        "vol": rng.normal(size=(1, 4, 5, 3, 2)).astype("float32"),
        "k1": rng.normal(size=(3, 4, 5)).astype("float32"),
        "k2": rng.normal(size=(3, 2, 3, 4)).astype("float32"),
        "k2g": rng.normal(size=(2, 2, 1, 6)).astype("float32"),
        "kd": rng.normal(size=(2, 3, 3, 2)).astype("float32"),
        "kp": rng.normal(size=(1, 1, 6, 4)).astype("float32"),
        "k2t": rng.normal(size=(3, 2, 4, 3)).astype("float32"),
        "k3": rng.normal(size=(2, 3, 2, 2, 3)).astype("float32"),
        "signal": rng.normal(size=(2, 64)).astype("float32"),
        "window": np.hanning(16).astype("float32"),
        "q": rng.normal(size=(2, 4, 2, 8)).astype("float32"),
        "kv": rng.normal(size=(2, 5, 2, 8)).astype("float32"),
        "mask": rng.uniform(size=(2, 1, 4, 5)) > 0.3,
        "bias": rng.normal(size=(2, 2, 4, 5)).astype("float32"),
        "logits": rng.normal(size=(2, 6, 4)).astype("float32"),
        "labels": np.array([[1, 2, 2], [3, 1, 0]], "int32"),
        "points": np.array([[0, 0], [4, 0], [0, 5], [4, 5]], "float32"),
        "moved": np.array([[1, 0], [4, 1], [0, 4], [3, 5]], "float32"),
        "tall": rng.uniform(size=(2, 16, 12, 1)).astype("float32"),
    }


CASES = """
absolute(x); abs(i); angle(z); arccos(p); arccosh(big); arcsin(p); arcsinh(x); arctan(x); arctanh(p); bitwise_invert(i)
bitwise_not(i); cbrt(x); ceil(x); conj(z); conjugate(z); copy(x); cos(x); cosh(x); deg2rad(x); erf(x); erfc(x); erfinv(p)
exp(x); exp(i); exp2(x); expm1(x); fabs(x); floor(x); floor(i); i0(x); imag(z); isfinite(inf); isinf(inf); isnan(inf)
isneginf(inf); isposinf(inf); isreal(z); log(p); log10(p); log1p(p); log2(p); logical_not(flag); nan_to_num(inf)
nan_to_num(inf, nan=1.0, posinf=5.0, neginf=-5.0); negative(x); rad2deg(x); real(z); reciprocal(x); round(x); round(x, 1)
round(i, -1); rsqrt(p); sign(x); sign(i); signbit(x); sin(x); sinc(x); sinh(x); sqrt(p); square(x); square(i); tan(x); tanh(x)
trunc(x); trunc(i); clip(x, -0.5, 0.5); clip(i, 1, 3); clip(flag, 0, 1); view(x, "int32"); view_as_complex(p[:, :2])
view_as_real(z)
polar(p, x)
add(x, y); add(x, 1); add(i, 2.5); arctan2(x, y); bitwise_and(i, j); bitwise_or(i, j); bitwise_xor(i, j)
bitwise_left_shift(i, bit); bitwise_right_shift(i, bit); left_shift(i, 1); right_shift(i, 1); divide(x, y); divide(i, j)
divide_no_nan(x, [[0.0, 1, 2]]); equal(i, j); floor_divide(x, y); floor_divide(i, j); fmax(nan, 2.0); fmin(nan, 2.0); fmod(x, y)
fmod(i, j); gcd(i, j); greater(i, j); greater_equal(i, j); heaviside(v, 0.5); hypot(x, y); lcm(i, j); ldexp(x, i); less(i, j)
less_equal(i, j); logaddexp(x, y); logaddexp2(x, y); logical_and(flag, i); logical_or(flag, i); logical_xor(flag, i)
maximum(x, y); minimum(x, 0); mod(x, y); mod(i, j); multiply(x, y); multiply(i, 2); nextafter(x, y); not_equal(i, j)
power(p, x); power(i, 2); subtract(x, y); true_divide(i, 2); isclose(x, y); allclose(x, x); isin(i, [1, 4])
isin(i, [1], invert=True)
all(flag); all(flag, axis=1); any(flag, axis=0, keepdims=True); amax(x, axis=1); amin(x); argmax(x, axis=1); argmax(i)
argmin(x, axis=0)
argmax(x, axis=1, keepdims=True); argmax([-0.0, 0.0]); argpartition(v, 1); argsort(v); argsort(x, axis=0); average(x, axis=1)
average(x, weights=p); average(i, axis=0); bincount(array([0, 2, 2, 5])); bincount(array([[0, 1], [2, 2]]), minlength=4)
bincount(array([0, 1, 1]), weights=array([0.5, 1.0, 2.0])); corrcoef(m); count_nonzero(bit); count_nonzero(bit, axis=1)
cumprod(x, axis=1)
cumsum(i); cumsum(x, axis=0); cumsum(i, axis=1, dtype="float32"); diff(v); diff(x, n=2, axis=-1); digitize(x, [-1.0, 0.0, 1.0])
histogram(v, bins=3); histogram(v, bins=4, range=(-2.0, 4.0)); logsumexp(x); logsumexp(x, axis=1, keepdims=True); max(x, axis=1)
max(i, initial=9); mean(x); mean(i, axis=0); mean(half); mean(flag); median(x); median(x, axis=1, keepdims=True)
min(x, axis=(0, 1))
nanargmax(nan, axis=1); nanargmin(nan, axis=1); nancumprod(nan, axis=1); nancumsum(nan); nanmax(nan, axis=0)
nanmean(nan, axis=1)
nanmedian(nan); nanmin(nan, axis=1); nanpercentile(nan, 30.0); nanprod(nan, axis=1); nanquantile(nan, 0.3, axis=1); nanstd(nan)
nansum(nan, axis=0)
nanvar(nan, axis=1); ndim(x); percentile(x, 40.0); percentile(x, [10.0, 90.0], axis=1); prod(x, axis=0); prod(i)
prod(i, dtype="float32")
ptp(x, axis=1); quantile(x, 0.3); quantile(x, 0.3, axis=1, method="nearest", keepdims=True)
searchsorted([1, 3, 5], [0, 3, 9], side="right")
size(x); sort(x); sort(i, axis=0); std(x, axis=1); std(half); sum(x); sum(i, axis=0); sum(flag)
sum(half, axis=1, keepdims=True)
trapezoid(v); trapezoid(x, dx=0.5); trapezoid(v, x=[0.0, 1.0, 3.0, 4.0]); unique([3, 1, 3, 2])
unique([3, 1, 3], return_counts=True)
unique([3, 1, 3], return_index=True, return_inverse=True); var(x, axis=1); var(i); var(half)
arange(5); arange(1, 2, 0.25); arange(0, 6, 2, dtype="float32"); arange(3.0); array([1, 2], dtype="int8"); bartlett(5)
blackman(5)
hamming(5); hanning(5); kaiser(5, 3.0); empty((2,)); eye(2, 3); eye(3, k=1, dtype="int32"); full((2, 2), 7)
full((2,), 7, dtype="int32")
full_like(i, 2); full_like(x, 2, dtype="int32"); geomspace(1.0, 8.0, 4); identity(3); linspace(0, 1, 5)
linspace(0.0, 1.0, 4, endpoint=False)
linspace(0.0, 2.0, 3, retstep=True); logspace(0.0, 2.0, 3); meshgrid(array([1, 2]), array([3, 4, 5]))
meshgrid(array([1, 2]), array([3.0]), indexing="ij")
ones((2,)); ones_like(i); tri(3); tri(2, 3, 1); vander(array([1, 2, 3])); vander(v, 2, increasing=True)
zeros((2,), dtype="bool"); zeros_like(x, dtype="int32")
append(x, y); append(x, y, axis=0); array_split(v, 3); broadcast_to(v, (2, 4)); concatenate([x, y]); concatenate([x, i], axis=1)
diag(v); diag(spd, k=1); diagflat(x); diagonal(batch); diagonal(batch, 1, 1, 2); dsplit(batch, 3); dstack([x, y])
expand_dims(x, 1)
flip(x); flip(x, axis=1); fliplr(x); flipud(x); get_item(x, (0, Ellipsis)); get_item(x, 1); hsplit(batch, 2); hstack([x, y])
moveaxis(batch, 0, -1); nonzero(bit); pad(x, 1); pad(x, ((1, 0), (0, 2)), constant_values=3.0)
pad(x, [[1, 1], [0, 0]], mode="reflect")
ravel(x); rearrange(batch, "a (b c) d -> a d b c", b=2); rearrange(x, "a b -> (b a)"); repeat(x, 2); repeat(x, 2, axis=1)
repeat(v, array([1, 0, 2, 1]))
reshape(x, (3, 2)); reshape(x, -1); roll(x, 1); roll(x, 1, axis=1); rot90(x); rot90(batch, k=2, axes=(1, 2))
select([x > 0.5, x < -0.5], [x, -x], 7.0)
split(x, 3, axis=1); split(v, [1, 3]); squeeze(expand_dims(x, 0)); squeeze(expand_dims(x, 0), axis=0); stack([x, y], axis=1)
swapaxes(batch, 0, 2)
take(x, [1, 0, 1], axis=1); take(x, [0, 4]); take_along_axis(x, [[1], [0]], axis=1); tile(x, 2); tile(x, (2, 1, 2)); trace(spd)
trace(batch, 1, 1, 2)
transpose(batch); transpose(batch, (1, 0, 2)); tril(spd); triu(spd, 1); unravel_index([1, 5], (2, 3)); unstack(x)
unstack(x, axis=1)
vsplit(batch, 2); vstack([x, y]); where(flag, x, y); where(flag, x, 0); where(flag, 1, 0.5); where(flag)
correlate(v, [1.0, 2.0]); correlate(v, [1.0, 2.0], mode="same"); cross(x, y); dot(x, m); dot(v, v); einsum("ij,jk->ik", x, m)
einsum("ij->j", x)
einsum("bij,bij->b", batch, batch); inner(x, y); kron(x, y); matmul(x, m); matmul(batch, m)
matmul(array(i, "int8"), transpose(array(i, "int8")))
outer(v, v); tensordot(batch, m, axes=1); tensordot(batch, batch, axes=[[0, 1], [0, 1]]); vdot(x, y)
celu(x); celu(x, 0.5); elu(x); elu(x, 0.3); gelu(x); gelu(x, approximate=False); glu(seq); hard_shrink(x); hard_sigmoid(x)
hard_silu(x)
hard_swish(x); hard_tanh(x); leaky_relu(x); leaky_relu(x, 0.4); log_sigmoid(x); log_softmax(x); log_softmax(batch, axis=(0, 1))
relu(x); relu(i)
relu6(big); selu(x); sigmoid(x); silu(x); soft_shrink(x); softmax(x); softmax(x, axis=0); softmax(batch, axis=(1, 2))
softplus(x); softsign(x)
sparse_plus(x); sparse_sigmoid(x); sparsemax(x); sparsemax(batch, axis=-1); squareplus(x); squareplus(x, 2); swish(x)
tanh_shrink(x); threshold(x, 0.1, -3.0)
binary_crossentropy(p, p); binary_crossentropy(p, x, from_logits=True); categorical_crossentropy(p, p)
categorical_crossentropy(p, x, from_logits=True)
categorical_crossentropy(p, p, axis=0); sparse_categorical_crossentropy([2, 0], p)
sparse_categorical_crossentropy([[2], [0]], x, from_logits=True)
one_hot(i, 4); one_hot([0, 2], 3, axis=0, dtype="int32"); multi_hot([[0, 2], [1, 1]], 3); multi_hot([0, 2], 4, dtype="int32")
psnr(p, p * 0.9, 1.0)
moments(x, 0); moments(batch, (0, 1), keepdims=True); moments(half, 1); batch_normalization(batch, p[0], p[1], axis=-1)
batch_normalization(batch, p[0], p[1], axis=-1, offset=x[0], scale=y[0], epsilon=1e-2); layer_normalization(x)
layer_normalization(x, p[0], y[0], epsilon=1e-3)
layer_normalization(batch, axis=(1, 2)); rms_normalization(x); rms_normalization(x, p[0]); rms_normalization(half); normalize(x)
normalize(x, axis=0, order=1)
normalize(x, order=3); depth_to_space(transpose(batch[:, None], (0, 1, 3, 2)), 2); space_to_depth(img[:, :4, :4], 2)
space_to_depth(imgf[:, :, :4, :4], 2, "channels_first")
depth_to_space(moveaxis(batch[:, None], 2, 1), 2, "channels_first"); unfold(imgf, 2); unfold(imgf, (2, 3), 1, 1, 2)
fold(unfold(imgf, 2), (6, 5), 2); fold(unfold(imgf, (2, 3), 1, 1, 2), (6, 5), (2, 3), 1, 1, 2)
conv(seq, k1); conv(seq, k1, 2, "same"); conv(seq, k1, dilation_rate=2); conv(img, k2); conv(img, k2, (2, 1), "same")
conv(img, k2[:, :, :1, :3], 1, "same")
conv(imgf, k2, data_format="channels_first"); conv(vol, k3); conv(vol, k3, (1, 2, 1), "same"); depthwise_conv(img, kd)
depthwise_conv(img, kd, 2, "same")
depthwise_conv(imgf, kd, data_format="channels_first"); separable_conv(img, kd, kp); separable_conv(img, kd, kp, 2, "same")
conv_transpose(img, k2t); conv_transpose(img, k2t, 2); conv_transpose(img, k2t, 2, "same")
conv_transpose(img, k2t, (3, 2), "same", output_padding=1)
conv_transpose(img, k2t, 1, "valid", dilation_rate=2); conv_transpose(imgf, k2t, 2, data_format="channels_first")
conv_transpose(seq, transpose(k1, (0, 2, 1)), 2, "same")
max_pool(seq, 2, 2); max_pool(img, 2, 2); max_pool(img, (3, 2), 1, "same"); max_pool(imgf, 2, 2, data_format="channels_first")
max_pool(vol, 2, 2)
average_pool(seq, 2, 2); average_pool(img, 2, 2); average_pool(img, 3, 2, "same")
average_pool(imgf, 2, 2, data_format="channels_first"); average_pool(vol, 2, 1)
adaptive_average_pool(seq, 3); adaptive_average_pool(img, (2, 3)); adaptive_average_pool(imgf, 4, "channels_first")
adaptive_average_pool(vol, 2)
adaptive_max_pool(seq, 3); adaptive_max_pool(img, (4, 3)); adaptive_max_pool(vol, (2, 2, 3))
dot_product_attention(q, kv, kv); dot_product_attention(q, kv, kv, mask=mask)
dot_product_attention(q, kv, kv, bias=bias, scale=0.3); dot_product_attention(q, q, q, is_causal=True)
ctc_loss(labels, logits, [3, 2], [6, 5], mask_index=0); ctc_loss(labels, logits, [2, 1], [6, 4], mask_index=3)
ctc_decode(logits, [6, 4]); ctc_decode(logits, [6, 4], merge_repeated=False, mask_index=3)
ctc_decode(logits, [6, 4], strategy="beam_search", beam_width=5, top_paths=2, mask_index=0)
cholesky(spd); cholesky(spd, upper=True); cholesky_inverse(low); det(spd); eigh(spd)[0]; inv(spd); logdet(spd)
lstsq(m, [1.0, 2.0, 3.0]); lu_factor(spd); matrix_rank(m)
norm(x); norm(x, axis=1); norm(x, ord=1, axis=1, keepdims=True); norm(x, ord="fro", axis=(0, 1)); norm(i, ord=3, axis=1)
norm(spd, ord=2, axis=(0, 1)); pinv(m); slogdet(spd)
qr(m)[1]; qr(m, mode="complete")[1]; solve(spd, [1.0, 2.0, 3.0]); solve(spd, m); solve_triangular(low, m, lower=True); svd(m)[1]
svd(m, compute_uv=False); cdist(x, y); cdist(batch, batch)
segment_sum(x, array([0, 0]), num_segments=2); segment_max(v, array([0, 0, 1, 1]), num_segments=3)
segment_min(v, array([0, 1, 1, 0]), num_segments=2); segment_prod(v, array([0, 0, 2, 2]), num_segments=3, sorted=True)
top_k(x, 2); in_top_k(array([2, 0]), x, 2); extract_sequences(signal, 16, 8); fft((x, y)); fft2((x, y)); ifft2((x, y)); rfft(x)
rfft(x, 8); irfft((x, y)); irfft((x, y), 6)
stft(signal, 16, 8, 16); stft(signal, 12, 5, 16, window="hamming", center=False); stft(signal, 16, 8, 32, window=window)
stft(signal, 8, 4, 8, window=None)
istft(stft(signal, 16, 8, 16), 16, 8, 16); istft(stft(signal, 12, 4, 16), 12, 4, 16, length=60)
istft(stft(signal, 16, 8, 32, window=None), 16, 8, 32, window=None)
cast(x, "int32"); saturate_cast(x * 400.0, "uint8"); saturate_cast(i * 100, "int8"); saturate_cast(x, "float16")
slice(batch, [0, 1, 0], [2, 2, -1]); slice_update(x, [0, 1], array([[7.0], [8.0]]))
scatter(array([[0], [2], [2]]), array([1.0, 2.0, 3.0]), (4,)); scatter(array([[0, 1], [1, 2]]), array([5, 6]), (2, 3))
scatter_update(x, [[0, 1], [1, 2]], [5.0, 6.0]); scatter_update(x, [[0, 1], [0, 1]], [5.0, 6.0], reduction="add")
scatter_update(x, [[0, 1]], [5.0], reduction="max"); scatter_update(x, [[0, 1]], [5.0], reduction="mul")
scatter_update(x, [[1]], [[9.0, 9.0, 9.0]], reduction="min")
cond(x[0, 0] > 0, lambda: x, lambda: y); switch(1, [lambda a: a, lambda a: a * 2], x)
while_loop(lambda n, a: n < 3, lambda n, a: (n + 1, a * 2), (0, x))
while_loop(lambda n: n < 30, lambda n: n + 7, array(1), maximum_iterations=2); fori_loop(0, 3, lambda n, a: a + n, array(1))
scan(lambda c, a: (c + a, c * a), x[0], y)
scan(lambda c, a: (c + a, c), x[0], y, reverse=True); associative_scan(lambda a, b: a + b, m); map(lambda a: a * 2, x)
vectorized_map(lambda a: sum(a), x)
vectorize(lambda a, b: a + b)(x, 1.0); jvp(lambda a: a * a, (x,), (y,))
image.rgb_to_grayscale(img); image.rgb_to_grayscale(byte); image.rgb_to_hsv(img); image.hsv_to_rgb(img)
image.rgb_to_hsv(imgf, data_format="channels_first")
image.resize(img, (3, 4)); image.resize(img, (9, 7), interpolation="nearest")
image.resize(img, (9, 7), interpolation="bicubic"); image.resize(img, (4, 4), interpolation="lanczos3", antialias=True)
image.resize(img, (4, 4), interpolation="lanczos5"); image.resize(byte, (4, 4))
image.resize(byte, (4, 4), interpolation="bicubic"); image.resize(img[0], (4, 8), crop_to_aspect_ratio=True)
image.resize(img, (4, 8), pad_to_aspect_ratio=True, fill_value=0.5); image.resize(img, (8, 4), pad_to_aspect_ratio=True)
image.resize(imgf, (4, 8), data_format="channels_first", crop_to_aspect_ratio=True)
image.affine_transform(img, 2 * [[1.1, 0.2, -1.0, -0.1, 0.9, 0.5, 0.0, 0.0]])
image.affine_transform(img, 2 * [[1.0, 0.3, 1.0, 0.1, 1.2, -2.0, 0.0, 0.0]], interpolation="nearest", fill_mode="nearest")
image.affine_transform(imgf, [[1.0, 0.3, 1.0, 0.1, 1.2, -2.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0, 0.0]], fill_mode="reflect", data_format="channels_first")
image.affine_transform(img[0], [1.1, 0.2, -1.0, -0.1, 0.9, 0.5, 0.0, 0.0], fill_mode="constant", fill_value=0.7)
image.perspective_transform(img[0], points, moved)
image.perspective_transform(img, stack([points, points]), stack([moved, points]), interpolation="nearest", fill_value=0.3)
image.map_coordinates(x, [[0.5, 1.2], [0.3, 1.9]], order=1)
image.map_coordinates(x, [[-1.5, 1.2], [0.3, 5.9]], order=1, fill_mode="reflect")
image.map_coordinates(i, [[0.6], [1.2]], order=0)
image.pad_images(img, 1, 2, target_height=9, target_width=8); image.crop_images(img, 1, 2, target_height=3, target_width=2)
image.crop_images(imgf, 1, 2, 1, 0, data_format="channels_first")
image.extract_patches(img, 2); image.extract_patches(img, (2, 3), strides=1, padding="same")
image.extract_patches(imgf, 2, data_format="channels_first"); image.extract_patches(img[0], 2, dilation_rate=2, strides=1)
image.extract_patches_3d(vol, 2); image.extract_patches(vol, (2, 2, 3), strides=1)
image.gaussian_blur(img, data_format="channels_last")
image.gaussian_blur(img[0], (5, 3), (2.0, 0.7), data_format="channels_last")
image.sobel_edges(img); image.ssim(tall, tall * 0.8); image.ssim(tall[0], tall[0] * 0.8, max_val=2.0, filter_size=7)
image.scale_and_translate(img[0], (6, 5, 3), [1.5, 0.5], [0.5, 1.0], (0, 1), "linear")
image.scale_and_translate(img[0], (8, 8, 3), [1.5, 0.5], [0.5, 1.0], (0, 1), "cubic", antialias=False)
"""  # noqa: E501


def cases():
    """The cases, one expression each."""
    return [case.strip() for line in CASES.strip().splitlines() for case in line.split(";")]


def evaluate(case, ops, values):
    """The value of a case as a flat list of results, under the given library."""
    names = {name: getattr(ops, name) for name in dir(ops) if not name.startswith("_")}
    result = eval(case, {**names, **values})
    return flat(result)


def flat(result):
    """Nested tuples and lists as one list."""
    return (
        [part for each in result for part in flat(each)]
        if isinstance(result, (tuple, list))
        else [result]
    )


def signatures(ops):
    """Parameters and defaults of every operation: `{"sum": ["x", "axis=None",
    "keepdims=False"]}`.
    """
    found = {}
    for prefix, module in (
        ("", ops),
        ("image.", ops.image),
        ("linalg.", ops.linalg),
        ("nn.", ops.nn),
        ("numpy.", ops.numpy),
    ):
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                parameters = inspect.signature(value).parameters.values()
                found[prefix + name] = [str(p.replace(annotation=p.empty)) for p in parameters]
    return found


def name_of(result):
    return str(getattr(result, "dtype", type(result).__name__))


def record():
    """Evaluate everything with Keras and write the fixtures."""
    import jax
    import keras

    ops = keras.ops
    values = {name: ops.convert_to_tensor(array) for name, array in inputs().items()}
    arrays, dtypes = {}, {}
    for number, case in enumerate(cases()):
        parts = evaluate(case, ops, values)
        dtypes[case] = [name_of(part) for part in parts]
        for index, part in enumerate(parts):
            array = np.asarray(part)
            arrays[f"{number}.{index}"] = (
                array.astype("float32") if array.dtype.name == "bfloat16" else array
            )
    rules = {}
    for name in BINARY:
        rules[name] = {
            f"{a},{b}": dtype_of(getattr(ops, name), jax, a, b) for a in DTYPES for b in DTYPES
        }
    for name in UNARY:
        rules[name] = {a: dtype_of(getattr(ops, name), jax, a) for a in DTYPES[:-2]}
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(FOLDER / "keras_ops.npz", **arrays)
    facts = {
        "version": keras.__version__,
        "signatures": signatures(ops),
        "dtypes": dtypes,
        "rules": rules,
    }
    (FOLDER / "keras_ops.json").write_text(json.dumps(facts))


def dtype_of(fn, jax, *dtypes):
    """The dtype of `fn` on dtypes, found without computing; `None` where it refuses."""
    scalars = {"int": 2, "float": 2.5}
    specs = [jax.ShapeDtypeStruct((3,), dtype) for dtype in dtypes if dtype not in scalars]

    def call(*arrays):
        rest = iter(arrays)
        return fn(*(scalars[dtype] if dtype in scalars else next(rest) for dtype in dtypes))

    try:
        return str(jax.eval_shape(call, *specs).dtype)
    except (TypeError, ValueError):
        return None


if __name__ == "__main__":
    record()
