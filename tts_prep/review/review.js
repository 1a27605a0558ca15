// The page of a review. Everything from the store is set as text, never as HTML.

import { make, Plot } from "./plot.js";

const PAGE = 100, ARROW = { ascending: " ↑", descending: " ↓" };
const SHOWN = ["keep", "id", "speaker", "seconds", "reasons", "text", "snr", "phone_rate", "note"];
const MARKS = { yes: "keep", no: "drop", unsure: "unsure" };
const $ = (id) => document.getElementById(id);

let state = null;
const query = { filter: "", search: "", reason: "", state: "", sort: "", order: "" };
let shown = [...SHOWN], rows = [], total = 0, start = 0, current = null, view = "utterances", palette = [];
const sound = new Audio(), besideSound = new Audio(), partSound = new Audio();
let plot = null, beside = null, besideRow = null, parts = [], partNext = 0;

// One thing after the other: a key, a click or a changed field acts on what is shown when all before it is done. Keys wait
// for that, also those that are text: the field for it may not be there yet. If something fails, those that wait are
// dropped, because they were meant for what would have followed.

let busy = 0, last = Promise.resolve(), typing = 0;
const waiting = [];

function act(action) {
  busy += 1;
  const run = async () => {
    try {
      if (typing && !$("query").contains(document.activeElement)) await mildly(refresh)();
      await action();
    } catch (error) {
      await stop(error);
    } finally {
      busy -= 1;
    }
  };
  last = busy === 1 ? run() : last.then(run);
}

function actOnKey(key) {
  waiting.push(key);
  act(() => {
    if (waiting[0] !== key) return;
    waiting.shift();
    return pressed(key.name);
  });
}

async function stop(error) {
  const n = waiting.length;
  waiting.length = 0;
  $("stop-text").textContent = error.message;
  $("stop-keys").textContent = n ? `${count(n, "key")} pressed after it: nothing was done.` : "";
  $("stop-change").hidden = !error.change;
  const dialog = $("stop");
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  if (dialog.returnValue !== "change") return;
  try { await error.change(); } catch (next) { await stop(next); }
}

// What needs no answer: the list stays as it is, and the page says why.
const mildly = (action) => async () => { try { await action(); } catch (error) { problem(error.message); } };

// Requests

// By which the server knows whose decision an undo takes back; a reload keeps it.
const own = (() => {
  const made = crypto.randomUUID();
  try { return sessionStorage.own ??= made; } catch { return made; }
})();

async function send(path, options = {}) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start tts-prep review again, and open the address that it prints.");
  }
}

async function get(path, parameters = {}) {
  const answer = await send(`${path}?${new URLSearchParams(parameters)}`);
  if (/\/(mel|sound\.wav)$/.test(path) && answer.ok) return new Uint8Array(await answer.arrayBuffer());
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

async function post(path, value) {
  const body = JSON.stringify({ ...value, window: own });
  const answer = await send(path, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(`Not saved: ${found.error}`), { decision: found.decision });
  return found;
}

function problem(text) { $("problem").textContent = text; }
function say(text) { $("status").textContent = text; }

// Texts

function number(value) {
  if (typeof value !== "number") return value ?? "";
  const size = Math.abs(value), digits = Number.isInteger(value) ? 0 : size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits }).replace("-", "−");
}
const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
const seconds = (value) => `${value.toFixed(2)} s`;
const column = (key) => state.columns.find((c) => c.key === key);

// The state of the page, and its address

function readAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(query)) query[name] = parameters.get(name) ?? "";
  start = Number(parameters.get("start")) || 0;
  view = parameters.get("view") ?? "utterances";
  return parameters.get("id");
}

function writeAddress() {
  const parameters = new URLSearchParams();
  if (current) parameters.set("id", current.id);
  for (const [name, value] of Object.entries({ ...query, start: start || "", view: view === "utterances" ? "" : view })) if (value) parameters.set(name, value);
  history.replaceState(null, "", `#${parameters}`);
}

async function readState() {
  state = await get("state");
  palette = Uint8Array.from(state.palette.match(/../g), (pair) => parseInt(pair, 16));
  document.title = `Review: ${state.store}`;
  $("store").textContent = state.store;
  $("footer").textContent = `Decisions are written to ${state.file} at once. tts-prep ${state.version}. ${state.notes.join(" ")}`;
  $("speakers-list").replaceChildren(...state.speakers.map((name) => make("option", { value: name })));
  showCounts(state.counts);
  showReasons();
  showChooser();
  showOtherTexts();
  if (state.fault) problem(state.fault);
  else if (!state.measured) setTimeout(() => act(mildly(readMeasures)), 700);
}

// Somebody who is at work goes on in the order of before; a list in which nothing is open yet is made again.
async function readMeasures() {
  await readState();
  if (!state.measured) return;
  if (current && !query.sort) query.sort = "row";
  await refresh({ from: start });
}

function showCounts(counts) {
  state.counts = counts;
  const { suspects, decided_suspects: done, decided, utterances, yes, no, unsure, corrected } = counts;
  const measuring = state.measured ? `${number(done)} of ${count(suspects, "suspect")} decided` : state.fault ? "not measured" : "measuring the store…";
  $("progress-text").textContent = `${measuring} · ${number(decided)} of ${count(utterances, "utterance")}: ${number(yes)} keep, ${number(no)} drop, ${number(unsure)} unsure, ${number(corrected)} corrected`;
  $("progress").max = suspects || 1;
  $("progress").value = done;
}

