"""Whole lives of a pod with a clock of our own: init order, crash loops, kills by probes, deletion."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.lab.kubelet.world import BAD, GOOD, Fate, World, container, pod

from tortie.lab.kubelet.lifecycle import Attempt, Kill, Memory, Rules, Start, remembered, start_failed, sync
from tortie.lab.kubelet.objects import condition
from tortie.lab.kubelet.probes import Answer

LIVENESS = {
    "httpGet": {"host": "127.0.0.1", "port": 9099, "path": "/liveness"},
    "initialDelaySeconds": 10,
    "periodSeconds": 10,
    "failureThreshold": 6,
}
READINESS = {"httpGet": {"host": "127.0.0.1", "port": 9099, "path": "/readiness"}}


def once(_name: str, _attempt: int) -> Fate:
    return Fate(5.0, 0) if _name != "main" else Fate()


def state(status: dict[str, Any]) -> str:
    (kind, detail), *_ = status["state"].items()
    return str(detail.get("reason", kind))


def test_init_containers_run_in_order_and_then_the_main_one() -> None:
    world = World(pod(inits=("upgrade-ipam", "install-cni")), once)
    world.run(0.0)
    assert state(world.init("upgrade-ipam")) == "running"
    assert state(world.init("install-cni")) == state(world.main()) == "PodInitializing"
    assert world.status["phase"] == "Pending"
    initialized = condition({"status": world.status}, "Initialized")
    assert initialized is not None
    assert initialized["message"] == "containers with incomplete status: [upgrade-ipam install-cni]"
    assert initialized["reason"] == "ContainersNotInitialized"
    world.run(60.0)
    assert [text for _, text in world.story] == ["start upgrade-ipam 0", "start install-cni 0", "start main 0"]
    assert [at for at, _ in world.story] == [0, 5, 10]
    assert state(world.init("install-cni")) == "Completed"
    assert world.init("install-cni")["ready"]
    assert world.status["phase"] == "Running"
    values = {one["type"]: (one["status"], one["lastTransitionTime"][-4:]) for one in world.status["conditions"]}
    assert values == {
        "Initialized": ("True", ":10Z"),
        "Ready": ("True", ":10Z"),
        "ContainersReady": ("True", ":10Z"),
        "PodScheduled": ("True", ":00Z"),
    }


def test_without_init_containers_the_main_one_is_being_created() -> None:
    found = sync(pod(), Memory(), (), (), 0.0, Rules())
    assert found.actions == (Start("main", 0, False),)
    assert found.status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}


def test_an_init_container_that_hangs_holds_up_everything() -> None:
    world = World(pod(inits=("upgrade-ipam", "install-cni", "flexvol-driver")), lambda _name, _attempt: Fate())
    world.run(3600.0)
    assert world.story == [(0, "start upgrade-ipam 0")]
    assert world.init("upgrade-ipam")["restartCount"] == 0
    assert world.status["phase"] == "Pending"


def test_an_init_container_that_fails_is_tried_again_with_back_off() -> None:
    world = World(
        pod(inits=("upgrade-ipam", "install-cni")),
        lambda name, attempt: (
            Fate(1.0, 1 if name == "upgrade-ipam" and attempt < 3 else 0) if name != "main" else Fate()
        ),
    )
    world.run(2.5)
    assert state(world.init("upgrade-ipam")) == "CrashLoopBackOff"
    assert world.init("upgrade-ipam")["lastState"]["terminated"]["exitCode"] == 1
    assert world.status["phase"] == "Pending"
    world.run(200.0)
    starts = world.said("start")
    assert starts == [
        (0, "start upgrade-ipam 0"),
        (1, "start upgrade-ipam 1"),
        (12, "start upgrade-ipam 2"),
        (33, "start upgrade-ipam 3"),
        (34, "start install-cni 0"),
        (35, "start main 0"),
    ]
    assert world.init("upgrade-ipam")["restartCount"] == 3


def test_a_crash_loop() -> None:
    world = World(pod(), lambda _name, _attempt: Fate(2.0, 1))
    world.run(3.9)
    assert state(world.main()) == "running"
    world.run(5.0)
    main = world.main()
    assert main["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=main pod=calico-node-x7k2p_kube-system(abc)",
        }
    }
    ended = main["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["containerID"]) == (1, "Error", "containerd://main-1")
    assert main["restartCount"] == 1
    assert world.status["phase"] == "Running"
    world.run(1500.0)
    begun = [at for at, _ in world.said("start")]
    waits = [later - earlier - 2 for earlier, later in pairwise(begun)]
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300, 300]
    assert world.said("BackOff")[0] == (
        4.0,
        "BackOff Back-off restarting failed container main in pod calico-node-x7k2p_kube-system(abc)",
    )
    # again and again while it waits, as kubelet looks at the pod every ten seconds
    assert [at for at, _ in world.said("BackOff")][:4] == [4, 16, 26, 38]


def test_hurry_shortens_the_waits() -> None:
    world = World(pod(), lambda _name, _attempt: Fate(0.0, 1), rules=Rules(hurry=10))
    world.run(40.0)
    assert [at for at, _ in world.said("start")] == [0, 0, 1, 3, 7, 15, 31]
    world.run(40.5)
    assert "back-off 30s " in world.main()["state"]["waiting"]["message"]


def test_ten_good_minutes_make_it_begin_anew() -> None:
    long = 620.0
    world = World(pod(), lambda _name, attempt: Fate(long if attempt == 4 else 1.0, 1))
    world.run(2000.0)
    begun = [at for at, _ in world.said("start")]
    waits = [later - earlier for earlier, later in pairwise(begun)]
    assert waits[:8] == [1, 11, 21, 41, long, 11, 21, 41]


def test_a_container_that_ends_well_is_started_again_too() -> None:
    world = World(pod(), lambda _name, _attempt: Fate(2.0, 0))
    world.run(5.0)
    assert world.main()["lastState"]["terminated"]["reason"] == "Completed"
    assert state(world.main()) == "CrashLoopBackOff"


@pytest.mark.parametrize(("on_term", "code"), [(143, 143), (None, 137), (0, 0)])
def test_a_liveness_kill(on_term: int | None, code: int) -> None:
    world = World(
        pod(container("main", livenessProbe=LIVENESS)),
        lambda _name, _attempt: Fate(on_term=on_term),
        lambda _name, _kind, _age: BAD,
    )
    world.run(59.9)
    assert world.said("kill") == []
    world.run(62.0)
    assert world.said("Killing") == [(60, "Killing Container main failed liveness probe, will be restarted")]
    assert len(world.said("Unhealthy Liveness probe failed: no")) == 6
    # Calico's manifest says 0; kubelet gives two seconds all the same
    assert world.said("kill") == [(60, "kill main liveness 2")]
    main = world.main()
    assert main["restartCount"] == 1
    assert main["lastState"]["terminated"]["exitCode"] == code
    assert main["lastState"]["terminated"]["reason"] == ("Error" if code else "Completed")
    assert state(main) == "running"


def test_the_first_kills_of_a_crash_loop_are_not_followed_by_a_wait() -> None:
    """Kubelet judges by the end of the attempt before the one that it kills."""
    world = World(pod(container("main", livenessProbe=LIVENESS)), answers=lambda _name, _kind, _age: BAD)
    world.run(360.0)
    assert [at for at, _ in world.said("start")] == [0, 60, 120, 180, 240, 300]
    assert state(world.main()) == "CrashLoopBackOff"
    assert "back-off 1m20s " in world.main()["state"]["waiting"]["message"]
    world.run(500.0)
    assert [at for at, _ in world.said("start")][-1] == 440


def test_a_kill_that_did_not_come_about_is_ordered_again_without_a_longer_wait() -> None:
    world = World(pod(container("main", livenessProbe=LIVENESS)), answers=lambda _name, _kind, _age: BAD)
    world.run(179.0)
    world.now = 180.0
    world._probe()
    first = sync(world.pod, world.memory, world.attempts, world.workers, 180.0, Rules())
    failed = first.memory._replace(killed=frozenset())
    second = sync(world.pod, failed, world.attempts, world.workers, 190.0, Rules())
    assert [type(one) for one in second.actions] == [Kill]
    assert second.memory.back_offs == first.memory.back_offs


def test_a_slow_start_is_survived_if_it_is_over_in_time() -> None:
    def answers(_name: str, _kind: str, age: float) -> Answer:
        return GOOD if age >= 55 else BAD

    world = World(pod(container("main", livenessProbe=LIVENESS)), answers=answers)
    world.run(600.0)
    assert world.said("kill") == []
    assert len(world.said("Unhealthy")) == 5


def test_a_startup_probe_holds_the_others_back_and_kills_by_itself() -> None:
    startup = {"httpGet": {"port": 1}, "periodSeconds": 5, "failureThreshold": 4}
    spec = pod(container("main", livenessProbe=LIVENESS, startupProbe=startup, readinessProbe=READINESS))
    world = World(spec, answers=lambda _name, _kind, _age: BAD)
    world.run(15.0)
    assert not world.said("Unhealthy Liveness")
    assert not world.said("Unhealthy Readiness")
    assert world.said("Killing") == [(15, "Killing Container main failed startup probe, will be restarted")]
    good = World(spec, answers=lambda _name, kind, age: GOOD if kind != "startup" or age >= 7 else BAD)
    good.run(8.0)
    assert not good.main()["started"]
    assert not good.main()["ready"]
    good.run(20.0)
    assert good.main()["started"]
    assert good.main()["ready"]


def test_readiness_never_kills() -> None:
    world = World(
        pod(container("main", readinessProbe=READINESS), container("other")), answers=lambda _name, _kind, _age: BAD
    )
    world.run(600.0)
    assert world.said("kill") == []
    ready = condition({"status": world.status}, "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
    assert ready["message"] == "containers with unready status: [main]"
    assert world.main("other")["ready"]
    assert world.status["phase"] == "Running"


def test_readiness_is_asked_at_once_when_a_container_has_started() -> None:
    world = World(
        pod(container("main", readinessProbe=READINESS), inits=("first",)), lambda name, _attempt: once(name, 0)
    )
    world.run(5.0)
    assert world.main()["ready"]


def test_conditions_keep_the_time_of_their_change() -> None:
    def answers(_name: str, _kind: str, age: float) -> Answer:
        return BAD if 100 <= age < 200 else GOOD

    world = World(pod(container("main", readinessProbe=READINESS)), answers=answers)
    times = []
    for until in (50.0, 150.0, 195.0, 250.0):
        world.run(until)
        found = condition({"status": world.status}, "Ready")
        assert found is not None
        times.append((found["status"], found["lastTransitionTime"][14:19]))
    assert times == [("True", "00:00"), ("False", "02:00"), ("False", "02:00"), ("True", "03:20")]


def test_deletion_ends_everything() -> None:
    world = World(pod(container("main", livenessProbe=LIVENESS), container("other"), terminationGracePeriodSeconds=30))
    world.run(30.0)
    assert world.last is not None
    assert not world.last.finished
    world.pod["metadata"]["deletionTimestamp"] = "1970-01-01T00:00:30Z"
    world.run(31.0)
    assert world.said("Killing") == [(30, "Killing Stopping container main"), (30, "Killing Stopping container other")]
    assert [text for _, text in world.said("kill")] == ["kill main deleted 30", "kill other deleted 30"]
    assert world.last.finished
    assert len(world.said("start")) == 2


def test_nothing_is_ordered_twice() -> None:
    first = sync(pod(), Memory(), (), (), 0.0, Rules())
    assert len(first.actions) == 1
    assert sync(pod(), first.memory, (), (), 1.0, Rules()).actions == ()


def test_a_start_that_fails_is_shown_and_tried_again() -> None:
    first = sync(pod(), Memory(), (), (), 0.0, Rules())
    memory = start_failed(first.memory, "main", "CreateContainerError", "context deadline exceeded", 2.0)
    held = sync(pod(), memory, (), (), 3.0, Rules())
    assert held.actions == ()
    assert held.wake_at == 12
    waiting = held.status["containerStatuses"][0]["state"]["waiting"]
    assert waiting == {"reason": "CreateContainerError", "message": "context deadline exceeded"}
    assert sync(pod(), held.memory, (), (), 12.0, Rules()).actions == (Start("main", 0, False),)


def test_a_kubelet_that_was_restarted_knows_what_the_api_server_has() -> None:
    spec = pod(inits=("first",))
    world = World(spec, lambda name, attempt: Fate(1.0, 1) if name == "main" and attempt < 2 else once(name, attempt))
    world.run(100.0)
    again = sync(spec, remembered(world.status), world.attempts, (), 200.0, Rules())
    assert again.actions == ()
    assert again.status["conditions"] == world.status["conditions"]
    # the runtime has lost everything: as with a new sandbox, all begins again, but the counts go on
    lost = sync(spec, remembered(world.status), (), (), 200.0, Rules())
    assert lost.actions == (Start("first", 1, True),)
    assert lost.status["containerStatuses"][0]["restartCount"] == 2


@pytest.mark.parametrize(
    ("policy", "code", "phase", "starts"),
    [
        ("Never", 0, "Succeeded", 1),
        ("Never", 1, "Failed", 1),
        ("OnFailure", 0, "Succeeded", 1),
        ("OnFailure", 1, "Running", 2),
    ],
)
def test_other_restart_policies(policy: str, code: int, phase: str, starts: int) -> None:
    world = World(pod(restartPolicy=policy), lambda _name, _attempt: Fate(1.0, code))
    world.run(5.0)
    assert world.status["phase"] == phase
    assert len(world.said("start")) == starts


def test_exit_reasons_of_the_runtime_count_more() -> None:
    dead = Attempt("main", 0, "containerd://x", "exited", 0.0, 0.0, 1.0, 137, "OOMKilled")
    found = sync(pod(restartPolicy="Never"), Memory(), (dead,), (), 2.0, Rules())
    assert found.status["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"


CODES = st.sampled_from([0, 0, 1, 137])
FATES = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b", "c", "main", "side"]), st.integers(0, 6)),
    st.builds(Fate, st.one_of(st.none(), st.floats(0, 100)), CODES, st.sampled_from([143, 0, None])),
)


@settings(max_examples=50, deadline=None)
@given(fates=FATES, bad_from=st.floats(0, 200), hurry=st.sampled_from([1, 10]))
def test_whatever_happens(fates: dict[tuple[str, int], Fate], bad_from: float, hurry: int) -> None:
    """No init container before the one before it has succeeded, one of a kind at a time, counts that only grow."""
    inits = ("a", "b", "c")
    world = World(
        pod(container("main", livenessProbe=LIVENESS), container("side"), inits=inits),
        lambda name, attempt: fates.get((name, attempt), Fate(1.0, 0) if name in inits else Fate()),
        lambda _name, _kind, age: BAD if age >= bad_from else GOOD,
        Rules(hurry=hurry),
    )
    succeeded: list[str] = []
    counts: dict[str, int] = {}
    for until in range(0, 700, 7):
        world.run(float(until))
        succeeded += [one.name for one in world.attempts if one.succeeded and one.name not in succeeded]
        alive = [one.name for one in world.attempts if one.state == "running"]
        assert len(alive) == len(set(alive))
        for position, name in enumerate((*inits, "main")):
            if any(one.name == name for one in world.attempts):
                assert set(inits[:position]) <= set(succeeded)
        for one in world.status["initContainerStatuses"] + world.status["containerStatuses"]:
            assert one["restartCount"] >= counts.get(one["name"], 0)
            counts[one["name"]] = one["restartCount"]
    for name in (*inits, "main", "side"):
        begun = [text for _, text in world.said(f"start {name} ")]
        assert begun == [f"start {name} {n}" for n in range(len(begun))]
    for _, text in world.said("kill"):
        assert text.startswith("kill main liveness ")
