// Views of a trace that follow the selection in its stream. When the selection has moved, the visible views are
// requested together from the route of `trace_api.py`; other views are requested when they become visible.

// Whether an element is visible or within half a screen of the viewport, so that it is loaded when it becomes visible.
function isNear(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const room = window.innerHeight / 2;
  return element.checkVisibility() && top < window.innerHeight + room && bottom > -room;
}

class Following {
  constructor() {
    this.views = new Map();
    this.location = null;
    this.state = "";
    this.dissector = null;
    this.awaited = null;
    this.sight = new IntersectionObserver(() => this.request());
  }

  // Register a view with the data that the server drew last, for the selection in the address.
  add(root, data, update) {
    if (!data.view) return;
    const known = this.views.get(root);
    if (!known) this.sight.observe(root);
    this.views.set(root, { data, update, key: known && known.data.version === data.version ? known.key : this.key() });
  }

  key() {
    return JSON.stringify([this.location, this.state]);
  }

  // Select characters in the stream of a trace; a stream that is not drawn yet selects them when it is.
  go(trace, location) {
    this.awaited = null;
    if (this.dissector?.root.isConnected && this.dissector.data.trace === trace) this.dissector.go(location);
    else this.awaited = { trace, location };
  }

  // The location that was clicked before the stream of a trace was drawn, once.
  claim(trace) {
    const { awaited } = this;
    this.awaited = null;
    return awaited && awaited.trace === trace ? awaited.location : null; // a stream of training data has no trace
  }

  select(trace, location) {
    this.trace = trace;
    this.location = location;
    keepInAddress(location);
    this.request();
  }

  due() {
    for (const root of [...this.views.keys()]) if (!root.isConnected) this.views.delete(root);
    const key = this.key();
    const due = [...this.views].filter(([root, view]) => view.key !== key && view.data.trace === this.trace && isNear(root));
    return due.map(([, view]) => view);
  }

  async request() {
    const due = this.trace === undefined ? [] : this.due();
    if (!due.length) return;
    await this.fetch(due, {});
  }

  // Request the route and give each view its new data; return the response, or null if there is none.
  async fetch(due, further) {
    this.pending?.abort();
    this.pending = new AbortController();
    const query = new URLSearchParams({ ...(this.location || {}), ...further });
    for (const { data } of due) query.append("view", `${data.view}:${data.version}`);
    const key = this.key();
    try {
      const answer = await fetch(`/weaklink/trace/${this.trace}?${query}`, { signal: this.pending.signal });
      if (!answer.ok) return null;
      const drawn = await answer.json();
      for (const view of due) {
        view.data = { ...view.data, ...drawn.views[view.data.view] };
        view.key = key;
        view.update(view.data);
      }
      return drawn;
    } catch {
      return null; // a later request aborted this one, or the server is gone, which Streamlit shows
    }
  }
}

// Set these keys of the address without a new entry in the history; null removes a key.
function keepInAddress(values) {
  const url = new URL(window.location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  window.history.replaceState(window.history.state, "", url);
}

// Give an element new children, but keep those that are equal: a click, or text that the user marks, may begin on an
// element and end after this. So a click is handled by the parent, and the child says by attributes what it is.
function renew(parent, nodes) {
  const existing = [...parent.children];
  nodes.forEach((node, index) => {
    const old = existing[index];
    if (!old) parent.append(node);
    else if (!old.isEqualNode(node)) old.replaceWith(node);
  });
  for (const old of existing.slice(nodes.length)) old.remove();
}

function following() {
  if (!window.weaklinkFollowing) window.weaklinkFollowing = new Following();
  return window.weaklinkFollowing;
}
