"""The one exception with which the rooms of saving refuse a file; whoever opened it adds the path."""


class Unfit(Exception):
    """The file is not what it should be; becomes a ValueError that names the path."""
