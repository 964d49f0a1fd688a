// The border between the panes: dragged, or moved by the arrow keys. The width of the left pane is in the address, so
// that a link shows the same, and the browser remembers it for the next trace; a double click restores the default.

const LEFT_PX = "weaklink-left-px";
const MIN_PX = 128;
const STEP_PX = 16;

class Divider {
  constructor(root, node) {
    this.root = root;
    this.node = node;
    node.onpointerdown = (event) => this.drag(event);
    node.onkeydown = (event) => {
      const by = { ArrowLeft: -STEP_PX, ArrowRight: STEP_PX }[event.key];
      if (!by) return;
      this.resize(this.width() + by);
      this.keep();
      event.preventDefault();
      event.stopPropagation();
    };
    node.ondblclick = () => {
      root.style.removeProperty("--left");
      this.store(null);
    };
    const stated = new URLSearchParams(window.location.search).get("left") || stored();
    if (/^\d{2,4}$/.test(stated || "")) this.resize(Number(stated));
  }

  width() {
    return this.root.querySelector(".leftbox").getBoundingClientRect().width;
  }

  drag(event) {
    this.node.setPointerCapture(event.pointerId);
    const { left } = this.root.getBoundingClientRect();
    this.node.onpointermove = (moved) => this.resize(moved.clientX - left);
    this.node.onpointerup = () => {
      this.node.onpointermove = this.node.onpointerup = null;
      this.keep();
    };
    event.preventDefault();
  }

  // The stream keeps at least two fifths of the width.
  resize(px) {
    const most = this.root.clientWidth ? this.root.clientWidth * 0.6 : Infinity;
    const width = Math.round(Math.max(Math.min(px, most), MIN_PX));
    this.root.style.setProperty("--left", `${width}px`);
    this.node.setAttribute("aria-valuenow", String(width));
  }

  keep() {
    this.store(Math.round(this.width()));
  }

  store(width) {
    keepInAddress({ left: width });
    try {
      if (width === null) localStorage.removeItem(LEFT_PX);
      else localStorage.setItem(LEFT_PX, String(width));
    } catch {
      return; // a browser without storage forgets it
    }
  }
}

function stored() {
  try {
    return localStorage.getItem(LEFT_PX);
  } catch {
    return null;
  }
}