function showReasons() {
  const option = (value, text, title = "") => make("option", { value, title }, text);
  const suspects = state.measured ? [option("*", `all suspects (${number(state.counts.suspects)})`)] : [];
  const reasons = state.reasons.filter((r) => r.count).map((r) => option(r.reason, `${r.reason} (${number(r.count)})`, r.why));
  $("reason").replaceChildren(option("", "all utterances"), ...suspects, ...reasons);
  $("reason").value = query.reason;
}

function showChooser() {
  $("columns").replaceChildren(...state.columns.filter((c) => c.key !== "id").map((c) => {
    const box = make("input", { type: "checkbox", checked: shown.includes(c.key) });
    box.addEventListener("change", () => {
      shown = state.columns.map((k) => k.key).filter((key) => (key === c.key ? box.checked : shown.includes(key)));
      shown = ["keep", "id", ...shown.filter((key) => key !== "keep" && key !== "id")].filter((key) => key !== "keep" || c.key !== "keep" || box.checked);
      act(() => refresh({ from: start }));
    });
    return make("label", { title: c.meaning }, box, make("span", {}, c.key));
  }));
}

// The list

const FIELDS_OF_QUERY = [["filter", "filter"], ["search", "search"], ["reason", "reason"], ["decision-state", "state"]];

// A field of which this is the text is left alone: somebody types there.
function fillQuery() {
  for (const [id, name] of FIELDS_OF_QUERY) if ($(id).value.trim() !== query[name]) $(id).value = query[name];
}

// The list begins with a row of a number, or with what follows a row that may be in it no more.
async function refresh({ from = 0, after = null, choose = null } = {}) {
  clearTimeout(typing);
  typing = 0;
  fillQuery();
  showView();
  try {
    if (view === "distributions") await showHistograms();
    if (view === "speakers") await showSpeakers();
    const place = after === null ? { start: Math.max(0, from) } : { after };
    const found = await get("rows", { ...query, ...place, n: PAGE, columns: shown.join(","), ...(current && { current: current.row }) });
    ({ rows, total, start } = found);
    // An utterance that is not in the list any more is closed, so that no key decides about it.
    if (current && !found.holds) close();
  } catch (error) {
    // A condition that is still being written leaves the list as it is; one that was left selects nothing.
    if (!$("query").contains(document.activeElement)) showNothing();
    throw error;
  }
  problem(state.fault);
  showRows();
  writeAddress();
  if (choose !== null && rows.length) await open(rows[choose < 0 ? rows.length - 1 : choose].row);
}

function showNothing() {
  rows = [];
  total = 0;
  close();
  showRows();
}

function close() {
  current = null;
  $("nothing").hidden = false;
  $("utterance").hidden = true;
  sound.pause();
}

function showRows() {
  const keys = shown.filter((key) => column(key));
  const head = keys.map((key) => {
    const sorted = query.sort === key ? query.order || "ascending" : "";
    const c = column(key);
    const button = make("button", { type: "button", title: [c.meaning, c.unit].filter(Boolean).join(" ") }, c.label + (ARROW[sorted] ?? ""));
    button.addEventListener("click", () => act(() => sort(key)));
    const cell = make("th", { scope: "col", className: c.kind === "number" ? "number" : "" }, button);
    if (sorted) cell.setAttribute("aria-sort", sorted);
    return cell;
  });
  $("table").tHead.replaceChildren(make("tr", {}, ...head));
  $("table").tBodies[0].replaceChildren(...rows.map((row) => makeRow(row, keys)));
  const last = start + rows.length;
  $("count").textContent = total ? `${number(start + 1)}–${number(last)} of ${number(total)}` : "none";
  $("page-back").disabled = start === 0;
  $("page-on").disabled = last >= total;
  markCurrent();
}

function makeRow(row, keys) {
  const element = make("tr", {}, ...keys.map((key) => makeCell(key, row.cells[key])));
  element.dataset.row = row.row;
  element.addEventListener("click", () => act(() => open(row.row)));
  return element;
}

function makeCell(key, value) {
  if (key === "id") return make("th", { scope: "row" }, make("button", { type: "button" }, value));
  if (key === "keep") return make("td", { className: `mark ${value}` }, MARKS[value] ?? "");
  const c = column(key);
  return make("td", { className: c.kind === "number" ? "number" : key === "reasons" ? "reason" : "text", title: c.kind === "text" ? value : "" }, number(value));
}

function sort(key) {
  if (query.sort !== key) { query.sort = key; query.order = ""; }
  else if (!query.order) query.order = "descending";
  else { query.sort = ""; query.order = ""; }
  return refresh();
}

function markCurrent() {
  for (const element of $("table").tBodies[0].rows) {
    const is = current && Number(element.dataset.row) === current.row;
    if (is) { element.setAttribute("aria-current", "true"); showInBox(element); } else element.removeAttribute("aria-current");
  }
}

// The page itself is not scrolled: where the list is below the utterance, that would be lost.
function showInBox(element) {
  const box = element.closest(".scroll"), row = element.getBoundingClientRect(), room = box.getBoundingClientRect();
  const top = room.top + $("table").tHead.offsetHeight;
  if (row.top < top) box.scrollTop -= top - row.top;
  else if (row.bottom > room.bottom) box.scrollTop += row.bottom - room.bottom;
}

function showDetail() {
  const top = $("detail").getBoundingClientRect().top;
  if (getComputedStyle($("detail")).position !== "sticky" && (top < 0 || top > innerHeight / 3)) $("detail").scrollIntoView();
}

