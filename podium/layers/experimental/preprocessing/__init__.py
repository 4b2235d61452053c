"""`layers.experimental.preprocessing`: Keras 2's name of the preprocessing layers, which are the
same objects as in `podium.layers`.
"""

from podium.layers.preprocessing._category_encoding import CategoryEncoding as CategoryEncoding
from podium.layers.preprocessing._discretization import Discretization as Discretization
from podium.layers.preprocessing._hashed_crossing import HashedCrossing as HashedCrossing
from podium.layers.preprocessing._hashing import Hashing as Hashing
from podium.layers.preprocessing._lookup_layers import IntegerLookup as IntegerLookup
from podium.layers.preprocessing._lookup_layers import StringLookup as StringLookup
from podium.layers.preprocessing._normalization import Normalization as Normalization
from podium.layers.preprocessing._rescaling import Rescaling as Rescaling
from podium.layers.preprocessing._text_vectorization import TextVectorization as TextVectorization
