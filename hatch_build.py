"""Build hook: the event rules in the form that is loaded at start-up (``rules/events/compiled.json``)."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):
    """Compiles the event rules of the source tree, for a wheel and for an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's interface
        """Write the file; a bad rule file ends the build."""
        sys.path.insert(0, self.root)
        from rdmadiag.logs.compiled import write_compiled

        write_compiled(Path(self.root) / "rules")
