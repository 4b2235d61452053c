"""TensorFlow's descriptions of a cluster, for scripts that have them."""

from podium.distribute.cluster_resolver._cluster_resolvers import ClusterResolver as ClusterResolver
from podium.distribute.cluster_resolver._cluster_resolvers import ClusterSpec as ClusterSpec
from podium.distribute.cluster_resolver._cluster_resolvers import (
    SimpleClusterResolver as SimpleClusterResolver,
)
from podium.distribute.cluster_resolver._cluster_resolvers import (
    TFConfigClusterResolver as TFConfigClusterResolver,
)
from podium.distribute.cluster_resolver._job_systems import (
    KubernetesClusterResolver as KubernetesClusterResolver,
)
from podium.distribute.cluster_resolver._job_systems import (
    SlurmClusterResolver as SlurmClusterResolver,
)
