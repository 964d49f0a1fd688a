// The menu of pages, and the command palette: Ctrl-K or `?` opens it, with a list of keys; `/` focuses the page's filter
// if there is one. The menu is names or icons, as this browser's cookie says, else as the window's width has room for; on
// a narrow screen a button opens it.

const MAX_QUERY_CHARS = 500;
const [NAMES, ICONS] = ["names", "icons"];
const MENU_COOKIE = "weaklink_menu";
const DRAWING = "http://www.w3.org/2000/svg";
const PAGE_ICONS = {
  triage: "M10 4a6 6 0 1 0 0 12a6 6 0 0 0 0-12M15 15l5 5M10 7v3.5M10 13v.1",
  traces: "M8 6h12M8 12h12M8 18h12M4 6h.1M4 12h.1M4 18h.1",
  compare: "M4 8h16l-4-4M20 16H4l4 4",
  tools: "M14 4a5 5 0 0 0-5 6L4 15a3 3 0 0 0 5 5l5-5a5 5 0 0 0 6-5l-3 2-3-3z",
  rules: "M4 7l2 2 3-4M12 7h8M4 16l2 2 3-4M12 16h8",
  endpoints: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.1M8 17h.1",
  imports: "M12 15V4M8 8l4-4 4 4M4 15v5h16v-5",
  data: "M4 4h16v16H4zM4 10h16M10 4v16",
  sql: "M4 6c0-3 16-3 16 0v12c0 3-16 3-16 0zM4 6c0 3 16 3 16 0M4 12c0 3 16 3 16 0",
  settings: "M4 7h10M18 7h2M16 5v4M4 17h2M10 17h10M8 15v4",
};

class Header {
  constructor(root) {
    this.root = root;
    const find = (name) => root.querySelector(name);
    [this.dialog, this.input, this.choices] = ["dialog", ".query", ".choices"].map(find);
    [this.opener, this.pages, this.names] = [".opener", ".pages", ".names"].map(find);
    find(".open").onclick = () => this.open();
    this.opener.onclick = () => this.openMenu(!root.classList.contains("opened"));
    this.names.onclick = () => this.chooseMenu();
    this.pages.onclick = (event) => this.follow(event);
    this.showMenu(document.documentElement.dataset.menu || (window.innerWidth < 1600 ? ICONS : NAMES));
    this.input.oninput = () => this.fill();
    this.dialog.onkeydown = (event) => this.key(event);
    this.fromPage = (event) => this.onPageKey(event);
    window.addEventListener("keydown", this.fromPage);
    this.beside = (event) => event.composedPath().includes(root) || this.openMenu(false);
    window.addEventListener("click", this.beside);
  }

  update(data) {
    this.data = data;
    const database = this.root.querySelector(".database");
    database.textContent = database.title = data.database;
    this.root.querySelector(".open").hidden = !data.searches;
    this.showPages(data);
    const keys = this.root.querySelector(".keys");
    keys.replaceChildren(...data.keys.flatMap(([key, meaning]) => [newElement("dt", key, "kbd"), newElement("dd", meaning)]));
  }

