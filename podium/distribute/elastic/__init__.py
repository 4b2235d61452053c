"""`podium launch --ray`: a group of workers on a Ray cluster that shrinks, grows and resumes. Its
modules are private; `podium/distribute/_launch_command.py` reads the command line.
"""
