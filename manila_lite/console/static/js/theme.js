// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the browser prefers, or as the user chose. The choice is in the address, since nothing is kept in the browser.
import {Store} from './store.js';

const KNOWN = ['light', 'dark'];
const asked = new URLSearchParams(location.search).get('theme');
// chosen: '' for what the browser prefers.
export const theme = new Store({chosen: KNOWN.includes(asked) ? asked : ''});

function show() {
  const {chosen} = theme.value;
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

export function choose(chosen) {
  const address = new URL(location.href);
  if (chosen) address.searchParams.set('theme', chosen);
  else address.searchParams.delete('theme');
  history.replaceState(history.state, '', address);
  theme.set({chosen});
  show();
}

show();
