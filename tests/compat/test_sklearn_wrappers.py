"""`keras.wrappers`: scikit-learn's own checks of estimators, and its tools with our models."""

import pickle
import unittest

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from podium.compat import keras

wrappers = keras.wrappers


def make_model(X, y, loss, activation="linear", units=()):
    keras.utils.set_random_seed(0)  # checks compare fits
    inputs = keras.Input((X.shape[1],))
    hidden = inputs
    for size in units:
        hidden = keras.layers.Dense(size, activation="relu")(hidden)
    outputs = keras.layers.Dense(y.shape[1] if y.ndim > 1 else 1, activation=activation)(hidden)
    model = keras.Model(inputs, outputs)
    model.compile("rmsprop", loss, run_eagerly=True)  # each check fits other shapes
    return model


CLASSIFIER = {"loss": "categorical_crossentropy", "activation": "softmax", "units": (8,)}
ONE_STEP = {"verbose": 0, "batch_size": 1000}
ESTIMATORS = [
    wrappers.SKLearnClassifier(make_model, model_kwargs=CLASSIFIER, fit_kwargs=ONE_STEP),
    wrappers.SKLearnRegressor(make_model, model_kwargs={"loss": "mse"}, fit_kwargs=ONE_STEP),
    wrappers.SKLearnTransformer(make_model, model_kwargs={"loss": "mse"}, fit_kwargs=ONE_STEP),
]
# The checks that cover the protocol; the others repeat them on other data.
CHECKS = {
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_estimators_unfitted",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_dict_unchanged",
    "check_fit2d_predict1d",
    "check_supervised_y_no_nan",
    "check_supervised_y_2d",
    "check_classifiers_one_label",
    "check_transformer_general",
}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
@pytest.mark.filterwarnings("ignore")
def test_estimators_pass_the_checks_of_sklearn(estimator):
    passed = set()
    for instance, check in estimator_checks_generator(estimator, legacy=True):
        name = getattr(check, "func", check).__name__
        if name in CHECKS:
            try:
                check(instance)
            except unittest.SkipTest:  # the check needs a package that is not installed
                continue
            passed.add(name)
    assert len(passed) >= 12


X = np.random.RandomState(0).normal(size=(60, 3)).astype("float32")
LABELS = np.where(X[:, 0] > 0, "plus", "minus")


def compiled_classifier():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="softmax")])
    model.compile(keras.optimizers.Adam(0.1), "categorical_crossentropy")
    return wrappers.SKLearnClassifier(model, fit_kwargs={"epochs": 15, "verbose": 0})


def test_classifier_works_in_a_pipeline_and_cross_validation():
    pipeline = make_pipeline(StandardScaler(), compiled_classifier())
    scores = cross_val_score(pipeline, X, LABELS, cv=2, error_score="raise")
    assert scores.min() > 0.8
    pipeline.fit(X, LABELS)
    classifier = pipeline.named_steps["sklearnclassifier"]
    assert classifier.classes_.tolist() == ["minus", "plus"] and len(classifier.epoch_) == 15
    restored = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(restored.predict(X), pipeline.predict(X))
    outputs = classifier.decision_function(X)
    assert outputs.shape == (60, 2)
    np.testing.assert_array_equal(
        classifier.classes_[outputs.argmax(axis=1)], classifier.predict(X)
    )


def test_grid_search_sets_arguments_of_fit():
    search = GridSearchCV(
        compiled_classifier(),
        {"fit_kwargs": [{"epochs": 1, "verbose": 0}, {"epochs": 15, "verbose": 0}]},
        cv=2,
        error_score="raise",
    )
    search.fit(X, LABELS)
    assert search.best_params_["fit_kwargs"]["epochs"] == 15


def test_each_fit_starts_again_unless_warm_start():
    classifier = compiled_classifier()
    weights = classifier.model.get_weights()
    classifier.fit(X, LABELS)
    assert classifier.model_ is not classifier.model
    np.testing.assert_array_equal(classifier.model.get_weights()[0], weights[0])
    warm = clone(classifier).set_params(warm_start=True).fit(X, LABELS)
    assert warm.model_ is warm.model and warm.fit_kwargs["epochs"] == 15


def test_several_targets_are_predicted_as_columns():
    regressor = wrappers.SKLearnRegressor(
        make_model, model_kwargs={"loss": "mse"}, fit_kwargs=ONE_STEP
    )
    assert regressor.fit(X, X[:, :2]).predict(X).shape == (60, 2)
    assert regressor.fit(X, X[:, 0]).predict(X).shape == (60,)


def test_wrong_models_and_targets_are_refused():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    with pytest.raises(RuntimeError, match="a model that is not compiled with a loss"):
        wrappers.SKLearnRegressor(model).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="when only one class is present"):
        compiled_classifier().fit(X, ["one"] * 60)
    with pytest.raises(ValueError, match="y is of the kind continuous"):
        compiled_classifier().fit(X, X[:, 0])


def test_metadata_is_requested_for_fit():
    with pytest.raises(RuntimeError, match="while metadata routing is disabled"):
        compiled_classifier().set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = compiled_classifier().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, classifier)
        pipeline.fit(X, LABELS, sample_weight=np.ones(60))
        assert classifier.epoch_
