"""The attack on versions: it passes what holds, and fails where something goes unnoticed."""

import importlib
import random
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from retainer.versions.verify import Verification

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def attack():
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    handler = signal.getsignal(signal.SIGALRM)
    module = importlib.import_module("attack_versions")
    signal.signal(signal.SIGALRM, module._too_slow)
    yield module
    signal.signal(signal.SIGALRM, handler)
    sys.path.remove(folder)


@pytest.fixture
def versions(tmp_path):
    for name in ("v1", "v2"):
        shutil.copytree(ROOT / "tests" / "fixtures" / "version-0.1.0" / name, tmp_path / name)
    return tmp_path


def failures(rows):
    return [failure for tally in rows.values() for failure in tally.failures]


def test_damaged_folders_are_refused(attack, versions):
    rows = attack.attack_folders(versions, attack.Healthy(versions), range(3), seed=1)
    assert failures(rows) == [] and sum(rows["load()"].outcomes.values()) == 3


def test_what_goes_unnoticed_is_a_failure(attack, versions, monkeypatch):
    for name in ("model.safetensors", "parent/model.safetensors.delta", "tokenizer.json"):
        (versions / "v2" / name).unlink()  # the fewer files, the fewer changes
    monkeypatch.setattr(attack, "load", lambda *_, **__: pytest.fail("not asked"))
    monkeypatch.setattr(attack, "verify_folder", lambda folder: Verification())
    rows = attack.attack_bytes(versions, None, random.Random(1))
    assert any("verify did not notice" in one for one in rows["config.json"].failures)
    assert not any("verify did not notice" in one for one in rows["README.md"].failures)


def test_a_forged_record_is_read_and_runs_nothing(attack, versions):
    """It is sealed again, so it loads, with a class of a stranger for a method, and another in the config."""
    healthy = versions / "v2" / "config.json"
    whole = healthy.read_bytes()
    with attack.trap(versions):
        for seed in range(4):
            attack.plant(versions / "v2" / "config.json", random.Random(seed))
            loaded = attack.load(versions / "v2", device="cpu")
            assert attack.Healthy.check(None, loaded) == "loaded with a forged record"
            with pytest.raises(attack.InputError, match="a record runs no code"):
                attack._calls(versions, None)["retainer learn --config"]()
        assert healthy.read_bytes() != whole and not attack.sprung(versions)


def test_a_module_that_runs_is_a_failure(attack, versions, monkeypatch):
    def importing(folder, **how):
        importlib.import_module("planted")
        raise attack.InputError("read, and more than read")

    monkeypatch.setattr(attack, "load", importing)
    monkeypatch.setattr(attack, "_verbs", lambda place: {})
    with attack.trap(versions):
        rows = attack.attack_folders(versions, SimpleNamespace(check=str), range(2), seed=1)
    assert "planted" not in sys.modules and str(versions) not in sys.path
    assert [failure.rpartition(": ")[2] for failure in rows["load()"].failures] == [
        "a module was imported because a record names it"
    ] * 2


def test_raw_errors_and_delays_are_failures(attack, monkeypatch):
    tally = attack.Tally()
    with tally.case("a raw error"):
        raise KeyError("x")
    monkeypatch.setattr(attack, "SECONDS", 1)
    with tally.case("a delay"):
        signal.raise_signal(signal.SIGALRM)
    with tally.case("a refusal"):
        raise attack.InputError("one sentence")
    assert len(tally.failures) == 2 and tally.outcomes == {"refused": 1}
