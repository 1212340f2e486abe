/**
 * The version of this package. `tools/buildLibrary.ts` puts the text in its place: a bundle has no package.json beside it.
 */
// eslint-disable-next-line @typescript-eslint/no-require-imports
export const VERSION = (require('../../package.json') as { readonly version: string }).version;
