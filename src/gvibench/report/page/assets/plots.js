// The interactive plots: curves, performance profiles and step sensitivity.

const BANDS = {
  minmax: {line: 'median', low: 'min', high: 'max', words: 'min to max'},
  mean: {line: 'mean', low: 'min', high: 'max', words: 'min to max'},
  quartiles: {line: 'median', low: 'quartile_1', high: 'quartile_3', words: 'quartiles'},
  none: {line: 'median', low: null, high: null, words: ''},
};
const UNUSABLE_AT = 0.97;

// Plotly reads a few HTML tags in texts; names are to be shown as they are.
const plain = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const isDark = () => document.documentElement.dataset.theme === 'dark';
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// The static figures' colours; on a dark page those that would be lost are lightened.
function colorOf(line) {
  const rgb = channels(line.color);
  const light = (0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]) / 255;
  if (!isDark() || light > 0.33) return rgb;
  const share = 0.62 * (1 - light / 0.33) + 0.2;
  return rgb.map((value) => Math.round(value + share * (255 - value)));
}
const opaque = (rgb) => `rgb(${rgb.join(',')})`;
const faint = (rgb) => `rgba(${rgb.join(',')},${isDark() ? 0.24 : 0.16})`;
const dashOf = (line) => (line.dash.length ? line.dash.map((length) => `${length}px`).join(',') : 'solid');

// On a logarithmic axis gaps of zero are drawn at a floor; values have none.
function drawable(row) {
  const {metric, form} = wantedMetric();
  if (chosen.yscale === 'linear' || form === 'value') return row;
  const floor = content.metrics[metric].floor;
  return row.map((value) => Math.max(value, floor));
}

function bandTrace(x, low, high, line, extra = {}) {
  return {
    x: [...x, ...[...x].reverse()],
    y: [...high, ...[...low].reverse()],
    type: 'scatter', mode: 'lines', fill: 'toself', fillcolor: faint(colorOf(line)), line: {width: 0},
    hoverinfo: 'skip', name: plain(line.name), meta: {kind: 'band'}, ...extra,
  };
}

function usableSeeds(one) {
  return one.seeds.length - Object.values(one.unusable).reduce((total, count) => total + count, 0);
}

function settingsOf(one) {
  const lost = Object.entries(one.unusable).map(([status, count]) => `, ${count} ${status}`).join('');
  const seeds = one.seeds.length === 1 ? '1 seed' : `${one.seeds.length} seeds`;
  return `step ${written(one.step)}${one.tuned ? ' (tuned)' : ''}, C0 ${written(one.scale)}<br>${seeds}${lost}`;
}

function hoverTexts(found, band, one, where) {
  const {low, high, line, words} = BANDS[band];
  return Array.from(found[line], (value, k) => {
    const between = low && usableSeeds(one) > 1
      ? `<br>${words}: ${written(found[low][k])} … ${written(found[high][k])}` : '';
    return `<b>${plain(everyLine[one.line])}</b><br>${where(k)}<br>${line}: ${written(value)}${between}<br>${settingsOf(one)}`;
  });
}

function curveTraces(panel) {
  const wanted = wantedMetric();
  const band = BANDS[chosen.band];
  const bands = [];
  const lines = [];
  for (const one of configurationsIn(panel)) {
    const found = curveOf(one, chosen.x, wanted);
    if (!found) continue;
    const line = content.lines[one.line];
    const hover = hoverTexts(found, chosen.band, one, (k) => `${content.axes[chosen.x]} ${written(found.at[k])}`);
    if (band.low && usableSeeds(one) > 1) {
      const start = chosen.xscale === 'log' && found.at[0] <= 0 ? 1 : 0;
      const part = (row) => drawable(row).subarray(start);
      bands.push(bandTrace(found.at.subarray(start), part(found[band.low]), part(found[band.high]), line));
    }
    lines.push({
      x: found.at, y: drawable(found[band.line]), type: 'scatter', mode: 'lines', name: plain(line.name),
      line: {color: opaque(colorOf(line)), dash: dashOf(line), width: 2}, text: hover,
      hovertemplate: '%{text}<extra></extra>', meta: {kind: 'line', line: one.line, step: one.step, scale: one.scale},
    });
  }
  return [...bands, ...lines];
}

