// The map of links: look at one page's links, drag pages, zoom and move, also with fingers. Without this file it is a drawing.

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
  // Names keep their size on the screen, however near one comes; from close by all of them are shown.
  const fit = () => {
    svg.style.setProperty("--name", `${(12.5 * whole.width) / Math.max(svg.clientWidth, 1)}px`);
    figure.classList.toggle("zoomed", whole.width < start.width * 0.98);
    figure.classList.toggle("close", whole.width / Math.max(svg.clientWidth, 1) < 0.5);
  };
  const zoom = (factor, x, y) => {
    const width = Math.max(start.width / 12, Math.min(start.width * 1.5, whole.width * factor));
    const real = width / whole.width;
    whole.x = x - (x - whole.x) * real;
    whole.y = y - (y - whole.y) * real;
    whole.height *= real;
    whole.width = width;
    fit();
  };
  fit();
  addEventListener("resize", fit);
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !figure.matches(":focus-within, :hover")) return;
    event.preventDefault();
    const { x, y } = place(event);
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, x, y);
  }, { passive: false });

  const views = document.createElement("div");
  views.className = "views";
  const button = (sign, label, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.setAttribute("aria-label", label);
    made.title = label;
    made.addEventListener("click", act);
    views.append(made);
  };
  const middle = () => [whole.x + whole.width / 2, whole.y + whole.height / 2];
  button("+", figure.dataset.nearer, () => zoom(1 / 1.6, ...middle()));
  button("−", figure.dataset.farther, () => zoom(1.6, ...middle()));
  button("↺", figure.dataset.reset, () => { Object.assign(whole, start); fit(); });
  // Above the drawing, so that they cover no page.
  figure.prepend(views);

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
  // A phone has room below and none beside: there rows stand farther apart, and both sides nearer to the middle.
  if (matchMedia("(max-width: 40rem)").matches) {
    const [narrower, taller] = [0.84, 2.6];
    for (const [at, node] of nodes.entries()) {
      const { x, y, width, height } = node.querySelector("circle, rect, path").getBBox();
      move(at, (x + width / 2) * (narrower - 1), (y + height / 2) * (taller - 1));
    }
    start.y *= taller;
    start.height *= taller;
    Object.assign(whole, start);
    figure.classList.add("tall");
    fit();
  }
  // One finger moves what is larger than the screen, two come nearer; else a finger scrolls the page.
  const fingers = new Map();
  const spread = () => {
    const [one, two] = [...fingers.values()];
    return { width: Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY), clientX: (one.clientX + two.clientX) / 2, clientY: (one.clientY + two.clientY) / 2 };
  };
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const isTouch = event.pointerType === "touch";
    if (isTouch) fingers.set(event.pointerId, event);
    if (fingers.size > 2) return;
    const node = isTouch ? null : event.target.closest("a[data-node]");
    drag = { node: node ? nodes.indexOf(node) : -1, at: place(event), far: false };
    if (fingers.size === 2) drag = { pinch: spread() };
    if (!isTouch) event.preventDefault();
  });
  addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event);
    if (!drag) return;
    if (drag.pinch) {
      const now = spread();
      const before = place(drag.pinch);
      const { x, y } = place(now);
      whole.x -= x - before.x;
      whole.y -= y - before.y;
      if (now.width > 0) zoom(drag.pinch.width / now.width, before.x, before.y);
      drag = { pinch: now, far: true };
      return;
    }
    const now = place(event);
    const [dx, dy] = [now.x - drag.at.x, now.y - drag.at.y];
    if (!drag.far && Math.hypot(dx, dy) < 3) return;
    drag.far = true;
    figure.classList.add("moving");
    if (drag.node >= 0) { move(drag.node, dx, dy); drag.at = now; }
    else { whole.x -= dx; whole.y -= dy; }
  });
  const end = (event) => {
    fingers.delete(event.pointerId);
    if (fingers.size > 0) { drag = null; return; }
    figure.classList.remove("moving");
    const was = drag;
    drag = null;
    if (was?.far && event.type === "pointerup" && event.pointerType !== "touch") svg.addEventListener("click", (click) => click.preventDefault(), { once: true, capture: true });
  };
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
  svg.addEventListener("dragstart", (event) => event.preventDefault());
}
