from __future__ import annotations

from pathlib import Path

from gorge_worker.config.document import document
from gorge_worker.config.settings import Settings
from gorge_worker.queues.mysql.url import OPTIONS

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text() == document(), "run: python -m gorge_worker.config.document > docs/configuration.md"


def test_every_variable_has_a_row_with_its_spellings() -> None:
    page = document()
    for variable in Settings.variables():
        assert f"| {variable.name} | {variable.prefixed} |" in page


def test_no_cell_breaks_the_tables() -> None:
    rows = [line for line in document().splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {3, 5}


def test_every_option_of_a_databases_url_is_described() -> None:
    rows = [line.split("|") for line in document().splitlines() if line.startswith("|")]
    assert set(OPTIONS) <= {name for row in rows for name in row[1].strip().split(", ")}
