// Prepare the page for paper: light colours, all plots, all rows.

let themeOnScreen = '';

function beforePrint() {
  if (Panel.printing) return;
  Panel.printing = true;
  themeOnScreen = chosen.theme;
  chosen.theme = 'light';
  showAllRows(true);
  redraw();
}

function afterPrint() {
  if (!Panel.printing) return;
  Panel.printing = false;
  chosen.theme = themeOnScreen;
  showAllRows(false);
  // A plot that was drawn in a fixed size would keep it.
  for (const {plot} of Panel.byFrame.values()) if (plot.data) Plotly.purge(plot);
  // The page has its size on the screen again only after this event.
  setTimeout(redraw);
}

addEventListener('beforeprint', beforePrint);
addEventListener('afterprint', afterPrint);
