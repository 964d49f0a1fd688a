// A list that draws the rows on its screen and no others, however many there are.

const MOST_PIXELS = 8000000; // browsers cap how high an element can be; beyond, scrolling skips rows

class VirtualList {
  constructor(box, role, height, draw, drawn) {
    this.role = role; // of its rows, for those who hear the page
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

  // Whether the last row is seen, so that rows below it would be awaited there.
  isAtEnd() {
    return this.rows.length > 0 && this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 2;
  }

  // Other rows, from the same place on; where they follow, who reads the end of a growing list stays at its end.
  show(rows, follows) {
    const isAtEnd = follows && this.isAtEnd();
    this.rows = rows;
    this.follows = Boolean(follows);
    this.scale = Math.max((rows.length * this.height) / MOST_PIXELS, 1);
    this.sizer.style.height = `${(rows.length * this.height) / this.scale}px`;
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
    this.paint(true);
  }

  // Rows that stand there already stay, unless they may have changed: what a reader marks in them is kept.
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
    this.place(drawn);
    this.first = first;
    this.seen = seen;
    this.drawn(drawn);
  }

  // A row that is drawn as it stood there is left there, and what the reader marked in it stays marked.
  place(drawn) {
    const standing = [...this.window.children];
    drawn.forEach((element, index) => {
      const old = standing[index];
      if (!old) this.window.appendChild(element);
      else if (!sameRow(old, element)) old.replaceWith(element);
      else drawn[index] = old;
    });
    for (const old of standing.slice(drawn.length)) old.remove();
  }

  // The first row that is seen, and how many pixels of it are not.
  top() {
    const pixels = this.box.scrollTop * (this.scale || 1);
    return { index: Math.floor(pixels / this.height), hidden: pixels % this.height };
  }

  // Scroll so that a row is the first that is seen, but for so many pixels.
  scrollTo(index, hidden = 0) {
    this.box.scrollTop = (index * this.height + hidden) / this.scale;
    this.paint(false);
  }

  // Bring a row into view, some rows below the top where it was not seen.
  reveal(index) {
    const top = (index * this.height) / this.scale;
    const isSeen = top >= this.box.scrollTop && top + this.height <= this.box.scrollTop + this.box.clientHeight;
    if (!isSeen) this.box.scrollTop = Math.max(0, top - this.box.clientHeight / 3);
    this.paint(true);
  }

  // As much as it needs to bring a row into view, for a cursor that walks.
  nudge(index) {
    const top = (index * this.height) / this.scale;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.box.scrollTop = top + this.height - clientHeight;
    this.paint(true);
  }
}

// Whether two rows show the same. What a click on one does lies in no attribute, so those that take clicks are new.
function sameRow(one, other) {
  return one.onclick === null && other.onclick === null && one.isEqualNode(other);
}
