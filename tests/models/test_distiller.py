"""Distiller and its losses: arguments, several outputs, configs. Numbers: `tests/oracle`."""

import numpy as np
import pytest

import podium
from podium import layers, models


def make_model(units=2, size=3):
    return podium.Sequential([podium.Input((size,)), layers.Dense(units, name="logits")])


def test_losses_of_several_outputs_are_added():
    outputs = [podium.ops.ones((2, 3)), podium.ops.zeros((2, 3))]
    others = [podium.ops.zeros((2, 3)), podium.ops.zeros((2, 3)) + 3.0]
    loss = models.FeatureDistillation(["mse", None])
    assert float(loss.compute_loss(outputs, others)) == 1.0
    assert float(models.FeatureDistillation(["mse", "mae"]).compute_loss(outputs, others)) == 4.0
    with pytest.raises(ValueError, match="2 losses were given for 1 outputs"):
        loss.compute_loss(outputs[0], others[0])
    with pytest.raises(ValueError, match="The teacher has 2 outputs and the student 1"):
        loss.validate_outputs(outputs, others[0])


def test_name_of_the_divergence_compares_probabilities():
    random = np.random.RandomState(0)
    teacher, student = random.normal(size=(2, 4, 3)).astype("float32")
    named = models.LogitsDistillation(2.0).compute_loss(teacher, student)
    instance = models.LogitsDistillation(2.0, podium.losses.KLDivergence())
    assert float(named) == pytest.approx(float(instance.compute_loss(teacher, student)))


def test_distiller_survives_its_config():
    loss = models.LogitsDistillation(4.0, podium.losses.KLDivergence())
    distiller = models.Distiller(make_model(), make_model(), [loss], [2.0], 0.25, name="d")
    restored = models.Distiller.from_config(distiller.get_config())
    assert restored.distillation_losses[0].temperature == 4.0
    assert (restored.distillation_loss_weights, restored.student_loss_weight) == ([2.0], 0.25)
    assert isinstance(restored.distillation_losses[0].loss, podium.losses.KLDivergence)


def test_wrong_arguments_are_refused():
    loss = models.LogitsDistillation()
    with pytest.raises(ValueError, match="teacher=3; a Model was expected"):
        models.Distiller(3, make_model(), loss)
    with pytest.raises(ValueError, match="The teacher has outputs of shape"):
        models.Distiller(make_model(4), make_model(2), loss)
    with pytest.raises(ValueError, match="1 distillation_loss_weights for 2"):
        models.Distiller(make_model(), make_model(), [loss, loss], [1.0])
    with pytest.raises(ValueError, match="student_loss_weight=2"):
        models.Distiller(make_model(), make_model(), loss, student_loss_weight=2)
    with pytest.raises(ValueError, match="distillation_losses=None"):
        models.Distiller(make_model(), make_model(), None)
    with pytest.raises(ValueError, match="was given no `loss`"):
        models.Distiller(make_model(), make_model(), loss).compile("sgd")
    with pytest.raises(ValueError, match="temperature=0; a number above zero"):
        models.LogitsDistillation(0)
    with pytest.raises(ValueError, match="at least one loss was expected"):
        models.FeatureDistillation([None])
    with pytest.raises(ValueError, match="In the student model"):
        models.Distiller(
            make_model(), make_model(), models.FeatureDistillation("mse", "logits", "x")
        )
    with pytest.raises(NotImplementedError, match="has no `compute_loss`"):
        models.DistillationLoss().compute_loss(None, None)