  showPages({ pages, page, filter }) {
    if (!this.links) {
      this.links = new Map(pages.map(([path, title]) => [path, linkTo(path, title)]));
      for (const [index, [path, , section]] of pages.entries()) {
        if (section !== (pages[index - 1]?.[2] ?? "")) this.pages.append(newElement("li", section));
        const item = document.createElement("li");
        item.append(this.links.get(path));
        this.pages.append(item);
      }
    }
    for (const [path, link] of this.links) {
      link.href = addressOf(path === pages[0][0] ? "" : path, { filter });
      if (path === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  // A plain click changes the page without loading it anew; any other is the browser's, such as one for a new tab.
  follow(event) {
    const link = event.target.closest("a");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    this.goTo(link.href);
  }

  // Open an address of the dashboard as the browser's Back and Forward do.
  goTo(address) {
    this.openMenu(false);
    window.history.pushState(null, "", address);
    window.dispatchEvent(new PopStateEvent("popstate"));
  }

  chooseMenu() {
    const menu = this.root.classList.contains(ICONS) ? NAMES : ICONS;
    document.cookie = `${MENU_COOKIE}=${menu}; path=/; max-age=31536000; samesite=strict`;
    this.showMenu(menu);
  }

  showMenu(menu) {
    const hasNames = menu === NAMES;
    this.root.classList.toggle(ICONS, !hasNames);
    this.names.setAttribute("aria-pressed", hasNames);
    this.names.title = hasNames ? "Collapse the menu to icons" : "Show the names of the menu";
    document.documentElement.dataset.menu = menu;
  }

  openMenu(isOpen) {
    this.root.classList.toggle("opened", isOpen);
    this.opener.setAttribute("aria-expanded", isOpen);
  }

  open() {
    if (this.dialog.open || !this.data.searches) return;
    this.input.value = "";
    this.fill();
    this.dialog.showModal();
    this.input.focus();
  }

  fill() {
    const words = this.input.value.trim().slice(0, MAX_QUERY_CHARS);
    const { pages, filter } = this.data;
    const titled = pages.filter(([, title]) => title.toLowerCase().includes(words.toLowerCase()));
    const rows = titled.map(([path, title]) => [`Go to ${title}`, addressOf(path === pages[0][0] ? "" : path, { filter })]);
    if (/^\d{1,15}$/.test(words)) rows.unshift([`Open trace ${words}`, addressOf("trace", { trace: words, filter })]);
    const phrase = `"${words.replace(/[\\"]/g, "\\$&")}"`;
    if (words) rows.push([`Search traces for ${words}`, addressOf("traces", { filter: phrase })]);
    if (words) rows.push([`Filter traces by ${words}`, addressOf("traces", { filter: words })]);
    this.choices.replaceChildren(...rows.map((row) => this.choice(...row)));
    this.light(0);
  }

  choice(title, address) {
    const button = newElement("button", title);
    button.type = "button";
    button.onclick = () => {
      this.dialog.close();
      this.goTo(address);
    };
    return button;
  }

  light(index) {
    const { children } = this.choices;
    this.index = Math.min(Math.max(index, 0), children.length - 1);
    [...children].forEach((choice, number) => {
      choice.classList.toggle("selected", number === this.index);
      if (number === this.index) choice.setAttribute("aria-current", "true");
      else choice.removeAttribute("aria-current");
    });
    if (children[this.index]) children[this.index].scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    event.stopPropagation();
    if (by) this.light(this.index + by);
    else if (event.key === "Enter" && event.target === this.input) this.choices.children[this.index]?.click();
    else return;
    event.preventDefault();
  }

  onPageKey(event) {
    const within = event.composedPath()[0];
    const isTyping = within.matches?.("input, textarea, select, [contenteditable]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") this.open();
    else if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "Escape") return void this.openMenu(false);
    else if (event.key === "?") this.open();
    else if (event.key === "/") (document.querySelector('input[aria-label="Filter"]') || { focus: () => this.open() }).focus();
    else return;
    event.preventDefault();
  }

  close() {
    window.removeEventListener("keydown", this.fromPage);
    window.removeEventListener("click", this.beside);
  }
}

function addressOf(path, query) {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `/${path}${words.size ? "?" : ""}${words}`;
}

function linkTo(path, title) {
  const link = document.createElement("a");
  const icon = document.createElementNS(DRAWING, "svg");
  icon.setAttribute("viewBox", "0 0 24 24");
  icon.setAttribute("aria-hidden", "true");
  icon.append(document.createElementNS(DRAWING, "path"));
  icon.firstChild.setAttribute("d", PAGE_ICONS[path]);
  link.append(icon, newElement("span", title));
  return link;
}

function newElement(tag, text, inner) {
  const element = document.createElement(tag);
  if (inner) {
    const within = document.createElement(inner);
    within.textContent = text;
    element.append(within);
  } else element.textContent = text;
  return element;
}

// One action of the user adds one entry to the browser's history. Streamlit adds two if a page is left with parameters:
// one with the new parameters on the old path, then one with the new path. An entry without another action replaces the
// entry before it.
function keepHistory() {
  if (window.weaklinkHistory) return;
  window.weaklinkHistory = true;
  let hasActed = false;
  const act = () => (hasActed = true);
  for (const kind of ["pointerdown", "keydown", "click", "drop"]) window.addEventListener(kind, act, { capture: true });
  const push = window.history.pushState;
  window.history.pushState = (...entry) => {
    if (hasActed) push.apply(window.history, entry);
    else window.history.replaceState(...entry);
    hasActed = false;
  };
}

// What is beside a table gets or loses its room at the click, not when the server has answered.
function giveRoom() {
  if (window.weaklinkRoom) return;
  window.weaklinkRoom = true;
  const page = document.documentElement;
  let late;
  const room = ({ target }) => {
    const name = target.closest?.('[class*="s_details"]')?.className || "";
    const way = /_(show|hide|toggle)s_details/.exec(name)?.[1];
    if (!way) return;
    const isOpen = document.querySelector('[class*="weaklink_details_open_"]');
    page.dataset.details = way === "show" || (way === "toggle" && !isOpen) ? "open" : "shut";
    clearTimeout(late);
    late = setTimeout(() => delete page.dataset.details, 10_000); // a server that never answers takes nothing for good
  };
  window.addEventListener("click", room, true);
}

const shown = new WeakMap();

export default function (component) {
  const { parentElement, data } = component;
  const root = parentElement.querySelector(".header");
  keepHistory();
  giveRoom();
  if (!shown.has(root)) shown.set(root, new Header(root));
  shown.get(root).update(data);
  return () => {
    if (!root.isConnected) shown.get(root).close();
  };
}
