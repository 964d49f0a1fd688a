// A list that draws the rows on its screen and no others, however many there are.

const MOST_PIXELS = 8000000; // browsers cap how high an element can be; beyond, scrolling skips rows

class VirtualList {
  constructor(box, height, draw) {
    this.box = box;
    this.height = height;
    this.draw = draw;
    this.rows = [];
    this.sizer = document.createElement("div");
    this.sizer.className = "sizer";
    this.window = document.createElement("div");
    this.window.className = "window";
    this.sizer.appendChild(this.window);
    box.replaceChildren(this.sizer);
    box.addEventListener("scroll", () => this.paint(), { passive: true });
  }

  show(rows) {
    this.rows = rows;
    this.scale = Math.max((rows.length * this.height) / MOST_PIXELS, 1);
    this.sizer.style.height = `${(rows.length * this.height) / this.scale}px`;
    this.paint();
  }

  paint() {
    const seen = Math.ceil(this.box.clientHeight / this.height) + 2;
    const first = Math.max(0, Math.min(Math.floor((this.box.scrollTop * this.scale) / this.height), this.rows.length - seen + 2));
    const drawn = [];
    for (let index = first; index < Math.min(first + seen, this.rows.length); index += 1) {
      const element = this.draw(this.rows[index], index);
      element.classList.add("row");
      drawn.push(element);
    }
    const exact = this.scale === 1 ? first * this.height : this.box.scrollTop;
    this.window.style.transform = `translateY(${exact}px)`;
    this.window.replaceChildren(...drawn);
    this.first = first;
  }

  // Bring a row into view, some rows below the top where it was not seen.
  reveal(index) {
    const top = (index * this.height) / this.scale;
    const isSeen = top >= this.box.scrollTop && top + this.height <= this.box.scrollTop + this.box.clientHeight;
    if (!isSeen) this.box.scrollTop = Math.max(0, top - this.box.clientHeight / 3);
    this.paint();
  }
}
