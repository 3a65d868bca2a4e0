"use strict";
// Everything shown comes through textContent: no text of a log or a dump can become markup.

const data = JSON.parse(document.getElementById("data").textContent);
const say = (text) => { document.getElementById("said").textContent = text; };

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "path", "text", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// ---- theme -------------------------------------------------------------------------------------

const THEMES = ["auto", "light", "dark"];

function remembered(value) {
  // A page opened from a file or a sandboxed viewer may have no storage: then nothing is remembered.
  try {
    if (value !== undefined) localStorage.setItem("rdmadiag-theme", value);
    return localStorage.getItem("rdmadiag-theme");
  } catch { return null; }
}

function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  document.getElementById("theme-name").textContent = name;
}

function startTheme() {
  const button = document.getElementById("theme");
  let theme = THEMES.includes(remembered()) ? remembered() : "auto";
  setTheme(theme);
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    setTheme(theme);
    remembered(theme);
  });
}

// ---- copy --------------------------------------------------------------------------------------

async function copy(text, node) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(node);
    if (!document.execCommand("copy")) return say("Press Ctrl+C to copy");
  }
  say("Copied");
}

function startCopy() {
  for (const button of document.querySelectorAll(".copy")) {
    const source = button.previousElementSibling;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(source.textContent, source);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}

// ---- tables ------------------------------------------------------------------------------------

const PAGE = 100;
const LONG = 100; // a cell with more characters is folded
const compare = new Intl.Collator("en", { numeric: true }).compare;

function cellOf(column, row) {
  if (column.raw) return column.raw[row];
  return column.text[row] < 0 ? null : data.strings[column.text[row]];
}

const sizeOf = (table) => table.columns.length ? (table.columns[0].raw ?? table.columns[0].text).length : 0;

class Table {
  // within: tells whether a row is to be shown, beyond the filter (the time line's zoom)
  constructor(table, place, caption, within = () => true) {
    Object.assign(this, { table, within, sorted: null, down: false, shown: PAGE, words: [] });
    this.rows = Array.from({ length: sizeOf(table) }, (_, row) => row);
    this.status = make("span", { role: "status" });
    this.head = make("tr");
    this.body = make("tbody");
    this.more = make("button", { type: "button", class: "quiet", onclick: () => { this.shown += 10 * PAGE; this.draw(); } }, "Show more rows");
    const input = make("input", { type: "search", oninput: () => this.filter(input.value) });
    const label = make("label", {}, "Filter ", input);
    const only = make("input", { type: "checkbox", onchange: () => { this.only = only.checked; this.update(); } });
    const choice = this.links() ? [make("label", {}, only, " only events of findings")] : [];
    const grid = make("table", {}, make("caption", { class: "unseen" }, caption), make("thead", {}, this.head), this.body);
    place.append(
      make("div", { class: "tools" }, label, ...choice, this.status),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, grid),
      make("div", { class: "tools" }, this.more),
    );
    this.drawHead();
    this.update();
  }

  drawHead() {
    this.head.replaceChildren(...this.table.columns.map((column) => {
      const sort = column === this.sorted ? (this.down ? "descending" : "ascending") : "none";
      return make("th", { scope: "col", "aria-sort": sort },
        make("button", { type: "button", onclick: () => this.sort(column) }, column.name));
    }));
  }

  sort(column) {
    this.down = column === this.sorted && !this.down;
    this.sorted = column;
    const focused = this.table.columns.indexOf(column);
    this.drawHead();
    this.head.children[focused].firstChild.focus();
    this.update();
  }

  filter(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.update();
  }

  links() { return this.table.name === "events" && this.table.columns.find((column) => column.name === "finding"); }

  matches(row) {
    if (!this.within(row) || (this.only && !cellOf(this.links(), row))) return false;
    if (!this.words.length) return true;
    const text = this.table.columns.map((column) => cellOf(column, row) ?? "").join(" ").toLowerCase();
    return this.words.every((word) => text.includes(word));
  }

  update() {
    this.found = this.rows.filter((row) => this.matches(row));
    if (this.sorted) this.found.sort((a, b) => this.order(a, b));
    this.shown = PAGE;
    this.draw();
  }

  order(a, b) {
    const [x, y] = [cellOf(this.sorted, a), cellOf(this.sorted, b)];
    if (x === null || y === null) return (x === null) - (y === null); // what is not known: last, both ways
    const result = typeof x === "number" && typeof y === "number" ? x - y : compare(x, y);
    return this.down ? -result : result;
  }

  draw() {
    const rows = this.found.slice(0, this.shown);
    this.body.replaceChildren(...rows.map((row) => make("tr", {}, ...this.table.columns.map((column) => this.cell(column, row)))));
    this.more.hidden = rows.length === this.found.length;
    const total = this.table.total > this.rows.length ? `${this.rows.length} (of ${this.table.total}; all are in the JSON report)` : this.rows.length;
    this.status.textContent = `${this.found.length} of ${total} rows` + (this.more.hidden ? "" : `, ${rows.length} shown`);
  }

  cell(column, row) {
    const value = cellOf(column, row);
    if (value && column === this.links()) {
      return make("td", {}, make("a", { href: `#${value}`, onclick: () => reveal(value) }, value));
    }
    const text = value === null ? "" : String(value);
    if (text.length > LONG && this.table.name !== "events") {
      return make("td", {}, make("details", {}, make("summary", {}, text.slice(0, LONG / 2) + "…"), text));
    }
    return make("td", typeof value === "number" ? { class: "number" } : {}, text);
  }
}

