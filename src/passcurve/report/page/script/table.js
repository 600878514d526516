const ROW = 28;
const SPARE = 8;

/**
 * A column of a grid.
 * @typedef {{name: string, width: string, number?: boolean, cell: (row: number) => Node|string,
 *   key?: (row: number) => number|string, first?: 'up'|'down'}} Column
 */

/** A table of which only the rows in sight are elements. */
class Grid {
  /**
   * @param {any} place
   * @param {string} label
   * @param {Column[]} columns
   * @param {(row: number) => void} open
   */
  constructor(place, label, columns, open) {
    this.place = place;
    this.columns = columns;
    this.open = open;
    /** @type {number[]} */
    this.rows = [];
    this.chosen = -1;
    this.sorted = -1;
    this.down = false;
    this.changed = () => {};
    place.setAttribute('role', 'table');
    place.setAttribute('aria-label', label);
    place.tabIndex = 0;
    this.head = make('div', { role: 'row', class: 'head' });
    columns.forEach((column, at) => this.head.append(this.heading(column, at)));
    this.body = make('div', { class: 'body', role: 'rowgroup' });
    place.append(make('div', { role: 'rowgroup', class: 'top' }, this.head), this.body);
    const widths = columns.map((column) => column.width).join(' ');
    this.widths = widths;
    this.head.style.gridTemplateColumns = widths;
    place.addEventListener('scroll', () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(place);
  }

  /**
   * @param {Column} column
   * @param {number} at
   */
  heading(column, at) {
    const cell = make('div', { role: 'columnheader', class: column.number ? 'n' : null });
    if (!column.key) {
      cell.append(column.name);
      return cell;
    }
    cell.append(make('button', { type: 'button', click: () => this.sort(at) }, column.name));
    return cell;
  }

  /**
   * Sort by a column, or turn the order round where it is sorted so.
   * @param {number} at
   */
  sort(at) {
    this.down = this.sorted === at ? !this.down : this.columns[at].first === 'down';
    this.sorted = at;
    this.order();
    this.paint();
  }

  order() {
    [...this.head.children].forEach((cell, at) => {
      cell.setAttribute('aria-sort', at !== this.sorted ? 'none' : this.down ? 'descending' : 'ascending');
      const button = cell.querySelector('button');
      if (button) button.textContent = this.columns[at].name + (at !== this.sorted ? '' : this.down ? ' ▼' : ' ▲');
    });
    const key = this.sorted < 0 ? null : this.columns[this.sorted].key;
    if (!key) return;
    const sign = this.down ? -1 : 1;
    const keys = new Map(this.rows.map((row) => [row, key(row)]));
    this.rows.sort((one, other) => {
      const a = /** @type {number|string} */ (keys.get(one));
      const b = /** @type {number|string} */ (keys.get(other));
      return a < b ? -sign : a > b ? sign : one - other;
    });
  }

  /**
   * Show these rows.
   * @param {number[]} rows
   */
  fill(rows) {
    this.rows = rows;
    this.order();
    this.place.scrollTop = 0;
    this.place.setAttribute('aria-rowcount', String(rows.length + 1));
    this.paint();
  }

  /** Make the rows in sight. */
  paint() {
    this.body.style.height = `${this.rows.length * ROW}px`;
    const first = Math.max(0, Math.floor(this.place.scrollTop / ROW) - SPARE);
    const last = Math.min(this.rows.length, first + Math.ceil(this.place.clientHeight / ROW) + 2 * SPARE);
    const made = [];
    for (let at = first; at < last; at += 1) made.push(this.row(this.rows[at], at));
    const active = document.activeElement;
    const focused = active && this.body.contains(active) ? active.getAttribute('href') : null;
    this.body.replaceChildren(...made);
    if (focused) [...this.body.querySelectorAll('a')].find((link) => link.getAttribute('href') === focused)?.focus();
  }

  /**
   * @param {number} row
   * @param {number} at
   */
  row(row, at) {
    const cells = this.columns.map((column) =>
      make('div', { role: 'cell', class: column.number ? 'n' : null }, column.cell(row)));
    const element = make('div', {
      role: 'row',
      'aria-rowindex': at + 2,
      'aria-selected': row === this.chosen ? 'true' : null,
      click: (/** @type {any} */ event) => {
        if (!event.target.closest('a')) this.open(row);
      },
    }, ...cells);
    element.style.gridTemplateColumns = this.widths;
    element.style.top = `${at * ROW}px`;
    return element;
  }

  /**
   * Mark a row and bring it into sight.
   * @param {number} row
   */
  choose(row) {
    this.chosen = row;
    const at = this.rows.indexOf(row);
    if (at >= 0) {
      const top = at * ROW;
      const room = this.place.clientHeight - 2 * ROW;
      if (top < this.place.scrollTop || top > this.place.scrollTop + room) this.place.scrollTop = Math.max(0, top - room / 2);
    }
    this.paint();
  }

  /**
   * Return the row that many places from the chosen one, or -1.
   * @param {number} step
   */
  beside(step) {
    const at = this.rows.indexOf(this.chosen) + step;
    return at >= 0 && at < this.rows.length ? this.rows[at] : -1;
  }
}
