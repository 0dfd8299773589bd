"use strict";
/* Enhances a page that is complete without it: ranks again, reads values, switches models, sorts tables. */
(function () {
  const TIED = 1e-12;

  /* Mean regret of each row of cumulative regrets between two steps of the grid. */
  function meanRegrets(ranking, start, stop) {
    const width = ranking.grid[stop] - ranking.grid[start];
    return ranking.cumulative.map((row) => (row[stop] - row[start]) / width);
  }

  /* Rows from best to worst; models that are off have no place, and rows beyond the models no rank. */
  function rank(means, models, isOn) {
    const own = means.filter((_, place) => place < models && isOn(place));
    const best = Math.min(...own);
    return means
      .map((mean, place) => ({ place, mean, behind: mean - best }))
      .filter((row) => row.place >= models || isOn(row.place))
      .map((row) => ({
        ...row,
        rank: row.place < models ? 1 + own.filter((other) => other < row.mean - TIED).length : null,
      }))
      .sort((one, other) => Math.round(one.mean / TIED) - Math.round(other.mean / TIED) || one.place - other.place);
  }

  /* The steps that two handles stand for: they keep one step apart, and the one that was moved has its way. */
  function keepApart(start, stop, last, movedLow) {
    if (start < stop) return [start, stop];
    return movedLow
      ? [Math.min(start, last - 1), Math.min(start, last - 1) + 1]
      : [Math.max(stop, 1) - 1, Math.max(stop, 1)];
  }

  function number(value, places) {
    const text = Math.abs(value).toFixed(places);
    return (value < 0 && Number(text) !== 0 ? "\u2212" : "") + text;
  }

  function behind(difference, places) {
    return Math.abs(difference) <= TIED ? "best" : (difference > 0 ? "+" : "") + number(difference, places);
  }

  const SCALES = {
    linear: (value) => value,
    log: (value) => Math.log10(value),
    logit: (value) => Math.log10(value / (1 - value)),
  };

  /* Where a value lies along an axis of a figure. */
  function along(axis, value) {
    return axis.at[0] + axis.at[1] * SCALES[axis.scale](value);
  }

  /* All points of a figure that can be read, each with its place. */
  function readable(panels, isOn) {
    const points = [];
    panels.forEach((panel, p) =>
      panel.lines.forEach((line, l) => {
        if (line.model !== null && !isOn(line.model)) return;
        line.x.forEach((x, i) =>
          points.push({ panel, line, key: p + "-" + l, i, px: along(panel.x, x), py: along(panel.y, line.y[i]) }));
      }));
    return points;
  }

  function nearest(points, px, py) {
    let best = null;
    let least = Infinity;
    for (const point of points) {
      const distance = Math.hypot(point.px - px, point.py - py);
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  }

  /* The point that an arrow key leads to: left and right along a line, up and down to another one. */
  function step(points, from, key) {
    if (!points.length) return null;
    const now = from && points.find((point) => point.key === from.key && point.i === from.i);
    if (!now) return points[0];
    const line = points.filter((point) => point.key === now.key);
    const place = line.indexOf(now);
    if (key === "ArrowLeft") return line[Math.max(place - 1, 0)];
    if (key === "ArrowRight") return line[Math.min(place + 1, line.length - 1)];
    if (key === "Home") return line[0];
    if (key === "End") return line[line.length - 1];
    const keys = [...new Set(points.map((point) => point.key))];
    const turn = key === "ArrowDown" ? 1 : keys.length - 1;
    const next = keys[(keys.indexOf(now.key) + turn) % keys.length];
    return nearest(points.filter((point) => point.key === next), now.px, now.py);
  }

  function value(axis, number) {
    return axis.percent ? String(Number((100 * number).toPrecision(4))) + "%" : String(Number(number.toPrecision(4)));
  }

  function tell(point) {
    const { panel, line, i } = point;
    return line.name + ": " + [[panel.x, line.x[i]], [panel.y, line.y[i]]]
      .map(([axis, number]) => (axis.label.toLowerCase() + " " + value(axis, number)).trim()).join(", ");
  }

  /* What a cell is sorted by: its number if it begins with one, else its text; what is missing goes last. */
  function sortKey(text) {
    const plain = text.trim().replace(/,/g, "").replace(/^\u2212/, "-").replace("\u221e", "Infinity");
    const found = /^[-+]?(Infinity|\d+\.?\d*|\.\d+)(?=%|\s|$)/.exec(plain);
    if (found) return Number(found[0]);
    return plain === "\u2013" || plain === "" ? null : plain;
  }

  /* Whether a row has what is looked for: a number is compared with the whole first cell, words with all of them. */
  function matches(cells, sought) {
    const wanted = sought.trim().toLowerCase();
    if (/^\d+$/.test(wanted)) return cells[0].toLowerCase() === wanted;
    return cells.some((cell) => cell.toLowerCase().includes(wanted));
  }

  function compare(one, other, sign) {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other || 0);
    return sign * String(one).localeCompare(String(other), "en", { numeric: true });
  }

  /* A cell of a CSV file: numbers with a plain minus sign; text that a spreadsheet would compute begins with a quote. */
  function csvCell(text) {
    const plain = text.trim().replace(/\u2212/g, "-").replace(/^\u2013$/, "");
    const safe = /^[=+@\t\r]/.test(plain) || /^-(?![\d.])/.test(plain) ? "'" + plain : plain;
    return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
  }

  /* A figure by itself: with the colours of the light page, and a size. */
  function standalone(markup, width, height) {
    return markup
      .replace(/var\(--[a-z0-9]+,\s*(#[0-9a-fA-F]{3,8})\)/g, "$1")
      .replace(/^<svg/, '<svg width="' + width + '" height="' + height + '" font-family="Helvetica, Arial, sans-serif"');
  }

  /* The name of a file for a title. */
  function fileName(title, ending) {
    return (title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "figure") + "." + ending;
  }

  function start(document) {
    const data = JSON.parse(document.getElementById("propriety-data").textContent);
    const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
    const off = new Set();
    const isOn = (place) => !off.has(place);
    const changed = [];

    /* In a sandboxed frame nothing can be saved. */
    all("[data-with-script]").forEach((element) => { element.hidden = window !== window.top && element.matches(".tools"); });
    switchModels();
    if (data.ranking) rerank(data.ranking);
    all("[data-figure]").forEach((plot) => {
      const panels = data.figures[plot.dataset.figure];
      if (panels) read(plot, panels);
    });
    all("table.data").forEach(sort);
    all("[data-filter]").forEach(filter);
    all("[data-full]").forEach(enlarge);
    all("[data-save]").forEach(saveFigure);
    all("[data-csv]").forEach(saveTable);
    all("[data-copy]").forEach(copyTable);
    print();

    function switchModels() {
      const marked = all("[data-model]").map((element) => [element, element.dataset.model.split(" ").map(Number)]);
      all("[data-switch]").forEach((box) => {
        box.hidden = false;
        box.checked = true;
        box.addEventListener("change", () => {
          if (!box.checked && off.size === data.models.length - 1) box.checked = true;
          off[box.checked ? "delete" : "add"](Number(box.dataset.switch));
          marked.forEach(([element, models]) => element.classList.toggle("off", !models.every(isOn)));
          changed.forEach((then) => then());
        });
      });
    }

    function rerank(ranking) {
      const last = ranking.grid.length - 1;
      const low = document.getElementById("range-low");
      const high = document.getElementById("range-high");
      const body = document.querySelector("[data-ranks]");
      const said = document.querySelector("[data-said]");
      const rows = new Map(all("[data-row]", body).map((row) => [Number(row.dataset.row), row]));
      const cell = (row, name) => row.querySelector("[data-cell=" + name + "]");
      let timer = 0;

      function show(quietly) {
        const [from, to] = [low.valueAsNumber, high.valueAsNumber];
        const labels = { low: ranking.labels[from], high: ranking.labels[to], "low-value": ranking.grid[from], "high-value": ranking.grid[to] };
        labels.ends = [labels.low, labels.high].map((label) => label.split(" ")[0]).join(" to ");
        all("[data-shown]").forEach((element) => { element.textContent = labels[element.dataset.shown]; });
        low.setAttribute("aria-valuetext", labels.low);
        high.setAttribute("aria-valuetext", labels.high);
        low.parentNode.style.setProperty("--from", from / last);
        low.parentNode.style.setProperty("--to", to / last);
        const ranked = rank(meanRegrets(ranking, from, to), ranking.models, isOn);
        const longest = Math.max(...ranked.map((row) => row.mean), 1e-300);
        ranked.forEach((one) => {
          const row = rows.get(one.place);
          row.classList.toggle("first", one.rank === 1);
          cell(row, "rank").textContent = one.rank === null ? "" : one.rank;
          cell(row, "mean").textContent = number(one.mean, ranking.places);
          cell(row, "behind").textContent = behind(one.behind, ranking.places);
          cell(row, "bar").setAttribute("width", (100 * one.mean / longest).toFixed(2));
          body.append(row);
        });
        clearTimeout(timer);
        const first = ranked.find((row) => row.rank === 1);
        const words = data.models[first.place] + " has the lowest mean regret from " + labels.ends + ".";
        if (!quietly) timer = setTimeout(() => { said.textContent = words; }, 400);
      }

      function moved(event) {
        [low.valueAsNumber, high.valueAsNumber] =
          keepApart(low.valueAsNumber, high.valueAsNumber, last, event.target === low);
        show();
      }

      function reset() {
        [low.valueAsNumber, high.valueAsNumber] = [ranking.start, ranking.stop];
        show();
      }

      const ticks = document.querySelector("[data-ticks]");
      [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].forEach((tick) => {
        const place = ranking.grid.indexOf(tick);
        if (place < 0) return;
        const mark = document.createElement("span");
        mark.textContent = Math.round(100 * tick) + "%";
        mark.className = [0, 0.01, 0.1, 0.3, 0.5, 0.7, 1].includes(tick) ? "" : "minor";
        mark.style.setProperty("left", 100 * place / last + "%");
        ticks.append(mark);
      });
      [low, high].forEach((handle) => handle.addEventListener("input", moved));
      document.querySelector("[data-reset]").addEventListener("click", reset);
      changed.push(() => show());
      [low.valueAsNumber, high.valueAsNumber] = [ranking.start, ranking.stop];
      show(true);
    }

    function read(plot, panels) {
      const svg = plot.querySelector("svg");
      const [width, height] = panels[0].size;
      const tip = document.createElement("div");
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      let points = readable(panels, isOn);
      let now = null;
      tip.className = "tip";
      tip.setAttribute("role", "status");
      mark.setAttribute("class", "mark");
      mark.setAttribute("r", "3.6");
      plot.append(tip);
      svg.append(mark);
      plot.tabIndex = 0;
      plot.setAttribute("role", "application");
      plot.setAttribute("aria-label", svg.querySelector("title").textContent + ". Arrow keys read its values.");
      show(null);

      function show(point) {
        now = point;
        mark.classList.toggle("off", !point);
        tip.classList.toggle("off", !point);
        if (!point) return;
        mark.setAttribute("cx", point.px);
        mark.setAttribute("cy", point.py);
        const [from, to] = [plot.getBoundingClientRect(), svg.getScreenCTM()];
        tip.style.setProperty("left", to.a * point.px + to.e - from.left + "px");
        tip.style.setProperty("top", to.d * point.py + to.f - from.top + "px");
        tip.classList.toggle("left", point.px > 0.72 * width);
        tip.classList.toggle("right", point.px < 0.28 * width);
        tip.textContent = tell(point);
      }

      function point(event) {
        const to = svg.getScreenCTM();
        const [px, py] = [(event.clientX - to.e) / to.a, (event.clientY - to.f) / to.d];
        const found = nearest(points, px, py);
        show(found && Math.hypot(found.px - px, found.py - py) < 0.16 * Math.max(width, height) ? found : null);
      }

      plot.addEventListener("pointermove", point);
      plot.addEventListener("pointerdown", point);
      plot.addEventListener("pointerleave", () => show(null));
      plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(step(points, now, "")); });
      plot.addEventListener("blur", () => show(null));
      plot.addEventListener("keydown", (event) => {
        if (event.key === "Escape") show(null);
        else if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) {
          event.preventDefault();
          show(step(points, now, event.key));
        }
      });
      changed.push(() => {
        points = readable(panels, isOn);
        show(null);
      });
    }

    function sort(table) {
      const body = table.tBodies[0];
      const heads = all("thead th", table);
      let next = 0;
      heads.forEach((head) => {
        const column = next;
        next += head.colSpan;
        const button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
          heads.forEach((other) => other.removeAttribute("aria-sort"));
          head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
          const keyed = [...body.rows].map((row) => [sortKey(row.cells[column].textContent), row]);
          keyed.sort((one, other) => compare(one[0], other[0], sign));
          body.append(...keyed.map((pair) => pair[1]));
        });
      });
    }

    function filter(element) {
      const rows = [...element.nextElementSibling.querySelector("tbody").rows];
      const texts = rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
      const input = element.querySelector("input");
      input.addEventListener("input", () => {
        const shown = rows.filter((row, place) => { row.hidden = !matches(texts[place], input.value); return !row.hidden; });
        element.querySelector("output").textContent = input.value ? shown.length + " of " + rows.length + " rows" : "";
      });
    }

    function enlarge(button) {
      const [part, full] = all(".plot", button.closest("figure"));
      button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", pressed);
        [part.hidden, full.hidden] = [pressed, !pressed];
      });
    }

    function save(blob, name) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }

    function saveFigure(button) {
      button.addEventListener("click", () => {
        const figure = button.closest("figure");
        const svg = all(".plot", figure).find((plot) => !plot.hidden).querySelector("svg").cloneNode(true);
        all(".mark, .off", svg).forEach((element) => element.remove());
        const [, , width, height] = svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);
        const text = standalone(new XMLSerializer().serializeToString(svg), width, height);
        const drawing = new Blob([text], { type: "image/svg+xml" });
        const name = fileName(figure.querySelector("h3").textContent, button.dataset.save);
        if (button.dataset.save === "svg") {
          save(drawing, name);
          return;
        }
        const image = new Image();
        image.onload = () => {
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [Math.round(4 * width), Math.round(4 * height)];
          const context = canvas.getContext("2d");
          context.fillStyle = "#ffffff";
          context.fillRect(0, 0, canvas.width, canvas.height);
          context.drawImage(image, 0, 0, canvas.width, canvas.height);
          URL.revokeObjectURL(image.src);
          canvas.toBlob((blob) => save(blob, name), "image/png");
        };
        image.src = URL.createObjectURL(drawing);
      });
    }

    function tableOf(button) {
      return button.closest(".tools").previousElementSibling.querySelector("table");
    }

    function saveTable(button) {
      const table = tableOf(button);
      const title = table.caption.textContent;
      button.addEventListener("click", () => {
        const head = [...table.tHead.rows[0].cells].flatMap((cell) =>
          cell.colSpan > 1 ? [cell.textContent, cell.textContent + " (interval)"] : [cell.textContent]);
        const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden && !row.matches(".off"));
        const cells = [head, ...rows.map((row) => [...row.cells].map((cell) => cell.textContent))];
        const text = "\ufeff" + cells.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
        save(new Blob([text], { type: "text/csv" }), fileName(title, "csv"));
      });
    }

    function copyTable(button) {
      const table = tableOf(button);
      button.addEventListener("click", () => {
        const selection = getSelection();
        selection.selectAllChildren(table.parentNode);
        document.execCommand("copy");
        selection.removeAllRanges();
        button.classList.add("done");
        setTimeout(() => button.classList.remove("done"), 1500);
      });
    }

    function print() {
      let closed = [];
      addEventListener("beforeprint", () => {
        closed = all("details:not([open])");
        closed.forEach((details) => { details.open = true; });
      });
      addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
    }
  }

  if (typeof document === "undefined") {
    module.exports = { along, behind, compare, csvCell, fileName, keepApart, matches, meanRegrets, nearest, number, rank, readable, sortKey, standalone, step, tell };
  } else {
    start(document);
  }
})();
