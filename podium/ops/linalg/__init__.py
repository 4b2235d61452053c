"""Linear algebra, under the names of `keras.ops.linalg`."""

from podium.ops.linalg._decompositions import cholesky as cholesky
from podium.ops.linalg._decompositions import eig as eig
from podium.ops.linalg._decompositions import eigh as eigh
from podium.ops.linalg._decompositions import lu_factor as lu_factor
from podium.ops.linalg._decompositions import qr as qr
from podium.ops.linalg._decompositions import svd as svd
from podium.ops.linalg._jvp import jvp as jvp
from podium.ops.linalg._norms import matrix_rank as matrix_rank
from podium.ops.linalg._norms import norm as norm
from podium.ops.linalg._solve import cholesky_inverse as cholesky_inverse
from podium.ops.linalg._solve import det as det
from podium.ops.linalg._solve import inv as inv
from podium.ops.linalg._solve import lstsq as lstsq
from podium.ops.linalg._solve import pinv as pinv
from podium.ops.linalg._solve import solve as solve
from podium.ops.linalg._solve import solve_triangular as solve_triangular