async function step(by) {
  const at = rows.findIndex((row) => current && row.row === current.row);
  const to = at < 0 ? 0 : at + by;
  if (rows[to]) await open(rows[to].row);
  else if (to >= rows.length && start + rows.length < total) await refresh({ after: rows[rows.length - 1].row, choose: 0 });
  else if (to < 0 && start > 0) await refresh({ from: start - PAGE, choose: -1 });
}

// The utterance

async function open(row) {
  await saveCorrections();
  const [data, levels] = await Promise.all([get(`${row}/utterance`), get(`${row}/mel`)]);
  await saveCorrections();
  for (const player of [sound, besideSound, partSound]) player.pause();
  current = data;
  $("nothing").hidden = true;
  $("utterance").hidden = false;
  $("beside-box").hidden = true;
  besideRow = null;
  $("id").textContent = data.id;
  $("facts").textContent = [data.speaker, seconds(data.seconds), data.language].filter(Boolean).join(" · ");
  $("text").textContent = data.text;
  $("text").lang = /^[A-Za-z-]{2,20}$/.test(data.language) ? data.language : "";
  $("normalized").textContent = data.normalized || data.normalized_fault;
  $("phonemes").textContent = data.phonemes;
  showReasonsOf(data);
  showMeasures(data);
  showDecision(data.decision);
  for (const id of ["word", "word-line"]) $(id).value = "";
  plot.time = 0;
  plot.show(data, levels);
  sound.src = `${row}/sound.wav`;
  $("source").textContent = "";
  showTime();
  takeDecision(row, data.decision);
  showDetail();
  writeAddress();
  say(`${data.id}, ${data.reasons.map((r) => r.reason).join(", ") || "no suspect"}`);
  $("neighbours").replaceChildren();
  clearTimeout(open.rest);
  // What nobody sees who has already pressed another key.
  open.rest = setTimeout(showRest, waiting.length ? 150 : 0, data);
  if ($("play-at-once").checked) play();
}

function showRest(of) {
  get(`${of.row}/waveform`, { n: 2000 }).then((wave) => {
    if (current !== of) return;
    plot.setWave(wave);
    $("source").textContent = `Sound: ${wave.note}.`;
  }, (error) => { if (current === of) $("source").textContent = `No sound: ${error.message}`; });
  showDifference().catch((error) => problem(error.message));
  get(`${of.row}/neighbours`).then((found) => { if (current === of) showNeighbours(found); }, () => {});
}

function showReasonsOf(data) {
  $("reasons").replaceChildren(...data.reasons.map((r) => {
    const item = make("li", {}, make("strong", {}, r.reason), r.value ? `: ${r.value}. ` : ". ", make("span", { className: "soft" }, r.why));
    if (r.partner !== null) {
      const button = make("button", { type: "button" }, `compare with ${r.partner_id}`);
      button.addEventListener("click", () => act(() => showBeside(r.partner)));
      item.append(" ", button);
    }
    return item;
  }));
}

function showMeasures(data) {
  $("measures").replaceChildren(...state.columns.filter((c) => !["text", "phoneme_text", "id", "keep", "note", "reasons"].includes(c.key)).map((c) => {
    const value = data.cells[c.key];
    const text = value === null || value === undefined ? "–" : `${number(value)} ${typeof value === "number" ? c.unit : ""}`;
    return make("div", { title: c.meaning }, make("dt", {}, c.label), make("dd", {}, text));
  }));
}

function showNeighbours(found) {
  $("neighbours").replaceChildren(...found.map((n) => {
    const compare = make("button", { type: "button", "aria-label": `Compare with ${n.id}` }, "Compare");
    const go = make("button", { type: "button", "aria-label": `Open ${n.id}` }, "Open");
    compare.addEventListener("click", () => act(() => showBeside(n.row)));
    go.addEventListener("click", () => act(() => open(n.row)));
    return make("li", {}, compare, go, make("span", { className: "soft" }, `${n.id} · ${n.speaker} · ${seconds(n.seconds)} · ${n.kind}`), make("p", {}, n.text));
  }));
  if (!found.length) $("neighbours").replaceChildren(make("li", {}, "none"));
}

async function showBeside(row) {
  const [data, levels] = await Promise.all([get(`${row}/utterance`), get(`${row}/mel`)]);
  besideRow = row;
  $("beside-box").hidden = false;
  $("beside-id").textContent = `${data.id}, ${data.speaker}, ${seconds(data.seconds)}: ${data.text}`;
  beside.time = 0;
  beside.show(data, levels);
  besideSound.src = `${row}/sound.wav`;
  get(`${row}/waveform`, { n: 2000 }).then((wave) => { if (besideRow === row) beside.setWave(wave); }, () => {});
}

// Playing

function play(player = sound, of = plot) {
  if (!player.paused) return player.pause();
  for (const other of [sound, besideSound, partSound]) if (other !== player) other.pause();
  const span = of?.selection;
  if (span && (player.currentTime < span[0] || player.currentTime >= span[1] - 0.01)) player.currentTime = span[0];
  else if (player.ended) player.currentTime = 0;
  player.play().then(() => follow(player, of), (error) => { if (error.name !== "AbortError") problem(`Cannot be played: ${error.message}`); });
}

function follow(player, of) {
  if (player.paused || !of) return;
  const span = of.selection, repeat = player === sound && $("loop").ariaPressed === "true";
  if (span && player.currentTime >= span[1]) {
    if (repeat) player.currentTime = span[0];
    else player.pause();
  }
  of.setTime(player.currentTime, true);
  if (player === sound) showTime();
  requestAnimationFrame(() => follow(player, of));
}

function seek(time) {
  sound.currentTime = Math.min(Math.max(0, time), current.seconds);
  plot.setTime(sound.currentTime, true);
  showTime();
}

