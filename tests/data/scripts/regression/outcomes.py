"""Runs the test of each file that it is given, and prints how each of them ended."""

import json
import runpy
import sys
import unittest

outcomes = {}
for path in sys.argv[1:]:
    case = runpy.run_path(path)["TestRepro"]
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    found = [name for name in ("failures", "errors", "skipped") if getattr(result, name)]
    outcomes[path] = (found or ["passed"]) if result.testsRun == 1 else "not run"
print(json.dumps(outcomes))
