// The page: fills the sections, connects the controls, and draws again when something is chosen.

const byId = (id) => document.getElementById(id);

// Controls

function fillSelect(id, options) {
  byId(id).replaceChildren(...options.map(([value, title, disabled = false]) => element('option', {value, disabled}, title)));
  byId(id).addEventListener('change', () => {
    chosen[id] = byId(id).value;
    // A gap spans many decades, a value rarely does.
    if (id === 'metric') chosen.yscale = wantedMetric().form === 'gap' ? 'log' : 'linear';
    show();
  });
}

function setUpSelects() {
  const byForm = (form) => metrics.map((metric) => [`${metric}:${form}`, metricTitle({metric, form})]);
  fillSelect('metric', [...byForm('gap'), ...byForm('value')]);
  fillSelect('x', Object.entries(content.axes).map(([axis, title]) =>
    (axes.includes(axis) ? [axis, title] : [axis, `${title} (not recorded)`, true])));
  const values = (words, found) => [['best', words], ['all', 'all'], ...found.map((value) => [value, written(Number(value))])];
  fillSelect('step', values('best of each', steps));
  fillSelect('scale', values('best of each', scales));
  fillSelect('level', content.levels.map((level) => [String(level), String(level)]));
  for (const id of ['yscale', 'xscale', 'band']) {
    fillSelect(id, [...byId(id).options].map((option) => [option.value, option.textContent]));
  }
}

function swatch(line) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  made.setAttribute('width', 26);
  made.setAttribute('height', 10);
  made.setAttribute('aria-hidden', 'true');
  const stroke = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  const look = {x1: 0, x2: 26, y1: 5, y2: 5, 'stroke-width': 2.5, stroke: opaque(colorOf(line)), 'stroke-dasharray': line.dash.join(' ')};
  for (const [name, value] of Object.entries(look)) stroke.setAttribute(name, value);
  made.append(stroke);
  return made;
}

// Check boxes for `lines` or `panels`, each with a button that leaves only it.
function setUpChoices(place, kind, options, mark) {
  const boxes = options.map((option, k) => {
    const box = element('input', {type: 'checkbox', value: option, name: kind});
    box.addEventListener('change', () => {
      chosen[kind] = options.filter((_, j) => boxes[j].checked);
      show();
    });
    const only = element('button', {type: 'button', className: 'small only', 'aria-label': `Only ${option}`}, 'only');
    only.addEventListener('click', () => { chosen[kind] = [option]; show(); });
    place.append(element('div', {className: 'choice'},
      element('label', {}, box, mark ? mark(k) : null, element('span', {}, option)), only));
    return box;
  });
  const whole = (text, found) => {
    const button = element('button', {type: 'button', className: 'small'}, text);
    button.addEventListener('click', () => { chosen[kind] = found; show(); });
    return button;
  };
  place.parentElement.append(element('div', {className: 'both'}, whole('All', options), whole('None', [])));
}

// A click on a line leaves only it; a second click brings the others back.
function isolate(line) {
  chosen.lines = chosen.lines.length === 1 && chosen.lines[0] === line ? everyLine : [line];
  show();
}

// Drawing

const panels = {curves: new Map(), steps: new Map(), profile: []};

function setUpPlots() {
  const yTitle = () => {
    const {metric, form} = wantedMetric();
    const {title, unit} = content.metrics[metric];
    return `${title}${form === 'gap' ? ' gap' : ''}${unit ? ` [${unit}]` : ''}`;
  };
  for (const name of everyPanel) {
    panels.curves.set(name, addPanel(byId('curves'), name, () => curveTraces(name),
      () => layoutOf(content.axes[chosen.x], yTitle())));
    panels.steps.set(name, addPanel(byId('steps'), name, () => stepTraces(name), () => layoutOf('step', `final ${yTitle()}`, {
      xaxis: {type: 'log'},
      yaxis2: {overlaying: 'y', range: [0, 1], fixedrange: true, visible: false},
    })));
  }
  for (const [cost, title] of [['iteration', 'Cost in iterations'], ['seconds', 'Cost in solver time']]) {
    panels.profile.push(addPanel(byId('profile'), `profile ${cost}`, () => profileTraces(cost),
      () => layoutOf('cost / lowest cost', 'share of problems solved', {
        xaxis: {type: 'log'}, yaxis: {type: 'linear', range: [-0.03, 1.03], tickformat: '.0%'},
      }), title));
  }
}

