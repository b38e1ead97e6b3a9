"""The package as pip installs it, without a network."""

import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from job import ROOT


class InstallTest(unittest.TestCase):
    def test_pip_installs_it_and_a_script_imports_it(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "python", Path(folder) / "target"
            shutil.copytree(ROOT / "python", source)  # pip leaves its work behind
            done = subprocess.run(
                ["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-index",
                 "--no-build-isolation", "--no-cache-dir", "--target", target, source],
                capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stderr)
            script = ("import importlib.metadata as m, trainyard; trainyard.progress(1, 2); "
                      "print(trainyard.__file__, m.version('trainyard'))")
            done = subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd="/",
                                  capture_output=True, text=True, timeout=60,
                                  env={"PYTHONPATH": str(target)})
            self.assertEqual(done.stdout, f"{target}/trainyard/__init__.py {self.version()}\n", done.stderr)
            modules = {file.name for file in (ROOT / "python/trainyard").glob("*.py")}
            self.assertEqual({file.name for file in (target / "trainyard").glob("*.py")}, modules)

    def test_its_version_is_the_programs(self):
        program = re.search(r"project\(trainyard VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(self.version(), program.group(1))

    @staticmethod
    def version():
        return tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]["version"]


if __name__ == "__main__":
    unittest.main()
