"""Cluster resolvers, and what a ParameterServerStrategy takes from them."""

import json
from types import SimpleNamespace

import pytest

from podium.distribute.cluster_resolver import (
    ClusterSpec,
    KubernetesClusterResolver,
    SimpleClusterResolver,
    SlurmClusterResolver,
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


def set_slurm(monkeypatch, **values):
    defaults = {"STEP_NUM_TASKS": "5", "PROCID": "3", "STEP_NODELIST": "gpu[08-10],cpu3"}
    for name, value in (defaults | {"STEP_TASKS_PER_NODE": "1(x3),2"} | values).items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def test_resolver_reads_the_step_of_slurm(monkeypatch):
    set_slurm(monkeypatch)
    resolver = SlurmClusterResolver({"chief": 1, "worker": 3, "ps": 1}, port_base=100)
    assert resolver.cluster_spec().as_dict() == {
        "chief": ["gpu08:100"],
        "worker": ["gpu09:100", "gpu10:100", "cpu3:100"],
        "ps": ["cpu3:101"],
    }
    assert (resolver.task_type, resolver.task_id) == ("worker", 2)
    assert resolver.master() == "cpu3:100"
    assert SlurmClusterResolver().cluster_spec().num_tasks("worker") == 5
    with pytest.raises(ValueError, match="which are 6 tasks; the step has 5"):
        SlurmClusterResolver({"worker": 6})
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="Start the program with `srun`"):
        SlurmClusterResolver()


def test_resolver_lists_the_pods_of_kubernetes():
    def pod(name, phase="Running"):
        status = SimpleNamespace(phase=phase, host_ip=f"10.0.0.{name}")
        return SimpleNamespace(metadata=SimpleNamespace(name=name), status=status)

    pods = {"job=w": [pod("2"), pod("1")], "job=p": [pod("3")], "job=x": [pod("4", "Pending")]}
    client = SimpleNamespace(
        list_pod_for_all_namespaces=lambda label_selector: SimpleNamespace(
            items=pods[label_selector]
        )
    )
    resolver = KubernetesClusterResolver(
        {"worker": ["job=w"], "ps": ["job=p"]}, 7, override_client=client
    )
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:7", "10.0.0.2:7"],
        "ps": ["10.0.0.3:7"],
    }
    with pytest.raises(RuntimeError, match="The pod '4' of the job 'worker' is Pending"):
        KubernetesClusterResolver({"worker": ["job=x"]}, override_client=client)
