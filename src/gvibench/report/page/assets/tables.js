// Build tables that can be sorted, and copied as CSV or LaTeX in the order shown.

const MAX_ROWS_AT_FIRST = 60;

function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in node) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

const NUMBER = /[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i;
// A cell counts as a number if it has a range, brackets or a note: 1.5 [1.2, 1.9], (0.3), 2/5, 0.1 (tuned).
const NUMERIC = new RegExp(`^\\(?${NUMBER.source}( \\[[^a-df-z]*\\])?\\)?(/\\d+)?( \\([^)]*\\))?$`, 'i');
const HASH = /^[0-9a-f]{16}\b/;

// Words in place of a number. They do not decide whether a column is numeric.
const MISSING = new Set(['never', 'undefined', '–']);

function numberIn(text) {
  return NUMERIC.test(text) && !HASH.test(text) ? Number(NUMBER.exec(text)[0]) : NaN;
}

function isNumeric(section, column) {
  if (column < section.text_columns) return false;
  const cells = section.rows.map((row) => row[column]).filter((text) => !MISSING.has(text));
  const count = cells.filter((text) => !Number.isNaN(numberIn(text))).length;
  return count > 0 && 2 * count >= cells.length;
}

// Compare two cells for sorting. Numbers come before words.
function compareCells(first, second, numeric) {
  const [a, b] = [numberIn(first), numberIn(second)];
  if (numeric && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (numeric && Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return first.localeCompare(second, 'en', {numeric: true});
}

// Columns with names and sentences, whose numbers are not rounded.
const VERBATIM = new Set(['data set', 'solver', 'description', 'reason', 'because', 'host', 'split']);

// Return the cell with two or three digits per number. Its tooltip shows all digits.
function makeCell(section, k, column, className) {
  const text = section.rows[k][column];
  const title = section.columns[column];
  const isSetting = /\b(steps?|C0)\b/.test(title) || /^(Steps|Initial scales)\b/.test(section.caption);
  const shown = VERBATIM.has(title) || HASH.test(text) ? text : shortened(text, isSetting ? SETTING_DIGITS : 3);
  const full = section.full?.[k][column] ?? text;
  // A range stays on one line.
  const [center, ...range] = shown.split(/ (?=\[.*\])/);
  const cell = element('td', {className, 'data-title': title}, center, ...range.flatMap((part) => [' ', element('span', {}, part)]));
  if (full !== shown) cell.title = full;
  return cell;
}

const allTables = [];

// Show all rows of all tables while the page is printed.
function showAllRows(all) {
  for (const table of allTables) table(all);
}

// Build a table. If `action` is given, it returns the content of an extra first cell for a row index.
function makeTable(section, {action = null, className = ''} = {}) {
  let order = section.rows.map((_, k) => k);
  let complete = false;
  const isShownAtFirst = (k, position) => (section.leading ? section.leading[k] : position < (section.rows_at_first ?? MAX_ROWS_AT_FIRST));
  const numeric = section.columns.map((_, column) => isNumeric(section, column));
  const body = element('tbody');
  const more = element('button', {type: 'button', className: 'small more'});

  function fill(all = complete) {
    const shown = all ? order : order.filter(isShownAtFirst);
    body.replaceChildren(...shown.map((k) => {
      const cells = section.rows[k].map((text, column) => makeCell(section, k, column, cellClass(text, column)));
      return element('tr', {}, action && element('td', {}, action(k)), ...cells);
    }));
    more.hidden = shown.length === order.length;
    more.textContent = `Show all ${order.length} rows`;
  }
  allTables.push((all) => fill(all || complete));

  function cellClass(text, column) {
    if (numeric[column]) return 'num';
    if (HASH.test(text)) return 'code';
    return text.length > 24 ? 'long' : '';
  }

  const heads = section.columns.map((title, column) => {
    const head = element('th', {scope: 'col', className: numeric[column] ? 'num' : ''});
    const button = element('button', {type: 'button', className: title.length < 12 ? 'short' : ''}, title);
    button.addEventListener('click', () => {
      const descending = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      order = section.rows.map((_, k) => k).sort((j, k) => {
        const exact = (row) => section.full?.[row][column] ?? section.rows[row][column];
        const difference = compareCells(exact(j), exact(k), numeric[column]);
        return (descending ? -difference : difference) || j - k;
      });
      fill();
    });
    head.append(button);
    return head;
  });
  more.addEventListener('click', () => { complete = true; fill(); });
  fill();

  // The first sentence of a caption names its table.
  const name = section.caption.split(/[.:;] /)[0] || 'table';
  const copyButton = (title, text) => {
    const button = element('button', {type: 'button', className: 'small'}, title);
    button.addEventListener('click', () => copy(text(), `${title.replace('Copy ', '')} copied`));
    return button;
  };
  return element(
    'figure', {className: `table ${className}`},
    element('figcaption', {}, element('span', {}, section.caption),
      copyButton('Copy CSV', () => csvOf(section, order)),
      copyButton('Copy LaTeX', () => latexOf(section, order, numeric))),
    element('div', {className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name},
      element('table', {}, element('thead', {}, element('tr', {}, action && element('td', {}, element('span', {className: 'unseen'}, 'Spec')), ...heads)), body)),
    more,
  );
}

// Return the values of a table in full precision if they are known, or else the cells as shown.
function csvOf(section, order) {
  const {head, rows} = section.csv ?? {head: section.columns, rows: section.rows};
  const quoted = (cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return [head, ...order.map((k) => rows[k])].map((row) => `${row.map(quoted).join(',')}\n`).join('');
}

const LATEX = {
  '\\': '\\textbackslash{}', '&': '\\&', '%': '\\%', $: '\\$', '#': '\\#', _: '\\_', '{': '\\{', '}': '\\}',
  '~': '\\textasciitilde{}', '^': '\\textasciicircum{}', '<': '\\textless{}', '>': '\\textgreater{}',
  '–': '--', '—': '---', '…': '\\dots{}', '−': '$-$', '→': '$\\to$',
};

function latexOf(section, order, numeric) {
  const escaped = (text) => text.replace(/[\\&%$#_{}~^<>–—…−→]/g, (character) => LATEX[character]);
  // LaTeX would read a bracket at the start of a row as an option of the preceding \\.
  const cell = (text) => (text.startsWith('[') ? '{}' : '') + escaped(text);
  const row = (cells) => `${cells.map(cell).join(' & ')} \\\\`;
  return [
    '% Needs \\usepackage{booktabs}.',
    `\\begin{tabular}{${numeric.map((is) => (is ? 'r' : 'l')).join('')}}`,
    '\\toprule', row(section.columns), '\\midrule',
    ...order.map((k) => row(section.rows[k])),
    '\\bottomrule', '\\end{tabular}', '',
  ].join('\n');
}

async function copy(text, message) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard may be blocked, e.g. in a frame of another page. The older method still works.
    const field = element('textarea', {value: text});
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  showMessage(message);
}

let timer = 0;
function showMessage(text) {
  const box = document.getElementById('message');
  box.textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => box.replaceChildren(), 2000);
}
