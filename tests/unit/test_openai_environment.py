"""OPENAI_API_KEY and OPENAI_BASE_URL count where nobody names a key or a URL to us."""

from __future__ import annotations

import pytest

from memoryos import Settings, load_settings
from memoryos.errors import InvalidInput

THEIRS = {"OPENAI_API_KEY": "theirs", "OPENAI_BASE_URL": "https://theirs.example/v1"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMORYOS_LLM_API_KEY", "MEMORYOS_LLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in THEIRS.items():
        monkeypatch.setenv(name, value)


def told(settings: Settings) -> tuple[str | None, str | None]:
    key = settings.llm_api_key
    return key.get_secret_value() if key else None, settings.llm_base_url


def test_they_are_taken_where_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(load_settings()) == ("theirs", "https://theirs.example/v1")
    monkeypatch.setenv("MEMORYOS_LLM_MODEL", "some-model")
    assert told(load_settings(context_tokens=512)) == ("theirs", "https://theirs.example/v1")
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert told(load_settings()) == ("theirs", None)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("MEMORYOS_LLM_API_KEY", "ours", ("ours", None)),
        ("MEMORYOS_LLM_BASE_URL", "http://localhost:1/v1", (None, "http://localhost:1/v1")),
    ],
)
def test_a_key_never_goes_to_a_url_that_it_was_not_named_with(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: tuple[str | None, str | None]
) -> None:
    monkeypatch.setenv(name, value)
    assert told(load_settings()) == expected


def test_what_the_program_passes_counts_like_our_own_variables() -> None:
    assert told(load_settings(llm_base_url="http://localhost:1/v1")) == (None, "http://localhost:1/v1")
    assert told(load_settings(llm_api_key="ours")) == ("ours", None)
    assert told(load_settings(llm_api_key=None)) == (None, None)


@pytest.mark.parametrize("setting", ["llm_base_url", "embedder_base_url", "upstream"])
@pytest.mark.parametrize(
    "url", ["nonsense", "http://", "http://exa mple", "ftp://x", "http://localhost:99999", "localhost:11434"]
)
def test_an_address_that_is_none_is_refused(setting, url):
    with pytest.raises(InvalidInput, match="is no address of a server") as refused:
        load_settings(**{setting: url})
    assert refused.value.field == setting
