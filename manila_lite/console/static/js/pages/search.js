// SPDX-License-Identifier: Apache-2.0
// One search over all resources: by a part of the name, or by the id.
import {html} from '../html.js';
import {allProjects, get, unlessForbidden} from '../api.js';
import {isKnown, nameOf} from '../known.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Section, Status, Title} from '../parts/basics.js';
import {Ref} from '../parts/ref.js';
import {Table} from '../parts/table.js';
import {S} from '../strings.js';

const T = S.search;
const ID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const MOST = 50;
// [type, path, key of the list, page that shows them]
const KINDS = [['share', 'shares/detail', 'shares', 'shares'], ['snapshot', 'snapshots/detail', 'snapshots', 'snapshots'],
  ['share_network', 'share-networks/detail', 'share_networks', 'networks'], ['share_group', 'share-groups/detail', 'share_groups', 'groups'],
  ['share_backup', 'share-backups/detail', 'share_backups', 'backups']];

const isOne = async (type, id) => isKnown(type) && (await nameOf(type, id)) !== null;

async function find([type, path, key, page], text) {
  if (ID.test(text)) return {type, page, rows: (await isOne(type, text)) ? [{id: text}] : []};
  const found = await unlessForbidden(get(path, {...allProjects(), 'name~': text, limit: MOST}), {[key]: []});
  return {type, page, rows: found[key]};
}

const columns = (type) => [
  {key: 'name', head: S.table.name, cell: (row) => html`<${Ref} type=${type} id=${row.id} />`},
  {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status} />`},
  {key: 'description', head: S.table.description, class: 'long', cell: (row) => (row.description ? html`<bdi>${row.description}</bdi>` : S.none)},
];

export function Search({id: text}) {
  const wanted = (text ?? '').trim();
  const found = useLoad(async () => (wanted ? (await Promise.all(KINDS.map((kind) => find(kind, wanted)))).filter(({rows}) => rows.length > 0)
    : []), [wanted], isEvent('status'));
  return html`<${Title}>${wanted ? T.found(wanted) : T.title}<//><${Loaded} from=${found}>${(kinds) => (kinds.length === 0
    ? html`<p class="none">${wanted ? T.none : T.hint}</p>`
    : kinds.map(({type, page, rows}) => html`<${Section} key=${type} title=${S.nav[page]}><${Table} caption=${S.nav[page]} columns=${columns(type)}
      rows=${rows} /><//>`))}<//>`;
}
