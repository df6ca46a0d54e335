"""Which structure a name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, MismatchError
from ..registry import Registry

if TYPE_CHECKING:
    from .base import Structure

__all__ = ["MAX_WIDTH", "STRUCTURES", "make_structure", "structure_class"]

STRUCTURES: Final[Registry[type[Structure]]] = Registry(
    "partwise.structures",
    {
        "multiclass": "structures.multiclass:Multiclass",
        "chain": "structures.chain.structure:Chain",
        "second-order-chain": "structures.second_order.structure:SecondOrderChain",
        "semi-markov": "structures.segments.structure:SemiMarkov",
        "projective": "structures.dependency.projective:ProjectiveTree",
        "spanning-tree": "structures.dependency.spanning:SpanningTree",
        "grammar": "structures.grammar.structure:Grammar",
        "graph": "structures.graph.structure:Graph",
    },
)

#: More parts at one site than these cannot be held for any example.
MAX_WIDTH: Final = 2**28


def structure_class(name: Any, own: Sequence[type[Structure] | str] = ()) -> type[Structure]:
    """Find a structure by its name.

    Parameters
    ----------
    name : str
        One of ``STRUCTURES``, or the name of one of `own`.
    own : sequence of classes or names
        Structures from outside the package, by their class or by the name of an entry point; they
        go before those of the package.
    """
    for given in own:
        if isinstance(given, str) and given not in STRUCTURES:
            raise MismatchError(f"no package provides the structure {given!r}; give its class")
        kind = STRUCTURES[given] if isinstance(given, str) else given
        if kind.name == name:
            return kind
    # A model file must not make a plug-in be imported: whoever reads the file names it.
    if not isinstance(name, str) or not STRUCTURES.built_in(name):
        raise MismatchError(
            f"the structure {name!r} is unknown; use one of {', '.join(STRUCTURES)}, or, if it is "
            "one of your own, give its class: structures=[...]"
        )
    return STRUCTURES[name]


def make_structure(
    name: Any, constants: Any, own: Sequence[type[Structure] | str] = ()
) -> Structure:
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
        raise DataError(f"the constants of a {name} must be an object with names")
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
