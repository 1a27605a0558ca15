"""Training steps of models of codes, small and with random weights, on batches of the systems' own data sets."""

from __future__ import annotations

import importlib


def losses_of(make, batches, step=lambda model, batch: model(**batch).loss):
    """Return the loss of a step on each batch, of the same model with the same random numbers."""
    import torch

    torch.manual_seed(0)
    model = make().train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    losses = []
    for batch in batches:
        torch.manual_seed(len(losses))
        loss = step(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def of_steps(make, pairs, **kwargs):
    """Return what is said of the losses on theirs and ours, two lists of batches: how many, and the difference."""
    theirs, ours = (losses_of(make, batches[:3], **kwargs) for batches in pairs)
    assert len({*theirs}) == len(theirs), f"no model learns: {theirs}"
    difference = max(abs(a - b) for a, b in zip(theirs, ours, strict=True))
    return f"losses of {len(theirs)} steps, from {theirs[0]:.2f}, differ by {difference:.1e}"


def of_llama(pairs):
    """Return `of_steps` of a causal language model, in which the ids that occur are numbered from 0."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    table = torch.unique(torch.cat([batch["input_ids"].ravel() for batch in pairs[0][:3]]))
    numbered = [[_numbered(batch, table) for batch in batches[:3]] for batches in pairs]
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return of_steps(lambda: LlamaForCausalLM(LlamaConfig(vocab_size=len(table), **sizes)), numbered)


def _numbered(batch, table):
    import torch

    labels = torch.where(batch["labels"] < 0, batch["labels"], torch.searchsorted(table, batch["labels"].clamp(0)))
    return {**batch, "input_ids": torch.searchsorted(table, batch["input_ids"]), "labels": labels}


_SIZES = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 16,
}


def small_qwen3_tts():
    """Return Qwen3-TTS's model; the vocabularies have the special ids of the defaults."""
    configuration = importlib.import_module("qwen_tts.core.models.configuration_qwen3_tts")
    modeling = importlib.import_module("qwen_tts.core.models.modeling_qwen3_tts")
    rope = {"mrope_section": [4, 2, 2], "rope_type": "default", "interleaved": True}
    talker = {
        **_SIZES,
        "vocab_size": 4_300,
        "text_vocab_size": 151_936,
        "text_hidden_size": 32,
        "num_code_groups": 16,
        "rope_scaling": rope,
        "spk_id": {},
        "spk_is_dialect": {},
        "codec_language_id": {},
        "code_predictor_config": {**_SIZES, "vocab_size": 2_048, "num_code_groups": 16},
    }
    encoder = {"enc_dim": 32, "enc_channels": [32] * 4 + [96], "enc_attention_channels": 16}
    return modeling.Qwen3TTSForConditionalGeneration(
        configuration.Qwen3TTSConfig(talker_config=talker, speaker_encoder_config=encoder, tts_model_type="base")
    )


def step_of_qwen3_tts(model, batch):
    """Return the loss of the loop of ``finetuning/sft_12hz.py``."""
    talker, codes = model.talker, batch["codec_ids"]
    speaker = model.speaker_encoder(batch["ref_mels"]).detach()
    embedded = talker.model.codec_embedding(batch["input_ids"][:, :, 1]) * batch["codec_embedding_mask"]
    embedded[:, 6, :] = speaker
    embedded = embedded + talker.model.text_embedding(batch["input_ids"][:, :, 0]) * batch["text_embedding_mask"]
    for i in range(1, 16):
        of_book = talker.code_predictor.get_input_embeddings()[i - 1](codes[:, :, i])
        embedded = embedded + of_book * batch["codec_mask"].unsqueeze(-1)
    found = talker(
        inputs_embeds=embedded[:, :-1, :],
        attention_mask=batch["attention_mask"][:, :-1],
        labels=batch["codec_0_labels"][:, 1:],
        output_hidden_states=True,
    )
    hidden = found.hidden_states[0][-1][batch["codec_mask"][:, :-1]]
    _, of_books = talker.forward_sub_talker_finetune(codes[batch["codec_mask"]], hidden)
    return found.loss + 0.3 * of_books


def small_moss_tts():
    """Return MOSS-TTS's model of delayed codebooks."""
    configuration = importlib.import_module("moss_tts_delay.configuration_moss_tts")
    modeling = importlib.import_module("moss_tts_delay.modeling_moss_tts")
    language = {**_SIZES, "vocab_size": 155_648}
    return modeling.MossTTSDelayModel(configuration.MossTTSDelayConfig(language_config=language, n_vq=16))
