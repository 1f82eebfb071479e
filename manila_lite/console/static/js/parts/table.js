// SPDX-License-Identifier: Apache-2.0
// Tables. Of long ones only the rows in sight are in the document, so that ten thousand scroll. On narrow screens the rows of short
// ones are cards (style.css); the roles keep them a table for those who hear it.
import {html, useEffect, useRef, useState} from '../html.js';
import {S} from '../strings.js';

const ROW = 41;
const BEYOND = 8;
const LONG = 60;
// Of tables with sentences, which one line would cut off.
export const OF_TEXTS = 500;

// The order of a list that the service sorts, the newest first at the beginning.
export function useSort() {
  const [sort, set] = useState({key: 'created_at', descending: true});
  const onSort = (key) => set((old) => ({key, descending: old.key === key ? !old.descending : false}));
  return {sort, onSort, query: {sort_key: sort.key, sort_dir: sort.descending ? 'desc' : 'asc'}};
}

function Head({columns, sort, onSort}) {
  return html`<thead role="rowgroup"><tr role="row">${columns.map((column) => {
    const sorted = sort && column.sort === sort.key ? (sort.descending ? 'descending' : 'ascending') : undefined;
    return html`<th key=${column.key} role="columnheader" scope="col" class=${column.class} aria-sort=${sorted}>${column.sort && onSort
      ? html`<button type="button" onClick=${() => onSort(column.sort)}>${column.head}<span aria-hidden="true">${
        sorted === 'descending' ? ' ▾' : sorted ? ' ▴' : ''}</span></button>` : column.head}</th>`;
  })}</tr></thead>`;
}

function Row({columns, row, index}) {
  return html`<tr role="row" aria-rowindex=${index === undefined ? undefined : index + 2}>${columns.map((column, place) => {
    const content = row === undefined ? '…' : column.cell(row);
    return place === 0 ? html`<th key=${column.key} role="rowheader" scope="row" class=${column.class}>${content}</th>`
      : html`<td key=${column.key} role="cell" class=${column.class} data-head=${column.head}>${content}</td>`;
  })}</tr>`;
}

// `rows` may have holes: `look(first, end)` is told which are in sight. `most`: so many rows are all in the document, each as high as
// its texts need. Rows of longer tables have one line each.
export function Table({caption, columns, rows, total = rows.length, look, none, sort, onSort, keyOf = (row) => row.id, most = LONG}) {
  if (total === 0) return typeof none === 'string' ? html`<p class="none">${none}</p>` : none;
  if (total > most) return html`<${Long} ...${{caption, columns, rows, total, look, sort, onSort, keyOf}} />`;
  return html`<div class="table" role="region" tabindex="0" aria-label=${S.table.scroll(caption)}><table role="table" aria-label=${caption}>
    <${Head} ...${{columns, sort, onSort}} /><tbody role="rowgroup">${Array.from({length: total}, (_, index) => html`<${Row}
      key=${rows[index] === undefined ? index : keyOf(rows[index])} ...${{columns, row: rows[index]}} />`)}</tbody></table></div>`;
}

function Long({caption, columns, rows, total, look, sort, onSort, keyOf}) {
  const box = useRef();
  const [[first, end], see] = useState([0, 30]);
  function measure() {
    const {scrollTop, clientHeight} = box.current;
    const begin = Math.max(0, Math.floor(scrollTop / ROW) - BEYOND);
    see([begin, Math.min(total, begin + Math.ceil(clientHeight / ROW) + 2 * BEYOND)]);
  }
  useEffect(measure, [total]);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [total]);
  useEffect(() => look?.(first, end), [first, end, rows]);
  const last = Math.min(end, total);
  return html`<div class="table long" role="region" tabindex="0" ref=${box} onScroll=${measure} aria-label=${S.table.scroll(caption)}>
    <div style=${{height: `${(total + 1) * ROW}px`}}><table role="table" aria-label=${caption} aria-rowcount=${total + 1} style=${{top: `${first * ROW}px`}}>
    <${Head} ...${{columns, sort, onSort}} /><tbody role="rowgroup">${Array.from({length: Math.max(0, last - first)}, (_, place) => {
      const index = first + place;
      return html`<${Row} key=${rows[index] === undefined ? index : keyOf(rows[index])} ...${{columns, row: rows[index], index}} />`;
    })}</tbody></table></div></div>`;
}