function showTime() { $("time").textContent = current ? `${sound.currentTime.toFixed(2)} / ${seconds(current.seconds)}` : ""; }

function toggleLoop() { $("loop").ariaPressed = $("loop").ariaPressed === "true" ? "false" : "true"; }

// A sound that is loaded later begins with the default rate.
function setSpeed(by = 0) {
  const select = $("speed");
  select.selectedIndex = Math.min(Math.max(0, select.selectedIndex + by), select.length - 1);
  for (const player of [sound, besideSound, partSound]) player.playbackRate = player.defaultPlaybackRate = Number(select.value);
}

// Decisions

const FIELDS = [["new-text", "text"], ["new-speaker", "speaker"], ["note", "note"]];

function showDecision(decision) {
  current.decision = decision;
  $("new-text").placeholder = current.text;
  $("new-speaker").placeholder = current.speaker;
  fillFields(decision);
  showMarks();
}

function fillFields(decision) { for (const [id, key] of FIELDS) $(id).value = decision[key]; }

function showMarks() {
  for (const button of document.querySelectorAll("[data-keep]")) button.ariaPressed = String(current.decision.keep === button.dataset.keep);
  for (const [id, key] of FIELDS) $(id).classList.toggle("changed", Boolean(current.decision[key]));
  $("merge").ariaPressed = String(Boolean(current.decision.merge));
  showParts();
}

// The server is told what a decision replaces, as far as this window knows, so that it replaces nothing else. The fields
// are left alone: somebody types there.
async function save(decision) {
  const of = current, before = of.decision;
  const names = Object.keys(decision).filter((key) => decision[key] !== before[key]);
  const only = (from) => Object.fromEntries(names.map((key) => [key, from[key]]));
  if (!names.length) return;
  of.decision = decision;
  showMarks();
  let found;
  try {
    found = await post("decide", { row: of.row, ...only(decision), seen: only(before) });
  } catch (error) {
    of.decision = before;
    showMarks();
    if (error.decision) contradicted(error, only(decision));
    throw error;
  }
  say(`${of.id}: saved`);
  takeOver(found.decision);
  take(found);
}

// Another window has decided the same in another way: what it has decided is shown, and stays unless this is confirmed.
function contradicted(error, mine) {
  const theirs = error.decision, name = (key, value) => (key === "keep" ? MARKS[value] : value && `“${value}”`) || "nothing";
  const differing = Object.keys(mine).filter((key) => mine[key] !== theirs[key]);
  const each = differing.map((key) => `${key === "keep" ? "decision" : key}: ${name(key, theirs[key])} there, ${name(key, mine[key])} here`);
  error.message = `${current.id}: another window has decided this meanwhile. ${each.join("; ")}.`;
  error.change = () => {
    fillFields({ ...theirs, ...mine });
    return save({ ...theirs, ...mine });
  };
  takeDecision(current.row, theirs);
  showDecision(theirs);
}

// Another window may have decided other fields meanwhile. What was not typed here is taken from there.
function takeOver(found) {
  const now = typed();
  for (const [id, key] of FIELDS) if (now[key] === current.decision[key] && found[key] !== now[key]) $(id).value = found[key];
  current.decision = found;
  showMarks();
}

function take({ row, decision, counts }) {
  showCounts(counts);
  if (row !== null) takeDecision(row, decision);
}

function takeDecision(row, decision) {
  const listed = rows.find((r) => r.row === row);
  if (listed) {
    listed.cells.keep = decision.keep;
    if ("note" in listed.cells) listed.cells.note = decision.note;
    const keys = shown.filter((key) => column(key));
    $("table").querySelector(`tr[data-row="${row}"]`)?.replaceWith(makeRow(listed, keys));
  }
  markCurrent();
}

async function decide(keep) {
  if (!current) return;
  await save({ ...current.decision, ...typed(), keep });
  if (keep && $("go-on").checked) await step(1);
}

// What is in the fields of corrections; a text that is as in the store is none.
function typed() {
  const line = (id) => $(id).value.replace(/\s+/g, " ").trim();
  const text = line("new-text"), speaker = line("new-speaker");
  return { text: text === current.text ? "" : text, speaker: speaker === current.speaker ? "" : speaker, note: line("note") };
}

async function saveCorrections() {
  if (current) await save({ ...current.decision, ...typed() });
}

// Trimming, cutting, merging. Regions are in the recording of the corpus; the sound of the store is a part of that.

const LEAST = 0.02, BAR = /\s*\|\s*/, sounds = new Map();

async function soundOf(row) {
  if (!sounds.has(row)) {
    const [wave, bytes] = await Promise.all([get(`${row}/waveform`, { n: 1 }), get(`${row}/sound.wav`)]);
    const header = new DataView(bytes.buffer);
    if (sounds.size > 7) sounds.delete(sounds.keys().next().value);
    sounds.set(row, { place: wave.place, bytes, rate: header.getUint32(24, true), size: header.getUint16(32, true) });
  }
  const found = sounds.get(row);
  if (found.place.fault) throw new Error(`It cannot be trimmed, cut or merged: ${found.place.fault}.`);
  return found;
}

function regionsOf(decision, place) {
  const regions = decision.regions ? decision.regions.split(" ").map((region) => region.split("-").map(Number)) : [[place.begin, place.end]];
  return regions.map(([from, to]) => [Math.max(from, place.begin), Math.min(to, place.end)]);
}

const textsOf = (text, n) => (n > 1 && text ? text.split(BAR) : Array(n).fill(text));
const atSample = (time, { place, rate }) => place.offset + Math.round(time * rate) / rate;
const joint = (text) => (text.includes(" ") ? " " : "");
const wordsOf = (text) => (joint(current.text) ? text.split(" ") : [...text]);

