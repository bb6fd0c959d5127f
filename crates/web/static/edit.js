// The file beside the form, as it would be written, and what is wrong beside its field. The form works without this.

const form = document.querySelector("form.editor");
const file = form?.querySelector("#text");
let wait;
let asked = 0;
let isOwn = false;

// Whoever writes into the file keeps it.
file?.addEventListener("input", (event) => { isOwn = !file.readOnly; event.stopPropagation(); });

async function check() {
  const number = ++asked;
  const body = new URLSearchParams(new FormData(form));
  body.set("what", "check");
  try {
    const answer = await fetch(location.pathname, { method: "POST", body });
    if (!answer.ok || answer.redirected || number !== asked) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const text = fresh.querySelector("#text");
    if (text && file && !isOwn) file.value = text.value;
    for (const name of ["would", "trials"]) {
      const [old, next] = [form.querySelector(`[data-checked="${name}"]`), fresh.querySelector(`[data-checked="${name}"]`)];
      if (old && next) old.replaceWith(next);
    }
    for (const field of form.querySelectorAll(".field[data-key]")) {
      const next = fresh.querySelector(`.field[data-key="${CSS.escape(field.dataset.key)}"] .problem`);
      field.classList.toggle("wrong", Boolean(next?.textContent));
      field.querySelector(".problem").textContent = next?.textContent ?? "";
    }
  } catch { /* the next time */ }
}

form?.addEventListener("input", () => {
  clearTimeout(wait);
  wait = setTimeout(check, 500);
});
