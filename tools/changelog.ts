/** The part of CHANGELOG.md that is not released yet; empty if there is none. */
export function unreleased(changelog: string): string {
  return /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(changelog)?.[1] ?? '';
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

/** The unreleased entry whose label begins with that word; `undefined`: there is none. */
export function stateEntry(changelog: string, word: string): StateEntry | undefined {
  for (const bullet of bulletsOf(unreleased(changelog))) {
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
  if (part === '')
    return changelog.replace(/^(# .*\n[^]*?)(?=^## |$(?![^]))/m, (head) => `${head}## Unreleased\n${now}`);
  return changelog.replace(part, () => now);
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
