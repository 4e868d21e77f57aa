"""Log lines: a constant message with fields; JSON for machines, one readable line for people."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

_FIELDS = "fields"


class Log:
    """`log.info("rolled", workload=…)`: the message never varies, the fields do."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def _log(self, level: int, message: str, fields: dict[str, Any]) -> None:
        """An empty field is left out, so that a field has the same type in every line."""
        if self._logger.isEnabledFor(level):
            there = {name: value for name, value in fields.items() if value not in ("", None)}
            self._logger.log(level, message, extra={_FIELDS: there})

    def debug(self, message: str, **fields: Any) -> None:
        self._log(logging.DEBUG, message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._log(logging.INFO, message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self._log(logging.WARNING, message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._log(logging.ERROR, message, fields)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "msg": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        return msgspec.json.encode(line, enc_hook=str).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, _FIELDS, {})
        shown = " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())
        line = f"{_time(record)[11:19]} {record.levelname:<7} {record.getMessage():<10} {shown}"
        return line.rstrip()


def configure(form: str, level: str, stream: TextIO | None = None) -> None:
    """Send our log lines to `stream` (stderr) as `form`: json, text, or auto by the terminal."""
    stream = stream or sys.stderr
    text = form == "text" or (form == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter() if text else JsonFormatter())
    root = logging.getLogger("reroll")
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
    # What no line shows is not gathered for it either: that is half the time a line takes.
    logging._srcfile = None  # noqa: SLF001  the way that its documentation gives
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _quoted(value: object) -> str:
    """As it is if it is one word; otherwise quoted, so that no value can pass for another line."""
    text = str(value)
    plain = text.isprintable() and not {" ", '"'} & set(text)
    return text if plain else msgspec.json.encode(text).decode()
