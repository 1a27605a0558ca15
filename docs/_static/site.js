// What the theme leaves out for people who use a keyboard or a screen reader.

document.addEventListener("DOMContentLoaded", () => {
  const scrolls = () => {
    for (const box of document.querySelectorAll("pre, .table-wrapper, article p")) {
      // Code, tables and pictures that are wider than the window are scrolled by the arrow keys once they have the focus.
      if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  scrolls();
  window.addEventListener("resize", scrolls);
  const set = (selector, attributes) => {
    for (const found of document.querySelectorAll(selector)) {
      for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
    }
  };
  set(".sidebar-tree .caption, .toctree-wrapper .caption", { role: "heading", "aria-level": "2" });
  set(".sidebar-drawer", { "aria-label": "All pages" });
  set(".toc-drawer", { "aria-label": "On this page" });
  set(".content-icon-container", { role: "region", "aria-label": "View" });
  // The results of a search come after the page.
  const results = document.querySelector("#search-results");
  if (results) {
    if (!new URLSearchParams(location.search).get("q")) results.insertAdjacentHTML("beforebegin", "<h1>Search</h1>");
    const first = () => set("#search-results > h2", { "aria-level": "1" });
    first();
    new MutationObserver(first).observe(results, { childList: true });
  }
  // The empty corner of a table is the heading of nothing.
  for (const corner of document.querySelectorAll("th")) {
    if (!corner.textContent.trim()) corner.replaceWith(document.createElement("td"));
  }
});
