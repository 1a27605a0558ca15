// The picture of one utterance: waveform, mel, pitch and phones on one time axis, with a cursor and a selection.

const WAVE = 64, MEL = 150, PHONE_ROW = 15, TICKS = 18, LEAST_PIXELS_PER_SECOND = 60;
const SVG = "http://www.w3.org/2000/svg";

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role" || name === "lang") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

function draw(tag, attributes, text = "") {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

export class Plot {
  constructor(box, palette, onSeek) {
    this.box = box;
    this.palette = palette;
    this.onSeek = onSeek;
    this.zoom = 1;
    this.selection = null;
    new ResizeObserver(() => this.data && this.scroller.clientWidth !== this.width && this.layout()).observe(box);
  }

  // data: the description of the utterance; levels: bytes of its mel.
  show(data, levels) {
    this.data = data;
    this.levels = levels;
    this.wave = null;
    this.zoom = 1;
    this.selection = null;
    this.regions = [];
    this.start = Math.min(0, data.start);
    this.end = Math.max(data.seconds, data.start + data.frames * data.hop, 0.05);
    this.scroller = make("div", { className: "scroller", tabIndex: 0, role: "group", "aria-label": `Waveform, spectrogram, pitch and phones of ${data.id}` });
    this.area = make("div", { className: "area" });
    this.scroller.append(this.area);
    this.low = make("div", { className: "axis low" });
    this.high = make("div", { className: "axis high" });
    this.box.replaceChildren(make("div", { className: "plot" }, this.low, this.scroller, this.high));
    this.area.addEventListener("pointerdown", (event) => this.drag(event));
    this.paintMel();
    this.layout();
  }

  setWave(wave) {
    this.wave = wave;
    this.end = Math.max(this.end, wave.seconds);
    this.layout();
  }

  setZoom(factor) {
    this.zoom = Math.min(16, Math.max(1, this.zoom * factor));
    const time = this.time ?? 0;
    this.layout();
    this.scroller.scrollLeft = this.x(time) - this.scroller.clientWidth / 2;
  }

  x(time) { return (time - this.start) * this.scale; }

  paintMel() {
    const { frames, mels } = this.data;
    this.mel = make("canvas", { width: Math.max(1, frames), height: Math.max(1, mels) });
    const context = this.mel.getContext("2d");
    const image = context.createImageData(Math.max(1, frames), Math.max(1, mels));
    for (let frame = 0; frame < frames; frame++) {
      for (let bin = 0; bin < mels; bin++) {
        const colour = 3 * this.levels[frame * mels + bin];
        const pixel = 4 * ((mels - 1 - bin) * frames + frame);
        image.data[pixel] = this.palette[colour];
        image.data[pixel + 1] = this.palette[colour + 1];
        image.data[pixel + 2] = this.palette[colour + 2];
        image.data[pixel + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  layout() {
    const data = this.data, seconds = this.end - this.start;
    this.width = this.scroller.clientWidth;
    this.scale = this.zoom * Math.max(this.width / seconds, LEAST_PIXELS_PER_SECOND);
    const width = seconds * this.scale, phones = data.phones.length ? 2 * PHONE_ROW + 4 : 0;
    const height = WAVE + MEL + phones + TICKS;
    this.area.style.width = `${width}px`;
    this.area.style.height = `${height}px`;
    this.low.style.height = this.high.style.height = `${height}px`;
    Object.assign(this.mel.style, { left: `${this.x(data.start)}px`, top: `${WAVE}px`, width: `${data.frames * data.hop * this.scale}px`, height: `${MEL}px` });
    this.overlay = draw("svg", { width, height, "aria-hidden": "true" });
    this.selected = make("div", { className: "selection", hidden: true });
    this.cursor = make("div", { className: "cursor" });
    this.cursor.style.height = this.selected.style.height = `${WAVE + MEL}px`;
    this.area.replaceChildren(this.waveform(width), this.mel, this.overlay, this.selected, this.cursor);
    this.low.replaceChildren(...data.marks.map(([hertz, bin]) => this.label(hertz >= 1000 ? `${hertz / 1000} kHz` : `${hertz} Hz`, WAVE + MEL * (1 - (bin + 0.5) / data.mels))));
    this.high.replaceChildren();
    this.drawPhones();
    this.drawTicks(width, height);
    this.drawPitch();
    this.drawRegions();
    this.setTime(this.time ?? 0);
    this.showSelection();
  }

  label(text, top) {
    const span = make("span", {}, text);
    span.style.top = `${Math.min(Math.max(top, WAVE + 6), WAVE + MEL - 6)}px`;
    return span;
  }

  waveform(width) {
    const ratio = Math.min(2, window.devicePixelRatio || 1), columns = Math.min(8000, Math.round(width * ratio));
    const canvas = make("canvas", { width: Math.max(1, columns), height: WAVE * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${WAVE}px`, left: 0, top: 0 });
    if (!this.wave || !this.wave.low.length) return canvas;
    const { low, high, seconds } = this.wave, context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(this.box).getPropertyValue("--wave");
    const step = (seconds * this.scale * columns) / width / low.length, left = (this.x(0) * columns) / width;
    const middle = (WAVE * ratio) / 2, unit = (middle - 1) / Math.max(200, ...high, ...low.map((v) => -v));
    for (let i = 0; i < low.length; i++) {
      const top = middle - high[i] * unit, bottom = middle - low[i] * unit;
      context.fillRect(left + i * step, top, Math.max(1, step), Math.max(1, bottom - top));
    }
    return canvas;
  }

  drawPhones() {
    const bottom = WAVE + MEL;
    this.data.phones.forEach(([symbol, start, end], number) => {
      const x = this.x(start);
      this.overlay.append(draw("line", { class: "boundary", x1: x, x2: x, y1: WAVE, y2: bottom }));
      this.overlay.append(draw("line", { class: "edge", x1: x, x2: x, y1: bottom, y2: bottom + 2 * PHONE_ROW + 4 }));
      this.overlay.append(draw("text", { x: (x + this.x(end)) / 2, y: bottom + 13 + PHONE_ROW * (number % 2), "text-anchor": "middle" }, symbol));
    });
  }

  drawTicks(width, height) {
    const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30].find((s) => s * this.scale >= 55) ?? 60;
    for (let i = 0; i * step <= this.end; i++) {
      const x = this.x(i * step);
      this.overlay.append(draw("line", { class: "tick-line", x1: x, x2: x, y1: height - TICKS, y2: height - TICKS + 4 }));
      const anchor = x < 14 ? "start" : x > width - 24 ? "end" : "middle";
      this.overlay.append(draw("text", { class: "tick", x, y: height - 3, "text-anchor": anchor }, `${Number((i * step).toFixed(2))} s`));
    }
  }

  drawPitch() {
    const known = (this.data.pitch ?? []).filter((value) => value !== null);
    if (!known.length) return;
    let low = known.reduce((a, b) => Math.min(a, b)), high = known.reduce((a, b) => Math.max(a, b));
    low = Math.max(0, low * 0.85); high = high * 1.1 + 1;
    const y = (value) => WAVE + MEL - 4 - ((value - low) / (high - low)) * (MEL - 8);
    let path = "", down = false;
    this.data.pitch.forEach((value, frame) => {
      if (value === null) { down = false; return; }
      const x = this.x(this.data.start + (frame + 0.5) * this.data.hop);
      path += `${down ? "L" : "M"}${x.toFixed(1)} ${y(value).toFixed(1)}${down ? "" : "h.1"}`;
      down = true;
    });
    this.overlay.append(draw("path", { class: "pitch", d: path }));
    const step = [10, 20, 50, 100, 200].find((s) => (high - low) / s <= 5) ?? 500;
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) this.high.append(this.label(`${value} Hz`, y(value)));
  }

  // regions: what is kept of the sound, in seconds; none if all of it is.
  setRegions(regions) {
    this.regions = regions;
    this.layout();
  }

  drawRegions() {
    const height = WAVE + MEL, edges = [this.start, ...this.regions.flat(), this.end];
    if (this.regions.length) for (let i = 0; i < edges.length; i += 2) {
      const x = this.x(edges[i]), width = this.x(edges[i + 1]) - x;
      if (width > 0.5) this.overlay.append(draw("rect", { class: "gone", x, y: 0, width, height }));
      if (i && i + 2 < edges.length) this.overlay.append(draw("line", { class: "cut", x1: x, x2: x, y1: 0, y2: height }));
    }
  }

  setTime(time, follow = false) {
    this.time = time;
    const x = this.x(time);
    this.cursor.style.left = `${x}px`;
    const left = this.scroller.scrollLeft;
    if (follow && (x < left || x > left + this.scroller.clientWidth)) this.scroller.scrollLeft = x - 40;
  }

  select(start, end) {
    this.selection = end - start > 0.01 ? [Math.max(0, start), Math.min(this.end, end)] : null;
    this.showSelection();
  }

  showSelection() {
    this.selected.hidden = !this.selection;
    if (!this.selection) return;
    this.selected.style.left = `${this.x(this.selection[0])}px`;
    this.selected.style.width = `${(this.selection[1] - this.selection[0]) * this.scale}px`;
  }

  drag(event) {
    if (event.button !== 0) return;
    const at = (e) => Math.min(this.end, Math.max(0, this.start + (e.clientX - this.area.getBoundingClientRect().left) / this.scale));
    const first = at(event);
    this.area.setPointerCapture(event.pointerId);
    this.select(first, first);
    const move = (e) => { const now = at(e); this.select(Math.min(first, now), Math.max(first, now)); };
    const up = () => {
      this.area.removeEventListener("pointermove", move);
      this.onSeek(this.selection ? this.selection[0] : first);
    };
    this.area.addEventListener("pointermove", move);
    this.area.addEventListener("pointerup", up, { once: true });
    this.area.addEventListener("pointercancel", up, { once: true });
  }
}