// Cost of every problem over that of the best line, as in the static figure.
function profileTraces(cost) {
  const costs = new Map();
  const shown = new Set();
  for (const panel of chosen.panels) {
    const best = new Map();
    for (const one of configurationsIn(panel)) {
      if (!best.has(one.line) || one.rank < best.get(one.line).rank) best.set(one.line, one);
    }
    for (const one of best.values()) {
      shown.add(one.line);
      const efforts = effortsOf(one, cost, Number(chosen.level));
      one.seeds.forEach((seed, k) => {
        const problem = JSON.stringify([panel, seed]);
        if (!costs.has(problem)) costs.set(problem, new Map());
        // What is reached at the start costs as much as one iteration, so that ratios exist.
        const least = cost === 'iteration' ? 1 : 1e-9;
        costs.get(problem).set(one.line, Number.isNaN(efforts[k]) ? Infinity : Math.max(efforts[k], least));
      });
    }
  }
  const order = [...shown].sort((a, b) => a - b);
  const ratios = new Map(order.map((line) => [line, []]));
  for (const ofProblem of costs.values()) {
    const least = Math.min(...ofProblem.values());
    // A line is judged on the problems it was given.
    for (const [line, spent] of ofProblem) {
      ratios.get(line).push(Number.isFinite(spent) ? spent / least : Infinity);
    }
  }
  const most = Math.max(1, ...[...ratios.values()].flat().filter(Number.isFinite));
  const right = Math.max(2, 1.2 * most);
  return order.map((number) => {
    const line = content.lines[number];
    const found = ratios.get(number);
    const x = ascending([1, ...found.filter(Number.isFinite), right]);
    const y = x.map((factor) => found.filter((ratio) => ratio <= factor).length / found.length);
    return {
      x, y, type: 'scatter', mode: 'lines', name: plain(line.name),
      line: {color: opaque(colorOf(line)), dash: dashOf(line), width: 2, shape: 'hv'},
      text: `<b>${plain(line.name)}</b>`, hovertemplate: '%{text}<br>within %{x:.3g} times the best: %{y:.1%}' + ` of ${found.length}<extra></extra>`,
      meta: {kind: 'line', line: number},
    };
  });
}

// A band of no width shows nothing: a single step gets a bar instead.
function soleError(at, low, high) {
  if (!low || at.length !== 1) return {visible: false};
  return {type: 'data', symmetric: false, array: [high[0] - at[0]], arrayminus: [at[0] - low[0]], width: 0, thickness: 1.2};
}

