"""Build hook: rules in the form that is loaded at start-up, as reading thousands of them from YAML takes too long."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):
    """Compiles the rules of the source tree, for a wheel and for an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's interface
        """Write the files; a bad rule file ends the build."""
        sys.path.insert(0, self.root)
        from rdmadiag.knowledge.base import compile_fixes
        from rdmadiag.logs.compiled import compile_events
        from rdmadiag.rules.generated import GENERATED, write_generated
        from rdmadiag.rules.load import compile_diagnoses
        from rdmadiag.rules.precompiled import COMPILED
        from rdmadiag.rules.sandbox import sandbox

        rules = Path(self.root) / "rules"
        (rules / "diagnoses" / GENERATED).unlink(missing_ok=True)  # nothing is taken from it
        (rules / "events" / COMPILED).write_bytes(compile_events(rules))
        (rules / "diagnoses" / COMPILED).write_bytes(compile_diagnoses(rules))
        (rules / "fixes" / COMPILED).write_bytes(compile_fixes(rules / "fixes"))
        write_generated(rules, sandbox().made)  # by now all diagnoses were compiled
