"""Data is text of any kind, and comes back byte for byte."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores.factories import STORES, Place, add, lease, new, report_of

from gorge_worker.model import Outcome

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=16)


async def test_texts_of_every_kind_come_back_as_they_went_in(place: Place) -> None:
    texts = [
        "",
        "5",
        '{"key":7714163963910349351}',
        r'{"a":"\u0000\ud83c\udfde"}',
        '{ "b":1.0, "b":1e2 }\r\n',
        "峡谷 🏞 \u2028 e\u0301 \ufeff",
        "a\0b\0",
        "not json",
        "x" * 1_000_000,
    ]
    async with place.open() as store:
        ids = await add(store, *[new(data=text) for text in texts])
        assert [(await store.task(task_id)).data for task_id in ids] == texts
        assert [task.data for task in await lease(store, len(texts))] == texts


@pytest.mark.parametrize("name", STORES)
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(NAMES, TEXTS), min_size=1, max_size=5))
def test_classes_and_data_are_kept_byte_for_byte(name: str, rows: list[tuple[str, str]]) -> None:
    async def check(folder: Path) -> None:
        async with Place(STORES[name], folder).open() as store:
            await store.enqueue([new("Parent")])
            [parent] = await lease(store)
            followups = tuple(new(task_class, data) for task_class, data in rows)
            await store.report([report_of(parent, Outcome.success(followups))])
            assert [(task.task_class, task.data) for task in await lease(store, 9)] == rows

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))
