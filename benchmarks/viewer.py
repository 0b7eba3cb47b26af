"""How long the viewer takes to open, and whether it scrolls smoothly.

    python -m benchmarks.viewer --lines 10k 100k

Runs `dualign view … --html` on synthetic text of 15 words per side, with links and their probabilities, and
opens the page in a headless Chromium. Measured are the time from the request until the list and the first
pair are on the screen, the memory of the scripts, the time between frames while the list is scrolled for
three seconds with jumps in between, and the time to search and to sort all pairs.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.show.browser import CHROMIUM, Browser

from benchmarks.corpora import size_of
from benchmarks.runs import describe, guarded, keep_to, parser, record
from dualign._core.errors import UsageError
from dualign.commands.bench import DUALIGN
from dualign.measure.timing import markdown, measure
from dualign.text.samples import generate

HEAD = (
    "pairs", "command s", "page MB", "opens s", "heap MB", "frame ms, median", "99 %", "worst",
    "search ms", "sort ms",
)  # fmt: skip

SCROLL = """(async () => {
  const list = document.getElementById("list"), times = [];
  let last = performance.now();
  const end = last + 3000;
  for (let k = 1; performance.now() < end; k++) {
    list.scrollTop += k % 40 === 0 ? 300000 : 400;
    await new Promise((done) => requestAnimationFrame(done));
    times.push(performance.now() - last);
    last = performance.now();
  }
  return times.sort((x, y) => x - y);
})()"""
SEARCH = """(() => {
  const box = document.getElementById("search"), began = performance.now();
  box.value = "t:7"; document.getElementById("filter").dispatchEvent(new Event("change"));
  return performance.now() - began;
})()"""
SORT = """(() => {
  const box = document.getElementById("sort"), began = performance.now();
  document.getElementById("search").value = "";
  box.value = "confidence"; box.dispatchEvent(new Event("change"));
  return performance.now() - began;
})()"""


def main() -> None:
    options = parser("Measure the viewer in a headless Chromium.", "viewer.jsonl")
    options.add_argument("--lines", nargs="+", default=["10k", "100k"], help="pairs to show")
    options.add_argument("--seed", type=int, default=0, help="seed of the synthetic text")
    given = options.parse_args()
    if CHROMIUM is None:
        raise UsageError("no Chromium is installed")
    keep_to(given.threads)
    print(describe(given.threads))
    rows = []
    browser = Browser()
    try:
        with TemporaryDirectory(prefix="dualign-viewer-") as folder:
            for size in (size_of(size) or 0 for size in given.lines):
                files = write(Path(folder), size, given.seed)
                page = str(Path(folder, "page.html"))
                usage = measure([*DUALIGN, "view", *files[:2], "--probabilities", files[2], "--html", page])
                began = perf_counter()
                browser.open(Path(page).as_uri())
                opened = perf_counter() - began
                heap = browser.js("performance.memory.usedJSHeapSize")
                frames = browser.js(SCROLL)
                times = {
                    "frame_ms": frames[len(frames) // 2],
                    "frame99_ms": frames[int(0.99 * len(frames))],
                    "worst_ms": frames[-1],
                    "search_ms": browser.js(SEARCH),
                    "sort_ms": browser.js(SORT),
                }
                size_mb, heap_mb = os.path.getsize(page) / 1e6, heap / 1e6
                record(
                    given.json,
                    {
                        "pairs": size, "seed": given.seed, "seconds": usage.seconds, "megabytes": size_mb,
                        "open_seconds": opened, "heap_megabytes": heap_mb, **times,
                    },
                )  # fmt: skip
                sizes = f"{size_mb:.1f}", f"{opened:.2f}", f"{heap_mb:.0f}"
                row = (f"{size:,}", f"{usage.seconds:.1f}", *sizes, *(f"{ms:.0f}" for ms in times.values()))
                rows.append(row)
                print(" ".join(row), flush=True)
    finally:
        browser.close()
    print("\n" + markdown(HEAD, rows, left=0))


def write(folder: Path, size: int, seed: int) -> list[str]:
    """Write source, target, and links with random probabilities."""
    names = [str(folder / name) for name in ("source", "target", "links")]
    with open(names[0], "w") as source, open(names[1], "w") as target, open(names[2], "w") as links:
        for s, t, alignment in islice(generate(size, seed=seed, mean_length=15.0), size):
            source.write(" ".join(s) + "\n")
            target.write(" ".join(t) + "\n")
            links.write(" ".join(f"{i}-{j}:0.{(7 * i + 3 * j) % 100:02d}" for i, j in alignment) + "\n")
    return names


if __name__ == "__main__":
    guarded(main)
