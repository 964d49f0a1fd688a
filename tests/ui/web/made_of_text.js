// What in the whole page, shadows included, can only have been made of a trace's text: a list of its outer HTML.
() => {
  const found = [];
  const own = location.origin;
  const nodes = function* (root) {
    for (const node of root.querySelectorAll("*")) {
      yield node;
      if (node.shadowRoot) yield* nodes(node.shadowRoot);
    }
  };
  const read = ".stMarkdown, [data-testid=stMarkdownContainer]";
  const streamlits = "[data-testid=stSkipToContent], [data-testid=stHeaderActionElements] a";
  const isMade = (node) => {
    const name = node.localName;
    if (["iframe", "object", "embed", "math", "video", "audio", "base", "marquee", "frame"].includes(name)) return true;
    const isLogo = node.matches("[data-testid=stHeaderLogo], [data-testid=stSidebarLogo]") && node.src.startsWith(`${own}/media/`);
    if ((name === "img" && !isLogo) || name === "image") return true;
    const isRow = node.closest("td") && /^trace\?trace=\d+(&turn=\d+&part=[\w%.+-]+&start=\d+&end=\d+)?(&filter=[\w%.+*~-]+)?$/.test(node.getAttribute("href"));
    const isPage = node.closest("nav") && /^\/[a-z]*(\?filter=[\w%.+*~-]+)?$/.test(node.getAttribute("href"));
    if (name === "a" && !isRow && !isPage && !node.matches(streamlits)) return true;
    if (name === "script" && !(node.src.startsWith(own) && node.closest("head")) && !node.closest("head, body > script")) return true;
    if (name === "style" && /display:\s*none\}$/.test(node.textContent.trim())) return true;
    if (name === "title" && node.closest("svg") === null && !node.closest("head")) return true;
    if (node.matches(".stMarkdownColoredText") && node.textContent.length > 1) return true; // our own are glyphs
    if (node.matches(".katex, .stMarkdownColoredBackground, .stMarkdownSmall, .math")) return true;
    if (node.closest(read) && ["em", "del", "blockquote", "table", "ol", "hr", "small", "b"].includes(name)) return true;
    // Our own sentences have strong words and lists; those of an attack hold what it says.
    if (node.closest(read) && ["strong", "code", "li"].includes(name) && ["bold", "code", "item"].includes(node.textContent.trim())) return true;
    if (node.matches("[data-testid=stIconMaterial]") && node.textContent === "delete") return true;
    return [...node.attributes].some(
      (one) => one.name.startsWith("on") || (/^(xlink:)?(href|src|action|formaction|data)$/.test(one.name) && /^\s*(javascript|data:text|https?:\/\/(?!127\.0\.0\.1))/i.test(one.value)),
    );
  };
  for (const node of nodes(document)) if (isMade(node)) found.push(node.outerHTML.slice(0, 300));
  if (window.attacked) found.push("a script of a trace ran");
  return found;
}
