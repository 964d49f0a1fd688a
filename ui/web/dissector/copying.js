// Copies the exact text, without the glyphs, numbers and messages on the screen.

// The text that the user marked within a shadow root, as a live or static range; null if there is none.
function markedIn(root) {
  const selection = document.getSelection();
  if (!selection) return null;
  if (selection.getComposedRanges) {
    const [range] = selection.getComposedRanges({ shadowRoots: [root] });
    return range && !range.collapsed ? range : null;
  }
  return selection.isCollapsed ? null : selection.getRangeAt(0);
}

// The position in the text for a point in the DOM; between two pieces, the start of the later one.
function placeOf(box, node, offset) {
  const owner = (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest("[data-unit]");
  if (owner && box.contains(owner) && node.nodeType === Node.TEXT_NODE && owner.childNodes.length === 1) {
    const unit = Number(owner.dataset.unit);
    if (owner.dataset.units) return { part: Number(owner.dataset.part), unit: unit + (offset > 0 ? Number(owner.dataset.units) : 0) };
    return { part: Number(owner.dataset.part), unit: unit + offset };
  }
  const point = document.createRange();
  point.setStart(node, offset);
  for (const row of box.querySelectorAll(".stream")) {
    for (const piece of row.querySelectorAll("[data-unit]")) {
      if (piece.childElementCount) continue;
      if (point.comparePoint(piece, 0) >= 0) return { part: Number(piece.dataset.part), unit: Number(piece.dataset.unit) };
    }
    if (point.comparePoint(row, row.childNodes.length) > 0) return { part: Number(row.dataset.part), unit: Number(row.dataset.end) };
  }
  return null;
}

// The text between two positions, which may be in different parts.
function textBetween(parts, first, last) {
  const texts = [];
  for (let index = first.part; index <= last.part; index += 1) {
    const { text } = parts[index];
    texts.push(text.slice(index === first.part ? first.unit : 0, index === last.part ? last.unit : text.length));
  }
  return texts.join("\n");
}

// The text to copy: the text that the user marked, else the selected characters.
function textToCopy(dissector) {
  const { box } = dissector.stream;
  const { parts } = dissector.state;
  const marked = markedIn(box.getRootNode());
  if (marked && box.contains(marked.startContainer)) {
    const first = placeOf(box, marked.startContainer, marked.startOffset);
    const rows = box.querySelectorAll(".stream");
    const end = rows[rows.length - 1];
    const last = placeOf(box, marked.endContainer, marked.endOffset) || { part: Number(end.dataset.part), unit: Number(end.dataset.end) };
    if (first) return textBetween(parts, first, last);
  }
  const { selected } = dissector.look;
  return selected && parts[selected.part] ? parts[selected.part].text.slice(selected.start, selected.end) : "";
}
