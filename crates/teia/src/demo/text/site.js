// Marks the part of the site that the page belongs to. Everything works without it.
for (const link of document.querySelectorAll("header nav a")) {
  const path = new URL(link.href).pathname;
  if (path !== "/" && location.pathname.startsWith(path)) link.setAttribute("aria-current", "true");
}
