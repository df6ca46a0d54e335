"""The arrays of a problem as files, written a batch of examples at a time.

Every array is a file of its own. The pointers of a batch begin at 0, and are moved to where the
batch begins among all examples.
"""

from __future__ import annotations

import hashlib
import pickle
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..errors import DataError
from ..files.mapped import ArrayWriter, MappedFile
from .design import Design
from .example_arrays import ExampleArrays
from .storage import Storage

__all__ = ["ArraysOnDisk", "ArraysWriter", "Spool"]

_DTYPES: Final[dict[str, npt.DTypeLike]] = {
    "topo": np.int64,
    "topo_ptr": np.int64,
    "part_ptr": np.int64,
    "cost": np.float64,
    "mask": np.float64,
    "mask_ptr": np.int64,
    "gold_ptr": np.int64,
    "gold_part": np.int64,
    "gold_count": np.float64,
    "weight": np.float64,
    "site_ptr": np.int64,
    "site_part": np.int64,
    "site_width": np.int64,
    "entry_ptr": np.int64,
    "sparse_ptr": np.int64,
    "start": np.uint32,
    "value": np.float64,
    "size": np.uint32,
}
#: What each array of pointers points into.
_POINTERS: Final = {
    "topo_ptr": "topo",
    "part_ptr": "part",
    "gold_ptr": "gold_part",
    "site_ptr": "site_part",
    "entry_ptr": "start",
}


class ArraysOnDisk:
    """The files of all arrays, mapped.

    Parameters
    ----------
    files : dict
        The files by the name of the array.
    storage : Storage
        The places of the weights.
    widest : int
        Room for any site.
    """

    def __init__(self, files: dict[str, MappedFile], storage: Storage, widest: int) -> None:
        self.files = files
        held = {name: file.array for name, file in files.items()}
        if not storage.slot.size:
            held["sparse_ptr"] = held["entry_ptr"][1:]
        self.weight: Floats = held["weight"]
        design = Design(
            **{name: held[name] for name in Design._fields if name in held},
            slot=storage.slot,
            live=storage.live,
            filled=storage.filled,
            widest=widest,
        )
        self.arrays = ExampleArrays(
            **{name: held[name] for name in ExampleArrays._fields if name in held}, design=design
        )

    def cuts(self, bounds: Ints) -> dict[str, Ints]:
        """Return where blocks of examples begin in every array that is worth reading ahead."""
        a = self.arrays
        site, part, gold = a.design.site_ptr[bounds], a.part_ptr[bounds], a.gold_ptr[bounds]
        entry = a.design.entry_ptr[site]
        found = {
            "topo": a.topo_ptr[bounds],
            "cost": part,
            "gold_part": gold,
            "gold_count": gold,
            "site_part": site,
            "site_width": site,
            "entry_ptr": site,
            "sparse_ptr": site,
            "start": entry,
            "value": entry,
            "size": entry,
        }
        return {name: cuts for name, cuts in found.items() if self.files[name].nbytes}

    def sizes(self) -> Ints:
        """Return how many bytes the examples before each example have, and at last all of them."""
        every = np.arange(len(self.weight) + 1)
        total = np.zeros(len(every), dtype=np.int64)
        for name, cuts in self.cuts(every).items():
            total += cuts * self.files[name].dtype.itemsize
        return total


