"""Fuzz the readers of raw data files: svmlight, CSV, Parquet, npz and idx."""

import bz2
import contextlib
import gzip
import hashlib
import importlib
import io
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from fuzz_target import Target, through_cli
from mutations import mutate_bytes, mutate_members

from gvibench.datasets.build import build
from gvibench.datasets.read import read_idx
from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import File, entry
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_data

SVMLIGHT = (
    b"1 1:0.5 2:1 7:-3e-2\n-1 2:3\n1 1:1\n-1 3:2 # comment\n-1 1:1\n1 2:2\n" * 4,
    b"# header\n0 qid:1 0:1.5\n1 qid:2 0:2 1:1\n0 1:1\n1 0:4\n0 0:1\n1 1:1\n",
    b"2 1:1\r\n1 1:2\r\n2 1:3\r\n1 1:4\r\n2 1:5\r\n1 1:6\r\n",
    b"+1 5:1e-3\n-1 1:1e3\n+1 2:1\n-1 1:.5\n-1 3:1.\n+1 1:1 2:1 3:1 4:1 5:1",
)
CSV = (
    b"age,job,pays\n" + b"31,smith,yes\n44,clerk,no\n29.5,clerk,yes\n18,baker,no\n" * 4,
    b'a;"b;c";y\r\n1;2;0\r\n-3e2;"4";1\r\n5;7;0\r\n2;2;1\r\n5;1;0\r\n',
    b"1\t2\t0\n3\t4\t1\n5\t7\t0\n6\t1\t1\n2\t8\t0\n",
)
DATA_FLAGS = (
    (),
    ("--scale", "standardize"),
    ("--intercept",),
    ("--split", "random", "--test-size", "0.4"),
    ("--split", "first", "--train-size", "4"),
    ("--split", "random", "--train-size", "3"),
    ("--data-option", "targets=real"),
    ("--test-size", "1"),
)
Input = tuple[bytes, tuple[str, ...]]
"""Content of a file and flags of `gvibench prepare`."""


def raw_file_targets(folder: Path) -> list[Target]:
    """Return the targets that read raw data files."""
    return [*_user_files(folder), *_catalogued_files(folder)]


def _user_files(folder: Path) -> list[Target]:
    archives = list(_npz_archives())

    def make_svmlight(rng: random.Random, k: int) -> Input:
        pack = rng.choice((bytes, bytes, bytes, gzip.compress, bz2.compress))
        content = rng.choice(SVMLIGHT)
        if rng.random() < 0.5:  # corrupt the text, or the packed file
            return pack(mutate_bytes(rng, content)), rng.choice(DATA_FLAGS)
        return mutate_bytes(rng, pack(content)), rng.choice(DATA_FLAGS)

    def make_csv(rng: random.Random, k: int) -> Input:
        pack = rng.choice((bytes, bytes, gzip.compress))
        flags = (*DATA_FLAGS, ("--drop", "job"), ("--categorical", "age"), ("--offset", "age"))
        return pack(mutate_bytes(rng, rng.choice(CSV))), rng.choice(flags)

    def make_parquet(rng: random.Random, k: int) -> Input:
        content = _parquet_table(rng)
        if rng.random() < 0.3:
            content = content[: rng.randrange(len(content))]
        return content, rng.choice((*DATA_FLAGS, ("--categorical", "a"), ("--target", "y")))

    def make_npz(rng: random.Random, k: int) -> Input:
        content = archives[k % len(archives)]
        if k >= len(archives):
            content = rng.choice((mutate_bytes, mutate_members))(rng, content)
        return content, rng.choice((*DATA_FLAGS, ("--split", "given"), ("--split", "given")))

    def make_two_files(rng: random.Random, k: int) -> tuple[bytes, bytes, str]:
        suffix = rng.choice((".svm", ".npz"))
        train = rng.choice(SVMLIGHT if suffix == ".svm" else archives[:2])
        test = rng.choice((train, rng.choice(SVMLIGHT if suffix == ".svm" else archives)))
        corrupt = [mutate_bytes(rng, train, rounds=1), mutate_bytes(rng, test, rounds=1)]
        return (*rng.choice(((train, corrupt[1]), (corrupt[0], test), (train, test))), suffix)

    def feed_two_files(files: tuple[bytes, bytes, str]) -> None:
        train, test, suffix = files
        test_path = folder / f"test{suffix}"
        test_path.write_bytes(test)
        _prepare(folder / f"train{suffix}", train, ("--test-path", str(test_path)))

    def feed(name: str, given: Input) -> None:
        _prepare(folder / name, *given)

    return [
        Target("svmlight", 2500, make_svmlight, lambda x: feed("raw.svm", x), "raw.svm|'mine'"),
        Target("csv", 1500, make_csv, lambda x: feed("raw.csv", x), "raw.csv|'mine'"),
        Target(
            "parquet", 500, make_parquet, lambda x: feed("raw.parquet", x), "raw.parquet|'mine'"
        ),
        Target("npz", 1500, make_npz, lambda x: feed("raw.npz", x), "raw.npz|'mine'"),
        Target("train and test file", 500, make_two_files, feed_two_files, "train|test|'mine'"),
    ]


