import { ALL_KINDS } from '../../lib/kinds/allKinds';
import { blockOf, KIND_RIGHTS, type NeededRights } from '../../lib/operators/doctor/rights';

/** What the names of the page begin with. */
const PREFIX = 'app:';
/** The section behind those of the kinds: a new kind goes before it. */
const NEXT_SECTION = '### Object listeners';

/** docs/security.md with the rights of each kind as its descriptor has them; a kind without a block gets one. */
export function withRights(page: string): string {
  return Object.keys(KIND_RIGHTS).reduce((text, block) => {
    const fence = new RegExp(`^\`\`\`acl ${block}\\n[^]*?^\`\`\``, 'm');
    const rules = `\`\`\`acl ${block}\n${linesOf(block).join('\n')}\n\`\`\``;
    if (fence.test(text)) return text.replace(fence, () => rules);
    const [{ noun } = { noun: block }] = ALL_KINDS.filter((kind) => blockOf(kind) === block);
    const title = noun[0]!.toUpperCase() + noun.slice(1);
    return text.replace(NEXT_SECTION, () => `### ${title}\n\n${rules}\n\n${NEXT_SECTION}`);
  }, page);
}

/** Keys and channels one by one; commands by what they are about. */
function linesOf(block: string): string[] {
  const rules = rulesOf(KIND_RIGHTS[block]!, PREFIX);
  const about = [
    /^\+eval/,
    /^\+(?!eval|publish|z|[lr](?!en))(?!.*subscribe)/,
    /^\+[lr]/,
    /^\+z/,
    /^\+(publish|.*subscribe)/,
  ];
  const commands = about.map((pattern) => rules.filter((rule) => pattern.test(rule)).join(' '));
  return [...rules.filter((rule) => !rule.startsWith('+')), ...commands].filter((line) => line !== '');
}

/**
 * The rules of `ACL SETUSER` for names with a prefix, as docs/security.md has them.
 * @param prefix - of the names, such as `app:`
 */
function rulesOf({ commands, keys, channels }: NeededRights, prefix: string): readonly string[] {
  const pattern = (sign: '~' | '&', place: string): string =>
    `${sign}${place.slice(0, place.indexOf(prefix) + prefix.length)}*`;
  const places = [
    ...keys(prefix).map((place) => pattern('~', place)),
    ...channels(prefix).map((place) => pattern('&', place)),
  ];
  return [...new Set(places), ...commands.map((command) => `+${command}`)];
}
