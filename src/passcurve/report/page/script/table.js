const ONE_LINE = 28;
const TWO_LINES = 50;
const SPARE = 8;

/**
 * A column of a grid.  `narrow` is its width on a telephone: 'none' hides it there, 'below' gives it a line of its own.
 * @typedef {{name: string, run?: number, title?: string, width: string, narrow: string, number?: boolean,
 *   cell: (row: number) => Node|string, key?: (row: number) => number|string, first?: 'up'|'down'}} Column
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
    this.telephone = matchMedia('(max-width: 600px)');
    this.hasTwoLines = columns.some((column) => column.narrow === 'below');
    place.setAttribute('role', 'table');
    place.setAttribute('aria-label', label);
    place.tabIndex = 0;
    this.head = make('div', { role: 'row', class: 'head' });
    columns.forEach((column, at) => this.head.append(this.heading(column, at)));
    this.body = make('div', { class: 'body', role: 'rowgroup' });
    this.nothing = make('div', { class: 'nothing', role: 'note', hidden: true });
    place.append(make('div', { role: 'rowgroup', class: 'top' }, this.head), this.nothing, this.body);
    const narrow = columns.map((column) => column.narrow).filter((width) => width !== 'none' && width !== 'below');
    place.style.setProperty('--wide', columns.map((column) => column.width).join(' '));
    place.style.setProperty('--narrow', narrow.join(' '));
    place.addEventListener('scroll', () => this.paint(), { passive: true });
    new ResizeObserver(() => this.paint()).observe(place);
  }

  /**
   * @param {Column} column
   * @param {number} at
   */
  heading(column, at) {
    const cell = make('div', { role: 'columnheader', class: kindOf(column), title: column.title });
    if (!column.key) {
      cell.append(column.name);
      return cell;
    }
    cell.append(make('button', { type: 'button', click: () => this.sort(at) },
      make('span', {}, column.run !== undefined && runKey(column.run), column.name), make('span', { class: 'arrow', 'aria-hidden': 'true' })));
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
      const arrow = cell.querySelector('.arrow');
      if (arrow) arrow.textContent = at !== this.sorted ? '' : this.down ? '▼' : '▲';
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
   * Show these rows, or why there is none.
   * @param {number[]} rows
   * @param {string} nothing
   */
  fill(rows, nothing) {
    this.rows = rows;
    this.nothing.textContent = nothing;
    this.nothing.hidden = rows.length > 0;
    this.order();
    this.place.scrollTop = 0;
    this.place.setAttribute('aria-rowcount', String(rows.length + 1));
    this.paint();
  }

  /** Return the height of a row. */
  height() {
    return this.telephone.matches && this.hasTwoLines ? TWO_LINES : ONE_LINE;
  }

  /** Make the rows in sight. */
  paint() {
    const height = this.height();
    this.body.style.height = `${this.rows.length * height}px`;
    const first = Math.max(0, Math.floor(this.place.scrollTop / height) - SPARE);
    const last = Math.min(this.rows.length, first + Math.ceil(this.place.clientHeight / height) + 2 * SPARE);
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
      make('div', { role: 'cell', class: kindOf(column) }, column.cell(row)));
    const element = make('div', {
      role: 'row',
      'aria-rowindex': at + 2,
      'aria-selected': row === this.chosen ? 'true' : null,
      click: (/** @type {any} */ event) => {
        if (!event.target.closest('a')) this.open(row);
      },
    }, ...cells);
    element.style.top = `${at * this.height()}px`;
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
      const height = this.height();
      const top = at * height;
      const room = this.place.clientHeight - 2 * height;
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

/**
 * Return the classes of the cells of a column.
 * @param {Column} column
 */
function kindOf(column) {
  const kinds = [column.number && 'n', column.narrow === 'none' && 'wide-only', column.narrow === 'below' && 'below'];
  return kinds.filter(Boolean).join(' ') || null;
}
