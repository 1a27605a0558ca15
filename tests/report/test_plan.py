from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run
from stores import N_MELS, make_rows, write_store

from tts_prep.errors import ConfigurationError
from tts_prep.loader import UtteranceDataset, collate

LENGTHS = [50, 9, 200, 30, 120, 77, 61, 33, 34, 35, 36]


@pytest.fixture(scope="module", params=[False, True])
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> UtteranceDataset:
    path = tmp_path_factory.mktemp("plan") / "store"
    return UtteranceDataset(write_store(path, make_rows(LENGTHS), waveform=request.param))


@pytest.mark.whole
def test_costs_are_those_of_the_batches_that_come_out(dataset: UtteranceDataset) -> None:
    from tts_prep.report.policies import make_policies, policy_cost

    for policy in make_policies(dataset, [3, 4], [250], seed=5):
        for epoch in (0, 3):
            cost = policy_cost(dataset, policy, epoch=epoch)
            batches = [collate(dataset[positions]) for positions in policy.sampler.draw(epoch)]
            padded = sum(batch.mel.shape[0] * batch.mel.shape[1] for batch in batches)
            assert cost.batches == len(batches)
            assert cost.steps == len(batches)
            assert (cost.utterances, cost.left_out) == (len(LENGTHS), 0)
            assert (cost.smallest, cost.largest) == (min(map(len, batches)), max(map(len, batches)))
            assert cost.mean == pytest.approx(len(LENGTHS) / len(batches))
            assert cost.frame_padding == pytest.approx(1 - sum(LENGTHS) / padded)
            padded = sum(batch.phonemes.size for batch in batches)
            assert cost.phoneme_padding == pytest.approx(1 - sum(1 + n // 3 for n in LENGTHS) / padded)
            assert cost.largest_frames == max(batch.mel.size // N_MELS for batch in batches)
            assert cost.shapes == len({batch.mel.shape for batch in batches})
            sizes = []
            for batch in batches:
                arrays = [batch.mel, batch.mel_lengths, batch.phonemes, batch.phoneme_lengths]
                arrays += [batch.waveform, batch.waveform_lengths] if batch.waveform is not None else []
                sizes.append(sum(array.nbytes for array in arrays))
            assert cost.largest_bytes == max(sizes)


@pytest.mark.whole
def test_the_default_budget_holds_the_longest_and_as_many_as_the_count(dataset: UtteranceDataset) -> None:
    from tts_prep.report.policies import default_budget

    assert default_budget(dataset, 1) == 200
    assert default_budget(dataset, 4) == int(4 * np.mean(LENGTHS))
    assert default_budget(dataset[:0], 4) == 1


@pytest.mark.whole
def test_a_world_without_ranks_is_refused(dataset: UtteranceDataset) -> None:
    from tts_prep.report.policies import make_policies, policy_cost

    with pytest.raises(ConfigurationError, match="world size: expected an integer >= 1, found 0"):
        policy_cost(dataset, make_policies(dataset, [2], [])[0], world_size=0)


@pytest.mark.whole
def test_the_command_prints_a_table_and_the_same_as_json(
    capsys: pytest.CaptureFixture[str], dataset: UtteranceDataset
) -> None:
    from tts_prep.report.policies import epoch_plan, make_policies

    options = ("--batch-size", 2, "--batch-size", 4, "--max-frames", 250, "--world-size", 2)
    status, out, err = run(capsys, "plan", dataset.path, *options)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) == 2 + 1 + 5
    assert lines[0].startswith(f"{dataset.path}: 11 utterances, epoch 0; 2 ranks")
    value = json.loads(run(capsys, "plan", dataset.path, *options, "--json")[1])
    for line, cost in zip(lines[3:], value["policies"], strict=True):
        assert line.startswith(cost["policy"])
        assert f" {cost['frame_padding']:.1%} " in line
    policy = make_policies(dataset, [2], [])[1]
    plan = epoch_plan(policy.sampler, dataset.n_frames, 0)
    assert value["policies"][1]["batches"] == len(plan)


def test_an_utterance_over_the_budget_is_one_line(
    capsys: pytest.CaptureFixture[str], dataset: UtteranceDataset
) -> None:
    status, out, err = run(capsys, "plan", dataset.path, "--max-frames", 100)
    assert (status, out) == (1, "")
    assert "200 frames, more than max_frames = 100" in err
    assert err.count("\n") == 1


def test_an_empty_store_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, "plan", write_store(tmp_path / "store", [], n_shards=1))
    assert status == 1
    assert err.count("\n") == 1


@pytest.mark.whole
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_a_plan_is_what_the_samplers_of_all_ranks_do(tmp_path, world_size):
    from tts_prep.report.policies import make_policies, policy_cost

    dataset = UtteranceDataset(write_store(tmp_path / "s", make_rows([5 + i % 9 for i in range(20)])))
    for policy in make_policies(dataset, [20, 3], [60], seed=2):
        cost = policy_cost(dataset, policy, epoch=1, world_size=world_size)
        ranks = [list(policy.make(rank, world_size).draw(1)) for rank in range(world_size)]
        assert {len(batches) for batches in ranks} == {cost.steps}
        assert cost.batches == sum(map(len, ranks))
        sizes = [len(batch) for batches in ranks for batch in batches]
        assert (cost.smallest, cost.largest, cost.utterances) == (min(sizes), max(sizes), sum(sizes))
        assert cost.left_out == 0
