// Gold links set by hand: cells go from none to sure to possible; every change can be undone; files come out.

class Editor {
  /** `changed(n)` hears of each change, `lost()` when edits can no longer be kept in this browser. */
  constructor(corpus, changed, lost = () => {}) {
    this.corpus = corpus;
    this.changed = changed;
    this.lost = lost;
    this.past = [];
    this.future = [];
    this.key = `dualign ${corpus.id}`;
  }

  /** What was edited in this browser before; the number of pairs. */
  restore() {
    for (const [n, line] of Object.entries(this.stored())) {
      if (Number(n) < this.corpus.size) this.corpus.edits.set(Number(n), parseLinks(line));
    }
    return this.corpus.edits.size;
  }

  /** Another page has changed what is stored: edits of pairs that differ become those. */
  follow() {
    const stored = this.stored();
    for (const n of new Set([...this.corpus.edits.keys(), ...Object.keys(stored).map(Number)])) {
      const here = this.corpus.edits.get(n), there = stored[n];
      if (n >= this.corpus.size || (here === undefined ? undefined : pharaohOf(here)) === there) continue;
      if (there === undefined) this.corpus.edits.delete(n);
      else this.corpus.edits.set(n, parseLinks(there));
      this.corpus.changed(n);
      this.changed(n);
    }
  }

  discard() {
    const edited = [...this.corpus.edits.keys()];
    this.corpus.edits.clear();
    this.past = [];
    this.future = [];
    this.save(edited);
    for (const n of edited) { this.corpus.changed(n); this.changed(n); }
  }

  /** Edits in the browser's storage, pair -> links; other pages with the same text write there, too. */
  stored() {
    try {
      return JSON.parse(localStorage.getItem(this.key) || "{}");
    } catch {
      return {};  // no storage here: edits live as long as the page
    }
  }

  /** Store the edits of these pairs; those of others stay as they are there. */
  save(pairs) {
    const stored = this.stored();
    for (const n of pairs) {
      const cells = this.corpus.edits.get(n);
      if (cells === undefined) delete stored[n];
      else stored[n] = pharaohOf(cells);
    }
    try {
      if (Object.keys(stored).length) localStorage.setItem(this.key, JSON.stringify(stored));
      else localStorage.removeItem(this.key);
    } catch {
      this.lost();
    }
  }

  /** Set a cell to sure "-", possible "?" or none "". */
  set(n, i, j, mark) {
    this.replace(n, (cells) => {
      if (mark === "") cells.delete(cellOf(i, j));
      else cells.set(cellOf(i, j), { i, j, mark, p: NaN });
    });
  }

  next(n, i, j) {
    const gold = this.corpus.gold(n);
    const cell = gold === null ? undefined : gold.get(cellOf(i, j));
    this.set(n, i, j, cell === undefined ? "-" : cell.mark === "-" ? "?" : "");
  }

  /** Take the links of a system as sure gold. */
  take(n, system) {
    this.replace(n, (cells) => {
      cells.clear();
      for (const [key, cell] of this.corpus.links(system, n)) if (cell.mark !== "~") cells.set(key, { ...cell, p: NaN });
    });
  }

  clear(n) { this.replace(n, (cells) => cells.clear()); }

  replace(n, change) {
    const before = this.corpus.edits.get(n) || null;
    const after = new Map(this.corpus.gold(n) || []);
    change(after);
    this.past.push({ n, before, after });
    this.future = [];
    this.put(n, after);
  }

  put(n, cells) {
    if (cells === null) this.corpus.edits.delete(n);
    else this.corpus.edits.set(n, cells);
    this.corpus.changed(n);
    this.save([n]);
    this.changed(n);
  }

  undo() {
    const last = this.past.pop();
    if (!last) return NONE;
    this.future.push(last);
    this.put(last.n, last.before);
    return last.n;
  }

  redo() {
    const last = this.future.pop();
    if (!last) return NONE;
    this.past.push(last);
    this.put(last.n, last.after);
    return last.n;
  }

  /** All gold links, one line for each pair; edited pairs as edited. */
  pharaoh() {
    let text = "";
    for (let n = 0; n < this.corpus.size; n++) text += `${pharaohOf(this.corpus.gold(n) || new Map())}\n`;
    return text;
  }

  /** The links of a system, one line for each pair; edited pairs as edited. */
  corrected(system) {
    let text = "";
    for (let n = 0; n < this.corpus.size; n++) {
      const cells = this.corpus.edits.get(n) || new Map([...this.corpus.links(system, n)].filter(([, cell]) => cell.mark !== "~"));
      text += `${pharaohOf(cells)}\n`;
    }
    return text;
  }

  /** The edited pairs only, as lines `line number<TAB>links`. */
  looked() {
    const edited = [...this.corpus.edits].sort(([m], [n]) => m - n);
    return edited.map(([n, cells]) => `${n + 1}\t${pharaohOf(cells)}\n`).join("");
  }

  /** All gold links as lines `sentence source target S|P`, all counted from 1. */
  naacl() {
    let text = "";
    for (let n = 0; n < this.corpus.size; n++) {
      for (const { i, j, mark } of sorted(this.corpus.gold(n) || new Map())) text += `${n + 1} ${i + 1} ${j + 1} ${mark === "-" ? "S" : "P"}\n`;
    }
    return text;
  }
}

const sorted = (cells) => [...cells.values()].sort((x, y) => x.i - y.i || x.j - y.j);
const pharaohOf = (cells) => sorted(cells).map(({ i, j, mark }) => `${i}${mark}${j}`).join(" ");

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
