// SPDX-License-Identifier: Apache-2.0
// All snapshots.
import {html} from '../html.js';
import {allProjects, get, id as quoted} from '../api.js';
import {gib} from '../format.js';
import {isOf, usePages} from '../load.js';
import {Empty, Problem, Title, button, named} from '../parts/basics.js';
import {useConfirm} from '../parts/dialog.js';
import {CREATED, NAME, SHARE, STATUS, actions} from '../parts/columns.js';
import {Table, useSort} from '../parts/table.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const COLUMNS = [
  NAME, STATUS,
  {key: 'size', head: S.table.size, class: 'number wide', cell: (row) => gib(row.size)},
  CREATED,
];

// Those that can be deleted.
const ERASABLE = /^(available|error|error_deleting)$/;
export const WHAT = S.snapshots.what;
export const canErase = ({status}) => may('share:delete_snapshot') && ERASABLE.test(status);
export const pathOf = ({id}) => `snapshots/${quoted(id)}`;

async function load(query, offset, limit) {
  const {snapshots, count} = await get('snapshots/detail', {...allProjects(), ...query, offset, limit, with_count: 1});
  return {rows: snapshots, total: count};
}

export function Snapshots() {
  const {sort, query, onSort} = useSort();
  const pages = usePages((offset, limit) => load(query, offset, limit), [sort], isOf('snapshot'));
  const [, confirm, erase] = useConfirm(pages.reload);
  const columns = [...COLUMNS, SHARE,
    actions((row) => canErase(row) && button(S.action.delete, row, () => erase(pathOf(row), WHAT, named(row))))];
  return html`<${Title}>${S.snapshots.title}<//><p role="status">${pages.total !== null && S.snapshots.count(pages.total)}</p>
    <${Problem} error=${pages.error} />
    ${pages.total !== null && html`<${Table} caption=${S.snapshots.title} columns=${columns} rows=${pages.rows} total=${pages.total}
      look=${pages.look} sort=${sort} onSort=${onSort} none=${html`<${Empty} text=${S.snapshots.none}
        next=${S.snapshots.first}><a class="button main" href=${link('shares')}>${S.shares.title}</a><//>`} />`}${confirm}`;
}
