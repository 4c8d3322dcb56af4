// Draw the interactive plots: curves, performance profiles and step sensitivity.

const BANDS = {
  minmax: {line: 'median', low: 'min', high: 'max', label: 'min to max'},
  mean: {line: 'mean', low: 'min', high: 'max', label: 'min to max'},
  quartiles: {line: 'median', low: 'quartile_1', high: 'quartile_3', label: 'quartiles'},
  none: {line: 'median', low: null, high: null, label: ''},
};
const UNUSABLE_HEIGHT = 0.97;

// Plotly interprets some HTML tags in texts. Escape names, so that they are shown literally.
const plain = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const isDark = () => document.documentElement.dataset.theme === 'dark';
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Replacements of dark colours on a dark page, as far from the other colours as the originals.
const ON_DARK = {'#000000': '#dddddd', '#882255': '#ee3377', '#332288': '#8c7be8', '#117733': '#5cc840', '#661100': '#b5745a'};

// Return the colour of a line in the static figures, or its replacement on a dark page.
function colorOf(line) {
  return channels((isDark() && ON_DARK[line.color.toLowerCase()]) || line.color);
}
const opaque = (rgb) => `rgb(${rgb.join(',')})`;
const faint = (rgb) => `rgba(${rgb.join(',')},${isDark() ? 0.24 : 0.16})`;
const dashOf = (line) => (line.dash.length ? line.dash.map((length) => `${length}px`).join(',') : 'solid');

// Raise gaps to the floor on a logarithmic axis. Values have no floor.
function drawable(row) {
  const {metric, form} = selectedMetric();
  if (chosen.yscale === 'linear' || form === 'value') return row;
  const floor = content.metrics[metric].floor;
  return row.map((value) => Math.max(value, floor));
}

function bandTrace(x, low, high, line, extra = {}) {
  return {
    x: [...x, ...[...x].reverse()],
    y: [...high, ...[...low].reverse()],
    type: 'scatter', mode: 'lines', fill: 'toself', fillcolor: faint(colorOf(line)), line: {width: 0},
    hoverinfo: 'skip', showlegend: false, name: plain(line.name), meta: {kind: 'band'}, ...extra,
  };
}

function usableSeeds(configuration) {
  return configuration.seeds.length - Object.values(configuration.unusable).reduce((total, count) => total + count, 0);
}

// Return the step for readers, or the name of the rule that determines it.
function stepText({step, rule}) {
  return step === null ? (rule === 'none' ? '–' : rule) : formatSetting(step);
}

function settingsOf({step, rule, scale, tuned, seeds, unusable}) {
  const lost = Object.entries(unusable).map(([status, count]) => `, ${count} ${status}`).join('');
  const counted = seeds.length === 1 ? '1 seed' : `${seeds.length} seeds`;
  return `step ${stepText({step, rule})}${tuned ? ' (tuned)' : ''}, C0 ${formatSetting(scale)}<br>${counted}${lost}`;
}

function hoverTexts(curve, band, configuration, where) {
  const {low, high, line, label} = BANDS[band];
  return Array.from(curve[line], (value, k) => {
    const range = low && usableSeeds(configuration) > 1
      ? `<br>${label}: ${formatNumber(curve[low][k])} … ${formatNumber(curve[high][k])}` : '';
    return `<b>${plain(allLines[configuration.line])}</b><br>${where(k)}<br>${line}: ${formatNumber(value)}${range}<br>${settingsOf(configuration)}`;
  });
}

function curveTraces(panel) {
  const selected = selectedMetric();
  const band = BANDS[chosen.band];
  const bands = [];
  const lines = [];
  for (const configuration of configurationsIn(panel)) {
    const curve = curveOf(configuration, chosen.x, selected);
    if (!curve) continue;
    const line = content.lines[configuration.line];
    const hover = hoverTexts(curve, chosen.band, configuration, (k) => `${content.axes[chosen.x]} ${formatNumber(curve.at[k])}`);
    if (band.low && usableSeeds(configuration) > 1) {
      const start = chosen.xscale === 'log' && curve.at[0] <= 0 ? 1 : 0;
      const part = (row) => drawable(row).subarray(start);
      bands.push(bandTrace(curve.at.subarray(start), part(curve[band.low]), part(curve[band.high]), line));
    }
    const {step, scale} = configuration;
    lines.push({
      x: curve.at, y: drawable(curve[band.line]), type: 'scatter', mode: 'lines', name: plain(line.name),
      line: {color: opaque(colorOf(line)), dash: dashOf(line), width: 2}, text: hover,
      hovertemplate: '%{text}<extra></extra>', meta: {kind: 'line', line: configuration.line, step, scale},
    });
  }
  return [...bands, ...withOneEntryPerLine(lines)];
}

