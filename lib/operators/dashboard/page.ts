/**
 * The page, one file of HTML with its script and style in it, and the policy under which a browser runs it.
 *
 * `npm run build` puts here what tools/dashboard makes of its sources, and tools/register.cjs does so for whoever runs the
 * sources. This one is shown only where neither was used.
 */
export const page = {
  html: '<!doctype html><html lang="en"><title>ioredisson</title><p>The page is not built: run <code>npm run build</code>.</p></html>',
  policy: "default-src 'none'",
};
