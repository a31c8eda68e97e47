from __future__ import annotations

import ssl

import pytest

from gorge_worker.http_client import HttpClient, NotSent
from gorge_worker.http_client.origin import Origin


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://h", "h", 80),
        ("https://h", "h", 443),
        ("http://h:8090/a", "h", 8090),
        ("http://[::1]:1", "::1", 1),
        ("HTTP://H", "h", 80),
    ],
)
def test_where_a_url_leads(url: str, host: str, port: int) -> None:
    origin = Origin.of(url)
    assert (origin.host, origin.port) == (host, port)


def test_https_checks_certificates_and_names_and_offers_nothing_but_http_1() -> None:
    context = Origin.of("https://h").tls
    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert Origin.of("http://h").tls is None


@pytest.mark.parametrize("url", ["", "queue:8090", "/path", "ftp://h", "http://", "http://\u2028/"])
async def test_a_url_that_leads_nowhere_means_that_nothing_was_sent(url: str) -> None:
    client = HttpClient(url, headers={}, connections=1)
    with pytest.raises(NotSent, match="can't connect: the URL can't be used"):
        await client.request("GET", "/", timeout=1, max_answer=1)
    await client.rest()
    await client.close()
