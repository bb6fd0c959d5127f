// Live figures, fresh drawings, and the line under the pointer. Every page works without this file.

// What was done is said once, not again when the page is loaded anew.
if (new URLSearchParams(location.search).has("did")) history.replaceState(null, "", location.pathname);

const live = document.querySelector("[data-live]");

// A part of the page is replaced as a whole, unless somebody is in the middle of it.
function isInUse(part) {
  return part.contains(document.activeElement) || part.querySelector("details[open], a:hover, button:hover, summary:hover, .curve:hover") !== null;
}

function named(page, name) {
  return page.querySelector(`[data-part="${name}"]`);
}

// In its first run a collection has more and more panels: each takes its place behind the one before it.
function arrive(next) {
  if (named(document, next.dataset.part)) return;
  const before = next.previousElementSibling && named(document, next.previousElementSibling.dataset.part);
  if (before) before.after(next.cloneNode(true));
  else document.querySelector(".panels")?.prepend(next.cloneNode(true));
}

// Whoever is not logged in any more is told, instead of being shown what was.
function ended(login) {
  const words = document.querySelector("[data-ended]");
  if (!words || document.querySelector(".say.ended")) return;
  const says = document.createElement("p");
  says.className = "say bad ended";
  says.setAttribute("role", "alert");
  const way = document.createElement("a");
  way.href = login;
  way.textContent = words.dataset.login;
  says.append(words.dataset.ended, " ", way);
  document.querySelector("main").prepend(says);
}

async function refresh() {
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected && new URL(answer.url).pathname === "/login") return ended(answer.url);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const next = named(fresh, part.dataset.part);
      if (isInUse(part)) continue;
      if (!next) part.remove();
      else if (next.innerHTML !== part.innerHTML) {
        const copy = next.cloneNode(true);
        part.replaceWith(copy);
        copy.querySelectorAll(".chart").forEach(follow);
      }
    }
    for (const next of fresh.querySelectorAll(".panels > [data-part]")) arrive(next);
  } catch { /* the next time */ }
}

// Figures come by themselves, at most once a second; drawings and tables with the page, more seldom.
let timer;
function again(seconds) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    if (!document.hidden) await refresh();
    again(seconds);
  }, seconds * 1000);
}

if (live && "EventSource" in window) {
  const source = new EventSource(live.dataset.live);
  let last = 0;
  source.addEventListener("live", () => {
    const now = Date.now();
    if (now - last < 2000 || document.hidden) return;
    last = now;
    refresh();
  });
  source.addEventListener("error", () => again(5));
  again(10);
} else if (document.querySelector("[data-part]")) {
  again(5);
}

// The line under the pointer, and what the curve says there.
function follow(chart) {
  const svg = chart.querySelector(".curve");
  if (!svg) return;
  const points = JSON.parse(chart.dataset.points);
  if (points.length < 2) return;
  const [left, right] = [Number(svg.dataset.left), Number(svg.dataset.right)];
  const { width, height } = svg.viewBox.baseVal;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("class", "cross");
  line.setAttribute("y1", "0");
  line.setAttribute("y2", String(height - 24));
  const says = document.createElement("output");
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const share = ((event.clientX - box.left) * width / box.width - left) / (width - left - right);
    let best = points[0];
    for (const point of points) if (Math.abs(point[0] - share) < Math.abs(best[0] - share)) best = point;
    const x = left + best[0] * (width - left - right);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    svg.append(line);
    says.textContent = `${best[1]}: ${best[2]}`;
    chart.append(says);
  });
  svg.addEventListener("pointerleave", () => { line.remove(); says.remove(); });
}

document.querySelectorAll(".chart").forEach(follow);
