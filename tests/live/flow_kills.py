"""kill -9 of the flow agent and of the daemon at every act of theirs: on both sides of each system call whose effect others
see (killed_at.cpp), while two jobs send and their classes and the floor change.

    flow_kills.py                  some points of each, drawn by a seed that is printed
    flow_kills.py agent|daemon N   N points of one of them, evenly spread; all if N is 0

At each moment the kernel marks what the last state says, the one before, or nothing. When the agent has died nothing is
marked, and its jobs share alike. Afterwards the next one has the state right again.
"""
import contextlib
import http.client
import os
import random
import re
import signal
import sys

from scene import run_tests, wait_until
from scene.net import FIFO, MBIT, SRTF, Link, NetScene, share, two_senders

KILLED_AT = os.environ["KILLED_AT"]
KILLED = 128 + signal.SIGKILL
FLOORS = {FIFO: 0.2, SRTF: 0.4}


class KillScene(NetScene):
    """Two jobs send; the policy that is set says whose bytes go first."""

    def __enter__(self):
        super().__enter__()
        self.sinks, (self.old, self.short) = two_senders(self)
        self.policies = [FIFO, SRTF]  # the one that holds, and the next
        return self

    def right(self, policy):
        return {self.old: int(policy == SRTF), self.short: int(policy == FIFO)}

    def change_policy(self):
        """True if the daemon says that it has."""
        self.policies.reverse()
        policy = self.policies[0]
        return self.command("policy", "set", policy, "--set", "yard.min_run=0", "--set", f"flow.floor={FLOORS[policy]}",
                            check=False).returncode == 0

    def until_marked(self, unless):
        """... as the policy says, unless that process ends; never otherwise than one of the two policies says."""
        def is_right():
            marked = self.marked()
            assert marked in ({}, *map(self.right, self.policies)), f"marked: {marked}"
            return marked == self.right(self.policies[0]) or unless.poll() is not None
        wait_until(is_right, lambda: f"marks: {self.marked()}; {self.agent_said()[-2000:]}")

    def points_of_last(self):
        return int(re.findall(r"killed_at: (\d+) points", self.agent_said() + self.said())[-1])


def agent_dies_at(scene, point):
    """An agent that begins, marks, changes classes and the floor, and ends. True if it died there."""
    agent = scene.agent(before=[KILLED_AT, point])
    scene.until_marked(agent)
    if agent.poll() is None:
        assert scene.change_policy()
        scene.until_marked(agent)
    if agent.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            agent.send_signal(signal.SIGTERM)
    status = agent.wait(60)
    assert status in (0, KILLED), f"point {point}: it ended with {status}: {scene.agent_said()[-2000:]}"
    wait_until(lambda: scene.link.tables() == [], f"the table to go with its process, killed at point {point}")
    queue = scene.link.queue()
    assert queue["kind"] == "noqueue" or queue["handle"] == "7a1d:", f"point {point}: {queue}"
    if queue["kind"] == "noqueue":
        return status == KILLED  # nothing orders; who is faster is for the processor to say
    assert status == KILLED, "its queue is put back"
    assert 0.2 < (part := share(*scene.sinks)) < 0.8, f"point {point}: the first has {part}"
    return True


def next_agent_is_right(scene):
    agent = scene.agent()
    scene.until_marked(agent)
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(60) == 0, scene.agent_said()[-2000:]
    assert scene.link.tables() == [] and scene.link.queue()["kind"] == "noqueue"


def daemon_dies_at(scene, point, agent):
    """A daemon that begins, is heard by the agent, and changes the policy. True if it died there."""
    scene.within = [*scene.link.within(), KILLED_AT, point]
    scene.daemon = scene.serve()

    def answers():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return scene.http("GET", "/healthz").status == 200
    wait_until(lambda: scene.daemon.poll() is not None or answers(), "the daemon to answer or die")
    before = scene.policies[0]
    acknowledged = scene.daemon.poll() is None and scene.change_policy()
    if acknowledged:
        scene.until_marked(scene.daemon)
    if scene.daemon.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            scene.daemon.send_signal(signal.SIGTERM)
    status = scene.daemon.wait(60)
    assert status in (0, KILLED), f"point {point}: {status}: {scene.said()[-2000:]}"
    assert agent.poll() is None, scene.agent_said()[-2000:]
    scene.within = scene.link.within()
    scene.start()
    holds = scene.answer("policy")["policy"]
    assert holds == scene.policies[0] if acknowledged else holds in scene.policies, f"point {point}: {holds} after {before}"
    if holds != scene.policies[0]:
        scene.policies.reverse()
    scene.until_marked(agent)
    wait_until(lambda: scene.right(holds) == {job: scene.flow_class(job) for job in (scene.old, scene.short)},
               "the agent to be heard, and the daemon to tell the same classes")
    scene.daemon.send_signal(signal.SIGTERM)
    assert scene.daemon.wait(60) == 0
    return status == KILLED


def chosen(points, most, seed):
    if most == 0 or most >= points:
        return range(1, points + 1)
    if seed is None:
        return range(1, points + 1, -(-points // most))
    return sorted(random.Random(seed).sample(range(1, points + 1), most))


def kill_agents(most, seed=None):
    with Link() as link, KillScene(link) as scene:
        assert not agent_dies_at(scene, 0)
        points = scene.points_of_last()
        killed = 0
        for point in chosen(points, most, seed):
            killed += agent_dies_at(scene, point)
            next_agent_is_right(scene)
        print(f"the agent was killed at {killed} of {points} points (seed {seed})", flush=True)
        assert killed > 0


def kill_daemons(most, seed=None):
    with Link() as link, KillScene(link) as scene:
        agent = scene.agent()
        scene.until_marked(agent)
        scene.daemon.send_signal(signal.SIGTERM)
        assert scene.daemon.wait(60) == 0
        assert not daemon_dies_at(scene, 0, agent)
        points = scene.points_of_last()
        killed = sum(daemon_dies_at(scene, point, agent) for point in chosen(points, most, seed))
        print(f"the daemon was killed at {killed} of {points} points (seed {seed})", flush=True)
        assert killed > 0
        scene.start()


def test_agents_die():
    kill_agents(12, random.randrange(1 << 30))


def test_daemons_die():
    kill_daemons(10, random.randrange(1 << 30))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        {"agent": kill_agents, "daemon": kill_daemons}[sys.argv[1]](int(sys.argv[2]))
    else:
        run_tests(globals(), limit=600)
