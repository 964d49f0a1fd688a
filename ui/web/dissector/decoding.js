// What a selected value says: its text with real line breaks, its members as an outline, and pairs of texts to compare.

const EXACT_LIMIT = 2000000; // characters; a longer text is not parsed
const HIDDEN = new RegExp(`${UNSEEN.source}|[\\u{e0000}-\\u{e0fff}\\u{1d173}-\\u{1d17a}]`, "gu");
const PAIRS = ["old_string new_string", "old_str new_str", "old_text new_text", "oldText newText", "search replace", "before after", "old new"];

// A number that the browser would round: it is shown as it was written.
class ExactNumber {
  constructor(source) {
    this.source = source;
  }
}

function exact(_key, value, context) {
  return typeof value === "number" && context?.source !== undefined && String(value) !== context.source ? new ExactNumber(context.source) : value;
}

// The value of characters, and whether they are valid JSON; otherwise the value is their text, a cut string's included.
function decoded(text) {
  const words = text.trim();
  if (words.length <= EXACT_LIMIT && /^["[{\d-]|^(?:true|false|null)$/.test(words)) {
    try {
      return { value: JSON.parse(words, exact), isJson: true };
    } catch {
      if (words.startsWith('"')) return { value: unescapedText(words.slice(1).replace(/"$/, "")), isJson: false };
    }
  }
  return { value: text, isJson: false };
}

// The escapes of a broken string, each by itself; those that cannot be read stay.
function unescapedText(text) {
  return text.replace(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g, (escape) => JSON.parse(`"${escape}"`));
}

// A value as text: a string as it is, a long string of an object below its name, with its own lines.
function outline(value, depth = 0) {
  if (typeof value === "string") return value;
  if (value instanceof ExactNumber) return value.source;
  if (value === null || typeof value !== "object") return String(value);
  const names = Object.keys(value);
  if (!names.length) return Array.isArray(value) ? "[]" : "{}";
  const space = "  ".repeat(depth);
  return names.map((name) => `${space}${Array.isArray(value) ? "-" : `${name}:`}${below(value[name], depth + 1)}`).join("\n");
}

function below(value, depth) {
  const space = "  ".repeat(depth);
  if (typeof value === "string") return value.includes("\n") ? `\n${space}${value.replaceAll("\n", `\n${space}`)}` : ` ${value}`;
  const isBranch = value !== null && typeof value === "object" && !(value instanceof ExactNumber) && Object.keys(value).length;
  return isBranch ? `\n${outline(value, depth)}` : ` ${outline(value)}`;
}

// The old and new texts in the arguments of a tool that edits, in order.
function editsIn(value) {
  if (value === null || typeof value !== "object" || value instanceof ExactNumber) return [];
  const edits = [];
  for (const pair of PAIRS) {
    const [before, after] = pair.split(" ").map((name) => value[name]);
    if (typeof before === "string" && typeof after === "string") edits.push([before, after]);
  }
  return edits.concat(...Object.values(value).map(editsIn));
}

// Text for the screen: line breaks and tabs act, other invisible characters are shown by name.
function shownText(text) {
  return text.replace(HIDDEN, (character, index) => (character === "\n" || character === "\t" ? character : (glyphAt(text, index) ?? character)));
}

const MAX_CELLS = 4000000; // of the table of common lines; beyond, the lines between the equal ends count as replaced

// Two texts line by line, side by side: [left, right, isEqual], with null where a side has no line.
function sideBySide(before, after) {
  const [left, right] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(left.length, right.length) - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const equal = (line) => [line, line, true];
  return [
    ...left.slice(0, head).map(equal),
    ...changedLines(left.slice(head, left.length - tail), right.slice(head, right.length - tail)),
    ...left.slice(left.length - tail, left.length).map(equal),
  ];
}

function changedLines(left, right) {
  const rows = [];
  let [gone, come] = [[], []];
  const flush = () => {
    for (let index = 0; index < Math.max(gone.length, come.length); index += 1) rows.push([gone[index] ?? null, come[index] ?? null, false]);
    [gone, come] = [[], []];
  };
  const width = right.length + 1;
  if (left.length * right.length > MAX_CELLS) [gone, come] = [left, right];
  else {
    const common = new Uint32Array((left.length + 1) * width); // the number of common lines from here to the ends
    for (let i = left.length - 1; i >= 0; i -= 1) {
      for (let j = right.length - 1; j >= 0; j -= 1) {
        common[i * width + j] = left[i] === right[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
      }
    }
    for (let [i, j] = [0, 0]; i < left.length || j < right.length; ) {
      if (i < left.length && j < right.length && left[i] === right[j]) {
        flush();
        rows.push([left[i++], right[j++], true]);
      } else if (j >= right.length || (i < left.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) gone.push(left[i++]);
      else come.push(right[j++]);
    }
  }
  flush();
  return rows;
}
