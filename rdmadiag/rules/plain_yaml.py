"""
YAML as rule files use it: plain values, each written once.

What YAML can do beyond that is refused: with aliases a short file becomes values without end, or one that holds
itself, and of two values of one key the first would be lost in silence.
"""

from typing import Any

import yaml
from yaml.constructor import ConstructorError

# Without libyaml the other one reads the same, more slowly.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PlainLoader(_Loader):  # type: ignore[misc]
    """PyYAML's safe loader without aliases, merge keys, and keys that are there twice."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return the value of *node*, which is asked for again where an alias stands."""
        if node in self.constructed_objects or node in self.recursive_objects:
            raise _fault("aliases are not for rules: write this out where it is used", node)
        try:
            return super().construct_object(node, deep)
        except (AttributeError, KeyError, ValueError) as error:  # !!int x, 2018-13-45
            raise _fault(
                f"no {node.tag.rpartition(':')[2]}: {str(node.value)[:40]!r}", node
            ) from error

    def flatten_mapping(self, node: yaml.Node) -> None:
        """Leave merge keys (``<<``) as they are: nothing constructs them, so they are refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping that has each of its keys once."""
        pairs: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(pairs) < len(node.value):
            raise _twice(node)
        return pairs


def _twice(node: yaml.MappingNode) -> ConstructorError:
    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen:
            return _fault(f"{key.value} is there twice", key)
        seen.add(key.value)
    return _fault("a key is there twice", node)  # 1 and 0x1


def _fault(text: str, node: yaml.Node) -> ConstructorError:
    return ConstructorError(None, None, text, node.start_mark)
