// SPDX-License-Identifier: Apache-2.0
// The logo, and an icon for each page. The words beside them say the same.
import {html} from '../html.js';

// Lines in a square of 16.
const LINES = {
  overview: 'M2 12a6 6 0 1 1 12 0M8 12l3-4',
  shares: 'M2 4h4l1.5 2H14v7H2z',
  snapshots: 'M1.5 5h3l1-2h5l1 2h3v8h-13zM8 6.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4',
  schedules: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.5V8l2.5 2',
  networks: 'M6 1.5h4v4H6zM1.5 10.5h4v4h-4zM10.5 10.5h4v4h-4zM8 5.5V8M3.5 10.5V8h9v2.5',
  groups: 'M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z',
  backups: 'M8 2v7M5 6.5L8 9.5l3-3M2 11v3h12v-3',
  replicas: 'M2 2h8v8H2zM6 10v4h8V6h-4',
  operations: 'M1 8h3l2-5 3 10 2-5h4',
  messages: 'M2 3h12v8H7l-3 3v-3H2z',
  quotas: 'M2.5 14V9h2v5zM7 14V2.5h2V14zM11.5 14V6h2v8z',
  api: 'M5 4L1 8l4 4M11 4l4 4-4 4',
  pools: 'M2 4c0-2.7 12-2.7 12 0v8c0 2.7-12 2.7-12 0zM2 4c0 2.7 12 2.7 12 0',
  types: 'M2 2h6l6 6-6 6-6-6zM5 5h.01',
  services: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v4M8 11v4M1 8h4M11 8h4',
  servers: 'M2 2h12v5H2zM2 9h12v5H2zM5 4.5h.01M5 11.5h.01',
  migrations: 'M2 5h11M10 2l3 3-3 3M14 11H3M6 8l-3 3 3 3',
  findings: 'M8 2l6.5 12h-13zM8 6.5v3.5M8 12h.01',
};

export const Icon = ({name}) => html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${LINES[name]} /></svg>`;

// The same as icon.svg.
export const Logo = () => html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect class="ground" width="32" height="32" rx="8" />
  <path d="M7 22V10l9 8 9-8v12" /><circle cx="7" cy="24" r="2.5" /><circle cx="25" cy="24" r="2.5" /></svg>`;
