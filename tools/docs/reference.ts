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
