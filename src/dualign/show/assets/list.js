// A list of any length of which only the rows in sight exist.

const ROW = 58;
const TALLEST = 8e6;  // browsers stop drawing elements somewhere beyond 16 million pixels

class PairList {
  /** `fill(row, n)` writes pair n into a row; `chosen(n)` hears what the user selects. */
  constructor(box, fill, chosen) {
    this.box = box;
    this.fill = fill;
    this.chosen = chosen;
    this.order = [];
    this.selected = NONE;
    this.rows = [];
    this.space = element("div", { class: "space", "aria-hidden": "true" });
    box.append(this.space);
    this.drawing = 0;
    box.addEventListener("scroll", () => this.later());
    new ResizeObserver(() => this.later()).observe(box);
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.at));
    });
  }

  show(order, selected) {
    this.order = order;
    this.selected = selected;
    this.height = Math.min(order.length * ROW, TALLEST);
    this.space.style.height = `${this.height}px`;
    this.draw(true);
  }

  /** The place in the order of the first row in sight, possibly between two; the box may stand for many rows a pixel. */
  get first() {
    const hidden = this.height - this.box.clientHeight;
    const most = this.order.length * ROW - this.box.clientHeight;
    if (hidden <= 0 || most <= 0) return 0;
    return (Math.min(this.box.scrollTop, hidden) / hidden) * most / ROW;
  }

  reveal(place) {
    const visible = this.box.clientHeight / ROW;
    const first = this.first;
    let wanted = first;
    if (place < first) wanted = place;
    else if (place + 1 > first + visible) wanted = place + 1 - visible;
    if (wanted === first) return;
    const hidden = this.height - this.box.clientHeight;
    const most = this.order.length * ROW - this.box.clientHeight;
    this.box.scrollTop = most > 0 ? (wanted * ROW / most) * hidden : 0;
  }

  choose(place) {
    if (place < 0 || place >= this.order.length) return;
    this.selected = this.order[place];
    this.reveal(place);
    this.draw();
    this.chosen(this.selected);
  }

  /** Go some rows up or down from the selected pair. */
  move(by) {
    const at = this.order.indexOf(this.selected);
    this.choose(Math.max(0, Math.min(this.order.length - 1, at === -1 ? 0 : at + by)));
  }

  get page() { return Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1); }

  later() {
    if (!this.drawing) this.drawing = requestAnimationFrame(() => { this.drawing = 0; this.draw(); });
  }

  /** Put the rows in sight in place; with `anew`, also write those again that show the same pair as before. */
  draw(anew = false) {
    const first = this.first, top = this.box.scrollTop;
    const begin = Math.max(0, Math.floor(first) - 2);
    const end = Math.min(this.order.length, Math.ceil(first + this.box.clientHeight / ROW) + 2);
    while (this.rows.length < end - begin) {
      const row = element("div", { class: "row", role: "option" });
      this.rows.push({ row, pair: NONE, place: NONE });
      this.box.append(row);
    }
    const size = this.rows.length;
    for (const slot of this.rows) slot.place = NONE;
    for (let place = begin; place < end; place++) {
      // A row keeps its pair while it is in sight: scrolling by one writes one.
      const slot = this.rows[place % size], n = this.order[place], { row } = slot;
      slot.place = place;
      row.style.transform = `translateY(${top + (place - first) * ROW}px)`;
      row.setAttribute("aria-selected", String(n === this.selected));
      row.dataset.at = place;
      if (slot.pair === n && !anew) continue;
      slot.pair = n;
      row.id = `pair-${n}`;
      row.setAttribute("aria-posinset", place + 1);
      row.setAttribute("aria-setsize", this.order.length);
      this.fill(row, n);
    }
    for (const slot of this.rows) slot.row.style.display = slot.place === NONE ? "none" : "";
    this.box.setAttribute("aria-activedescendant", `pair-${this.selected}`);
  }
}
