/** `npm run docs:conformance`: writes docs/conformance.md. */
import * as fs from 'node:fs';
import { REPORT_FILE, report } from './report';

fs.writeFileSync(REPORT_FILE, report());
