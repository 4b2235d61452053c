"""The Ray clusters of docs/distribution.md: the manifest and the batch script are well-formed."""

import pathlib
import re
import subprocess
import sys

import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "distribution.md"
TEXT = PAGE.read_text()
# Of KubeRay's API (ray.io/v1), the fields that the manifest uses.
JOB_FIELDS = {"entrypoint", "backoffLimit", "shutdownAfterJobFinishes", "rayClusterSpec"}
CLUSTER_FIELDS = {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
GROUP_FIELDS = {
    "groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template",
}  # fmt: skip


def test_kuberay_manifest_has_the_fields_of_a_ray_job():
    yaml = pytest.importorskip("yaml")
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    job = yaml.safe_load(block)
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]
    assert spec.keys() == JOB_FIELDS
    cluster = spec["rayClusterSpec"]
    assert cluster.keys() == CLUSTER_FIELDS
    head, (workers,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert workers.keys() == GROUP_FIELDS and head.keys() == {"rayStartParams", "template"}
    assert workers["minReplicas"] <= workers["replicas"] <= workers["maxReplicas"]
    for group in (head, workers):  # KubeRay passes them to `ray start`, as strings
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        pod = group["template"]["spec"]
        assert {"containers", "volumes"} == pod.keys()
        mounts = {mount["name"] for each in pod["containers"] for mount in each["volumeMounts"]}
        assert mounts == {volume["name"] for volume in pod["volumes"]}


def test_slurm_script_is_valid_and_uses_options_of_ray():
    pytest.importorskip("ray")
    scripts = re.findall(r"```bash\n(#!.*?)```", TEXT, flags=re.DOTALL)
    (script,) = (each for each in scripts if "symmetric-run" in each)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    options = re.findall(r"(--[\w-]+)", script.partition("symmetric-run")[2].partition(" -- ")[0])
    assert options == [
        "--address",
        "--min-nodes",
        "--num-cpus",
        "--num-gpus",
        "--include-dashboard",
    ]
    texts = [
        subprocess.run(
            [sys.executable, "-m", "ray.scripts.scripts", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for command in ("symmetric-run", "start")
    ]
    for option in options:
        assert any(option in text for text in texts), option
