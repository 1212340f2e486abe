import { writeFileSync } from 'node:fs';
import { REFERENCE_FILE, referenceText } from './reference';

writeFileSync(REFERENCE_FILE, referenceText());
