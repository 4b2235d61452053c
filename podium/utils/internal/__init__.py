"""What other packages of Podium may use of `podium.utils` beyond its public API. Not for users."""

from podium.utils._image_resize import smart_resize as smart_resize
