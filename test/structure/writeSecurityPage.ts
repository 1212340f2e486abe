import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';
import { withRights } from './securityPage';

const file = path.join(projectRoot, 'docs', 'security.md');
fs.writeFileSync(file, withRights(fs.readFileSync(file, 'utf8')));
