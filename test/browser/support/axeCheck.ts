import * as axe from 'axe-core';
import { expect } from 'chai';
import type { Page } from 'puppeteer-core';

/** Nothing but colours depends on the scheme. */
export const COLOUR_RULES: readonly string[] = ['color-contrast', 'link-in-text-block'];

/** Looks for what keeps somebody from using a page. @param rules - only these. @default all */
export async function expectAccessible(page: Page, what: string, rules?: readonly string[]): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const found = await page.evaluate(
    async (runOnly: axe.RunOptions['runOnly']) => {
      const { axe: here } = globalThis as unknown as { axe: typeof axe };
      const { violations } = await here.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) });
      const htmlOf = (nodes: axe.NodeResult[]): string => nodes.map(({ html }) => html).join(' ');
      return violations.map(({ id, nodes }) => `${id}: ${htmlOf(nodes).slice(0, 400)}`);
    },
    rules && [...rules],
  );
  expect(found, what).to.deep.equal([]);
}