async function change({ text = typed().text, ...changed }) {
  await save({ ...current.decision, ...typed(), text: text === current.text ? "" : text, ...changed });
  fillFields(current.decision);
}

const saveRegions = (regions, text) => change({ text, regions: regions.map((region) => region.map((time) => time.toFixed(6)).join("-")).join(" ") });

async function trim() {
  const of = current;
  if (!of) return;
  const span = plot.selection;
  if (!span) return change({ regions: "", text: of.decision.regions.includes(" ") ? typed().text.split(BAR).join(joint(of.text)) : typed().text });
  const found = await soundOf(of.row), [first, last] = span.map((time) => atSample(time, found));
  const regions = regionsOf(of.decision, found.place).map(([from, to]) => [Math.max(from, first), Math.min(to, last)]);
  if (regions.some(([from, to]) => to - from < LEAST)) throw new Error("Nothing would be left of a part; take the cut back first: t without a selection.");
  plot.select(0, 0);
  await saveRegions(regions, typed().text);
}

async function cut() {
  const of = current, time = sound.currentTime;
  if (!of) return;
  const found = await soundOf(of.row), at = atSample(time, found), regions = regionsOf(of.decision, found.place);
  const n = regions.findIndex(([from, to]) => from + LEAST <= at && at <= to - LEAST);
  if (n < 0) throw new Error("Move the cursor to where the sound is to be cut: click, or ← and →.");
  const texts = textsOf(typed().text || of.text, regions.length), [from, to] = regions[n];
  const words = wordsOf(texts[n]), place = Math.round((words.length * (at - from)) / (to - from));
  if (texts[n] && words.length < 2) throw new Error("Its text is a single word.");
  regions.splice(n, 1, [from, at], [at, to]);
  of.bar = n;
  await saveRegions(regions, texts[n] ? withBar(texts, n, 1, words, Math.min(Math.max(place, 1), words.length - 1)) : "");
}

function withBar(texts, n, replaced, words, place) {
  const join = (some) => some.join(joint(current.text));
  return texts.toSpliced(n, replaced, join(words.slice(0, place)), join(words.slice(place))).join(" | ");
}

async function moveBar(by) {
  const texts = current ? typed().text.split(BAR) : [], n = Math.min(current?.bar ?? 0, texts.length - 2);
  if (n < 0 || !current.decision.regions.includes(" ")) return;
  const words = [...wordsOf(texts[n]), ...wordsOf(texts[n + 1])], place = wordsOf(texts[n]).length + by;
  if (place > 0 && place < words.length) await change({ text: withBar(texts, n, 2, words, place) });
}

async function merge() {
  const of = current;
  if (!of) return;
  if (of.decision.merge) return change({ merge: "" });
  await soundOf(of.row);
  let row = of.row, next = null;
  do {
    row += 1;
    if (row >= state.counts.utterances) throw new Error("No utterance follows this one in the store.");
    next = await get(`${row}/utterance`);
  } while (next.decision.keep === "no");
  const who = (data) => [data.decision.speaker || data.speaker, data.language, data.split].filter(Boolean).join(", ");
  if (who(next) !== who(of)) throw new Error(`${next.id} follows, which is of ${who(next)}, not of ${who(of)}.`);
  const pause = Math.min(Math.max(0, Number($("pause").value) || 0), 10);
  await change({ merge: `${pause.toFixed(2)} ${next.id}` });
}

// Two texts as one: between Chinese or Japanese characters there is no space.
const ENDS = /[\u3000-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f\u{20000}-\u{3134f}]["'“”‘’…—]*$/u, BEGINS = /^["'“”‘’…—]*[\u3000-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f\u{20000}-\u{3134f}]/u;
const both = (one, two) => `${one}${ENDS.test(one) && BEGINS.test(two) ? "" : " "}${two}`.trim();

// What an utterance becomes, sample by sample as the store has it.
async function partsOf(data, depth = 0) {
  const found = await soundOf(data.row), { decision, id } = data, regions = regionsOf(decision, found.place);
  const texts = textsOf(decision.text || data.text, regions.length);
  const at = (time) => 44 + found.size * Math.round((time - found.place.offset) * found.rate);
  const made = regions.map(([from, to], n) => ({ id: regions.length > 1 ? `${id}-${n + 1}` : id, text: texts[n] ?? "", regions: [[from, to]], found, chunks: [found.bytes.subarray(at(from), at(to))] }));
  if (!decision.merge || depth > 20) return made;
  const space = decision.merge.indexOf(" "), pause = Number(decision.merge.slice(0, space)), next = decision.merge.slice(space + 1);
  const { row } = await get("find", { id: next });
  if (row === null) throw new Error(`${next} is not in this store.`);
  const [rest] = await partsOf(await get(`${row}/utterance`), depth + 1);
  const silence = new Uint8Array(found.size * Math.round(pause * found.rate));
  return [{ ...made[0], text: both(made[0].text, rest.text), chunks: [...made[0].chunks, silence, ...rest.chunks] }];
}

async function showParts() {
  const of = current, { decision } = of, is = (other) => current === of && JSON.stringify(other) === JSON.stringify(decision);
  if (!decision.regions && !decision.merge) {
    $("edited").hidden = true;
    if (plot.regions?.length) plot.setRegions([]);
    return;
  }
  let made = [], note = "";
  try {
    const found = await soundOf(of.row), { place } = found;
    made = await partsOf({ ...of, decision });
    if (!is(of.decision)) return;
    const regions = made.flatMap((part) => part.regions);
    plot.setRegions(regions.map((region) => region.map((time) => time - place.offset)));
    const whole = { id: of.id, text: of.text, found, chunks: [found.bytes.subarray(44)], regions: [[place.begin, place.end]] };
    made = [whole, ...made];
    note = decision.merge ? "If both are of one recording, all that lies between them is taken instead of the pause." : "";
  } catch (error) { note = error.message; }
  if (!is(of.decision)) return;
  for (const { url } of parts) URL.revokeObjectURL(url);
  parts = made.map((part) => ({ ...part, data: joined(part.chunks) })).map((part) => ({ ...part, url: urlOf(part) }));
  partNext = 1;
  $("parts").replaceChildren(...parts.map(makePart));
  $("edited-note").textContent = note;
  $("edited").hidden = false;
}

function urlOf({ found, data }) {
  const header = found.bytes.slice(0, 44), view = new DataView(header.buffer);
  view.setUint32(4, 36 + data.length, true);
  view.setUint32(40, data.length, true);
  return URL.createObjectURL(new Blob([header, data], { type: "audio/wav" }));
}

function makePart(part, n) {
  const name = n ? "After" : "Before", length = part.data.length / part.found.size / part.found.rate;
  const [from, to] = part.regions[0].map((time) => time.toFixed(2));
  const button = make("button", { type: "button", "aria-label": `Play ${name.toLowerCase()}: ${part.id}` }, name);
  button.addEventListener("click", () => act(() => playPart(n)));
  return make("li", {}, button, waveOf(part), make("span", { className: "soft" }, `${part.id} · ${seconds(length)} · ${from} to ${to} s`), make("p", {}, part.text));
}

function joined(chunks) {
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) { all.set(chunk, at); at += chunk.length; }
  return all;
}

