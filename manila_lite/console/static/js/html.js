// SPDX-License-Identifier: Apache-2.0
// Preact with htm: what is put into a template is always text, never markup.
import htm from '../vendor/htm.js';
import {h} from '../vendor/preact.js';

export const html = htm.bind(h);
export {Fragment, render} from '../vendor/preact.js';
export {useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState} from '../vendor/preact-hooks.js';
