// What every page has: live figures, times, colours, keys. Pages add modules; scripts that are none find these names.

import { duration, now, setText, tick } from "./clock.js";
import { bind } from "./keys.js";
import { onUpdate, start } from "./live.js";
import { morph, parse } from "./morph.js";
import "./theme.js";

Object.assign(globalThis, { bind, duration, morph, now, onUpdate, parse, setText, tick });

// When all scripts of the page have said what they place.
document.addEventListener("DOMContentLoaded", start);
