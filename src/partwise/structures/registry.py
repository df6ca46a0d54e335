"""Which structure a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, MismatchError

if TYPE_CHECKING:
    from .base import Structure

__all__ = ["MAX_WIDTH", "STRUCTURES", "make_structure", "structure_class"]

#: The module and the class of every structure, imported when it is first asked for.
STRUCTURES: Final = {
    "multiclass": ("multiclass", "Multiclass"),
    "chain": ("chain.structure", "Chain"),
    "second-order-chain": ("second_order.structure", "SecondOrderChain"),
    "semi-markov": ("segments.structure", "SemiMarkov"),
    "projective": ("dependency.projective", "ProjectiveTree"),
    "spanning-tree": ("dependency.spanning", "SpanningTree"),
    "grammar": ("grammar.structure", "Grammar"),
    "graph": ("graph.structure", "Graph"),
}

#: More parts at one site than these cannot be held for any example.
MAX_WIDTH: Final = 2**28


def structure_class(name: Any, own: Sequence[type[Structure]] = ()) -> type[Structure]:
    """Find a structure by its name.

    Parameters
    ----------
    name : str
        One of ``STRUCTURES``, or the name of one of `own`.
    own : sequence of classes
        Structures from outside the package; they go before those of the package.
    """
    for kind in own:
        if kind.name == name:
            return kind
    if not isinstance(name, str) or name not in STRUCTURES:
        raise MismatchError(
            f"the structure {name!r} is unknown; use one of {', '.join(STRUCTURES)}, or, if it is "
            "one of your own, give its class: structures=[...]"
        )
    module, attribute = STRUCTURES[name]
    found: type[Structure] = getattr(import_module(f"partwise.structures.{module}"), attribute)
    return found


def make_structure(name: Any, constants: Any, own: Sequence[type[Structure]] = ()) -> Structure:
    """Make a structure from its name and its constants, which may come from anywhere.

    Parameters
    ----------
    name, own
        As in `structure_class`.
    constants : dict
        What `Structure.constants` gave, or anything else.

    Raises
    ------
    DataError
        If the structure is unknown or the constants make none.
    """
    kind = structure_class(name, own)
    if not isinstance(constants, dict):
        raise DataError(f"the constants of a {name} are no object")
    kind.check_constants(constants)
    try:
        structure = kind(**constants)
        widths = structure.widths
    except DataError:
        raise
    except Exception as error:  # a constructor says in its own way what it cannot use
        raise DataError(f"no {name} can be made of its constants: {error!r}") from error
    sound = all(type(width) is int and 0 <= width <= MAX_WIDTH for width in widths)
    if not sound or len(widths) != len(structure.kinds):
        raise DataError(
            f"a {name} with sites of {', '.join(map(str, widths))} parts; expected one width for "
            f"each of {', '.join(structure.kinds)}, at most {MAX_WIDTH}"
        )
    return structure
