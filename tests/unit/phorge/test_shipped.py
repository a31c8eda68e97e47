from __future__ import annotations

import re
from pathlib import Path

import pytest

from gorge_worker.phorge import shipped
from gorge_worker.phorge.shipped import IncompleteInstallation, has_our_name, is_ours, shipped_files

FILES = sorted(shipped_files().items())


@pytest.mark.parametrize(("name", "content"), FILES)
def test_every_shipped_file_is_known_again_by_its_name_and_its_header(name: str, content: bytes) -> None:
    assert has_our_name(name)
    assert is_ours(content)


@pytest.mark.parametrize(("name", "content"), FILES)
def test_every_shipped_file_declares_the_class_of_its_name_and_no_other(name: str, content: bytes) -> None:
    """Two files that declare one class, an old one and a new one, would stop all of Phorge."""
    declared = re.findall(r"^(?:\w+ )*(?:class|interface|trait) (\w+)", content.decode(), re.MULTILINE)
    assert declared == [name.removesuffix(".php")]


@pytest.mark.parametrize(("name", "content"), FILES)
def test_no_shipped_file_needs_another_one_to_be_loaded(name: str, content: bytes) -> None:
    """Phorge includes extensions in no certain order, and finds no parent class that it has not included yet."""
    needed = re.search(r"\b(?:extends|implements|use)\s+[\w, ]*GorgeWorker\w*", content.decode())
    assert needed is None, name


@pytest.mark.parametrize(
    "content",
    [
        b"<?php\n\n// Part of gorge-worker.\n",
        b"<?php // Part of gorge-worker.\n"[6:],
        b"<?php\r\n# Part of gorge-worker, version 2\r\n",
        b"<?php\n/**\n * Part of gorge-worker\n */",
        b"<?php\n/* Part of gorge-worker */",
    ],
)
def test_a_comment_in_the_first_lines_makes_a_file_ours(content: bytes) -> None:
    assert is_ours(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<?php\n",
        b"<?php\n// Not Part of gorge-worker.\n",
        b"<?php\n// Part of gorge-workers.\n",
        b"<?php\n// Part of gorge-worker-extras.\n",
        b"<?php\n" + b"\n" * 2000 + b"// Part of gorge-worker.\n",
        b"\xff\xfe\x00",
    ],
)
def test_everything_else_is_somebody_elses(content: bytes) -> None:
    assert not is_ours(content)


def test_a_product_without_its_php_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "EXTENSIONS", tmp_path)
    with pytest.raises(IncompleteInstallation, match=re.escape(str(tmp_path))):
        shipped_files()
