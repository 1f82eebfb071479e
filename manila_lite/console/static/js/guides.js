// SPDX-License-Identifier: Apache-2.0
// The page of the guides for each page of the console.
const PAGES = {
  overview: 'user/console', shares: 'user/tour', share: 'user/access', 'create-share': 'user/placing', snapshots: 'user/snapshots', schedules: 'user/schedules',
  networks: 'user/share-networks', groups: 'user/share-groups', backups: 'user/share-backups', replicas: 'user/replicas',
  operations: 'user/operations', messages: 'user/errors', quotas: 'user/limits', api: 'user/openapi', pools: 'admin/promises',
  types: 'admin/capabilities', services: 'admin/operations', servers: 'admin/share-servers', migrations: 'admin/moving-shares',
  findings: 'admin/repairs', evacuate: 'admin/evacuation', search: 'user/console',
};

// The address, if the operator says where the guides are ([console] docs_url), and it is one for browsers.
export function guideOf(page, root) {
  if (!/^https?:/.test(root ?? '')) return null;
  return `${root.replace(/\/*$/, '/')}${Object.hasOwn(PAGES, page) ? PAGES[page] : PAGES.overview}.html`;
}
