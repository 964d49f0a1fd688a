// A table whose rows can be selected and opened by keys. Text is only ever assigned to `textContent`.

function cell(tag, runs, column, share) {
  const node = document.createElement(tag);
  if (column.align) node.style.textAlign = column.align;
  if (column.mono) node.classList.add("mono");
  if (column.room) node.classList.add(column.room);
  if (column.elastic) node.classList.add("elastic");
  if (column.broad) node.classList.add("broad");
  if (typeof share === "number") node.append(bar(share));
  for (const [style, words] of runs) {
    const run = document.createElement("span");
    if (style) run.className = style;
    run.textContent = words;
    node.append(run);
  }
  node.title = node.textContent.length > 24 ? node.textContent : "";
  node.dataset.column = column.title;
  return node;
}

function bar(share) {
  const node = document.createElement("span");
  node.className = "bar";
  const filled = document.createElement("span");
  filled.style.width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
  node.append(filled);
  return node;
}

class Listing {
  constructor(root) {
    this.root = root;
    this.body = root.querySelector("tbody");
    this.body.onkeydown = (event) => this.key(event);
    this.fromPage = (event) => event.target === document.body && this.data?.focus && this.root.isConnected && this.key(event);
    document.addEventListener("keydown", this.fromPage);
  }

  update(data, emit) {
    this.emit = emit;
    delete document.documentElement.dataset.details; // the server has answered
    this.body.setAttribute("aria-label", `${data.label}; j and k move, enter opens`);
    this.root.classList.toggle("stacked", Boolean(data.stacked));
    const isFirst = this.data === undefined;
    const ours = this.reported === undefined && !this.soon ? undefined : this.data?.rows[this.index]?.key;
    if (data.selected === this.reported) this.reported = undefined;
    const before = this.body.children[this.index];
    const height = before ? before.offsetTop - this.root.scrollTop : 0;
    this.data = data;
    this.root.style.maxHeight = `${Number(data.most)}rem`;
    const head = this.root.querySelector("thead tr");
    head.replaceChildren(...data.columns.map((column) => this.heading(column)));
    this.fill();
    const kept = ours === undefined ? -1 : data.rows.findIndex((row) => row.key === ours);
    this.light(kept >= 0 ? kept : data.rows.findIndex((row) => row.key === data.selected));
    const here = this.body.children[this.index];
    if (data.selected !== this.lit && ours === undefined) this.show();
    else if (here) this.root.scrollTop = here.offsetTop - height; // new rows above it do not move it
    this.lit = data.selected;
    if (isFirst && data.focus && document.activeElement === document.body) this.body.focus({ preventScroll: true });
  }

