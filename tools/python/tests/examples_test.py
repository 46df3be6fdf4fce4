"""The examples of the documents and of the docstrings run, and print what they say."""

import ast
import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import tempfile
import unittest
from pathlib import Path

import tilewright

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
DOCUMENTS = ("docs/python.md", "docs/models.md", "docs/tutorials/from_jax.md")
FENCE = re.compile(r"```python\n(?P<code>.*?)```", re.DOTALL)


def blocks(path):
    """(line, code, what it imports that is not here) of every block of Python."""
    text = Path(path).read_text()
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        yield line, match["code"], missing_of(match["code"])


def missing_of(code):
    examples = doctest.DocTestParser().get_examples(code)
    source = "".join(example.source for example in examples) or code
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


class Documents(unittest.TestCase):
    def test_blocks(self):
        for path in DOCUMENTS:
            scope = {}
            for line, code, missing in blocks(path):
                with self.subTest(path=path, line=line):
                    if missing:
                        self.skipTest(f"{', '.join(missing)} is not installed")
                    self.run_block(path, line, code, scope)

    def run_block(self, path, line, code, scope):
        if ">>>" not in code:
            # In a file: triton.jit reads the source of what it is given.
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(code)
                file.flush()
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, file.name, "exec"), scope)
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
