/** One heading "Throws" with a list, where TypeDoc has written a heading for each error. */
export function joinThrows(page: string): string {
  const block = /^(#+) Throws\n\n([^]*?)(?=\n+(?:#+ |\*\*\*)|\n*$(?![^]))/;
  const blocks = new RegExp(`(?:${block.source}\\n*)+`, 'gm');
  return page.replaceAll(blocks, (run) => {
    const parts = [...run.matchAll(new RegExp(block.source, 'gm'))];
    const [, level = '####'] = parts[0] ?? [];
    const items = parts.map(([, , text = '']) => `- ${text.trim().replaceAll('\n', '\n  ')}`);
    return `${level} Throws\n\n${items.join('\n')}\n\n`;
  });
}

/**
 * The files that links to sources lead to, from the root of the repository.
 * @param main - what such a link begins with
 */
export function sourcesOf(page: string, main: string): string[] {
  return page
    .split(main)
    .slice(1)
    .map((rest) => /^[^#)\s]*/.exec(rest)![0]);
}