function show() {
  writeAddress();
  applyTheme();
  for (const id of ['metric', 'x', 'yscale', 'xscale', 'band', 'step', 'scale', 'level']) byId(id).value = chosen[id];
  for (const kind of ['lines', 'panels']) {
    for (const box of document.querySelectorAll(`input[name=${kind}]`)) box.checked = chosen[kind].includes(box.value);
  }
  [...document.querySelectorAll('#solvers label svg')].forEach((old, k) => old.replaceWith(swatch(content.lines[k])));
  const title = metricTitle(wantedMetric());
  byId('explore').querySelector('h2').textContent = `${capital(title)} along the runs`;
  byId('sensitivity').querySelector('h2').textContent = `${capital(title)} against the step`;
  byId('curve-note').textContent = noteOnCurves();
  for (const name of everyPanel) {
    const hidden = !chosen.panels.includes(name);
    panels.curves.get(name).update({hidden, note: noteOnUnusable(name)});
    panels.steps.get(name).update({hidden});
  }
  for (const panel of panels.profile) panel.update();
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function noteOnCurves() {
  const words = [];
  const {form} = wantedMetric();
  if (chosen.step === 'best' && chosen.scale === 'best') words.push('Every solver at its best step and initial scale.');
  if (chosen.xscale === 'log' && chosen.x === 'iteration') words.push('A logarithmic axis has no zero: iteration 0 is left out.');
  if (chosen.yscale === 'log' && form === 'gap') {
    words.push(`Gaps below ${content.metrics[wantedMetric().metric].floor} are drawn there.`);
  }
  words.push('Point at a line for its values, click it to see it alone, drag to zoom, double-click to zoom out.');
  return words.join(' ');
}

function noteOnUnusable(panel) {
  const here = configurationsIn(panel);
  return content.unusable.map((status) => {
    const words = here.filter((one) => one.unusable[status])
      .map((one) => `${everyLine[one.line]} ${one.unusable[status]}/${one.seeds.length}`);
    return words.length ? `${status}: ${words.join(', ')}` : '';
  }).filter(Boolean).join('; ');
}

// Words and tables

function facts(found) {
  return element('dl', {}, ...Object.entries(found).flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]));
}

function studyTitle(study) {
  return study.label ? `${study.label}: ${study.title || study.name}` : '';
}

function fillOverview() {
  document.querySelector('h1').textContent = content.title;
  for (const study of content.studies) {
    const counts = element('ul', {className: 'counts'}, ...Object.entries(study.counts).map(([name, count]) =>
      element('li', {className: content.unusable.includes(name) && count ? 'alarm' : ''},
        element('b', {}, String(count)), count === 1 ? name.replace(/s$/, '') : name)));
    byId('overview-studies').append(
      ...(study.label ? [element('h2', {}, studyTitle(study))] : []),
      counts,
      facts({Study: study.source ? `${study.name} (${study.source})` : study.name, ...study.facts}),
      ...[study.best, study.ended].filter((section) => section.rows.length).map((section) => makeTable(section)));
  }
  byId('comparison').append(...content.extra.map((section) => makeTable(section)));
}

function fillTables() {
  for (const study of content.studies) {
    for (const {name, blocks} of study.tables) {
      const title = study.label ? `${study.label}: ${name}` : capital(name);
      byId('tables').append(element('h3', {}, title), ...blocks.map((section) => makeTable(section)));
    }
  }
  hideIfEmpty('tables', content.studies.some((study) => study.tables.length));
}

