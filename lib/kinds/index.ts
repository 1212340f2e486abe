/** What the command line and the dashboard know of the kinds; not a subpath of the package. */
export { ALL_KINDS, KINDS } from './allKinds';
export { lockToRelease } from './lockToRelease';
