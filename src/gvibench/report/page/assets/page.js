// Fill the sections of the page, connect the controls and redraw when the selection changes.

const byId = (id) => document.getElementById(id);

// Controls

function fillSelect(id, options) {
  byId(id).replaceChildren(...options.map(([value, title, disabled = false]) => element('option', {value, disabled}, title)));
  byId(id).addEventListener('change', () => {
    chosen[id] = byId(id).value;
    // Gaps usually span many decades, values rarely do.
    if (id === 'metric') chosen.yscale = selectedMetric().form === 'gap' ? 'log' : 'linear';
    show();
  });
}

function setUpSelects() {
  const byForm = (form) => metrics.map((metric) => [`${metric}:${form}`, metricTitle({metric, form})]);
  fillSelect('metric', [...byForm('gap'), ...byForm('value')]);
  fillSelect('x', Object.entries(content.axes).map(([axis, title]) =>
    (axes.includes(axis) ? [axis, title] : [axis, `${title} (not recorded)`, true])));
  const options = (values) => [['best', 'best of each'], ['all', 'all'], ...values.map((value) => [value, formatSetting(Number(value))])];
  fillSelect('step', options(steps));
  fillSelect('scale', options(scales));
  fillSelect('level', content.levels.map((level) => [String(level), String(level)]));
  for (const id of ['yscale', 'xscale', 'band']) {
    fillSelect(id, [...byId(id).options].map((option) => [option.value, option.textContent]));
  }
}

// Add check boxes for `lines` or `panels`, each with a button that selects only this option.
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
  const allOrNone = (text, selected) => {
    const button = element('button', {type: 'button', className: 'small'}, text);
    button.addEventListener('click', () => { chosen[kind] = selected; show(); });
    return button;
  };
  place.parentElement.append(element('div', {className: 'both'}, allOrNone('All', options), allOrNone('None', [])));
}

// Show only the given line, or all lines if it is already the only one.
function isolate(line) {
  chosen.lines = chosen.lines.length === 1 && chosen.lines[0] === line ? allLines : [line];
  show();
}

// Drawing

const panels = {curves: new Map(), steps: new Map(), profile: []};
const hasCurves = content.configurations.some(({seeds, unusable}) =>
  Object.values(unusable).reduce((total, count) => total + count, 0) < seeds.length);
// A profile compares solvers, so it needs two, and a problem that one of them solves.
const hasProfiles = allLines.length > 1 && content.configurations.some(({efforts}) =>
  matrix(efforts).some((row) => row.some(Number.isFinite)));

function setUpPlots() {
  const yTitle = () => {
    const {metric, form} = selectedMetric();
    const {title, unit} = content.metrics[metric];
    return `${title}${form === 'gap' ? ' gap' : ''}${unit ? ` [${unit}]` : ''}`;
  };
  for (const name of allPanels) {
    panels.curves.set(name, new Panel(byId('curves'), name, {
      traces: () => curveTraces(name), legend: () => curveLegend(name), layout: () => layoutOf(content.axes[chosen.x], yTitle()),
    }));
  }
  for (const name of panelsWithSteps) {
    panels.steps.set(name, new Panel(byId('steps'), name, {
      traces: () => stepTraces(name),
      legend: () => stepLegend(name),
      layout: () => layoutOf('step', `final ${yTitle()}`, {
        xaxis: {type: 'log'}, yaxis2: {overlaying: 'y', range: [0, 1], fixedrange: true, visible: false},
      }),
    }));
  }
  if (!hasProfiles) return;
  for (const [cost, title] of [[content.cost.name, `Cost in ${content.cost.noun}`], ['seconds', 'Cost in solver time']]) {
    if (cost === 'seconds' && panels.profile.length && content.cost.name === 'seconds') continue;
    panels.profile.push(new Panel(byId('profile'), `profile ${cost}`, {
      title,
      traces: () => profileTraces(cost),
      legend: profileLegend,
      layout: () => layoutOf('cost / lowest cost', 'share of problems solved', {
        xaxis: {type: 'log'}, yaxis: {type: 'linear', range: [-0.03, 1.03], tickformat: '.0%'},
      }),
    }));
  }
}

