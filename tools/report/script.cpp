// What the page does beyond showing: sorting, searching, rows on demand, neighbours in graphs.
//
// A long table's later rows stand in <noscript>, which a browser with scripts takes for text: they
// become elements when they are scrolled to, sorted or searched, and without scripts they are
// simply there.
#include "tools/report/style.h"

namespace tilewright::report {

std::string_view script() {
  return R"js(
(() => {
  const step = 100; // rows that are added at once
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const parsed = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };

  // A table's records: rows of its only body, or a body each where a record has details.
  class Records {
    constructor(table) {
      this.table = table;
      this.hasBodies = table.classList.contains("kernels");
      this.place = this.hasBodies ? table : table.tBodies[0];
      this.all = [...(this.hasBodies ? table.tBodies : this.place.rows)];
      this.later = [...document.querySelectorAll(`noscript[data-rows="${table.id}"]`)];
      this.order = this.all.slice();
      this.shown = this.all.length;
      this.texts = new Map();
      this.sorting = null;
      this.wanted = null;
      this.end = make("div", {class: "end", "aria-hidden": "true"});
      (table.closest(".scroll") ?? table).after(this.end);
      if (this.later.length)
        new IntersectionObserver((entries) => {
          if (entries.some((entry) => entry.isIntersecting)) this.showMore();
        }, {rootMargin: "600px"}).observe(this.end);
      this.addDetailsButton();
    }
    takeLater() {
      const rows = [...parsed(this.later.shift().textContent).querySelectorAll("table.kernels > tbody")];
      this.all.push(...rows);
      return rows;
    }
    takeAll() { while (this.later.length) this.order.push(...this.takeLater()); }
    showMore() {
      if (this.shown >= this.order.length && this.later.length)
        this.order.push(...this.takeLater());
      const next = this.order.slice(this.shown, this.shown + step);
      this.place.append(...next);
      this.shown += next.length;
      // An observer reports changes alone: it is asked again while the end stays in sight.
      if (next.length && this.end.getBoundingClientRect().top < innerHeight + 600)
        requestAnimationFrame(() => this.showMore());
    }
    row(record) { return this.hasBodies ? record.rows[0] : record; }
    // Its row, and of its details what people look for: ops, layer, source.
    text(record) {
      if (!this.texts.has(record)) {
        const parts = [this.row(record).textContent];
        for (const element of record.querySelectorAll(".find, summary")) parts.push(element.textContent);
        this.texts.set(record, parts.join(" ").toLowerCase());
      }
      return this.texts.get(record);
    }
    arrange() {
      if (this.sorting || this.wanted) this.takeAll();
      this.order = this.wanted ? this.all.filter(this.wanted) : this.all.slice();
      if (this.sorting) {
        const {column, sign} = this.sorting;
        const keys = new Map(this.order.map((record) => [record, key(this.row(record).cells[column])]));
        this.order.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
      }
      this.shown = Math.min(this.order.length, step);
      const kept = new Set(this.order.slice(0, this.shown));
      for (const record of [...(this.hasBodies ? this.table.tBodies : this.place.rows)])
        if (!kept.has(record)) record.remove();
      this.place.append(...this.order.slice(0, this.shown));
    }
    // Makes a record visible wherever it is; false if it is another table's.
    reveal(id) {
      this.takeAll();
      const record = this.all.find((one) => one.id === id);
      if (!record) return false;
      while (!record.isConnected && this.shown < this.order.length) this.showMore();
      return record.isConnected;
    }
    addDetailsButton() {
      if (this.table.querySelectorAll("details").length < 2) return;
      const all = make("button", {class: "tools", type: "button"}, "Open all details");
      let open = false;
      all.addEventListener("click", () => {
        open = !open;
        for (const details of this.table.querySelectorAll("details")) details.open = open;
        all.textContent = open ? "Close all details" : "Open all details";
      });
      this.table.parentElement.before(all);
    }
  }

  const key = (cell) => {
    const text = cell.dataset.v ?? cell.textContent;
    const number = Number(text);
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b);
  };
  const tables = [];
  for (const table of document.querySelectorAll("table.sortable")) {
    const records = new Records(table);
    tables.push(records);
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.hasAttribute("data-sort")) return;
      const button = make("button", {type: "button"}, ...head.childNodes);
      head.append(button);
      head.addEventListener("click", () => {
        const first = head.dataset.sort === "down" ? "descending" : "ascending";
        const other = first === "descending" ? "ascending" : "descending";
        const order = head.getAttribute("aria-sort") === first ? other : first;
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        records.sorting = {column, sign: order === "ascending" ? 1 : -1};
        records.arrange();
      });
    });
  }

  // Search: kernels that have all words, in whatever place; models without any are put away.
  const kernels = tables.filter((records) => records.hasBodies);
  const bar = document.querySelector("div.finder");
  if (bar && kernels.length) {
    const box = make("input", {type: "search", id: "find", placeholder: "name, layer, op, shape, source …",
                               "aria-describedby": "found", autocomplete: "off", spellcheck: "false"});
    const limit = make("select", {"aria-label": "Limited by"}, make("option", {value: ""}, "limited by anything"));
    const names = new Set();
    for (const {table, later} of kernels) {
      for (const cell of table.querySelectorAll("td.limiter")) names.add(cell.dataset.v);
      for (const rows of later)
        for (const found of rows.textContent.matchAll(/class="limiter" data-v="([^"&]*)"/g)) names.add(found[1]);
    }
    for (const name of [...names].filter(Boolean).sort()) limit.append(make("option", {value: name}, "limited by " + name));
    const clear = make("button", {type: "button", class: "tools", hidden: ""}, "Clear");
    const found = make("span", {id: "found", role: "status"});
    bar.append(make("label", {for: "find"}, "Find kernels"), box, limit, clear, found);
    const search = () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      const limiter = limit.value;
      const isOn = words.length > 0 || limiter !== "";
      document.body.classList.toggle("searching", isOn);
      clear.hidden = !isOn;
      let count = 0, of = 0, models = 0;
      for (const records of kernels) {
        const section = records.table.closest("section");
        const title = (section.dataset.title ?? "").toLowerCase() + " ";
        const was = records.wanted;
        records.wanted = !isOn ? null : (record) => {
          if (limiter && records.row(record).querySelector("td.limiter").dataset.v !== limiter) return false;
          const text = title + records.text(record);
          return words.every((word) => text.includes(word));
        };
        if (was || isOn) records.arrange();
        section.hidden = isOn && !records.order.length;
        count += records.order.length;
        of += records.all.length;
        models += records.order.length > 0;
      }
      found.textContent = !isOn ? "" :
        `${count} of ${of} kernels` + (kernels.length > 1 ? ` in ${models} of ${kernels.length} models` : "");
    };
    let timer = 0;
    box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 60); });
    limit.addEventListener("change", search);
    const reset = () => { box.value = ""; limit.value = ""; search(); };
    clear.addEventListener("click", () => { reset(); box.focus(); });
    box.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.altKey && !event.ctrlKey && !event.metaKey && !event.target.closest("input,select")) {
        event.preventDefault();
        box.focus();
      }
    });
    for (const cell of document.querySelectorAll("[data-find]"))
      cell.replaceChildren(make("button", {type: "button", class: "pick", title: "Show its kernels"}, ...cell.childNodes));
    document.addEventListener("click", (event) => {
      const layer = event.target.closest("[data-find]");
      if (!layer) return;
      box.value = layer.dataset.find;
      limit.value = "";
      search();
      scrollTo(0, 0);
    });
    bar.hidden = false;
    bar.reset = reset;
  }

  // Links to what is not shown, or folded.
  const go = (id) => {
    if (!document.getElementById(id)) {
      if (document.body.classList.contains("searching")) bar.reset();
      if (!tables.some((records) => records.reveal(id))) return;
    }
    const target = document.getElementById(id);
    if (document.body.classList.contains("searching") && !target.matches("tbody")) bar.reset();
    for (let outer = target; outer; outer = outer.parentElement)
      if (outer.tagName === "DETAILS") outer.open = true;
    const details = target.matches("tbody") ? target.querySelector("details") : null;
    if (details) details.open = true;
    target.scrollIntoView({block: target.matches("tbody") ? "center" : "start"});
    target.classList.remove("told");
    void target.getBoundingClientRect();
    target.classList.add("told");
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const to = link?.getAttribute("href");
    if (!to?.startsWith("#")) return;
    event.preventDefault();
    try { history.pushState(null, "", to); } catch {}
    go(to.slice(1));
  });
  addEventListener("popstate", () => { if (location.hash) go(location.hash.slice(1)); });
  if (location.hash) go(location.hash.slice(1));

  // On a narrow screen a roofline begins where its roof is.
  if (matchMedia("(max-width:700px)").matches)
    for (const chart of document.querySelectorAll("svg.chart")) {
      const scroll = chart.closest(".scroll");
      if (scroll) scroll.scrollLeft = scroll.scrollWidth;
    }

  // A graph's node with what it reads and what reads it.
  const light = (node) => {
    for (const old of document.querySelectorAll("svg.graph.lit")) {
      old.classList.remove("lit");
      for (const on of old.querySelectorAll(".on")) on.classList.remove("on");
    }
    if (!node) return;
    const svg = node.closest("svg"), own = node.dataset.n, near = new Set([own]);
    svg.classList.add("lit");
    for (const edge of svg.querySelectorAll("[data-e]")) {
      const ends = edge.dataset.e.split(" ");
      if (!ends.includes(own)) continue;
      edge.classList.add("on");
      for (const end of ends) near.add(end);
    }
    for (const other of svg.querySelectorAll("[data-n]")) if (near.has(other.dataset.n)) other.classList.add("on");
  };
  for (const type of ["pointerover", "focusin"])
    document.addEventListener(type, (event) => light(event.target.closest?.("svg.graph [data-n]")));
  addEventListener("beforeprint", () => { for (const records of tables) { records.takeAll(); records.shown = 0; records.place.append(...records.order); records.shown = records.order.length; } });
})();
)js";
}

} // namespace tilewright::report