class ArraysWriter:
    """Writes the arrays of examples, a batch at a time.

    Parameters
    ----------
    folder : Path
        Where the files are made.
    storage : Storage
        The places of the weights.
    valued : bool
        Whether entries have values.
    """

    def __init__(self, folder: Path, storage: Storage, valued: bool) -> None:
        self.storage, self.valued = storage, valued
        self._files = {name: ArrayWriter(folder / name, of) for name, of in _DTYPES.items()}
        for name in _POINTERS:
            self._files[name].append(np.zeros(1, dtype=np.int64))
        self._ends = dict.fromkeys(_POINTERS.values(), 0)
        self._masks: dict[bytes, int] = {}
        self.widest = 0

    def append(
        self,
        found: ExampleArrays,
        weight: Floats,
        topologies: Sequence[Ints],
        own_constraints: Sequence[Any] | None,
    ) -> None:
        """Write the arrays of a batch.

        Parameters
        ----------
        found : ExampleArrays
            The arrays.
        weight : ndarray
            The weight of each example.
        topologies : sequence of ndarray
            The shape of each example.
        own_constraints : sequence or None
            For each example, whether it has constraints of its own: then it shares no mask.
        """
        design = found.design
        self.widest = max(self.widest, design.widest)
        entries = self._ends["start"]
        for name, into in _POINTERS.items():
            pointer = getattr(found if name in found._fields else design, name)
            self._files[name].append(pointer[1:] + self._ends[into])
            self._ends[into] += int(pointer[-1])
        if self.storage.slot.size:
            self._files["sparse_ptr"].append(design.sparse_ptr + entries)
        value = design.value
        if self.valued and not value.size:
            value = np.ones(len(design.start))
        self._files["value"].append(value)
        for name in ("site_part", "site_width", "start", "size"):
            self._files[name].append(getattr(design, name))
        for name in ("topo", "cost", "gold_part", "gold_count"):
            self._files[name].append(getattr(found, name))
        self._files["weight"].append(weight)
        own = own_constraints or [None] * len(topologies)
        self._files["mask_ptr"].append(self._place_masks(found, topologies, own))

    def _place_masks(
        self, found: ExampleArrays, topologies: Sequence[Ints], own: Sequence[Any]
    ) -> Ints:
        """Write the masks that are not there yet, and return where the mask of each example is."""
        placed = np.zeros(len(topologies), dtype=np.int64)
        if not found.mask.size:
            return placed
        file, sizes = self._files["mask"], np.diff(found.part_ptr)
        # Not the shapes themselves, which may be long and all different.
        keys = {id(topo): hashlib.blake2b(topo.tobytes()).digest() for topo in topologies}
        for i, (topo, mine) in enumerate(zip(topologies, own, strict=True)):
            key = keys[id(topo)]
            if mine is None and key in self._masks:
                placed[i] = self._masks[key]
                continue
            placed[i] = file.size
            if mine is None:
                self._masks[key] = file.size
            begin = found.mask_ptr[i]
            file.append(found.mask[begin : begin + sizes[i]])
        return placed

    def mapped(self) -> ArraysOnDisk:
        """Close the files and map them."""
        files = {name: writer.mapped() for name, writer in self._files.items()}
        return ArraysOnDisk(files, self.storage, self.widest)

    def close(self) -> None:
        """Close the files."""
        for writer in self._files.values():
            writer.close()


# Batches of examples on their way to a problem on disk.


class Spool:
    """Objects that are written to a file one after the other, and read again in that order.

    Whatever describes an example may be written, as the structures of users have shapes and labels
    of their own. Reading such a file back can run any code that is in it, so an object is read only
    if its bytes are those that this process wrote: their digests stay in memory.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = open(path, "x+b")  # noqa: SIM115 - closed by `remove`
        self._closing = weakref.finalize(self, self._file.close)
        self._entries: list[tuple[int, bytes]] = []  # length, digest

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return sum(length for length, _ in self._entries)

    def add(self, thing: Any) -> None:
        """Write an object."""
        data = pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL)
        self._file.write(data)
        self._entries.append((len(data), _digest(data)))

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        """Read the objects."""
        self._file.flush()
        with open(self.path, "rb") as file:
            for length, digest in self._entries:
                data = file.read(length)
                if _digest(data) != digest:
                    raise DataError(
                        f"{self.path} was changed while it was in use; give a folder that no other "
                        "process writes to"
                    )
                yield pickle.loads(data)

    def remove(self) -> None:
        """Close and delete the file."""
        self._closing()
        self.path.unlink()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=32).digest()