// Final values against the step: a line for every solver and, where scales were given, initial scale.
function stepTraces(panel) {
  const wanted = wantedMetric();
  const band = BANDS[chosen.band];
  const here = content.configurations.filter((one) => one.panel === panel && chosen.lines.includes(everyLine[one.line])
    && ['best', 'all', String(one.scale)].includes(chosen.scale));
  const apart = !here.some((one) => one.tuned);
  const groups = new Map();
  for (const one of here) {
    const key = JSON.stringify([one.line, apart && one.scale]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const styles = ['solid', 'dash', 'dot', 'dashdot'];
  const traces = [];
  const scalesHere = ascending(here.map((one) => one.scale));
  for (const members of groups.values()) {
    members.sort((a, b) => a.step - b.step);
    const line = content.lines[members[0].line];
    const color = opaque(colorOf(line));
    const usable = members.map((one) => [one, finalOf(one, wanted)]).filter(([, found]) => found);
    const row = (name) => drawable(usable.map(([, found]) => found[name][0]));
    const at = usable.map(([one]) => one.step);
    if (band.low && usable.length > 1) traces.push(bandTrace(at, row(band.low), row(band.high), line));
    traces.push({
      x: at, y: row(band.line), type: 'scatter', mode: 'lines+markers', name: plain(line.name),
      line: {color, width: 1.5, dash: apart ? styles[scalesHere.indexOf(members[0].scale) % styles.length] : 'solid'},
      marker: {color, symbol: line.marker, size: 7}, error_y: soleError(row(band.line), band.low && row(band.low), band.low && row(band.high)),
      text: usable.flatMap(([one, found]) => hoverTexts(found, chosen.band, one, () => 'final value')),
      hovertemplate: '%{text}<extra></extra>', meta: {kind: 'line', line: members[0].line, scale: members[0].scale},
    });
    const failed = members.filter((one) => usableSeeds(one) < one.seeds.length);
    if (failed.length) {
      traces.push({
        x: failed.map((one) => one.step), y: failed.map(() => UNUSABLE_AT), yaxis: 'y2', type: 'scatter', mode: 'markers',
        name: plain(line.name), marker: {color, symbol: 'x-thin', size: 8, line: {color, width: 2}},
        text: failed.map((one) => `<b>${plain(line.name)}</b><br>${one.seeds.length - usableSeeds(one)} of ${one.seeds.length} seeds diverged or failed<br>step ${written(one.step)}, C0 ${written(one.scale)}`),
        hovertemplate: '%{text}<extra></extra>', meta: {kind: 'unusable', line: members[0].line},
      });
    }
  }
  return traces;
}

function layoutOf(xTitle, yTitle, changes = {}) {
  const quiet = cssColor('--quiet');
  const axis = (title, type) => ({
    title: {text: plain(title), font: {size: 12}, standoff: 6}, type, gridcolor: cssColor('--grid'), linecolor: cssColor('--line'),
    zeroline: false, automargin: true, tickfont: {size: 11}, exponentformat: 'power', nticks: 6, minor: {ticks: ''},
  });
  return {
    xaxis: {...axis(xTitle, chosen.xscale), ...changes.xaxis},
    yaxis: {...axis(yTitle, chosen.yscale), ...changes.yaxis},
    ...(changes.yaxis2 ? {yaxis2: changes.yaxis2} : {}),
    margin: {l: 48, r: 12, t: 8, b: 40}, showlegend: false, hovermode: 'closest', hoverdistance: 30,
    dragmode: matchMedia('(pointer: coarse)').matches ? false : 'zoom',
    paper_bgcolor: cssColor('--paper'), plot_bgcolor: cssColor('--paper'),
    font: {family: 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif', color: quiet, size: 12},
    hoverlabel: {bgcolor: cssColor('--raised'), bordercolor: cssColor('--line'), font: {color: cssColor('--ink'), size: 12}, align: 'left'},
  };
}

const CONFIG = {displayModeBar: false, responsive: true, doubleClick: 'reset'};

// A frame with a title, a plot that is drawn once it comes into view, and its buttons.
class Panel {
  constructor(place, name, traces, layout, title = name) {
    Object.assign(this, {name, traces, layout, stale: true, visible: false});
    const button = (text, label, act) => {
      const made = element('button', {type: 'button', className: 'small', title: label, 'aria-label': `${label}: ${title}`}, text);
      made.addEventListener('click', act);
      return made;
    };
    this.plot = element('div', {className: 'plot', role: 'img', 'aria-label': title});
    this.note = element('p', {className: 'unusable'});
    this.frame = element('article', {className: 'panel'},
      element('div', {}, element('h3', {}, title),
        button('↺', 'Reset the zoom', () => { this.stale = true; this.drawIfSeen(); }),
        button('SVG', 'Download as SVG', () => this.download('svg')),
        button('PNG', 'Download as PNG', () => this.download('png'))),
      this.note, this.plot);
    place.append(this.frame);
    Panel.observer.observe(this.frame);
  }

  download(format) {
    const {width, height} = this.plot.getBoundingClientRect();
    const filename = `${content.studies.map((one) => one.name).join('-')} ${this.name}`.replace(/[^\w.-]+/g, '-');
    return Plotly.downloadImage(this.plot, {format, filename, width, height, scale: format === 'png' ? 3 : 1});
  }

  update({hidden = false, note = ''} = {}) {
    this.frame.hidden = hidden;
    this.note.textContent = note;
    this.stale = true;
    this.drawIfSeen();
  }

  drawIfSeen() {
    if (!this.visible || !this.stale || this.frame.hidden) return;
    this.stale = false;
    const first = !this.plot.data;
    Plotly.react(this.plot, this.traces(), this.layout(), CONFIG);
    if (first) this.plot.on('plotly_click', ({points}) => isolate(everyLine[points[0].data.meta.line]));
    if (!performance.getEntriesByName('first-plot').length) performance.mark('first-plot');
  }
}
Panel.every = new Map();
Panel.observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const panel = Panel.every.get(entry.target);
    panel.visible = entry.isIntersecting;
    panel.drawIfSeen();
  }
}, {rootMargin: '200px'});

function addPanel(...description) {
  const panel = new Panel(...description);
  Panel.every.set(panel.frame, panel);
  return panel;
}
