/**
 * A filter that is set, in words, and what clears it.
 * @typedef {{label: string, clear: () => void}} Chip
 */

/**
 * Show which filters are set, each with a button that clears it, and one for all.
 * @param {any} place
 * @param {Chip[]} chips
 * @param {() => void} changed
 */
function showChips(place, chips, changed) {
  const button = (/** @type {Chip[]} */ cleared, /** @type {string} */ label, /** @type {Node|string} */ text) =>
    make('button', { type: 'button', class: 'chip', 'aria-label': label, click: () => {
      for (const chip of cleared) chip.clear();
      changed();
    } }, text);
  place.replaceChildren(
    ...chips.map((chip) => button([chip], `clear the filter ${chip.label}`, make('span', {}, isolate(chip.label), ' \u00d7'))),
    ...(chips.length ? [button(chips, 'clear all filters', 'clear all')] : []));
}

/**
 * Return the chips of the controls that are set.
 * @param {any[]} controls
 * @returns {Chip[]}
 */
function chipsOf(controls) {
  return controls.filter((control) => control && control.value.trim() !== '' && control.dataset.chip).map((control) => ({
    label: `${control.dataset.chip} ${control.options ? control.selectedOptions[0].textContent : control.value.trim()}`.trim(),
    clear: () => { control.value = ''; },
  }));
}

/**
 * Return the tests of some search fields, and mark a field whose pattern is none; null where there is such a field.
 * @param {any[]} fields
 * @returns {((text: string) => boolean)[]|null}
 */
function testsOf(fields) {
  const tests = fields.map((field) => matcher(field.value.trim()));
  fields.forEach((field, at) => field.setAttribute('aria-invalid', String(tests[at] === null)));
  return tests.includes(null) ? null : /** @type {((text: string) => boolean)[]} */ (tests);
}

/**
 * Keep in the address of a view which filters are set, so that it can be copied and loaded again.
 * @param {string} view
 * @param {[string, string][]} filters
 */
function keepAddress(view, filters) {
  // While the page is made, the address still has to be read.
  if (!document.documentElement.dataset.ready || location.hash.replace(/\?.*/, '') !== `#${view}`) return;
  const query = new URLSearchParams(filters.filter(([, value]) => value !== '')).toString();
  const hash = `#${view}${query ? `?${query}` : ''}`;
  if (hash !== location.hash) history.replaceState(null, '', hash);
}