function reveal(id) {
  for (let node = document.getElementById(id); node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
  }
}

function startTables() {
  for (const place of document.querySelectorAll("details[data-table]")) {
    const table = data.tables[place.dataset.table];
    place.addEventListener("toggle", () => new Table(table, place, `Facts of kind ${table.name}`), { once: true });
  }
}

// ---- time line ---------------------------------------------------------------------------------

const AXIS = 26, BIN = 3;
const STEPS = [1e-6, 1e-5, 1e-4, .001, .01, .1, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000];

class Plot {
  constructor(plot, place, changed) {
    Object.assign(this, { plot, changed });
    this.end = Math.max(1e-3, ...[0].concat(plot.spans.map((s) => s[2])), plot.at.reduce((a, b) => Math.max(a, b), 0));
    this.from = 0;
    this.to = this.end;
    this.lane = plot.hosts.length > 12 ? 24 : plot.hosts.length > 4 ? 34 : 46;
    this.svg = make("svg", { role: "img" });
    this.range = make("span", { role: "status" });
    const button = (text, action) => make("button", { type: "button", class: "quiet", onclick: action }, text);
    place.append(
      make("div", { class: "tools" },
        button("Zoom in", () => this.zoom(.4)), button("Zoom out", () => this.zoom(2.5)),
        button("Earlier", () => this.move(-.5)), button("Later", () => this.move(.5)),
        button("All", () => this.show(0, this.end)), this.range),
      make("div", plot.hosts.length > 12 ? { class: "plot", tabindex: "0", role: "region", "aria-label": "Time line" } : { class: "plot" }, this.svg),
    );
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.svg.parentElement);
  }

  zoom(factor, middle = (this.from + this.to) / 2) {
    const at = (middle - this.from) / (this.to - this.from);
    const length = Math.min(this.end, Math.max(1e-5, (this.to - this.from) * factor));
    this.show(middle - at * length, middle + (1 - at) * length);
  }

  move(part) {
    const shift = (this.to - this.from) * part;
    this.show(this.from + shift, this.to + shift);
  }

  show(from, to) {
    const length = to - from;
    this.from = Math.max(0, Math.min(from, this.end - length));
    this.to = Math.min(this.end, this.from + length);
    this.draw();
    this.changed(this);
  }

  covers(index) {
    return this.plot.at[index] >= this.from && this.plot.at[index] <= this.to;
  }

  whole() { return this.from <= 0 && this.to >= this.end; }

  x(at) { return this.left + (at - this.from) / (this.to - this.from) * (this.width - this.left - 10); }

  at(x) { return this.from + (x - this.left) / (this.width - this.left - 10) * (this.to - this.from); }

  label(at, step) {
    const time = this.plot.origin + at;
    if (this.plot.clock !== "wall") return `${time.toFixed(step < 1 ? 6 : 0)} s`;
    const text = new Date(time * 1000).toISOString();
    if (step >= 86400) return text.slice(0, 10);
    return step >= 1 ? text.slice(5, 16 + (step < 60 ? 3 : 0)).replace("T", " ") : text.slice(11, 17) + (time % 60).toFixed(6).padStart(9, "0");
  }

  draw() {
    this.width = Math.max(300, this.svg.parentElement.clientWidth);
    this.left = this.width < 500 ? 80 : 110;
    const height = AXIS + this.plot.hosts.length * this.lane;
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.svg.setAttribute("height", height);
    this.svg.replaceChildren(...this.ticks(height), ...this.lanes(), ...this.spans(), ...this.bins());
    const seen = this.plot.at.filter((_, index) => this.covers(index)).length;
    const text = `${seen} of ${this.plot.at.length} events, ${this.label(this.from, 1)} to ${this.label(this.to, 1)}${this.plot.clock === "wall" ? " UTC" : " after boot"}`;
    this.range.textContent = text;
    this.svg.setAttribute("aria-label", `Time line of ${this.plot.hosts.filter(Boolean).join(", ") || "the input"}: ${text}`);
  }

  ticks(height) {
    const room = Math.max(2, (this.width - this.left) / 110);
    const step = STEPS.find((s) => (this.to - this.from) / s <= room) ?? STEPS.at(-1);
    const marks = [];
    const first = Math.ceil((this.plot.origin + this.from) / step) * step - this.plot.origin;
    for (let at = first; at <= this.to && marks.length < 60; at += step) {
      const x = this.x(at);
      marks.push(make("line", { class: "tick", x1: x, x2: x, y1: AXIS - 6, y2: height }));
      if (x < this.width - 40) marks.push(make("text", { x, y: AXIS - 10, "text-anchor": x < this.left + 40 ? "start" : "middle" }, this.label(at, step)));
    }
    return marks;
  }

  lanes() {
    return this.plot.hosts.flatMap((host, lane) => {
      const y = AXIS + (lane + 1) * this.lane, name = host || "no host name";
      const short = name.length > this.left / 8 ? name.slice(0, this.left / 8 - 1) + "…" : name;
      return [
        make("line", { class: "lane", x1: 0, x2: this.width, y1: y, y2: y }),
        make("text", { class: "host", x: 10, y: y - this.lane / 2 + 4 }, short, make("title", {}, name)),
      ];
    });
  }

  spans() {
    return this.plot.spans.filter((span) => span[2] >= this.from && span[1] <= this.to).flatMap(([lane, from, to, path, kind]) => {
      const y = AXIS + (lane + 1) * this.lane - 4, left = Math.max(this.left, this.x(from)), right = Math.min(this.width - 10, this.x(to));
      const bar = make("rect", { class: "span", x: left, y, width: Math.max(2, right - left), height: 4 }, make("title", {}, path));
      if (kind !== "vmcore" || this.x(to) > this.width - 9) return [bar];
      const x = this.x(to), top = y - 10;
      return [bar, make("path", { class: "dump", d: `M${x} ${top}l6 6-6 6-6-6z` }, make("title", {}, `${path}: the moment of the dump`))];
    });
  }

  bins() {
    const bins = new Map();
    this.plot.at.forEach((at, index) => {
      if (!this.covers(index)) return;
      const place = `${Math.floor((this.x(at) - this.left) / BIN)} ${this.plot.lane[index]}`;
      const bin = bins.get(place) ?? { many: 0, hot: 0 };
      bin.many += 1;
      bin.hot |= this.plot.hot[index];
      bins.set(place, bin);
    });
    const drawn = [...bins].map(([place, bin]) => {
      const [step, lane] = place.split(" ").map(Number);
      const height = Math.min(this.lane - 8, (this.lane - 8) / 4 * (1 + Math.log2(bin.many)));
      const kind = bin.hot ? "hot" : "event";
      return make("rect", { class: kind, x: this.left + step * BIN, y: AXIS + (lane + 1) * this.lane - 5 - height, width: BIN - .5, height }, make("title", {}, `${bin.many} events`));
    });
    return drawn.sort((a, b) => a.classList.contains("hot") - b.classList.contains("hot"));
  }

  listen() {
    let start = null, box = null;
    const place = (event) => Math.min(this.width - 10, Math.max(this.left, event.clientX - this.svg.getBoundingClientRect().left));
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      start = place(event);
      box = make("rect", { class: "chosen", x: start, y: AXIS, width: 0, height: this.plot.hosts.length * this.lane });
      this.svg.append(box);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (start === null) return;
      box.setAttribute("x", Math.min(start, place(event)));
      box.setAttribute("width", Math.abs(place(event) - start));
    });
    const stop = (event) => {
      if (start === null) return;
      const [from, to] = [start, place(event)].sort((a, b) => a - b);
      start = null;
      box.remove();
      if (event.type === "pointerup" && to - from > 5) this.show(this.at(from), this.at(to));
    };
    this.svg.addEventListener("pointerup", stop);
    this.svg.addEventListener("pointercancel", stop);
    this.svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.3 : 1 / 1.3, this.at(place(event)));
    }, { passive: false });
  }
}

