/**
 * The page: one file of HTML with its script and style in it.
 *
 * `npm run build` puts the text that tools/dashboard makes of its sources here, and tools/register.cjs does so for whoever
 * runs the sources. This one is shown only where neither was used.
 */
export const PAGE_HTML: string =
  '<!doctype html><html lang="en"><title>ioredisson</title><p>The page is not built: run <code>npm run build</code>.</p></html>';
