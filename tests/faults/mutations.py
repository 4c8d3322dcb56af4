"""Corrupt inputs: bytes, the members of a zip file, and trees of settings."""

import copy
import io
import json
import random
import zipfile
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]

TOKENS = (
    *(b"", b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xff\xfe", b":", b"#", b",", b"-", b"+", b"."),
    *(b"nan", b"inf", b"-inf", b"1e400", b"1e-400", b"0", b"-1", b"0x10", b"1_0", "１".encode()),
    *(
        b"2147483647",
        b"4294967296",
        b"99999999999999999999",
        b"qid:1",
        b"1:1",
        b"0:1",
        b"1:",
        b":1",
    ),
    *(
        b"<html>",
        b"BZh9",
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"'",
        b"null",
    ),
    *(b"&a [*a]", b"!!python/object:os.system", b"2001-99-99", b"$(id)", b"../", b"%s", b"{0}"),
)

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 3, -1, 10**9, 2**31, 2**63, 10**20, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")),
    *(
        "",
        " ",
        "x",
        "0",
        "1e-3",
        "tuned",
        "paper",
        "log",
        "auto",
        "true",
        "ünï",
        "a\nb",
        "\x1b[31m",
    ),
    *("../../etc/passwd", "/etc/passwd", "$(touch pwned)", "`id`", "a b", "'", '"', "{x}", "-x"),
    *("n" * 300, "\ud800", [], {}, [[]], [None], [0.1, 0.1], [1, "x"], {"x": 1}, {1: 2}, {None: 0}),
    *([0.1, 0.2], [1, 2], ["vn"], {"start": 1.0, "stop": 0.1, "count": 3}, {"start": 0.1}, b"x"),
)
"""Values that most settings reject, and some that many accept."""


def mutate_bytes(rng: random.Random, content: bytes, rounds: int = 3) -> bytes:
    """Flip, drop, repeat, cut and insert bytes a few times."""
    corrupt = bytearray(content)
    for _ in range(rng.randint(1, rounds)):
        at = rng.randrange(len(corrupt) + 1)
        end = min(len(corrupt), at + rng.choice((1, 1, 2, 4, 16, 200)))
        match rng.randrange(7):
            case 0 if corrupt:
                corrupt[min(at, len(corrupt) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del corrupt[at:end]
            case 2:
                corrupt[at:at] = corrupt[at:end]
            case 3:
                del corrupt[at:]
            case 4:
                corrupt[at:end] = rng.randbytes(end - at)
            case _:
                corrupt[at : at + rng.choice((0, 0, 1, 3))] = rng.choice(TOKENS)
    return bytes(corrupt)


def mutate_members(rng: random.Random, content: bytes) -> bytes:
    """Change one member of a zip file and pack it again with valid checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    match rng.randrange(6):
        case 0:
            del members[name]
        case 1:
            members[rng.choice(("zarr.json", "X.npy", "../x", "/x", "ü/zarr.json"))] = members[name]
        case 2 | 3 if name.endswith("json"):
            members[name] = _mutate_json(rng, members[name])
        case _:
            members[name] = mutate_bytes(rng, members[name])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inner in members.items():
            archive.writestr(name, inner)
    return packed.getvalue()


def _mutate_json(rng: random.Random, content: bytes) -> bytes:
    mutated = mutate_tree(rng, json.loads(content))
    return json.dumps(mutated, default=str, skipkeys=True).encode()


def mutate_tree(rng: random.Random, tree: Any, rounds: int = 2) -> Any:
    """Replace, remove, rename or wrap some nodes of a tree of settings."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, rounds)):
        place = rng.choice(list(places(tree)) or [()])
        if not place:
            return copy.deepcopy(rng.choice(ODD))
        how = rng.choice(("value", "value", "drop", "rename", "wrap"))
        tree = corrupt_node(tree, place, how, rng)
    return tree


def places(tree: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the paths of all nodes of a tree except its root."""
    children = tree.items() if isinstance(tree, dict) else ()
    children = enumerate(tree) if isinstance(tree, list) else children
    for key, value in children:
        yield (*at, key)
        yield from places(value, (*at, key))


def corrupt_node(tree: Any, place: Place, how: str, rng: random.Random) -> Any:
    """Return a copy of the tree with one node changed."""
    tree = copy.deepcopy(tree)
    parent = tree
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    match how:
        case "drop":
            del parent[key]
        case "rename" if isinstance(parent, dict):
            parent[misspelt(rng, str(key))] = parent.pop(key)
        case "wrap":
            parent[key] = rng.choice(([parent[key]], {"x": parent[key]}, str(parent[key])))
        case _:
            parent[key] = copy.deepcopy(rng.choice(ODD))
    return tree


def misspelt(rng: random.Random, word: str) -> str:
    """Return a word with a typing error, in capitals or with a trailing space."""
    at = rng.randrange(max(1, len(word)))
    return rng.choice(
        (
            word[:at] + word[at : at + 1] + word[at:],
            word[:at] + word[at + 1 :],
            word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
            word[:at] + "x" + word[at + 1 :],
            word.upper(),
            f"{word} ",
        )
    )
