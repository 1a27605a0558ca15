"""The contents of recordings in the keys of shards."""

from __future__ import annotations

import hashlib
from pathlib import Path

import xxhash

from tts_prep.preprocess.configuration.records import Configuration, StoreConfig
from tts_prep.preprocess.plan.shard_plans import plan_shards
from tts_prep.preprocess.plan.shard_settings import ShardContents, ShardRecipe
from tts_prep.preprocess.source_utterance import SourceUtterance


def test_a_recording_that_is_left_out_has_contents_until_reading_them_ends_the_process_too(tmp_path: Path) -> None:
    names = ["a.wav", "b.wav"]
    for name in names:
        (tmp_path / name).write_bytes(hashlib.sha256(name.encode()).digest())
    expected = [xxhash.xxh3_128_hexdigest((tmp_path / name).read_bytes()) for name in names]
    items = [SourceUtterance(id=name[0], text="one", audio=name, speaker="", where=name) for name in names]
    (plan,) = plan_shards(items, tmp_path, StoreConfig())
    recipe = ShardRecipe(tmp_path, Configuration(), {}, {}, {})
    once, twice = plan.without(1, "killed"), plan.without(1, "killed").without(1, "killed")
    key = ShardContents(plan, recipe).key
    assert [ShardContents(once, recipe).of(number) for number in (0, 1)] == expected
    assert ShardContents(once, recipe).key == key
    opened: list[int] = []
    contents = ShardContents(twice, recipe, opened.append)
    assert contents.key != key
    assert [contents.of(number) for number in (0, 1)] == [expected[0], ""]
    assert opened == [0]
    assert twice.without(1, "killed") == twice
