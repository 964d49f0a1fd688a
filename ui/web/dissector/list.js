// A virtual list: it draws only the visible rows, however many there are.

const MOST_PIXELS = 8000000; // browsers cap how high an element can be; beyond, scrolling skips rows

class VirtualList {
  constructor(box, role, height, draw, drawn) {
    this.role = role; // the ARIA role of its rows
    this.box = box;
    this.height = height;
    this.draw = draw;
    this.drawn = drawn || (() => {});
    this.rows = [];
    this.sizer = document.createElement("div");
    this.sizer.className = "sizer";
    this.window = document.createElement("div");
    this.window.className = "window";
    this.sizer.appendChild(this.window);
    box.replaceChildren(this.sizer);
    box.addEventListener("scroll", () => this.paint(false), { passive: true });
  }

  // Whether the last row is visible, so that the list is at its end.
  isAtEnd() {
    return this.rows.length > 0 && this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 2;
  }

  // Replace the rows without scrolling; with `follows`, a growing list that is at its end stays at its end.
  show(rows, follows) {
    const isAtEnd = follows && this.isAtEnd();
    this.rows = rows;
    this.follows = Boolean(follows);
    this.scale = Math.max((rows.length * this.height) / MOST_PIXELS, 1);
    this.sizer.style.height = `${(rows.length * this.height) / this.scale}px`;
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
    this.paint(true);
  }

  // Draw the visible rows again only if they may have changed: text that the user marked in them stays marked.
  paint(isChanged) {
    const seen = Math.ceil(this.box.clientHeight / this.height) + 2;
    const first = Math.max(0, Math.min(Math.floor((this.box.scrollTop * this.scale) / this.height), this.rows.length - seen + 2));
    const exact = this.scale === 1 ? first * this.height : this.box.scrollTop;
    this.window.style.transform = `translateY(${exact}px)`;
    if (!isChanged && first === this.first && seen === this.seen) return;
    const drawn = [];
    for (let index = first; index < Math.min(first + seen, this.rows.length); index += 1) {
      const element = this.draw(this.rows[index], index);
      element.classList.add("row");
      element.setAttribute("role", this.role);
      element.setAttribute("aria-posinset", String(index + 1));
      element.setAttribute("aria-setsize", String(this.follows ? -1 : this.rows.length)); // -1: more may come
      drawn.push(element);
    }
    renew(this.window, drawn);
    this.first = first;
    this.seen = seen;
    this.drawn([...this.window.children]);
  }

  // The first visible row, and how many of its pixels are hidden.
  top() {
    const pixels = this.box.scrollTop * (this.scale || 1);
    return { index: Math.floor(pixels / this.height), hidden: pixels % this.height };
  }

  // Scroll so that a row is the first visible one, with `hidden` of its pixels hidden.
  scrollTo(index, hidden = 0) {
    this.box.scrollTop = (index * this.height + hidden) / this.scale;
    this.paint(false);
  }

  // Scroll a row into view; if it was not visible, to a third of the height.
  reveal(index) {
    const top = (index * this.height) / this.scale;
    const isSeen = top >= this.box.scrollTop && top + this.height <= this.box.scrollTop + this.box.clientHeight;
    if (!isSeen) this.box.scrollTop = Math.max(0, top - this.box.clientHeight / 3);
    this.paint(true);
  }

  // Scroll just enough to show a row, for a cursor that moves by keys.
  nudge(index) {
    const top = (index * this.height) / this.scale;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.box.scrollTop = top + this.height - clientHeight;
    this.paint(true);
  }
}