// Let only the first trace of each line appear in the legend of a downloaded picture.
function withOneEntryPerLine(traces) {
  const named = new Set();
  return traces.map((trace) => {
    const {showlegend = !named.has(trace.meta.line)} = trace;
    if (showlegend) named.add(trace.meta.line);
    return {...trace, showlegend};
  });
}

// Draw performance profiles: the ratio of each line's cost to the lowest cost, as in the static figure.
function profileTraces(cost) {
  const costs = new Map();
  const shown = new Set();
  for (const panel of chosen.panels) {
    const best = new Map();
    for (const configuration of configurationsIn(panel)) {
      const {line, rank} = configuration;
      if (!best.has(line) || rank < best.get(line).rank) best.set(line, configuration);
    }
    for (const configuration of best.values()) {
      shown.add(configuration.line);
      const efforts = effortsOf(configuration, cost, Number(chosen.level));
      configuration.seeds.forEach((seed, k) => {
        const problem = JSON.stringify([panel, seed]);
        if (!costs.has(problem)) costs.set(problem, new Map());
        // A level that is reached at the start costs one iteration, so that ratios are defined.
        const least = cost === content.cost.name ? content.cost.least : 1e-9;
        costs.get(problem).set(configuration.line, Number.isNaN(efforts[k]) ? Infinity : Math.max(efforts[k], least));
      });
    }
  }
  const order = [...shown].sort((a, b) => a - b);
  const ratios = new Map(order.map((line) => [line, []]));
  for (const costByLine of costs.values()) {
    const least = Math.min(...costByLine.values());
    // Each line counts only the problems that it was run on.
    for (const [line, spent] of costByLine) {
      ratios.get(line).push(Number.isFinite(spent) ? spent / least : Infinity);
    }
  }
  const largest = Math.max(1, ...[...ratios.values()].flat().filter(Number.isFinite));
  const right = Math.max(2, 1.2 * largest);
  return order.map((number) => {
    const line = content.lines[number];
    const own = ratios.get(number);
    const x = ascending([1, ...own.filter(Number.isFinite), right]);
    const y = x.map((factor) => own.filter((ratio) => ratio <= factor).length / own.length);
    return {
      x, y, type: 'scatter', mode: 'lines', name: plain(line.name),
      line: {color: opaque(colorOf(line)), dash: dashOf(line), width: 2, shape: 'hv'},
      text: `<b>${plain(line.name)}</b>`, hovertemplate: '%{text}<br>within %{x:.3g} times the best: %{y:.1%}' + ` of ${own.length}<extra></extra>`,
      meta: {kind: 'line', line: number},
    };
  });
}

// Return an error bar for a single step, at which a band would have no width.
function soleError(at, low, high) {
  if (!low || at.length !== 1) return {visible: false};
  return {type: 'data', symmetric: false, array: [high[0] - at[0]], arrayminus: [at[0] - low[0]], width: 0, thickness: 1.2};
}

// Dashes of the initial scales, for Plotly and for the legend.
const SCALE_DASHES = [['solid', []], ['dash', [6, 4]], ['dot', [2, 3]], ['dashdot', [6, 3, 2, 3]]];

function configurationsOfSteps(panel) {
  return content.configurations.filter((configuration) => configuration.panel === panel
    && configuration.step !== null
    && chosen.lines.includes(allLines[configuration.line])
    && ['best', 'all', String(configuration.scale)].includes(chosen.scale));
}
const hasSeparateScales = (configurations) => !configurations.some(({tuned}) => tuned);

