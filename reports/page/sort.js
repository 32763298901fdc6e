"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 2) continue;
  const first = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("span"); // Chromium prints no <button> in a repeated heading
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    const number = head.dataset.sort === "number";
    const value = row => {
      const cell = row.cells[column];
      if (cell.dataset.null !== undefined) return null;
      const v = cell.dataset.v === undefined ? cell.textContent : cell.dataset.v;
      return number ? Number(v) : v;
    };
    const compare = (a, b) => number ? a - b : a.localeCompare(b, undefined, {numeric: true});
    button.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      button.click();
    });
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const now = was === "none" ? (number ? "descending" : "ascending")
        : was === (number ? "descending" : "ascending") ? (number ? "ascending" : "descending") : "none";
      for (const h of heads) h.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", now);
      let rows = first;
      if (now !== "none") {
        const sign = now === "ascending" ? 1 : -1;
        rows = first.map((row, i) => ({row, i, v: value(row)})).sort((a, b) => {
          if (a.v === null || b.v === null) return (a.v === null) - (b.v === null) || a.i - b.i;
          return sign * compare(a.v, b.v) || a.i - b.i;
        }).map(x => x.row);
      }
      body.append(...rows);
    });
  });
}
