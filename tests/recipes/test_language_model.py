"""Text and tokens with prompts of the same speaker."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tts_prep.additions.add_arrays import add_features
from tts_prep.additions.add_columns import add_columns
from tts_prep.errors import ConfigurationError
from tts_prep.imports.arrays import make_imported
from tts_prep.loader import Collator, DataLoader, LengthBucketBatchSampler, UtteranceDataset
from tts_prep.preprocess.configuration.records import Configuration, StoreConfig, TextConfig
from tts_prep.preprocess.run import prepare
from tts_prep.preprocess.source_utterance import SourceUtterance
from tts_prep.recipes import PromptedTokens, SimilarPrompts, TokenCollate, speaker_vectors


@pytest.fixture(scope="module")
def made(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    path = folder / "store"
    speakers = ["anna", "bert", "anna", "carl", "anna", "bert", "anna"]
    rows = [
        SourceUtterance(f"u{i}", f"Text {i}.", f"wavs/S-{i:04d}.wav", "here", name) for i, name in enumerate(speakers)
    ]
    prepare(rows, corpus, path, Configuration(text=TextConfig("characters"), store=StoreConfig(shard_utterances=3)))
    rng = np.random.default_rng(0)
    np.savez(
        folder / "tokens.npz", **{f"u{i}": rng.integers(0, 99, (10 + 3 * i, 2)).astype(np.int16) for i in range(7)}
    )
    np.savez(folder / "vectors.npz", **{f"u{i}": rng.normal(size=4).astype(np.float32) for i in range(7)})
    add_features(path, [make_imported(f"tokens@own={folder / 'tokens.npz'}")])
    add_features(path, [make_imported(f"speaker_vector@utterance={folder / 'vectors.npz'}")])
    return path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "store"))


def prompts(dataset: PromptedTokens, epochs: int) -> list[list[str]]:
    found = []
    for epoch in range(epochs):
        dataset.set_epoch(epoch)
        found.append([dataset[i].prompt_id for i in range(len(dataset))])
    return found


@pytest.mark.whole
def test_a_prompt_is_another_utterance_of_the_speaker_and_every_one_of_them_comes(store: Path) -> None:
    dataset = PromptedTokens(str(store))
    of = dict(zip(dataset.utterances.id, dataset.utterances.speaker, strict=True))
    seen: dict[str, set[str]] = {}
    for epoch in prompts(dataset, 60):
        for uid, prompt in zip(dataset.utterances.id, epoch, strict=True):
            assert uid != prompt
            assert (prompt == "") == (of[uid] == "carl")
            assert not prompt or of[prompt] == of[uid]
            seen.setdefault(uid, set()).add(prompt)
    assert seen["u0"] == {"u2", "u4", "u6"}
    assert seen["u1"] == {"u5"}
    assert prompts(PromptedTokens(str(store)), 3) == prompts(dataset, 3)
    assert prompts(PromptedTokens(str(store), seed=1), 3) != prompts(dataset, 3)


@pytest.mark.whole
def test_texts_tokens_and_prompts_are_those_of_the_store_and_padded_by_codebook(store: Path) -> None:
    dataset = PromptedTokens(str(store))
    batch = TokenCollate([100, 101])([dataset[i] for i in range(len(dataset))])
    stored = {utterance.id: utterance for utterance in dataset.utterances}
    for row, (uid, prompt) in enumerate(zip(batch.ids, batch.prompt_ids, strict=True)):
        n, m = batch.token_lengths[row], batch.prompt_lengths[row]
        assert np.array_equal(batch.tokens[row, :n], stored[uid].arrays["tokens"])
        assert (batch.tokens[row, n:] == [100, 101]).all()
        assert batch.text[row, : batch.text_lengths[row]].tolist() == stored[uid].phonemes.tolist()
        assert m == (len(stored[prompt].arrays["tokens"]) if prompt else 0)
        if prompt:
            assert np.array_equal(batch.prompt_tokens[row, :m], stored[prompt].arrays["tokens"])
            assert batch.prompt_text_lengths[row] == len(stored[prompt].phonemes)
    with pytest.raises(ConfigurationError, match="padding: expected one token or 2, found 3"):
        TokenCollate([1, 2, 3])([dataset[0]])


@pytest.mark.whole
def test_a_long_prompt_is_cut_to_a_random_part_without_its_text(store: Path) -> None:
    dataset = PromptedTokens(str(store), max_prompt=8)
    stored = {utterance.id: utterance for utterance in dataset.utterances}
    starts = set()
    for epoch in range(20):
        dataset.set_epoch(epoch)
        example = dataset[0]
        whole = stored[example.prompt_id].arrays["tokens"]
        [start] = [at for at in range(len(whole)) if np.array_equal(whole[at : at + 8], example.prompt_tokens)]
        starts.add((example.prompt_id, start))
        assert len(example.prompt_text) == 0
    assert len(starts) > 5


@pytest.mark.whole
@pytest.mark.parametrize("max_prompt", [None, 12])
def test_no_batch_has_more_than_its_budget_with_prompts_and_padding(store: Path, max_prompt: int | None) -> None:
    dataset = PromptedTokens(str(store), max_prompt=max_prompt)
    sampler = LengthBucketBatchSampler(dataset.lengths(text=0.5, tokens=2), max_frames=300, seed=3)
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=TokenCollate(0))
    sizes = []
    for _ in range(20):
        batches = list(loader)
        assert sorted(uid for batch in batches for uid in batch.ids) == sorted(dataset.utterances.id)
        for batch in batches:
            texts, tokens = (batch.text, batch.prompt_text), (batch.tokens, batch.prompt_tokens)
            padded = sum(0.5 * of.shape[1] for of in texts) + sum(2 * of.shape[1] for of in tokens)
            assert len(batch.ids) * padded <= 300
            sizes.append(len(batch.ids))
    assert max(sizes) > 1


@pytest.mark.whole
def test_the_lengths_of_prompts_are_those_of_the_longest_that_can_come(store: Path) -> None:
    dataset = PromptedTokens(str(store))
    n = [len(view) for view in dataset.utterances.views("phonemes")]
    # Of anna are u0, u2, u4 and u6, of bert u1 and u5, of carl u3; u0 to u6 have 10, 13, …, 28 tokens.
    anna = [max(n[2], n[4], n[6]), max(n[0], n[4], n[6]), max(n[0], n[2], n[6]), max(n[0], n[2], n[4])]
    expected = [[n[0], 10, anna[0], 28], [n[1], 13, n[5], 25], [n[2], 16, anna[1], 28], [n[3], 19, 0, 0]]
    expected += [[n[4], 22, anna[2], 28], [n[5], 25, n[1], 13], [n[6], 28, anna[3], 22]]
    assert dataset.lengths().tolist() == expected
    cut = PromptedTokens(str(store), max_prompt=13).lengths(text=0.5, tokens=2)
    assert cut[:, 0].tolist() == np.ceil(0.5 * np.array(n)).tolist()
    # A cut prompt has no text. Of anna, only u0 is short enough to come whole.
    texts = np.ceil(0.5 * np.array([0, 0, n[0], 0, n[0], n[1], n[0]]))
    assert cut[:, 2].tolist() == texts.tolist()
    assert cut[:, 3].tolist() == [26, 26, 26, 0, 26, 26, 26]


@pytest.mark.whole
def test_a_resumed_epoch_has_the_same_prompts(store: Path) -> None:
    def loader() -> DataLoader:
        dataset = PromptedTokens(str(store), seed=5)
        sampler = LengthBucketBatchSampler(dataset.lengths(), batch_size=2, seed=1)
        return DataLoader(dataset, batch_sampler=sampler, collate_fn=TokenCollate(0))

    def seen(batches) -> list[tuple[str, str]]:
        return [pair for batch in batches for pair in zip(batch.ids, batch.prompt_ids, strict=True)]

    whole = loader()
    expected = seen(whole) + seen(whole)
    first = loader()
    found = seen(first)
    iterator = iter(first)
    found += seen([next(iterator)])
    resumed = loader()
    resumed.load_state_dict(first.state_dict())
    assert found + seen(resumed) == expected


@pytest.mark.whole
def test_vectors_of_speakers_are_means_or_medians(store: Path, made: Path) -> None:
    vectors = np.load(made.with_name("vectors.npz"))
    of_anna = np.stack([vectors[f"u{i}"] for i in (0, 2, 4, 6)])
    dataset = UtteranceDataset(store)
    np.testing.assert_allclose(speaker_vectors(dataset)["anna"], of_anna.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(speaker_vectors(dataset, median=True)["anna"], np.median(of_anna, axis=0), rtol=1e-6)
    assert set(speaker_vectors(dataset)) == {"anna", "bert", "carl"}


@pytest.mark.whole
def test_what_are_no_tokens_is_named(store: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected an array of integers with the axis 'own', found 'codes'"):
        PromptedTokens(str(store), "codes")
    with pytest.raises(ConfigurationError, match="found 'mel' of float32 by frame"):
        PromptedTokens(str(store), "mel")


@pytest.mark.whole
def test_the_collator_pads_each_codebook_with_its_own_value(store: Path) -> None:
    dataset = UtteranceDataset(store)
    batch = Collator(arrays=("tokens",), array_padding={"tokens": (7, 8)})(dataset)
    assert (batch.tokens[0, batch.array_lengths["tokens"][0] :] == [7, 8]).all()
    with pytest.raises(ConfigurationError, match=r"expected a number or \[2\] of them for 'tokens', found \[3\]"):
        Collator(arrays=("tokens",), array_padding={"tokens": (7, 8, 9)})(dataset)


@pytest.mark.whole
def test_prompts_are_those_that_a_column_names(store: Path) -> None:
    (store.parent / "refs.csv").write_text("id,ref_audio\nu0,u3\nu1,\nu2,u0\nu3,u0\nu4,u4\nu5,u1\nu6,u5\n", "utf-8")
    add_columns(store, store.parent / "refs.csv")
    dataset = PromptedTokens(str(store), prompts="ref_audio")
    assert prompts(dataset, 2) == [["u3", "", "u0", "u0", "u4", "u1", "u5"]] * 2
    sizes = [10 + 3 * i for i in range(7)]
    assert dataset.lengths()[:, 3].tolist() == [sizes[3], 0, sizes[0], sizes[0], sizes[4], sizes[1], sizes[5]]
    assert dataset[0].prompt_tokens.tolist() == dataset[3].tokens.tolist()
    assert PromptedTokens(str(store)).fingerprint != dataset.fingerprint
    few = UtteranceDataset(store)[1:]
    with pytest.raises(ConfigurationError, match=r"2 of 6 utterances have a ref_audio .* such as 'u0'"):
        PromptedTokens(few, prompts="ref_audio")
    with pytest.raises(ConfigurationError, match="text: expected an array of integers"):
        PromptedTokens(str(store), text="speaker_vector")
    batch = TokenCollate(0)([PromptedTokens(str(store), text="tokens", seed=1)[2]])
    assert np.array_equal(batch.text, batch.tokens)


@pytest.mark.whole
def test_similar_prompts_are_those_of_nemos_script(store: Path) -> None:
    dataset = UtteranceDataset(store)
    seconds, speakers = dataset.seconds, list(dataset.speaker)
    vectors = np.stack([utterance.arrays["speaker_vector"] for utterance in dataset])
    least, similar = float(np.sort(seconds)[2]), 0.1
    # extend_nemo_manifest_with_context_audio.py of NeMo: candidates by falling cosine, until one is long enough.
    expected = {}
    for i, uid in enumerate(dataset.id):
        rows = [j for j in range(len(dataset)) if speakers[j] == speakers[i] and j != i]
        cosine = {j: vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j]) for j in rows}
        for j in sorted(rows, key=lambda row: -cosine[row]):
            if cosine[j] < similar:
                break
            if seconds[j] >= least:
                expected[uid] = dataset.id[j]
                break
    found = PromptedTokens(str(store), prompts=SimilarPrompts(min_seconds=least, min_similarity=similar))
    assert 0 < len(expected) < len(dataset)
    assert {found[i].id: found[i].prompt_id for i in range(len(found))} == expected
    assert len(found.lengths()) == len(found)
    with pytest.raises(ConfigurationError, match="vectors: expected vectors"):
        PromptedTokens(str(store), prompts=SimilarPrompts("tokens"))
