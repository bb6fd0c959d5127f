// Suggestions, keys and menus. Every page works without this file.

// The chosen tab is in view, also where they are many.
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48;

const query = document.querySelector("#q");

// Menus: one open at a time, closed by Escape or a click elsewhere.
const menus = [...document.querySelectorAll("details.menu")];
document.addEventListener("click", (event) => {
  for (const menu of menus) if (!menu.contains(event.target)) menu.open = false;
});

// Keys: / to the query, j and k through results, Enter opens, ? helps.
const hits = [...document.querySelectorAll(".hit")];
let chosen = -1;

function choose(number) {
  if (hits.length === 0) return;
  chosen = Math.max(0, Math.min(hits.length - 1, number));
  for (const [at, hit] of hits.entries()) hit.classList.toggle("chosen", at === chosen);
  const link = hits[chosen].querySelector(".title");
  link.focus({ preventScroll: true });
  hits[chosen].scrollIntoView({ block: "nearest" });
}

async function help() {
  let dialog = document.querySelector("dialog");
  if (!dialog) {
    const page = await fetch("/help");
    if (!page.ok) return;
    const help = new DOMParser().parseFromString(await page.text(), "text/html");
    dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", help.querySelector("h1").textContent);
    dialog.append(...help.querySelector("main").children);
    document.body.append(dialog);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") for (const menu of menus) menu.open = false;
  const typing = event.target.closest("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && query) { query.focus(); query.select(); }
  else if (event.key === "j") choose(chosen + 1);
  else if (event.key === "k") choose(chosen - 1);
  else if (event.key === "?") help();
  else return;
  event.preventDefault();
});

// Suggestions while typing.
if (query) {
  const form = query.form;
  const list = document.createElement("ul");
  list.className = "suggestions";
  list.id = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", query.labels[0].textContent);
  form.append(list);
  query.setAttribute("role", "combobox");
  query.setAttribute("aria-autocomplete", "list");
  query.setAttribute("aria-controls", list.id);
  query.setAttribute("aria-expanded", "false");
  let typed = query.value;
  let selected = -1;
  let asked = 0;
  let wait;

  const close = () => {
    list.hidden = true;
    selected = -1;
    query.setAttribute("aria-expanded", "false");
    query.removeAttribute("aria-activedescendant");
  };
  const show = (texts) => {
    list.replaceChildren(...texts.map((text, at) => {
      const item = document.createElement("li");
      item.id = `suggestion-${at}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.textContent = text;
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        query.value = text;
        form.requestSubmit();
      });
      return item;
    }));
    list.hidden = texts.length === 0;
    selected = -1;
    query.setAttribute("aria-expanded", String(!list.hidden));
  };
  const select = (number) => {
    const items = [...list.children];
    selected = number < -1 ? items.length - 1 : number >= items.length ? -1 : number;
    for (const [at, item] of items.entries()) item.setAttribute("aria-selected", String(at === selected));
    if (selected < 0) query.removeAttribute("aria-activedescendant");
    else query.setAttribute("aria-activedescendant", items[selected].id);
    query.value = selected < 0 ? typed : items[selected].textContent;
  };

  query.addEventListener("input", () => {
    typed = query.value;
    clearTimeout(wait);
    if (typed.trim().length < 2) return close();
    wait = setTimeout(async () => {
      const number = ++asked;
      try {
        const answer = await fetch(`/api/suggest?q=${encodeURIComponent(typed)}`);
        const [, texts] = await answer.json();
        if (number === asked && document.activeElement === query) show(texts);
      } catch { close(); }
    }, 90);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) { event.preventDefault(); query.value = typed; close(); return; }
    if (list.hidden || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    select(event.key === "ArrowDown" ? selected + 1 : selected < 0 ? -2 : selected - 1);
  });
  query.addEventListener("blur", close);
}
