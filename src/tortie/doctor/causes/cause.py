"""What a cause is: what it looks at, an ordered tuple of small rules, and what to do. Its texts lie beside it.

`look` gathers once what the rules ask about. The first rule that answers decides, and the finding keeps its name. Texts
are sections of the `.txt` file beside the module: `name`, `what`, `missing`, `why <rule>`, `alike <cause>`, `ask`, `fix
<step>`, `verify <step>`, `prevent <key>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final, Literal

from tortie.doctor.causes.culprits import Culprit, objects
from tortie.doctor.causes.steps import Ask, Step, plain, step_of
from tortie.doctor.commands.shell import Shell
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Section, Text, Told, Value, sections
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

State = Literal["found", "ruled-out", "cannot-tell"]
Severity = Literal["critical", "high", "medium", "low"]

# How sure a judgement is. Claims begin at LIKELY; what is below stays a candidate. docs/explanation/judgement.md says
# how these are held against cases.
PROVEN: Final = 0.97  # the decisive observation is there, and what looks alike is excluded by evidence
STRONG: Final = 0.92  # the cause's own message, nothing speaks against it
LIKELY: Final = 0.8  # fits better than everything that looks alike, though the decisive observation is missing
POSSIBLE: Final = 0.45  # fits, and so do others
HINT: Final = 0.2  # a reason to ask

_NOT_SAID: Final = Words("", "")


class Finding(NamedTuple):
    """What a cause says about a picture."""

    state: State
    why: Told = _NOT_SAID  # one or two sentences: the reason, with the names and values that carry it
    strength: float = 0.0
    objects: tuple[str, ...] = ()  # the culprits' names and their other spellings
    evidence: tuple[Place, ...] = ()  # in the order of the chain, from cause to symptom
    aside: bool = False  # true, worth fixing, but not what makes the symptoms
    values: tuple[tuple[str, Value], ...] = ()  # for the texts and commands: address, interface, node ...
    rule: str = ""  # the rule that decided
    culprits: tuple[Culprit, ...] = ()  # the one at fault first
    say: str = ""  # the sentence, where it is not the rule's own
    remedied: bool = False  # the trouble, the remedy and what it brought are all shown: true although all is well now

    def value(self, name: str, otherwise: str = "") -> str:
        found = dict(self.values).get(name)
        return found if isinstance(found, str) and found else otherwise


class Do(NamedTuple):
    """A step of the cause's own texts, chosen by its key, with values beside those of the finding."""

    key: str
    values: tuple[tuple[str, Value], ...] = ()


Rule = Callable[[Any], Finding | None]  # given what `look` gathered


def do(key: str, **values: Value) -> Do:
    return Do(key, _kept(values))


def found(
    strength: float,
    culprits: Iterable[Culprit] = (),
    evidence: Iterable[Place | Hit | object] = (),
    *,
    say: str = "",
    aside: bool = False,
    **values: Value,
) -> Finding:
    """Evidence may be places, hits or facts; what is None is dropped."""
    some = tuple(dict.fromkeys(one for one in culprits if one.name))
    return Finding("found", _NOT_SAID, strength, objects(some), places(evidence), aside, _kept(values),
                   culprits=some, say=say)  # fmt: skip


def ruled_out(evidence: Iterable[Place | Hit | object] = (), *, say: str = "", **values: Value) -> Finding:
    return Finding("ruled-out", evidence=places(evidence), values=_kept(values), say=say)


def cannot_tell(*, say: str = "", **values: Value) -> Finding:
    return Finding("cannot-tell", values=_kept(values), say=say)


def _kept(values: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Findings are compared and kept in sets: a list of names becomes a tuple."""
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in values.items())


def places(evidence: Iterable[Place | Hit | object]) -> tuple[Place, ...]:
    got = (item if isinstance(item, Place) else getattr(item, "place", None) for item in evidence)
    return tuple(dict.fromkeys(place for place in got if place is not None))


class Cause:
    """One cause. `module` is the module's `__name__`: its texts lie beside it."""

    def __init__(
        self,
        *,
        module: str,
        id: str,
        code: str,
        severity: Severity,
        explains: tuple[str, ...],  # kinds of symptoms, see judgement/symptoms.py
        signs: tuple[Sign, ...],
        rules: tuple[Rule, ...],
        look: Callable[[Picture], object] = lambda picture: picture,
        fix: Callable[[Picture, Finding], Iterable[Do | Step]] | None = None,  # without it: all steps, in their order
        prevents: Mapping[str, Callable[[Picture, Finding], bool]] | None = None,  # when a `prevent` fits; else always
        yields_to: tuple[str, ...] = (),  # when one of these is found too, this one is its consequence
    ) -> None:
        self.module, self.id, self.code, self.severity = module, id, code, severity
        self.explains, self.signs, self.yields_to = explains, signs, yields_to
        self.rules = rules
        self._look, self._fix, self._prevents = look, fix, prevents or {}

    def judge(self, picture: Picture) -> Finding:
        seen = self._look(picture)
        for rule in self.rules:
            finding = rule(seen)
            if finding is not None:
                name = rule.__name__.strip("_").replace("_", "-")
                own = Text(self.module, f"why {finding.say or name}", finding.values)
                # A finding that several causes share brings its sentence along.
                return finding._replace(why=own if finding.why is _NOT_SAID else finding.why, rule=name)
        return Finding("cannot-tell", Text(self.module, "missing"), rule="missing")

    # Texts

    @property
    def texts(self) -> dict[str, Section]:
        return sections(self.module)

    @property
    def name(self) -> Words:
        return self.texts["name"].words

    @property
    def what(self) -> Words:
        return self.texts["what"].words

    @cached_property
    def look_alikes(self) -> tuple[tuple[str, Words], ...]:
        """(id, what separates the two)"""
        return tuple((key, self.texts[f"alike {key}"].words) for key in self._keys("alike"))

    @property
    def ask(self) -> Ask:
        section = self.texts["ask"]
        return Ask(Shell(section.sh), section.words)

    def fix(self, picture: Picture, finding: Finding) -> tuple[Step, ...]:
        """Right for the version and the owner in the picture; most important first."""
        chosen = self._fix(picture, finding) if self._fix else map(Do, self._keys("fix"))
        known = dict(finding.values)
        made = (
            self._step(f"fix {one.key}", known | dict(one.values)) if isinstance(one, Do) else one for one in chosen
        )
        return tuple(step.fill(plain(known)) for step in made)

    @property
    def verify(self) -> tuple[Step, ...]:
        return tuple(self._step(f"verify {key}", {}) for key in self._keys("verify"))

    @property
    def prevent(self) -> tuple[Words, ...]:
        return tuple(self.texts[f"prevent {key}"].words for key in self._keys("prevent"))

    def prevent_for(self, picture: Picture, finding: Finding) -> tuple[Words, ...]:
        """Only what fits here."""
        fits = [
            key for key in self._keys("prevent") if key not in self._prevents or self._prevents[key](picture, finding)
        ]
        return tuple(self.texts[f"prevent {key}"].words for key in fits)

    def _step(self, key: str, values: Mapping[str, Value]) -> Step:
        return step_of(self.module, key, values)

    def _keys(self, part: str) -> list[str]:
        return [key.partition(" ")[2] for key in self.texts if key.startswith(f"{part} ")]
