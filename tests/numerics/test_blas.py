"""Test that the routines of SciPy are the same however they are loaded."""

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from gvibench.numerics.blas import blas, routine_address

CHECK = """
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
assert any("scipy" in pool["filepath"] for pool in pools) or len(pools) == 1, pools
with threadpool_limits(1):
    assert all(p["num_threads"] == 1 for p in threadpool_info() if p["user_api"] == "blas")

import scipy.linalg
import scipy.linalg.cython_blas
import scipy.optimize

square = np.array([[4.0, 2.0], [2.0, 3.0]])
for name in ("dtrmm", "strmm", "dsyrk", "ssyrk"):
    assert getattr(blas(), name) is getattr(scipy.linalg.blas, name)
for name in ("dpotrf", "spotrf", "dtrtri", "strtri", "dgeqrf", "sgeqrf"):
    assert getattr(lapack(), name) is getattr(scipy.linalg.lapack, name)
assert scipy.linalg._fblas.dtrmm is blas().dtrmm
np.testing.assert_array_equal(lapack().dpotrf(square)[0], scipy.linalg.cholesky(square))
assert scipy.optimize.minimize(lambda x: x @ x, np.ones(2)).success
"""

LOAD = "from gvibench.numerics.blas import blas, lapack\nblas(), lapack()\n"

ORDERS = {
    "alone first": "import sys\n" + LOAD + "assert 'scipy.linalg' not in sys.modules\n",
    "package first": "import scipy.linalg\n" + LOAD,
    "no extension file": (
        "import sys\n"
        "from gvibench.numerics import blas as module\n"
        "module.EXTENSION_SUFFIXES = []\n" + LOAD + "assert 'scipy.linalg' in sys.modules\n"
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_routines_are_those_of_scipy(order):
    program = ORDERS[order] + CHECK
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_address_can_be_called():
    matrix, vector = np.array([[2.0, 0.0], [3.0, 5.0]]), np.array([[1.0, 1.0]])
    letters = [ctypes.c_char_p(letter) for letter in (b"L", b"U", b"N", b"N")]
    sizes = [ctypes.byref(ctypes.c_int64(size)) for size in (2, 1)]
    one, two = ctypes.byref(ctypes.c_double(1.0)), ctypes.byref(ctypes.c_int64(2))
    arrays = [ctypes.c_void_p(array.ctypes.data) for array in (matrix, vector)]
    trmm = ctypes.CFUNCTYPE(None, *11 * [ctypes.c_void_p])(routine_address(blas().dtrmm))
    trmm(*letters, *sizes, one, arrays[0], two, arrays[1], two)
    np.testing.assert_array_equal(vector, [[5.0, 5.0]])
