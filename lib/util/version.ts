/** The version of this package. Not read from `package.json`, which a bundle does not have; a test compares the two. */
export const VERSION = '1.0.0-rc.1';
