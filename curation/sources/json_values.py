"""JSON values, strictly: what is not JSON is an error with a code, and never an exception with content.

orjson parses; what it refuses is looked at a second time, so that a lone surrogate escape, which real archives hold,
does not cost the document (it becomes U+FFFD, as in ftfy), and so that the code says what was wrong.
"""

import json
import re
from typing import Any, NoReturn

import orjson

from curation.sources.units import UnitError

_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(content: bytes) -> Any:
    """Return the value of one JSON text; every string in it can be encoded as UTF-8.

    Raises:
        UnitError: decode/invalid_utf8, or parse with json, json_constant or json_depth.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return _second_look(content)


def _second_look(content: bytes) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise UnitError("decode", "invalid_utf8") from None
    try:
        return _encodable(json.loads(text, parse_constant=_no_constant))
    except UnitError:
        raise
    except RecursionError:
        raise UnitError("parse", "json_depth") from None
    except ValueError:
        raise UnitError("parse", "json") from None


def _no_constant(name: str) -> NoReturn:
    raise UnitError("parse", "json_constant")


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value
