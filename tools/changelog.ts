/** The heading of what is not released yet. */
const UNRELEASED = 'Unreleased';

/**
 * What stands under a heading of CHANGELOG.md: `Unreleased`, or a version with its date; `undefined`: no such heading.
 */
export function sectionOf(changelog: string, version: string): string | undefined {
  for (const section of changelog.split(/^## /m).slice(1)) {
    const [heading = ''] = section.split('\n', 1);
    if (heading === version || isDated(heading, version)) return section.slice(heading.length + 1);
  }
  return undefined;
}

/** Whether a heading is that of a released version: `1.2.3 - 2026-11-22`. */
function isDated(heading: string, version: string): boolean {
  return heading.startsWith(`${version} - `) && /^\d{4}-\d{2}-\d{2}$/.test(heading.slice(version.length + 3));
}

/** Whether CHANGELOG.md has a dated entry for a version. */
export function hasEntry(changelog: string, version: string): boolean {
  return changelog.split('\n').some((line) => line.startsWith('## ') && isDated(line.slice(3), version));
}

/**
 * CHANGELOG.md with "Unreleased" renamed to a version and a date. An entry that the version has already, because it was
 * prepared before, gets the date.
 *
 * @throws Error if nothing is unreleased, or there is such an entry and more to release
 */
export function withRelease(changelog: string, version: string, date: string): string {
  const isEmpty = unreleased(changelog).trim() === '';
  if (hasEntry(changelog, version)) {
    if (!isEmpty)
      throw new Error(
        `CHANGELOG.md has an entry for ${version}, and more under "${UNRELEASED}": move that into the entry`,
      );
    return changelog
      .replace(new RegExp(`^## ${UNRELEASED}\\n\\n*`, 'm'), '')
      .split('\n')
      .map((line) => (line.startsWith('## ') && isDated(line.slice(3), version) ? `## ${version} - ${date}` : line))
      .join('\n');
  }
  if (isEmpty) throw new Error(`CHANGELOG.md has nothing under "${UNRELEASED}"`);
  return changelog.replace(new RegExp(`^## ${UNRELEASED}$`, 'm'), `## ${version} - ${date}`);
}

/** The part of CHANGELOG.md that is not released yet; empty if there is none. */
export function unreleased(changelog: string): string {
  return sectionOf(changelog, UNRELEASED) ?? '';
}

/**
 * The topmost part of CHANGELOG.md: what has changed since the previous package. On the commit of a release it is that
 * of its version.
 */
function newest(changelog: string): string {
  return /^## .*\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog)?.[1] ?? '';
}

/** The entries of a part of the changelog, each as one line. */
export function bulletsOf(part: string): string[] {
  return part
    .split(/^- /m)
    .slice(1)
    .map((one) =>
      one
        .split(/\n\s*\n|^#/m)[0]!
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
}

/** An entry that names a state by its hash: **Wire 2** (`1a2b3c4d5e6f`): what follows from it. */
export interface StateEntry {
  /** E.g. `Wire 2`. */
  readonly label: string;
  readonly hash: string;
  readonly text: string;
}

/** The entry since the previous package whose label begins with that word; `undefined`: there is none. */
export function stateEntry(changelog: string, word: string): StateEntry | undefined {
  for (const bullet of bulletsOf(newest(changelog))) {
    const [, label, hash, text] = /^\*\*([^*]+)\*\* \(`([0-9a-f]+)`\): (.*)$/.exec(bullet) ?? [];
    if (label?.split(' ')[0] === word) return { label, hash: hash!, text: text! };
  }
  return undefined;
}

/**
 * The changelog with that entry under "Unreleased": in the place of the one with the same first word, else as the first
 * one of "Changed".
 */
export function withStateEntry(changelog: string, { label, hash, text }: StateEntry): string {
  const entry = `${wrap(`- **${label}** (\`${hash}\`): ${text}`)}\n`;
  const part = unreleased(changelog);
  const [word] = label.split(' ');
  const before = new RegExp(`^- \\*\\*${word}\\b[^*]*\\*\\* \\(\`[0-9a-f]+\`\\):[^]*?\\n(?=- |\\n|#|$(?![^]))`, 'm');
  let now: string;
  if (before.test(part)) now = part.replace(before, () => entry);
  else if (/^### Changed\n/m.test(part)) now = part.replace(/^### Changed\n\n?/m, () => `### Changed\n\n${entry}`);
  else now = `${part.trimEnd()}\n\n### Changed\n\n${entry}\n`.replace(/^\n*/, '\n');
  // An empty part may stand anywhere in the text: its heading says where it belongs.
  const heading = `## ${UNRELEASED}\n`;
  if (changelog.includes(`\n${heading}`)) return changelog.replace(`\n${heading}${part}`, () => `\n${heading}${now}`);
  return changelog.replace(/^(# .*\n[^]*?)(?=^## |$(?![^]))/m, (head) => `${head}${heading}${now}`);
}

/** Lines of at most 120 columns; those after the first are indented. */
function wrap(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(word);
    else if (line.length + 1 + word.length <= 118) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}
