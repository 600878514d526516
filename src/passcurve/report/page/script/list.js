/** @typedef {{name: string, judged: number, passed: number, finished: boolean}} Counts */

const boxes = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll('input[type=checkbox]')]);
const button = /** @type {HTMLButtonElement|null} */ (document.getElementById('beside'));
const note = /** @type {HTMLElement} */ (document.getElementById('live'));

function chosen() {
  return boxes.filter((box) => box.checked).map((box) => `run=${encodeURIComponent(box.value)}`);
}

for (const box of boxes) {
  box.addEventListener('change', () => {
    if (button) button.disabled = chosen().length < 2;
  });
}
button?.addEventListener('click', () => location.assign(`report?${chosen().join('&')}`));

/** @param {Counts[]} runs */
function update(runs) {
  const rows = new Map([...document.querySelectorAll('tr[data-run]')].map((row) => [row.getAttribute('data-run'), row]));
  for (const run of runs) {
    const row = rows.get(run.name);
    if (!row) continue;
    const cells = { 'passed-count': run.passed, 'judged-count': run.judged };
    for (const [name, value] of Object.entries(cells)) {
      const cell = row.querySelector(`.${name}`);
      if (cell) cell.textContent = value.toLocaleString('en-US');
    }
    const state = row.querySelector('.state');
    if (state) state.textContent = run.finished ? 'finished' : 'goes on';
  }
  const isNew = runs.some((run) => !rows.has(run.name));
  note.textContent = isNew ? 'There are new runs: load this page again to see them.' : '';
  note.hidden = !isNew;
}

new EventSource(document.documentElement.dataset.events ?? '').addEventListener('message', (event) => {
  update(JSON.parse(event.data));
  document.documentElement.dataset.ready = 'true';
});
