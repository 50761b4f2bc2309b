"""How stored models are served by MLflow: the code that answers, what goes in and what comes out."""

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
from mlflow.models import ModelSignature
from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
from mlflow.types.schema import Array

import tagcore

_NEEDED = [  # what a served model imports
    "mlflow", "numba", "numpy", "pandas", "pyarrow", "safetensors", "scikit-learn", "scipy", "selectolax",
    "snowballstemmer", "threadpoolctl",
]  # fmt: skip


@dataclass(frozen=True)
class ServedForm:
    """One kind of served model: `name` is that of its stored folder, `asks` and `answers` are columns; those that it
    `may_ask` for can be left out, those that it `adds` come with the answer."""

    name: str
    asks: str
    answers: str
    may_ask: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()

    @property
    def signature(self) -> ModelSignature:
        """One text in, names best first with their scores out; `k` says how many."""
        asked: list[Any] = [ColSpec(DataType.string, self.asks)]
        asked += [ColSpec(DataType.string, name, required=False) for name in self.may_ask]
        answered: list[Any] = [ColSpec(Array(DataType.string), self.answers), ColSpec(Array(DataType.double), "scores")]
        answered += [ColSpec(Array(DataType.string), name) for name in self.adds]
        return ModelSignature(
            inputs=Schema(asked),
            outputs=Schema(answered),
            params=ParamSchema([ParamSpec("k", DataType.integer, 5)]),
        )

    def log(self, folder: Path, example: str, metadata: dict[str, Any]) -> str:
        """Puts a stored model as code on the active run, tagcore shipped with it; gives the model's id."""
        info = mlflow.pyfunc.log_model(
            name=self.name,
            python_model=str(Path(__file__).with_name(f"pyfunc_{self.name}.py")),
            code_paths=[str(Path(tagcore.__file__).parent)],
            artifacts={self.name: str(folder)},
            signature=self.signature,
            input_example=pd.DataFrame({self.asks: [example]}),  # a plain dictionary would be one row that holds a list
            pip_requirements=[f"{name}=={importlib.metadata.version(name)}" for name in _NEEDED],
            metadata=metadata,
        )
        return info.model_id


TAGGER = ServedForm("tagger", asks="text", answers="tags")
RECOMMENDER = ServedForm("recommender", asks="user", answers="items", may_ask=("tags",), adds=("titles",))
FORMS = (TAGGER, RECOMMENDER)
