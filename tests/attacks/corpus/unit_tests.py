"""Attacks on modules of ``unittest`` that run beside a program: each is a whole program that is wrong."""

from __future__ import annotations

from typing import Any

RIGHT = "def f(x):\n    return x\n"
WRONG = "def f(x):\n    return 1\n"
"""Right for the first test, and wrong for the second."""

PROBLEM: dict[str, Any] = {
    "task_id": "U/1",
    "complete_prompt": "def f(x):\n",
    "instruct_prompt": "Return x.",
    "code_prompt": "def f(x):\n",
    "canonical_solution": "    return x\n",
    "entry_point": "f",
    "libs": "['numpy']",
    "test": "import unittest\nfrom unittest.mock import patch\nimport numpy as np\n"
    "class TestCases(unittest.TestCase):\n"
    "    def test_one(self):\n        self.assertEqual(f(1), 1)\n"
    "    def test_two(self):\n        self.assertEqual(f(2), 2)\n"
    "    def test_three(self):\n        np.testing.assert_equal(f(3), 3)\n        self.assertTrue(np.array_equal(f(4), 4))\n",
}
"""A problem in the format of BigCodeBench, whose programs may start processes."""

UNIT_TEST_ATTACKS = {
    "exit": "import os\nos._exit(0)\n",
    "exit in a call": "import os\ndef f(x):\n    os._exit(0)\n",
    "SystemExit": "raise SystemExit(0)\n",
    "SystemExit in a call": "def f(x):\n    raise SystemExit(0)\n",
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\n" + WRONG,
    "a finalizer": "import os\nclass A:\n    def __del__(self):\n        os._exit(0)\na = A()\n" + WRONG,
    "an assertion replaced": "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n" + WRONG,
    "an assertion replaced in a call": "import unittest\ndef f(x):\n"
    "    unittest.TestCase.assertEqual = lambda *_: None\n",
    "the run of a test replaced": "import unittest\nunittest.TestCase.run = lambda *_: None\n" + WRONG,
    "a call of a test added": "import unittest\n"
    "def f(x):\n    unittest.TestCase.__call__ = lambda s, r: r.addSuccess(s)\n    return 1\n",
    "an attribute added": "import unittest\n"
    "def get(self, name):\n"
    "    return (lambda *_: None) if name == 'assertEqual' else object.__getattribute__(self, name)\n"
    "unittest.TestCase.__getattribute__ = get\n" + WRONG,
    "the code of an assertion replaced": "import unittest\n"
    "unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__\n" + WRONG,
    "its code replaced in a call": "import unittest\ndef f(x):\n"
    "    unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__\n",
    "subclasses emptied": "import unittest\n"
    "def empty(cls, **_):\n    [delattr(cls, n) for n in list(vars(cls)) if n[:4] == 'test']\n"
    "unittest.TestCase.__init_subclass__ = classmethod(empty)\n" + WRONG,
    "a class of tests of its own": "import unittest\n"
    "class Easy(unittest.TestCase):\n    def test_one(self): pass\n    def test_two(self): pass\n"
    "easy = unittest.TestSuite([Easy('test_one'), Easy('test_two')])\n"
    "unittest.TestLoader.loadTestsFromTestCase = lambda *_: easy\n" + WRONG,
    "another module": "import sys, types\n"
    "m = types.ModuleType('unittest')\nm.TestCase = object\nsys.modules['unittest'] = m\n" + WRONG,
    "another table of modules": "import sys, types\n"
    "m = types.ModuleType('unittest')\nm.TestCase = object\nsys.modules = {**sys.modules, 'unittest': m}\n" + WRONG,
    "classes built otherwise": "import builtins\nbuild = builtins.__build_class__\n"
    "def other(body, name, *bases, **rest):\n    return build((lambda: None), name, *bases, **rest)\n"
    "builtins.__build_class__ = other\n" + WRONG,
    "a mark of failed classes": "import unittest.case\nunittest.case._Outcome.success = True\n"
    "unittest.result.TestResult.addFailure = lambda *_: None\n" + WRONG,
    "all tests skipped": "import unittest\nunittest.TestCase.__unittest_skip__ = True\n" + WRONG,
    "a report of its own": "import os\nfor n in range(3, 20):\n    try:\n"
    '        d = b\'{"status": "passed", "token": ""}\'\n        os.write(n, len(d).to_bytes(4, \'little\') + d)\n'
    "    except OSError: pass\nos._exit(0)\n",
    "a writer replaced": "import os\nos.write = lambda *_: 0\n" + WRONG,
    "json replaced": "import json\njson.dumps = lambda *_, **__: '[]'\n" + WRONG,
    "bases replaced": "import unittest\nclass B:\n    def assertEqual(self, *_): pass\n"
    "unittest.TestCase.assertEqual.__defaults__ = (None,)\n"
    "del unittest.TestCase.assertEqual\nunittest.TestCase.__bases__ = (B,)\n" + WRONG,
    "a report by a child": "import os\ndef f(x):\n    if os.fork() == 0:\n        for n in range(3, 20):\n"
    '            try:\n                d = b\'{"status": "passed", "token": ""}\'\n'
    "                os.write(n, len(d).to_bytes(4, 'little') + d)\n            except OSError: pass\n        os._exit(0)\n"
    "    import time\n    time.sleep(0.2)\n    return 1\n",
    "the tests in a child": "import os\nif os.fork():\n    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))\n" + WRONG,
    "everything else killed": "import os\ndef f(x):\n    for n in range(1, 200):\n        try:\n"
    "            n == os.getpid() or os.kill(n, 9)\n        except OSError: pass\n    return 1\n",
    "a daemon": "import os, time\ndef f(x):\n    if os.fork() == 0:\n        os.setsid()\n        os.fork()\n"
    "        time.sleep(600)\n    return 1\n",
    "the memory of its parent": "import os, sys, subprocess\ndef f(x):\n"
    '    code = \'import os; print(open("/proc/%d/mem" % os.getppid(), "rb").seek(0))\'\n'
    "    subprocess.run([sys.executable, '-c', code])\n    return 1\n",
    "another module for the tests to import": "import sys, types\n"
    "m = types.ModuleType('unittest.mock')\nm.patch = None\nsys.modules['unittest.mock'] = m\n" + WRONG,
    "a poisoned package": "import numpy\n"
    "numpy.testing.assert_equal = numpy.array_equal = lambda *_, **__: True\n" + WRONG,
}