function fillFigures() {
  for (const study of content.studies) {
    for (const {name, caption, source} of study.figures) {
      const title = study.label ? `${study.label}: ${caption}` : caption;
      byId('figures').append(element('figure', {className: 'static'},
        source ? element('img', {src: source, alt: title, loading: 'lazy'}) : element('p', {className: 'empty'}, `No room here: see figures/${name}.pdf`),
        element('figcaption', {}, title)));
    }
  }
  hideIfEmpty('figures', content.studies.some((study) => study.figures.length));
}

function hideIfEmpty(id, filled) {
  byId(id).hidden = !filled;
  document.querySelector(`nav [data-to=${id}]`).hidden = !filled;
}

function fillProvenance() {
  for (const study of content.studies) {
    const {facts: versions, runs, specs, spec_of_run: ofRun} = study.provenance;
    if (study.label) byId('provenance').append(element('h3', {}, studyTitle(study)));
    byId('provenance').append(facts(versions), makeTable(runs, {
      action: (run) => {
        const button = element('button', {type: 'button', className: 'small'}, 'spec');
        button.addEventListener('click', () => {
          byId('spec').querySelector('pre').textContent = specs[ofRun[run]];
          byId('spec').showModal();
        });
        return button;
      },
    }));
  }
}

function fillThinning() {
  const {points, kept, faithful, noisy, linear, decades, rounding, noise, left_out: leftOut} = content.thinning;
  const grouped = (count) => count.toLocaleString('en');
  const words = [
    `Curves are thinned for this page: ${grouped(kept)} of ${grouped(points)} points are kept, each with its own value in single`,
    `precision. ${noisy ? `${grouped(faithful)} of ${grouped(faithful + noisy)}` : 'All'} curves are off by at most ${written(100 * linear)} % of`,
    `their range on a linear axis and ${decades} decades on a logarithmic one (${noise} below ${rounding}, which is rounding).`,
  ];
  if (noisy) words.push('The others are too noisy for that and keep the points at which they swing most.');
  words.push('The aggregate has all points.');
  if (leftOut) words.push(`Curves of ${leftOut} configurations that are not their solver's best had no room; their final values are here.`);
  byId('thinning').textContent = words.join(' ');
}

// Theme and navigation

function applyTheme() {
  const dark = chosen.theme === 'dark' || (chosen.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  byId('theme').textContent = dark ? 'Light' : 'Dark';
}

function setUpPage() {
  byId('theme').addEventListener('click', () => { chosen.theme = isDark() ? 'light' : 'dark'; show(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  byId('copy-link').addEventListener('click', () => copy(location.href, 'Link copied'));
  byId('reset').addEventListener('click', () => { Object.assign(chosen, DEFAULTS, {theme: chosen.theme}); show(); });
  // The address holds the selection: going to a section must not replace it.
  for (const link of document.querySelectorAll('[data-to]')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      byId(link.dataset.to).scrollIntoView();
      byId(link.dataset.to).focus({preventScroll: true});
    });
  }
  addEventListener('hashchange', () => { readAddress(); show(); });
  byId('controls').open = matchMedia('(min-width: 60rem)').matches;
}

readAddress();
applyTheme();
fillOverview();
setUpSelects();
setUpChoices(document.querySelector('#solvers .choices'), 'lines', everyLine, (k) => swatch(content.lines[k]));
setUpChoices(document.querySelector('#panels .choices'), 'panels', everyPanel);
setUpPage();
fillThinning();
addEventListener('DOMContentLoaded', () => { // Plotly is read by now
  setUpPlots();
  show();
  // What is further down can wait until the first plots are drawn.
  setTimeout(() => {
    fillTables();
    fillFigures();
    fillProvenance();
    document.documentElement.dataset.ready = 'true';
  });
});
