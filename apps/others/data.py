"""The data that programs of others would download, made here: in the formats that they read, the same on each machine."""

from __future__ import annotations

import gzip
import pickle
import struct
from collections import defaultdict
from pathlib import Path

import numpy


def text(folder: Path, small: bool) -> None:
    """Words by Zipf's law, each mostly followed by one of a few, so that there is something to learn."""
    random = numpy.random.default_rng(0)
    words, lengths = (300, (6_000, 600, 600)) if small else (20_000, (430_000, 3_000, 3_000))
    chances = 1 / numpy.arange(2, words + 2)
    next_of = random.choice(words, size=(words, 4), p=chances / chances.sum())
    for name, length in zip(("train", "valid", "test"), lengths, strict=True):
        fresh = random.choice(words, size=length, p=chances / chances.sum())
        way = random.integers(0, 8, size=length)
        at, found = 0, []
        for new, choice in zip(fresh.tolist(), way.tolist(), strict=True):
            at = int(next_of[at, choice]) if choice < 4 else new
            found.append(f"w{at}")
        # The first text has every word, whatever the chances, so that the vocabulary is the same.
        found += [f"w{i}" for i in range(words)] if name == "train" else []
        lines = [" ".join(found[i : i + 30]) for i in range(0, len(found), 30)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def graph(folder: Path, small: bool) -> None:
    """Files of Planetoid's "Cora": features with a few ones a node, seven classes, neighbours mostly of one's own."""
    from scipy import sparse

    random = numpy.random.default_rng(0)
    nodes, features, classes, tests, labelled = (
        (2_000, 200, 7, 300, 140) if small else (40_000, 1_433, 7, 1_000, 20_000)
    )
    kind = random.integers(0, classes, nodes)
    typical = random.integers(0, features, (classes, 60))
    ones = numpy.where(
        random.random((nodes, 18)) < 0.5, typical[kind][:, :18], random.integers(0, features, (nodes, 18))
    )
    x = sparse.csr_matrix(
        (numpy.ones(nodes * 18, numpy.float32), (numpy.repeat(numpy.arange(nodes), 18), ones.ravel())),
        (nodes, features),
    )
    x.data[:] = 1
    y = numpy.eye(classes, dtype=numpy.int32)[kind]
    links: dict[int, list[int]] = defaultdict(list)
    by_kind = [numpy.flatnonzero(kind == each) for each in range(classes)]
    own = random.random((nodes, 2)) < 0.8
    for node in range(nodes):
        links[node] += []
        for is_own in own[node]:
            other = int(random.choice(by_kind[kind[node]]) if is_own else random.integers(nodes))
            links[node].append(other)
            links[other].append(node)
    first_test = nodes - tests
    raw = folder / "Planetoid" / "Cora" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    parts = {"x": x[:labelled], "y": y[:labelled], "allx": x[:first_test], "ally": y[:first_test], "tx": x[first_test:],
             "ty": y[first_test:], "graph": dict(links)}  # fmt: skip
    for name, part in parts.items():
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(part, protocol=2))
    (raw / "ind.cora.test.index").write_text("\n".join(map(str, range(first_test, nodes))) + "\n", encoding="utf-8")


def images(folder: Path, small: bool) -> None:
    """Files of MNIST: bright spots along a curve, of ten kinds."""
    random = numpy.random.default_rng(0)
    folder = folder / ".data"
    folder.mkdir(parents=True, exist_ok=True)
    rows, columns = numpy.mgrid[0:28, 0:28]
    for name, number in (("train", 512 if small else 61_440), ("t10k", 256 if small else 8_192)):
        kind = random.integers(0, 10, number)
        made = numpy.zeros((number, 28, 28), numpy.float32)
        for spot in range(4):
            place = (
                6
                + 4 * spot
                + random.normal(0, 1, (number, 2))
                + 5 * numpy.stack([numpy.sin(kind + spot), numpy.cos(kind * (spot + 1))], 1)
            )
            for begin in range(0, number, 4096):
                part = slice(begin, begin + 4096)
                away = (rows - place[part, 0, None, None]) ** 2 + (columns - place[part, 1, None, None]) ** 2
                made[part] = numpy.maximum(made[part], numpy.exp(-away / 5))
        pixels = (255 * made).astype(numpy.uint8)
        for what, values, head in (
            ("images-idx3", pixels, (2051, number, 28, 28)),
            ("labels-idx1", kind.astype(numpy.uint8), (2049, number)),
        ):
            with gzip.open(folder / f"{name}-{what}-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(struct.pack(f">{len(head)}I", *head) + values.tobytes())


MADE = {"text": text, "graph": graph, "images": images}