function show() {
  writeAddress();
  redraw();
}

function redraw() {
  applyTheme();
  for (const id of ['metric', 'x', 'yscale', 'xscale', 'band', 'step', 'scale', 'level']) byId(id).value = chosen[id];
  for (const kind of ['lines', 'panels']) {
    for (const box of document.querySelectorAll(`input[name=${kind}]`)) box.checked = chosen[kind].includes(box.value);
  }
  [...document.querySelectorAll('#solvers label svg')].forEach((old, k) => old.replaceWith(lineSwatch(content.lines[k])));
  const title = metricTitle(selectedMetric());
  byId('explore').querySelector('h2').textContent = `${capital(title)} along the runs`;
  byId('sensitivity').querySelector('h2').textContent = `${capital(title)} against the step`;
  byId('curve-note').textContent = noteOnCurves();
  for (const name of allPanels) {
    const hidden = !chosen.panels.includes(name);
    panels.curves.get(name).update({hidden, note: noteOnUnusable(name)});
    panels.steps.get(name)?.update({hidden});
  }
  for (const panel of panels.profile) panel.update();
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function noteOnCurves() {
  const sentences = [];
  const {form} = selectedMetric();
  if (chosen.step === 'best' && chosen.scale === 'best') sentences.push('Each solver is shown at its best step and initial scale.');
  if (chosen.xscale === 'log' && chosen.x === 'iteration') sentences.push('A logarithmic axis has no zero, so iteration 0 is not shown.');
  if (chosen.yscale === 'log' && form === 'gap') {
    const {floor} = content.metrics[selectedMetric().metric];
    sentences.push(`Gaps below ${formatNumber(floor)} are drawn at ${formatNumber(floor)}.`);
  }
  const {line, label} = BANDS[chosen.band];
  sentences.push(`Lines show the ${line} over the seeds${label ? `, bands ${label}` : ''}.`);
  sentences.push(matchMedia('(pointer: coarse)').matches ? 'Tap a line to show only this line.'
    : 'Hover over a line to see its values, click it to show only this line, drag to zoom, double-click to zoom out.');
  return sentences.join(' ');
}

function noteOnUnusable(panel) {
  const here = configurationsIn(panel);
  return content.unusable.map((status) => {
    const counts = here.filter(({unusable}) => unusable[status])
      .map(({line, unusable, seeds}) => `${allLines[line]} ${unusable[status]}/${seeds.length}`);
    return counts.length ? `${status}: ${counts.join(', ')}` : '';
  }).filter(Boolean).join('; ');
}

// Text and tables

function facts(texts) {
  return element('dl', {}, ...Object.entries(texts).flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]));
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
      element('p', {className: 'conclusion'}, study.conclusion),
      makeTable(study.ranking, {className: 'ranking'}),
      // Compared studies usually have the same rule.
      ...(study === content.studies.findLast(({rule}) => rule === study.rule) ? [element('p', {className: 'note'}, study.rule)] : []),
      ...noteOnFailures(study),
      counts,
      facts({Study: study.source ? `${study.name} (${study.source})` : study.name, ...study.facts}),
      ...[study.ended].filter((section) => section.rows.length).map((section) => makeTable(section)));
  }
  for (const section of content.extra) {
    byId('comparison').append(element('p', {className: 'conclusion'}, section.conclusion));
    if (section.rows.length) byId('comparison').append(makeTable(section));
  }
}

function noteOnFailures(study) {
  const failed = study.figures.filter((figure) => figure.failed);
  return failed.length ? [element('p', {className: 'failure'}, ...failed.map(({caption}) => `${capital(caption)} `))] : [];
}

function fillTables() {
  for (const study of content.studies) {
    for (const {name, blocks} of study.tables) {
      const title = study.label ? `${study.label}: ${name}` : capital(name);
      byId('tables').append(element('h3', {id: placeOf(study, 'table', name), tabIndex: -1}, title), ...blocks.map((section) => makeTable(section)));
    }
  }
}

