// Read the data of the page: the JSON in the document and the packed curves in single precision.

const content = JSON.parse(document.getElementById('content').textContent);
const numbers = unpack(content.numbers);

function unpack(text) {
  const bytes = atob(text);
  const buffer = new Uint8Array(bytes.length);
  for (let k = 0; k < bytes.length; k++) buffer[k] = bytes.charCodeAt(k);
  return new Float32Array(buffer.buffer);
}

function matrix([start, rows, columns]) {
  return Array.from({length: rows}, (_, k) => numbers.subarray(start + k * columns, start + (k + 1) * columns));
}

// Return statistics over seeds by name. If there is one seed, its row is used for all statistics.
function named(rows) {
  return Object.fromEntries(content.statistics.map((name, k) => [name, rows.length === 1 ? rows[0] : rows[k]]));
}

// Compute values from gaps and their reference. Values of metrics that are maximised lie below it.
function asValues(gaps, reference, falls) {
  const from = (row) => Float64Array.from(row, (gap) => (falls ? reference - gap : reference + gap));
  const values = Object.fromEntries(Object.entries(gaps).map(([name, row]) => [name, from(row)]));
  if (falls) {
    [values.min, values.max] = [values.max, values.min];
    [values.quartile_1, values.quartile_3] = [values.quartile_3, values.quartile_1];
  }
  return values;
}

function inForm(configuration, {metric, form}, gaps) {
  if (form === 'gap') return gaps;
  const falls = Boolean(content.metrics[metric].falls);
  return asValues(gaps, configuration.references[metric], falls);
}

// Return the curve of a configuration along an axis, or null if there is none.
function curveOf(configuration, axis, selected) {
  const place = configuration.curves[axis]?.[selected.metric];
  if (!place) return null;
  const [at, ...rows] = matrix(place);
  return {at, ...inForm(configuration, selected, named(rows))};
}

// Return the final values of a configuration: for each statistic, an array with one element.
function finalOf(configuration, selected) {
  const place = configuration.finals[selected.metric];
  if (!place) return null;
  const [row] = matrix(place);
  return inForm(configuration, selected, named(Array.from(row, (value) => Float32Array.of(value))));
}

// Return the cost of each run until the gap settles at the level, or NaN if it does not.
function effortsOf(configuration, cost, level) {
  const kind = cost === 'seconds' ? 1 : 0;
  return matrix(configuration.efforts)[kind * content.levels.length + content.levels.indexOf(level)];
}

// Return the fewest digits, two at least, that keep distinct values distinct.
function digitsFor(values) {
  const count = new Set(values).size;
  return [2, 3, 4, 6].find((digits) => new Set(values.map((value) => value.toPrecision(digits))).size === count) ?? 17;
}
const SETTING_DIGITS = Math.max(
  ...['step', 'scale'].map((name) => digitsFor(content.configurations.map((configuration) => configuration[name]).filter((value) => value !== null))));

// Round a number for readers. The integer part keeps all digits.
function formatNumber(value, digits = 3) {
  if (!Number.isFinite(value)) return '–';
  const rounded = Number(value.toPrecision(digits));
  const size = Math.abs(rounded);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return rounded.toExponential().replace('e+', 'e');
  return String(size >= 10 ** digits ? Math.round(value) : rounded);
}
const formatSetting = (value) => formatNumber(value, SETTING_DIGITS);

const NUMBER_IN_TEXT = /(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?![\w.]*\w)/gi;

// Round all numbers in a text except integers.
function shortened(text, digits) {
  return text.replace(NUMBER_IN_TEXT, (found) => (/^[-+]?\d+$/.test(found) ? found : formatNumber(Number(found), digits)));
}
