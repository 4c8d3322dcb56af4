// What the reader has chosen. It lives in the address, so that a link restores it.

const everyPanel = content.panels;
const everyLine = content.lines.map((line) => line.name);
const distinct = (values) => [...new Set(values)];
const ascending = (values) => distinct(values).sort((a, b) => a - b);
const steps = ascending(content.configurations.map((one) => one.step)).map(String);
const scales = ascending(content.configurations.map((one) => one.scale)).map(String);
// What some run has; all of it if no run is usable, so that there is something to choose.
const known = (names, has) => {
  const found = names.filter((name) => content.configurations.some((one) => has(one, name)));
  return found.length ? found : names;
};
const axes = known(Object.keys(content.axes), (one, axis) => Object.keys(one.curves[axis] ?? {}).length);
const metrics = known(Object.keys(content.metrics), (one, metric) => one.curves.iteration?.[metric]);

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
  level: String(content.level),
  panels: everyPanel,
  lines: everyLine,
};

const chosen = {...DEFAULTS};

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, options] of Object.entries(OPTIONS)) {
    chosen[name] = options.includes(given.get(name)) ? given.get(name) : DEFAULTS[name];
  }
  for (const [name, options] of [['panels', everyPanel], ['lines', everyLine]]) {
    const listed = given.getAll(name);
    chosen[name] = listed.length ? options.filter((option) => listed.includes(option)) : options;
  }
}

function writeAddress() {
  const given = new URLSearchParams();
  for (const name of Object.keys(OPTIONS)) {
    if (chosen[name] !== DEFAULTS[name]) given.set(name, chosen[name]);
  }
  for (const [name, options] of [['panels', everyPanel], ['lines', everyLine]]) {
    if (chosen[name].length === options.length) continue;
    // An empty word stands for none of them.
    for (const option of chosen[name].length ? chosen[name] : ['']) given.append(name, option);
  }
  const words = given.toString();
  history.replaceState(null, '', words ? `#${words}` : location.pathname + location.search);
}

function wantedMetric() {
  const [metric, form] = chosen.metric.split(':');
  return {metric, form};
}

function metricTitle({metric, form}) {
  const title = content.metrics[metric].title;
  return form === 'gap' ? `${title} gap` : title;
}

// The configurations that are drawn in a panel: of each line the best among those that fit.
function configurationsIn(panel) {
  const best = new Map();
  for (const one of content.configurations) {
    if (one.panel !== panel || !chosen.lines.includes(everyLine[one.line])) continue;
    if (!['best', 'all', String(one.step)].includes(chosen.step)) continue;
    if (!['best', 'all', String(one.scale)].includes(chosen.scale)) continue;
    const key = JSON.stringify([one.line, chosen.step === 'all' && one.step, chosen.scale === 'all' && one.scale]);
    if (!best.has(key) || one.rank < best.get(key).rank) best.set(key, one);
  }
  return content.configurations.filter((one) => [...best.values()].includes(one));
}
