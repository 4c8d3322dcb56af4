// Tables that sort, and that can be copied as CSV or LaTeX in the order in which they are shown.

const FEW_ROWS = 60;

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const NUMBER = /[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?/i;
// A number may come with its range, in brackets, or as a share: 1.5 [1.2, 1.9], (0.3), 2/5, 0.1 (tuned).
const NUMERIC = new RegExp(`^\\(?${NUMBER.source}( \\[[^a-df-z]*\\])?\\)?(/\\d+)?( \\([^)]*\\))?$`, 'i');
const HASH = /^[0-9a-f]{16}\b/;

function numberIn(text) {
  return NUMERIC.test(text) && !HASH.test(text) ? Number(NUMBER.exec(text)[0]) : NaN;
}

function isNumeric(section, column) {
  if (column < section.words) return false;
  const count = section.rows.filter((row) => !Number.isNaN(numberIn(row[column]))).length;
  return 2 * count >= section.rows.length;
}

// Numbers in order, then words; rows that are equal keep their order.
function compareCells(one, other, numeric) {
  const [a, b] = [numberIn(one), numberIn(other)];
  if (numeric && !Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  if (numeric && Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1;
  return one.localeCompare(other, 'en', {numeric: true});
}

// `action`, if given, makes a first cell from the number of a row.
function makeTable(section, {action = null} = {}) {
  let order = section.rows.map((_, k) => k);
  let limit = FEW_ROWS;
  const numeric = section.columns.map((_, column) => isNumeric(section, column));
  const body = element('tbody');
  const more = element('button', {type: 'button', className: 'small more'});

  function fill() {
    body.replaceChildren(...order.slice(0, limit).map((k) => {
      const cells = section.rows[k].map((text, column) => element('td', {className: look(text, column)}, text));
      return element('tr', {}, action && element('td', {}, action(k)), ...cells);
    }));
    more.hidden = order.length <= limit;
    more.textContent = `Show all ${order.length} rows`;
  }

  function look(text, column) {
    if (numeric[column]) return 'num';
    if (HASH.test(text)) return 'code';
    return text.length > 48 ? 'long' : '';
  }

  const heads = section.columns.map((title, column) => {
    const head = element('th', {scope: 'col', className: numeric[column] ? 'num' : ''});
    const button = element('button', {type: 'button'}, title);
    button.addEventListener('click', () => {
      const falling = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
      order = section.rows.map((_, k) => k).sort((one, other) => {
        const difference = compareCells(section.rows[one][column], section.rows[other][column], numeric[column]);
        return (falling ? -difference : difference) || one - other;
      });
      fill();
    });
    head.append(button);
    return head;
  });
  more.addEventListener('click', () => { limit = Infinity; fill(); });
  fill();

  const name = section.caption || 'table';
  const copyButton = (title, text) => {
    const button = element('button', {type: 'button', className: 'small'}, title);
    button.addEventListener('click', () => copy(text(), `${title.replace('Copy ', '')} copied`));
    return button;
  };
  return element(
    'figure', {className: 'table'},
    element('figcaption', {}, element('span', {}, section.caption),
      copyButton('Copy CSV', () => csvOf(section, order)),
      copyButton('Copy LaTeX', () => latexOf(section, order, numeric))),
    element('div', {className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': name},
      element('table', {}, element('thead', {}, element('tr', {}, action && element('td'), ...heads)), body)),
    more,
  );
}

// The values behind a table where there are any, in full precision; else what is shown.
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
  const escaped = (text) => text.replace(/[\\&%$#_{}~^<>–—…−→]/g, (found) => LATEX[found]);
  // A row that begins with a bracket would be read as an option of the \\ before it.
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

async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not allowed here, as in a frame of another page: the old way still is.
    const field = element('textarea', {value: text});
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
  say(said);
}

let silence = 0;
function say(text) {
  const said = document.getElementById('said');
  said.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => said.replaceChildren(), 2000);
}
