// The page's data: what is written in the document, and the curves, packed as single precision.

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

// Statistics over seeds, by name. A single row is the only seed's: it stands for all statistics.
function named(rows) {
  return Object.fromEntries(content.statistics.map((name, k) => [name, rows.length === 1 ? rows[0] : rows[k]]));
}

// Gaps are what is stored; values are gaps from a reference. Where higher is better, they lie below it.
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

// A configuration's curve along an axis, or nothing if it has none there.
function curveOf(configuration, axis, wanted) {
  const place = configuration.curves[axis]?.[wanted.metric];
  if (!place) return null;
  const [at, ...rows] = matrix(place);
  return {at, ...inForm(configuration, wanted, named(rows))};
}

// Its final values: each statistic an array of one.
function finalOf(configuration, wanted) {
  const place = configuration.finals[wanted.metric];
  if (!place) return null;
  const [row] = matrix(place);
  return inForm(configuration, wanted, named(Array.from(row, (value) => Float32Array.of(value))));
}

// The cost until a gap of at most the level is reached, by run; NaN where it is not.
function effortsOf(configuration, cost, level) {
  const kind = cost === 'iteration' ? 0 : 1;
  return matrix(configuration.efforts)[kind * content.levels.length + content.levels.indexOf(level)];
}

function written(value, digits = 4) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : '–';
}
