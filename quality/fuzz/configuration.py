"""Files of options given to the commands: the answer, or one line of error with its exit code; never a traceback.

Neither paths outside the folder nor code to import are written, because a file that is named is trusted.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from command_line import folder_of_its_own, run_command, sound_file
from drawing import Drawing
from ledgers import sound_files

from propriety.cli.options import option_names
from propriety.cli.program import program

__all__ = ["one"]

COMMANDS = ("condense", "evaluate", "compare", "plan", "monitor", "segments", "recalibrate")
QUICK = {"seed": "1", "resamples": "59"}  # For the commands that have these options.
NAMES = sorted({key for command in program.commands.values() for key in option_names(command)})
VALUES = (
    *("y", "p", "q", "g", "w", "in", "out", "a", "", "1", "9", "0.5", "0.1,0.2", "nan", "-1", "brier", "log", "auc"),
    *(
        "m=p",
        "m=p,q",
        "brier < 1",
        "miscalibrated",
        "no such name",
        "km",
        "drop",
        "a b",
        "\u202e",
        "\x00",
        "\n",
        "=cmd",
    ),
)


def one(data: bytes) -> None:
    """Run a command with the options that the bytes say."""
    drawing = Drawing(data)
    command = drawing.choice(COMMANDS)
    text = _text(drawing, command) if drawing.number(3) else _plain(drawing.rest())
    with folder_of_its_own() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write_input(command, folder)
        project = drawing.number(7) == 7
        name = "pyproject.toml" if project else "options.toml"
        (folder / name).write_text(f"[tool.propriety]\n{text}" if project else text, encoding="utf-8", newline="")
        own = option_names(program.commands[command])
        given = [part for option, value in QUICK.items() if option in own for part in (f"--{option}", value)]
        run_command(command, *["in"] * ("files" in own), *(() if project else ("--config", name)), *given)


def _write_input(command: str, folder: Path) -> None:
    """Write what the command reads: a ledger by day for a monitor, else cases."""
    if command == "monitor":
        for name, content in sound_files("ledger").items():
            path = folder / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    else:
        (folder / "in").write_bytes(sound_file(0))


def _text(drawing: Drawing, command: str) -> str:
    """Return TOML with known and unknown names and values of all kinds."""
    lines = [f"[{command}]"]
    for _ in range(drawing.number(6)):
        if drawing.number(5) == 5:
            lines.append(f"[{drawing.choice([*COMMANDS, 'tool.propriety', 'other', drawing.text()])}]")
        name = drawing.choice(NAMES) if drawing.often() else json.dumps(_harmless(drawing.text()))
        lines.append(f"{name} = {_value(drawing)}")
    return "\n".join(lines)


def _value(drawing: Drawing) -> str:
    kind = drawing.number(9)
    if kind < 5:
        return json.dumps(drawing.choice(VALUES))
    if kind == 5:
        return "[" + ", ".join(_value(drawing) for _ in range(drawing.number(3))) + "]"
    if kind == 6:
        return drawing.choice(["true", "false", "inf", "nan", "2026-01-01", "07:30:00", "{}", "{a = 1}", "1_0", "0x1f"])
    if kind == 7:
        return repr(drawing.real())
    if kind == 8:
        return drawing.choice(
            ["9" * 5000, "[" * 3000, "'''", '"', "1e400", "-9999-99-99", '"\\ud800"', "{a = {a = {}}}"]
        )
    return json.dumps(_harmless(drawing.text()))


def _harmless(text: str) -> str:
    return text.replace("/", "_").replace(":", ";").replace("..", "__")


def _plain(data: bytes) -> str:
    return _harmless(data.decode("utf-8", errors="replace").replace("\\u", "u").replace("\\U", "U"))