function startTimeline() {
  const place = document.getElementById("plots");
  if (!place) return;
  const plotOf = new Map(); // row of the table -> [its plot, its place there]
  let table = null;
  const plots = data.plots.filter((plot) => plot.at.length).slice(0, 12).map((plot) => {
    const drawn = new Plot(plot, place, () => table.update());
    plot.rows.forEach((row, index) => plotOf.set(row, [drawn, index]));
    return drawn;
  });
  const within = (row) => {
    const [plot, index] = plotOf.get(row) ?? [];
    return plot ? plot.covers(index) : plots.every((other) => other.whole());
  };
  place.append(make("p", { class: "note" },
    make("span", { class: "key event" }), "event  ", make("span", { class: "key hot" }), "event of a finding  ",
    make("span", { class: "key dump" }), "memory dump  ", make("span", { class: "key covers" }), "time that an input covers. Drag over a stretch to zoom in, or Ctrl and the wheel; the table follows."));
  table = new Table(data.events, document.getElementById("events"), "Events", within);
}

// ---- start -------------------------------------------------------------------------------------

startTheme();
startCopy();
startTables();
startTimeline();
if (location.hash) reveal(location.hash.slice(1));
addEventListener("hashchange", () => reveal(location.hash.slice(1)));
addEventListener("beforeprint", () => {
  for (const node of document.querySelectorAll("details.finding, details.member, details.trace")) node.open = true;
});
