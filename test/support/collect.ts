import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects garbage now. What a `FinalizationRegistry` has to say follows in a later turn of the event loop. */
export const collect = runInNewContext('gc') as () => void;