function waveOf({ found, data: bytes }) {
  const canvas = make("canvas", { width: 288, height: 64, "aria-hidden": "true" }), context = canvas.getContext("2d");
  const is16 = found.size === 2, data = new DataView(bytes.buffer), n = data.byteLength / found.size;
  const value = (i) => (is16 ? data.getInt16(2 * i, true) / 32768 : data.getFloat32(4 * i, true));
  context.fillStyle = getComputedStyle($("parts")).getPropertyValue("--wave");
  for (let x = 0; x < 288; x++) {
    let most = 0.02;
    for (let i = Math.floor((x * n) / 288); i < ((x + 1) * n) / 288 && i < n; i++) most = Math.max(most, Math.abs(value(i)));
    context.fillRect(x, 32 - 31 * Math.min(1, most), 1, 62 * Math.min(1, most));
  }
  return canvas;
}

function playPart(n) {
  if (!partSound.paused) return partSound.pause();
  if (!parts[n] || $("edited").hidden) return;
  partSound.src = parts[n].url;
  partNext = n + 1 < parts.length ? n + 1 : 1;
  play(partSound, null);
}

// The words of a text beside those of another column, such as that of a recognizer.

const NOT_OTHER = ["id", "text", "phoneme_text", "speaker", "keep", "note", "reasons", "language", "split"];

function showOtherTexts() {
  const keys = state.columns.filter((c) => c.kind !== "number" && !NOT_OTHER.includes(c.key)).map((c) => c.key), before = $("other-text").value;
  $("other-text").replaceChildren(make("option", { value: "" }, "no column"), ...keys.map((key) => make("option", { value: key }, key)));
  $("other-text").value = keys.includes(before) ? before : keys.find((key) => /asr|recogni|transcri|hypothes|whisper|heard/i.test(key)) ?? "";
  $("differences").hidden = !keys.length;
}

async function showDifference() {
  const of = current, key = $("other-text").value, groups = of && key ? await get(`${of.row}/words`, { column: key }) : [];
  if (current !== of) return;
  const size = (text) => (text ? text.split(" ").length : 0);
  const differing = groups.filter(([same]) => !same).reduce((sum, [, one, two]) => sum + Math.max(size(one), size(two)), 0);
  $("difference").replaceChildren(...groups.flatMap(([same, one, two]) => (same ? [one, " "] : [one && make("del", {}, one), " ", two && make("ins", {}, two), " "])));
  $("difference-count").textContent = key && of ? (differing ? `${count(differing, "word")} differ${differing === 1 ? "s" : ""}` : "no word differs") : "";
}

// The line of a dictionary that has a word as it is read now; the server keeps none of it.
async function showLine() {
  const of = current, word = $("word").value.trim();
  const { line, fault } = of && word ? await get(`${of.row}/word`, { word }) : { line: "" };
  if (current !== of || $("word").value.trim() !== word) return;
  $("word-line").value = line;
  if (fault) throw new Error(`${word}: ${fault}`);
  if (word) say(`${word}: ${line}`);
}

async function undo() {
  const found = await post("undo", {});
  if (found.row === null) return say("Nothing to undo");
  take(found);
  if (current && current.row === found.row) showDecision(found.decision);
  else await open(found.row);
  say("Undone");
}

// What another window has decided while this one was not looked at.
async function catchUp() {
  const of = current;
  if (!of) return;
  const { decision } = await get(`${of.row}/utterance`);
  takeOver(decision);
  takeDecision(of.row, decision);
}

// Distributions and speakers

function showView() {
  for (const button of document.querySelectorAll("[data-view]")) button.ariaPressed = String(button.dataset.view === view);
  for (const name of ["utterances", "distributions", "speakers"]) $(name).hidden = name !== view;
}

