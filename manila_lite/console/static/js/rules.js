// SPDX-License-Identifier: Apache-2.0
// The rule of policy for each page: that of the call that the page cannot do without.
import {may} from './session.js';

const RULES = {
  shares: 'share:get_all', share: 'share:get', 'create-share': 'share:create', snapshots: 'share_snapshot:get_all_snapshots',
  networks: 'share_network:detail', groups: 'share_group:get_all', backups: 'share_backup:get_all', replicas: 'share_replica:get_all',
  operations: 'operation:index', messages: 'message:get_all', schedules: 'schedule:get_all', quotas: 'quota_set:show', pools: 'scheduler_stats:pools:detail',
  types: 'share_type:create', services: 'service:index', servers: 'share_server:index', migrations: 'share:migration_start',
  findings: 'finding:index', evacuate: 'service:evacuate',
};

// Pages without a rule are for everybody.
export const mayOpen = (page) => !Object.hasOwn(RULES, page) || may(RULES[page]);
