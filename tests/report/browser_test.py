"""Opens reports in a headless Chromium and does what a reader does: looks, searches, sorts, clicks.

Usage: browser_test.py PROGRAM [unittest's arguments]
Ends with 77 where there is no Chromium or no Playwright. KEEP=FOLDER keeps pages and pictures.
"""

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

PROGRAM = ""
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MODELS = Path("datasets/models")

# Texts of charts stay inside their frames.
CUT_LABELS = """() => [...document.querySelectorAll("svg.chart")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                         box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }).map((text) => text.textContent);
})"""


def run(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: {done.returncode}: {done.stderr}")
    return done.stdout


def many_kernels(document, count):
    """The first model with its kernels repeated in layers, `count` in all."""
    result = copy.deepcopy(document)
    model = result["models"][0]
    base = model["kernels"]
    kernels = []
    for i in range(count):
        kernel = copy.deepcopy(base[i % len(base)])
        layer = i // len(base)
        kernel["name"] = f"k{i:02}_{kernel['name'].split('_', 1)[1]}"
        kernel["layer"] = f"layer_{layer}/" + ("attn" if i % len(base) < 6 else "mlp")
        kernel["time_ns"] *= 1 + i * 1e-6
        kernel["reads"] = [kernels[i - d]["name"] for d in (1, 3, len(base)) if i >= d]
        kernels.append(kernel)
    model["kernels"] = kernels
    model["model"] = "models/many.hlo.txt"
    model["total_time_ns"] = model["sequence_time_ns"] = sum(k["time_ns"] for k in kernels)
    result["models"] = [model]
    return result


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = Path(os.environ.get("KEEP") or cls.temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        cls.folder = folder
        block, lookup = MODELS / "gpt2_block.hlo.txt", MODELS / "dlrm.xla_optimized.hlo.txt"
        run("explore", block, lookup, "--greedy", "--budget", 50, "--out", folder / "now", "-q")
        run("explore", block, "--greedy", "--budget", 5, "--device", "a100", "--out", folder / "before", "-q")
        run("emit", next((folder / "now/plans/000").glob("k00_*.json")), "--out", folder / "pack", "-q")
        run("report", folder / "now", folder / "pack", "datasets/calibrations/h100-sxm.json",
            "--against", folder / "before", "--out", folder / "few.html")
        document = json.loads((folder / "now/explore.json").read_text())
        for count in (100, 1000):
            (folder / f"{count}.json").write_text(json.dumps(many_kernels(document, count)))
            run("report", folder / f"{count}.json", "--out", folder / f"{count}.html")
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.temporary.cleanup()

    def open(self, name, width=1400, **options):
        context = self.browser.new_context(viewport={"width": width, "height": 1000}, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        self.addCleanup(lambda: self.assertEqual(said, [], "on the console"))
        page.goto((self.folder / f"{name}.html").resolve().as_uri())
        return page

    @staticmethod
    def names(page):
        # What stands in them: texts of parts that are not drawn yet are empty.
        return page.locator("table.kernels > tbody > tr.main > th .mono").all_text_contents()

    def find(self, page, words):
        page.evaluate("document.querySelector('#found').textContent = 'not yet'")
        page.fill("#find", words)
        page.wait_for_function("() => document.querySelector('#found').textContent !== 'not yet'")
        return page.inner_text("#found")

    def test_nothing_scrolls_sideways_or_is_cut_off(self):
        for name in ("few", "100", "1000"):
            for width in (420, 1400):
                with self.subTest(name=name, width=width):
                    page = self.open(name, width)
                    if width == 420:  # opened details are the widest parts
                        page.locator("table.kernels summary").first.click()
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.evaluate(CUT_LABELS), [])
                    page.screenshot(path=self.folder / f"{name}_{width}.png")

    def test_light_and_dark_differ(self):
        pictures = {self.open("few", color_scheme=scheme).screenshot(path=self.folder / f"{scheme}.png")
                    for scheme in ("light", "dark")}
        self.assertEqual(len(pictures), 2)

    def test_top_answers_where_what_and_how(self):
        page = self.open("few")
        for model in page.locator("section.model").all():
            self.assertEqual(model.locator(".headline h3").all_text_contents(),
                             ["Where the time goes", "What limits it", "What would help"])
        section = page.locator("section.model").last
        link = section.locator(".headline a").first
        link.click()
        row = page.locator(link.get_attribute("href"))
        self.assertTrue(row.locator("details").first.evaluate("e => e.open"))

    def test_contents_lead_to_sections(self):
        page = self.open("few")
        links = page.locator("nav a")
        self.assertGreaterEqual(links.count(), 5)  # models, comparison, three models, a calibration
        links.last.click()
        page.wait_for_timeout(100)
        target = page.locator(links.last.get_attribute("href"))
        self.assertLess(target.bounding_box()["y"], 1000)

    def test_search_finds_and_forgets(self):
        page = self.open("few")
        all_names = self.names(page)
        self.assertRegex(self.find(page, "dlrm.xla gemm"), r"^3 of \d+ kernels in 1 of 3 models$")
        found = self.names(page)
        self.assertTrue(found and all("gemm" in name for name in found), found)
        self.assertEqual(page.locator("section.model:visible").count(), 1)
        self.assertFalse(page.locator("section.calibration").is_visible())
        self.assertRegex(self.find(page, "no such kernel"), r"^0 of ")
        page.press("#find", "Escape")
        self.assertEqual(self.names(page), all_names)
        limiter = page.locator(".finder option").nth(1).get_attribute("value")
        page.select_option(".finder select", limiter)
        cells = page.locator("section.model:visible td.limiter").all_text_contents()
        self.assertEqual({text.strip() for text in cells}, {limiter})
        page.click("text=Clear")
        page.press("body", "/")
        self.assertEqual(page.evaluate("document.activeElement.id"), "find")

    def test_tables_are_sorted_by_any_part_of_a_head(self):
        page = self.open("few")
        table = page.locator("table.kernels").first
        head = table.locator("thead th").first
        head.click(position={"x": 2, "y": 2})  # beside its words
        numbers = [int(text) for text in
                   table.locator(":scope > tbody > tr.main > td:first-child").all_text_contents()]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(head.get_attribute("aria-sort"), "ascending")
        head.click()
        self.assertEqual(head.get_attribute("aria-sort"), "descending")
        models = page.locator("table[aria-labelledby=models]")
        models.locator("thead th", has_text="Predicted time").click()
        times = models.locator("tbody tr td:nth-child(5)").evaluate_all("cells => cells.map(c => +c.dataset.v)")
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(len(times), 3)

    def test_what_was_made_stands_beside_the_kernel(self):
        page = self.open("few")
        row = page.locator("section.model").nth(1).locator("table.kernels > tbody", has_text="k00_")
        row.locator("summary").first.click()
        listings = row.locator("details.listing")
        self.assertEqual(listings.count(), 2)
        for listing, word in zip(listings.all(), ("kernel ", ".entry")):
            listing.locator("summary").click()
            self.assertIn(word, listing.locator("pre").inner_text())
        self.assertGreater(row.locator("table.heat td.own").count(), 0)

    def test_changes_are_explained(self):
        page = self.open("few")
        section = page.locator("#compare")
        self.assertIn("in place of 108 SMs", section.inner_text())
        self.assertGreater(section.locator("td", has_text="plan: ").count(), 0)

    def test_graph_shows_neighbours(self):
        page = self.open("few")
        graph = page.locator("section.model svg.graph").nth(1)
        graph.scroll_into_view_if_needed()
        node = graph.locator("[data-n='5']")
        node.hover()
        on = graph.locator("[data-n].on").evaluate_all("nodes => nodes.map(n => +n.dataset.n)")
        self.assertIn(5, on)
        self.assertTrue(1 < len(on) < graph.locator("[data-n]").count(), on)
        node.click()
        self.assertTrue(page.locator(node.get_attribute("href") + " details").first.evaluate("e => e.open"))

    def test_a_thousand_kernels_are_made_when_seen(self):
        page = self.open("1000")
        self.assertEqual(len(self.names(page)), 40)
        self.assertLess(page.evaluate("document.getElementsByTagName('*').length"), 20000)
        self.assertLessEqual(page.locator("svg.graph").first.locator("[data-n]").count(), 60)
        seen = 40
        for _ in range(12):
            page.locator(".scroll:has(table.kernels) + div.end").scroll_into_view_if_needed()
            page.wait_for_timeout(100)
            seen = len(self.names(page))
            if seen == 1000:
                break
        self.assertEqual(seen, 1000)

    def test_a_thousand_kernels_are_found_and_sorted(self):
        page = self.open("1000")
        self.assertEqual(self.find(page, "layer_99 mlp"), "4 of 1000 kernels")
        self.assertEqual(len(self.names(page)), 4)
        self.find(page, "")
        page.locator("table.kernels thead th").first.click()
        self.assertEqual(self.names(page)[:3], [n for n in self.names(page) if n[:4] in ("k00_", "k01_", "k02_")])
        page.evaluate("location.hash = '#m0-k-777'")
        page.wait_for_selector("#m0-k-777")

    def test_layers_are_picked(self):
        page = self.open("100")
        page.locator("button.pick", has_text="layer_*/attn").click()
        self.assertEqual(page.inner_text("#found"), "60 of 100 kernels")

    def test_without_scripts_everything_is_there(self):
        page = self.open("100", java_script_enabled=False)
        self.assertEqual(page.locator("table.kernels > tbody > tr.main").count(), 100)
        self.assertFalse(page.locator(".finder").is_visible())

    def test_pages_are_small(self):
        for name, most in (("few", 2_000_000), ("1000", 6_000_000)):
            self.assertLess((self.folder / f"{name}.html").stat().st_size, most)


if __name__ == "__main__":
    if sync_playwright is None or BROWSER is None:
        print("skipped: there is no", "Chromium" if BROWSER is None else "Playwright", "on this machine")
        sys.exit(SKIPPED)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
