// Build the legends, one below each plot.

const SVG = 'http://www.w3.org/2000/svg';

function swatch(color, dash, shape = 'M0 5H26') {
  const svg = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  const attributes = {d: shape, fill: 'none', 'stroke-width': 2.5, stroke: color, 'stroke-dasharray': dash.join(' ')};
  for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
  for (const [name, value] of [['width', 26], ['height', 10], ['aria-hidden', 'true']]) svg.setAttribute(name, value);
  svg.append(path);
  return svg;
}

const lineSwatch = (line, dash = line.dash) => swatch(opaque(colorOf(line)), dash);
const entry = (mark, text) => element('li', {}, mark, element('span', {}, text));

// Return an entry for each of the given lines, in the order of the page.
function lineEntries(numbers, dash) {
  return ascending(numbers).map((number) => entry(lineSwatch(content.lines[number], dash), allLines[number]));
}

function curveLegend(panel) {
  const {metric} = selectedMetric();
  const drawn = configurationsIn(panel).filter(({curves}) => curves[chosen.x]?.[metric]);
  return lineEntries(drawn.map(({line}) => line));
}

function profileLegend() {
  return lineEntries(chosen.panels.flatMap((panel) => configurationsIn(panel).map(({line}) => line)));
}

function stepLegend(panel) {
  const here = configurationsOfSteps(panel);
  const entries = lineEntries(here.map(({line}) => line), []);
  const scalesHere = ascending(here.map(({scale}) => scale));
  const quiet = cssColor('--quiet');
  if (hasSeparateScales(here) && scalesHere.length > 1) {
    entries.push(...scalesHere.map((scale, k) => entry(swatch(quiet, SCALE_DASHES[k % SCALE_DASHES.length][1]), `C0 ${formatSetting(scale)}`)));
  }
  if (here.some((configuration) => usableSeeds(configuration) < configuration.seeds.length)) {
    entries.push(entry(swatch(quiet, [], 'M9 1L17 9M17 1L9 9'), 'some seeds diverged or failed'));
  }
  return entries;
}
