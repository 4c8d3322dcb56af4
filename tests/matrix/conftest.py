import numpy as np
import pytest


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Return a folder with own data: files with and without test rows, and a CSV table."""
    folder = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 3))
    y = np.where(x @ [1.0, -1.0, 0.5] + rng.standard_normal(80) > 0, 1.0, 0.0)
    np.savez(folder / "own.npz", X=x, y=y)
    np.savez(folder / "given.npz", X=x, y=y, X_test=x[:20], y_test=y[:20])
    rows = zip(x, y, strict=True)
    lines = [f"{int(t)} " + " ".join(f"{k + 1}:{v:.6g}" for k, v in enumerate(r)) for r, t in rows]
    (folder / "own.svm").write_text("\n".join(lines) + "\n")
    rows = zip(x, y, "abcd" * 20, strict=True)
    table = [f"{a:.6g},{b:.6g},{c:.2g},{k},{'yes' if t else 'no'}" for (a, b, c), t, k in rows]
    (folder / "table.csv").write_text("\n".join(["a,b,c,kind,answer", *table]))
    (folder / "notes.csv").write_text("one column\n")
    return folder
