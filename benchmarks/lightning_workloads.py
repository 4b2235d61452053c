"""The workloads in PyTorch with Lightning: the same models, optimizers, batches and metrics.

One run is what a user writes: a new `Trainer` and its `fit` (or `predict`), with loggers, progress
bars and checkpoints disabled.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import lightning
import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from workloads import LATENT, WORKLOADS, Workload, batches

QUIET = {
    "logger": False,
    "enable_progress_bar": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
}
for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.filterwarnings("ignore")

# --- losses, each with its metric


def squares(y: Any, outputs: Any) -> tuple:
    """Mean squared and mean absolute error."""
    return functional.mse_loss(outputs, y), functional.l1_loss(outputs.detach(), y)


def summed_squares(y: Any, outputs: Any) -> tuple:
    """The sum of squares, and the percentage error."""
    error = ((y - outputs.detach()) / y.abs().clamp(min=1e-7)).abs().mean() * 100
    return functional.mse_loss(outputs, y, reduction="sum"), error


def cross_entropy(y: Any, logits: Any) -> tuple:
    """Cross-entropy of classes, and the accuracy."""
    return functional.cross_entropy(logits, y), (logits.detach().argmax(-1) == y).float().mean()


# --- models


def mlp(*sizes: int, activation: type = nn.ReLU) -> nn.Module:
    """Dense layers with an activation between them."""
    layers: list = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


class Cnn(nn.Module):
    """Two convolutions with pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            [nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)]
        )
        self.out = nn.Linear(1568, 10)

    def forward(self, x: Any) -> Any:
        for convolution in self.convolutions:
            x = functional.max_pool2d(functional.relu(convolution(x)), 2)
        return self.out(x.flatten(1))


def convolution_block(inputs: int, filters: int, stride: int = 1, size: int = 3) -> nn.Module:
    """A convolution and batch normalization."""
    convolution = nn.Conv2d(inputs, filters, size, stride, padding=size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01))


class Residual(nn.Module):
    """Two blocks of two convolutions with batch normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.first = convolution_block(3, 16)
        self.shortcuts = nn.ModuleList([nn.Identity(), convolution_block(16, 32, 2, size=1)])
        self.blocks = nn.ModuleList(
            [
                nn.Sequential(convolution_block(16, n, stride), nn.ReLU(), convolution_block(n, n))
                for n, stride in ((16, 1), (32, 2))
            ]
        )
        self.out = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        x = functional.relu(self.first(x))
        for shortcut, block in zip(self.shortcuts, self.blocks, strict=True):
            x = functional.relu(block(x) + shortcut(x))
        return self.out(x.mean((2, 3)))


class Transformer(nn.Module):
    """Two blocks of attention and a small MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, 64)
        self.positions = nn.Parameter(torch.rand(32, 64) * 0.1 - 0.05)
        self.norms = nn.ModuleList([nn.LayerNorm(64, eps=1e-6) for _ in range(4)])
        self.attention = nn.ModuleList(
            [nn.MultiheadAttention(64, 4, batch_first=True) for _ in range(2)]
        )
        self.mlps = nn.ModuleList([mlp(64, 128, 64, activation=nn.GELU) for _ in range(2)])
        self.out = nn.Linear(64, 10)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.positions
        for number in range(2):
            h = self.norms[2 * number](x)
            x = x + self.attention[number](h, h, h, need_weights=False)[0]
            x = x + self.mlps[number](self.norms[2 * number + 1](x))
        return self.out(x.mean(1))