def _parquet_table(rng: random.Random) -> bytes:
    """Return a Parquet file with columns of random types. Parsing bytes is left to pyarrow."""
    import pyarrow
    import pyarrow.parquet

    numbers = [rng.choice((1.5, 2.0, -3.0, 1e60, float("inf"))) for _ in range(12)]
    columns = (
        pyarrow.array([rng.randrange(5) for _ in range(12)]),
        pyarrow.array([rng.gauss(0, 1) for _ in range(12)]),
        pyarrow.array(numbers),
        pyarrow.array([rng.choice((None, 1.0, 2.0)) for _ in range(12)]),
        pyarrow.array([rng.choice(("smith", "clerk", "", "NA")) for _ in range(12)]),
        pyarrow.array([rng.choice(("a", "b")) for _ in range(12)]).dictionary_encode(),
        pyarrow.array([rng.random() < 0.5 for _ in range(12)]),
        pyarrow.nulls(12),
        pyarrow.array([[1, 2]] * 12),
        pyarrow.array(range(12), pyarrow.timestamp("s")),
    )
    chosen = [columns[rng.choice((0, 1, 5, rng.randrange(10)))] for _ in range(2)]
    target = pyarrow.array([("yes", "no")[k % 2] for k in range(12)])
    names = rng.choice((["a", "b", "y"], ["a", "b", "y"], ["a", "a", "y"]))
    table = pyarrow.Table.from_arrays([*chosen, target], names=names)
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table[: rng.choice((12, 12, 12, 1, 0))], stream)
    return stream.getvalue()


def _prepare(path: Path, content: bytes, flags: tuple[str, ...]) -> None:
    """Prepare a file of the user; a rejected file must leave nothing behind."""
    out = path.parent / "new" / "out.zarr.zip"
    path.write_bytes(content)
    words = ["--dataset", "mine", "--path", str(path), *flags, "--out", str(out)]
    try:
        through_cli("prepare", *words)
    except UserError:
        assert not out.parent.exists(), "a rejected input left a file"
        raise
    read_prepared(out)
    out.unlink()
    out.parent.rmdir()


