"""Agents on real links: two network namespaces that a link joins, a daemon and its agent in the first,
jobs that send to the second as fast as they may. What arrives there tells whose bytes went first.
"""
import os
import re
import signal
import socket
import subprocess
import time

from scene import OTHERS_RUN_HERE, Scene, Skip, program, run_tests, wait_until
from scene.net import FIFO, MBIT, MEASURED, SRTF, Link, NetScene, Sink, sh, share, two_senders

PROBE = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[3]) << 2)
s.sendto(sys.argv[4].encode(), (sys.argv[1], int(sys.argv[2])))
"""


# Words before a command that is to see no control groups, as on a machine without cgroup v2.
WITHOUT_CGROUPS = ["unshare", "--mount", "sh", "-c", 'umount --recursive --lazy /sys/fs/cgroup && exec "$@"', "sh"]


def test_the_first_class_goes_first_and_a_change_holds_for_living_connections():
    with Link() as link, NetScene(link) as scene:
        sinks, (old, short) = two_senders(scene)
        agent = scene.agent("--metrics", scene.root / "metrics")
        wait_until(lambda: scene.marked() == {old: 0, short: 1}, lambda: f"marks: {scene.marked()}")
        assert share(*sinks) > 0.9
        assert (scene.flow_class(old), scene.flow_class(short)) == (0, 1)
        said = scene.command("why", old).stdout
        assert "its bytes: number 1 of the 2 jobs that send: it was submitted" in said, said
        assert f"job {old} in class 0, job {short} in class 1" in scene.command("nodes").stdout
        assert "its bytes go first" in scene.command("show", old).stdout
        scene.command("policy", "set", SRTF)
        wait_until(lambda: scene.marked() == {old: 1, short: 0}, "the classes to change")
        assert share(*sinks) < 0.1, "the same connections"
        scene.command("policy", "set", "order=fifo backfill=greedy flow=fair")
        wait_until(lambda: scene.marked() == {}, "all to be fair")
        assert 0.2 < share(*sinks) < 0.8
        metrics = scene.root / "metrics"  # written every few seconds
        wait_until(lambda: "trainyard_flow_valid 1" in metrics.read_text()
                   and int(re.search(r'bytes_total{class="0"} (\d+)', metrics.read_text())[1]) > MEASURED,
                   metrics.read_text)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(60) == 0
        assert link.tables() == [] and link.queue()["kind"] != "htb", "all of it is put back"


def test_the_last_class_keeps_its_floor():
    with Link() as link, NetScene(link, settings=("yard.min_run=0", "flow.classes=2")) as scene:
        sinks, (first, last) = two_senders(scene)
        scene.agent()
        for floor in (0.2, 0.4):
            scene.command("policy", "set", FIFO, "--set", "flow.classes=2", "--set", f"flow.floor={floor}")
            wait_until(lambda: scene.marked() == {first: 0, last: 3}, lambda: f"marks: {scene.marked()}")
            rate = int(floor * MBIT)
            wait_until(lambda: f"rate {rate}Mbit" in
                       sh(*link.within(), "tc", "class", "show", "dev", "eth0", "classid", "7a1d:13"), "the floor")
            kept = 1 - share(*sinks)
            assert abs(kept - floor) < 0.03, kept


def test_only_jobs_have_our_code_points():
    with Link() as link, NetScene(link) as scene:
        scene.agent()
        receiver = link.socket_at(link.b, socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind(("10.77.0.2", 0))
        receiver.settimeout(60)
        wait_until(lambda: "connected to the daemon" in scene.agent_said(), "the agent")

        def heard():
            data, extra, *_ = receiver.recvmsg(100, 100)
            return data.decode(), extra[0][2][0] >> 2
        probe = ["/usr/bin/python3", "-c", PROBE, "10.77.0.2", str(receiver.getsockname()[1])]
        for told, arrives in ((43, 0), (35, 0), (19, 0), (10, 10), (0, 0)):
            sh(*link.within(), *probe, told, f"outside {told}")
            assert heard() == (f"outside {told}", arrives)
        job = scene.submit("--gpus", 1, "--", "sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exec \"$@\"",
                           "sh", *probe, 10, "a job")
        scene.until(job, "running")
        wait_until(lambda: scene.marked() == {job: 0}, "the job to be marked")
        (scene.work / "go").touch()
        assert heard() == ("a job", 43)


def test_without_control_groups_jobs_are_marked_by_users_who_have_one():
    if not OTHERS_RUN_HERE:
        raise Skip("no program can be run as another user")
    with Link() as link, NetScene(link, WITHOUT_CGROUPS) as scene:
        sinks = Sink(link), Sink(link)
        first, second = (scene.send(sink, uid=uid) for sink, uid in zip(sinks, (65534, 1)))
        wait_until(lambda: all(sink.bytes > 100_000 for sink in sinks), "both to send")
        agent = scene.agent()
        assert agent.wait(60) == 2
        assert "cgroup v2 is not mounted" in scene.agent_said() and "by-user" in scene.agent_said()
        scene.agent("--by-user")
        wait_until(lambda: scene.marked() == {first: 0, second: 1}, lambda: f"marks: {scene.marked()}")
        assert share(*sinks) > 0.9
        check = scene.agent_words("--by-user", "--check")
        assert "cgroups    ok: none: jobs are marked by their users" in sh(*check, check=False)
        another = scene.submit("--gpus", 1, "--", "sleep", 1000, uid=65534)
        scene.until(another, "running")
        wait_until(lambda: scene.marked() == {second: 1}, "what the first user sends to be of no single job")
        assert "2 have no control group and no user of their own" in sh(*check, check=False)


def test_killed_at_any_moment_it_leaves_all_traffic_fair():
    with Link() as link, NetScene(link) as scene:
        sinks, (first, second) = two_senders(scene)
        agent = scene.agent()
        both = {first: 0, second: 1}
        wait_until(lambda: scene.marked() == both, lambda: f"marks: {scene.marked()}")
        agent.kill()
        agent.wait()
        wait_until(lambda: link.tables() == [], "the table to go with its process")
        assert link.queue()["handle"] == "7a1d:", "the queue stays, and orders nothing"
        assert 0.2 < share(*sinks) < 0.8
        agent = scene.agent()
        wait_until(lambda: scene.marked() == both, "a new agent to go on")
        nft = int(sh("pgrep", "-P", agent.pid).split()[0])
        os.kill(nft, signal.SIGKILL)
        wait_until(lambda: scene.marked() == both and str(nft) not in sh("pgrep", "-P", agent.pid),
                   "the agent to make its table anew")
        scene.daemon.kill()
        scene.daemon.wait()
        wait_until(lambda: scene.marked() == {}, "the state to be too old")
        assert agent.poll() is None and "vouched for nothing" in scene.agent_said()
        scene.start()
        wait_until(lambda: scene.marked() == both, "the daemon to be heard again")
        agent.kill()
        agent.wait()
        sh(*link.within(), program(), "flow-agent", "--config", "/dev/null", "--interface", "eth0", "--clean")
        assert link.queue()["kind"] != "htb"


def test_killed_while_it_begins_it_leaves_nothing_that_orders():
    with Link() as link, NetScene(link) as scene:
        for delay_ms in range(0, 120, 6):
            agent = scene.agent()
            time.sleep(delay_ms / 1000)
            agent.kill()
            agent.wait()
            wait_until(lambda: link.tables() == [], f"the table to go, {delay_ms} ms after the start")
        scene.agent()
        job = scene.submit("--gpus", 1, "--", "sleep", 1000)
        wait_until(lambda: scene.marked() == {job: 0}, "an agent to go on from there")


def test_what_is_not_ours_is_refused():
    with Link() as link, NetScene(link) as scene:
        scene.agent()
        wait_until(lambda: "connected to the daemon" in scene.agent_said(), "the agent")
        second = scene.agent()
        assert second.wait(60) == 2
        assert "another agent runs on this machine" in scene.agent_said(), scene.agent_said()
        assert link.tables() == ["table inet trainyard_flow"], "the first goes on"
        assert link.queue()["handle"] == "7a1d:"
        clean = subprocess.run([*link.within(), program(), "flow-agent", "--config", "/dev/null", "--interface", "eth0",
                                "--clean"], capture_output=True, text=True)
        assert clean.returncode == 2 and "an agent runs here" in clean.stderr, clean.stderr
        assert link.queue()["handle"] == "7a1d:", "it belongs to the agent that runs"
        sh(*link.within(link.b), "tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "tbf", "rate", "1gbit",
           "burst", "100k", "latency", "50ms")
        foreign = scene.agent(where=link.b)
        assert foreign.wait(60) == 2
        assert "eth0 has a queue that is not ours (tbf)" in scene.agent_said(), scene.agent_said()
        assert link.queue(link.b)["kind"] == "tbf"
        taken = scene.agent("--take-over", where=link.b)
        wait_until(lambda: link.queue(link.b)["kind"] == "htb" or taken.poll() is not None, "it to be taken over")
        assert taken.poll() is None, scene.agent_said()
        wrong = scene.agent("--interface", "eth9")
        assert wrong.wait(60) == 2


def test_check_and_dry_run_change_nothing():
    with Link() as link, NetScene(link) as scene:
        words = scene.agent_words()
        said = sh(*words, "--check")
        for part in ("cgroups    ok", "interface  ok: eth0", "nft        ok", "daemon     ok: 0 jobs"):
            assert part in said, said
        echo = subprocess.Popen([*link.within(link.b), program(), "flow-agent", "--echo", "7143"])
        try:
            wait_until(lambda: ":7143" in sh(*link.within(link.b), "ss", "-uln"), "the other machine to answer")
            assert "path       ok: all code points arrive at 10.77.0.2:7143" in sh(
                *words, "--check", "--peer", "10.77.0.2:7143")
            sh(*link.within(), "nft", "add table ip t; add chain ip t o { type filter hook output priority 0; }; "
               "add rule ip t o ip dscp 35 ip dscp set 8")
            said = sh(*words, "--check", "--peer", "10.77.0.2:7143", check=False)
            assert "path       missing: 35 arrives as 8" in said, said
            sh(*link.within(), "nft", "delete", "table", "ip", "t")
        finally:
            echo.terminate()
            assert echo.wait(60) == 0
        dry = scene.agent("--dry-run")
        wait_until(lambda: "create table inet trainyard_flow" in scene.agent_said(), "what it would do")
        job = scene.submit("--gpus", 1, "--", "sleep", 1000)
        wait_until(lambda: f"job_{job}_1 goto class0" in scene.agent_said(), scene.agent_said)
        assert link.tables() == [] and link.queue()["kind"] != "htb"
        dry.terminate()
        assert dry.wait(60) == 0


def test_a_token_of_an_agent_is_for_its_machine_alone():
    with Scene(slots=1, tcp=True, policy=FIFO) as scene:
        name = scene.answer("nodes")["machines"][0]["name"]
        add = "token", "add", "--role", "agent"
        here = scene.command(*add, "here", "--machine", name).stdout.strip()
        there = scene.command(*add, "there", "--machine", "elsewhere").stdout.strip()
        assert scene.command(*add, "nowhere", check=False).returncode == 2
        assert scene.tcp("GET", f"/v1/flows?machine={name}", here).status == 200
        assert scene.tcp("GET", f"/v1/flows?machine={name}", there).status == 403
        assert scene.tcp("GET", "/v1/flows?machine=elsewhere", there).status == 404
        for path in ("/v1/jobs", "/v1/cluster", "/v1/policy", "/metrics", "/v1/events"):
            assert scene.tcp("GET", path, here).status == 403, path


if __name__ == "__main__":
    run_tests(globals(), limit=400)
