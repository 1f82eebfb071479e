// SPDX-License-Identifier: Apache-2.0
// The pages by the first word of the address.
import {html} from '../html.js';
import {ApiError} from '../api.js';
import {useLoad} from '../load.js';
import {Loaded} from '../parts/basics.js';
import {S} from '../strings.js';
import {Backups} from './backups.js';
import {CreateShare} from './create_share.js';
import {Evacuation} from './evacuation.js';
import {Findings} from './findings.js';
import {Groups} from './groups.js';
import {Messages} from './messages.js';
import {Migrations} from './migrations.js';
import {Networks} from './networks.js';
import {Operations} from './operations.js';
import {Overview} from './overview.js';
import {Pools} from './pools.js';
import {Quotas} from './quotas.js';
import {Replicas} from './replicas.js';
import {Schedules} from './schedules.js';
import {Servers} from './servers.js';
import {Search} from './search.js';
import {Services} from './services.js';
import {Share} from './share.js';
import {Shares} from './shares.js';
import {Snapshots} from './snapshots.js';
import {Types} from './types.js';

// A page whose programs are loaded when it is first looked at.
const later = (load, name) => function Later(props) {
  const found = useLoad(async () => {
    const module = await load().catch(() => { throw new ApiError(0, {message: S.error.away, next: S.error.awayNext}); });
    return module[name];
  }, []);
  return html`<${Loaded} from=${found}>${(Page) => html`<${Page} ...${props} />`}<//>`;
};

export const PAGES = Object.assign(Object.create(null), {
  overview: Overview, shares: Shares, share: Share,
  'create-share': CreateShare, snapshots: Snapshots, networks: Networks, groups: Groups, backups: Backups, replicas: Replicas,
  operations: Operations, messages: Messages, quotas: Quotas, pools: Pools, services: Services, servers: Servers,
  migrations: Migrations, evacuate: Evacuation, findings: Findings, schedules: Schedules, search: Search, types: Types,
  api: later(() => import('./api.js'), 'Api')});
