"""Where a model comes from that another program trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """Where a converted model comes from, and what is known of its objective.

    Attributes
    ----------
    toolkit : str
        The program that trained the model.
    objective : str
        The objective that it was trained for, as far as the file says, in words.
    comparable : bool
        Whether partwise has that objective too, so that a fit with the same data and settings
        tells how far the weights were from its optimum.
    settings : dict
        What else the file says about the training, as JSON can hold it.
    """

    toolkit: str
    objective: str
    comparable: bool
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The verdict of the certificate of a converted model."""
        return f"converted from {self.toolkit}, not certified"

    def to_json(self) -> dict[str, Any]:
        """Return the contents as JSON can hold them."""
        return {
            "toolkit": self.toolkit,
            "objective": self.objective,
            "comparable": self.comparable,
            "settings": self.settings,
        }

    @staticmethod
    def from_json(data: Any) -> Origin | None:
        """Make an origin from what `to_json` returned; None if the data are anything else."""
        wanted = {"toolkit": str, "objective": str, "comparable": bool, "settings": dict}
        if not isinstance(data, dict) or data.keys() != wanted.keys():
            return None
        if not all(type(data[name]) is kind for name, kind in wanted.items()):
            return None
        return Origin(**data)
