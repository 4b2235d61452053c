"""What other packages of Podium may use of `podium.telemetry` beyond its public API.

Not for users.
"""

# The clock of all measurements: `clock.ns()` and `clock.seconds()`.
from podium.telemetry._durations import clock as clock

# Calls the exporters that are due during a run.
from podium.telemetry._exporters import export_due as export_due

# Calls all exporters at the end of a run.
from podium.telemetry._exporters import export_ended as export_ended

# Returns when the next exporter is due.
from podium.telemetry._exporters import next_export as next_export

# A context in which the host waits for values of the device.
from podium.telemetry._recorder import DeviceWait as DeviceWait

# Measures one run.
from podium.telemetry._recorder import Recorder as Recorder

# A context in which a recorder is the thread's current one.
from podium.telemetry._recorder import Recording as Recording

# A context whose time belongs to a section of a recorder.
from podium.telemetry._recorder import Section as Section

# The thread's recorder: `active.recorder`.
from podium.telemetry._recorder import active as active

# A context whose time belongs to a section of the thread's run.
from podium.telemetry._recorder import measure as measure

# A context in which a program is compiled.
from podium.telemetry._recorder import measure_compilation as measure_compilation

# A context in which another thread writes what this one has asked for.
from podium.telemetry._saves import BackgroundSave as BackgroundSave

# A context in which a file or directory is written, by this thread.
from podium.telemetry._saves import measure_save as measure_save

# Returns the measurements of a run so far.
from podium.telemetry._telemetry import make_telemetry as make_telemetry
