"""SpeeChain's data configuration over a store: two iterators in training, one in validation.

tts-prep demo demo
python examples/speechain.py demo/store demo/speechain
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tts_prep.export import export
from tts_prep.recipes import build_iterators

DATA_CFG = """
data_root: {folder}
train:
    sup:
        type: block.BlockIterator
        conf:
            dataset_type: speech.speech_text.SpeechTextDataset
            dataset_conf:
                src_data: !ref <data_root>/idx2feat
                tgt_label: !ref <data_root>/idx2text
                meta_info:
                    speaker: !ref <data_root>/idx2spk
            batch_len: 4000
    unsup:
        type: block.BlockIterator
        conf:
            dataset_type: speech.speech_text.SpeechTextDataset
            dataset_conf:
                src_data: !ref <data_root>/idx2feat
            batch_len: 4000
            selection_mode: rev_order
            selection_num: 0.5
valid:
    type: piece.PieceIterator
    conf:
        dataset_type: speech.speech_text.SpeechTextDataset
        dataset_conf:
            src_data: !ref <data_root>/idx2feat
            tgt_label: !ref <data_root>/idx2text
        batch_size: 4
        selection_mode: order
        selection_num: -4
"""


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument(
        "folder", type=Path, help="new; where idx2feat and its like go, as by 'tts-prep export --to speechain'"
    )
    options = parser.parse_args(arguments)
    export(options.store, "speechain", options.folder)
    groups = build_iterators(DATA_CFG.format(folder=options.folder))
    for train_batch in groups["train"]:
        for name, batch in train_batch.items():
            print(f"train {name}: feat {batch['feat'].shape}, feat_len {batch['feat_len'].tolist()}")
    for batch in groups["valid"]:
        print(f"valid: feat {batch['feat'].shape}, text {batch['text'].shape}")


if __name__ == "__main__":
    main()
