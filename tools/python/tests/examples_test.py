"""The examples of the documents and of the docstrings run, and print what they say."""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import unittest
from pathlib import Path

import tilewright

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
DOCUMENTS = ("README.md", "docs/python.md")
FENCE = re.compile(
    r"(?:<!-- needs: (?P<needs>[^>]*) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL
)


def blocks(path):
    """(line, code, modules that it needs) of every block of Python."""
    text = Path(path).read_text()
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        yield line, match["code"], (match["needs"] or "").split()


class Documents(unittest.TestCase):
    def test_blocks(self):
        for path in DOCUMENTS:
            scope = {}
            for line, code, needs in blocks(path):
                missing = [name for name in needs if importlib.util.find_spec(name) is None]
                with self.subTest(path=path, line=line):
                    if missing:
                        compile(code, path, "exec")
                        self.skipTest(f"{', '.join(missing)} is not installed")
                    self.run_block(path, line, code, scope)

    def run_block(self, path, line, code, scope):
        if ">>>" not in code:
            exec(compile(code, f"{path}:{line}", "exec"), scope)
            return
        test = doctest.DocTestParser().get_doctest(code, scope, path, path, line)
        test.globs = scope  # later blocks see what this one defines
        report = []
        runner = doctest.DocTestRunner(optionflags=OPTIONS)
        runner.run(test, out=report.append, clear_globs=False)
        self.assertEqual(runner.failures, 0, "".join(report))

    def test_there_are_some(self):
        self.assertGreater(len(list(blocks("docs/python.md"))), 7)


class Docstrings(unittest.TestCase):
    def test_examples(self):
        tried = 0
        for info in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
            if info.name.endswith(("_native", "__main__")):
                continue
            module = importlib.import_module(info.name)
            result = doctest.testmod(module, optionflags=OPTIONS)
            self.assertEqual(result.failed, 0, info.name)
            tried += result.attempted
        self.assertGreater(tried + doctest.testmod(tilewright).attempted, 8)

    def test_everything_public_says_what_it_does(self):
        for name in tilewright.__all__:
            thing = getattr(tilewright, name)
            self.assertTrue(thing.__doc__, name)
            for member in vars(thing) if isinstance(thing, type) else ():
                function = vars(thing)[member]
                if not member.startswith("_") and callable(function):
                    self.assertTrue(function.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
