"""Fixtures for the tests of the Python package, which run where the wheel is installed (packaging/python/test)."""

import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Hides the user's caches, calibration and tokens, and blocks the network."""
    for name in ("HF_TOKEN", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "KVPLAN_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def deepseek() -> str:
    return str(ROOT / "testdata/configs/deepseek-v3.json")


@pytest.fixture
def qwen() -> dict:
    return json.loads((ROOT / "testdata/configs/qwen3-0.6b.json").read_text())
