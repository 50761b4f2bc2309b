"""How stored models are served by MLflow: the code that answers, what goes in and what comes out."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import Array

import tagcore
from tagcore.corpus import Document
from tagcore.text.document_fields import TEXT, TITLE
from tagcore.text.saving import read_params

_NEEDED = [  # what a served model imports
    "mlflow", "numba", "numpy", "pandas", "pyarrow", "safetensors", "scikit-learn", "scipy", "selectolax",
    "snowballstemmer", "threadpoolctl",
]  # fmt: skip


@dataclass(frozen=True)
class ServedForm:
    """One kind of served model: `name` is that of its stored folder, `answers` a column, `asks` gives those that go in:
    for a stored folder, each column and whether it is needed. The columns that it `adds` come with the answer."""

    name: str
    asks: Callable[[Path], dict[str, bool]]
    answers: str
    adds: tuple[str, ...] = ()

    def signature(self, folder: Path) -> ModelSignature:
        """One text in, or its fields, names best first with their scores out; `k` says how many."""
        columns = self.asks(folder).items()
        answers: list[Any] = [ColSpec(Array(DataType.string), self.answers), ColSpec(Array(DataType.double), "scores")]
        answers += [ColSpec(Array(DataType.string), name) for name in self.adds]
        return ModelSignature(
            inputs=Schema([ColSpec(DataType.string, name, required=needed) for name, needed in columns]),
            outputs=Schema(answers),
            params=ParamSchema([ParamSpec("k", DataType.integer, 5)]),
        )

    def log(self, folder: Path, example: Document, metadata: dict[str, Any]) -> str:
        """Puts a stored model as code on the active run, tagcore shipped with it; gives the model's id."""
        asked = {next(iter(self.asks(folder))): example} if isinstance(example, str) else dict(example)
        info = mlflow.pyfunc.log_model(
            name=self.name,
            python_model=str(Path(__file__).with_name(f"pyfunc_{self.name}.py")),
            code_paths=[str(Path(tagcore.__file__).parent)],
            artifacts={self.name: str(folder)},
            signature=self.signature(folder),
            input_example=pd.DataFrame([asked]),  # a plain dictionary would be one row that holds a list
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in _NEEDED],
            metadata=metadata,
        )
        return info.model_id


def _fields_of_tagger(folder: Path) -> dict[str, bool]:
    """Its text, perhaps with a title; or its named fields, of which none is needed."""
    params, _ = read_params(folder / "vectoriser")
    return dict.fromkeys(sorted(params["fields"]), False) if params["fields"] else {TEXT: True, TITLE: False}


TAGGER = ServedForm("tagger", asks=_fields_of_tagger, answers="tags")
RECOMMENDER = ServedForm(
    "recommender", asks=lambda folder: {"user": True, "tags": False}, answers="items", adds=("titles",)
)
FORMS = (TAGGER, RECOMMENDER)
