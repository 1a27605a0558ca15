"""Train a small language model of speech tokens on text and a prompt of the same speaker, on one or more processes.

    tts-prep add store --feature speech_models:EncodecTokens --jobs 2     # from this folder; see speech_models.py
    torchrun --nproc-per-node 2 train_language_model.py store --checkpoint model.pt

With `--checkpoint`, it is saved every `--save-every` steps, also in the middle of an epoch, and an interrupted run
continues from there: the losses are those of a run without an interruption.
"""

import argparse
import os
from pathlib import Path

import torch
from torch import nn

from tts_prep.loader import DataLoader, LengthBucketBatchSampler
from tts_prep.recipes import PromptedTokens, TokenCollate


class TokenModel(nn.Module):
    """A causal transformer over text, the tokens of the prompt, and the tokens to be predicted."""

    def __init__(self, symbols, levels, codebooks, width=48, length=2000):
        super().__init__()
        self.text = nn.Embedding(symbols, width)
        # The last one is that of padding.
        self.tokens = nn.ModuleList(nn.Embedding(levels + 1, width) for _ in range(codebooks))
        self.places = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.heads = nn.ModuleList(nn.Linear(width, levels) for _ in range(codebooks))

    def forward(self, batch):
        """Return the mean cross entropy of the tokens."""
        parts = [self.text(batch.text), self._embedded(batch.prompt_tokens), self._embedded(batch.tokens)]
        lengths = [batch.text_lengths, batch.prompt_lengths, batch.token_lengths]
        padded = torch.cat(
            [torch.arange(part.shape[1]) >= n[:, None] for part, n in zip(parts, lengths, strict=True)], 1
        )
        whole = torch.cat(parts, dim=1)
        size = whole.shape[1]
        causal = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
        hidden = self.layers(whole + self.places.weight[:size], mask=causal, src_key_padding_mask=padded)
        # What precedes a token predicts it.
        start = size - batch.tokens.shape[1]
        before = hidden[:, start - 1 : -1]
        real = ~padded[:, start:]
        losses = [
            nn.functional.cross_entropy(head(before[real]), batch.tokens[..., level][real])
            for level, head in enumerate(self.heads)
        ]
        return torch.stack(losses).mean()

    def _embedded(self, tokens):
        return sum(embedding(tokens[..., level]) for level, embedding in enumerate(self.tokens))


def train(store, epochs, checkpoint, save_every, stop_after, max_length, seed=0):
    """Train, and return the loss of every step of this call, averaged over the processes."""
    dataset = PromptedTokens(str(store), "tokens", max_prompt=75, seed=seed)
    spec = dataset.utterances.arrays["tokens"]
    levels = 1 + int(dataset.utterances.statistics("tokens").max.max())
    sampler = LengthBucketBatchSampler(dataset.lengths(), max_frames=max_length, seed=seed, rank="auto")
    collate = TokenCollate([levels] * spec.row_shape[0], dataset.utterances.pad_id, output="torch")
    loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)
    torch.manual_seed(seed)
    model = TokenModel(len(dataset.utterances.symbols), levels, spec.row_shape[0])
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    step, first = 0, 0
    if checkpoint and checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step, first = saved["step"], saved["epoch"]
    is_parallel = torch.distributed.is_initialized()
    parallel = nn.parallel.DistributedDataParallel(model) if is_parallel else model
    losses = []
    for epoch in range(first, epochs):
        for batch in loader:
            # Dropout depends on the step and the rank, so that a resumed run draws the same.
            torch.manual_seed(1000 * step + (torch.distributed.get_rank() if is_parallel else 0))
            loss = parallel(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            mean = loss.detach().clone()
            if is_parallel:
                torch.distributed.all_reduce(mean)
                mean /= torch.distributed.get_world_size()
            losses.append(float(mean))
            if checkpoint and step % save_every == 0 and (not is_parallel or torch.distributed.get_rank() == 0):
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "epoch": epoch}
                torch.save({**state, "loader": loader.state_dict()}, checkpoint)
            if step == stop_after:
                return losses
    return losses


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Train a language model of speech tokens.")
    parser.add_argument("store", type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--save-every", type=int, default=5)
    parser.add_argument("--stop-after", type=int, help="a step after which to stop")
    parser.add_argument("--max-length", type=int, default=3000, help="of a batch: text, tokens and prompts, padded")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if "WORLD_SIZE" in os.environ:
        torch.distributed.init_process_group("gloo")
    losses = train(
        options.store,
        options.epochs,
        options.checkpoint,
        options.save_every,
        options.stop_after,
        options.max_length,
    )
    if not torch.distributed.is_initialized() or torch.distributed.get_rank() == 0:
        for loss in losses:
            print(repr(loss))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
