/**
 * A Redis glob as a test: `*`, `?`, `[a-z]`, `[^a]`, `\x`. Names are matched here, since the keys of a lock are several,
 * and the mapper of the configuration stands between name and key.
 */
export function globTest(glob: string): (text: string) => boolean {
  let source = '';
  for (let i = 0; i < glob.length; i++) {
    const char = glob[i]!;
    const end = char === '[' ? glob.indexOf(']', i + 1) : -1;
    if (char === '*') source += '.*';
    else if (char === '?') source += '.';
    else if (char === '\\' && i + 1 < glob.length) source += literal(glob[++i]!);
    else if (end > i + 1) {
      const set = glob.slice(i + 1, end);
      source += set.startsWith('^') ? `[^${inSet(set.slice(1))}]` : `[${inSet(set)}]`;
      i = end;
    } else source += literal(char);
  }
  const pattern = new RegExp(`^${source}$`, 's');
  return (text) => pattern.test(text);
}

function literal(char: string): string {
  return char.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

function inSet(set: string): string {
  return set.replace(/[\\\]^]/g, '\\$&');
}
