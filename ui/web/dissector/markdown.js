// Markdown as elements, for reading: headings, lists, quotes, fences, tables as they were typed, emphasis and code. Text
// is only ever assigned to `textContent`; links and images show their address and lead nowhere.

// Linear in a line: no alternative runs over a sign that may begin another one, and code has at most 2,000 characters.
const INLINE = /(`+)(?!`)([^\n]{0,2000}?[^`\n])\1(?!`)|\*\*(?=\S)([^*\n]+)\*\*|__(?=\S)([^_\n]+)__|\*(?=\S)([^*\n]+)\*|!?\[([^[\]\n]*)\]\(([^()\n]*)\)/g;

function markdownOf(text) {
  const box = element("div", "markdown");
  const lines = text.split("\n");
  for (let line = 0; line < lines.length; ) line = putBlock(box, lines, line);
  return box;
}

// Add the block that begins at a line; return the line after it.
function putBlock(box, lines, first) {
  const line = lines[first];
  const fence = /^ {0,3}(```+|~~~+)/.exec(line);
  if (fence) {
    let end = first + 1;
    while (end < lines.length && !lines[end].trim().startsWith(fence[1])) end += 1;
    box.append(element("pre", "", lines.slice(first + 1, end).join("\n")));
    return end + 1;
  }
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading) box.append(inlined(element("p", `heading h${heading[1].length}`), heading[2]));
  else if (/^ {0,3}(?:[-*_] *){3,}$/.test(line)) box.append(element("hr"));
  else if (/^\s*>/.test(line)) return putRun(box, lines, first, /^\s*>/, (words) => inlined(element("blockquote"), words.replace(/^\s*> ?/gm, "")));
  else if (/^\s*\|/.test(line)) return putRun(box, lines, first, /^\s*\|/, (words) => element("pre", "", words));
  else if (line.trim()) {
    const item = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+/.exec(line);
    if (!item) return putRun(box, lines, first, /^\s*(?![-*+]\s|\d{1,9}[.)]\s|#{1,6}\s|>|\||```|~~~)\S/, (words) => inlined(element("p"), words));
    const node = inlined(element("p", "entry"), line.trim());
    node.style.marginInlineStart = `${Math.min(item[1].length, 24) / 2 + 1}rem`;
    box.append(node);
  }
  return first + 1;
}

// Add consecutive lines of one kind as one block.
function putRun(box, lines, first, kind, draw) {
  let end = first + 1;
  while (end < lines.length && kind.test(lines[end])) end += 1;
  box.append(draw(lines.slice(first, end).join("\n")));
  return end;
}

function inlined(node, text) {
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    node.append(text.slice(end, match.index));
    const [, , code, strong, alsoStrong, slanted, words, address] = match;
    if (code !== undefined) node.append(element("code", "", code));
    else if (strong ?? alsoStrong) node.append(element("strong", "", strong ?? alsoStrong));
    else if (slanted) node.append(element("em", "", slanted));
    else node.append(element("u", "", words), element("span", "dim", ` (${address})`));
    end = match.index + match[0].length;
  }
  node.append(text.slice(end));
  return node;
}