def _catalogued_files(folder: Path) -> list[Target]:
    digits = np.arange(12 * 28 * 28, dtype=np.uint8).reshape(12, 28, 28)
    images = _idx(digits), _idx(np.arange(12, dtype=np.uint8) % 10)

    def make_idx(rng: random.Random, k: int) -> list[bytes]:
        files = [*images, *images]
        at = rng.randrange(4)
        pack = rng.choice((bytes, gzip.compress))
        corrupt = mutate_bytes(rng, files[at][: rng.choice((4, 16, 10**6))] + files[at][16:])
        files[at] = (
            pack(corrupt) if rng.random() < 0.7 else mutate_bytes(rng, gzip.compress(corrupt))
        )
        return files

    def feed_idx(contents: list[bytes]) -> None:
        spec = complete_data({"dataset": "mnist", "options": {"negative": "1"}})
        names = [f"{k}-idx" for k in range(4)]
        for name, content in zip(names, contents, strict=True):
            (folder / name).write_bytes(content)
        for name in names:
            read_idx(folder / name)
        _build_from(spec, dict(zip(names, contents, strict=True)), folder)

    def make_mnist_text(rng: random.Random, k: int) -> bytes:
        rows = "".join(f"{k % 10} {k + 1}:{k} 780:255\n" for k in range(20)).encode()
        return rows if k == 0 else mutate_bytes(rng, rows)

    def feed_mnist_text(content: bytes) -> None:
        spec = complete_data({"dataset": "mnist", "options": {"source": "libsvm"}})
        _build_from(spec, {"mnist-train": content, "mnist-test": content}, folder)

    def feed_libsvm(content: bytes) -> None:
        spec = complete_data({"dataset": "australian_scale", "train_size": 10})
        _build_from(spec, {"libsvm-file": content}, folder, d=7)

    return [
        Target("idx", 600, make_idx, feed_idx, "idx|'mnist'"),
        Target("MNIST as svmlight", 200, make_mnist_text, feed_mnist_text, "mnist"),
        Target(
            "catalogued svmlight",
            200,
            lambda rng, k: SVMLIGHT[0] if k == 0 else mutate_bytes(rng, SVMLIGHT[0]),
            feed_libsvm,
            "",
        ),
    ]


def _build_from(
    spec: DataSpec, contents: dict[str, bytes], folder: Path, d: int | None = None
) -> None:
    """Prepare a data set of the catalogue as if these were its files, with matching hashes."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    files = tuple(
        File(name, f"https://x/{name}", hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    )
    known = entry(spec.dataset)
    kind = "alternative_files" if spec.options.get("source") == "libsvm" else "files"
    changed = replace(known, d=d or known.d, **{kind: files})
    module, _, attribute = DATASETS.built_in[spec.dataset].partition(":")
    with (
        mock.patch.object(importlib.import_module(module), attribute, changed),
        mock.patch.dict(os.environ, {"GVIBENCH_DATA": str(folder)}),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        build(spec, folder / "built.zarr.zip")


def _idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim])
    return header + b"".join(size.to_bytes(4, "big") for size in values.shape) + values.tobytes()


def _npz_archives() -> Iterator[bytes]:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 3)), np.arange(12) % 2
    valid = {"X": x, "y": y}
    yield _npz(**valid)
    yield _npz(**valid, X_test=x[:4], y_test=y[:4])
    yield _npz(**valid, X_test=x[:4, :2], y_test=y[:4])
    yield _npz(**valid, X_test=x[:4])
    yield _npz(X=x, y=y[:5])
    yield _npz(X=x)
    yield _npz(X=x[0], y=y)
    yield _npz(X=x[:0], y=y[:0])
    yield _npz(X=x[:, :0], y=y)
    yield _npz(X=np.where(x > 2, np.nan, x), y=y)
    yield _npz(X=x.astype(complex), y=y)
    yield _npz(X=x.astype(str), y=y)
    yield _npz(X=x.astype(object), y=y)  # saved as a pickle
    yield _npz(X=np.asfortranarray(x.astype(np.float32)), y=y.astype(bool))
    yield _npz(X=np.full((12, 3), 1e308), y=y)
    yield _npz(X=np.full((12, 3), 5e-324), y=y)
    yield _npz(X=x, y=np.zeros(12))
    yield _npz(X=x[:1], y=y[:1])


def _npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=True, **arrays)
    return stream.getvalue()
