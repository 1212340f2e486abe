import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../tools/buildOutput';

/** The rules of a block of docs/security.md, as the page has them. */
export function rulesOf(block: string): string[] {
  const text = fs.readFileSync(path.join(projectRoot, 'docs', 'security.md'), 'utf8');
  const found = new RegExp(`^\`\`\`acl ${block}\\n([^]*?)^\`\`\``, 'm').exec(text);
  if (found === null) throw new Error(`docs/security.md has no block ${block}`);
  return found[1]!.trim().split(/\s+/);
}

/** What the ACL log of a server has: what was refused, and why. */
export function refusals(log: unknown): string[] {
  const entries = log as (string | number)[][];
  return entries.map((entry) => `${entry[entry.indexOf('reason') + 1]}: ${entry[entry.indexOf('object') + 1]}`);
}
