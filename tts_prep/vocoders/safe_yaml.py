"""PyYAML's safe loader, with limits where its time or memory grows faster than the file. PyYAML is imported on use."""

from __future__ import annotations

from typing import Any, Final

from tts_prep.errors import MissingPackageError

_MAX_MERGES: Final = 16
_MAX_MERGED: Final = 10_000
_MAX_VALUES: Final = 100_000
_MAX_NUMBER: Final = 400
"""The length of a number. PyYAML reads ``1:30:…`` in base 60, which takes quadratic time."""


def safe_load(text: str, what: str, *, with_tags: bool = False) -> Any:
    """Return the plain values of a text in YAML.

    Args:
        with_tags: take the values that a tag such as ``!new:NAME`` would make something of; otherwise it is refused.

    Raises:
        MissingPackageError: PyYAML is not installed.
        ValueError: the text is not YAML, or has references to references that make more than 100,000 values.
    """
    loader = safe_loader(what)
    import yaml

    if with_tags:
        loader.add_multi_constructor("!", _plain)

    try:
        value = yaml.load(text, loader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    n_values, left = 0, [value]
    while left:
        n_values += 1
        if n_values > _MAX_VALUES:
            raise ValueError(f"more than {_MAX_VALUES:,} values")
        found = left.pop()
        left += found.values() if isinstance(found, dict) else found if isinstance(found, list | set | tuple) else ()
    return value


def _plain(loader: Any, _tag: str, node: Any) -> Any:
    """Return the values of a node, whatever its tag would make of them."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)


def safe_loader(what: str) -> Any:
    """Return a new class of a loader of plain values.

    Merges (``<<``) can double a mapping in every line: 30 lines would fill the memory.

    Args:
        what: what needs PyYAML, for the message.

    Raises:
        MissingPackageError: PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise MissingPackageError(
            f"{what} need PyYAML, which is not installed: pip install 'tts-prep[yaml]'"
        ) from error

    def fail(node: Any, problem: str) -> Exception:
        error: Exception = yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return error

    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """Construct plain values, not more of them than the file is long."""

        n_merged = 0

        def flatten_mapping(self, node: Any) -> None:
            merged = [value for key, value in node.value if key.tag == "tag:yaml.org,2002:merge"]
            n_merges = sum(len(value.value) if isinstance(value, yaml.SequenceNode) else 1 for value in merged)
            if n_merges > _MAX_MERGES:
                raise fail(node, f"merges {n_merges:,} mappings, expected at most {_MAX_MERGES}")
            super().flatten_mapping(node)
            self.n_merged += len(node.value) if merged else 0
            if self.n_merged > _MAX_MERGED:
                raise fail(node, f"merges of more than {_MAX_MERGED:,} values")

    def number(construct: Any) -> Any:
        def limited(loader: Any, node: Any) -> Any:
            if len(node.value) > _MAX_NUMBER:
                raise fail(node, f"a number of {len(node.value):,} characters")
            return construct(loader, node)

        return limited

    Loader.add_constructor("tag:yaml.org,2002:int", number(yaml.SafeLoader.construct_yaml_int))
    Loader.add_constructor("tag:yaml.org,2002:float", number(yaml.SafeLoader.construct_yaml_float))
    return Loader
