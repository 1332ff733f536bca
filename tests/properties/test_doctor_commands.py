"""People copy the doctor's commands: nothing that stands in evidence may become part of them and run.

Every command is split by a real shell and has to have exactly the words that its template intends, whatever evidence
puts into it. `python -m tests.properties.test_doctor_commands` prints what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from tests.support.doctor import picture
from tests.support.doctor_cases import Case, cases
from tests.support.real_shell import harmless, intended, learn, split

from tortie.doctor.causes import ways
from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.causes.cause import Cause
from tortie.doctor.causes.steps import Ask, Step
from tortie.doctor.commands.shell import Shell
from tortie.doctor.judgement.filling import common_values
from tortie.doctor.judgement.judge import judge
from tortie.doctor.picture.facts import HostFile, Interface, Session, Setting, Unit, Version
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import sections

# What a hostile ticket calls its nodes, pods, links, files and addresses.
HOSTILE = {
    "option": ("--all", "-oProxyCommand=evil h", "-A", "--force", "-", "--", "-x"),
    "blank": ("w-1 --all", "w-1\tevil", " w-1", "w-1 "),
    "newline": ("w-1\nevil", "w-1\r\nevil", "\nevil", "w-1\n"),
    "glob": ("*", "w*", "?", "w-?", "[wx]*", "{a,b}"),
    "home and comment": ("~", "~root", "#", "w-1 #", "#w-1"),
    "assignment": ("a=b", "PATH=x", "=evil"),
    "climbing": ("..", "../..", "a/../../b", "/", "//"),
    "substitution": ("$(evil)", "`evil`", "$HOME", "${IFS}evil", "<(evil)"),
    "operator": (";evil", "&&evil", "|evil", "||evil", "&evil", "w-1;evil", ">owned", "w-1>owned", "<evil", "(evil)"),
    "quote": ("'", '"', "';evil;'", '";evil;"', "\\", "w-1\\", "'\"'\"';evil"),
    "look-alike": ("\uff1bevil", "\uff0d\uff0dall", "w\u20101", "w-1\u3000evil", "\u0430ll", "\uff0a"),
    "invisible": ("w-1\u200b", "\u200b--all", "\ufeffw-1", "w\u00ad-1", "w-1\u2060", "\u3164", "w\u034f-1"),
    "right-to-left": ("\u202eevil", "w-1\u202e", "\u2066w-1\u2069", "\u200fw-1"),
    "control": ("w-1\x1b[2K", "w-1\x08\x08", "\x07", "w-1\x7f"),
}  # fmt: skip
VALUES = tuple(value for values in HOSTILE.values() for value in values)
PLAIN = ("w-1", "10.0.0.1", "10.0.0.0/24", "eth0", "ds/calico-node", "179", "tcp", "/etc/x", "x=y", "true", "v3.27.0")
OPERATORS = (";reboot", "$(reboot)", "|reboot", "&reboot", "`reboot`")
EACH_CASE = 4  # values tried with each case; all of them take minutes, and every value meets many cases
CAUSES = tuple(cause for cause in all_causes() if isinstance(cause, Cause))
TEXTS = (*(cause.module for cause in CAUSES), ways.__name__)


def templates(texts: str) -> list[str]:
    return [harmless(section.sh) for section in sections(texts).values() if section.sh]


def turned(shells: list[Shell]) -> list[str]:
    """Commands that a shell reads in another way than they are meant; behind `||`, where programs fail."""
    either = [shell for shell in shells if "||" in shell.template]
    return [*_turned(shells, 0), *(_turned(either, 1) if either else ())]


def _turned(shells: list[Shell], result: int) -> Iterator[str]:
    unique = {shell.render(): shell for shell in shells}
    learn([shell.template for shell in unique.values()], result)
    for (text, shell), got in zip(unique.items(), split(list(unique), result), strict=True):
        if got != intended(shell.template, dict(shell.values), result):
            yield text


def filled(texts: str) -> list[Shell]:
    """Every command of a file of texts, with every value in every hole."""
    return [
        Shell(template, ((hole.label, value),))
        for template in templates(texts)
        for hole in Shell(template).holes
        for value in (*VALUES, *PLAIN)
    ]


@pytest.mark.parametrize("texts", TEXTS, ids=lambda name: str(name).rpartition(".")[2])
def test_no_value_turns_a_command(texts: str) -> None:
    shells = filled(texts)
    assert turned(shells) == []
    assert not [shell for shell in shells if _dangerous().intersection(_values(shell))]


def test_a_real_shell_would_see_it() -> None:
    """Values that are only pasted in: the shell reads something else, so this test can tell."""
    kinds = ("blank", "newline", "glob", "substitution", "operator", "quote")
    pasted = [value for kind in kinds for value in HOSTILE[kind] if ">" not in value]
    told = split([f"kubectl delete node {value} -v" for value in pasted])
    through = [value for value, got in zip(pasted, told, strict=True)
               if [one.words for one in got] == [("kubectl", "delete", "node", value, "-v")]]  # fmt: skip
    assert through == []
    with pytest.raises(AssertionError, match="owned"):
        split(["kubectl delete node w-1>owned"])


def test_scripts_of_other_shells_are_split_again() -> None:
    (words,) = split(["kubectl delete node w-1; ssh -p 22 w-2 'ls \"<path>\"' && kubectl exec p -- sh -c 'rm x'"])
    assert [" ".join(one.words) for one in words] == [
        "kubectl delete node w-1", "kubectl exec p", "ls <path>", "rm x", "sh -c", "ssh -p 22 w-2",
    ]  # fmt: skip


# Evidence


def _nodes(seen: Picture) -> set[str]:
    return {*seen.nodes_now(), *seen.calico_nodes()}


def _pods(seen: Picture) -> set[str]:
    return {name for pod in seen.pods_now() for name in (pod.name, pod.namespace)}


def _links(seen: Picture) -> set[str]:
    return {link.name for link in seen.of(Interface)}


def _files(seen: Picture) -> set[str]:
    return {file.name for file in seen.of(HostFile)} | {unit.name for unit in seen.of(Unit)}


def _addresses(seen: Picture) -> set[str]:
    pools = {name for pool in seen.pools_now() for name in (pool.cidr, pool.name)}
    return {*seen.internal_ips().values(), *(session.peer for session in seen.of(Session)), *pools}


def _settings(seen: Picture) -> set[str]:
    values = {setting.value for setting in seen.of(Setting)} | {one.version for one in seen.of(Version)}
    return {value for value in values if re.fullmatch(r"[\w.:/@-]{6,60}", value)}


CLASSES: tuple[Callable[[Picture], set[str]], ...] = (_nodes, _pods, _links, _files, _addresses, _settings)


def replaced(text: str, names: set[str], value: str) -> str:
    longest = sorted((name for name in names if len(name) > 2), key=len, reverse=True)[:60]
    return re.sub("|".join(map(re.escape, longest)), lambda _: value, text) if longest else ""


def commands(seen: Picture) -> Iterator[Shell]:
    """Everything that would be printed about this evidence and has a template."""
    diagnosis = judge(seen)
    for answer in (*diagnosis.causes, *diagnosis.unrelated):
        for step in (*answer.fix, *answer.verify):
            if isinstance(step, Step) and step.shell:
                yield step.shell
        if isinstance(answer.cause.ask, Ask):
            yield answer.cause.ask.shell.fill(common_values(seen, answer.finding))


def attacked(case: Case, number: int, tries: int) -> Iterator[tuple[str, Picture]]:
    """The case with one class of its names called otherwise; other values and classes for every case."""
    seen = picture(case.text)
    for turn in range(tries):
        value = VALUES[(number * EACH_CASE + turn) % len(VALUES)]
        text = replaced(case.text, CLASSES[(number + turn) % len(CLASSES)](seen), value)
        if text:
            yield value, picture(text)


@pytest.mark.parametrize(("number", "case"), list(enumerate(cases())), ids=lambda value: str(value))
def test_names_in_evidence_cannot_become_commands(number: int, case: Case) -> None:
    tried = [(value, shell) for value, seen in attacked(case, number, EACH_CASE) for shell in commands(seen)]
    assert turned([Shell(harmless(shell.template), shell.values) for _, shell in tried]) == []
    assert not [shell.render() for value, shell in tried if value in _dangerous() and value in _values(shell)]


@pytest.mark.parametrize(("number", "case"), list(enumerate(cases())), ids=lambda value: str(value))
def test_no_command_repeats_what_was_added_to_a_name(number: int, case: Case) -> None:
    """As text, questions too: a name that goes on with an operator is never printed as part of a command."""
    poison = OPERATORS[number % len(OPERATORS)]
    seen = picture(case.text)
    names = set[str]().union(*(names(seen) for names in CLASSES))
    longest = sorted((name for name in names if len(name) > 3), key=len, reverse=True)[:60]
    if longest:
        text = re.sub("|".join(map(re.escape, longest)), lambda match: match[0] + poison, case.text)
        diagnosis = judge(picture(text))
        answers = (*diagnosis.causes, *diagnosis.unrelated)
        printed = [step.command for answer in answers for step in (*answer.fix, *answer.verify)]
        assert all(poison not in one for one in (*printed, *(question.command for question in diagnosis.next)))


def _dangerous() -> set[str]:
    return {value for value in VALUES if value.startswith("-") or not re.fullmatch(r"[\w./=-]+", value, re.ASCII)}


def _values(shell: Shell) -> set[str]:
    """Values that stand in the command as it is printed."""
    left = {hole.label for hole in shell.open}
    return {value for label, value in shell.values if label not in left}


def main() -> None:
    """The attack table."""
    print(f"{len(VALUES)} hostile values; texts of {len(CAUSES)} of {len(all_causes())} causes, and of ways")
    every = [shell for texts in TEXTS for shell in filled(texts)]
    for name, values in HOSTILE.items():
        _row(name, len(values), [shell for shell in every if shell.values[0][1] in values])
    _row("harmless", len(PLAIN), [shell for shell in every if shell.values[0][1] in PLAIN])
    attacks = [seen for number, case in enumerate(cases()) for _, seen in attacked(case, number, 2 * len(CLASSES))]
    printed = [shell for seen in attacks for shell in commands(seen)]
    print(f"evidence: {len(attacks)} texts")
    _row("evidence", len(VALUES), [Shell(harmless(shell.template), shell.values) for shell in printed])


def _row(name: str, values: int, shells: list[Shell]) -> None:
    different = len({shell.render() for shell in shells})
    print(f"{name:18} {values:3} values {len(shells):7} fillings {different:6} commands {len(turned(shells)):3} turned")


if __name__ == "__main__":
    main()
