"""`podium launch`: starts the workers of a script on this machine. Private.

`podium/distribute/elastic` starts them on a Ray cluster instead.
"""
