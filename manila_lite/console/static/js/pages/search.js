// SPDX-License-Identifier: Apache-2.0
// One search over all resources: by a part of the name, or by the id. What has no name is found by what it belongs to.
import {html} from '../html.js';
import {allProjects, get, id as quoted, list} from '../api.js';
import {isId} from '../known.js';
import {isEvent, useLoad} from '../load.js';
import {Loaded, Own, Section, Status, Title, named} from '../parts/basics.js';
import {kindOf} from '../parts/operation.js';
import {Ref} from '../parts/ref.js';
import {Table} from '../parts/table.js';
import {link} from '../router.js';
import {mayOpen} from '../rules.js';
import {S} from '../strings.js';

const T = S.search;
const MOST = 50;
const NEWEST = 500;
const described = (row) => (row.description ? html`<${Own} text=${row.description} />` : S.none);
const NAMED = [{type: 'share', path: 'shares', page: 'shares'}, {type: 'snapshot', path: 'snapshots', page: 'snapshots'},
  {type: 'share_network', path: 'share-networks', page: 'networks'}, {type: 'share_group', path: 'share-groups', page: 'groups'},
  {type: 'share_backup', path: 'share-backups', page: 'backups'}];
// Those without names: the list, the words that are searched, and what is said about a row.
const NAMELESS = [
  {type: 'share_replica', page: 'replicas', rows: () => list('share-replicas/detail', 'share_replicas'),
    words: (row) => [row.id, row.share_id, row.host, row.availability_zone],
    about: (row) => html`<${Ref} type="share" id=${row.share_id} typed />`},
  {type: 'share_server', page: 'servers', rows: async () => (await get('share-servers')).share_servers,
    words: (row) => [row.id, row.share_network_id, row.share_network_name, row.host],
    about: (row) => html`<code>${row.host}</code>`},
  {type: 'operation', page: 'operations', rows: async () => (await get('operations', {...allProjects(), limit: NEWEST})).operations,
    words: (row) => [row.id, row.resource_id, row.request_id, kindOf(row)],
    about: (row) => html`${kindOf(row)} <${Ref} type=${row.resource_type} id=${row.resource_id} typed />`},
];

async function byName({type, path, page}, text) {
  const query = {...allProjects(), 'name~': text, limit: MOST};
  return {type, page, about: described, rows: (await get(`${path}/detail`, query))[`${type}s`]};
}

async function byId({type, path, page}, text) {
  const rows = await get(`${path}/${quoted(text)}`).then((found) => [found[type]], (error) => {
    if (error.status === 404) return [];
    throw error;
  });
  return {type, page, about: described, rows};
}

async function byWords({rows, words, ...kind}, ids, text) {
  const wanted = text.toLowerCase();
  const fits = (word) => word && (ids.has(word) || word.toLowerCase().includes(wanted));
  return {...kind, rows: (await rows()).filter((row) => words(row).some(fits)).slice(0, MOST)};
}

async function find(text) {
  if (!text) return [];
  const isShown = ({page}) => mayOpen(page);
  const first = await Promise.all(NAMED.filter(isShown).map((kind) => (isId(text) ? byId : byName)(kind, text)));
  const ids = new Set(first.flatMap(({rows}) => rows.map(({id}) => id)));
  const all = [...first, ...await Promise.all(NAMELESS.filter(isShown).map((kind) => byWords(kind, ids, text)))];
  return all.filter(({rows}) => rows.length > 0);
}

const columns = ({type, page, about}) => [
  {key: 'name', head: S.table.name, cell: (row) => html`<a href=${type === 'share' ? link('share', row.id) : link(page)} title=${row.id}>${
    row.name ? html`<${Own} text=${named(row)} />` : html`<code>${row.id.slice(0, 8)}</code>`}</a>`},
  {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status ?? row.state} />`},
  {key: 'about', head: S.table.description, class: 'long', cell: about},
];

export function Search({id}) {
  const text = (id ?? '').trim();
  const found = useLoad(() => find(text), [text], isEvent('status', 'operation'));
  return html`<${Title}>${text ? T.found(text) : T.title}<//><${Loaded} from=${found}>${(kinds) => (kinds.length === 0
    ? html`<p class="none">${text ? T.none : T.hint}</p>`
    : kinds.map((kind) => html`<${Section} key=${kind.type} title=${S.nav[kind.page]}><${Table} caption=${S.nav[kind.page]}
      columns=${columns(kind)} rows=${kind.rows} /><//>`))}<//>`;
}