async function showHistograms() {
  const found = await get("histograms", query);
  $("distribution-count").textContent = `${count(found.total, "utterance")}. Choose a bar to see its utterances; red parts are suspects.`;
  $("histograms").replaceChildren(...found.histograms.map(histogram));
}

function histogram(h) {
  const most = Math.max(...h.counts), bars = make("div", { className: "bars-box", role: "group", "aria-label": `${h.label}: bars` });
  h.counts.forEach((n, i) => {
    const name = `${number(h.edges[i])} to ${number(h.edges[i + 1])} ${h.unit}: ${count(n, "utterance")}, ${count(h.suspects[i], "suspect")}`;
    const rest = make("i"), suspect = make("i", { className: "suspect" });
    const height = (value) => (value ? `${Math.max(1.5, (100 * value) / most)}%` : "0");
    rest.style.height = height(n - h.suspects[i]);
    suspect.style.height = height(h.suspects[i]);
    const bar = make("button", { type: "button", title: name, "aria-label": name, tabIndex: i ? -1 : 0 }, rest, suspect);
    bar.addEventListener("click", () => act(() => filterRange(h.key, h.edges[i], h.edges[i + 1])));
    bar.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: bar.previousElementSibling, ArrowRight: bar.nextElementSibling }[event.key];
      if (to?.tagName !== "BUTTON") return;
      bar.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
      event.stopPropagation();
    });
    bars.append(bar);
  });
  const first = h.edges[0], last = h.edges[h.edges.length - 1];
  for (const limit of h.limits) if (limit >= first && limit <= last) {
    const line = make("span", { className: "limit" });
    line.style.left = `${(100 * (limit - first)) / (last - first)}%`;
    bars.append(line);
  }
  const caption = make("figcaption", {}, `${h.label} `, make("small", {}, h.unit));
  const ends = make("div", { className: "ends" }, make("span", {}, number(first)), make("span", {}, `up to ${number(most)}`), make("span", {}, number(last)));
  return make("figure", { className: "histogram", title: h.meaning }, caption, bars, ends);
}

function filterRange(key, low, high) {
  const own = new RegExp(`(^| and )-?[0-9.e+-]+ <= ${key} < -?[0-9.e+-]+`);
  const rest = query.filter.replace(own, "").replace(/^ and /, "");
  const text = (value) => String(Number(value.toPrecision(10)));
  query.filter = [rest && rest.includes(" or ") && !/^\(.*\)$/.test(rest) ? `(${rest})` : rest, `${text(low)} <= ${key} < ${text(high)}`].filter(Boolean).join(" and ");
  view = "utterances";
  return refresh();
}

async function showSpeakers() {
  const { columns, speakers } = await get("speakers");
  const names = [["speaker", ""], ["utterances", ""], ["minutes", ""], ["suspects", ""], ...columns];
  const value = (s, i) => [s.name, s.utterances, s.seconds / 60, s.suspects][i] ?? s.means[i - 4];
  let by = showSpeakers.by ?? 2, down = showSpeakers.down ?? true;
  const show = () => {
    const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : (a ?? Infinity) - (b ?? Infinity));
    const sorted = [...speakers].sort((a, b) => (down ? -1 : 1) * compare(value(a, by), value(b, by)));
    $("speaker-table").tHead.replaceChildren(make("tr", {}, ...names.map(([name, unit], i) => {
      const button = make("button", { type: "button" }, `${name} ${unit}${i === by ? ARROW[down ? "descending" : "ascending"] : ""}`);
      button.addEventListener("click", () => { down = by === i ? !down : i > 0; by = i; showSpeakers.by = by; showSpeakers.down = down; show(); });
      const cell = make("th", { scope: "col", className: i ? "number" : "" }, button);
      if (i === by) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      return cell;
    })));
    $("speaker-table").tBodies[0].replaceChildren(...sorted.map((s) => {
      const name = make("button", { type: "button" }, s.name || "(none)");
      name.addEventListener("click", () => act(() => { query.filter = `speaker == ${JSON.stringify(s.name)}`; view = "utterances"; return refresh(); }));
      const cells = names.slice(1).map((_, i) => {
        const z = s.z[i - 3];
        const cell = make("td", { title: typeof z === "number" ? `z = ${z.toFixed(1)}` : "" }, number(value(s, i + 1)));
        if (Math.abs(z) > 2) cell.className = "z far";
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    }));
  };
  show();
}

// Keys

const KEYS = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  " ": () => current && play(), l: toggleLoop, "<": () => setSpeed(-1), ">": () => setSpeed(1),
  ArrowLeft: () => current && seek(sound.currentTime - 0.1), ArrowRight: () => current && seek(sound.currentTime + 0.1),
  "[": () => current && plot.select(sound.currentTime, plot.selection ? plot.selection[1] : plot.end),
  "]": () => current && plot.select(plot.selection ? plot.selection[0] : 0, sound.currentTime),
  "+": () => current && plot.setZoom(1.5), "=": () => current && plot.setZoom(1.5), "-": () => current && plot.setZoom(1 / 1.5),
  y: () => decide("yes"), n: () => decide("no"), u: () => decide("unsure"), x: () => decide(""), z: undo,
  c: () => current && edit("new-text", current.text), s: () => current && edit("new-speaker", ""), m: () => current && edit("note", ""),
  d: () => current && $("word").focus(),
  t: trim, e: cut, g: merge, ",": () => moveBar(-1), ".": () => moveBar(1), p: () => playPart(partNext),
  b: () => besideRow !== null && play(besideSound, beside),
  "/": () => $("search").focus(), f: () => $("filter").focus(), "?": () => $("help").showModal(),
  Escape: () => current && plot.select(0, 0),
};

