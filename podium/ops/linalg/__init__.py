"""Linear algebra, under the names of `keras.ops.linalg`."""

from podium.ops._linalg import cholesky as cholesky
from podium.ops._linalg import cholesky_inverse as cholesky_inverse
from podium.ops._linalg import det as det
from podium.ops._linalg import eig as eig
from podium.ops._linalg import eigh as eigh
from podium.ops._linalg import inv as inv
from podium.ops._linalg import jvp as jvp
from podium.ops._linalg import lstsq as lstsq
from podium.ops._linalg import lu_factor as lu_factor
from podium.ops._linalg import matrix_rank as matrix_rank
from podium.ops._linalg import norm as norm
from podium.ops._linalg import pinv as pinv
from podium.ops._linalg import qr as qr
from podium.ops._linalg import solve as solve
from podium.ops._linalg import solve_triangular as solve_triangular
from podium.ops._linalg import svd as svd
