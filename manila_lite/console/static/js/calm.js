// SPDX-License-Identifier: Apache-2.0
// What a user types, when the typing has ended: each letter would be a request.
import {useEffect, useState} from './html.js';

const WAIT = 300;

// The values some time after they were last changed.
export function useCalm(values) {
  const [calm, set] = useState(values);
  useEffect(() => {
    const timer = setTimeout(() => set(values), WAIT);
    return () => clearTimeout(timer);
  }, Object.values(values));
  return calm;
}
