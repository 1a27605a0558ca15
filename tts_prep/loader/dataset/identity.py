"""What a dataset is made from: its fingerprint, and the stores of its examples."""

from typing import Any

import numpy as np

from tts_prep.format.files.checksums import json_sha256
from tts_prep.loader.dataset.metadata import StoreMetadata
from tts_prep.loader.dataset.utterances import UtteranceDataset
from tts_prep.loader.randomness import digest


class MadeOfStores:
    """Base class of datasets that are made of stores, which people's own are not, whatever names they have."""

    def stores(self) -> list[StoreMetadata]:
        """Return the metadata of the stores from which the examples are made; [] if there are none."""
        return []


def fingerprint_of(dataset: Any) -> str:
    """Return a string that identifies the content of a dataset, also of torch's ``Subset``."""
    if hasattr(type(dataset), "fingerprint"):
        return str(dataset.fingerprint)
    if is_subset(dataset):
        return json_sha256([fingerprint_of(dataset.dataset), digest(np.asarray(dataset.indices))])
    return f"{len(dataset)} examples"


def stores_of(dataset: Any) -> list[StoreMetadata]:
    """Return the metadata of the stores from which the examples of a dataset are made; [] if they are unknown."""
    if isinstance(dataset, UtteranceDataset):
        return [dataset.metadata]
    if isinstance(dataset, MadeOfStores):
        return dataset.stores()
    return stores_of(dataset.dataset) if is_subset(dataset) else []


def is_subset(dataset: Any) -> bool:
    """Return whether a dataset is a selection of another, as torch's ``Subset`` is."""
    return hasattr(dataset, "dataset") and hasattr(dataset, "indices")
