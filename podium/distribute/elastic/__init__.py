"""`podium launch --ray`: a group of workers on a Ray cluster that shrinks, grows and resumes. Its
modules are private; `podium/distribute/launcher/_command_line.py` reads the command line.
"""
