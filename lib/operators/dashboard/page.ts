/**
 * The page, one HTML file that contains its script and style, and the content security policy for it.
 *
 * `npm run build` puts the output of tools/dashboard here; tools/register.cjs does so for runs from the sources. This
 * text shows only if neither was used.
 */
export const page = {
  html: '<!doctype html><html lang="en"><title>ioredisson</title><p>The page is not built: run <code>npm run build</code>.</p></html>',
  policy: "default-src 'none'",
};
