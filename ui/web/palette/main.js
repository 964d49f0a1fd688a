// The command palette: Ctrl-K or `?` opens it, with a list of keys; `/` focuses the page's filter if there is one.
// Beside it: the button that makes the menu names or icons, which this browser remembers.

const MOST_WORDS = 500;

class Palette {
  constructor(root) {
    this.root = root;
    this.dialog = root.querySelector("dialog");
    this.input = root.querySelector(".query");
    this.choices = root.querySelector(".choices");
    root.querySelector(".open").onclick = () => this.open();
    this.menu = root.querySelector(".menu");
    this.menu.onclick = () => this.changeMenu();
    this.showMenu();
    this.input.oninput = () => this.fill();
    this.dialog.onkeydown = (event) => this.key(event);
    this.fromPage = (event) => this.onPageKey(event);
    window.addEventListener("keydown", this.fromPage);
    this.leaving = (event) => event.target.closest?.("[data-testid=stSidebarNavLink]") && closeMenu();
    window.addEventListener("click", this.leaving);
  }

  take(data, emit) {
    this.data = data;
    this.emit = emit;
    const database = this.root.querySelector(".database");
    database.textContent = database.title = data.database;
    this.root.querySelector(".open").hidden = !data.pages.length;
    const keys = this.root.querySelector(".keys");
    keys.replaceChildren(...data.keys.flatMap(([key, meaning]) => [newElement("dt", key, "kbd"), newElement("dd", meaning)]));
  }

  changeMenu() {
    const page = document.documentElement.dataset;
    page.menu = page.menu === "icons" ? "names" : "icons";
    this.showMenu();
    try {
      localStorage.weaklinkMenu = page.menu;
    } catch {
      // a browser that stores nothing shows the menu by the window's width again
    }
  }

  showMenu() {
    const hasNames = document.documentElement.dataset.menu !== "icons";
    this.menu.setAttribute("aria-pressed", hasNames);
    this.menu.title = hasNames ? "Collapse the menu to icons" : "Show the names of the menu";
  }

  open() {
    if (this.dialog.open || !this.data.pages.length) return;
    this.input.value = "";
    this.fill();
    this.dialog.showModal();
    this.input.focus();
  }

  fill() {
    const words = this.input.value.trim().slice(0, MOST_WORDS);
    const found = this.data.pages.filter(([, title]) => title.toLowerCase().includes(words.toLowerCase()));
    const rows = found.map(([path, title]) => [`Go to ${title}`, { page: path }]);
    if (/^\d{1,15}$/.test(words)) rows.unshift([`Open trace ${words}`, { trace: words }]);
    if (words) rows.push([`Search traces for ${words}`, { words }], [`Filter traces by ${words}`, { filter: words }]);
    this.choices.replaceChildren(...rows.map(([title, value]) => this.choice(title, value)));
    this.light(0);
  }

  choice(title, value) {
    const button = newElement("button", title);
    button.type = "button";
    button.onclick = () => {
      this.dialog.close();
      this.emit("chosen", value);
      closeMenu();
    };
    return button;
  }

  light(index) {
    const { children } = this.choices;
    this.at = Math.min(Math.max(index, 0), children.length - 1);
    [...children].forEach((one, at) => {
      one.classList.toggle("selected", at === this.at);
      if (at === this.at) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    });
    if (children[this.at]) children[this.at].scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    event.stopPropagation();
    if (by) this.light(this.at + by);
    else if (event.key === "Enter" && event.target === this.input) this.choices.children[this.at]?.click();
    else return;
    event.preventDefault();
  }

  onPageKey(event) {
    const within = event.composedPath()[0];
    const isTyping = within.matches?.("input, textarea, select, [contenteditable]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") this.open();
    else if (event.defaultPrevented || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "?") this.open();
    else if (event.key === "/") (document.querySelector('input[aria-label="Filter"]') || { focus: () => this.open() }).focus();
    else return;
    event.preventDefault();
  }

  close() {
    window.removeEventListener("keydown", this.fromPage);
    window.removeEventListener("click", this.leaving);
  }
}

// On narrow screens the menu covers the page: close it when a page was chosen.
function closeMenu() {
  if (!window.matchMedia("(max-width: 768px)").matches) return;
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
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

const shown = new WeakMap();

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const root = parentElement.querySelector(".palette");
  keepHistory();
  if (!shown.has(root)) shown.set(root, new Palette(root));
  shown.get(root).take(data, setTriggerValue);
  return () => {
    if (!root.isConnected) shown.get(root).close();
  };
}
