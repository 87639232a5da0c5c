"use strict";
(() => {
  const root = document.documentElement;
  const runs = JSON.parse(document.getElementById("data").textContent).runs;
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const DASHES = [[], [9, 4], [2, 3], [12, 3, 2, 3]];
  const HATCHES = ["", "/", "\\", "-", "x", "|", "."];
  const FONT = "12px system-ui, sans-serif";
  const charts = [];

  // As the text of the report has them.
  const digits = (n) => {
    const size = Math.abs(n);
    if (n === 0) return "0";
    return n.toFixed(size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
  };
  const span = (ms) => {
    if (ms === 0) return "0 s";
    if (ms < 0.9995) return digits(ms * 1e3) + " us";
    if (ms < 999.5) return digits(ms) + " ms";
    if (ms < 12e4) return digits(ms / 1e3) + " s";
    const whole = Math.floor(ms / 1e3);
    const parts = [[Math.floor(whole / 86400), "day"], [Math.floor(whole / 3600) % 24, "h"], [Math.floor(whole / 60) % 60, "m"], [whole % 60, "s"]];
    return parts.filter(([count]) => count > 0).map(([count, unit]) => count + unit).join(" ");
  };
  const seconds = (s) => span(Math.round(s * 1e3));
  const plain = (n) => (n >= 1e4 ? n / 1e3 + "k" : String(+n.toPrecision(6)));
  const make = (name, attributes, ...inside) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };

  // A colour, and a pattern over it: what stands side by side is told apart without colours, too.
  const tile = (ink, hatch) => {
    const size = 16;
    const canvas = make("canvas", { width: size, height: size });
    const pen = canvas.getContext("2d");
    pen.fillStyle = ink;
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = colour("--card");
    pen.fillStyle = colour("--card");
    pen.globalAlpha = 0.55;
    pen.lineWidth = 2;
    const stroke = (...ends) => {
      pen.beginPath();
      for (const [fromX, fromY, toX, toY] of ends) { pen.moveTo(fromX, fromY); pen.lineTo(toX, toY); }
      pen.stroke();
    };
    const rising = [[-4, 20, 20, -4], [-12, 12, 12, -12], [4, 28, 28, 4]];
    const falling = rising.map(([fromX, fromY, toX, toY]) => [fromX, size - fromY, toX, size - toY]);
    if (hatch === "/" || hatch === "x") stroke(...rising);
    if (hatch === "\\" || hatch === "x") stroke(...falling);
    if (hatch === "-") stroke([0, 4, size, 4], [0, 12, size, 12]);
    if (hatch === "|") stroke([4, 0, 4, size], [12, 0, 12, size]);
    if (hatch === ".") for (const at of [4, 12]) { pen.beginPath(); pen.arc(at, at, 2, 0, 7); pen.fill(); }
    return canvas;
  };
  const pattern = (u, ink, hatch) => u.ctx.createPattern(tile(ink, hatch), "repeat");

  const swatch = (series) => {
    const canvas = make("canvas", { width: 44, height: 22, "aria-hidden": "true" });
    canvas.style.width = "22px";
    canvas.style.height = "11px";
    const pen = canvas.getContext("2d");
    const paint = () => {
      pen.clearRect(0, 0, 44, 22);
      if (series.hatch !== undefined) {
        pen.fillStyle = pen.createPattern(tile(colour(series.ink), series.hatch), "repeat");
        pen.fillRect(0, 0, 44, 22);
      } else if (series.band) {
        pen.fillStyle = colour(series.ink);
        pen.fillRect(0, 0, 44, 22);
      } else {
        pen.strokeStyle = colour(series.ink);
        pen.lineWidth = 4;
        pen.setLineDash((series.dash ?? []).map((length) => length * 2));
        pen.beginPath();
        pen.moveTo(0, 11);
        pen.lineTo(44, 11);
        pen.stroke();
      }
    };
    paint();
    return { canvas, paint };
  };

  // One chart: its legend can be used with the keyboard, and so can its cursor.
  const draw = (element, { series, data, scales, axes, hooks = {}, extra = [], bands, at, group, show }) => {
    const legend = make("ul", { class: "legend" });
    const outputs = [];
    const paints = [];
    const moment = make("output", {});
    const entry = (name, look, button) => {
      const { canvas, paint } = swatch(look);
      paints.push(paint);
      const label = make(button ? "button" : "span", button ? { type: "button", "aria-pressed": "true" } : { class: "still" });
      label.append(canvas, make("bdi", {}, name));
      legend.append(make("li", {}, label));
      return label;
    };
    const axis = (own) => ({
      stroke: () => colour("--soft"), font: FONT, gap: 5,
      grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false }, border: { show: true, stroke: () => colour("--line"), width: 1 },
      ...own,
    });
    const status = make("div", { class: "hidden", role: "status" });
    const told = (u) => {
      const idx = u.cursor.idx;
      const none = idx === null || idx === undefined || u.data[0][idx] === undefined;
      moment.value = none ? "" : at(u.data[0][idx]);
      outputs.forEach((output, nth) => {
        const value = none ? null : show(nth, idx, u);
        output.value = value === null || value === undefined ? "" : value;
      });
    };
    const options = {
      width: element.clientWidth, height: element.classList.contains("tall") ? 260 : 190, padding: [14, 26, 0, 0],
      legend: { show: false }, scales, bands, axes: axes.map(axis),
      cursor: { sync: group ? { key: group } : undefined, y: false, points: { size: 7 }, drag: { x: true, y: false, dist: 6 } },
      series: [{}, ...series.map((one) => ({
        scale: "y", width: one.width ?? 2, dash: one.dash, spanGaps: one.spanGaps ?? false, points: { show: one.points ?? false },
        paths: one.paths, stroke: () => colour(one.ink), fill: one.fill, show: true,
      }))],
      hooks: { ...hooks, setCursor: [told] },
    };
    const u = new uPlot(options, data, element);
    series.forEach((one, nth) => {
      if (one.name === undefined) return;
      const button = entry(one.name, one, !bands);
      const output = make("output", {});
      button.append(output);
      outputs[nth] = output;
      if (!bands) button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        u.setSeries(nth + 1, { show: on });
      });
    });
    for (const one of extra) entry(one.name, one, false);
    legend.append(make("li", {}, make("span", { class: "still" }, moment)));
    element.append(status);
    element.after(legend);
    element.addEventListener("keydown", (event) => {
      const last = u.data[0].length - 1;
      const now = u.cursor.idx ?? (event.key === "ArrowLeft" ? last + 1 : -1);
      const next = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
      if (event.key === "Escape") u.setScale("x", { min: u.data[0][0], max: u.data[0][last] });
      if (next === undefined) return;
      event.preventDefault();
      const idx = Math.max(0, Math.min(last, next));
      u.setCursor({ left: u.valToPos(u.data[0][idx], "x"), top: 0 });
      const words = series.map((one, nth) => (outputs[nth]?.value ? `${one.name}: ${outputs[nth].value}` : ""));
      status.textContent = [moment.value, ...words].filter((it) => it).join(", ");
    });
    element.dataset.drawn = series.length;
    charts.push({
      u, element,
      repaint: () => { paints.forEach((paint) => paint()); u.redraw(false, true); },
      resize: (width) => { if (width > 0 && Math.abs(width - u.width) >= 1) u.setSize({ width, height: u.height }); },
    });
  };

  const stepped = uPlot.paths.stepped({ align: 1 });
  const UNITS = [[1, 1e-3, "ms"], [300, 1, "s"], [10800, 60, "m"], [Infinity, 3600, "h"]];
  const STEPS = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400, 864000];
  const OVER_TIME = {
    scale: "x", space: 64, size: 34, gap: 10, incrs: STEPS,
    values: (u, ticks) => {
      const [, unit, word] = UNITS.find(([below]) => ticks[ticks.length - 1] < below);
      return ticks.map((tick) => plain(tick / unit) + " " + word);
    },
  };
  const upTo = (top) => ({ range: (u, min, max) => [0, top ?? (Math.max(max, 0) * 1.12 || 1)] });
  // The value of a bin holds to its end.
  const held = (values) => [...values, values[values.length - 1]];
  const starts = (time) => [...time.sent.map((_, nth) => +(time.start + nth * time.width).toFixed(6)), time.end];
  const per = (u, ticks) => ticks.map((tick) => plain(tick) + "/s");

  const cut = (pen, text, room) => {
    let short = text;
    while (short.length > 1 && pen.measureText(short).width > room) short = short.slice(0, -2) + "…";
    return short;
  };
  const region = (steady) => (u) => {
    if (!steady) return;
    const { ctx, bbox } = u;
    const [left, right] = steady.map((at) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(at, "x", true))));
    ctx.save();
    ctx.fillStyle = colour("--band");
    ctx.fillRect(left, bbox.top, Math.max(0, right - left), bbox.height);
    ctx.restore();
  };
  // Those in range are lines; those beyond stand at the upper end with an arrow.
  const lines = (ceilings) => (u) => {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    const placed = ceilings.map((ceiling) => ({ ...ceiling, y: u.valToPos(ceiling.rate, "y", true) }));
    for (const { y, ink, dash } of placed) {
      if (y < bbox.top) continue;
      ctx.strokeStyle = colour(ink);
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash(dash.map((length) => length * ratio));
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    // All of them stand in the list beside the picture: a name that has no room here is left out, that of what binds last.
    const line = 14 * ratio;
    const bases = [];
    ctx.setLineDash([]);
    ctx.lineWidth = 5 * ratio;
    ctx.strokeStyle = colour("--card");
    for (const { y, text, ink } of placed.sort((a, b) => (b.binds ? 1 : 0) - (a.binds ? 1 : 0) || a.rate - b.rate)) {
      const beyond = y < bbox.top;
      const base = beyond ? bbox.top + line : Math.max(y - 2 * ratio, bbox.top + 12 * ratio);
      if (bases.some((other) => Math.abs(other - base) < line)) continue;
      bases.push(base);
      const words = cut(ctx, (beyond ? "↑ " : "") + text, bbox.width * 0.8);
      ctx.fillStyle = colour(ink);
      ctx.strokeText(words, bbox.left + bbox.width - 4 * ratio, base);
      ctx.fillText(words, bbox.left + bbox.width - 4 * ratio, base);
    }
    ctx.restore();
  };

  const timed = (nth) => ({ at: (x) => "at " + seconds(x), group: "time " + nth });
  const NEAR = 2.5;
  const kinds = {
    throughput: (element, run, nth) => {
      const { time, ceilings, steady } = run;
      const most = Math.max(...time.ended);
      const near = ceilings.filter((ceiling) => ceiling.rate <= most * NEAR);
      const room = near.length < ceilings.length ? 1.32 : 1.16;
      const top = Math.max(most, ...near.map((ceiling) => ceiling.rate)) * room || 1;
      const marks = ceilings.map((ceiling, at) => ({
        rate: ceiling.rate, binds: ceiling.binds, text: `${digits(ceiling.rate)}/s  ${ceiling.name}`, ink: at % 2 ? "--s4" : "--s2", dash: DASHES[1 + at % 3],
      }));
      draw(element, {
        data: [starts(time), held(time.ended)], scales: { x: { time: false }, y: upTo(top) },
        series: [{ name: "ended per second", ink: "--s1", paths: stepped }],
        extra: steady ? [{ name: "steady part", ink: "--band", band: true }] : [],
        axes: [OVER_TIME, { scale: "y", size: 58, values: per }],
        hooks: { drawAxes: [region(steady)], draw: [lines(marks)] },
        show: (series, idx, u) => digits(u.data[1][idx]) + "/s", ...timed(nth),
      });
    },
    sends: (element, run, nth) => {
      const { time, steady } = run;
      draw(element, {
        data: [starts(time), held(time.sent), held(time.refused)], scales: { x: { time: false }, y: upTo() },
        series: [
          { name: "sent per second", ink: "--s1", paths: stepped },
          { name: "answered 429 per second", ink: "--s2", dash: DASHES[1], paths: stepped },
        ],
        axes: [OVER_TIME, { scale: "y", size: 58, values: per }],
        hooks: { drawAxes: [region(steady)] },
        show: (series, idx, u) => digits(u.data[series + 1][idx]) + "/s", ...timed(nth),
      });
    },
    flight: (element, run, nth) => {
      const { time, steady, slots } = run;
      const most = Math.max(...time.in_flight);
      const near = slots !== null && slots <= most * NEAR;
      const marks = slots === null ? [] : [{ rate: slots, text: `${slots} slots`, ink: "--s2", dash: DASHES[1] }];
      draw(element, {
        data: [starts(time), held(time.in_flight)], scales: { x: { time: false }, y: upTo((near ? Math.max(slots, most) : most) * 1.15 || 1) },
        series: [{ name: "in flight", ink: "--s3", paths: stepped }],
        axes: [OVER_TIME, { scale: "y", size: 58, values: (u, ticks) => ticks.map(plain) }],
        hooks: { drawAxes: [region(steady)], draw: [lines(marks)] },
        show: (series, idx, u) => digits(u.data[1][idx]), ...timed(nth),
      });
    },
    shares: (element, run, nth) => {
      const { time } = run;
      const inks = ["--s1", "--s2", "--s3", "--s4", "--s5", "--s6", "--s7", "--s8"];
      const sums = [];
      time.owners.reduce((below, owner) => {
        const sum = owner.share.map((share, at) => below[at] + share);
        sums.push(sum);
        return sum;
      }, time.sent.map(() => 0));
      const looks = time.owners.map((owner, at) => (owner.idle ? { ink: "--nothing", hatch: "" } : { ink: inks[at % 8], hatch: HATCHES[at % 7] }));
      const fill = (at) => (u) => pattern(u, colour(looks[at].ink), looks[at].hatch);
      draw(element, {
        data: [starts(time), ...sums.map(held)], scales: { x: { time: false }, y: { range: [0, 1] } },
        series: time.owners.map((owner, at) => ({
          name: owner.name, ...looks[at], width: 1, paths: stepped, fill: at === 0 ? fill(0) : undefined,
        })),
        bands: time.owners.slice(1).map((_, at) => ({ series: [at + 2, at + 1], fill: fill(at + 1) })),
        axes: [OVER_TIME, { scale: "y", size: 58, values: (u, ticks) => ticks.map((tick) => Math.round(tick * 100) + " %") }],
        show: (series, idx) => Math.round((time.owners[series].share[Math.min(idx, time.sent.length - 1)]) * 100) + " %", ...timed(nth),
      });
    },
    percentiles: (element, run) => curves(element, [
      ["service time, ok", run.percentiles.service_ok, "--s1", 0], ["since due, ok", run.percentiles.since_due_ok, "--s4", 1],
      ["service time, failed", run.percentiles.service_failed, "--s2", 2], ["since due, failed", run.percentiles.since_due_failed, "--s5", 3],
    ]),
    "all-service": (element) => curves(element, several((run) => run.percentiles.service_ok)),
    "all-since-due": (element) => curves(element, several((run) => run.percentiles.since_due_ok)),
  };
  kinds["all-sent"] = (element) => {
    const some = several((run) => run.time).filter(([, time]) => time.sent.length > 0);
    const data = uPlot.join(some.map(([, time]) => [starts(time), held(time.sent)]));
    const rates = data.slice(1).flat().filter((rate) => rate > 0).sort((one, other) => one - other);
    const middle = rates[rates.length >> 1] ?? 1;
    // Where a few are far above the others, all of them are seen: even up to there, by powers above.
    const even = middle / 4;
    const powers = rates[rates.length - 1] > middle * 8;
    const rungs = (top) => {
      const all = [0];
      const decades = top > even * 1e4;
      for (let power = Math.floor(Math.log10(even)); 10 ** power < top; power += 1) {
        for (const one of decades ? [1] : [1, 2, 5]) if (one * 10 ** power >= even && one * 10 ** power <= top) all.push(+(one * 10 ** power).toPrecision(1));
      }
      return all;
    };
    draw(element, {
      data,
      scales: { x: { time: false }, y: powers ? { distr: 4, asinh: even, ...upTo() } : upTo() },
      series: some.map(([name, , ink, dash]) => ({ name, ink, dash: DASHES[dash], paths: stepped })),
      axes: [OVER_TIME, { scale: "y", size: 58, values: per, ...(powers ? { splits: (u) => rungs(u.scales.y.max), filter: (u, splits) => splits } : {}) }],
      show: (series, idx, u) => (u.data[series + 1][idx] == null ? null : digits(u.data[series + 1][idx]) + "/s"),
      at: (x) => "at " + seconds(x),
    });
  };
  const several = (part) => runs.map((run, nth) => [run.name, part(run), `--s${1 + nth % 8}`, (nth + (nth >> 3)) % 4]);

  // Percentiles on an axis on which each nine has the same room.
  const curves = (element, all) => {
    const some = all.filter(([, curve]) => curve.x.length > 0);
    const data = uPlot.join(some.map(([, curve]) => [curve.x, curve.ms.map((ms) => Math.max(ms, 1e-3))]));
    const values = data.slice(1).flat().filter((ms) => ms != null);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const log = most > least * 20;
    const [low, high] = [least / 1.3, most * 1.3];
    const rungs = [];
    for (let power = -3; power < 9; power += 1) {
      for (const one of [1, 2, 5]) if (one * 10 ** power >= low && one * 10 ** power <= high) rungs.push(one * 10 ** power);
    }
    const decades = rungs.length > 7;
    const upright = log ? { splits: () => rungs, filter: (u, splits) => splits } : {};
    const isDecade = (ms) => Math.abs(Math.log10(ms) - Math.round(Math.log10(ms))) < 1e-9;
    const end = Math.max(10, ...data[0]);
    const ticks = [1, 2];
    for (let nine = 10; nine <= end * 1.001; nine *= 10) ticks.push(nine);
    const percent = (x) => +((1 - 1 / x) * 100).toPrecision(12) + " %";
    draw(element, {
      data,
      scales: {
        x: { time: false, distr: 3, range: [1, end] },
        y: log ? { distr: 3, range: [low, high] } : upTo(most * 1.12),
      },
      series: some.map(([name, , ink, dash]) => ({ name, ink, dash: DASHES[dash], spanGaps: true, points: data[0].length < 3 })),
      axes: [
        { scale: "x", size: 34, gap: 10, splits: () => ticks, filter: (u, splits) => splits, values: (u, splits) => splits.map(percent) },
        { scale: "y", size: 66, ...upright, values: (u, splits) => splits.map((ms) => (log && decades && !isDecade(ms) ? null : span(ms))) },
      ],
      show: (series, idx, u) => {
        // The next place at or beyond, as a percentile is.
        const column = u.data[series + 1];
        for (let at = idx; at < column.length; at += 1) if (column[at] != null) return span(column[at]);
        return null;
      },
      at: (x) => "at " + +((1 - 1 / x) * 100).toFixed(4) + " %",
    });
  };

  // What is hidden has no width, and is drawn when it has one.
  const begin = (element) => {
    const nth = Number(element.dataset.run ?? 0);
    kinds[element.dataset.chart](element, runs[nth], nth);
  };
  const known = new Map();
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (!target.clientWidth) continue;
      if (!known.has(target)) {
        known.set(target, charts.length);
        begin(target);
      } else charts[known.get(target)]?.resize(target.clientWidth);
    }
  });
  for (const element of document.querySelectorAll("[data-chart]")) {
    if (element.clientWidth) {
      known.set(element, charts.length);
      begin(element);
    }
    observer.observe(element);
  }

  const repaint = () => charts.forEach((chart) => chart.repaint());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  const PAPER = 680;
  let closed = [];
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    closed = [...document.querySelectorAll("details.run:not([open])")];
    closed.forEach((details) => { details.open = true; });
    for (const element of document.querySelectorAll("[data-chart]")) {
      if (!known.has(element) && element.clientWidth) {
        known.set(element, charts.length);
        begin(element);
      }
    }
    charts.forEach((chart) => chart.resize(Math.min(PAPER, chart.element.clientWidth)));
    repaint();
  });
  addEventListener("afterprint", () => {
    delete root.dataset.theme;
    closed.forEach((details) => { details.open = false; });
    charts.forEach((chart) => chart.resize(chart.element.clientWidth));
    repaint();
  });
})();
