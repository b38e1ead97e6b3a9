"""Requests on the daemon's Unix socket, by this process or by one of another user."""
import http.client
import json
import os
import pickle
import socket
import typing


class Reply(typing.NamedTuple):
    status: int
    body: bytes

    def json(self):
        return json.loads(self.body)

    def message(self):
        return self.json()["error"]["message"]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def open_stream(state, path, headers=None):
    """An answer that goes on; read from it, and close it."""
    connection = UnixConnection(state / "socket")
    connection.request("GET", path, headers=headers or {})
    return connection.getresponse()


def as_user(uid, work):
    """What work() gives in a process of that user, with her group of the same number alone."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            try:
                answer = (True, work())
            except BaseException as problem:
                answer = (False, problem)
            with open(writing, "wb") as pipe:
                pickle.dump(answer, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    succeeded, value = pickle.loads(answer)
    if not succeeded:
        raise value
    return value


def ask_tcp(port, method, path, token):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    return Reply(reply.status, reply.read())


def ask(state, method, path, body, headers, uid):
    def request():
        connection = UnixConnection(state / "socket")
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, body=text, headers={
            **({"Content-Type": "application/json"} if text is not None else {}), **headers})
        reply = connection.getresponse()
        return Reply(reply.status, reply.read())

    return request() if uid is None else as_user(uid, request)
