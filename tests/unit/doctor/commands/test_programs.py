"""What a command line would run: every program, wherever it hides."""

from __future__ import annotations

import pytest

from tortie.doctor.commands.programs import Simple, programs
from tortie.doctor.commands.shell import Shell


def run(text: str) -> list[str]:
    return [" ".join((command.program, *command.words, *command.redirections)) for command in programs(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a x | b 'y z' && c; d || e", ["a x", "b y z", "c", "d", "e"]),
        ("a & b\nc", ["a", "b", "c"]),
        ("ssh -p 22 host 'a; b c'", ["a", "b c"]),
        ("ssh host a b", ["a b"]),
        ("ssh -o ProxyCommand=x host", ["ssh -o ProxyCommand=x host"]),
        ("sh -c 'a; b'", ["a", "b"]),
        ("bash -lc \"a; b\"", ["a", "b"]),
        ("ssh host \"sh -c 'a b'\"", ["a b"]),
        ("sudo -u root a x", ["a x"]),
        ("sudo timeout -k 5 10 a x", ["a x"]),
        ("env A=b C=d e f", ["e f"]),
        ("A=$(b c) d", ["b c", "d"]),
        ('echo "x $(a "b c") y"', ["a b c", 'echo x $(a "b c") y']),
        ("echo '$(a)'", ["echo $(a)"]),
        ("echo `a b`", ["a b", "echo `a b`"]),
        ("echo $((1 + 2))", ["echo $((1 + 2))"]),
        ("diff <(a) <(b)", ["a", "b", "diff <(a) <(b)"]),
        ("(a; b) | c", ["a", "b", "c"]),
        ("for x in $(a) b; do c $x; done", ["a", "c $x"]),
        ("while read x; do a; done < f", ["read x", "a", ": <f"]),
        ("if [ -f x ]; then a; else b; fi", ["[ -f x ]", "a", "b"]),
        ("cat <<'EOF' | a -f -\nx: $(b)\nEOF", ["cat", "a -f -"]),
        ("cat <<EOF | a -f -\nx: $(b)\nEOF", ["b", "cat", "a -f -"]),
        ("a > f 2>&1", ["a >f 2>&1"]),
        ("a x>f", ["a x >f"]),
        ("a &> f", ["a &>f"]),
        ("a </dev/null 2>/dev/null", ["a </dev/null 2>/dev/null"]),
        ("kubectl -n ns exec pod -c c -- a b", ["a b"]),
        ("kubectl exec pod -- sh -c 'a; b'", ["a", "b"]),
        ("kubectl run x -- a", ["kubectl run x -- a"]),
        ("docker exec -it c a b", ["a b"]),
        ("microk8s kubectl delete pod x", ["kubectl delete pod x"]),
        ("k3s kubectl get pod", ["kubectl get pod"]),
        ("ip netns exec ns a b", ["a b"]),
        ("nsenter -t 1 -n a b", ["a b"]),
        ("x | xargs -n1 -I {} a {}", ["x", "a {}"]),
        ("watch -n 2 'a b; c'", ["a b", "c"]),
        ("/usr/sbin/a x", ["a x"]),
        ("a # b; c", ["a"]),
        ("a x#y", ["a x#y"]),
        ("a \\\n  b", ["a b"]),
        ("time a", ["a"]),
    ],
)  # fmt: skip
def test_every_program_is_found(text: str, expected: list[str]) -> None:
    assert run(text) == expected


@pytest.mark.parametrize("text", ["echo 'x", 'echo "x', "a $(b", "cat <<EOF\nx", "a `b", "(a"])
def test_what_cannot_be_read_has_no_name(text: str) -> None:
    assert [command.program for command in programs(text)] == [""]


def test_nesting_ends() -> None:
    deep = "a"
    for _ in range(400):
        deep = f"$({deep})"
    assert list(programs(f"echo {deep}"))
    assert list(programs("sudo " * 400 + "a"))


def test_operands_are_not_values_of_options() -> None:
    command = Simple("kubectl", ("-n", "ns", "delete", "pod", "-l", "a=b", "--", "-x"))
    assert command.operands == ("delete", "pod", "-x")


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("a <node>", "a '<node>'"),
        ("a '<node>'", "a '<node>'"),
        ('a "<node>"', 'a "<node>"'),
        ("a --x=<node>", "a --x='<node>'"),
        ("ssh <host> 'a <path>'", "ssh '<host>' 'a \"<path>\"'"),
        ("ssh <host> 'a \"x <path>\"'", "ssh '<host>' 'a \"x <path>\"'"),
        ('ssh <host> "a <path>"', "ssh '<host>' \"a '<path>'\""),
        ("sh -c 'a <path>'", "sh -c 'a \"<path>\"'"),
        ("kubectl exec <pod> -- sh -c 'a <path>'", "kubectl exec '<pod>' -- sh -c 'a \"<path>\"'"),
        ('a "$(b <path>)"', "a \"$(b '<path>')\""),
        ("a $(b <path>)", "a $(b '<path>')"),
        ("a <<'EOF'\nx: <path>\nEOF", "a <<'EOF'\nx: <path>\nEOF"),
        ("grep -c '<node>' x", "grep -c '<node>' x"),
    ],
)
def test_an_open_hole_redirects_nothing(template: str, rendered: str) -> None:
    assert Shell(template).render() == rendered
    assert not [command for command in Shell(template).commands() if command.redirections]


def test_values_fill_holes_and_what_is_refused_is_told() -> None:
    shell = Shell("kubectl drain <node> -n <namespace>").fill({"node": "--all", "namespace": "web", "other": "x"})
    assert shell.render() == "kubectl drain '<node>' -n web"
    assert [(refused.hole.label, refused.value) for refused in shell.refused] == [("node", "--all")]
    assert [hole.label for hole in shell.open] == ["node"]


def test_a_value_that_is_there_stays() -> None:
    assert str(Shell("ping <host>").fill({"host": "a"}).fill({"host": "b"})) == "ping a"


def test_a_hole_of_no_kind_is_a_fault() -> None:
    with pytest.raises(ValueError, match="no kind"):
        list(Shell("ping <what>").commands())
