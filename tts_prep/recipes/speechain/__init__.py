"""SpeeChain's data configurations: YAML in, iterators of batches out, over stores.

Two kinds of configuration are read. The published recipes name their data in ``main_data`` (`MainDataset`); SpeeChain's
first documents had ``src_data`` and ``tgt_label`` (`SpeechTextDataset`).
"""

from tts_prep.recipes.speechain.batches import FixedBatches, cut_blocks, select_positions
from tts_prep.recipes.speechain.configuration import read_config
from tts_prep.recipes.speechain.features_and_labels import SpeechTextDataset, collate
from tts_prep.recipes.speechain.iterators import IteratorGroup, build_iterators
from tts_prep.recipes.speechain.main_data import MainDataset

__all__ = [
    "FixedBatches",
    "IteratorGroup",
    "MainDataset",
    "SpeechTextDataset",
    "build_iterators",
    "collate",
    "cut_blocks",
    "read_config",
    "select_positions",
]