  // The title of a column; a button if the rows can be sorted by the column.
  heading(column) {
    const isOrder = column.order && column.order === this.data.order;
    const node = cell("th", column.order ? [] : [["", column.title]], column);
    node.setAttribute("scope", "col");
    node.title = column.hint || "";
    if (!column.order) return node;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${column.title}${isOrder ? (this.data.ascending ? " ▴" : " ▾") : ""}`;
    button.title = [`Sort by ${column.title}`, column.hint].filter(Boolean).join(". ");
    button.onclick = () => this.emit("order", column.order);
    if (isOrder) node.setAttribute("aria-sort", this.data.ascending ? "ascending" : "descending");
    node.append(button);
    return node;
  }

  // Unchanged rows keep their elements, so that a click on one is not lost when the list is read again.
  fill() {
    const existing = new Map([...this.body.children].map((node) => [node.signature, node]));
    const columns = JSON.stringify(this.data.columns);
    const rows = this.data.rows.map((row) => {
      const signature = columns + JSON.stringify(row);
      const node = existing.get(signature) || this.row(row);
      node.signature = signature;
      return node;
    });
    const kept = new Set(rows);
    for (const node of [...this.body.children]) if (!kept.has(node)) node.remove();
    rows.forEach((row, index) => {
      if (this.body.children[index] !== row) this.body.insertBefore(row, this.body.children[index] || null);
    });
  }

  // Scroll the table alone, never the page.
  show() {
    const row = this.body.children[this.index];
    if (!row) return;
    const head = this.root.querySelector("thead").offsetHeight;
    const above = row.offsetTop - head - this.root.scrollTop;
    const below = row.offsetTop + row.offsetHeight - this.root.clientHeight - this.root.scrollTop;
    if (above < 0) this.root.scrollTop += above;
    else if (below > 0) this.root.scrollTop += below;
  }

  // Until the server confirms this row, the user's own selection counts: responses to earlier moves arrive late.
  pick(index) {
    if (this.data.details) document.documentElement.dataset.details = "open"; // see `table_and_details`
    clearTimeout(this.soon);
    this.soon = undefined;
    this.reported = this.data.rows[index].key;
    this.emit("picked", this.reported);
  }

  row(row) {
    const node = document.createElement("tr");
    node.append(...row.cells.map((content, number) => this.linked(row, this.cell(content, this.data.columns[number]), this.data.columns[number])));
    const isElsewhere = (event) => row.address && (event.button === 1 || event.ctrlKey || event.metaKey);
    node.onauxclick = (event) => {
      if (isElsewhere(event) && !event.target.closest("a")) window.open(row.address, "_blank", "noopener");
    };
    node.onclick = (event) => {
      if (isElsewhere(event) || (event.shiftKey && event.target.closest("a"))) {
        node.onauxclick(event);
        return; // the browser opens the link
      }
      event.preventDefault();
      this.body.focus({ preventScroll: true });
      const index = [...this.body.children].indexOf(node);
      this.light(index);
      if (this.data.eager) this.emit("opened", row.key);
      else this.pick(index);
    };
    node.ondblclick = () => this.emit("opened", row.key);
    return node;
  }

  // In a column of links, the text of a cell links to the address of its row; a plain click still selects the row.
  linked(row, node, column) {
    if (!column.link || !row.address) return node;
    const link = document.createElement("a");
    link.href = row.address;
    link.tabIndex = -1; // Enter opens the selected row
    link.append(...node.childNodes);
    node.append(link);
    return node;
  }

  // A cell that opens something other than its row is a button.
  cell(content, column) {
    if (typeof content.term === "string") return this.filterCell(content, column);
    if (typeof content.opens !== "string") {
      const node = cell("td", content.runs, column, content.share);
      if (content.hint) node.title = content.hint;
      return node;
    }
    const node = cell("td", [], column, content.share);
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell("span", content.runs, column).childNodes);
    button.onclick = (event) => {
      event.stopPropagation();
      this.emit("opened", content.opens);
    };
    button.onkeydown = (event) => event.stopPropagation();
    button.ondblclick = (event) => event.stopPropagation();
    node.append(button);
    return node;
  }

  // A cell whose value can be a filter has a small funnel at its end, visible while the row is hovered or selected.
  filterCell(content, column) {
    const node = cell("td", content.runs, column);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "funnel";
    button.tabIndex = -1;
    button.title = content.title;
    button.setAttribute("aria-label", button.title);
    button.onclick = (event) => {
      event.stopPropagation();
      this.emit("filtered", content.term);
    };
    button.ondblclick = (event) => event.stopPropagation();
    node.append(button);
    return node;
  }

  light(index) {
    const rows = [...this.body.children];
    for (const row of this.body.querySelectorAll(".selected")) {
      row.classList.remove("selected");
      row.removeAttribute("aria-current");
    }
    this.index = index;
    if (!rows[index]) return;
    rows[index].classList.add("selected");
    rows[index].setAttribute("aria-current", "true");
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.data.rows.length - 1;
    const here = this.index === undefined || this.index < 0 ? -1 : this.index;
    const to = { j: here + 1, ArrowDown: here + 1, k: here - 1, ArrowUp: here - 1, g: 0, G: last, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && here >= 0) {
      clearTimeout(this.soon);
      this.soon = undefined;
      this.emit("opened", this.data.rows[here].key);
    } else if (to !== undefined && last >= 0) {
      this.light(Math.min(Math.max(to, 0), last));
      this.show();
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.pick(this.index), 250);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

const shown = new WeakMap();

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".listing");
  if (!shown.has(root)) shown.set(root, new Listing(root));
  shown.get(root).update(data, setTriggerValue);
  return () => {
    if (!root.isConnected) document.removeEventListener("keydown", shown.get(root).fromPage);
  };
}