class Lstm(nn.Module):
    """An LSTM over the rows of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(28, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        return self.out(self.lstm(x)[1][0][0])


class Training(lightning.LightningModule):
    """A Lightning module of a model, its loss and its optimizer."""

    def __init__(self, net: nn.Module, loss: Callable, optimizer: Callable):
        super().__init__()
        self.net, self.loss, self.optimizer = net, loss, optimizer

    def training_step(self, batch: Any, _: int) -> Any:
        x, y = batch
        loss, metric = self.loss(y, self.net(x))
        self.log_dict(
            {"loss": loss, "metric": metric}, on_step=False, on_epoch=True, batch_size=len(x)
        )
        return loss

    def predict_step(self, batch: Any, _: int) -> Any:
        return self.net(batch[0])

    def configure_optimizers(self) -> Any:
        return self.optimizer(self.parameters())


class Reshape(nn.Module):
    """Reshapes vectors to the images that the first transposed convolution takes."""

    def forward(self, x: Any) -> Any:
        return x.view(-1, 128, 7, 7)


class GlobalMaxPool(nn.Module):
    """The maximum of each channel."""

    def forward(self, x: Any) -> Any:
        return x.amax((2, 3))


class Gan(lightning.LightningModule):
    """The seed's GAN."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        leaky = nn.LeakyReLU(0.2)
        self.d = nn.Sequential(
            nn.Conv2d(1, 64, 3, 2, 1),
            leaky,
            nn.Conv2d(64, 128, 3, 2, 1),
            leaky,
            GlobalMaxPool(),
            nn.Linear(128, 1),
        )
        up = [layer for _ in range(2) for layer in (nn.ConvTranspose2d(128, 128, 4, 2, 1), leaky)]
        self.g = nn.Sequential(
            nn.Linear(LATENT, 6272),
            leaky,
            Reshape(),
            *up,
            nn.Conv2d(128, 1, 7, padding="same"),
            nn.Sigmoid(),
        )

    def training_step(self, batch: Any, _: int) -> None:
        real, loss_of = batch[0], functional.binary_cross_entropy_with_logits
        count = len(real)
        d_optimizer, g_optimizer = self.optimizers()
        with torch.no_grad():
            generated = self.g(torch.randn(count, LATENT))
        labels = torch.cat([torch.ones(count, 1), torch.zeros(count, 1)])
        labels += 0.05 * torch.rand_like(labels)
        d_loss = loss_of(self.d(torch.cat([generated, real])), labels)
        d_optimizer.zero_grad()
        self.manual_backward(d_loss)
        d_optimizer.step()
        self.d.requires_grad_(False)
        g_loss = loss_of(self.d(self.g(torch.randn(count, LATENT))), torch.zeros(count, 1))
        g_optimizer.zero_grad()
        self.manual_backward(g_loss)
        g_optimizer.step()
        self.d.requires_grad_(True)
        self.log_dict(
            {"d_loss": d_loss, "g_loss": g_loss}, on_step=False, on_epoch=True, batch_size=count
        )

    def configure_optimizers(self) -> Any:
        return [torch.optim.Adam(net.parameters(), 3e-4) for net in (self.d, self.g)]


class Batches(IterableDataset):
    """The batches of the generator for one epoch."""

    def __init__(self, x: np.ndarray, y: np.ndarray, workload: Workload):
        self.arrays, self.workload = (x, y), workload

    def __iter__(self) -> Iterator:
        source = batches(*self.arrays, self.workload.batch)
        for _ in range(self.workload.samples // self.workload.batch):
            yield tuple(map(torch.from_numpy, next(source)))


def adam(parameters: Any) -> Any:
    """Return Adam as Keras sets it."""
    return torch.optim.Adam(parameters, 1e-3, eps=1e-7)


def sgd(parameters: Any) -> Any:
    """Return SGD as Keras sets it."""
    return torch.optim.SGD(parameters, 0.01)


MODULES: dict[str, Callable] = {
    "dense": lambda: Training(mlp(32, 1), squares, adam),
    "dense_long": lambda: Training(mlp(32, 1), squares, adam),
    "five": lambda: Training(mlp(10, 1), summed_squares, sgd),
    "mlp": lambda: Training(mlp(784, 512, 512, 10), cross_entropy, adam),
    "cnn": lambda: Training(Cnn(), cross_entropy, adam),
    "residual": lambda: Training(Residual(), cross_entropy, adam),
    "transformer": lambda: Training(Transformer(), cross_entropy, adam),
    "lstm": lambda: Training(Lstm(), cross_entropy, adam),
    "gan": Gan,
    "predict": lambda: Training(mlp(32, 64, 1), squares, adam),
    "generator": lambda: Training(mlp(32, 64, 1), squares, adam),
}


class LightningTrainer:
    """A module and its data; `run()` does what `Workload.run` does with a model."""

    def __init__(self, name: str):
        self.workload: Workload = WORKLOADS[name]
        self.module = MODULES[name]()
        x, y = self.workload.data()
        if self.workload.kind == "generator":
            self.loader = DataLoader(Batches(x, y, self.workload), batch_size=None)
            return
        if x.ndim == 4:
            x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
        tensors = [torch.from_numpy(part) for part in (x, y) if part is not None]
        tensors = [part.long() if part.dtype == torch.int32 else part for part in tensors]
        shuffle = self.workload.shuffle and self.workload.kind == "fit"
        self.loader = DataLoader(
            TensorDataset(*tensors), batch_size=self.workload.batch, shuffle=shuffle
        )

    def run(self) -> Any:
        """Run the workload once."""
        trainer = lightning.Trainer(max_epochs=self.workload.epochs, accelerator="cpu", **QUIET)
        if self.workload.kind == "predict":
            return torch.cat(trainer.predict(self.module, self.loader)).numpy()
        trainer.fit(self.module, self.loader)
        return {name: float(value) for name, value in trainer.callback_metrics.items()}