// Draw final values against the step: a line per solver and, unless scales were tuned, initial scale.
function stepTraces(panel) {
  const selected = selectedMetric();
  const band = BANDS[chosen.band];
  const here = configurationsOfSteps(panel);
  const separateScales = hasSeparateScales(here);
  const groups = new Map();
  for (const configuration of here) {
    const key = JSON.stringify([configuration.line, separateScales && configuration.scale]);
    groups.set(key, [...(groups.get(key) ?? []), configuration]);
  }
  const traces = [];
  const scalesHere = ascending(here.map(({scale}) => scale));
  for (const members of groups.values()) {
    members.sort((a, b) => a.step - b.step);
    const line = content.lines[members[0].line];
    const color = opaque(colorOf(line));
    const usable = members.map((member) => [member, finalOf(member, selected)]).filter(([, values]) => values);
    const row = (name) => drawable(usable.map(([, values]) => values[name][0]));
    const at = usable.map(([{step}]) => step);
    if (band.low && usable.length > 1) traces.push(bandTrace(at, row(band.low), row(band.high), line));
    traces.push({
      x: at, y: row(band.line), type: 'scatter', mode: 'lines+markers', name: plain(line.name),
      line: {color, width: 1.5, dash: separateScales ? SCALE_DASHES[scalesHere.indexOf(members[0].scale) % SCALE_DASHES.length][0] : 'solid'},
      marker: {color, symbol: line.marker, size: 7}, error_y: soleError(row(band.line), band.low && row(band.low), band.low && row(band.high)),
      text: usable.flatMap(([member, values]) => hoverTexts(values, chosen.band, member, () => 'final value')),
      hovertemplate: '%{text}<extra></extra>', meta: {kind: 'line', line: members[0].line, scale: members[0].scale},
    });
    const failed = members.filter((member) => usableSeeds(member) < member.seeds.length);
    if (failed.length) {
      traces.push({
        x: failed.map(({step}) => step), y: failed.map(() => UNUSABLE_HEIGHT), yaxis: 'y2', type: 'scatter', mode: 'markers',
        name: plain(line.name), showlegend: false, marker: {color, symbol: 'x-thin', size: 8, line: {color, width: 2}},
        text: failed.map((member) => `<b>${plain(line.name)}</b><br>${member.seeds.length - usableSeeds(member)} of ${member.seeds.length} seeds diverged or failed<br>step ${stepText(member)}, C0 ${formatSetting(member.scale)}`),
        hovertemplate: '%{text}<extra></extra>', meta: {kind: 'unusable', line: members[0].line},
      });
    }
  }
  return withOneEntryPerLine(traces);
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
// On paper, three plots fit side by side on a landscape page and two on a portrait page.
const PRINTED = {width: 300, height: 230, autosize: false};
const LEGEND_ROW = 20;

// A plot with a title, buttons and a legend. It is drawn when it comes into view, or for printing.
class Panel {
  constructor(place, name, {traces, layout, legend, title = name}) {
    Object.assign(this, {name, traces, layout, legend, stale: true, visible: false});
    const button = (text, label, act) => {
      const node = element('button', {type: 'button', className: 'small', title: label, 'aria-label': `${label}: ${title}`}, text);
      node.addEventListener('click', act);
      return node;
    };
    this.plot = element('div', {className: 'plot', role: 'img', 'aria-label': title});
    this.note = element('p', {className: 'unusable'});
    this.entries = element('ul', {className: 'legend', 'aria-label': `Legend: ${title}`});
    this.frame = element('article', {className: 'panel'},
      element('div', {}, element('h3', {}, title),
        button('↺', 'Reset the zoom', () => { this.stale = true; this.drawIfSeen(); }),
        button('SVG', 'Download as SVG', () => this.download('svg')),
        button('PNG', 'Download as PNG', () => this.download('png'))),
      this.note, this.plot, this.entries);
    place.append(this.frame);
    Panel.observer.observe(this.frame);
    Panel.byFrame.set(this.frame, this);
  }

  // A downloaded picture has its legend below the plot.
  download(format) {
    const {width, height} = this.plot.getBoundingClientRect();
    const filename = `${content.studies.map(({name}) => name).join('-')} ${this.name}`.replace(/[^\w.-]+/g, '-');
    const rows = Math.ceil(this.entries.children.length / Math.max(1, Math.floor(width / 130)));
    const layout = {...this.layout(), showlegend: true, legend: {orientation: 'h', yref: 'container', y: 0, yanchor: 'bottom'}};
    layout.margin = {...layout.margin, b: layout.margin.b + rows * LEGEND_ROW};
    return Plotly.downloadImage({data: this.traces(), layout},
      {format, filename, width, height: height + rows * LEGEND_ROW, scale: format === 'png' ? 3 : 1});
  }

  update({hidden = false, note = ''} = {}) {
    this.frame.hidden = hidden;
    this.note.textContent = note;
    if (!hidden) this.entries.replaceChildren(...this.legend());
    this.stale = true;
    this.drawIfSeen();
  }

  drawIfSeen() {
    if (!(this.visible || Panel.printing) || !this.stale || this.frame.hidden) return;
    this.stale = false;
    const first = !this.plot.data;
    Plotly.react(this.plot, this.traces(), {...this.layout(), ...(Panel.printing ? PRINTED : {})}, CONFIG);
    if (first) this.plot.on('plotly_click', ({points}) => isolate(allLines[points[0].data.meta.line]));
    if (!performance.getEntriesByName('first-plot').length) performance.mark('first-plot');
  }
}
Panel.printing = false;
Panel.byFrame = new Map();
Panel.observer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const panel = Panel.byFrame.get(entry.target);
    panel.visible = entry.isIntersecting;
    panel.drawIfSeen();
  }
}, {rootMargin: '200px'});
