// The map of links: look at one page's links, drag pages, zoom and move. Without this file it is a drawing.

const figure = document.querySelector(".map");
if (figure) {
  const svg = figure.querySelector("svg");
  const nodes = [...svg.querySelectorAll("a[data-node]")];
  const lines = [...svg.querySelectorAll("line")];
  const near = nodes.map(() => new Set());
  for (const line of lines) {
    const [from, to] = [Number(line.dataset.from), Number(line.dataset.to)];
    near[from].add(to);
    near[to].add(from);
  }

  const look = (number) => {
    figure.classList.toggle("looking", number >= 0);
    for (const [at, node] of nodes.entries()) node.classList.toggle("near", at === number || (number >= 0 && near[number].has(at)));
    for (const line of lines) {
      const touches = Number(line.dataset.from) === number || Number(line.dataset.to) === number;
      line.classList.toggle("near", number >= 0 && touches);
    }
  };
  // The page in the middle touches everything: looking at it shows nothing new.
  for (const [at, node] of nodes.entries()) {
    if (at === 0) continue;
    node.addEventListener("pointerenter", () => look(at));
    node.addEventListener("pointerleave", () => look(-1));
    node.addEventListener("focus", () => look(at));
    node.addEventListener("blur", () => look(-1));
  }

  const whole = svg.viewBox.baseVal;
  const start = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
  const place = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  };
  const zoom = (factor, x, y) => {
    const width = Math.max(start.width / 12, Math.min(start.width * 1.5, whole.width * factor));
    const real = width / whole.width;
    whole.x = x - (x - whole.x) * real;
    whole.y = y - (y - whole.y) * real;
    whole.height *= real;
    whole.width = width;
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !figure.matches(":focus-within, :hover")) return;
    event.preventDefault();
    const { x, y } = place(event);
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, x, y);
  }, { passive: false });

  const reset = document.createElement("button");
  reset.type = "button";
  reset.className = "reset";
  reset.textContent = figure.dataset.reset;
  reset.addEventListener("click", () => Object.assign(whole, start));
  figure.append(reset);

  // Dragging a page moves it with its links; dragging the ground moves the view.
  let drag = null;
  const move = (number, dx, dy) => {
    for (const part of nodes[number].children) {
      const old = part.dragged ?? { x: 0, y: 0 };
      part.dragged = { x: old.x + dx, y: old.y + dy };
      if (part.tagName !== "title") part.setAttribute("transform", `translate(${part.dragged.x} ${part.dragged.y})`);
    }
    for (const line of lines) {
      for (const [end, x, y] of [["from", "x1", "y1"], ["to", "x2", "y2"]]) {
        if (Number(line.dataset[end]) !== number) continue;
        line.setAttribute(x, Number(line.getAttribute(x)) + dx);
        line.setAttribute(y, Number(line.getAttribute(y)) + dy);
      }
    }
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const node = event.target.closest("a[data-node]");
    drag = { node: node ? nodes.indexOf(node) : -1, at: place(event), far: false };
    event.preventDefault();
  });
  addEventListener("pointermove", (event) => {
    if (!drag) return;
    const now = place(event);
    const [dx, dy] = [now.x - drag.at.x, now.y - drag.at.y];
    if (!drag.far && Math.hypot(dx, dy) < 3) return;
    drag.far = true;
    figure.classList.add("moving");
    if (drag.node >= 0) { move(drag.node, dx, dy); drag.at = now; }
    else { whole.x -= dx; whole.y -= dy; }
  });
  addEventListener("pointerup", () => {
    figure.classList.remove("moving");
    const was = drag;
    drag = null;
    if (was?.far) svg.addEventListener("click", (event) => event.preventDefault(), { once: true, capture: true });
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault());
}
