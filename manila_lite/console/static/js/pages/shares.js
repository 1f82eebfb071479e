// SPDX-License-Identifier: Apache-2.0
// The shares of the project: the service searches, sorts and counts; only rows in sight are asked for.
import {html, useState} from '../html.js';
import {allProjects, get} from '../api.js';
import {useCalm} from '../calm.js';
import {countShares} from '../counts.js';
import {gib} from '../format.js';
import {isOf, useLoad, usePages} from '../load.js';
import {canDelete, canExtend} from '../offers.js';
import {Empty, Name, Own, Problem, Title, button, named, useAct} from '../parts/basics.js';
import {deletionOf} from '../parts/delete_share.js';
import {useConfirm, useOpened} from '../parts/dialog.js';
import {useFields} from '../parts/form.js';
import {Bulk} from '../parts/share_bulk.js';
import {Use} from '../parts/usage.js';
import {Filters, NONE, queryOf} from '../parts/share_filters.js';
import {CREATED, PROJECT, STATUS, actions} from '../parts/columns.js';
import {Table, useSort} from '../parts/table.js';
import {Resize} from './share.js';
import {link} from '../router.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const COLUMNS = [
  STATUS,
  {key: 'size', head: S.table.size, sort: 'size', class: 'number', cell: (row) => gib(row.size)},
  {key: 'proto', head: S.table.protocol, sort: 'share_proto', class: 'wide', cell: (row) => row.share_proto},
  {key: 'type', head: S.table.type, class: 'wide', cell: (row) => html`<${Own} text=${row.share_type_name ?? S.none} />`},
  {key: 'zone', head: S.table.zone, class: 'wider', cell: (row) => row.availability_zone ?? S.none},
  CREATED,
];
const USE = {key: 'use', head: S.usage.head, cell: (row) => html`<${Use} id=${row.id} />`};

async function load(query, offset, limit) {
  const {shares, count} = await get('shares/detail', {...allProjects(), ...query, offset, limit, with_count: 1});
  return {rows: shares, total: count};
}

// An administrator sees that there is more than the own project has.
function Elsewhere() {
  const found = useLoad(async () => {
    const [own, all] = await Promise.all([countShares({}), countShares({all_tenants: 1})]);
    return all - own;
  }, [], isOf('share'));
  return found.value > 0 && html`<p class="note">${S.shares.elsewhere(found.value)}${' '}
    <button type="button" onClick=${() => session.set({everything: true})}>${S.user.everything}</button></p>`;
}

const Create = () => may('share:create') && html`<a class="button main" href=${link('create-share')}>${S.shares.create}</a>`;
const Nothing = () => html`<${Empty} text=${S.shares.none} next=${may('share:create') && S.shares.first}><${Create} /><//>`;

// The columns, with what is selected, and what can be done to each.
function columnsOf({selected, pick, resize, erase}) {
  const canPick = ['share:extend', 'share:allow_access', 'share:delete'].some(may);
  const name = {key: 'name', head: S.table.name, sort: 'display_name', cell: (row) => html`<div class="picked">${canPick && html`
    <input type="checkbox" class="pick" checked=${selected.has(row.id)} onChange=${() => pick(row.id)}
      aria-label=${S.action.ofThis(S.bulk.select, named(row))} />`}
    <a href=${link('share', row.id)}><${Name} row=${row} /></a></div>`};
  const columns = may('share_usage:index') ? COLUMNS.toSpliced(2, 0, USE) : COLUMNS;
  return [name, ...columns, ...(session.value.everything ? [PROJECT] : []),
    actions((row) => html`${canExtend(row) && button(S.share.resize, row, resize)}${canDelete(row) && button(S.action.delete, row, erase)}`, 'do')];
}

export function Shares({id: begin}) {
  const {values, field} = useFields({...NONE, status: S.shares.states.includes(begin) ? begin : ''});
  const {sort, query: order, onSort} = useSort();
  const [selected, select] = useState(new Set());
  const [ask, confirm] = useConfirm();
  const [run, problem] = useAct();
  const wanted = useCalm(values);
  const pages = usePages((offset, limit) => load({...queryOf(wanted), ...order}, offset, limit), [...Object.values(wanted), sort], isOf('share'));
  const [resizing, resize, close] = useOpened(pages.reload);
  const pick = (id) => select((old) => new Set(old.has(id) ? [...old].filter((one) => one !== id) : [...old, id]));
  const erase = (row) => run(async () => ask(await deletionOf([row], pages.reload)));
  const shown = pages.rows.filter(Boolean);
  const isFiltered = Object.values(wanted).some(Boolean);
  return html`<${Title} actions=${html`<${Create} />`}>${S.shares.title}<//>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}><${Filters} field=${field} />
      <p role="status">${pages.total === null ? `${S.loading}…` : S.shares.count(pages.total)}</p></form>
    ${session.value.user.administrator && !session.value.everything && html`<${Elsewhere} />`}<${Problem} error=${pages.error} />${problem}
    <${Bulk} shares=${shown.filter(({id}) => selected.has(id))} shown=${shown} select=${(ids) => select(new Set(ids))} reload=${pages.reload} />
    ${pages.total !== null && html`<${Table} caption=${S.shares.title} columns=${columnsOf({selected, pick, resize, erase})} rows=${pages.rows}
      total=${pages.total} look=${pages.look} sort=${sort} onSort=${onSort} none=${isFiltered ? S.shares.noneFound : html`<${Nothing} />`} />`}
    ${resizing && html`<${Resize} share=${resizing} onClose=${close} />`}${confirm}`;
}
