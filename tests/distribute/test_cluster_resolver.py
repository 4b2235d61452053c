"""Cluster resolvers, and what a ParameterServerStrategy takes from them."""

import json

import pytest

from podium.distribute.cluster_resolver import (
    ClusterSpec,
    SimpleClusterResolver,
    TFConfigClusterResolver,
)
from tests.distribute.parameter_server.local_cluster import LocalStrategy

CLUSTER = {"worker": ["a:1", "b:1", "c:1"], "ps": {0: "d:1", 1: "e:1"}, "chief": ["f:1"]}


def test_spec_lists_the_tasks_of_jobs():
    spec = ClusterSpec(CLUSTER)
    assert spec.jobs == ["chief", "ps", "worker"]
    assert spec.job_tasks("ps") == ["d:1", "e:1"]
    assert spec == ClusterSpec(spec)
    assert spec.as_dict()["chief"] == ["f:1"]
    assert not ClusterSpec({})
    with pytest.raises(ValueError, match="Job 'evaluator' was asked for; the cluster has"):
        spec.num_tasks("evaluator")
    with pytest.raises(TypeError, match="a dictionary from job names to lists of addresses"):
        ClusterSpec(["a:1"])


def test_resolver_reads_tf_config(monkeypatch):
    task = {"type": "worker", "index": "1"}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": task}))
    resolver = TFConfigClusterResolver()
    assert (resolver.task_type, resolver.task_id, resolver.master()) == ("worker", 1, "b:1")
    assert resolver.master("ps", 0) == "d:1"
    monkeypatch.setenv("TF_CONFIG", "not JSON")
    with pytest.raises(ValueError, match="TF_CONFIG is 'not JSON'; JSON was expected"):
        TFConfigClusterResolver()
    monkeypatch.delenv("TF_CONFIG")
    assert TFConfigClusterResolver().master() == ""


def test_strategy_takes_the_numbers_of_tasks():
    strategy = LocalStrategy(SimpleClusterResolver(ClusterSpec(CLUSTER)))
    assert (strategy.num_workers, strategy.num_servers) == (3, 2)
    strategy.close()
    strategy = LocalStrategy(SimpleClusterResolver({"worker": ["a:1"]}), num_servers=3)
    assert (strategy.num_workers, strategy.num_servers) == (1, 3)
    strategy.close()
