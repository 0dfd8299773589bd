"""The conditions of `--fail-if`: a number compared with another, or a verdict of a test.

::

    condition  = value sign value | path "/" "miscalibrated" | name relation name
    value      = number | path
    path       = ["baseline" "/"] [name "/"] [group "/"] name
    group      = "any group" | name "=" name
    sign       = "<" | "<=" | ">" | ">="
    relation   = ["not"] ("better" | "worse") "than"
    name       = text | '"' text in which quotes are doubled '"'
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from propriety.errors import InputValueError

Sign: TypeAlias = Literal["<", "<=", ">", ">="]
Kind: TypeAlias = Literal["quoted", "relation", "sign", "slash", "equals", "text", "end"]

RELATION = r"(?:not\s+)?(?:better|worse)\s+than"
TOKEN = re.compile(
    r"\s*(?:"
    r'(?P<quoted>"(?:[^"]|"")*")'
    rf"|(?P<relation>{RELATION}(?![^\s\"]))"
    r"|(?P<sign><=|>=|<|>)"
    r"|(?P<slash>/)"
    r"|(?P<equals>=)"
    rf'|(?P<text>(?:(?!\s{RELATION}(?![^\s"]))[^"<>=/])+)'
    r")\s*"
)
PLAIN = re.compile(r'[^"<>=/\s](?:[^"<>=/]*[^"<>=/\s])?')
BASELINE, ANY_GROUP, MISCALIBRATED = "baseline", "any group", "miscalibrated"
HINT = 'write it as "miscalibrated", "brier>0.2", "new/brier>old/brier" or "new worse than old".'
QUOTE_HINT = "put names that contain /, <, > or = in double quotes."


class Token(NamedTuple):
    """A part of a condition."""

    kind: Kind
    text: str

    @property
    def is_name(self) -> bool:
        """Whether this can be a name."""
        return self.kind in ("text", "quoted")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a key; without a key, any group of any key."""

    key: str | None = None
    label: str = ""

    def __str__(self) -> str:
        return ANY_GROUP if self.key is None else f"{_written(self.key)}={_written(self.label)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A number of an evaluation; without a model, that of every model."""

    metric: str
    model: str | None = None
    group: Group | None = None
    in_baseline: bool = False

    def __str__(self) -> str:
        parts = [BASELINE] if self.in_baseline else []
        parts += [] if self.model is None else [_written(self.model)]
        parts += [] if self.group is None else [str(self.group)]
        return "/".join([*parts, _written(self.metric)])


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:.15g}"


@dataclass(frozen=True, slots=True)
class Inequality:
    """Whether a number is above or below another."""

    left: Path | Number
    sign: Sign
    right: Path | Number

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class Miscalibrated:
    """Whether the calibration test finds a model miscalibrated, on all cases or in a group."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Relation:
    """Whether the test of a comparison finds a model better or worse than another; or, if `negated`, does not."""

    model: str
    verdict: Literal["better", "worse"]
    other: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{_written(self.model)} {'not ' if self.negated else ''}{self.verdict} than {_written(self.other)}"


Condition: TypeAlias = Inequality | Miscalibrated | Relation


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Examples
    --------
    >>> parse_condition("brier>0.2")
    Inequality(left=Path(metric='brier', model=None, group=None, in_baseline=False), sign='>', right=Number(value=0.2))
    >>> parse_condition("new not better than old")
    Relation(model='new', verdict='better', other='old', negated=True)
    >>> str(parse_condition('"a/b"/sex=f/miscalibrated'))
    '"a/b"/sex=f/miscalibrated'
    """
    return _Parser(text).condition()


class _Parser:
    """A reader of one condition, from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.tokens = self._tokens()

    def condition(self) -> Condition:
        if len(self.tokens) > 1 and self.tokens[1].kind == "relation":
            found: Condition = self._relation()
        else:
            left = self._value()
            if self.tokens[self.place].kind == "sign":
                sign: Sign = self._take("sign").text  # type: ignore[assignment]  # by its pattern
                found = Inequality(left, sign, self._value())
            elif isinstance(left, Path) and left.metric == MISCALIBRATED and not left.in_baseline:
                found = Miscalibrated(left)
            else:
                raise self._error("must be a condition")
        if self.tokens[self.place].kind != "end":
            raise self._error("must be one condition")
        if isinstance(found, Inequality):
            self._check_sides(found)
        return found

    def _relation(self) -> Relation:
        model, words = self._name(), self._take("relation").text.split()
        verdict: Literal["better", "worse"] = "better" if "better" in words else "worse"
        return Relation(model.text, verdict, self._name().text, negated=words[0] == "not")

    def _value(self) -> Path | Number:
        parts: list[Token | Group] = [self._part()]
        while self.tokens[self.place].kind == "slash":
            self._take("slash")
            parts.append(self._part())
        only = parts[0]
        if len(parts) == 1 and isinstance(only, Token) and only.kind == "text":
            try:
                value = float(only.text)
            except ValueError:
                return Path(metric=only.text)
            if not math.isfinite(value):
                raise self._error("must compare with a finite number")
            return Number(value)
        return self._path(parts)

    def _path(self, parts: Sequence[Token | Group]) -> Path:
        *before, last = parts
        if isinstance(last, Group):
            raise self._error("must be a condition")
        in_baseline = bool(before) and before[0] == Token("text", BASELINE)
        before = before[1:] if in_baseline else before
        groups = [part for part in before if isinstance(part, Group)]
        models = [part.text for part in before if isinstance(part, Token)]
        if len(groups) > 1 or len(models) > 1:
            raise self._error("must name at most one model and one group", QUOTE_HINT)
        return Path(
            metric=last.text,
            model=models[0] if models else None,
            group=groups[0] if groups else None,
            in_baseline=in_baseline,
        )

    def _part(self) -> Token | Group:
        name = self._name()
        if self.tokens[self.place].kind == "equals":
            self._take("equals")
            return Group(name.text, self._name().text)
        return Group() if name == Token("text", ANY_GROUP) else name

    def _name(self) -> Token:
        if not self.tokens[self.place].is_name:
            raise self._error("must be a condition")
        return self._take()

    def _take(self, kind: Kind | None = None) -> Token:
        token = self.tokens[self.place]
        if kind is not None and token.kind != kind:
            raise self._error("must be a condition")
        self.place += 1
        return token

    def _tokens(self) -> list[Token]:
        tokens, place = [], 0
        while place < len(self.text.rstrip()):
            found = TOKEN.match(self.text, place)
            if found is None:
                raise self._error("must have closed quotes")
            kind: Kind = found.lastgroup  # type: ignore[assignment]  # one of the groups of the pattern
            text = found[kind].strip()
            tokens.append(Token(kind, text[1:-1].replace('""', '"') if kind == "quoted" else text))
            place = found.end()
        return [*tokens, Token("end", "")]

    def _check_sides(self, found: Inequality) -> None:
        if not isinstance(found.left, Path) and not isinstance(found.right, Path):
            raise self._error("must name a number of the evaluation")
        if isinstance(found.right, Path) and found.right.group == Group():
            raise self._error("must have any group on the left")

    def _error(self, law: str, hint: str = HINT) -> InputValueError:
        return InputValueError(law, argument="--fail-if", got=self.text, hint=hint)


def _written(name: str) -> str:
    """Write a name as a condition has it, in quotes if necessary."""
    plain = (
        PLAIN.fullmatch(name)
        and not re.search(rf"(?:^|\s){RELATION}(?:\s|$)", name)
        and name not in (BASELINE, ANY_GROUP)
    )
    return name if plain else '"' + name.replace('"', '""') + '"'
