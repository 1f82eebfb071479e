// SPDX-License-Identifier: Apache-2.0
// Share servers: a map of networks and hosts, and a table.
import {html, useState} from '../html.js';
import {get, id as quoted, list} from '../api.js';
import {isOf, useLoad} from '../load.js';
import {Empty, Loaded, Own, Status, Title, button} from '../parts/basics.js';
import {useConfirm} from '../parts/dialog.js';
import {MigrateServer} from '../parts/migrate.js';
import {Ref} from '../parts/ref.js';
import {ServerMap} from '../parts/server_map.js';
import {places} from '../parts/subnets.js';
import {actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.servers;

async function load() {
  const [{share_servers: servers}, networks] = await Promise.all([
    get('share-servers'), list('share-networks/detail', 'share_networks', {all_tenants: 1})]);
  return {servers, networks};
}

export function Servers() {
  const [moving, migrate] = useState(null);
  const found = useLoad(load, [], isOf('share_server', 'share_network'));
  const [, confirm, remove] = useConfirm(found.reload);
  const erase = ({id}) => remove(`share-servers/${quoted(id)}`, T.what, id);
  const columns = (networks) => {
    const subnets = new Map(networks.flatMap((network) => network.share_network_subnets ?? []).map((subnet) => [subnet.id, subnet]));
    return [
      {key: 'id', head: S.table.id, cell: (row) => html`<code title=${row.id}>${row.id.slice(0, 8)}</code>`},
      {key: 'status', head: S.table.status, cell: (row) => html`<${Status} of=${row.status} />
        ${row.task_state && html` <${Status} of=${row.task_state} />`}`},
      {key: 'host', head: S.table.host, cell: (row) => html`<code>${row.host}</code>`},
      {key: 'network', head: T.network, cell: (row) => (row.share_network_name ? html`<${Own} text=${row.share_network_name} />`
        : html`<${Ref} type="share_network" id=${row.share_network_id} />`)},
      {key: 'subnets', head: T.subnets, cell: (row) => (row.share_network_subnet_ids ?? []).map((id) => html`<div key=${id}><code>
        ${subnets.has(id) ? places(subnets.get(id)) : id}</code></div>`)},
      {key: 'project', head: S.table.project, class: 'wide', cell: (row) => html`<${Own} text=${row.project_id} />`},
      {key: 'unused', head: T.unused, class: 'wider', cell: (row) => (row.is_auto_deletable ? S.yes : S.no)},
      actions((row) => html`
        ${may('share_server:share_server_migration_start') && button(S.migrations.start, row, migrate, row.id)}
        ${may('share_server:delete') && button(S.action.delete, row, erase, row.id)}`),
    ];
  };
  return html`<${Title}>${T.title}<//><${Loaded} from=${found}>${({servers, networks}) => html`
    ${servers.length > 0 && html`<${ServerMap} ...${{servers, networks}} />`}
    <${Table} caption=${T.title} columns=${columns(networks)} rows=${servers}
      none=${html`<${Empty} text=${T.none} next=${T.first} />`} />`}<//>${confirm}
    ${moving && html`<${MigrateServer} server=${moving} onClose=${() => migrate(null)} />`}`;
}
