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
  redraw();
}

addEventListener('beforeprint', beforePrint);
addEventListener('afterprint', afterPrint);
