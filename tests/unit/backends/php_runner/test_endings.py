from __future__ import annotations

import pytest

from gorge_worker.backends.php_runner.endings import ending, said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "the PHP process has closed its pipe"),
        (0, "the PHP process ended with exit code 0"),
        (255, "the PHP process ended with exit code 255"),
        (-11, "the PHP process was ended by SIGSEGV"),
        (-9, "the PHP process was ended by SIGKILL"),
        (-64, "the PHP process was ended by SIGRTMAX"),
        (-99, "the PHP process was ended by signal 99"),
    ],
)
def test_an_exit_code_is_put_into_words(code: int | None, words: str) -> None:
    assert ending(code) == words


AWAY = """\
[2026-12-01 14:54:07] PHLOG: 'Retrying database connection'
[2026-12-01 14:54:07] EXCEPTION: (AphrontConnectionQueryException) Refused. at [<phorge>/src/a.php:1]
  #0 <#2> run() called at [<phorge>/src/a.php:1]
"""
UNCAUGHT = "PHP Fatal error:  Uncaught Error: no in /x:3\nStack trace:\n#0 {main}\n  thrown in /x on line 3\n"


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("", ""),
        ("\n \n", ""),
        ("Could not open input file: /x/runner.php\n", "Could not open input file: /x/runner.php"),
        (AWAY, "(AphrontConnectionQueryException) Refused. at [<phorge>/src/a.php:1]"),
        (
            "PHP Fatal error:  Uncaught Error: no in /x:3\nStack trace:\n#0 {main}\n  thrown in /x on line 3\n",
            "Uncaught Error: no in /x:3",
        ),
        ("\nFatal error: Allowed memory size exhausted\n", "Allowed memory size exhausted"),
        ('FATAL ERROR: Unable to load the "Arcanist" library.\n', 'Unable to load the "Arcanist" library.'),
        ("UPGRADE PHP: too old.\n", "UPGRADE PHP: too old."),
        ("first\nlast\n\n", "last"),
    ],
)
def test_what_php_printed_is_cut_down_to_what_went_wrong(output: str, words: str) -> None:
    assert said(output) == words
