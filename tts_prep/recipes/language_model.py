"""Text and speech tokens for language models, each with a prompt of the same speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.padding import pad_sequences
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataset.composition import stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata, check_array_agreement
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import EpochDraws, check_seed
from tts_prep.recipes.accepted import as_read
from tts_prep.recipes.stores import RandomExamples, dataset_of, having

_PROMPT, _CUT = range(2)


@dataclass(frozen=True, eq=False)
class TokenExample:
    """An utterance and its prompt.

    Attributes:
        id, prompt_id: the ids of both; the second is empty without a prompt.
        text, prompt_text: [L], [M] ids of phonemes, int64.
        tokens, prompt_tokens: [T] or [T, K], [P] or [P, K] int64.
    """

    id: str
    text: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]
    prompt_id: str
    prompt_text: npt.NDArray[np.int64]
    prompt_tokens: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """A batch of `TokenCollate`: numpy arrays, or torch tensors.

    Attributes:
        ids, prompt_ids: [B] ids.
        text, prompt_text: [B, L], [B, M] int64, padded with the id of padding.
        tokens, prompt_tokens: [B, T] or [B, T, K], [B, P] or [B, P, K] int64.
        text_lengths, token_lengths, prompt_text_lengths, prompt_lengths: [B] int64.
    """

    ids: list[str]
    text: Any
    text_lengths: Any
    tokens: Any
    token_lengths: Any
    prompt_ids: list[str]
    prompt_text: Any
    prompt_text_lengths: Any
    prompt_tokens: Any
    prompt_lengths: Any


class PromptedTokens(RandomExamples):
    """Utterances with tokens, each with another utterance of its speaker as a prompt; see `TokenExample`.

    The prompt is never the utterance itself, and a pure function of seed, epoch and row, so that a resumed epoch has
    the same ones. The only utterance of a speaker has no prompt. Utterances without tokens are left out.

    Example:
        >>> from tts_prep.loader import DataLoader, LengthBucketBatchSampler  # doctest: +SKIP
        >>> dataset = PromptedTokens("store", "tokens")  # doctest: +SKIP
        >>> batches = LengthBucketBatchSampler(dataset.lengths(), max_frames=8000)  # doctest: +SKIP
        >>> loader = DataLoader(dataset, batch_sampler=batches, collate_fn=TokenCollate(0))  # doctest: +SKIP

    Args:
        store: a store, a selection of one, or a chain of several.
        tokens: the name of the array of tokens, with the axis ``own``.
        max_prompt: the maximum number of tokens of a prompt, of which a random part is taken; without a text then,
            because it is not known which part of the text it is. None takes the whole utterance.
        seed: a non-negative integer.

    Raises:
        ConfigurationError: the store has no such array of integers.
    """

    def __init__(self, store: Any, tokens: str = "tokens", max_prompt: int | None = None, seed: int = 0) -> None:
        dataset = dataset_of(store)
        specs = []
        for one in stores_of(dataset):
            spec = one.arrays.get(tokens)
            if spec is None or spec.axis != "own" or spec.numpy_dtype.kind not in "iu":
                raise ConfigurationError(
                    f"{one.path}: tokens: expected an array of integers with the axis 'own', found "
                    f"{tokens!r}{f' of {spec.dtype} by {spec.axis}' if spec else ''}"
                )
            specs.append(spec)
        check_array_agreement(tokens, specs, [str(one.path) for one in stores_of(dataset)])
        if max_prompt is not None and max_prompt < 1:
            raise ConfigurationError(f"max_prompt: expected an integer >= 1, found {max_prompt}")
        self.utterances = having(dataset, tokens)
        self._name, self._max_prompt = tokens, max_prompt
        self._draws = EpochDraws(check_seed(seed))
        codes = self.utterances.column("speaker").checked_codes()
        order = np.argsort(codes, kind="stable")
        firsts = np.searchsorted(codes[order], np.arange(int(codes.max(initial=-1)) + 2))
        # Of each row: the first row of its speaker in the order by speaker, their number, and its own place.
        self._order, self._first = order, firsts[codes]
        self._count = firsts[codes + 1] - self._first
        self._place = np.argsort(order, kind="stable") - self._first

    def __len__(self) -> int:
        return len(self.utterances)

    def lengths(self, text: float = 1.0, tokens: float = 1.0) -> npt.NDArray[np.int64]:
        """Return the lengths of the parts of each example, [n, 4], for budgets: a `TokenBatch` pads them one by one.

        They are those of its text and of its tokens, and those of the longest text and of the most tokens of a prompt
        that it can have, so that the budget holds in every epoch.

        With the rows of one codebook after another, the weight of tokens is the number of codebooks.

        Args:
            text, tokens: the weights of texts and of tokens, by which lengths are multiplied, and rounded up.
        """
        texts, sizes = (np.asarray(self.utterances.column(name)) for name in ("n_phonemes", f"n_{self._name}"))
        is_cut = np.zeros(len(sizes), np.bool_) if self._max_prompt is None else sizes > self._max_prompt
        prompt_texts, prompts = np.where(is_cut, 0, texts), np.where(is_cut, self._max_prompt or 0, sizes)
        parts = (text * texts, tokens * sizes, text * self._of_others(prompt_texts), tokens * self._of_others(prompts))
        return np.ceil(np.stack(parts, axis=1)).astype(np.int64)

    def _of_others(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the largest value of the other utterances of each one's speaker, [n]; 0 without any."""
        codes = self.utterances.column("speaker").checked_codes()
        ascending = np.lexsort((values, codes))
        last = self._first + self._count - 1
        largest, second = ascending[last], ascending[np.maximum(last - 1, 0)]
        others = np.where(np.arange(len(values)) == largest, values[second], values[largest])
        return np.where(self._count > 1, others, 0)

    def _example(self, i: int, epoch: int | None) -> TokenExample:
        words = self._draws.words(2, i, epoch)
        text, tokens = self._arrays(i)
        others = int(self._count[i]) - 1
        if not others:
            return TokenExample(self._ids[i], text, tokens, "", text[:0], tokens[:0])
        place = int(words[_PROMPT]) % others
        # The places before its own, and those after it.
        place += place >= self._place[i]
        other = int(self._order[self._first[i] + place])
        prompt_text, prompt = self._arrays(other)
        if self._max_prompt is not None and len(prompt) > self._max_prompt:
            start = int(words[_CUT]) % (len(prompt) - self._max_prompt + 1)
            prompt_text, prompt = prompt_text[:0], prompt[start : start + self._max_prompt]
        ids = self._ids
        return TokenExample(ids[i], text, tokens, ids[other], prompt_text, prompt)

    def _arrays(self, i: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        one = self.utterances.__getitems__([i])
        return one.views("phonemes")[0].astype(np.int64), one.views(self._name)[0].astype(np.int64)

    @cached_property
    def _ids(self) -> Any:
        return self.utterances.column("id")

    def _bases(self) -> Sequence[Any]:
        return (self.utterances,)

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores, without speakers."""
        return as_read(stores_of(self.utterances), ids=True)

    def _fingerprint_settings(self) -> dict[str, Any]:
        return {"tokens": self._name, "max_prompt": self._max_prompt, "seed": self._draws.seed}


class TokenCollate:
    """Pad examples of `PromptedTokens`; see `TokenBatch`.

    Args:
        padding: the token of padding, or one for each codebook.
        pad_id: the id with which texts are padded, that of the store.
        output: ``"numpy"`` arrays, or ``"torch"`` tensors.
    """

    def __init__(self, padding: int | Sequence[int], pad_id: int = 0, output: str = "numpy") -> None:
        if output not in ("torch", "numpy"):
            raise ConfigurationError(f"output: expected 'torch' or 'numpy', found {output!r}")
        self.padding, self.pad_id, self.output = np.array(padding, np.int64), pad_id, output

    def __call__(self, examples: Sequence[TokenExample]) -> TokenBatch:
        """Return the batch.

        Raises:
            ConfigurationError: there is another number of codebooks than of tokens of padding.
        """
        rows = examples[0].tokens.shape[1:]
        if self.padding.shape not in ((), rows):
            raise ConfigurationError(
                f"padding: expected one token or {rows[0] if rows else 1}, found {self.padding.size}"
            )
        padded: list[Any] = []
        for name, value in (
            ("text", self.pad_id),
            ("tokens", self.padding),
            ("prompt_text", self.pad_id),
            ("prompt_tokens", self.padding),
        ):
            padded += pad_sequences([getattr(example, name) for example in examples], value, np.int64, axis=0)
        if self.output == "torch":
            padded = list(to_tensors(tuple(padded)))
        ids, prompts = [example.id for example in examples], [example.prompt_id for example in examples]
        text, text_lengths, tokens, token_lengths, *of_prompts = padded
        return TokenBatch(ids, text, text_lengths, tokens, token_lengths, prompts, *of_prompts)


def speaker_vectors(
    dataset: UtteranceDataset, name: str = "speaker_vector", *, median: bool = False
) -> dict[str, npt.NDArray[np.float32]]:
    """Return the mean of an array of vectors over the utterances of each speaker that have one.

    Args:
        name: the name of the array, with the axis ``utterance``.
        median: the median of each number instead.
    """
    chosen = dataset.having(name)
    rows: dict[str, list[Any]] = {}
    for speaker, vector in zip(chosen.speaker, chosen.views(name), strict=True):
        rows.setdefault(speaker, []).append(vector)
    middle = np.median if median else np.mean
    return {
        speaker: np.asarray(middle(np.stack(of).astype(np.float64), axis=0), np.float32) for speaker, of in rows.items()
    }
