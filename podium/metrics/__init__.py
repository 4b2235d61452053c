"""Running figures kept in Variables."""

from podium.metrics._metric import Mean as Mean
from podium.metrics._metric import Metric as Metric
from podium.metrics._metric import Sum as Sum
