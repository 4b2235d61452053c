"""What runs measure of themselves: latencies, throughput, where the time went; and exporters."""

from podium.telemetry._exporters import Exporter as Exporter
from podium.telemetry._exporters import JsonLinesExporter as JsonLinesExporter
from podium.telemetry._exporters import add_exporter as add_exporter
from podium.telemetry._exporters import remove_exporter as remove_exporter
from podium.telemetry._prometheus import PrometheusExporter as PrometheusExporter
from podium.telemetry._prometheus import prometheus_text as prometheus_text
from podium.telemetry._records import CallbackTime as CallbackTime
from podium.telemetry._records import Compilation as Compilation
from podium.telemetry._records import Latency as Latency
from podium.telemetry._records import PredictMemory as PredictMemory
from podium.telemetry._records import Save as Save
from podium.telemetry._records import Synchronization as Synchronization
from podium.telemetry._telemetry import Telemetry as Telemetry
