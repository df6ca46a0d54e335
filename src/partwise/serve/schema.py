"""Checks of JSON values by the schemas that the OpenAPI document shows.

A schema is a dict in the words of JSON Schema, of which this module knows those that the requests
need: type, properties, required, additionalProperties, items, minItems, maxItems, minimum, maximum,
maxLength and oneOf (of objects, told apart by the first name that each requires).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .faults import Fault

__all__ = ["Schema", "checker"]

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
    if "oneOf" in schema:
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
    closed = schema.get("additionalProperties") is False

    def check(value: Any, where: str) -> None:
        for name in required:
            if name not in value:
                raise _wrong(where, f"has no {name!r}; it must have one", "missing")
        for name, held in value.items():
            known = properties.get(name)
            if known is not None:
                known(held, f"{where}.{name}" if where else name)
            elif closed:
                shown = ", ".join(properties)
                raise _wrong(where, f"has no field {name[:80]!r}; fields are {shown}", "unknown")

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
            raise _wrong(where, f"is {value:.6g}; give {least} to {most}", "out_of_range")

    return check


def _one_of(schemas: list[Schema]) -> Check:
    checks = {one["required"][0]: checker(one) for one in schemas}
    keys = " or ".join(repr(key) for key in checks)

    def check(value: Any, where: str) -> None:
        if type(value) is not dict:
            raise _wrong(where, f"is {_told(value)}; give an object with {keys}", "wrong_type")
        present = [key for key in checks if key in value]
        if len(present) != 1:
            others = [f"{key!r:.40}" for key in value]
            found = " and ".join(map(repr, present)) or " and ".join(others[:_SHOWN])
            found += "" if present else " only"
            what = f"has {found}" if value else "is empty"
            raise _wrong(where, f"{what}; give one of {keys}", "missing")
        checks[present[0]](value, where)

    return check


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
    return {None: "null", True: "true", False: "false"}.get(value, f"the number {value!r:.40}")


def _listed(names: list[str]) -> str:
    articles = {"object": "an object", "array": "a list", "integer": "a whole number"}
    return " or ".join(articles.get(name, f"a {name}") for name in names[:_SHOWN])
