"""Checks of JSON values by the schemas that the OpenAPI document shows.

A schema is a dict in the words of JSON Schema, of which this module knows those that the requests
need: type, properties, required, additionalProperties, items, minItems, maxItems, minimum, maximum,
maxLength and oneOf: of objects that are told apart by the first name that each requires, or, within
an object, of names of which it must have one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from .faults import Fault

__all__ = ["Check", "Schema", "checker"]

Schema = Mapping[str, Any]
Check = Callable[[Any, str], None]

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SHOWN: Final = 5


def checker(schema: Schema) -> Check:
    """Return a function that raises a Fault for a value that does not fit a schema.

    It takes the value and its place, such as ``inputs[0]``; "" is the whole body.
    """
    if "oneOf" in schema and "type" not in schema:
        return _one_of(schema["oneOf"])
    named = schema.get("type")
    if named is None:
        return _anything
    names = [named] if isinstance(named, str) else list(named)
    kinds = {kind for name in names for kind in _KINDS[name]}
    inner = {
        "object": _object(schema), "array": _array(schema), "string": _string(schema),
        "number": _number(schema),
    }  # fmt: skip

    def check(value: Any, where: str) -> None:
        # bool is an int for Python and not for JSON.
        if type(value) not in kinds:
            raise _wrong(where, f"is {_told(value)}; give {_listed(names)}", "wrong_type")
        if type(value) is dict:
            inner["object"](value, where)
        elif type(value) is list:
            inner["array"](value, where)
        elif type(value) is str:
            inner["string"](value, where)
        elif type(value) in (int, float):
            inner["number"](value, where)

    return check


def _anything(value: Any, where: str) -> None:
    return


def _object(schema: Schema) -> Check:
    properties = {name: checker(one) for name, one in schema.get("properties", {}).items()}
    required = schema.get("required", ())
    choices = [one["required"][0] for one in schema.get("oneOf", ())]
    closed = schema.get("additionalProperties") is False

    def check(value: Any, where: str) -> None:
        for name in required:
            if name not in value:
                about = schema["properties"][name].get("description", "It must have one")
                told = f"{where or 'the body'} has no {name!r}. {about}"
                raise Fault(422, "missing", told, f"{where}.{name}" if where else name)
        for name, held in value.items():
            known = properties.get(name)
            if known is not None:
                known(held, f"{where}.{name}" if where else name)
            elif closed:
                shown = ", ".join(properties)
                raise _wrong(where, f"has no field {name[:80]!r}; fields are {shown}", "unknown")
        if choices:
            _chosen(value, choices, where)

    return check


def _array(schema: Schema) -> Check:
    each = checker(schema.get("items", {}))
    least, most = schema.get("minItems", 0), schema.get("maxItems")

    def check(value: Any, where: str) -> None:
        if len(value) < least:
            raise _wrong(where, f"has {len(value)} items; give at least {least}", "too_short")
        if most is not None and len(value) > most:
            raise Fault(
                413, "too_long",
                f"{where} has {len(value):,} items; send at most {most:,} at a time", where,
            )  # fmt: skip
        if each is not _anything:
            for number, held in enumerate(value):
                each(held, f"{where}[{number}]")

    return check


def _string(schema: Schema) -> Check:
    most = schema.get("maxLength")

    def check(value: Any, where: str) -> None:
        if most is not None and len(value) > most:
            raise Fault(
                413, "too_long",
                f"{where} has {len(value):,} characters; send at most {most:,} at a time", where,
            )  # fmt: skip

    return check


def _number(schema: Schema) -> Check:
    least, most = schema.get("minimum"), schema.get("maximum")

    def check(value: Any, where: str) -> None:
        if (least is not None and value < least) or (most is not None and value > most):
            raise _wrong(where, f"is {_short(value)}; give {least} to {most}", "out_of_range")

    return check


def _one_of(schemas: list[Schema]) -> Check:
    checks = {one["required"][0]: checker(one) for one in schemas}

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            keys = _either(checks)
            raise _wrong(where, f"is {_told(value)}; give an object with {keys}", "wrong_type")
        checks[_chosen(value, checks, where)](value, where)

    return check


def _chosen(value: Mapping[str, Any], names: Iterable[str], where: str) -> str:
    """Return the one of some names that an object has; raise a Fault if it has none or several."""
    present = [name for name in names if name in value]
    if len(present) == 1:
        return present[0]
    others = [f"{name!r:.40}" for name in value]
    found = " and ".join(map(repr, present)) or " and ".join(others[:_SHOWN]) + " only"
    raise _wrong(
        where, f"{f'has {found}' if value else 'is empty'}; give one of {_either(names)}", "missing"
    )


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))


def _wrong(where: str, what: str, code: str) -> Fault:
    return Fault(422, code, f"{where or 'the body'} {what}", where or None)


def _told(value: Any) -> str:
    """Return what a value is, in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"the number {_short(value)}"


def _short(value: float) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


def _listed(names: list[str]) -> str:
    articles = {"object": "an object", "array": "a list", "integer": "a whole number"}
    return " or ".join(articles.get(name, f"a {name}") for name in names[:_SHOWN])
