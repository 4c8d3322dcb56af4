// Keep the reader's selection in the address of the page, so that a link restores it.

const allPanels = content.panels;
const allLines = content.lines.map((line) => line.name);
const distinct = (values) => [...new Set(values)];
const ascending = (values) => distinct(values).sort((a, b) => a - b);
// The step is null if the solver has none or the step rule searches for it.
const steps = ascending(content.configurations.map((configuration) => configuration.step).filter((step) => step !== null)).map(String);
const scales = ascending(content.configurations.map((configuration) => configuration.scale)).map(String);
// Return the names that apply to some configuration, or all names if no run is usable.
const available = (names, has) => {
  const present = names.filter((name) => content.configurations.some((configuration) => has(configuration, name)));
  return present.length ? present : names;
};
const axes = available(Object.keys(content.axes), (configuration, axis) => Object.keys(configuration.curves[axis] ?? {}).length);
const metrics = available(Object.keys(content.metrics), (configuration, metric) => configuration.curves.iteration?.[metric]);

const OPTIONS = {
  metric: metrics.flatMap((metric) => [`${metric}:gap`, `${metric}:value`]),
  x: axes,
  yscale: ['log', 'linear'],
  xscale: ['log', 'linear'],
  band: ['minmax', 'mean', 'quartiles', 'none'],
  step: ['best', 'all', ...steps],
  scale: ['best', 'all', ...scales],
  level: content.levels.map(String),
  theme: ['auto', 'light', 'dark'],
};
const DEFAULTS = {
  ...Object.fromEntries(Object.entries(OPTIONS).map(([name, options]) => [name, options[0]])),
  x: axes.includes(content.cost.curve) ? content.cost.curve : axes[0],
  level: String(content.level),
  panels: allPanels,
  lines: allLines,
};

const chosen = {...DEFAULTS, place: ''};

// An address is the id of an element, the selection, or both: #tables&metric=test_nll:gap
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const isPlace = /^#[^=&]+(&|$)/.test(location.hash);
  chosen.place = isPlace ? [...given.keys()][0] : '';
  for (const [name, options] of Object.entries(OPTIONS)) {
    chosen[name] = options.includes(given.get(name)) ? given.get(name) : DEFAULTS[name];
  }
  for (const [name, options] of [['panels', allPanels], ['lines', allLines]]) {
    const listed = given.getAll(name);
    chosen[name] = listed.length ? options.filter((option) => listed.includes(option)) : options;
  }
}

function writeAddress() {
  const given = new URLSearchParams();
  for (const name of Object.keys(OPTIONS)) {
    if (chosen[name] !== DEFAULTS[name]) given.set(name, chosen[name]);
  }
  for (const [name, options] of [['panels', allPanels], ['lines', allLines]]) {
    if (chosen[name].length === options.length) continue;
    // An empty value means that nothing is selected.
    for (const option of chosen[name].length ? chosen[name] : ['']) given.append(name, option);
  }
  const query = [encodeURIComponent(chosen.place), given.toString()].filter(Boolean).join('&');
  history.replaceState(null, '', query ? `#${query}` : location.pathname + location.search);
}

function selectedMetric() {
  const [metric, form] = chosen.metric.split(':');
  return {metric, form};
}

function metricTitle({metric, form}) {
  const title = content.metrics[metric].title;
  return form === 'gap' ? `${title} gap` : title;
}

// Return the configurations to draw in a panel: for each line, the best one that matches the selection.
function configurationsIn(panel) {
  const best = new Map();
  for (const configuration of content.configurations) {
    const {line, step, scale, rank} = configuration;
    if (configuration.panel !== panel || !chosen.lines.includes(allLines[line])) continue;
    if (!['best', 'all', String(step)].includes(chosen.step)) continue;
    if (!['best', 'all', String(scale)].includes(chosen.scale)) continue;
    const key = JSON.stringify([line, chosen.step === 'all' && step, chosen.scale === 'all' && scale]);
    if (!best.has(key) || rank < best.get(key).rank) best.set(key, configuration);
  }
  const drawn = new Set(best.values());
  return content.configurations.filter((configuration) => drawn.has(configuration));
}

// Return whether some solver was run with several steps on a data set. Tuned solvers have only one.
function variesSteps(panel) {
  const steps = new Map();
  for (const {panel: where, line, step} of content.configurations) {
    if (where === panel) steps.set(line, (steps.get(line) ?? new Set()).add(step));
  }
  return [...steps.values()].some((values) => values.size > 1);
}
const panelsWithSteps = allPanels.filter(variesSteps);