function fillFigures() {
  for (const study of content.studies) {
    for (const {name, caption, source, failed} of study.figures) {
      const title = study.label ? `${study.label}: ${caption}` : caption;
      const picture = source ? [element('img', {src: source, alt: title, decoding: 'async'})]
        : failed ? [] : [element('p', {className: 'empty'}, `Too large for this page: see figures/${name}.pdf`)];
      byId('figures').append(element('figure', {className: 'static', id: placeOf(study, 'figure', name), tabIndex: -1},
        ...picture, element('figcaption', {className: failed ? 'failure' : ''}, title)));
    }
  }
}

// Return the id of a table or figure, to which readers can link.
function placeOf(study, kind, name) {
  return [kind, ...(study.label ? [study.label] : []), name].join('-');
}

function hideEmptySections() {
  hideIfEmpty('explore', hasCurves);
  hideIfEmpty('profiles', hasProfiles);
  hideIfEmpty('sensitivity', panelsWithSteps.length);
  hideIfEmpty('tables', content.studies.some((study) => study.tables.length));
  hideIfEmpty('figures', content.studies.some((study) => study.figures.length));
  byId('explorer').hidden = !hasCurves && !panelsWithSteps.length;
  byId('step').closest('label').hidden = !panelsWithSteps.length;
  byId('scale').closest('label').hidden = scales.length < 2 || content.configurations.every(({tuned}) => tuned);
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
  const sentences = [
    `The curves on this page are thinned: ${grouped(kept)} of ${grouped(points)} points are kept, with their values in single precision.`,
    `The error of ${noisy ? `${grouped(faithful)} of ${grouped(faithful + noisy)}` : 'all'} curves is at most ${formatNumber(100 * linear)} % of their range`,
    `on a linear axis and ${decades} decades on a logarithmic axis (${noise} decades below ${rounding}, the level of rounding errors).`,
  ];
  if (noisy) sentences.push('The other curves are too noisy for this tolerance and keep the points with the largest changes.');
  sentences.push('The aggregate contains all points.');
  if (leftOut) sentences.push(`The curves of ${leftOut} configurations are left out to limit the size of the page; their final values are included.`);
  byId('thinning').textContent = sentences.join(' ');
}

// Theme and navigation

function applyTheme() {
  const dark = chosen.theme === 'dark' || (chosen.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
  byId('theme').textContent = dark ? 'Light' : 'Dark';
}

// Go to the section, table or figure that the address names.
function goToPlace() {
  const place = chosen.place && document.querySelector(`main [tabindex="-1"][id="${CSS.escape(chosen.place)}"]`);
  if (!place) return;
  place.scrollIntoView();
  place.focus({preventScroll: true});
}

function setUpPage() {
  byId('theme').addEventListener('click', () => { chosen.theme = isDark() ? 'light' : 'dark'; show(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  byId('copy-link').addEventListener('click', () => copy(location.href, 'Link copied'));
  byId('reset').addEventListener('click', () => { Object.assign(chosen, DEFAULTS, {theme: chosen.theme}); show(); });
  // The address also holds the selection, so links to sections must not replace it.
  for (const link of document.querySelectorAll('[data-to]')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      chosen.place = link.dataset.to;
      writeAddress();
      goToPlace();
    });
  }
  addEventListener('hashchange', () => { readAddress(); show(); goToPlace(); });
  byId('controls').open = matchMedia('(min-width: 60rem)').matches;
}

readAddress();
applyTheme();
fillOverview();
setUpSelects();
setUpChoices(document.querySelector('#solvers .choices'), 'lines', allLines, (k) => lineSwatch(content.lines[k]));
setUpChoices(document.querySelector('#panels .choices'), 'panels', allPanels);
setUpPage();
hideEmptySections();
fillThinning();
addEventListener('DOMContentLoaded', () => { // Plotly has been loaded by now
  setUpPlots();
  show();
  // Fill the sections further down after the first plots are drawn.
  setTimeout(() => {
    fillTables();
    fillFigures();
    fillProvenance();
    goToPlace();
    document.documentElement.dataset.ready = 'true';
  });
});
