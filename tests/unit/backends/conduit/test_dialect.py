from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.leases import lease_of

from gorge_worker.backends.conduit.dialect import (
    CONTEXT,
    PROBE,
    SEED,
    VERSION_1,
    Dialect,
    dialect_without,
    undeclared_parameters,
)

NAMES = st.frozensets(st.sampled_from(sorted(PROBE)), min_size=1)


@given(NAMES, st.sampled_from(["'{}'", '"{}"']))
def test_the_names_are_read_out_of_phorges_words(names: frozenset[str], quoted: str) -> None:
    listed = ", ".join(quoted.format(name) for name in sorted(names))
    info = f'API Method "worker.execute" does not define these parameters: {listed}.'
    assert undeclared_parameters(info) == names


@given(st.text())
def test_no_words_break_the_reading(info: str) -> None:
    assert undeclared_parameters(info) is None or "does not define these parameters:" in info


def test_words_without_names_stand_for_all_of_them() -> None:
    assert undeclared_parameters("it does not define these parameters: some") == frozenset()
    assert dialect_without(frozenset()) == SEED


@given(NAMES)
def test_what_was_refused_is_never_sent(names: frozenset[str]) -> None:
    lease = lease_of(object_phid="PHID-X", container_phid="PHID-Y")
    sent = dialect_without(names).parameters(lease, "execute")
    assert sent.keys() - {"taskID", "taskClass", "data"} == CONTEXT - names


def test_an_object_is_named_only_when_there_is_one() -> None:
    assert not {"objectPHID", "containerPHID"} & VERSION_1.parameters(lease_of(), "execute").keys()


@pytest.mark.parametrize("dialect", [SEED, Dialect(CONTEXT), VERSION_1])
def test_data_is_sent_as_the_text_that_it_is(dialect: Dialect) -> None:
    assert dialect.parameters(lease_of(data='{ "a" : 1e2 }\n'), "execute")["data"] == '{ "a" : 1e2 }\n'