function edit(id, text) {
  const field = $(id);
  if (!field.value) field.value = text;
  field.focus();
}

const isText = (element) => element.matches("input:not([type=checkbox]), textarea");

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (!waiting.length && (isText(target) || target.matches("select"))) {
    if (key !== "Escape" && (key !== "Enter" || !isText(target))) return;
    event.preventDefault();
    return act(leave(target, key));
  }
  // A control that was reached by keyboard takes the keys that operate it.
  if ([" ", "Enter"].includes(key) && target.matches("button:focus-visible, summary, input[type=checkbox], a:focus-visible")) return;
  if (key.startsWith("Arrow") && target.matches(".scroll, .scroller, .bars-box button")) return;
  if (!KEYS[key] && !(waiting.length && (key.length === 1 || ["Enter", "Backspace"].includes(key)))) return;
  event.preventDefault();
  // A key that is held goes through the list as fast as that can be shown, and decides once.
  if (event.repeat && (busy || "ynuxzteg".includes(key))) return;
  actOnKey({ name: key });
}

function pressed(key) {
  const field = document.activeElement;
  if (!isText(field)) return KEYS[key]?.();
  if (key === "Enter" || key === "Escape") return leave(field, key)();
  const from = field.selectionStart, to = field.selectionEnd;
  if (key.length === 1) field.setRangeText(key, from, to, "end");
  else if (key === "Backspace") field.setRangeText("", from === to ? Math.max(0, from - 1) : from, to, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// Leave a field at once, so that the next key is none of its text; return what is then to be done.
function leave(field, key) {
  const isOfQuery = field.closest("#query");
  if (!isOfQuery && key === "Escape" && current) showDecision(current.decision);
  field.blur();
  if (!isOfQuery) return saveCorrections;
  clearTimeout(typing);
  typing = 0;
  return async () => {
    try { await refresh(); } catch (error) {
      problem(error.message);
      waiting.length = 0;
      if (key === "Enter") field.focus();
    }
  };
}

function connect() {
  document.addEventListener("keydown", onKey);
  for (const id of ["query", "corrections"]) $(id).addEventListener("submit", (event) => event.preventDefault());
  for (const [id, name] of FIELDS_OF_QUERY) $(id).addEventListener("input", () => {
    query[name] = $(id).value.trim();
    clearTimeout(typing);
    typing = setTimeout(() => { typing = 0; act(mildly(refresh)); }, isText($(id)) ? 250 : 0);
  });
  $("clear").addEventListener("click", () => act(() => { for (const name of Object.keys(query)) query[name] = ""; return refresh(); }));
  $("page-back").addEventListener("click", () => act(() => refresh({ from: start - PAGE })));
  $("page-on").addEventListener("click", () => act(() => refresh({ after: rows[rows.length - 1].row })));
  for (const button of document.querySelectorAll("[data-view]")) button.addEventListener("click", () => act(() => { view = button.dataset.view; return refresh({ from: start }); }));
  // Of a double click, the second one is meant for the utterance of the first one, which may have gone.
  for (const button of document.querySelectorAll("[data-keep]")) button.addEventListener("click", (event) => {
    const of = current;
    if (event.detail < 2) act(() => current === of && decide(of.decision.keep === button.dataset.keep ? "" : button.dataset.keep));
  });
  for (const [id] of FIELDS) $(id).addEventListener("change", () => act(saveCorrections));
  $("word").addEventListener("change", () => act(mildly(showLine)));
  $("word-line").addEventListener("focus", () => $("word-line").select());
  for (const id of ["text", "normalized"]) $(id).addEventListener("dblclick", () => {
    $("word").value = String(getSelection()).replace(/^[^\p{L}\p{M}]+|[^\p{L}\p{M}]+$/gu, "");
    act(mildly(showLine));
  });
  $("other-text").addEventListener("change", () => act(mildly(showDifference)));
  $("speed").addEventListener("change", () => setSpeed());
  const actions = { previous: () => step(-1), next: () => step(1), play: () => play(), loop: toggleLoop, trim, cut, merge, "zoom-in": () => plot.setZoom(1.5), "zoom-out": () => plot.setZoom(1 / 1.5), undo, "beside-play": () => play(besideSound, beside), "help-button": () => $("help").showModal(), "to-list": () => $("list").scrollIntoView() };
  for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", () => act(action));
  sound.addEventListener("play", () => { $("play").textContent = "Pause"; });
  for (const name of ["pause", "ended"]) sound.addEventListener(name, () => { $("play").textContent = "Play"; showTime(); });
  sound.addEventListener("ended", () => { if ($("loop").ariaPressed === "true") { sound.currentTime = plot.selection ? plot.selection[0] : 0; play(); } });
  window.addEventListener("hashchange", () => act(async () => { const id = readAddress(); await refresh({ from: start }); await openId(id); }));
  window.addEventListener("focus", () => act(mildly(catchUp)));
}

async function openId(id) {
  if (!id || (current && current.id === id)) return;
  const { row } = await get("find", { id });
  if (row === null) problem(`There is no utterance ${id} in this store.`);
  else await open(row);
}

function begin() {
  plot = new Plot($("plot"), [], seek);
  beside = new Plot($("beside"), [], (time) => { besideSound.currentTime = time; beside.setTime(time); });
  const id = readAddress();
  connect();
  act(async () => {
    await mildly(async () => {
      await readState();
      plot.palette = beside.palette = palette;
      await refresh({ from: start });
      await openId(id);
    })();
    document.documentElement.dataset.ready = "true";
  });
}

begin();
