// SPDX-License-Identifier: Apache-2.0
// The page in the address: '#/share/ID'. Nothing secret is ever in it.
import {useEffect, useState} from './html.js';

export const link = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

export function parts() {
  const words = location.hash.replace(/^#\/?/, '').split('/');
  try {
    return words.map(decodeURIComponent);
  } catch {
    return [''];
  }
}

export const go = (...to) => { location.hash = link(...to); };

export function useRoute() {
  const [route, set] = useState(parts);
  useEffect(() => {
    const changed = () => set(parts());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}
