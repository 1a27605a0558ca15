"""Text and speech tokens for language models, each with a prompt of the same speaker."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tts_prep.batches.epoch_draws import EpochDraws
from tts_prep.errors import ConfigurationError
from tts_prep.loader.batching.padding import pad_sequences
from tts_prep.loader.batching.tensors import to_tensors
from tts_prep.loader.dataset.identity import stores_of
from tts_prep.loader.dataset.metadata import StoreMetadata, check_array_agreement
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import check_seed
from tts_prep.recipes.accepted import as_read
from tts_prep.recipes.stores import RandomExamples, dataset_of, having

_PROMPT, _CUT = range(2)


@dataclass(frozen=True)
class SimilarPrompts:
    """Each utterance has the most similar other one of its speaker that is long enough as its prompt.

    Utterances without such a one are left out, as by NeMo's ``extend_nemo_manifest_with_context_audio.py`` for
    Magpie-TTS, whose values are the defaults.

    Attributes:
        vectors: the array of vectors, with the axis ``utterance``, whose cosines are similarities.
        min_seconds: the least duration of a prompt.
        min_similarity: the least similarity.
    """

    vectors: str = "speaker_vector"
    min_seconds: float = 3.0
    min_similarity: float = 0.6

    def chosen(self, utterances: Any, speakers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """Return the prompt of each utterance, [n], and -1 without one; of ``speakers`` [n].

        Raises:
            ConfigurationError: a store has no such array.
        """
        for store in stores_of(utterances):
            spec = store.arrays.get(self.vectors)
            if spec is None or spec.axis != "utterance" or len(spec.row_shape) != 1:
                raise ConfigurationError(
                    f"{store.path}: vectors: expected vectors with the axis 'utterance', found {self.vectors!r}"
                )
        count = len(utterances)
        blocks = (range(first, min(first + _BLOCK, count)) for first in range(0, count, _BLOCK))
        found = [vector for block in blocks for vector in utterances.__getitems__([*block]).views(self.vectors)]
        vectors = np.asarray(found, np.float32).reshape(count, -1)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        is_long, chosen = np.asarray(utterances.column("seconds")) >= self.min_seconds, np.full(count, -1, np.int64)
        for speaker in np.unique(speakers):
            rows = np.flatnonzero(speakers == speaker)
            others = rows[is_long[rows]]
            for block in np.array_split(rows, -(-len(rows) // _BLOCK)) if len(others) else ():
                similar = vectors[block] @ vectors[others].T
                similar[block[:, None] == others] = -np.inf
                chosen[block] = np.where(similar.max(axis=1) >= self.min_similarity, others[similar.argmax(axis=1)], -1)
        return chosen


_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class TokenExample:
    """An utterance and its prompt.

    Attributes:
        id, prompt_id: the ids of both; the second is empty without a prompt.
        text, prompt_text: [L], [M] ids of phonemes, or of the array of texts, int64.
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
    the same ones. The only utterance of a speaker has no prompt. Utterances without tokens are left out. With
    ``prompts``, each utterance has the same prompt in every epoch.

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
        text: the array of ids of texts: ``phonemes``, or one of integers with the axis ``own``, such as ``input_ids``.
        prompts: None draws them. The name of a column, such as ``ref_audio``, takes the utterances whose ids it has,
            and none where it is empty. `SimilarPrompts` takes similar ones.

    Raises:
        ConfigurationError: the store has no such array of integers, or column; or the column has other texts than ids
            of utterances with tokens.
    """

    def __init__(
        self,
        store: Any,
        tokens: str = "tokens",
        max_prompt: int | None = None,
        seed: int = 0,
        *,
        text: str = "phonemes",
        prompts: str | SimilarPrompts | None = None,
    ) -> None:
        dataset = dataset_of(store)
        for name, what in ((tokens, "tokens"), (text, "text")):
            specs = []
            for one in stores_of(dataset):
                spec = one.arrays.get(name)
                is_text = what == "text" and name == "phonemes"
                if spec is None or not (is_text or spec.axis == "own") or spec.numpy_dtype.kind not in "iu":
                    raise ConfigurationError(
                        f"{one.path}: {what}: expected an array of integers with the axis 'own', found "
                        f"{name!r}{f' of {spec.dtype} by {spec.axis}' if spec else ''}"
                    )
                specs.append(spec)
            check_array_agreement(name, specs, [str(one.path) for one in stores_of(dataset)])
        if max_prompt is not None and max_prompt < 1:
            raise ConfigurationError(f"max_prompt: expected an integer >= 1, found {max_prompt}")
        self.utterances = having(dataset, tokens)
        self._name, self._text, self._max_prompt, self._how = tokens, text, max_prompt, prompts
        self._draws = EpochDraws(check_seed(seed))
        codes = self.utterances.column("speaker").checked_codes()
        self._pool, self._chosen = self.utterances, None
        if prompts is not None:
            chosen = prompts.chosen(self._pool, codes) if isinstance(prompts, SimilarPrompts) else self._named(prompts)
            rows = np.flatnonzero(chosen >= 0) if isinstance(prompts, SimilarPrompts) else np.arange(len(chosen))
            self.utterances, self._chosen, codes = self._pool[rows], chosen[rows], codes[rows]
        order = np.argsort(codes, kind="stable")
        firsts = np.searchsorted(codes[order], np.arange(int(codes.max(initial=-1)) + 2))
        # Of each row: the first row of its speaker in the order by speaker, their number, and its own place.
        self._order, self._first = order, firsts[codes]
        self._count = firsts[codes + 1] - self._first
        self._place = np.argsort(order, kind="stable") - self._first

    def _named(self, column: str) -> npt.NDArray[np.int64]:
        """Return the utterances that a column names, [n], and -1 where it is empty."""
        rows = {name: row for row, name in enumerate(self._pool.column("id"))}
        names = [str(name) for name in self._pool.column(column)]
        if unknown := [name for name in names if name and name not in rows]:
            raise ConfigurationError(
                f"prompts: {len(unknown):,} of {len(names):,} utterances have a {column} that is the id of none with "
                f"{self._name}, such as {unknown[0]!r}; filter them out, or take prompts=None or SimilarPrompts()"
            )
        return np.array([rows.get(name, -1) for name in names], np.int64)

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
        names = (f"n_{self._text}", f"n_{self._name}")
        texts, sizes = (np.asarray(self._pool.column(name)) for name in names)
        is_cut = np.zeros(len(sizes), np.bool_) if self._max_prompt is None else sizes > self._max_prompt
        prompt_texts, prompts = np.where(is_cut, 0, texts), np.where(is_cut, self._max_prompt or 0, sizes)
        others = (self._of_others(prompt_texts), self._of_others(prompts))
        texts, sizes = (np.asarray(self.utterances.column(name)) for name in names)
        parts = (text * texts, tokens * sizes, text * others[0], tokens * others[1])
        return np.ceil(np.stack(parts, axis=1)).astype(np.int64)

    def _of_others(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the largest value of the utterances that each one can have as its prompt, [n]; 0 without any."""
        if self._chosen is not None:
            return np.where(self._chosen >= 0, values[self._chosen], 0)
        codes = self.utterances.column("speaker").checked_codes()
        ascending = np.lexsort((values, codes))
        last = self._first + self._count - 1
        largest, second = ascending[last], ascending[np.maximum(last - 1, 0)]
        others = np.where(np.arange(len(values)) == largest, values[second], values[largest])
        return np.where(self._count > 1, others, 0)

    def _example(self, i: int, epoch: int | None) -> TokenExample:
        words = self._draws.words(2, i, epoch)
        text, tokens = self._arrays(self.utterances, i)
        others = int(self._count[i]) - 1 if self._chosen is None else 1 + int(self._chosen[i])
        if not others:
            return TokenExample(self._ids[i], text, tokens, "", text[:0], tokens[:0])
        if self._chosen is None:
            place = int(words[_PROMPT]) % others
            # The places before its own, and those after it.
            place += place >= self._place[i]
            other = int(self._order[self._first[i] + place])
        else:
            other = int(self._chosen[i])
        prompt_text, prompt = self._arrays(self._pool, other)
        if self._max_prompt is not None and len(prompt) > self._max_prompt:
            start = int(words[_CUT]) % (len(prompt) - self._max_prompt + 1)
            prompt_text, prompt = prompt_text[:0], prompt[start : start + self._max_prompt]
        prompt_id = self._pool.column("id")[other] if self._chosen is not None else self._ids[other]
        return TokenExample(self._ids[i], text, tokens, prompt_id, prompt_text, prompt)

    def _arrays(self, utterances: Any, i: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        one = utterances.__getitems__([i])
        return one.views(self._text)[0].astype(np.int64), one.views(self._name)[0].astype(np.int64)

    @cached_property
    def _ids(self) -> Any:
        return self.utterances.column("id")

    def _bases(self) -> Sequence[Any]:
        return (self.utterances,)

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores, without speakers."""
        return as_read(stores_of(self.utterances), ids=True)

    def _fingerprint_settings(self) -> dict[str, Any]:
        made = {"tokens": self._name, "max_prompt": self._max_prompt, "seed": self._draws.seed}
        how = asdict(self._how) if isinstance(self._how, SimilarPrompts) else self._how
        others = {"text": self._text if self._text != "phonemes" else None, "prompts": how}
        return {**made, **{name: value for name, value in others.items() if value is not None}}


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
