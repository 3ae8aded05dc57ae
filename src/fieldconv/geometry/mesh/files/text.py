"""Read text files as words and numbers, without loops in Python."""

from __future__ import annotations

import re
import warnings

import numpy as np

from fieldconv._arrays import Array, Floats, Ints
from fieldconv.geometry.mesh.files.common import MeshError, count_up, quote


class Words:
    """Words of a text, and rows of them: the lines with words."""

    line: Ints  # (W,) line number of each word
    first: Ints  # (R,) first word of each row
    lengths: Ints  # (R,) number of words of each row

    def __init__(self, text: bytes, above: int = 0) -> None:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.text = np.frombuffer(text, dtype=np.uint8)
        self.space = (self.text == 32) | ((self.text >= 9) & (self.text <= 13))
        self.begins = np.flatnonzero(~self.space & np.concatenate([[True], self.space[:-1]]))
        self.line = above + 1 + np.searchsorted(np.flatnonzero(self.text == 10), self.begins)
        new = np.ones(len(self.begins), dtype=bool)
        new[1:] = self.line[1:] != self.line[:-1]
        self.first = np.flatnonzero(new)
        self.lengths = np.diff(np.append(self.first, len(new)))

    def __getitem__(self, word: int) -> bytes:
        begin = self.begins[word]
        return self.text[begin : begin + 400].tobytes().split(None, 1)[0]

    def rows_of(self, keyword: bytes) -> Ints:
        """Rows whose first word is ``keyword``."""
        places = self.begins[self.first]
        end = len(self.text)
        same = np.ones(len(places), dtype=bool)
        for i, letter in enumerate(keyword):
            same &= self.text[np.minimum(places + i, end - 1)] == letter
        after = places + len(keyword)
        same &= (after >= end) | self.space[np.minimum(after, end - 1)]
        return np.flatnonzero(same)

    def numbers(self, first: Ints, lengths: Ints) -> Floats:
        """Numbers of the runs of ``lengths`` words that start at the words ``first``, in order."""
        wanted = np.repeat(first, lengths) + count_up(lengths)
        values = self._parse(wanted)
        if values is None:
            raise self._not_a_number(wanted)
        return values

    def _parse(self, wanted: Ints) -> Floats | None:
        """Numbers of words in ascending order; None if one of them is no number."""
        if not len(wanted):
            return np.zeros(0)
        chosen = np.zeros(wanted[-1] + 1 - wanted[0], dtype=bool)
        chosen[wanted - wanted[0]] = True
        begin = self.begins[wanted[0]]
        end = self.begins[wanted[-1] + 1] if wanted[-1] + 1 < len(self.begins) else len(self.text)
        text = self.text[begin:end]
        if len(wanted) <= wanted[-1] - wanted[0]:  # blank the words between
            spread = np.diff(np.append(self.begins[wanted[0] : wanted[-1] + 1], end))
            text = np.where(np.repeat(chosen, spread), text, np.uint8(32))
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # raised where fromstring stops early
            try:
                values = np.fromstring(text.tobytes(), dtype=np.float64, sep=" ")
            except (ValueError, DeprecationWarning):
                return None
        return values if len(values) == len(wanted) else None

    def _not_a_number(self, words: Ints) -> MeshError:
        # One by one in the first bad block only.
        for block in np.array_split(words, len(words) // 10_000 + 1):
            for word in block.tolist() if self._parse(block) is None else ():
                try:
                    float(self[word])
                except ValueError:
                    return MeshError(
                        f"line {self.line[word]}: {quote(self[word])} is not a number; export the file again"
                    )
        return MeshError("it has words that are no numbers; export the file again")


def without_comments(data: bytes) -> bytes:
    data = data.removeprefix(b"\xef\xbb\xbf")
    return re.sub(rb"#[^\r\n]*", b"", data) if b"#" in data else data


def equal_rows(words: Words, first: Ints, lengths: Ints) -> Floats:
    """(V, width) numbers of rows of equal lengths, three or more."""
    width = int(lengths[0]) if len(lengths) else 3
    bad = (lengths != width) | (lengths < 3)
    if bad.any():
        at = int(np.argmax(bad))
        line = words.line[first[at] - 1] if not lengths[at] else words.line[first[at]]
        raise MeshError(f"line {line}: a vertex has {lengths[at]} numbers; give all three, or all a colour")
    return words.numbers(first, lengths).reshape(-1, width)


def text_rows(*tables: Array | None) -> list[str]:
    """One line per row; ``repr`` writes the shortest text that gives back the same number."""
    columns = [column.tolist() for table in tables if table is not None for column in table.T]
    return [" ".join(map(repr, row)) for row in zip(*columns, strict=True)]
