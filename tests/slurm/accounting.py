"""A cluster with Slurm's own accounting: a database, slurmdbd, and two qualities of service, of which `trial`
pushes jobs of `batch` out of the way. What Slurm can do without Trainyard, at its best."""
import pwd
import shutil
import subprocess

from cluster import USER, Cluster, Skip, free_ports, wait_until

NEEDED = ("slurmdbd", "mariadbd", "mariadb-install-db")

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser=root
LogFile={root}/slurmdbd.log
PidFile={root}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql_port}
StorageUser=root
StorageLoc=slurm
"""

# A requeued job waits until its old credential has expired, 120 s by itself: much in a run of minutes.
OWN_SCHEDULER = """\
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=5
PriorityType=priority/multifactor
PriorityWeightQOS=1000000
PriorityWeightAge=1000
PreemptType=preempt/qos
PreemptMode=REQUEUE
"""


class AccountedCluster(Cluster):
    def __init__(self, more=(), **how):
        missing = [name for name in NEEDED if shutil.which(name, path="/usr/sbin:/usr/bin") is None]
        if missing:
            raise Skip(f"{', '.join(missing)} are missing (./yard slurm installs them)")
        self.dbd_port, self.sql_port = free_ports(2)
        super().__init__(more=[*more, "AccountingStorageType=accounting_storage/slurmdbd",
                               "AccountingStorageHost=127.0.0.1", f"AccountingStoragePort={self.dbd_port}",
                               "AccountingStorageTRES=gres/gpu", "AccountingStorageEnforce=associations,qos"], **how)
        self.more.append(f"AccountingStoragePass={self.root}/munge/socket")

    def start_first(self):
        """Before slurmctld, which asks slurmdbd for users and qualities of service."""
        database = self.root / "database"
        database.mkdir(mode=0o755)
        owner = pwd.getpwnam(USER)
        shutil.chown(database, owner.pw_uid, owner.pw_gid)
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={database}", f"--user={USER}",
                        "--auth-root-authentication-method=normal", "--skip-test-db"],
                       check=True, capture_output=True, timeout=120)
        self.spawn("mariadbd", ["mariadbd", "--no-defaults", f"--datadir={database}", f"--user={USER}",
                                "--bind-address=127.0.0.1", f"--port={self.sql_port}",
                                f"--socket={database}/socket", f"--pid-file={database}/pid",
                                "--innodb-flush-log-at-trx-commit=0"])
        wait_until((database / "socket").exists, "the database to listen")
        conf = self.root / "slurmdbd.conf"
        conf.write_text(SLURMDBD_CONF.format(root=self.root, dbd_port=self.dbd_port, sql_port=self.sql_port))
        conf.chmod(0o600)
        self.spawn("slurmdbd", ["slurmdbd", "-D"])
        wait_until(lambda: self.manage("add", "cluster", "trainyard-test").returncode == 0, "slurmdbd to answer")
        self.manage("add", "qos", "batch", check=True)
        self.manage("modify", "qos", "batch", "set", "PreemptMode=requeue", "GraceTime=2", check=True)
        self.manage("add", "qos", "trial", check=True)
        self.manage("modify", "qos", "trial", "set", "Priority=1000", "Preempt=batch", check=True)
        self.manage("add", "account", "all", check=True)
        self.manage("add", "user", USER, "account=all", "qos=trial,batch", "defaultqos=batch", check=True)

    def manage(self, *words, check=False):
        return self.run("sacctmgr", "--immediate", *words, check=check)
