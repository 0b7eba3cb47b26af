"""Modules that were documented under another name: the former name still imports them, with a warning."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

FORMER = {
    "dualign.core": "dualign._core",
    "dualign.core.certified": "dualign._core.certified",
    "dualign.core.errors": "dualign._core.errors",
    "dualign.infer.constraints": "dualign.hmm.constraints",
    "dualign.jobs.plain_files": "dualign.jobs.functions",
    "dualign.jobs.serving": "dualign.commands.serve",
    "dualign.measure.chrf": "dualign.measure.translation",
    "dualign.text.alignment": "dualign.text.links",
    "dualign.text.synthetic": "dualign.text.samples",
    "dualign.train": "dualign.learn",
    "dualign.train.constraints": "dualign.hmm.constraints",
    "dualign.translate.chart": "dualign.translate.forest.builder",
    "dualign.translate.forest.chart": "dualign.translate.forest.builder",
    "dualign.translate.forest.tree_match": "dualign.translate.forest.builder",
    "dualign.translate.grammar": "dualign.translate.rules.grammar",
    "dualign.translate.partitions": "dualign.translate.search.baselines.partitions",
    "dualign.translate.treematch": "dualign.translate.forest.builder",
}
"""Former name: present name. They go with the release after this one."""


class FormerNames:
    """Finds a module by its former name, where nothing else does."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A module that `exec_module` fills, if there was one of this name."""
        return ModuleSpec(name, FormerNames, is_package=True) if name in FORMER else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """An ordinary empty module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Ask the module of the present name for all names."""
        import warnings
        from importlib import import_module

        present = FORMER[module.__name__]
        warnings.warn(f"{module.__name__} is now {present}", DeprecationWarning, stacklevel=2)
        home = import_module(present)
        module.__dict__["__getattr__"] = lambda name: getattr(home, name)


def install() -> None:
    """Have former names looked for, last of all."""
    if FormerNames not in sys.meta_path:
        sys.meta_path.append(FormerNames)
